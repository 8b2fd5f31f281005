"""Case files: tests as data.

A file holds cases; each begins with a line `=== title`, and its sections begin with lines `-- name`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """One case: its title and its sections, in order; a section may occur more than once."""

    title: str
    sections: tuple[tuple[str, str], ...]

    def section(self, name: str, default: str = "") -> str:
        """The text of a section that occurs at most once."""
        return next((text for section, text in self.sections if section == name), default)


def read_cases(folder: str) -> list[object]:
    """All cases below a folder of `tests/cases`, as pytest parameters; a title is there once."""
    files = sorted((FOLDER / folder).glob("*.case"))
    cases = [(file, case) for file in files for case in _cases(file)]
    assert cases, f"no cases in {folder}"
    return [pytest.param(case, id=f"{file.stem}: {case.title}") for file, case in cases]


def _cases(file: Path) -> Iterator[Case]:
    for part in re.split(r"^=== ", file.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        pieces = re.split(r"^-- (\S+)\n", body, flags=re.MULTILINE)
        names, texts = pieces[1::2], pieces[2::2]
        yield Case(title.strip(), tuple((n, t.strip("\n")) for n, t in zip(names, texts, strict=True)))
