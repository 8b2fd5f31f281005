"""Runs `tests/cases/pete/load`: logs against a real Neo4j, and what is stored of them, or the errors they give.

`given` is ContextScript, and stored first; each `log` is loaded in order, each `dry` log is loaded as a dry run, and
`delete` deletes a node. `problems`, `warnings` and `changes` are those of the last one. The other sections are lines
of what is stored at the end; those that are left out are not looked at. A log with problems changes nothing, and a
dry run neither.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from memorygraph import MemoryGraph, Problem, ScriptError
from memorygraph.graph.loads import LoadReport
from memorygraph.graph.writes import COUNTS
from memorygraph.runtime.pete.store import LogStore
from tests.cases import Case, read_cases
from tests.runtime.pete.stored import elements, lines

STORED = ("facts", "said", "nodes", "contexts", "entries", "bindings", "fields")
LOADED = {"log", "dry", "delete"}


def _shown(problems: Iterable[Problem]) -> str:
    return "\n".join(f"{p.line}:{p.column} {p.code}: {p.message}" for p in problems)


def _changes(report: LoadReport | None) -> str:
    counts = {name: getattr(report, name) for name in COUNTS} if report else {}
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) or "none"


def _load(graph: MemoryGraph, name: str, text: str) -> LoadReport:
    if name == "delete":
        return graph.delete(text)
    before = elements(graph) if name == "dry" else ""
    report = graph.load(text, "pete", dry_run=name == "dry")
    assert name == "log" or elements(graph) == before
    return report


def _assert_kept(graph: MemoryGraph, text: str) -> None:
    """The stored log goes on as the loaded one, to the byte."""
    store = LogStore(graph.scope)
    name = text.partition("(")[0].split()[1]
    [log] = [log.address for log in store.logs() if log.name == name]
    assert store.read(log).text.startswith(text.strip(" \t\r\n"))


@pytest.mark.parametrize("case", read_cases("pete/load"))
def test_a_log_is_stored_so_or_gives_these_errors(case: Case, graph: MemoryGraph) -> None:
    graph.load(case.section("given"))
    problems: Iterable[Problem] = ()
    report: LoadReport | None = None
    for name, text in ((name, text) for name, text in case.sections if name in LOADED):
        before = elements(graph)
        try:
            report = _load(graph, name, text)
            if name == "log":
                _assert_kept(graph, text)
        except ScriptError as error:
            problems, report = error.problems, None
            assert elements(graph) == before
    assert _shown(problems) == case.section("problems")
    assert _shown(report.warnings if report else ()) == case.section("warnings")
    for name, text in case.sections:
        assert name in {*STORED, *LOADED, "given", "problems", "warnings", "changes"}
        if name in STORED:
            assert lines(graph, name) == text, name
        elif name == "changes":
            assert _changes(report) == text
