"""Runs `tests/cases/contextscript/load`: programs against a real Neo4j, and the graph or the errors they give.

`given` is stored first; each `load` is loaded in order. `problems` and `warnings` are those of the last one,
`graph` is the export at the end; if it is not said, the graph is what it was before the last load.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from memorygraph import MemoryGraph, Problem, ScriptError
from tests.cases import Case, read_cases


def _shown(problems: Iterable[Problem]) -> str:
    return "\n".join(f"{p.line}:{p.column} {p.code}: {p.message}" for p in problems)


@pytest.mark.parametrize("case", read_cases("contextscript/load"))
def test_a_program_gives_this_graph_or_these_errors(case: Case, graph: MemoryGraph) -> None:
    graph.load(case.section("given"))
    problems: Iterable[Problem] = ()
    warnings: Iterable[Problem] = ()
    before = ""
    for program in (text for name, text in case.sections if name == "load"):
        before = graph.export().strip()
        try:
            warnings = graph.load(program).warnings
        except ScriptError as error:
            problems = error.problems
    assert _shown(problems) == case.section("problems")
    assert _shown(warnings) == case.section("warnings")
    assert graph.export().strip() == case.section("graph", before)
