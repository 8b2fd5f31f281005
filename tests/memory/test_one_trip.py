"""A small write that could be planned takes one round trip, and does what it would have done in several."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorygraph import MemoryGraph, MemoryGraphError
from memorygraph.graph.connection import Connection
from memorygraph.graph.loads import Provenance
from memorygraph.memory import entities as entities_module
from memorygraph.memory.entities import MAX_PLANNED_ROWS, Entities
from memorygraph.memory.values import Observations
from memorygraph.memory.writes import entity_ids, hashed_id
from memorygraph.query import Query
from tests.conftest import empty_namespace
from tests.examples import examples, mostly_slow
from tests.memory.test_entities import STEPS, Memory, entity, relation, run_step

MAX = MAX_PLANNED_ROWS
STORED = """
MATCH (n:Node|Former|Load {namespace: $namespace}) OPTIONAL MATCH (n)-[r]->(m)
RETURN labels(n) AS labels, type(r) AS type, m.id AS end, r {.*, namespace: null} AS edge,
       n {.*, namespace: null, namespace_token: null, at: null, id: CASE WHEN n:Load THEN null ELSE n.id END} AS node
ORDER BY labels, n.revision, n.id, n.since, r.id, m.id
"""
Step = tuple[Any, ...]


def create(*entities: Any) -> Step:
    return "create", list(entities)


def relate(*relations: Any) -> Step:
    return "relate", list(relations)


def load(script: str) -> Step:
    return "load", script


def observed(entity_id: str, text: str) -> str:
    return hashed_id("observation", entity_id, text)


A_AND_B = create(entity("A", "x"), entity("B"))
A_CHANGED = load(f'Node(node_id="{observed("A", "x")}", data="changed");')
ANOTHER_A = load('Node(node_id="other", name="A", data="of another");')
A_TAKEN = load('Node(node_id="A", name="Countess", data="");')
A_GONE = load('del(id="A");')
A_TOO = load(f'Node(node_id="{entity_ids("A")[1]}", name="Countess", data="");')
A_WITHOUT_NAME = load('Node(node_id="A", name="", data="");')
A_IS_AN_EDGE = load(
    'Node(node_id="n", name="N", data=""); Edge(edge_id="A", from_node="n", to_node="n", verb="v", weight=1);'
)
R_MOVED = load(f'Edge(edge_id="{hashed_id("relation", "A", "r", "B")}", to_node="A");')
HASH_AS_NAME = entity_ids("two words")[0]

# What is done before, and a step with the number of its queries.
CASES: dict[str, tuple[list[Step], Step, int]] = {
    "an observation": ([A_AND_B], ("add", "A", ["y"]), 1),
    "observations, of which some are known": ([A_AND_B], ("add", "A", ["y", "x", "y", ""]), 1),
    "a known observation": ([A_AND_B], ("add", "A", ["x"]), 1),
    "no observation": ([A_AND_B], ("add", "A", []), 1),
    "as many as are planned": ([A_AND_B], ("add", "A", [str(number) for number in range(MAX)]), 1),
    "more than are planned": ([A_AND_B], ("add", "A", [str(number) for number in range(MAX + 1)]), 2),
    "a name that is no id": ([create(entity("two words", "x"))], ("add", "two words", ["x", "y"]), 1),
    "an observation that is data of the entity": (
        [load('Node(node_id="A", name="A", data="x");')],
        ("add", "A", ["x"]),
        1,
    ),
    "an entity without a name": ([A_WITHOUT_NAME], ("add", "A", ["y"]), 1),
    "an entity under another id": ([ANOTHER_A], ("add", "A", ["y"]), 2),
    "an entity under its second id": ([A_TAKEN, create(entity("A"))], ("add", "A", ["y"]), 2),
    "an entity under its second id, and the first is free": (
        [A_TAKEN, create(entity("A")), A_GONE],
        ("add", "A", ["y"]),
        2,
    ),
    "an entity whose second id is another's": ([create(entity("A")), A_TOO], ("add", "A", ["y"]), 1),
    "an entity that is missing": ([A_AND_B], ("add", "C", ["y"]), 1),
    "two entities of one name": ([A_AND_B, ANOTHER_A], ("add", "A", ["y"]), 2),
    "an entity with a name, and one without": ([ANOTHER_A, A_WITHOUT_NAME], ("add", "A", ["y"]), 2),
    "an observation that was changed": ([A_AND_B, A_CHANGED], ("add", "A", ["x", "y"]), 2),
    "an observation that was deleted": ([A_AND_B, ("forget", "A", ["x"])], ("add", "A", ["x"]), 1),
    "new entities": ([], create(entity("A", "x", "y"), entity("two words")), 1),
    "new and known entities": ([A_AND_B], create(entity("A", "y"), entity("C", "z"), entity("B")), 1),
    "known entities": ([A_AND_B], create(entity("A"), entity("B", kind="robot")), 1),
    "what is new of known entities": ([A_AND_B], create(entity("A", "x", "y"), entity("B", "z")), 1),
    "no entities": ([A_AND_B], create(), 1),
    "a new entity whose id another entity has": ([A_TAKEN], create(entity("A", "x")), 2),
    "a new entity whose id an edge has": ([A_IS_AN_EDGE], create(entity("A", "x")), 2),
    "entities that want one id": ([], create(entity(HASH_AS_NAME), entity("two words")), 1),
    "entities that want one id, in the other order": ([], create(entity("two words"), entity(HASH_AS_NAME)), 1),
    "an entity whose id is known under another name": (
        [create(entity(HASH_AS_NAME))],
        create(entity("two words", "x"), entity(HASH_AS_NAME, "y")),
        1,
    ),
    "relations": ([A_AND_B], relate(relation("A", "r", "B"), relation("A", "r", "B"), relation("B", "r", "A")), 1),
    "a known relation": ([A_AND_B, relate(relation("A", "r", "B"))], relate(relation("A", "r", "B")), 1),
    "a relation to what is missing": ([A_AND_B], relate(relation("A", "r", "C")), 1),
    "a relation to an entity under another id": (
        [create(entity("B")), ANOTHER_A],
        relate(relation("B", "r", "A")),
        2,
    ),
    "a relation that was moved": (
        [A_AND_B, relate(relation("A", "r", "B")), R_MOVED],
        relate(relation("A", "r", "B")),
        2,
    ),
}
SCRIPTS = st.sampled_from(
    [A_CHANGED, ANOTHER_A, A_TAKEN, A_TOO, A_WITHOUT_NAME, A_IS_AN_EDGE, A_GONE, load('del(id="other");')]
)


def perform(mem: Memory, step: Step) -> object:
    name, *arguments = step
    return mem.graph.load(*arguments).nodes_created if name == "load" else run_step(mem, name, arguments)


def done(mem: Memory, step: Step) -> object:
    """What came of a step, a refusal as what it says."""
    try:
        return perform(mem, step)
    except MemoryGraphError as error:
        return type(error), str(error)


def done_in_several(mem: Memory, step: Step) -> object:
    """The same, where nothing is planned."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entities_module, "MAX_PLANNED_ROWS", 0)
        return done(mem, step)


