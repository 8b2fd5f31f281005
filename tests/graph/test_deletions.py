"""What is deleted is gone, with all that belongs to it alone, whoever deletes it; and an undo brings all of it back."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from click.testing import CliRunner

from memorygraph import MemoryGraph, MemoryGraphError, Provenance
from memorygraph.cli import cli
from memorygraph.errors import ConflictError, NotFoundError, ScriptError
from memorygraph.graph.connection import Connection
from memorygraph.graph.leftovers import find_leftovers, remove_leftovers
from memorygraph.graph.loads import Loader, LoadReport
from memorygraph.languages import parse
from memorygraph.languages.contextscript import ContextScriptProgram
from memorygraph.memory.shown import read_stored
from memorygraph.memory.values import Entity, ObservationDeletion, Observations
from tests.conftest import empty_namespace
from tests.examples import every_nth

THOUGHT = """context main(&anna, &carl) {
  &bread = /* bread */
  &carl says that &anna likes &bread.
  &carl doubts that &anna likes &bread and &anna eats &carl.
  &carl says that &anna hopes &carl.
"""


def contents(graph: MemoryGraph) -> dict[str, Any]:
    """All nodes and edges of a namespace as they are now, but for when they became so."""
    nodes = graph.query(
        "MATCH (n:Node {namespace: $namespace}) RETURN n.id AS id, labels(n) AS labels, properties(n) AS properties"
    )
    edges = graph.query("MATCH ({namespace: $namespace})-[e:EDGE]->() RETURN e.id AS id, properties(e) AS properties")
    entries = graph.query("MATCH (e:Entry {namespace: $namespace}) RETURN e.id AS id, properties(e) AS properties")
    rows = [*nodes, *edges, *entries]
    return {row["id"]: {**row, "properties": {**row["properties"], "since": 0}} for row in rows}


def remember_ada(graph: MemoryGraph) -> None:
    graph.entities.create(
        [
            Entity(name="Ada", entity_type="person", observations=["likes tea", "is kind"]),
            Entity(name="Bob", entity_type="person", observations=["likes tea, too"]),
        ]
    )
    graph.entities.observe([Observations(entity_name="Ada", contents=["reads much"])])


def delete_by_command(graph: MemoryGraph) -> None:
    done = CliRunner().invoke(cli, ["--namespace", graph.namespace, "delete", "Ada"])
    assert done.exit_code == 0, done.output


WAYS: dict[str, Callable[[MemoryGraph], object]] = {
    "statement": lambda graph: graph.load('del(id="Ada");'),
    "client": lambda graph: graph.delete("Ada"),
    "command": delete_by_command,
    "entity": lambda graph: graph.entities.delete(["Ada"]),
}


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("way", WAYS)
def test_the_observations_of_a_deleted_entity_are_gone_and_come_back(graph: MemoryGraph, way: str) -> None:
    remember_ada(graph)
    before = contents(graph)
    WAYS[way](graph)
    assert {
        row["data"] for row in graph.query("MATCH (o:Observation {namespace: $namespace}) RETURN o.data AS data")
    } == {"likes tea, too"}
    assert [hit.content for hit in graph.recall("tea").hits if "Ada" in hit.content] == []
    graph.undo(graph.revisions(1)[0].revision)
    assert contents(graph) == before


@pytest.mark.slow
def test_an_entity_with_thousands_of_observations_is_deleted_comes_back_and_is_forgotten(graph: MemoryGraph) -> None:
    """A list of all that goes, held for each of its edges, would be more than a transaction may hold."""
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=[f"saw {n}" for n in range(5000)])])
    program = parse('del(id="Ada");', "contextscript")
    assert isinstance(program, ContextScriptProgram)
    assert read_stored(graph.scope.read, program, []).lost["Ada"].others == 10_000
    deleted = graph.delete("Ada")
    assert (deleted.nodes_deleted, deleted.edges_deleted) == (5001, 5000)
    graph.undo(deleted.revision)
    graph.delete("Ada")
    assert graph.forget("Ada").went == {"former states": 2 * 10_001}
    assert graph.query("MATCH (n {namespace: $namespace}) WHERE n:Node OR n:Former RETURN n.id AS id") == []


def test_what_is_created_with_its_observations_is_undone_with_them(graph: MemoryGraph) -> None:
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["likes tea"])])
    graph.undo(1)
    assert contents(graph) == {}


def test_an_observation_that_something_else_shares_stays_until_both_are_gone(graph: MemoryGraph) -> None:
    remember_ada(graph)
    [row] = graph.query("MATCH (o:Observation {namespace: $namespace, data: 'is kind'}) RETURN o.id AS id")
    graph.load(f'Edge(edge_id="also", from_node="Bob", to_node="{row["id"]}", verb="observed", weight=1.0);')
    graph.delete("Ada")
    assert row["id"] in contents(graph)
    graph.undo(graph.revisions(1)[0].revision)
    graph.load('del(id="Ada"); del(id="Bob");')
    assert contents(graph) == {}


def edge_to(graph: MemoryGraph, observation: str) -> dict[str, str]:
    [row] = graph.query(
        "MATCH ({namespace: $namespace})-[e:EDGE]->(o:Observation {data: $data}) RETURN e.id AS edge, o.id AS id",
        {"data": observation},
    )
    return row


def delete_edge_by_command(graph: MemoryGraph, edge: str) -> None:
    done = CliRunner().invoke(cli, ["--namespace", graph.namespace, "delete", edge])
    assert done.exit_code == 0, done.output


EDGE_WAYS: dict[str, Callable[[MemoryGraph, str], object]] = {
    "statement": lambda graph, edge: graph.load(f'del(id="{edge}");'),
    "client": lambda graph, edge: graph.delete(edge),
    "command": delete_edge_by_command,
    "moved away": lambda graph, edge: graph.load(f'Edge(edge_id="{edge}", to_node="Bob");'),
    "observation": lambda graph, _edge: graph.entities.delete_observations(
        [ObservationDeletion(entity_name="Ada", observations=["likes tea"])]
    ),
}


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("way", EDGE_WAYS)
def test_an_observation_goes_with_its_last_edge_and_comes_back(graph: MemoryGraph, way: str) -> None:
    remember_ada(graph)
    before = contents(graph)
    tea = edge_to(graph, "likes tea")
    EDGE_WAYS[way](graph, tea["edge"])
    assert {*before} - {*contents(graph)} == {tea["id"]} | ({tea["edge"]} if way != "moved away" else set())
    assert [hit.content for hit in graph.recall("tea").hits if hit.id == tea["id"]] == []
    graph.undo(graph.revisions(1)[0].revision)
    assert contents(graph) == before


LAST_EDGE_WAYS: dict[str, Callable[[MemoryGraph], object]] = {
    "statement": lambda graph: graph.load('del(id="drawn");'),
    "moved away": lambda graph: graph.load('Edge(edge_id="drawn", from_node="Bob", to_node="Bob");'),
    "node": lambda graph: graph.delete("Bob"),
    "entity": lambda graph: graph.entities.delete(["Bob"]),
    "undone": lambda graph: graph.undo(3),
    "edge forgotten": lambda graph: graph.forget("drawn"),
    "node forgotten": lambda graph: graph.forget("Bob"),
    "conversation forgotten": lambda graph: graph.forget_conversation("talk"),
    "expired": lambda graph: graph.expire("Bob", after=timedelta(0)),
}
DRAWN = ['from_node="Bob", to_node="{id}"', 'from_node="{id}", to_node="Bob"']


@pytest.mark.parametrize(("ends", "way"), every_nth(product(DRAWN, LAST_EDGE_WAYS), 6))
def test_an_observation_that_only_a_drawn_edge_joins_goes_with_that(graph: MemoryGraph, ends: str, way: str) -> None:
    remember_ada(graph)
    tea = edge_to(graph, "likes tea")["id"]
    drawn = f'Edge(edge_id="drawn", {ends.format(id=tea)}, verb="knows", weight=0.5);'
    graph.load(drawn, provenance=Provenance(conversation="talk"))
    graph.delete("Ada")
    before = contents(graph)
    assert tea in before
    LAST_EDGE_WAYS[way](graph)
    assert tea not in contents(graph)
    assert find_leftovers(graph.scope) == []
    if graph.revisions(1)[0].language not in ("forget", "expire"):
        graph.undo(graph.revisions(1)[0].revision)
        assert contents(graph) == before


def test_an_observation_is_deleted_in_batches_that_take_it_along_with_its_edge(graph: MemoryGraph) -> None:
    remember_ada(graph)
    tea = edge_to(graph, "likes tea")
    report = graph.delete(tea["id"], batch=1)
    assert (report.nodes_deleted, report.edges_deleted) == (1, 1)
    assert tea["id"] not in contents(graph)


@pytest.mark.parametrize(
    "program",
    [
        'del(id="{edge}"); Edge(edge_id="other", from_node="Bob", to_node="{id}", verb="observed", weight=1.0);',
        'Edge(edge_id="other", from_node="Bob", to_node="{id}", verb="observed", weight=1.0); del(id="{edge}");',
        'Edge(edge_id="{edge}", from_node="Bob");',
        'del(id="{edge}"); Node(node_id="{id}", name="kept");',
    ],
)
def test_an_observation_stays_that_the_program_gives_to_another_or_declares(graph: MemoryGraph, program: str) -> None:
    remember_ada(graph)
    tea = edge_to(graph, "likes tea")
    graph.load(program.format(**tea))
    assert tea["id"] in contents(graph)


USES = {
    "joined": 'Edge(edge_id="other", from_node="Bob", to_node="{id}", verb="observed", weight=1.0);',
    "joined from": 'Edge(edge_id="other", from_node="{id}", to_node="Bob", verb="v", weight=1.0);',
    "changed": 'Node(node_id="{id}", name="x");',
    "moved to": 'Edge(edge_id="self", to_node="{id}");',
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("between", ["", 'Node(node_id="Bob", data="x"); del(id="Zoe");'])
def test_a_program_that_uses_an_observation_after_it_deletes_its_entity_is_refused(
    graph: MemoryGraph, use: str, between: str
) -> None:
    remember_ada(graph)
    graph.load(
        'Node(node_id="Zoe", name="Zoe", data="");'
        'Edge(edge_id="self", from_node="Bob", to_node="Bob", verb="knows", weight=1.0);'
    )
    before = contents(graph)
    tea = edge_to(graph, "likes tea")["id"]
    statement = USES[use].format(id=tea)
    with pytest.raises(ScriptError) as refused:
        graph.load(f'del(id="Ada");{between}\n{statement}\ndel(id="Bob");')
    [problem] = refused.value.problems
    assert (problem.line, problem.column, problem.code) == (2, statement.index(tea), "unknown-node")
    assert f"`{tea}` went with a node" in problem.message
    assert contents(graph) == before
    graph.load(f'{USES["joined"].format(id=tea)} del(id="Ada"); {USES["changed"].format(id=tea)}')
    assert contents(graph)[tea]["properties"]["name"] == "x"


def test_a_program_that_uses_what_went_with_a_thought_is_refused(graph: MemoryGraph) -> None:
    graph.load(FIRST.replace("}\n", "context inner(&anna) { &anna likes &anna. } }\n"), "pete")
    [context] = [each for each in graph.thoughts() if each.name == "first"]
    inner = next(id_ for id_, row in contents(graph).items() if row["properties"].get("name") == "inner")
    graph.load(
        'Node(node_id="other", name="", data=""); Node(node_id="third", name="", data="");'
        f'Edge(edge_id="moved", from_node="{inner}", to_node="other", verb="v", weight=1);'
    )
    before = contents(graph)
    fact = next(id_ for id_ in before if id_.startswith("fact-"))
    deletion = f'del(id="memory-{context.address}"); '
    for used, code in (
        (f'Node(node_id="{inner}", data="x");', "unknown-node"),
        (f'Edge(edge_id="{fact}", weight=0.5);', "unknown-id"),
        ('Edge(edge_id="moved", to_node="third");', "unknown-id"),
    ):
        with pytest.raises(ScriptError) as refused:
            graph.load(deletion + used)
        assert [problem.code for problem in refused.value.problems] == [code]
    assert contents(graph) == before


def test_what_speaks_of_a_deleted_concept_goes_with_it_and_comes_back(graph: MemoryGraph) -> None:
    graph.load(THOUGHT, "pete")
    before = contents(graph)
    [bread] = [row["id"] for row in before.values() if row["properties"].get("name") == "bread"]
    graph.delete(bread)
    names = {row["properties"]["name"] for row in contents(graph).values() if "Statement" in row.get("labels", ())}
    assert names == {"that anna hopes carl", "that anna eats carl"}
    assert find_leftovers(graph.scope) == []
    graph.undo(graph.revisions(1)[0].revision)
    assert contents(graph) == before


def test_what_a_deletion_takes_along_is_known_before_it(graph: MemoryGraph) -> None:
    remember_ada(graph)
    graph.load(THOUGHT, "pete")
    before = contents(graph)
    ids = [id_ for id_, row in before.items() if "labels" in row]
    for chosen in [*random.Random(7).sample(ids, 5), "Ada", "memory-1"]:
        program = parse(f'del(id="{chosen}");', "contextscript")
        assert isinstance(program, ContextScriptProgram)
        lost = read_stored(graph.scope.read, program, ids).lost[chosen]
        report = graph.delete(chosen)
        gone = {*before} - {*contents(graph)}
        assert {*lost.recalled} == {id_ for id_ in gone if "labels" in before[id_]} - {chosen}
        assert lost.others == len(gone) - 1 - len(lost.recalled)
        graph.undo(report.revision)
        assert contents(graph) == before


def test_leftovers_of_earlier_deletions_are_removed_and_nothing_else(graph: MemoryGraph) -> None:
    remember_ada(graph)
    graph.load(THOUGHT, "pete")
    assert remove_leftovers(graph.scope) == []
    graph.query("MATCH (n:Node {namespace: $namespace}) WHERE n.name IN ['Ada', 'bread'] DETACH DELETE n", write=True)
    before = contents(graph)
    assert len(find_leftovers(graph.scope)) == 4
    [report] = remove_leftovers(graph.scope)
    assert report.nodes_deleted == 5  # with the statement that has a half one as its part
    left = contents(graph)
    assert {row["properties"]["data"] for row in left.values() if "Observation" in row.get("labels", ())} == {
        "likes tea, too"
    }
    assert remove_leftovers(graph.scope) == []
    graph.undo(report.revision)
    assert contents(graph) == before


def test_many_leftovers_are_removed_in_revisions_of_a_bounded_size_that_undo_brings_back(graph: MemoryGraph) -> None:
    graph.load("")
    graph.query(
        "UNWIND range(10, 34) AS i CREATE (:Node:Observation {namespace: $namespace, id: 'o' + i, name: '', data: ''})",
        write=True,
    )
    before = contents(graph)
    reports = remove_leftovers(graph.scope, limit=10)
    assert [report.nodes_deleted for report in reports] == [10, 10, 5]
    assert contents(graph) == {}
    for report in reversed(reports):
        graph.undo(report.revision)
    assert contents(graph) == before


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_a_node_that_is_deleted_in_batches_is_gone_as_one_that_is_deleted_at_once(
    graph: MemoryGraph, connection: Connection, batch: int
) -> None:
    other = empty_namespace(connection)
    for each in (graph, other):
        each.entities.create([Entity(name="hub", entity_type="kind", observations=["one", "two"])])
        spokes = [f'Node(node_id="n{n}", name="N", data="");' for n in range(7)]
        edges = [f'Edge(edge_id="e{n}", from_node="hub", to_node="n{n}", verb="v", weight=0.5);' for n in range(7)]
        inwards = 'Edge(edge_id="in", from_node="n1", to_node="hub", verb="v", weight=0.5);'
        itself = 'Edge(edge_id="self", from_node="hub", to_node="hub", verb="v", weight=0.5);'
        between = 'Edge(edge_id="between", from_node="n1", to_node="n2", verb="v", weight=0.5);'
        each.load("\n".join([*spokes, *edges, inwards, itself, between]))
    parts, whole = graph.delete("hub", batch=batch), other.delete("hub")
    assert graph.export() == other.export()
    assert (parts.nodes_deleted, parts.edges_deleted) == (whole.nodes_deleted, whole.edges_deleted)
    assert parts.revision == 2 + -(-11 // batch) + 1
    assert graph.broken_invariants() == []


CHOSEN = ["main", "first", "bread", "anna", "carl", "that anna likes bread", "Eve"]


@pytest.mark.parametrize(("batch", "chosen"), every_nth(product([1, 3, 100], CHOSEN), 3))
def test_what_goes_with_a_node_goes_in_batches_too_and_comes_back(
    graph: MemoryGraph, connection: Connection, batch: int, chosen: str
) -> None:
    other = empty_namespace(connection)
    for each in (graph, other):
        each.load(THOUGHT, "pete")
        each.load(
            FIRST.replace("}\n", "context inner(&anna, &carl) { &anna likes &carl. &anna sees &carl. } }\n"), "pete"
        )
        each.load(
            'Node(node_id="eve", name="Eve", data=""); Node(node_id="said", name="", data="likes tea");'
            'Edge(edge_id="e", from_node="eve", to_node="said", verb="observed", weight=1.0);'
        )
    before, first = contents(graph), graph.revisions(1)[0].revision
    [[identifier]] = [
        [row["id"] for row in before.values() if row["properties"].get("name") == chosen and "labels" in row]
    ]
    parts, whole = graph.delete(identifier, batch=batch), other.delete(identifier)
    assert {*contents(graph)} == {*contents(other)}
    assert (parts.nodes_deleted, parts.edges_deleted) == (whole.nodes_deleted, whole.edges_deleted)
    assert graph.broken_invariants() == []
    for revision in range(parts.revision, first, -1):
        graph.undo(revision)
    assert contents(graph) == before


def test_a_deletion_in_batches_goes_on_past_what_another_writer_deletes_meanwhile(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = (f'Edge(edge_id="e{n}", from_node="hub", to_node="other", verb="v", weight=1);' for n in range(7))
    graph.load(f'Node(node_id="hub", name="", data=""); Node(node_id="other", name="", data=""); {"".join(edges)}')
    delete = Loader.delete

    def delete_after_another(loader: Loader, ids: Iterable[str]) -> LoadReport:
        monkeypatch.setattr(Loader, "delete", delete)
        first, *rest = ids
        graph.delete(first)
        return loader.delete([first, *rest])

    monkeypatch.setattr(Loader, "delete", delete_after_another)
    assert graph.delete("hub", batch=3).edges_deleted == 6
    graph.load('Node(node_id="hub", name="", data="");')
    monkeypatch.setattr(Loader, "delete", delete_after_another)
    with pytest.raises(NotFoundError, match="`hub` is no known id"):
        graph.delete("hub")
    assert [node["id"] for node in graph.query("MATCH (n:Node {namespace: $namespace}) RETURN n.id AS id")] == ["other"]


def test_what_raw_cypher_gave_a_longer_id_than_scripts_have_can_be_deleted(graph: MemoryGraph) -> None:
    create = "CREATE (a:Node {namespace: $namespace, id: $id, name: '', data: ''}) CREATE (a)-[:EDGE $edge]->(a)"
    node, edge = "n" * 600, "e" * 600
    values = {"namespace": graph.namespace, "id": edge, "verb": "v", "weight": 1.0}
    for batch in (None, 1):
        graph.query(create, {"id": node, "edge": values}, write=True)
        deleted = graph.delete(node, batch=batch)
        assert (deleted.nodes_deleted, deleted.edges_deleted) == (1, 1)
    graph.query(create, {"id": node, "edge": values}, write=True)
    assert graph.delete(edge).edges_deleted == 1


EDGES_OF_RAW_CYPHER = {
    "the id of a node": "SET edge.id = 'other'",
    "a number as its id": "SET edge.id = 7",
    "no id": "REMOVE edge.id",
    "an end that is no node": "WITH endNode(edge) AS other REMOVE other:Node",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("made", EDGES_OF_RAW_CYPHER)
def test_what_cannot_be_named_goes_with_the_node_that_is_deleted_in_batches(graph: MemoryGraph, made: str) -> None:
    edges = (f'Edge(edge_id="e{n}", from_node="hub", to_node="other", verb="v", weight=1);' for n in range(5))
    graph.load(f'Node(node_id="hub", name="", data=""); Node(node_id="other", name="", data=""); {"".join(edges)}')
    find = "MATCH ()-[edge:EDGE {namespace: $namespace}]->() WITH edge ORDER BY edge.id LIMIT 1 "
    graph.query(find + EDGES_OF_RAW_CYPHER[made], write=True)
    deleted = graph.delete("hub", batch=2)
    assert (deleted.nodes_deleted, deleted.edges_deleted) == (1, 5)
    assert graph.query("MATCH ()-[edge:EDGE {namespace: $namespace}]->() RETURN edge.id AS id") == []


def test_a_batch_of_deletions_holds_an_edge_at_least(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="n", name="N", data="");')
    with pytest.raises(MemoryGraphError, match="at least one edge"):
        graph.delete("n", batch=0)
    assert graph.delete("n", batch=5).nodes_deleted == 1


FIRST = "context first(&anna, &carl) { &anna likes &carl. &carl likes &anna. _x helps _y if _y likes _x. }\n"
SECOND = "context second(&anna, &carl) { &anna likes &carl. _x helps _y if _y likes _x. }\n"


def facts(graph: MemoryGraph) -> set[str]:
    """The verbs of facts between the two, with where they begin, and the rules."""
    rows = graph.query(
        "MATCH (a:Node {namespace: $namespace})-[e:EDGE]->() WHERE e.lemma <> '' RETURN a.name + ' ' + e.verb AS said "
        "UNION MATCH (rule:Rule {namespace: $namespace}) WHERE rule:Node RETURN 'rule' AS said"
    )
    return {row["said"] for row in rows}


def test_the_facts_and_rules_that_only_a_deleted_context_states_go_with_it_and_come_back(graph: MemoryGraph) -> None:
    graph.load(FIRST, "pete")
    graph.load(SECOND, "pete")
    before = contents(graph)
    address = {thought.name: f"memory-{thought.address}" for thought in graph.thoughts()}
    first, second = address["first"], address["second"]
    one = graph.delete(first)
    assert facts(graph) == {"anna likes", "rule"}  # the other context states them, too
    other = graph.delete(second)
    assert facts(graph) == set()
    graph.undo(other.revision)
    assert facts(graph) == {"anna likes", "rule"}
    graph.undo(one.revision)
    assert contents(graph) == before
    graph.delete(second)
    assert facts(graph) == {"anna likes", "carl likes", "rule"}


THOUGHT_WAYS: dict[str, Callable[[MemoryGraph, str], object]] = {
    "statement": lambda graph, id_: graph.load(f'del(id="{id_}");'),
    "client": lambda graph, id_: graph.delete(id_),
    "batches": lambda graph, id_: graph.delete(id_, batch=1),
    "forgotten": lambda graph, id_: graph.forget(id_),
    "expired": lambda graph, id_: (graph.expire(id_, after=timedelta(0)), graph.purge_expired()),
    "deleted and forgotten": lambda graph, id_: (graph.delete(id_), graph.forget(id_.replace("-", ":"))),
    "deleted and purged": lambda graph, id_: (graph.delete(id_), graph.purge()),
}


@pytest.mark.parametrize("way", THOUGHT_WAYS)
def test_facts_and_rules_go_with_the_last_context_that_states_them_however_that_goes(
    graph: MemoryGraph, way: str
) -> None:
    graph.load(FIRST, "pete")
    graph.load(SECOND, "pete")
    address = {thought.name: f"memory-{thought.address}" for thought in graph.thoughts()}
    THOUGHT_WAYS[way](graph, address["first"])
    assert facts(graph) == {"anna likes", "rule"}
    THOUGHT_WAYS[way](graph, address["second"])
    assert facts(graph) == set()
    assert graph.broken_invariants() == []


def said(graph: MemoryGraph) -> set[str]:
    """What is said of something, and the concepts."""
    nodes = graph.query("MATCH (n:Node {namespace: $namespace}) WHERE NOT n:Context RETURN n.name AS name")
    return {row["name"] for row in nodes}


def test_what_only_a_deleted_context_says_of_something_goes_with_it_and_comes_back(graph: MemoryGraph) -> None:
    graph.load(THOUGHT, "pete")
    graph.load("context other(&anna, &carl) { &carl knows that &anna eats &carl. }", "pete")
    before = contents(graph)
    address = {thought.name: f"memory-{thought.address}" for thought in graph.thoughts()}
    one = graph.delete(address["main"])
    assert said(graph) == {"anna", "carl", "bread", "that anna eats carl"}  # the other context says this, too
    other = graph.delete(address["other"])
    assert said(graph) == {"anna", "carl", "bread"}
    graph.undo(other.revision)
    graph.undo(one.revision)
    assert contents(graph) == before


def test_a_context_comes_back_with_all_that_it_states_or_not_at_all(graph: MemoryGraph) -> None:
    graph.load(FIRST, "pete")
    graph.load(SECOND, "pete")
    before = contents(graph)
    address = {thought.name: f"memory-{thought.address}" for thought in graph.thoughts()}
    one = graph.delete(address["first"])
    other = graph.delete(address["second"])
    with pytest.raises(ConflictError, match=f"states, was deleted by revision {other.revision}"):
        graph.undo(one.revision)
    graph.undo(other.revision)
    graph.undo(one.revision)
    assert contents(graph) == before
