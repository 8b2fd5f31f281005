"""The Cypher library: its blocks are documented, complete, planned on indexes, and the schema is idempotent."""

from __future__ import annotations

import re
from collections import Counter
from itertools import takewhile

import pytest

from memorygraph.graph.connection import Connection
from memorygraph.graph.schema import apply_schema
from memorygraph.library import CYPHER
from memorygraph.query import Query
from tests.examples import every_nth
from tests.samples import sampled

_OF_NO_NAMESPACE = {
    "read/namespaces",
    "schema/applied-migrations",
    "namespaces/keep-mark",
    "programs/forget-program",
    "entities/neo4j-memory-entities",
    "entities/neo4j-memory-relations",
    "graphiti/entities",
    "graphiti/facts",
    "graphiti/count",
    # These look for what no index knows.
    "bundles/each-keyless",
    "bundles/any-keyless",
    "bundles/keyless",
    "bundles/keyless-relationships",
}
_OF_ALL_NAMESPACES = ("invariants/", "compact/")
"""What may be broken may lack the namespace that an index would find it by; a database is copied with all it holds."""


QUERIES = {name: sampled(CYPHER[name]) for name in CYPHER if not name.startswith("schema/")}


def _is_page(name: str) -> bool:
    """Whether a block reads a page of all there is of something: so many, from a place on."""
    parameters = set(CYPHER[name].parameters)
    of_all = not parameters & {"ids", "names", "rows", "terms", "message_searches", "searches", "wanted"}
    from_a_place = bool(parameters & {"after", "before", "arrival", "id", "shelf", "text"})
    return name == "history/revisions" or (of_all and from_a_place and "limit" in parameters)


@pytest.mark.parametrize("name", list(CYPHER))
def test_every_block_is_documented_and_names_its_parameters(name: str) -> None:
    block = CYPHER[name]
    assert block.documentation
    documented = block.documentation.partition("Parameters: ")[2]
    assert all(parameter in documented for parameter in block.parameters)


@pytest.mark.parametrize("name", every_nth(QUERIES, 8))
def test_every_block_is_planned_on_indexes_and_without_warnings(connection: Connection, name: str) -> None:
    _, operators = connection.plan(QUERIES[name])
    scans = [operator for operator, _ in operators if operator.endswith("Scan") and "Index" not in operator]
    assert scans == [] or name in _OF_NO_NAMESPACE or name.startswith(_OF_ALL_NAMESPACES)


@pytest.mark.parametrize("name", every_nth(QUERIES, 8))
def test_no_block_tells_rows_apart_by_a_list(connection: Connection, name: str) -> None:
    """Neo4j compares, and counts as memory, the whole list for each row: what a `UNION` in `CALL (list)` does."""
    _, operators = connection.plan(QUERIES[name])
    lists = {
        found for _, details in operators for found in re.findall(r"collect(?:_distinct)?\(.*?\) AS (\w+)", details)
    }
    compared = [details for operator, details in operators if operator.endswith(("Distinct", "Aggregation"))]
    assert [details for details in compared if lists & set(details.split(", "))] == []


@pytest.mark.parametrize("name", [name for name in CYPHER if ":Former {" in CYPHER[name].text])
def test_a_former_state_is_looked_for_by_its_id(name: str) -> None:
    """By its revision, which a planner that knows of few may choose, all that it ended would be read for each id."""
    text = CYPHER[name].text
    looked_for = Counter(re.findall(r"\((\w*):Former \{[^}]*\bid: ", text))
    named = Counter(re.findall(r"USING INDEX SEEK (\w+):Former\(namespace, id, until\)", text))
    assert looked_for <= named


@pytest.mark.parametrize("name", [name for name in CYPHER if _is_page(name)])
def test_a_page_is_read_in_the_order_of_an_index(connection: Connection, name: str) -> None:
    """Sorting what lies behind the page would make reading all pages quadratic."""
    block = CYPHER[name]
    _, operators = connection.plan(sampled(block))
    names = [operator for operator, _ in operators]  # what comes last in the plan comes first here
    assert "Top" not in names
    if "Limit" in names:
        below = takewhile(lambda operator: not operator.endswith("Seek"), names[names.index("Limit") :])
        assert "Sort" not in below


@pytest.mark.parametrize("name", [name for name in CYPHER if _is_page(name)])
def test_the_filter_of_a_page_has_no_alternatives(name: str) -> None:
    """Neo4j may read each by a seek of its own, and sort what they gave; `any` or `CASE` is one filter."""
    filtered, _, _ = CYPHER[name].text.partition("LIMIT")
    assert " OR " not in filtered


def test_a_block_takes_exactly_its_parameters() -> None:
    with pytest.raises(TypeError, match=r"read/node|node"):
        CYPHER["read/node"](namespace="n")
    with pytest.raises(TypeError, match="extra"):
        CYPHER["read/node"](namespace="n", id="a", extra=1)


def test_the_schema_is_applied_once(connection: Connection) -> None:
    assert apply_schema(connection) == []
    [row] = connection.read(CYPHER["schema/applied-migrations"]())
    known = [name for name, _ in CYPHER.migrations()]
    # A server that other checkouts use, too, may have seen migrations of a newer one.
    assert sorted(name for name in row["names"] if name in known) == known


def test_the_database_itself_refuses_a_second_node_or_edge_with_an_id(connection: Connection) -> None:
    constraints = connection.read(Query("SHOW CONSTRAINTS YIELD name RETURN collect(name) AS names"))
    assert {"node_id", "edge_id", "namespace_name", "load_id", "load_revision"} <= set(constraints[0]["names"])
