"""Cypher that would overflow Neo4j, or occupy it for hours, is refused; what only looks so is answered."""

from __future__ import annotations

import pytest

from memorygraph import MemoryGraph, QueryError

# Neo4j 2026.08.1 did not answer these within 15 s, at this number: what comes before 1, and after it.
TOO_MUCH = {
    "lists": (300, "[", "]"),
    "parentheses": (300, "(", ")"),
    "brackets by their codes": (300, r"\u005B", r"\u005D"),
    "NOT": (200, "NOT ", ""),
    "NOT by its code": (200, r"N\u004fT ", ""),
    "NOT with a function": (100, "NOT coalesce(", ")"),
    "CASE": (150, "CASE WHEN true THEN ", " END"),
    "||": (200, "'a' || ", ""),
    "+": (200, "toString(1) + ", ""),
    "*": (200, "$namespace * ", ""),
    "XOR": (30, "true XOR ", ""),
    "XOR in parentheses": (100, "(true XOR ", ")"),
    "EXISTS": (20, "EXISTS { MATCH () WHERE ", " }"),
    "COUNT": (20, "COUNT { MATCH () WHERE ", " } > 0"),
    "COLLECT": (20, "COLLECT { RETURN ", " AS x }"),
    "expressions in strings": (200, "s'{", "}'"),
}

FLAT = {
    "brackets in a string": f"RETURN '{'[(' * 300}' AS x",
    "brackets in a name": f"RETURN 1 AS `{'{' * 300}`",
    "brackets in a comment": f"RETURN 1 AS x // {'(' * 300}",
    "brackets in a long comment": f"RETURN 1 /* {'[' * 300} */ AS x",
    "brackets beside each other": f"RETURN [{', '.join(['[1]'] * 300)}] AS x",
    "a sum": f"RETURN {' + '.join(['[1]'] * 100)} AS x",
    "many sums": f"RETURN [{', '.join(['1 + 1 * 2'] * 200)}] AS x",
    "many patterns": "MATCH ()-[:EDGE]->()-[:EDGE]->() RETURN 1 AS x UNION " * 40 + "RETURN 1 AS x",
    "NOT beside each other": f"RETURN {' AND '.join(['NOT false'] * 200)} AS x",
    "NOT in a list": f"RETURN [{', '.join(['NOT true'] * 300)}] AS x",
    "CASE beside each other": f"RETURN [{', '.join(['CASE WHEN true THEN 1 END'] * 150)}] AS x",
    "properties of these names": f"WITH {{case: 1, not: 2}} AS n RETURN [{'n.case + n.not + n.end, ' * 60} 1] AS x",
    "subqueries beside each other": f"RETURN {' + '.join(['COUNT { RETURN 1 AS one }'] * 20)} AS x",
    "subqueries within each other": f"RETURN {'COLLECT { RETURN ' * 8}1{' AS x }' * 8} AS x",
    "a hundred brackets": f"RETURN {'[' * 100}1{']' * 100} AS x",
}


@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
@pytest.mark.parametrize(("count", "before", "after"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_neo4j_would_not_answer_is_refused(
    graph: MemoryGraph, count: int, before: str, after: str, *, write: bool
) -> None:
    with pytest.raises(QueryError, match=r"^refused: .*within each other"):
        graph.query(f"CYPHER 25 RETURN {before * count}1{after * count} AS x", write=write)


@pytest.mark.parametrize("text", FLAT.values(), ids=FLAT)
def test_what_does_not_nest_is_answered(graph: MemoryGraph, text: str) -> None:
    assert len(graph.query(text)) == 1


@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
@pytest.mark.parametrize("text", ["", " \n", "// only\n/* comments */ ;"])
def test_a_text_without_a_query_is_refused_as_such(graph: MemoryGraph, text: str, *, write: bool) -> None:
    with pytest.raises(QueryError, match=r"^there is no query in this text: write one"):
        graph.query(text, write=write)
    with pytest.raises(QueryError, match=r"^there is no query in this text: write one"):
        next(graph.stream(text))
