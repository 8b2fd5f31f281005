"""What the logs of an embedded server say about a start that failed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# What marks the line of a log that explains a failed start, the best mark first.
TELLING_MARKS = ("already in use", "No space left", "Caused by:", " ERROR ", "Error", "Exception")
_LOG_PREFIX = re.compile(r"^\S+ \S+ (INFO|WARN|ERROR) +")


def size_before(logs: Path) -> int:
    """Say where the log of the next start will begin."""
    try:
        return (logs / "neo4j.log").stat().st_size
    except FileNotFoundError:
        return 0


def telling_line(logs: Path, log_before: int) -> str:
    """Find the line that says most about a start that failed."""
    lines = _lines(logs / "neo4j.log", log_before if size_before(logs) >= log_before else 0)
    console = _lines(logs / "console.log", 0)
    for marker in TELLING_MARKS:
        for line in reversed(lines + console):
            if marker in line:
                return _LOG_PREFIX.sub("", line).strip(" .")
    return _LOG_PREFIX.sub("", next(reversed(console or lines), "it left no message")).strip(" .")


def _lines(path: Path, start: int) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    except FileNotFoundError:
        return []
