"""AgentScript beyond its cases: which codes there are, and how problems are reported."""

from __future__ import annotations

import pytest

from memorygraph.client import MemoryGraph
from memorygraph.errors import MemoryGraphError, Problem
from memorygraph.languages import parse, parse_batches
from tests.cases import read_cases

SPECIFIED = """
duplicate-import duplicate-agent duplicate-main-agent missing-main-agent missing-main-func duplicate-function
duplicate-main-func duplicate-binding duplicate-param param-shadows-import invalid-param-shape invalid-budget
invalid-iteration-limit invalid-config unknown-model invalid-model invalid-assignment-target unknown-identifier
invalid-use-resource unknown-function not-callable unknown-memory-method invalid-argument-count
duplicate-generate-option invalid-generate-attempts invalid-generate-limit invalid-generate-debug
invalid-generate-input unknown-generate-option missing-generate-config duplicate-shape-field unknown-shape-type
"""
OURS = "use-generate unknown-tool-method nesting-too-deep invalid-number encoding syntax"


def test_every_code_has_a_case_and_nothing_else_is_said() -> None:
    cases = [*read_cases("agentscript/check"), *read_cases("agentscript/parse")]
    said = {problem.code for case in cases for problem in case.values[0].parse().problems}
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