def all_of(graph: MemoryGraph) -> list[Any]:
    """Everything that a namespace stores, without what differs from one to another."""
    return [graph.query(STORED), Memory(graph).revision()]


@pytest.mark.parametrize("case", mostly_slow(CASES, ordinary=16))
def test_what_is_planned_is_one_query_and_stored_as_what_is_not(
    graph: MemoryGraph, twin: MemoryGraph, case: str, ran: list[Query]
) -> None:
    before, step, queries = CASES[case]
    for each in before:
        perform(Memory(graph), each)
        perform(Memory(twin), each)
    ran.clear()
    found = done(Memory(graph), step)
    assert len(ran) == queries
    assert found == done_in_several(Memory(twin), step)
    assert all_of(graph) == all_of(twin)


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(st.lists(STEPS | SCRIPTS, max_size=12))
def test_any_sequence_of_operations_stores_what_it_would_store_in_several_queries(
    connection: Connection, steps: list[Step]
) -> None:
    graph, twin = empty_namespace(connection), empty_namespace(connection)
    for step in steps:
        assert done(Memory(graph), step) == done_in_several(Memory(twin), step), step
    assert all_of(graph) == all_of(twin)


def test_the_record_of_what_was_planned_says_who_asked_for_it(graph: MemoryGraph, ran: list[Query]) -> None:
    where = graph.scope
    Entities(where, Provenance(by="somebody", model="m")).create([entity("A", "x")])
    wanted = [Observations(entity_name="A", contents=["x", "y"]), Observations(entity_name="A", contents=["z"])]
    Entities(where, Provenance(by="somebody else")).observe(wanted)
    assert len(ran) == 2
    records = graph.query(
        "MATCH (load:Load {namespace: $namespace}) WITH load ORDER BY load.revision RETURN load.revision, load.by, "
        "load.model, load.statements, load.nodes_created, load.edges_created"
    )
    assert [tuple(record.values()) for record in records] == [
        (1, "somebody", "m", 1, 2, 1),
        (2, "somebody else", None, 2, 2, 2),
    ]
