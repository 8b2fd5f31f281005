"""A load of one declaration takes one round trip, and does what it would have done in several."""

from __future__ import annotations

import pytest

from memorygraph import MemoryGraph, Provenance, ScriptError
from memorygraph.graph.connection import Connection
from memorygraph.graph.loads import Loader
from memorygraph.graph.namespace import Namespace
from memorygraph.languages import parse
from memorygraph.library import CYPHER
from memorygraph.query import Query

BEFORE = """
Node(node_id="a", name="A", data="one"); Node(node_id="b", name="B", data="two"); Node(node_id="c", name="C", data="");
Edge(edge_id="ab", from_node="a", to_node="b", verb="knows", weight=0.5);
"""
ONE_TRIP = [
    'Node(node_id="new", name="New", data="")',
    'Node(node_id="a", name="A", data="other")',
    'Node(node_id="a", name="A", data="one")',
    'Node(node_id="a", data="other")',
    'Edge(edge_id="new", from_node="a", to_node="c", verb="knows", weight=1.0)',
    'Edge(edge_id="new", from_node="a", to_node="a", verb="knows", weight=1.0)',
    'Edge(edge_id="ab", from_node="a", to_node="b", verb="knows", weight=1.0)',
    'Edge(edge_id="ab", from_node="a", to_node="b", verb="knows", weight=0.5)',
    'Edge(edge_id="ab", from_node="a", to_node="b", verb="likes")',
]
SEVERAL_TRIPS = [
    'Edge(edge_id="ab", from_node="a", to_node="c", verb="knows", weight=0.5)',
    'Edge(edge_id="ab", from_node="b", to_node="a", verb="knows", weight=0.5)',
    'Edge(edge_id="ab", weight=1.0)',
    'Node(node_id="a")',
    'del(id="a")',
    'Node(node_id="new", name="New", data=""); Node(node_id="newer", name="Newer", data="")',
]
WRONG = [
    'Node(node_id="ab", name="A", data="")',
    'Node(node_id="new", name="New")',
    'Edge(edge_id="a", from_node="a", to_node="b", verb="knows", weight=1.0)',
    'Edge(edge_id="new", from_node="a", to_node="nowhere", verb="knows", weight=1.0)',
    'Edge(edge_id="new", from_node="a", to_node="ab", verb="knows", weight=1.0)',
    'Edge(edge_id="new", from_node="a", to_node="b", verb="knows")',
]
STORED = """
MATCH (n:Node|Former|Load {namespace: $namespace}) OPTIONAL MATCH (n)-[r]->(m)
RETURN labels(n) AS labels, n AS node, type(r) AS type, r AS edge, m.id AS end
ORDER BY labels, n.revision, n.id, n.since, r.id
"""
ELEMENTS = ("a", "b", "c", "ab", "new")


@pytest.mark.parametrize("statement", ONE_TRIP)
def test_a_load_of_one_declaration_is_one_query(graph: MemoryGraph, statement: str, ran: list[Query]) -> None:
    graph.load(BEFORE)
    ran.clear()
    graph.load(statement + ";")
    assert len(ran) == 1


@pytest.mark.parametrize("statement", ONE_TRIP + SEVERAL_TRIPS)
def test_one_round_trip_stores_what_several_do(graph: MemoryGraph, twin: MemoryGraph, statement: str) -> None:
    found = []
    for each, check in ((graph, None), (twin, lambda _transaction: [])):
        each.load(BEFORE)
        loader = Loader(each.scope)
        report = loader.load(parse(statement + ";"), check=check, provenance=Provenance(by="somebody", model="m"))
        stored = each.query(STORED)
        found.append((_alike(report.as_dict()), _alike(stored), each.export("jsonl")))
    assert found[0] == found[1]


def _alike(value: object) -> object:
    """A value without what differs from one namespace to another, and from one load to another."""
    if isinstance(value, dict):
        own = ("namespace", "namespace_token", "id", "load_id", "at", "elapsed_s")
        return {name: _alike(held) for name, held in value.items() if name not in own or held in ELEMENTS}
    return [_alike(held) for held in value] if isinstance(value, list) else value


@pytest.mark.parametrize("statement", WRONG)
def test_what_is_wrong_is_refused_where_something_else_was_planned(graph: MemoryGraph, statement: str) -> None:
    graph.load(BEFORE)
    exported = graph.export("jsonl")
    with pytest.raises(ScriptError):
        graph.load(statement + ";")
    assert graph.export("jsonl") == exported


def test_a_dry_run_in_one_round_trip_stores_nothing(graph: MemoryGraph) -> None:
    graph.load(BEFORE)
    exported = graph.export("jsonl")
    assert graph.load(ONE_TRIP[0] + ";", dry_run=True).nodes_created == 1
    assert graph.export("jsonl") == exported


@pytest.mark.parametrize("statement", ONE_TRIP)
def test_a_load_of_one_declaration_is_planned_on_indexes(connection: Connection, statement: str) -> None:
    planned = Loader(Namespace(connection, "n")).plan_one_trip(parse(statement + ";"))
    assert planned is not None
    given = {"namespace": "n", "load": "l", "ids": ["a"], "record": {}}
    _, operators = connection.plan(CYPHER[planned.query](**given, **planned.parameters))
    assert [name for name, _ in operators if name.endswith("Scan") and "Index" not in name] == []
    assert planned.parameters["absent"] or planned.parameters["present"]
