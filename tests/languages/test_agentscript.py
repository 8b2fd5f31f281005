"""AgentScript beyond its cases: which codes there are, and how problems are reported."""

from __future__ import annotations

from memorygraph.languages import parse
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
