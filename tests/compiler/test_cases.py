"""Runs `tests/cases/contextscript/compile`: a program, and what is stored, to Cypher with parameters.

`stored` names nodes, and edges as `id from to`. `cypher` holds, for each query, the name of its block in
cypher/queries/contextscript.cypher and its parameters but for the namespace.
"""

from __future__ import annotations

import json

import pytest

from memorygraph.compiler import Stored, compile_program
from memorygraph.languages import parse
from memorygraph.library import CYPHER
from memorygraph.query import Query
from tests.cases import Case, read_cases

_NAMES = {block.text: block.name for block in CYPHER.values()}


def _stored(text: str) -> Stored:
    rows = [line.split() for line in text.splitlines()]
    edges = {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}
    return Stored(frozenset(row[0] for row in rows if len(row) == 1), edges)


def _shown(query: Query) -> str:
    parameters = {k: v for k, v in query.parameters.items() if not k.startswith("namespace")}
    return f"{_NAMES[query.text]} {json.dumps(parameters)}"


@pytest.mark.parametrize("case", read_cases("contextscript/compile"))
def test_a_program_compiles_to_this_cypher(case: Case) -> None:
    compiled = compile_program(parse(case.section("source")), _stored(case.section("stored")))
    problems = "\n".join(f"{p.line}:{p.column} {p.code}: {p.message}" for p in compiled.problems)
    assert problems == case.section("problems")
    if not problems:
        assert "\n".join(map(_shown, compiled.queries)) == case.section("cypher")


def test_nothing_of_a_program_is_in_the_text_of_its_cypher() -> None:
    text = 'Node(node_id="canary-id", name="canary-name", data="canary-data"); del(id="canary-id");'
    queries = compile_program(parse(text), Stored()).queries
    assert {query.text for query in queries} <= _NAMES.keys()
    assert not any("canary" in query.text for query in queries)
