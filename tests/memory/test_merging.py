"""Merged entities: nothing said is lost, what led to the one leads to the other, and an undo brings all of it back."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from memorygraph import ConflictError, MemoryGraph, NotFoundError
from memorygraph.graph.connection import Connection
from memorygraph.graph.elements import Edge
from memorygraph.memory.entities import CreatedEntities
from memorygraph.memory.values import ObservationDeletion, Observations
from tests.examples import FEWEST_GRAPHS, examples
from tests.memory.recalling import learn, say
from tests.memory.test_entities import entity, relation
from tests.shared_neo4j import new_namespace
from tests.stored import everything

IDS = ("a", "b", "c", "d")


def said(graph: MemoryGraph, name: str) -> tuple[set[str], set[tuple[str, str, str]]]:
    """The observations and relations of an entity."""
    page = graph.entities.open([name])
    [found] = page.entities
    return set(found.observations), {(each.source, each.relation_type, each.target) for each in page.relations}


@pytest.fixture
def ada(graph: MemoryGraph) -> MemoryGraph:
    """Ada under two names, who knows Bob under both, and is known by Carl under one."""
    graph.entities.create(
        [entity("Ada", "likes tea"), entity("Countess", "likes tea", "born in 1815"), entity("Bob"), entity("Carl")]
    )
    graph.entities.relate(
        [
            relation("Ada", "knows", "Bob"),
            relation("Countess", "knows", "Bob"),
            relation("Carl", "knows", "Countess"),
            relation("Ada", "is", "Countess"),
            relation("Countess", "trusts", "Countess"),
        ]
    )
    return graph


def test_a_merge_moves_what_was_said_and_says_nothing_twice(ada: MemoryGraph) -> None:
    report = ada.merge("Countess", into="Ada")
    assert said(ada, "Ada") == (
        {"likes tea", "born in 1815"},
        {("Ada", "knows", "Bob"), ("Carl", "knows", "Ada"), ("Ada", "trusts", "Ada")},
    )
    assert len(ada.entities.open(["Ada"]).entities[0].observations) == 2
    counts = {
        "edges_moved": 2,
        "edges_joined": 1,
        "loops_removed": 1,
        "observations_moved": 1,
        "observations_joined": 1,
    }
    assert {name: report.as_dict()[name] for name in counts} == counts
    assert report.aliases == ("Countess",)


def test_a_list_as_data_of_an_observation_stands_in_no_ones_way(ada: MemoryGraph) -> None:
    change = "MATCH (n:Node {namespace: $namespace}) WHERE n.data <> '' AND n.name = '' SET n.data = ['a', 'b']"
    assert ada.query(f"{change} RETURN n.id", write=True)
    report = ada.merge("Countess", into="Ada")
    assert str(report).startswith(f"{report.merged.label} is {report.into.label} now")


def test_of_two_edges_that_say_the_same_the_stronger_weight_stays(graph: MemoryGraph) -> None:
    graph.load(
        'Node(node_id="a", name="A", data=""); Node(node_id="b", name="B", data="");'
        'Node(node_id="c", name="C", data="");'
        'Edge(edge_id="ac", from_node="a", to_node="c", verb="likes", weight=0.9);'
        'Edge(edge_id="bc", from_node="b", to_node="c", verb="likes", weight=0.2);'
        'Edge(edge_id="ac2", from_node="a", to_node="c", verb="knows", weight=0.3);'
    )
    graph.merge("a", into="b")
    edges = graph.query(
        "MATCH (a)-[e:EDGE {namespace: $namespace}]->(b) RETURN a.id, e.id, e.weight, b.id ORDER BY e.id"
    )
    assert [list(row.values()) for row in edges] == [["b", "ac2", 0.3, "c"], ["b", "bc", 0.9, "c"]]


def test_of_two_edges_without_a_weight_none_gets_one(graph: MemoryGraph) -> None:
    graph.load(
        'Node(node_id="a", name="A", data=""); Node(node_id="b", name="B", data="");'
        'Node(node_id="c", name="C", data="");'
        'Edge(edge_id="ac", from_node="a", to_node="c", verb="likes", weight=1);'
        'Edge(edge_id="bc", from_node="b", to_node="c", verb="likes", weight=1);'
    )
    edge = "MATCH ()-[e:EDGE {namespace: $namespace}]->()"
    graph.query(f"{edge} REMOVE e.weight", write=True)
    assert graph.merge("a", into="b").edges_joined == 1
    assert graph.query(f"{edge} RETURN e.id AS id, e.weight AS weight") == [{"id": "bc", "weight": None}]


@pytest.mark.parametrize(
    ("merged", "into", "data", "observed"),
    [
        ("", "x", "x", set()),
        ("x", "", "x", set()),
        ("x", "x", "x", set()),
        ("x", "y", "y", {"x"}),
    ],
)
def test_data_that_both_have_becomes_an_observation(
    graph: MemoryGraph, merged: str, into: str, data: str, observed: set[str]
) -> None:
    graph.load(f'Node(node_id="a", name="A", data="{merged}"); Node(node_id="b", name="B", data="{into}");')
    graph.merge("a", into="b")
    assert graph.node("b").data == data
    assert set(graph.entities.open(["B"]).entities[0].observations) == {data, *observed} - {""}


@pytest.mark.parametrize("name", ["a", "A", "memory:N"])
def test_what_was_merged_is_found_by_all_that_it_was_found_by(graph: MemoryGraph, name: str) -> None:
    graph.load('Node(node_id="a", name="A", data=""); Node(node_id="b", name="B", data="");')
    name = graph.address("a") if name == "memory:N" else name
    graph.merge("a", into="b")
    if name != "A":
        assert graph.node(name).id == "b"
    if not name.startswith("memory:"):
        page = graph.entities.open([name])
        assert [each.name for each in page.entities] == ["B"]
        assert page.aliases == {name: "B"}


def test_aliases_are_one_step_from_their_entity_however_often_that_is_merged(graph: MemoryGraph) -> None:
    graph.entities.create([entity(name) for name in ("A", "B", "C")])
    first = graph.merge("A", into="B").report.revision
    second = graph.merge("B", into="C").report.revision
    assert graph.node("A").id == graph.node("B").id == "C"
    assert graph.aliases("C") == ["A", "B"]
    graph.undo(second)
    assert graph.node("A").id == "B"
    assert graph.aliases("C") == []
    graph.undo(first)
    assert graph.node("A").id == "A"


def test_every_search_finds_an_alias(ada: MemoryGraph) -> None:
    ada.merge("Countess", into="Ada")
    assert [hit.id for hit in ada.search("countess")] == ["Ada"]
    assert "Ada" in {hit.id for hit in ada.recall("Who is the countess?").hits}
    for text in ("Countess", "ountes", "the countess who wrote"):
        assert [each.name for each in ada.entities.search(text).entities] == ["Ada"], text


def test_writes_take_an_alias_and_say_whose_it_is(ada: MemoryGraph) -> None:
    ada.merge("Countess", into="Ada")
    [outcome] = ada.entities.create([entity("Countess", "wrote a program")]).outcomes
    assert (outcome.outcome, outcome.alias_of) == ("merged", "Ada")
    [added] = ada.entities.observe([Observations(entity_name="Countess", contents=["is kind"])])
    assert (added.added_observations, added.alias_of) == (["is kind"], "Ada")
    created, [related] = ada.entities.relate([relation("Countess", "trusts", "Carl")])
    assert (len(created), related.aliases) == (1, {"Countess": "Ada"})
    ada.entities.delete_observations([ObservationDeletion(entity_name="Countess", observations=["is kind"])])
    ada.entities.delete_relations([relation("Countess", "trusts", "Carl")])
    assert said(ada, "Ada") == (
        {"likes tea", "born in 1815", "wrote a program"},
        {("Ada", "knows", "Bob"), ("Carl", "knows", "Ada"), ("Ada", "trusts", "Ada")},
    )
    ada.entities.delete(["Countess"])
    with pytest.raises(NotFoundError):
        ada.node("Ada")


def test_an_observation_under_two_names_of_an_entity_is_stored_once(ada: MemoryGraph) -> None:
    ada.merge("Countess", into="Ada")
    created = ada.entities.create([entity("Countess", "is kind"), entity("Ada", "is kind", "is tall")])
    assert [outcome.added_observations for outcome in created.outcomes] == [["is kind"], ["is tall"]]
    observed = [Observations(entity_name=name, contents=["is bold"]) for name in ("Ada", "Countess")]
    assert [added.added_observations for added in ada.entities.observe(observed)] == [["is bold"], []]
    assert {"is kind", "is tall", "is bold"} <= said(ada, "Ada")[0]


def test_an_observation_that_came_by_a_merge_is_not_stored_again(ada: MemoryGraph) -> None:
    ada.merge("Countess", into="Ada")
    for name in ("Ada", "Countess"):
        [added] = ada.entities.observe([Observations(entity_name=name, contents=["born in 1815", "likes tea", name])])
        assert added.added_observations == [name]
    [found] = ada.entities.open(["Ada"]).entities
    assert found.observations == ["likes tea", "born in 1815", "Ada", "Countess"]


def test_an_alias_goes_with_its_entity_and_comes_back_with_it(ada: MemoryGraph) -> None:
    ada.merge("Countess", into="Ada")
    ada.delete("Ada")
    with pytest.raises(NotFoundError):
        ada.node("Countess")
    assert ada.search("countess") == []
    ada.undo(ada.revisions(1)[0].revision)
    assert ada.node("Countess").id == "Ada"


def test_a_purge_of_the_history_keeps_aliases_of_what_is_there(ada: MemoryGraph) -> None:
    ada.entities.create([entity("A"), entity("B")])
    ada.merge("A", into="Countess")
    ada.merge("Countess", into="Ada")
    ada.purge()
    assert ada.node("A").id == ada.node("Countess").id == "Ada"
    ada.delete("Ada")
    ada.purge()
    assert ada.query("MATCH (alias:Alias {namespace: $namespace}) RETURN alias.name") == []


def test_a_new_node_of_that_id_comes_before_the_alias(ada: MemoryGraph) -> None:
    ada.merge("Countess", into="Ada")
    ada.load('Node(node_id="Countess", name="Countess", data="another");')
    assert ada.node("Countess").data == "another"
    page = ada.entities.open(["Countess"])
    assert [each.observations for each in page.entities] == [["another"]]
    assert page.aliases == {}
    ada.delete("Countess")
    assert ada.node("Countess").id == "Ada"


def test_a_new_edge_of_that_id_comes_before_the_alias(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data=""); Node(node_id="b", name="B", data="");')
    graph.merge("a", into="b")
    graph.load('Edge(edge_id="a", from_node="b", to_node="b", verb="knows", weight=1.0);')
    assert isinstance(graph.element("a"), Edge)
    assert graph.delete("a").edges_deleted == 1
    assert graph.element("a").id == "b"


def test_messages_that_were_learnt_from_belong_to_both_once(graph: MemoryGraph) -> None:
    first, second = say(graph, "talk", ("Ada", "I like tea"), ("Ada", "I was born in 1815"))
    learn(graph, [("one", "likes tea", [first]), ("two", "born in 1815", [first, second])])
    graph.query("MATCH (n:Node {namespace: $namespace}) REMOVE n:Observation SET n.name = n.id", write=True)
    before = everything(graph)
    report = graph.merge("two", into="one")
    found = "MATCH (:Node {namespace: $namespace, id: 'one'})-[:SOURCE]->(m) RETURN m.id AS id"
    assert sorted(row["id"] for row in graph.query(found)) == sorted([first, second])
    assert report.messages == 1
    graph.undo(report.report.revision)
    assert everything(graph) == before


def test_a_thought_means_the_entity_that_is_left(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="ada", name="Ada", data=""); Node(node_id="countess", name="Countess", data="");')
    address = graph.address("countess")
    graph.load(f"context main(&x) {{ &c = {address}\n&t = /* tea */\n&c likes &t. }}", "pete")
    before = everything(graph)
    revision = graph.merge("countess", into="ada").report.revision
    mentions = "MATCH (:Entry {namespace: $namespace})-[:MENTIONS]->(n:Node {id: 'ada'}) RETURN count(*) > 0 AS some"
    bound = "MATCH (:Context {namespace: $namespace})-[:BINDS {ref: 'c', order: 0}]->(n:Node) RETURN n.id AS id"
    facts = "MATCH (n:Node {namespace: $namespace})-[e:EDGE {lemma: 'like'}]->() RETURN DISTINCT n.id AS id"
    assert graph.node(address).id == "ada"
    assert graph.query(mentions) == [{"some": True}]
    assert graph.query(bound) == graph.query(facts) == [{"id": "ada"}]
    graph.undo(revision)
    assert everything(graph) == before


def test_a_thought_finds_what_was_merged_by_its_name_and_address(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="ada", name="Ada", data=""); Node(node_id="countess", name="Countess", data="");')
    address = graph.address("countess")
    graph.merge("countess", into="ada")
    graph.load(f"context main(&x) {{ &c = /* Countess */\n&d = {address}\n&c likes &d. }}", "pete")
    facts = "MATCH (n:Node {namespace: $namespace})-[e:EDGE {lemma: 'like'}]->(m) RETURN n.id AS source, m.id AS target"
    assert graph.query(facts) == [{"source": "ada", "target": "ada"}]
    with pytest.raises(ConflictError, match="a context of PETE"):
        graph.merge(f"memory-{graph.thoughts()[0].address}", into="ada")


def test_the_past_is_read_as_it_was(ada: MemoryGraph) -> None:
    before = ada.revisions(1)[0].revision
    then = ada.export("jsonl")
    merged = ada.merge("Countess", into="Ada").report.revision
    assert ada.at(before).export("jsonl") == then
    assert ada.at(before).node("Countess").name == "Countess"
    assert [(change.revision, change.action) for change in ada.history("Countess")][-1] == (merged, "deleted")


@pytest.mark.slow
def test_a_bundle_carries_aliases_and_contextscript_says_that_it_does_not(
    ada: MemoryGraph, connection: Connection, tmp_path: Path
) -> None:
    ada.merge("Countess", into="Ada")
    ada.export_bundle(tmp_path / "all.jsonl")
    copy = MemoryGraph(connection, new_namespace())
    copy.import_bundle(tmp_path / "all.jsonl")
    assert copy.node("Countess").id == "Ada"
    assert [hit.id for hit in copy.search("countess")] == ["Ada"]
    for form in ("contextscript", "server-memory"):
        assert any("alias" in line and "Countess" in line for line in ada.export_to(io.StringIO(), form).lines())


def test_a_namespace_has_its_own_aliases_and_drops_them(ada: MemoryGraph, connection: Connection) -> None:
    other = MemoryGraph(connection, new_namespace())
    other.entities.create([entity("X")])
    ada.merge("Countess", into="Ada")
    with pytest.raises(NotFoundError):
        other.node("Countess")
    assert other.search("countess") == []
    ada.drop_namespace(ada.namespace)
    assert ada.query("MATCH (alias:Alias {namespace: $namespace}) RETURN alias.name") == []


@pytest.mark.slow
def test_an_alias_of_nothing_breaks_an_invariant(ada: MemoryGraph) -> None:
    ada.merge("Countess", into="Ada")
    assert ada.broken_invariants() == []
    ada.query("MATCH (:Alias {namespace: $namespace})-[link:ALIAS_OF]->() DELETE link", write=True)
    assert [broken.name for broken in ada.broken_invariants()] == ["aliases"]


REFUSED: dict[str, tuple[str, str, type[Exception], str]] = {
    "itself": ("Ada", "Ada", ConflictError, "one entity already"),
    "what is not there": ("Nobody", "Ada", NotFoundError, "no entity `Nobody`"),
    "into what is not there": ("Ada", "Nobody", NotFoundError, "no entity `Nobody`"),
    "a name of several": ("Twin", "Ada", ConflictError, "`t1`, `t2`"),
    "an alias of it": ("Old", "Ada", ConflictError, "one entity already"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_merged_is_refused_and_changes_nothing(ada: MemoryGraph, case: str) -> None:
    ada.load('Node(node_id="t1", name="Twin", data=""); Node(node_id="t2", name="Twin", data="");')
    ada.entities.create([entity("Old")])
    ada.merge("Old", into="Ada")
    before, revision = everything(ada), ada.revisions(1)[0].revision
    merged, into, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        ada.merge(merged, into=into)
    assert (everything(ada), ada.revisions(1)[0].revision) == (before, revision)


def test_an_observation_is_no_entity(ada: MemoryGraph) -> None:
    [row] = ada.query("MATCH (n:Observation {namespace: $namespace, data: 'born in 1815'}) RETURN n.id AS id")
    with pytest.raises(ConflictError, match="an observation"):
        ada.merge(row["id"], into="Ada")


def test_a_dry_run_reports_what_a_merge_does_and_does_nothing(ada: MemoryGraph) -> None:
    before = everything(ada)
    tried = ada.merge("Countess", into="Ada", dry_run=True).as_dict()
    assert everything(ada) == before
    done = ada.merge("Countess", into="Ada").as_dict()
    assert (tried["dry_run"], tried["revision"], tried["load_id"]) == (True, 0, "")
    assert not done["dry_run"]
    own = ("dry_run", "revision", "load_id")
    assert {key: value for key, value in tried.items() if key not in own} == {
        key: value for key, value in done.items() if key not in own
    }


def test_an_undo_of_an_undo_merges_again(ada: MemoryGraph) -> None:
    before = everything(ada)
    merged = ada.merge("Countess", into="Ada").report.revision
    after = said(ada, "Ada")
    parted = ada.undo(merged).revision
    assert everything(ada) == before
    again = ada.undo(parted).revision
    assert (said(ada, "Ada"), ada.node("Countess").id) == (after, "Ada")
    ada.undo(again)
    assert everything(ada) == before


def test_a_merge_is_undone_only_while_its_entity_is_there(graph: MemoryGraph) -> None:
    graph.entities.create([entity(name) for name in ("A", "B", "C")])
    revision = graph.merge("A", into="B").report.revision
    graph.merge("B", into="C")
    with pytest.raises(ConflictError, match="undo that first"):
        graph.undo(revision)


def test_of_two_merges_at_once_one_is_told_of_the_other(ada: MemoryGraph) -> None:
    told: list[str] = []

    def attempt(merged: str, into: str) -> None:
        try:
            ada.merge(merged, into=into)
        except ConflictError as error:
            told.append(str(error))

    threads = [threading.Thread(target=attempt, args=names) for names in (("Ada", "Countess"), ("Countess", "Ada"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 1
    assert "one entity already" in told[0]
    assert len(ada.entities.open(["Ada", "Countess"]).entities) == 1


EDGES = st.lists(
    st.tuples(
        st.sampled_from(IDS), st.sampled_from(["likes", "knows"]), st.sampled_from(IDS), st.sampled_from([0.1, 0.9])
    ),
    max_size=8,
)
TEXTS = st.dictionaries(st.sampled_from(IDS), st.lists(st.sampled_from(["x", "y", "z"]), unique=True, max_size=3))
DATA = st.dictionaries(st.sampled_from(IDS), st.sampled_from(["", "x", "data"]))


@settings(max_examples=examples(30, FEWEST_GRAPHS), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=EDGES, texts=TEXTS, data=DATA, merges=st.lists(st.permutations(IDS).map(lambda ids: ids[:2]), max_size=3))
def test_merges_lose_nothing_but_edges_between_the_two_and_are_undone_completely(
    connection: Connection,
    edges: list[tuple[str, str, str, float]],
    texts: dict[str, list[str]],
    data: dict[str, str],
    merges: list[list[str]],
) -> None:
    assume(merges)
    graph = MemoryGraph(connection, new_namespace())
    graph.load(
        "".join(f'Node(node_id="{name}", name="{name.upper()}", data="{data.get(name, "")}");' for name in IDS)
        + "".join(
            f'Edge(edge_id="e{index}", from_node="{source}", to_node="{target}", verb="{verb}", weight={weight});'
            for index, (source, verb, target, weight) in enumerate(edges)
        )
    )
    observations = [Observations(entity_name=name.upper(), contents=each) for name, each in texts.items() if each]
    if observations:
        graph.entities.observe(observations)
    stands_for = {name: name for name in IDS}
    known = {name: {*texts.get(name, ()), data.get(name, "")} - {""} for name in IDS}
    related = {(source, verb, target): 0.0 for source, verb, target, _ in edges}
    for source, verb, target, weight in edges:
        related[source, verb, target] = max(related[source, verb, target], weight)
    states, revisions = [everything(graph)], []
    for first, second in merges:
        merged, into = stands_for[first], stands_for[second]
        if merged == into:
            with pytest.raises(ConflictError):
                graph.merge(first, into=second)
            continue
        revisions.append(graph.merge(first, into=second).report.revision)
        stands_for = {name: into if each == merged else each for name, each in stands_for.items()}
        known[into] |= known.pop(merged)
        moved: dict[tuple[str, str, str], float] = {}
        for (source, verb, target), weight in related.items():
            if {source, target} != {merged, into}:
                key = (into if source == merged else source, verb, into if target == merged else target)
                moved[key] = max(moved.get(key, 0.0), weight)
        related = moved
        stored = graph.query(
            "MATCH (a:Node)-[e:EDGE {namespace: $namespace}]->(b:Node) WHERE e.verb <> 'observed' "
            "RETURN a.id AS source, e.verb AS verb, b.id AS target, max(e.weight) AS weight"
        )
        assert {(row["source"], row["verb"], row["target"]): row["weight"] for row in stored} == related
        for name, found in stands_for.items():
            assert graph.node(name).id == found
            [page] = graph.entities.open([name.upper()]).entities
            assert sorted(page.observations) == sorted(known[found])
        assert graph.broken_invariants() == []
        states.append(everything(graph))
    for revision in reversed(revisions):
        states.pop()
        graph.undo(revision)
        assert everything(graph) == states[-1]
    graph.drop_namespace(graph.namespace)


NAMES: dict[str, Callable[[MemoryGraph], CreatedEntities]] = {
    "capitals": lambda graph: graph.entities.create([entity("ADA LOVELACE", "likes tea")]),
    "of many": lambda graph: graph.entities.create(
        [entity("ada lovelace", "likes tea"), *(entity(f"Person {index}") for index in range(150))]
    ),
    "twice in one request": lambda graph: graph.entities.create(
        [entity("ada lovelace"), entity("ADA lovelace", "likes tea")]
    ),
}


@pytest.mark.parametrize("case", NAMES)
def test_a_name_that_differs_in_case_only_is_that_of_the_entity(graph: MemoryGraph, case: str) -> None:
    graph.entities.create([entity("Ada Lovelace", "wrote a program")])
    created = NAMES[case](graph)
    assert "Ada Lovelace" in {each.did_you_mean for each in created.outcomes}
    assert said(graph, "Ada Lovelace")[0] == {"wrote a program", "likes tea"}
    assert graph.query(
        "MATCH (n:Entity {namespace: $namespace}) WHERE toLower(n.name) = 'ada lovelace' RETURN count(*) AS count"
    ) == [{"count": 1}]


def test_case_is_distinguished_where_that_is_asked_for(graph: MemoryGraph) -> None:
    graph.entities.create([entity("May")])
    created = graph.entities.create([entity("may", kind="month")], distinguish_case=True)
    assert [each.outcome for each in created.outcomes] == ["created"]
    assert {each.name for each in graph.entities.open(["May", "may"]).entities} == {"May", "may"}


def test_names_of_one_request_that_differ_in_case_only_are_stored_once(graph: MemoryGraph) -> None:
    created, outcomes = graph.entities.create([entity("May", "is a person"), entity("may", "is a month")])
    assert [(each.name, each.observations) for each in created] == [("May", ["is a person", "is a month"])]
    assert [(each.name, each.outcome, each.added_observations, each.did_you_mean) for each in outcomes] == [
        ("May", "created", ["is a person"], None),
        ("may", "merged", ["is a month"], "May"),
    ]
    assert [each.name for each in graph.entities.read_graph().entities] == ["May"]


@pytest.mark.usefixtures("planned")
@pytest.mark.parametrize("distinguish_case", [False, True])
def test_entities_that_are_stored_in_both_cases_keep_what_is_said_of_each(
    graph: MemoryGraph, distinguish_case: bool
) -> None:
    graph.entities.create([entity("May"), entity("may")], distinguish_case=True)
    said_of_both = [entity("May", "is a person"), entity("may", "is a month")]
    created = graph.entities.create(said_of_both, distinguish_case=distinguish_case)
    assert [(each.outcome, each.did_you_mean) for each in created.outcomes] == [("merged", None)] * 2
    assert graph.entities.open(["May", "may"]).entities == said_of_both


def test_of_a_name_and_the_stored_one_in_another_case_the_stored_one_is_no_mistake(graph: MemoryGraph) -> None:
    graph.entities.create([entity("May")])
    created = graph.entities.create([entity("MAY", "is a name"), entity("May", "is a person")])
    assert [(each.name, each.did_you_mean) for each in created.outcomes] == [("MAY", "May"), ("May", None)]
    assert said(graph, "May")[0] == {"is a name", "is a person"}


@pytest.mark.usefixtures("planned")
def test_a_name_in_a_third_case_is_that_of_the_entity_that_came_first(graph: MemoryGraph) -> None:
    for name in ("May", "MAY"):
        graph.entities.create([entity(name)], distinguish_case=True)
    graph.load('Node(node_id="a", name="Bob", data=""); Node(node_id="b", name="BOB", data="");')
    created = graph.entities.create([entity("may"), entity("bob")])
    assert [each.did_you_mean for each in created.outcomes] == ["May", "Bob"]


SAME_NAMES = {
    "marks apart": ("Caf\u00e9", "Cafe\u0301"),
    "marks joined": ("Cafe\u0301", "caf\u00e9"),
    "sharp s in capitals": ("Stra\u00dfe", "STRASSE"),
    "sharp s": ("GRO\u00dfE STRASSE 5", "grosse stra\u00dfe 5"),
    "one sharp s of two": ("Wei\u00dfgasse 1", "WEISSGASSE 1"),
    "one sharp s of several": ("Grosse Stra\u00dfe", "GROSSE STRASSE"),
    "capital sharp s": ("STRA\u1e9eE", "stra\u00dfe"),
    "final sigma": (
        "\u039f\u03b4\u03c5\u03c3\u03c3\u03b5\u03c5\u03c2",
        "\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3",
    ),
    "blanks around it": ("A. Smith", " A. Smith "),
    "blanks around the stored one": ("\tA. Smith ", "a. smith"),
    "a ligature": ("FINN", "\ufb01nn"),
}


@pytest.mark.usefixtures("planned")
@pytest.mark.parametrize("case", SAME_NAMES)
def test_names_that_are_equal_but_for_case_encoding_and_outer_blanks_are_one(graph: MemoryGraph, case: str) -> None:
    stored, other = SAME_NAMES[case]
    created = graph.entities.create([entity(stored), entity(other, "x")])
    assert [each.did_you_mean for each in created.outcomes] == [None, stored]
    again = graph.entities.create([entity(other, "y")])
    assert [(each.outcome, each.did_you_mean) for each in again.outcomes] == [("merged", stored)]
    assert said(graph, stored)[0] == {"x", "y"}
    with pytest.raises(NotFoundError, match=f"not found, did you mean {stored}"):
        graph.entities.observe([Observations(entity_name=other, contents=["z"])])


@pytest.mark.usefixtures("planned")
@pytest.mark.parametrize(
    "names",
    [("K\u0131sa", "Kisa"), ("Jos\u00e9", "Jose"), ("x\u00b2", "x2"), ("A.Smith", "A. Smith"), (" ", "  ")],
    ids=["dotless", "accent", "power", "inner blank", "blanks"],
)
def test_names_that_differ_in_more_than_case_are_two(graph: MemoryGraph, names: tuple[str, str]) -> None:
    for name in names:
        [outcome] = graph.entities.create([entity(name)]).outcomes
        assert outcome.outcome == "created"


@pytest.mark.usefixtures("planned")
def test_an_alias_in_another_case_stands_for_its_entity(graph: MemoryGraph) -> None:
    graph.entities.create([entity("Jose Muller"), entity("Jos\u00e9 M\u00fcller"), entity("The jose muller")])
    graph.merge("Jose Muller", into="Jos\u00e9 M\u00fcller")
    for name in ("jose muller", "jOSE mULLER "):
        [outcome] = graph.entities.create([entity(name, name)]).outcomes
        assert (outcome.outcome, outcome.did_you_mean) == ("merged", "Jos\u00e9 M\u00fcller")
        with pytest.raises(NotFoundError, match=f"{name} not found, did you mean Jos\u00e9 M\u00fcller"):
            graph.entities.observe([Observations(entity_name=name, contents=["x"])])
    graph.entities.create([entity("JOSE MULLER")], distinguish_case=True)
    [outcome] = graph.entities.create([entity("jose muller")]).outcomes
    assert outcome.did_you_mean == "JOSE MULLER"  # a name comes before an alias


@pytest.mark.usefixtures("planned")
def test_an_entity_that_exists_keeps_its_type_and_the_outcome_says_so(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="x1", name="Vera", data="");')
    graph.entities.create([entity("Ada", kind="person"), entity("A. Lovelace", kind="person")])
    graph.merge("A. Lovelace", into="Ada")
    wanted = ["Ada", "ada", "A. Lovelace", "a. lovelace", "Vera", "Bob", "bob"]
    outcomes = graph.entities.create([entity(name, kind="robot") for name in wanted]).outcomes
    assert [(each.name, each.entity_type) for each in outcomes] == [
        ("Ada", "person"),
        ("ada", "person"),
        ("A. Lovelace", "person"),
        ("a. lovelace", "person"),
        ("Vera", "node"),
        ("Bob", None),
        ("bob", None),
    ]
    [again] = graph.entities.create([entity("Bob", kind="person")]).outcomes
    assert (again.entity_type, again.outcome) == ("robot", "unchanged")
    assert {each.name: each.entity_type for each in graph.entities.read_graph().entities}["Ada"] == "person"


def test_what_is_found_by_the_parts_of_its_words_is_found_after_a_merge(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data="커피를 샀다"); Node(node_id="b", name="B", data="");')
    graph.merge("a", into="b")
    assert [hit.id for hit in graph.search("커피")] == ["b"]
    graph.load('Node(node_id="c", name="C", data="우유를 샀다");')
    graph.merge("c", into="b")
    assert [hit.node.data for hit in graph.search("우유")] == ["우유를 샀다"]
