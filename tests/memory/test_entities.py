"""Entities, observations and relations: what each operation stores, gives back, and refuses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from neo4j import WRITE_ACCESS, exceptions
from pydantic import ValidationError

from memorygraph import MemoryGraph, MemoryGraphError, NotFoundError
from memorygraph.context.tokens import count_tokens
from memorygraph.graph.connection import Connection, Transaction
from memorygraph.graph.elements import Edge
from memorygraph.graph.loads import Provenance
from memorygraph.graph.namespace import Namespace
from memorygraph.memory import pages
from memorygraph.memory.entities import Entities
from memorygraph.memory.pages import EntityGraph, PageRequest, PageStart, WholeGraph, as_json
from memorygraph.memory.values import AnyRelation, Entity, EntityValue, ObservationDeletion, Observations, Relation
from tests.examples import FEWEST_GRAPHS, amount, examples


def entity(name: str, *observations: str, kind: str = "person") -> Entity:
    return Entity(name=name, entity_type=kind, observations=list(observations))


def relation(source: str, verb: str, target: str) -> Relation:
    return Relation(source=source, target=target, relation_type=verb)


class Memory:
    """The operations on one namespace, in short."""

    def __init__(self, graph: MemoryGraph) -> None:
        self.graph = graph
        self.where = graph.scope

    def create(self, *entities: Entity) -> list[str]:
        return [each.name for each in Entities(self.where).create(entities).entities]

    def relate(self, *relations: Relation) -> list[Relation]:
        return Entities(self.where).relate(relations).relations

    def add(self, name: str, *texts: str) -> list[str]:
        [added] = Entities(self.where).observe([Observations(entity_name=name, contents=list(texts))])
        return added.added_observations

    def forget(self, name: str, *texts: str) -> dict[str, int]:
        deletion = ObservationDeletion(entity_name=name, observations=list(texts))
        return Entities(self.where).delete_observations([deletion])

    def read(self) -> dict[str, Any]:
        return Entities(self.where).read_graph().as_dict()

    def observations(self, name: str) -> list[str]:
        [found] = Entities(self.where).open([name]).entities
        return found.observations

    def found(self, query: str) -> list[str]:
        return [each.name for each in Entities(self.where).search(query).entities]

    def revision(self) -> int:
        return next((info.revision for info in self.graph.namespaces() if info.name == self.graph.namespace), 0)


@pytest.fixture
def mem(graph: MemoryGraph) -> Memory:
    return Memory(graph)


def test_both_dialects_are_read() -> None:
    ours = Entity.model_validate({"name": "A", "entityType": "t", "observations": ["o"]})
    assert ours == Entity.model_validate({"name": "A", "type": "t", "observations": ["o"]})
    assert Relation.model_validate({"from": "A", "to": "B", "relationType": "r"}) == Relation.model_validate(
        {"source": "A", "target": "B", "relationType": "r"}
    )
    assert Observations.model_validate({"entityName": "A", "contents": ["o"]}) == Observations.model_validate(
        {"entityName": "A", "observations": ["o"]}
    )


@pytest.mark.parametrize("asked", ["delete", "open", "missing", "aliases"])
def test_a_text_is_no_list_of_names_for_each_of_its_letters_would_be_one(mem: Memory, asked: str) -> None:
    mem.create(entity("A"), entity("B"))
    with pytest.raises(MemoryGraphError, match=r"^invalid names 'AB': give a list of names, .* \['AB'\]$"):
        getattr(mem.graph.entities, asked)("AB")
    assert mem.graph.entities.missing(["A", "B"]) == []


def test_a_value_of_a_request_may_be_a_mapping_in_either_dialect(mem: Memory) -> None:
    entities = mem.graph.entities
    created = entities.create([{"name": "Ada", "type": "person"}, entity("Bob")])
    assert [each.entity_type for each in created.entities] == ["person", "person"]
    [added] = entities.observe([{"entityName": "Ada", "contents": ["likes tea", "likes maps"]}])
    assert added.added_observations == ["likes tea", "likes maps"]
    knows = {"source": "Ada", "target": "Bob", "relationType": "knows"}
    assert [each.outcome for each in entities.relate([knows]).outcomes] == ["created"]
    assert entities.delete_observations([{"entityName": "Ada", "observations": ["likes tea"]}])["found"] == 1
    assert entities.delete_relations([knows])["found"] == 1
    assert mem.observations("Ada") == ["likes maps"]


@pytest.mark.parametrize(
    ("asked", "value", "told"),
    [
        ("create", {"name": "Ada"}, "no Entity: entityType: Field required"),
        ("create", "Ada", "no Entity: Input should be .* instance of Entity"),
        ("relate", entity("Ada"), "no Relation: Input should be .* instance of Relation"),
        (
            "observe",
            {"entityName": "Ada", "contents": "tea"},
            "no Observations: contents: Input should be a valid list",
        ),
        ("delete_observations", {"entityName": "Ada"}, "no ObservationDeletion: observations: Field required"),
        ("delete_relations", {"from": "Ada", "to": "Bob"}, "no AnyRelation: relationType: Field required"),
    ],
)
def test_a_value_that_is_not_what_a_request_has_is_refused_by_its_number(
    mem: Memory, asked: str, value: Any, told: str
) -> None:
    with pytest.raises(MemoryGraphError, match=f"^value 1 of the list is {told}"):
        getattr(mem.graph.entities, asked)([value])


@pytest.mark.parametrize("kind", [Entity, Relation, Observations, ObservationDeletion])
def test_a_value_takes_the_names_of_its_attributes_for_type_checkers_too(kind: type[EntityValue]) -> None:
    given = {name: ["x"] if "list" in str(field.annotation) else "x" for name, field in kind.model_fields.items()}
    assert kind(**given).model_dump(by_alias=False) == given
    # A type checker takes an `alias` in place of the name; a `validation_alias` it does not see.
    assert {name: field.alias for name, field in kind.model_fields.items() if field.alias is not None} == {}


def test_an_entity_that_exists_gets_what_is_new_and_keeps_what_it_has(mem: Memory) -> None:
    assert mem.create(entity("Ada", "likes tea")) == ["Ada"]
    created, outcomes = Entities(mem.where).create(
        [entity("Ada", "likes tea", "wrote a program", kind="robot"), entity("Bob")]
    )
    assert [each.name for each in created] == ["Bob"]
    assert [(each.name, each.outcome, each.added_observations) for each in outcomes] == [
        ("Ada", "merged", ["wrote a program"]),
        ("Bob", "created", []),
    ]
    assert mem.read()["entities"] == [
        {"name": "Ada", "entityType": "person", "observations": ["likes tea", "wrote a program"]},
        {"name": "Bob", "entityType": "person", "observations": []},
    ]


def test_what_comes_twice_in_a_batch_is_stored_once(mem: Memory) -> None:
    assert mem.create(entity("A", "x", "x"), entity("A", "x", "y"), entity("B")) == ["A", "B"]
    assert mem.observations("A") == ["x", "y"]
    assert mem.relate(relation("A", "r", "B"), relation("A", "r", "B")) == [relation("A", "r", "B")]
    assert len(mem.read()["relations"]) == 1


def test_a_missing_end_is_named_and_nothing_is_stored(mem: Memory) -> None:
    mem.create(entity("A"))
    before = mem.revision()
    with pytest.raises(NotFoundError, match=r"^Entity with name X not found; Entity with name Y not found$"):
        mem.relate(relation("A", "r", "A"), relation("A", "r", "X"), relation("Y", "r", "A"))
    assert mem.read()["relations"] == []
    assert mem.revision() == before


def test_an_unknown_entity_fails_the_whole_batch(mem: Memory) -> None:
    mem.create(entity("A"))
    wanted = [Observations(entity_name="A", contents=["x"]), Observations(entity_name="X", contents=["y"])]
    with pytest.raises(NotFoundError, match=r"^Entity with name X not found$"):
        Entities(mem.where).observe(wanted)
    assert mem.observations("A") == []


def test_only_new_observations_are_said_to_be_added(mem: Memory) -> None:
    mem.create(entity("A", "x"))
    assert mem.add("A", "x", "y", "y") == ["y"]
    assert mem.add("A", "x", "y") == []
    assert mem.observations("A") == ["x", "y"]


def test_an_observation_can_be_deleted_and_added_again(mem: Memory) -> None:
    mem.create(entity("A", "x", "y"))
    assert mem.forget("A", "x", "nothing")["nodes_deleted"] == 1
    assert mem.observations("A") == ["y"]
    assert mem.add("A", "x") == ["x"]
    assert mem.observations("A") == ["y", "x"]


def test_an_observation_that_is_deleted_from_all_whose_it_is_is_gone(mem: Memory) -> None:
    mem.create(entity("A", "likes tea", "likes jam"), entity("B"), entity("C"))
    ids = {hit.node.data: hit.node.id for hit in mem.graph.search("likes")}
    mem.graph.load(
        f'Edge(edge_id="e", from_node="B", to_node="{ids["likes tea"]}", verb="observed", weight=1);'
        f'Edge(edge_id="f", from_node="B", to_node="{ids["likes tea"]}", verb="observed", weight=1);'
        f'Edge(edge_id="g", from_node="C", to_node="{ids["likes jam"]}", verb="doubts", weight=1);'
    )
    deletions = [ObservationDeletion(entity_name=name, observations=["likes tea", "likes jam"]) for name in ("A", "B")]
    deleted = Entities(mem.where).delete_observations(deletions)
    assert (deleted["nodes_deleted"], deleted["edges_deleted"]) == (1, 4)
    assert [hit.node.data for hit in mem.graph.search("likes")] == ["likes jam"]
    assert [edge.verb for near in mem.graph.neighbours("C") for edge in near.edges] == ["doubts"]


def test_an_entity_goes_with_its_observations_and_relations(mem: Memory) -> None:
    mem.create(entity("A", "x"), entity("B", "x"))
    mem.relate(relation("A", "r", "B"), relation("B", "r", "A"))
    Entities(mem.where).delete(["A", "nobody"])
    assert mem.read() == {
        "entities": [{"name": "B", "entityType": "person", "observations": ["x"]}],
        "relations": [],
    }
    [row] = mem.graph.query("MATCH (node:Node {namespace: $namespace}) RETURN count(node) AS nodes")
    assert row["nodes"] == 2


def test_deleting_what_is_not_there_is_silent_and_no_revision(mem: Memory) -> None:
    mem.create(entity("A"))
    before = mem.revision()
    Entities(mem.where).delete(["X"])
    Entities(mem.where).delete_relations([relation("A", "r", "X"), relation("A", "r", "A")])
    mem.forget("A", "x")
    mem.forget("X", "x")
    assert mem.revision() == before


def test_nothing_is_called_by_no_name(mem: Memory) -> None:
    mem.graph.load('Node(node_id="n", name="", data="");')
    Entities(mem.where).delete([""])
    assert Entities(mem.where).open([""]).entities == []
    assert [each["name"] for each in mem.read()["entities"]] == ["n"]
    Entities(mem.where).delete(["n"])
    assert mem.read()["entities"] == []


def test_an_undo_brings_back_what_was_deleted(mem: Memory) -> None:
    mem.create(entity("A", "x", "y"), entity("B"))
    mem.relate(relation("A", "r", "B"))
    before = mem.read()
    mem.forget("A", "x")
    Entities(mem.where).delete_relations([relation("A", "r", "B")])
    Entities(mem.where).delete(["A"])
    for revision in (5, 4, 3):
        mem.graph.undo(revision)
    assert mem.read() == before
    assert mem.found("x") == ["A"]
    assert mem.add("A", "x", "z") == ["z"]


def test_a_relation_is_deleted_by_its_ends_and_its_type(mem: Memory) -> None:
    mem.create(entity("A"), entity("B"))
    mem.relate(relation("A", "r", "B"), relation("A", "s", "B"), relation("B", "r", "A"))
    Entities(mem.where).delete_relations([relation("A", "r", "B")])
    left = [(each["from"], each["relationType"], each["to"]) for each in mem.read()["relations"]]
    assert left == [("A", "s", "B"), ("B", "r", "A")]


def test_a_relation_may_be_called_observed(mem: Memory) -> None:
    mem.create(entity("A", "x"), entity("B"))
    mem.relate(relation("A", "observed", "B"))
    assert mem.observations("A") == ["x"]
    assert len(mem.read()["relations"]) == 1


def test_each_write_is_a_load_with_the_next_revision_and_its_counts(mem: Memory) -> None:
    mem.create(entity("A", "x", "y"))
    mem.create(entity("A", "x"))
    mem.relate(relation("A", "r", "A"))
    Entities(mem.where, Provenance(by="a client")).delete(["A"])
    loads = mem.graph.query(
        "MATCH (load:Load {namespace: $namespace}) RETURN load.revision AS revision, load.language AS language, "
        "load.nodes_created AS nodes, load.edges_created AS edges, load.nodes_deleted AS nodes_deleted, "
        "load.edges_deleted AS edges_deleted, load.by AS by ORDER BY revision"
    )
    assert [tuple(load.values()) for load in loads] == [
        (1, "memory", 3, 2, 0, 0, ""),
        (2, "memory", 0, 1, 0, 0, ""),
        (3, "memory", 0, 0, 3, 3, "a client"),
    ]


def test_what_contextscript_declared_are_entities(mem: Memory) -> None:
    mem.graph.load(
        'Node(node_id="ada", name="Ada", data="wrote a program"); Node(node_id="n2", name="", data="");'
        'Node(node_id="o", name="", data="likes tea"); Edge(edge_id="e", from_node="ada", to_node="n2", verb="knows",'
        ' weight=0.5); Edge(edge_id="f", from_node="ada", to_node="o", verb="observed", weight=1.0);'
    )
    assert mem.read() == {
        "entities": [
            {"name": "Ada", "entityType": "node", "observations": ["wrote a program", "likes tea"]},
            {"name": "n2", "entityType": "node", "observations": []},
        ],
        "relations": [{"from": "Ada", "to": "n2", "relationType": "knows"}],
    }
    assert mem.add("Ada", "wrote a program", "is kind", "likes tea") == ["is kind"]
    assert mem.observations("Ada") == ["wrote a program", "likes tea", "is kind"]
    assert mem.relate(relation("Ada", "knows", "n2")) == []
    assert mem.create(entity("n2", "x")) == []
    mem.forget("Ada", "wrote a program", "likes tea")
    assert mem.observations("Ada") == ["is kind"]


def test_an_entity_with_many_edges_is_looked_through_for_as_many_texts(mem: Memory) -> None:
    mem.graph.load(
        'Node(node_id="hub", name="Hub", data="");'
        + "".join(
            f'Node(node_id="o{n}", name="", data="text {n}");'
            f'Edge(edge_id="e{n}", from_node="hub", to_node="o{n}", verb="observed", weight=1);'
            for n in range(1101)
        )
    )
    assert mem.add("Hub", "text 1", "text 2", "text 3") == []
    assert mem.add("Hub", "text 4") == ["text 4"], "for one text, that would take longer than to store it"


def test_what_is_stored_is_found_by_contextscript_and_by_search(mem: Memory) -> None:
    mem.create(entity("Ada", "likes jasmine tea"))
    assert mem.graph.node("Ada").name == "Ada"
    assert [hit.node.data for hit in mem.graph.search("jasmine")] == ["likes jasmine tea"]


def test_an_id_that_is_taken_is_left_to_its_owner(mem: Memory) -> None:
    mem.graph.load(
        'Node(node_id="ada", name="Countess", data=""); Node(node_id="x", name="X", data="");'
        'Edge(edge_id="bob", from_node="x", to_node="ada", verb="knows", weight=1);'
    )
    assert mem.create(entity("ada"), entity("bob")) == ["ada", "bob"]
    assert mem.graph.node("ada").name == "Countess"
    assert mem.graph.edge("bob").verb == "knows"


def test_what_was_changed_by_contextscript_since_is_not_overwritten(mem: Memory) -> None:
    mem.create(entity("A", "x"), entity("B"), entity("C"))
    mem.relate(relation("A", "r", "B"))
    [edge] = [edge for near in mem.graph.neighbours("A") for edge in near.edges if edge.verb == "r"]
    [hit] = mem.graph.search("x")
    mem.graph.load(f'Node(node_id="{hit.id}", data="changed"); Edge(edge_id="{edge.id}", to_node="C");')
    assert mem.add("A", "x") == ["x"]
    assert mem.observations("A") == ["changed", "x"]
    assert mem.relate(relation("A", "r", "B")) == [relation("A", "r", "B")]
    assert [(each["from"], each["to"]) for each in mem.read()["relations"]] == [("A", "C"), ("A", "B")]


def test_search_finds_a_part_of_any_text_or_else_its_words(mem: Memory) -> None:
    mem.create(entity("Ada Lovelace", "likes jasmine tea"), entity("Bob", "drinks coffee", kind="Gardener"))
    assert mem.found("LOVE") == ["Ada Lovelace"]
    assert mem.found("mine te") == ["Ada Lovelace"]
    assert mem.found("garden") == ["Bob"]
    assert mem.found("") == ["Ada Lovelace", "Bob"]
    assert mem.found("who drinks coffee?") == ["Bob"]
    assert mem.found("zzz") == []


def test_search_finds_what_has_no_name_by_its_id(mem: Memory) -> None:
    mem.graph.load(
        'Node(node_id="u1", name="", data="likes tea"); Node(node_id="u2", name="Ada", data="");'
        'Node(node_id="o1", name="", data="wrote a program");'
        'Edge(edge_id="e", from_node="u2", verb="observed", to_node="o1", weight=1);'
    )
    assert mem.found("u1") == ["u1"]
    assert mem.found("u2") == mem.found("o1") == mem.found("u") == []


def test_a_search_or_an_opened_entity_comes_with_relations_at_either_end(mem: Memory) -> None:
    mem.create(entity("A"), entity("B"), entity("C"))
    mem.relate(relation("A", "r", "B"), relation("B", "r", "C"), relation("C", "r", "A"))
    opened = Entities(mem.where).open(["A", "nobody", "A"])
    assert [each.name for each in opened.entities] == ["A"]
    assert [(each.source, each.target) for each in opened.relations] == [("A", "B"), ("C", "A")]


def test_namespaces_do_not_see_each_other(mem: Memory) -> None:
    other = Memory(MemoryGraph(mem.graph.connection, mem.graph.namespace + "-other"))
    mem.create(entity("A", "secret"))
    other.create(entity("B"))
    assert other.found("secret") == []
    assert other.found("") == ["B"]
    with pytest.raises(NotFoundError):
        other.relate(relation("A", "r", "B"))
    Entities(other.where).delete(["A"])
    assert mem.observations("A") == ["secret"]


def test_twenty_writers_at_once_lose_nothing(mem: Memory) -> None:
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            mem.create(entity(f"Person {number}", "x"), entity("shared", f"seen by {number}", "seen"))
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    names = [each["name"] for each in mem.read()["entities"]]
    assert sorted(names) == sorted([*(f"Person {number}" for number in range(20)), "shared"])
    assert sorted(mem.observations("shared")) == sorted(["seen", *(f"seen by {number}" for number in range(20))])
    assert mem.revision() == 20


class _LostOnce(Connection):
    """A connection whose first commit is kept, and its acknowledgement lost."""

    lost = False

    def _run_once(self, work: Callable[[Transaction], Any], access: str, seconds: float) -> Any:
        result = super()._run_once(work, access, seconds)
        if access == WRITE_ACCESS and not self.lost:
            self.lost = True
            raise exceptions.IncompleteCommit("the connection broke")
        return result


@pytest.mark.usefixtures("planned")
def test_a_lost_acknowledgement_is_resolved_with_the_same_answer(
    mem: Memory, server: tuple[str, tuple[str, str] | None]
) -> None:
    mem.create(entity("A", "x"))
    with _LostOnce(*server) as connection:
        created, outcomes = Entities(Namespace(connection, mem.graph.namespace)).create(
            [entity("A", "x", "y"), entity("B", "z")]
        )
    assert created == [entity("B", "z")]
    assert [(each.outcome, each.added_observations) for each in outcomes] == [("merged", ["y"]), ("created", ["z"])]
    with _LostOnce(*server) as connection:
        relations = [relation("A", "r", "B"), relation("B", "r", "A")]
        assert Entities(Namespace(connection, mem.graph.namespace)).relate(relations).relations == relations
    with _LostOnce(*server) as connection:
        assert Entities(Namespace(connection, mem.graph.namespace)).delete(["B"])["nodes_deleted"] == 2
    assert mem.revision() == 4


def test_a_lost_acknowledgement_of_names_in_two_cases_is_resolved_with_the_same_answer(
    mem: Memory, server: tuple[str, tuple[str, str] | None]
) -> None:
    with _LostOnce(*server) as connection:
        created, outcomes = Entities(Namespace(connection, mem.graph.namespace)).create(
            [entity("May", "x"), entity("may", "y"), entity("B", "z")]
        )
    assert created == [entity("May", "x", "y"), entity("B", "z")]
    assert [(each.outcome, each.added_observations, each.did_you_mean) for each in outcomes] == [
        ("created", ["x"], None),
        ("merged", ["y"], "May"),
        ("created", ["z"], None),
    ]


def _pages(read: Callable[[str | None], EntityGraph]) -> tuple[list[Entity], list[Relation], int]:
    entities, relations, pages, cursor = [], [], 0, None
    while True:
        page = read(cursor)
        entities += page.entities
        relations += page.relations
        pages += 1
        assert page.cursor is None or page.cursor != cursor  # what does not fit is no reason to stay where we are
        cursor = page.cursor
        if cursor is None:
            return entities, relations, pages


@pytest.mark.parametrize("search", [False, True])
def test_pages_fit_their_budget_and_make_up_the_whole(mem: Memory, search: bool) -> None:
    mem.create(*(entity(f"Person {number}", f"has number {number}", "and more") for number in range(60)))
    mem.relate(*(relation(f"Person {number}", "knows", f"Person {(number + 1) % 60}") for number in range(60)))

    def read(cursor: str | None) -> EntityGraph:
        options: dict[str, Any] = {"max_tokens": 500, "cursor": cursor}
        found = Entities(mem.where).search("person", **options) if search else Entities(mem.where).read_graph(**options)
        assert count_tokens(as_json(found.as_dict())) <= 500
        return found

    entities, relations, pages = _pages(read)
    whole = Entities(mem.where).read_graph()
    assert (entities, relations) == (whole.entities, whole.relations)
    assert pages > 5
    first = read(None)
    assert first.left_out["entities"] == 60 - len(first.entities)
    assert first.left_out["relations"] == 60
    assert first.left_out["names"][0] == f"Person {len(first.entities)}"


@pytest.mark.parametrize("names_only", [False, True])
def test_what_is_left_of_a_whole_graph_is_counted_on_its_first_page_alone(
    mem: Memory, monkeypatch: pytest.MonkeyPatch, names_only: bool
) -> None:
    texts = [f"has number {number}, and much more is told of it" for number in range(30)]
    mem.create(entity("Long", *texts), *(entity(f"Person {number}", *texts[:2]) for number in range(30)))
    mem.relate(*(relation("Long", "knows", f"Person {number}") for number in range(30)))
    counts: list[tuple[int, int]] = []
    counted, left = [], WholeGraph.left

    def count(source: WholeGraph, place: PageStart) -> tuple[int, int]:
        counts.append(left(source, place))
        return counts[-1]

    def read(cursor: str | None) -> EntityGraph:
        page = Entities(mem.where).read_graph(max_tokens=400, cursor=cursor, names_only=names_only)
        if page.cursor is not None:
            following = PageStart.of(page.cursor)
            source = WholeGraph(PageRequest(mem.where, 400, page.cursor, names_only=names_only))
            assert (page.left_out["entities"], page.left_out["relations"]) == left(source, following)
            counted.append(len(counts))
        return page

    monkeypatch.setattr(WholeGraph, "left", count)
    _pages(read)
    assert counted == [1] * len(counted)
    assert len(counted) > 1


def test_no_fewer_entities_are_left_than_are_named_where_others_came_since_the_first_page(mem: Memory) -> None:
    mem.create(*(entity(f"Person {number}", f"has number {number}") for number in range(10)))
    first = Entities(mem.where).read_graph(max_tokens=500)
    assert first.left_out["entities"] < 3
    mem.create(*(entity(f"Other {number}", f"has number {number}") for number in range(40)))
    following = Entities(mem.where).read_graph(max_tokens=500, cursor=first.cursor)
    assert following.left_out["entities"] >= len(following.left_out["names"]) > 2


def test_pages_of_what_contextscript_declared_make_up_the_whole(mem: Memory) -> None:
    mem.create(*(entity(f"Person {number}", f"has number {number}") for number in range(20)))
    nodes = [f'Node(node_id="n{number}", name="Node {number}", data="has number {number}");' for number in range(40)]
    edges = [
        f'Edge(edge_id="e{n}", from_node="n{n}", to_node="n{n + 1}", verb="precedes", weight=0.5);' for n in range(39)
    ]
    mem.graph.load("\n".join([*nodes, *edges]))
    found, relations, pages = _pages(lambda cursor: Entities(mem.where).read_graph(max_tokens=500, cursor=cursor))
    whole = Entities(mem.where).read_graph()
    assert (found, relations) == (whole.entities, whole.relations)
    assert (len(found), len(relations)) == (60, 39)
    assert pages > 5


def test_an_entity_that_is_larger_than_a_page_is_read_in_parts(mem: Memory) -> None:
    texts = [f"observation number {number} of many" for number in range(100)]
    mem.create(entity("A", *texts), entity("B", "long " * 2000))
    entities, _, _ = _pages(lambda cursor: Entities(mem.where).read_graph(max_tokens=400, cursor=cursor))
    assert [text for each in entities if each.name == "A" for text in each.observations] == texts
    [cut] = [text for each in entities if each.name == "B" for text in each.observations]
    assert cut.endswith("tokens left out)")


@pytest.mark.parametrize("search", [False, True])
@pytest.mark.parametrize("names_only", [False, True])
def test_what_is_larger_than_a_page_is_a_page_of_its_own(mem: Memory, names_only: bool, search: bool) -> None:
    long = "신경망 번역 " * 200
    mem.create(entity(long, kind="kind"), entity("kind"), entity("B", kind="kind " * 2000), entity("C", kind="kind"))
    mem.relate(relation(long, "cites", long), relation("B", long[:512], "B"), relation("C", "cites", "C"))
    options: dict[str, Any] = {"max_tokens": 200, "names_only": names_only}

    def read(cursor: str | None) -> EntityGraph:
        many = Entities(mem.where)
        page = many.search("kind", cursor=cursor, **options) if search else many.read_graph(cursor=cursor, **options)
        assert [each for each in page.entities if each.name == long] in ([], page.entities)
        return page

    entities, relations, _ = _pages(read)
    assert [each.name for each in entities] == [long, "kind", "B", "C"]
    assert entities[2].entity_type.endswith(" tokens left out)")
    assert [each.source for each in relations] == ([] if names_only else [long, "B", "C"])
    assert names_only or relations[1].relation_type.endswith(" tokens left out)")


def test_an_overview_has_the_names_and_says_what_it_hides(mem: Memory) -> None:
    mem.create(entity("A", "x", "y"), entity("B"))
    mem.relate(relation("A", "r", "B"))
    found = Entities(mem.where).read_graph(names_only=True, max_tokens=1000)
    assert [(each.name, each.observations) for each in found.entities] == [("A", []), ("B", [])]
    assert found.left_out == {"observations": 2, "relations": 1}


FINDING: dict[str, Callable[[Entities, dict[str, Any]], EntityGraph]] = {
    "all": lambda many, options: many.read_graph(**options),
    "by a text": lambda many, options: many.search("obsolete", **options),
    "by words": lambda many, options: many.search("obsolete zebra", **options),
    "by names": lambda many, options: many.open([f"E{number:02}" for number in range(40)], **options),
}


@pytest.mark.parametrize("finding", FINDING)
@pytest.mark.parametrize("declared", [False, True])
def test_nothing_is_passed_over_when_what_a_page_showed_is_deleted(mem: Memory, finding: str, declared: bool) -> None:
    names = [f"E{number:02}" for number in range(40)]
    if declared:
        mem.graph.load("".join(f'Node(node_id="{name}", name="{name}", data="obsolete");' for name in names))
    else:
        mem.create(*(entity(name, "obsolete") for name in names))
    shown: list[str] = []

    def read(cursor: str | None) -> EntityGraph:
        page = FINDING[finding](Entities(mem.where), {"max_tokens": 500, "cursor": cursor})
        left = [each.name for each in page.entities if each.name not in shown]
        assert page.left_out.get("entities", 0) == len(names) - len(shown) - len(left)
        shown.extend(left)
        Entities(mem.where).delete(left)
        return page

    _pages(read)
    assert shown == names
    assert mem.read()["entities"] == []


@pytest.mark.parametrize("finding", FINDING)
def test_a_page_begins_after_the_last_one_also_where_its_first_entity_is_gone(mem: Memory, finding: str) -> None:
    names = [f"E{number:02}" for number in range(40)]
    mem.create(*(entity(name, "obsolete", "very") for name in names))
    options: dict[str, Any] = {"max_tokens": 500}
    first = FINDING[finding](Entities(mem.where), options)
    [gone] = names[len(first.entities) : len(first.entities) + 1]
    Entities(mem.where).delete([gone])
    following = FINDING[finding](Entities(mem.where), {**options, "cursor": first.cursor})
    assert following.entities[0] == entity(names[len(first.entities) + 1], "obsolete", "very")


@pytest.mark.parametrize("finding", FINDING)
def test_of_an_entity_that_follows_one_that_was_shown_in_part_all_is_shown(mem: Memory, finding: str) -> None:
    mem.create(entity("E00", *(f"obsolete {number} " * 20 for number in range(20))), entity("E01", "obsolete", "very"))
    first = FINDING[finding](Entities(mem.where), {"max_tokens": 500})
    assert [each.name for each in first.entities] == ["E00"]
    Entities(mem.where).delete(["E00"])
    following = FINDING[finding](Entities(mem.where), {"max_tokens": 500, "cursor": first.cursor})
    assert following.entities == [entity("E01", "obsolete", "very")]


@pytest.mark.parametrize("finding", FINDING)
@pytest.mark.parametrize(("first_gone", "last_gone"), [(-3, -2), (-3, 0), (-1, 1)])
def test_no_observation_is_passed_over_when_those_around_it_are_deleted(
    mem: Memory, finding: str, first_gone: int, last_gone: int
) -> None:
    texts = [f"obsolete {number} " * 20 for number in range(20)]
    mem.create(entity("E00", *texts))
    first = FINDING[finding](Entities(mem.where), {"max_tokens": 500})
    shown = len(first.entities[0].observations)
    # Some of those that were shown last, or the last of them and the one that comes next.
    deleted = texts[shown + first_gone : shown + last_gone]
    Entities(mem.where).delete_observations([ObservationDeletion(entity_name="E00", observations=deleted)])
    following = FINDING[finding](Entities(mem.where), {"max_tokens": 500, "cursor": first.cursor})
    left = [text for text in texts[shown:] if text not in deleted]
    assert following.entities[0].observations == left[: len(following.entities[0].observations)]
    assert following.entities[0].observations


def test_a_search_by_a_text_that_finds_nothing_more_does_not_go_on_by_words(mem: Memory) -> None:
    mem.create(*(entity(f"E{number:02}", "green tea") for number in range(40)), entity("F", "tea"))
    first = Entities(mem.where).search("green tea", max_tokens=500)
    Entities(mem.where).delete([f"E{number:02}" for number in range(40)])
    following = Entities(mem.where).search("green tea", max_tokens=500, cursor=first.cursor)
    assert (following.entities, following.cursor) == ([], None)


@pytest.mark.parametrize("max_tokens", [500, 2000])
def test_the_pages_of_a_search_by_words_have_all_that_it_finds(mem: Memory, max_tokens: int) -> None:
    mem.create(*(entity(f"Person {number}", "likes tea") for number in range(120)))
    entities, _, _ = _pages(
        lambda cursor: Entities(mem.where).search("tea zebra", max_tokens=max_tokens, cursor=cursor)
    )
    assert sorted(each.name for each in entities) == sorted(f"Person {number}" for number in range(120))
    first = Entities(mem.where).search("tea zebra", max_tokens=max_tokens)
    assert first.left_out["entities"] == 120 - len(first.entities)
    assert "hits" not in first.left_out


def test_a_search_by_words_that_does_not_look_at_all_hits_says_so(mem: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_FOUND", 30)
    mem.create(*(entity(f"Person {number}", "likes tea") for number in range(60)))
    told = []

    def read(cursor: str | None) -> EntityGraph:
        page = Entities(mem.where).search("tea zebra", max_tokens=500, cursor=cursor)
        assert count_tokens(as_json(page.as_dict())) <= 500
        told.append(page.left_out.get("hits"))
        return page

    entities, _, _ = _pages(read)
    assert len(entities) == 30
    assert set(told) == {"only the best 30 hits of these words are looked at: more words tell them apart"}
    assert len(Entities(mem.where).search("tea zebra").entities) == 60


def test_a_type_of_a_relation_that_is_longer_than_a_verb_is_refused_and_a_stored_one_can_be_deleted(
    mem: Memory,
) -> None:
    long = "v" * 513
    with pytest.raises(ValidationError, match="at most 512 characters"):
        relation("Ada", long, "Bob")
    mem.create(entity("Ada"), entity("Bob"))
    mem.relate(
        Relation.model_construct(source="Ada", target="Bob", relation_type=long), relation("Ada", "v" * 512, "Bob")
    )
    stored = AnyRelation(source="Ada", target="Bob", relation_type=long)
    assert Entities(mem.where).delete_relations([stored])["found"] == 1
    assert [each["relationType"] for each in mem.read()["relations"]] == ["v" * 512]


def test_a_cursor_is_refused_by_any_other_call_than_that_of_its_page(mem: Memory) -> None:
    many = Entities(mem.where)
    mem.create(*(entity(f"{tea} {n}", "from the hills", kind="tea") for tea in ("green", "black") for n in range(20)))
    reads: dict[str, Callable[..., EntityGraph]] = {
        "all": many.read_graph,
        "names": partial(many.open, [f"green {n}" for n in range(20)]),
        "other names": partial(many.open, [f"black {n}" for n in range(20)]),
        "search": partial(many.search, "green"),
        "another search": partial(many.search, "black"),
        "words": partial(many.search, "tea green"),
    }
    for of, read in reads.items():
        cursor = read(max_tokens=400).cursor
        assert cursor is not None, of
        for other, read_other in reads.items():
            if other == of:
                assert read_other(max_tokens=400, cursor=cursor).entities
                continue
            with pytest.raises(MemoryGraphError, match="invalid cursor"):
                read_other(max_tokens=400, cursor=cursor)


@pytest.mark.parametrize("cursor", ["x", "WzFd", "bnVsbA", "é", "WzAsMSwiXHVkODAwIiwwXQ", "W10" * 1000, "[" * 9000])
def test_what_is_no_cursor_is_refused(mem: Memory, cursor: str) -> None:
    with pytest.raises(MemoryGraphError, match="invalid cursor"):
        Entities(mem.where).read_graph(cursor=cursor)


NAMES = st.sampled_from(["A", "b", "C c", "é", "ob.ser", "x-y"])
TEXTS = st.sampled_from(["x", "y", "X y", "'); DROP", "", "\u2028[1] a:"])
RELATIONS = st.builds(relation, NAMES, st.sampled_from(["r", "works at", "observed", ""]), NAMES)
STEPS = st.one_of(
    st.tuples(st.just("create"), st.lists(st.builds(entity, NAMES, TEXTS, TEXTS), max_size=3)),
    st.tuples(st.just("relate"), st.lists(RELATIONS, max_size=3)),
    st.tuples(st.just("add"), NAMES, st.lists(TEXTS, max_size=3)),
    st.tuples(st.just("delete"), st.lists(NAMES, max_size=2)),
    st.tuples(st.just("forget"), NAMES, st.lists(TEXTS, max_size=2)),
    st.tuples(st.just("unrelate"), st.lists(RELATIONS, max_size=2)),
)


class Model:
    """What the memory should be: entities by name, each with its observations, and relations, in their order."""

    def __init__(self) -> None:
        self.entities: dict[str, list[str]] = {}
        self.relations: list[Relation] = []

    def create(self, entities: list[Entity]) -> list[str]:
        new = list(dict.fromkeys(each.name for each in entities if each.name not in self.entities))
        for each in entities:
            known = self.entities.setdefault(each.name, [])
            known += [text for text in dict.fromkeys(each.observations) if text not in known]
        return new

    def relate(self, relations: list[Relation]) -> str | list[Relation]:
        if any(name not in self.entities for each in relations for name in (each.source, each.target)):
            return "missing"
        new = [each for each in dict.fromkeys(relations) if each not in self.relations]
        self.relations += new
        return new

    def add(self, name: str, texts: list[str]) -> str | list[str]:
        if name not in self.entities:
            return "missing"
        new = [text for text in dict.fromkeys(texts) if text not in self.entities[name]]
        self.entities[name] += new
        return new

    def delete(self, names: list[str]) -> None:
        self.entities = {name: texts for name, texts in self.entities.items() if name not in names}
        self.relations = [each for each in self.relations if not {each.source, each.target} & set(names)]

    def forget(self, name: str, texts: list[str]) -> None:
        if name in self.entities:
            self.entities[name] = [text for text in self.entities[name] if text not in texts]

    def unrelate(self, relations: list[Relation]) -> None:
        self.relations = [each for each in self.relations if each not in relations]


@settings(
    max_examples=examples(15, FEWEST_GRAPHS), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(STEPS, max_size=12))
def test_any_sequence_of_operations_leaves_what_it_should(graph: MemoryGraph, steps: list[tuple[Any, ...]]) -> None:
    mem, model = Memory(graph), Model()
    Entities(mem.where).delete([each["name"] for each in mem.read()["entities"]])
    for name, *arguments in steps:
        expected = getattr(model, name)(*arguments)
        try:
            found = run_step(mem, name, arguments)
        except NotFoundError:
            found = "missing"
        assert found == expected, (name, arguments)
    read = mem.read()
    assert {each["name"]: each["observations"] for each in read["entities"]} == model.entities
    assert [each["name"] for each in read["entities"]] == list(model.entities)
    assert [Relation.model_validate(each) for each in read["relations"]] == model.relations


def run_step(mem: Memory, name: str, arguments: list[Any]) -> Any:
    if name in {"create", "relate"}:
        return getattr(mem, name)(*arguments[0])
    if name == "add":
        return mem.add(arguments[0], *arguments[1])
    if name == "delete":
        Entities(mem.where).delete(arguments[0])
    elif name == "forget":
        mem.forget(arguments[0], *arguments[1])
    else:
        Entities(mem.where).delete_relations(arguments[0])
    return None


WORDS = ["running", "happy", "the", "a", "Ada's", "don't", "foo_bar", "3.14", "日本", "Zoë", "C++", "a/b", "re-runs"]


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("others", ["few", "many"])
def test_search_finds_every_text_that_contains_the_query_and_no_other(
    mem: Memory, monkeypatch: pytest.MonkeyPatch, declared: bool, others: str
) -> None:
    texts = [f"{first} {second}" for first in WORDS for second in WORDS[::3]]
    if declared:
        lines = (f'Node(node_id="{number:03}", name="E{number}", data="{text}");' for number, text in enumerate(texts))
        mem.graph.load("\n".join(lines))
    else:
        mem.create(*(entity(f"E{number}", text, kind="k") for number, text in enumerate(texts)))
    # How many nodes other namespaces hold decides how it is looked for, and not what is found.
    monkeypatch.setattr(pages, "MAX_WALKED_NODES", 1 << 40 if others == "few" else count_nodes(mem))
    queries = {text[start : start + length] for text in texts for start in range(0, 9, 2) for length in (1, 3, 5)}
    for query in sorted(query for query in queries if query.strip())[:: amount(ordinary=4, whole=1, long=1)]:
        kind = "" if declared else "k"
        said = [(f"E{number}", f"e{number}\n{kind}\n{text.lower()}") for number, text in enumerate(texts)]
        assert mem.found(query) == [name for name, text in said if query.lower() in text], query


def count_nodes(mem: Memory) -> int:
    """How many nodes the namespace holds."""
    [row] = mem.graph.query("MATCH (node:Node {namespace: $namespace}) RETURN count(node) AS nodes")
    return int(row["nodes"])


@pytest.mark.slow
def test_many_hits_and_their_relations_fit_into_a_transaction(graph: MemoryGraph) -> None:
    count = 2600  # Neo4j counted the list of all for each that it sorted: 600 MiB for 2,300
    graph.load(
        "".join(
            f'Node(node_id="{number}", name="E{number}", data="likes tea"); '
            f'Edge(edge_id="e{number}", from_node="0", to_node="{number}", verb="knows", weight=1.0);'
            for number in range(count)
        )
    )
    names = [f"E{number}" for number in range(count)]
    for found in (graph.entities.search("tea"), graph.entities.open(names)):
        assert sorted(entity.name for entity in found.entities) == sorted(names)
        assert sorted(relation.target for relation in found.relations) == sorted(names)
    for budget in (2000, 20_000, 200_000):
        page = graph.entities.search("tea zebra", max_tokens=budget)  # by words
        assert 0 < len(page.entities) <= count
        page = graph.entities.search("tea", max_tokens=budget)
        assert len(page.entities) + page.left_out.get("entities", 0) == count


def test_in_a_large_namespace_parts_inside_of_words_are_found_where_no_word_begins_so(
    mem: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{first} {second}" for first in WORDS for second in WORDS[::5]]
    mem.create(*(entity(f"E{number}", text, kind="k") for number, text in enumerate(texts)))
    nodes = count_nodes(mem)
    for query in ("running", "unning", "y the", "a", "oo_b", "本", "日本", "oë", "ZOË", ".14", "++", "b runn", "zzz"):
        containing = [f"E{number}" for number, text in enumerate(texts) if query.lower() in text.lower()]
        monkeypatch.setattr(pages, "MAX_WALKED_NODES", nodes)
        assert mem.found(query) == containing, query
        monkeypatch.setattr(pages, "MAX_WALKED_NODES", nodes - 1)
        found = mem.found(query)
        assert bool(found) == bool(containing), query
        assert set(found) <= set(containing), query
        if " " in query:  # the word that begins inside of the text leads to all
            assert found == containing, query
    mem.create(entity("Bergen"), entity("Heidelberg"))
    assert (mem.found("berg"), mem.found("delberg")) == (["Bergen"], ["Heidelberg"])


@pytest.mark.parametrize("text", ["tea", "ea"])
def test_a_search_in_a_large_namespace_gives_the_first_that_contain_a_text_and_says_so(
    mem: Memory, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(pages, "MAX_WALKED_NODES", 1)
    monkeypatch.setattr(pages, "MAX_FOUND", 30)
    mem.create(*(entity(f"Person {number}", "likes tea") for number in range(60)), entity("Zed", "drinks teas"))
    told = []

    def read(cursor: str | None) -> EntityGraph:
        page = Entities(mem.where).search(text, max_tokens=500, cursor=cursor)
        told.append(page.left_out.get("hits"))
        return page

    entities, _, _ = _pages(read)
    assert len(entities) == 30
    assert set(told) == {"only the first 30 hits of this text are looked at: a longer one tells them apart"}
    assert len(Entities(mem.where).search(text).entities) == 61
    rare = Entities(mem.where).search("nks tea", max_tokens=500)
    assert ([each.name for each in rare.entities], rare.left_out) == (["Zed"], {})


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8"), max_size=40))
@example("東京")
def test_any_text_is_a_valid_search(graph: MemoryGraph, text: str) -> None:
    Entities(graph.scope).search(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "MAX_WALKED_NODES", 0)
        Entities(graph.scope).search(text)


def test_a_name_as_long_as_allowed_is_stored_and_a_longer_one_refused(mem: Memory) -> None:
    name = "\U0001f600" * 1500
    mem.create(entity(name, "x"))
    assert mem.observations(name) == ["x"]
    with pytest.raises(ValueError, match="at most 1500"):
        entity(name + "x")


def test_a_program_cannot_take_over_the_name_of_an_entity(mem: Memory) -> None:
    mem.create(entity("Ada Lovelace"))
    mem.graph.load('Node(node_id="0", name="Ada Lovelace", data="");')
    mem.add("Ada Lovelace", "likes tea")
    mem.relate(relation("Ada Lovelace", "knows", "Ada Lovelace"))
    assert [edge.verb for edge in edges_at(mem.graph, "0")] == []


def edges_at(graph: MemoryGraph, node: str) -> list[Edge]:
    return [edge for neighbour in graph.neighbours(node) for edge in neighbour.edges]
