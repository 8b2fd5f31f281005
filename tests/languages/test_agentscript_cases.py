"""AgentScript ⇒ syntax or problems, as data: the files in tests/cases/agentscript/parse and …/check.

A case is a line `=== title`, a source, a line `--`, and what must come out. In `check` that is the problems, as
`LINE:COLUMN CODE: message`; the source of a case in body.txt stands in the main function of frame.as, and its lines
are counted from there. In `parse` it is the problems of the syntax, or the statements of the main function, one a
line; there the source is such a body, or with ` | program` in the title a whole program, which is shown printed.
With ` | escaped` in the title the source is written with Python's escapes; `@@x*100@@` stands for a hundred `x`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from memorygraph.client import MemoryGraph
from memorygraph.errors import MemoryGraphError, Problem
from memorygraph.languages import parse, parse_batches
from memorygraph.languages.agentscript.printing import print_program
from memorygraph.languages.agentscript.syntax import Agent, Program

CASES = Path(__file__).parents[1] / "cases" / "agentscript"
FRAME = (CASES / "check" / "frame.as").read_text("utf-8")
HERE = "    // the body of a case stands here"
SPECIFIED = """
duplicate-import duplicate-agent duplicate-main-agent missing-main-agent missing-main-func duplicate-function
duplicate-main-func duplicate-binding duplicate-param param-shadows-import invalid-param-shape invalid-budget
invalid-iteration-limit invalid-config unknown-model invalid-model invalid-assignment-target unknown-identifier
invalid-use-resource unknown-function not-callable unknown-memory-method invalid-argument-count
duplicate-generate-option invalid-generate-attempts invalid-generate-limit invalid-generate-debug
invalid-generate-input unknown-generate-option missing-generate-config duplicate-shape-field unknown-shape-type
"""
OURS = "use-generate nesting-too-deep invalid-number encoding syntax"


class Case(NamedTuple):
    """One case of a case file; the source is a whole program, or the body of the main function in the frame."""

    source: str
    whole: bool
    expected: str

    def program(self) -> Program:
        return parse(self.source if self.whole else FRAME.replace(HERE, self.source), "agentscript")

    def problems(self) -> str:
        """The problems as a case file writes them."""
        above = 0 if self.whole else FRAME[: FRAME.index(HERE)].count("\n")
        return "\n".join(f"{p.line - above}:{p.column} {p.code}: {p.message}" for p in self.program().problems)


def cases(folder: str) -> Iterator[object]:
    """Every case below a folder."""
    for path in sorted((CASES / folder).glob("*.txt")):
        for text in re.split(r"^=== ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            header, _, body = text.partition("\n")
            title, *options = header.split(" | ")
            source, _, expected = f"\n{body}".partition("\n--\n")
            source = re.sub(r"@@(.*?)\*(\d+)@@", lambda found: found[1] * int(found[2]), source[1:])
            if "escaped" in options:
                source = source.encode("latin-1", "backslashreplace").decode("unicode_escape")
            whole = "program" in options or path.stem == "program"
            yield pytest.param(Case(source, whole, expected.strip()), id=f"{path.stem}: {title}")


@pytest.mark.parametrize("case", [*cases("check")])
def test_checks(case: Case) -> None:
    assert case.problems() == case.expected


@pytest.mark.parametrize("case", [*cases("parse")])
def test_syntax(case: Case) -> None:
    program = case.program()
    syntax_errors = [problem for problem in program.problems if problem.code == "syntax"]
    if syntax_errors:
        assert case.problems() == case.expected
    elif case.whole:
        assert print_program(program.statements).strip() == case.expected
    else:
        agent = next(one for one in program.statements if isinstance(one, Agent))
        assert "\n".join(map(repr, agent.functions[0].body.statements)) == case.expected


def test_every_code_has_a_case_and_nothing_else_is_said() -> None:
    said = {
        problem.code
        for folder in ("check", "parse")
        for parameters in cases(folder)
        for problem in parameters.values[0].program().problems  # type: ignore[attr-defined]
    }
    assert said >= {*SPECIFIED.split(), *OURS.split()}
    assert said <= {*SPECIFIED.split(), *OURS.split()}


def test_all_problems_are_said_at_once_in_the_order_of_the_text() -> None:
    program = parse("agent A { main func(a, a) { use b use a < 0 } }\nagent A { }", "agentscript")
    assert [p.code for p in program.problems] == [
        *["missing-main-agent", "duplicate-param", "unknown-identifier", "invalid-budget", "duplicate-agent"]
    ]


def test_a_problem_shows_its_place() -> None:
    program = parse('main agent A {\n  main func() {\n    return "a" + 1\n  }\n}', "agentscript", file="a.as")
    assert str(program.problems[0]) == (
        "a.as:3:16: expected a statement or `}` but found `+`; there is no arithmetic; a tool or a model calculates\n"
        '        return "a" + 1\n'
        "                   ^"
    )


def test_a_hundred_problems_are_enough() -> None:
    body = "x\n" * 1000
    program = parse(f"main agent A {{ main func() {{\n{body}}} }}", "agentscript")
    assert len(program.problems) == 101
    assert program.problems[-1].code == "too-many-problems"


def test_the_client_checks_and_does_not_store() -> None:
    source = "main agent A { main func() { return x } }"
    problems = MemoryGraph.check(source, "agentscript", file="a.as")
    assert [type(problem) for problem in problems] == [Problem]
    assert problems == MemoryGraph.check(parse(source, "agentscript", file="a.as"))
    with pytest.raises(MemoryGraphError, match="not in batches"):
        parse_batches(iter([]), "agentscript", size=1)  # type: ignore[arg-type]
