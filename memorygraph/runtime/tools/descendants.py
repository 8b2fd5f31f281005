"""What a process that a tool starts has started itself: it is found, and ended with that process."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

MARK = "MEMORYGRAPH_CALL"  # an environment variable
MAX_KILL_ROUNDS = 100  # while processes that are killed start new ones


@contextmanager
def ending_descendants(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Mark the environment for a process, and end after the block all that it started, in whatever session.

    What it started inherits the mark. A descendant that both leaves the session and clears its environment is not
    found.
    """
    mark = secrets.token_hex(16)
    # Marks of the processes around this one stay: what ends those ends these too.
    marks = " ".join(filter(None, [os.environ.get(MARK), mark]))
    try:
        yield {**environment, MARK: marks}
    finally:
        end_marked(mark)


def end_marked(mark: str) -> None:
    """End all processes with a mark."""
    import psutil

    for _ in range(MAX_KILL_ROUNDS):
        left = [process for process in psutil.process_iter() if has_mark(process, mark)]
        if not left:
            break
        for process in left:
            with suppress(psutil.Error):
                process.kill()


def has_mark(process: psutil.Process, mark: str) -> bool:
    """Whether a process that can be looked at has a mark."""
    import psutil

    try:
        return mark in process.environ().get(MARK, "")
    except (psutil.Error, OSError):
        return False
