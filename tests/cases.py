r"""Case files: tests as data, `tests/cases/<language>/<kind>/*.case`, in one format for all languages.

    === what is shown | option
    -- source
    &a likes &b
    -- problems
    1:9 syntax: expected …

A case begins with `=== ` and its title, a section with `-- ` and its name; its text goes up to the next such line. A
section may occur more than once. The options: `strict` (the dialect), `escaped` (the source is written with Python's
escapes), `whole` (the source has no frame around it). In a source, and in a program of AgentScript, `@@x*100@@` stands
for a hundred `x`.

What goes in:
    parse, check, compile   `source`; in compile also what is `stored` before: a log, or lines of ids, an edge as
                            `id from to`
    load                    `given` is ContextScript, and stored first; then each `load`, each `dry` run of a load, and
                            each `delete` of an id, in order
    remember                what is stored before: `world.ctx` of the folder, `given`, and `thought`, a PETE log; each
                            `text` with what the model answers, a `reply` for each attempt, the last again and again;
                            `attempts`; the option `chat` makes the texts messages of a chat
    run                     `program`, `input` (JSON), `file-NAME` (a file beside the program), a `reply` of the model
                            or a `call` (NAME ARGUMENTS) for each request, `judge` (lines `CONDITION => REPLY`)
What must come out, which is empty unless it is written: `problems`, `warnings` (LINE:COLUMN code: message; in PETE
with the stretch that the caret shows) and `error`. What else a case may hold is in the functions of test_cases.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memorygraph.languages import LANGUAGES, Script, parse

FOLDER = Path(__file__).parent / "cases"
PLACE = "    // the body of a case stands here"
FRAMES = {
    "agentscript": (FOLDER / "agentscript" / "frame.as").read_text("utf-8"),
    "pete": f"context main(&a, &b, &c) {{\n{PLACE}",
}


Sections = tuple[tuple[str, str], ...]


class Sectioned:
    """What is written in sections, in order; a section may occur more than once."""

    sections: Sections

    def texts(self, name: str) -> list[str]:
        """The texts of all sections of a name."""
        return [text for section, text in self.sections if section == name]

    def section(self, name: str, default: str = "") -> str:
        """The text of a section that occurs at most once."""
        return next(iter(self.texts(name)), default)


@dataclass(frozen=True)
class Case(Sectioned):
    """One case."""

    language: str
    kind: str
    options: tuple[str, ...]
    sections: Sections

    @property
    def source(self) -> str:
        """The source, as it is written in the case."""
        source = expand(self.section("source"))
        if "escaped" in self.options:
            source = source.encode("latin-1", "backslashreplace").decode("unicode_escape")
        return source

    @property
    def frame(self) -> str:
        """What stands around the source."""
        return PLACE if "whole" in self.options else FRAMES.get(self.language, PLACE)

    def parse(self) -> Any:
        """The program of the source in its frame."""
        program: Script = parse(self.frame.replace(PLACE, self.source), self.language, strict="strict" in self.options)
        return program


def read_cases(pattern: str = "*/*") -> list[Any]:
    """All cases of some languages and kinds, as pytest parameters."""
    files = sorted(FOLDER.glob(f"{pattern}/*.case"))
    cases = [(file, title, case) for file in files for title, case in _split(file)]
    assert cases, f"no cases in {pattern}"
    return [pytest.param(case, id=f"{case.language} {case.kind} {file.stem}: {title}") for file, title, case in cases]


def _split(file: Path) -> Iterator[tuple[str, Case]]:
    language, kind = file.parts[-3:-1]
    assert language in LANGUAGES, file
    for header, sections in read_sections(file):
        title, *options = header.split(" | ")
        yield title, Case(language, kind, tuple(options), sections)


def read_sections(file: Path) -> Iterator[tuple[str, Sections]]:
    """The first line of each case of a file, and its sections."""
    for part in re.split(r"^=== ", file.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        header, _, body = part.partition("\n")
        _, *pieces = re.split(r"^-- (\S+)\n", body.rstrip("\n") + "\n", flags=re.MULTILINE)
        texts = [text.removesuffix("\n") for text in pieces[1::2]]
        yield header, tuple(zip(pieces[::2], texts, strict=True))


def expand(text: str) -> str:
    """Write out what is repeated.

    >>> expand("a@@b*3@@")
    'abbb'
    """
    return re.sub(r"@@(.*?)\*(\d+)@@", lambda found: found[1] * int(found[2]), text, flags=re.DOTALL)
