"""Source ⇒ statements or problems, as data: the files in tests/cases/<language>/parse of the flat languages.

A case is a line `=== title`, a source, a line `--`, and what must come out: the statements, one a line as their
class and arguments, and the problems as `LINE:COLUMN code: message`. After the title, ` | strict` chooses the
dialect, and ` | escaped` says that the source is written with Python's escapes.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from memorygraph.languages import LANGUAGES, Program, parse, parse_batches

CASES = Path(__file__).parents[1] / "cases"
FLAT = [name for name, language in LANGUAGES.items() if language.batch_reader]


class Case(NamedTuple):
    """One case of a case file."""

    language: str
    source: str
    strict: bool
    expected: str


def cases() -> Iterator[object]:
    """Every case of every language."""
    for path in sorted(path for name in FLAT for path in CASES.glob(f"{name}/parse/*.txt")):
        for text in re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            header, _, body = text.partition("\n")
            title, *options = header.split(" | ")
            source, _, expected = body.partition("\n--\n") if not body.startswith("--\n") else ("", "", body[3:])
            if "escaped" in options:
                source = source.encode("latin-1", "backslashreplace").decode("unicode_escape")
            case = Case(path.parts[-3], source, "strict" in options, expected.strip())
            yield pytest.param(case, id=f"{path.stem}: {title}")


def shown(program: Program) -> str:
    """Statements and problems as a case file writes them."""
    statements = (
        f"{type(statement).__name__} {json.dumps(statement.given(), ensure_ascii=False)}"
        for statement in program.statements
    )
    problems = (f"{p.line}:{p.column} {p.code}: {p.message}" for p in program.problems)
    return "\n".join([*statements, *problems])


@pytest.mark.parametrize("case", [*cases()])
def test_case(case: Case) -> None:
    program = parse(case.source, case.language, strict=case.strict)
    assert isinstance(program, Program)
    assert shown(program) == case.expected


def test_cases_are_the_same_in_batches_of_one() -> None:
    for parameters in cases():
        case: Case = parameters.values[0]  # type: ignore[attr-defined]
        parts = list(parse_batches(io.StringIO(case.source, newline=""), case.language, size=1, strict=case.strict))
        whole = parse(case.source, case.language, strict=case.strict)
        assert isinstance(whole, Program)
        assert [s for part in parts for s in part.statements] == list(whole.statements)
        assert [p for part in parts for p in part.problems] == list(whole.problems)


def test_every_language_has_cases() -> None:
    assert {path.name for path in CASES.iterdir() if (path / "parse").is_dir()} >= set(LANGUAGES)
