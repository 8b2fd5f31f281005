"""Runs `tests/cases/pete/compile`: a log to Cypher with parameters, given the log that is stored.

`cypher` holds, for each query, the name of its block in cypher/queries/pete.cypher, and then its parameters, one row
a line, but for the namespace.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from memorygraph import MemoryGraph
from memorygraph.library import CYPHER
from memorygraph.query import Query
from tests.cases import Case, read_cases

_NAMES = {block.text: name for name, block in CYPHER.items()}


def _shown(query: Query) -> str:
    parameters = {k: v for k, v in query.parameters.items() if not k.startswith("namespace")}
    rows: list[Any] = parameters.pop("rows", [])
    head = f"{_NAMES[query.text]} {json.dumps(parameters)}"
    return "\n  ".join([head, *(json.dumps(row, ensure_ascii=False) for row in rows)])


@pytest.mark.parametrize("case", read_cases("pete/compile"))
def test_a_log_compiles_to_this_cypher(case: Case, graph: MemoryGraph) -> None:
    for name, text in case.sections:
        if name == "stored":
            graph.load(text, "pete")
    assert "\n".join(map(_shown, graph.compile(case.section("log"), "pete"))) == case.section("cypher")
