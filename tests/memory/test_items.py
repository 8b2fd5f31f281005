"""Items of a store beside entities: what is done by a name is done to entities, never to the items with that key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memorygraph import ConflictError, MemoryGraph, MemoryGraphError, NotFoundError
from memorygraph.json_text import UnreadableRecord
from memorygraph.memory.items import ItemKey, Items, ItemWrites, text_of_value
from memorygraph.memory.values import Entity, ObservationDeletion, Observations, Relation
from tests.memory.recalling import crowd

HOMES = {ItemKey(f"users.{user}.", "home"): {"text": f"lives in {town}"} for user, town in ((1, "Bath"), (2, "York"))}


@pytest.fixture
def homes(graph: MemoryGraph) -> MemoryGraph:
    """The items of two users under one key, and one that no recall finds."""
    writes = ItemWrites()
    for address, value in HOMES.items():
        writes.put(address, value, value["text"])
    writes.put(ItemKey("users.1.", "bare"), {"n": 1}, None)
    Items(graph.scope).write(writes)
    return graph


def stored_items(graph: MemoryGraph) -> dict[ItemKey, object]:
    return {address: item.value for address, item in Items(graph.scope).get(HOMES).items()}


@pytest.mark.usefixtures("planned")  # names in another case are found by a walk, or an index
@pytest.mark.parametrize("name", ["home", "Home", ItemKey("users.1.", "bare").id])
def test_an_entity_with_the_key_of_an_item_is_one_of_its_own(homes: MemoryGraph, name: str) -> None:
    created = homes.entities.create([Entity(name=name, entity_type="place", observations=["has a door"])])
    assert [(each.outcome, each.did_you_mean) for each in created.outcomes] == [("created", None)]
    homes.entities.delete([name])
    assert homes.entities.missing([name]) == [name]
    assert stored_items(homes) == HOMES


UNKNOWN: dict[str, Callable[[MemoryGraph, str], object]] = {
    "observe": lambda graph, name: graph.entities.observe([Observations(entity_name=name, contents=["x"])]),
    "relate": lambda graph, name: graph.entities.relate([Relation(source=name, target=name, relation_type="is")]),
}


def test_items_are_found_behind_all_that_the_index_is_asked_for_at_first(homes: MemoryGraph) -> None:
    crowd(homes, "york york")
    assert [item.address for item, _ in Items(homes.scope).find("york", limit=3)] == [ItemKey("users.2.", "home")]


@pytest.mark.parametrize("name", ["home", "HOME"])
@pytest.mark.parametrize("case", UNKNOWN)
def test_nothing_is_said_of_an_item_by_its_key(homes: MemoryGraph, case: str, name: str) -> None:
    with pytest.raises(NotFoundError, match=f"{name} not found$"):
        UNKNOWN[case](homes, name)


def test_what_is_deleted_by_name_leaves_the_items_with_that_key(homes: MemoryGraph) -> None:
    revision = homes.revisions(1)[0].revision
    homes.entities.delete(["home"])
    homes.entities.delete_observations([ObservationDeletion(entity_name="home", observations=["lives in Bath"])])
    assert homes.entities.missing(["home"]) == ["home"]
    assert stored_items(homes) == HOMES
    assert homes.revisions(1)[0].revision == revision
    assert {hit.text for hit in homes.recall("lives in").hits} == {"lives in Bath", "lives in York"}


def test_a_value_that_nests_too_deep_is_refused(homes: MemoryGraph) -> None:
    deep: dict[str, Any] = {}
    for _ in range(1000):
        deep = {"in": deep}
    for takes in (lambda: ItemWrites().put(ItemKey("a.", "b"), deep, None), lambda: text_of_value(deep)):
        with pytest.raises(ValueError, match="at most 200 levels deep"):
            takes()


@pytest.mark.parametrize("value", [{1: "one"}, {"scores": {1: "one", "1": "uno"}}, {"scores": [({None: "n"},)]}])
def test_a_key_that_is_no_text_is_refused_for_json_would_make_one_of_it(value: dict[Any, Any]) -> None:
    with pytest.raises(TypeError, match=r"^the keys of an item are texts, and (1 is a int|None is a NoneType)$"):
        ItemWrites().put(ItemKey("a.", "b"), value, None)


@pytest.mark.parametrize("altered", ["i.created_at = null", "i.value = null", "i.value = 7", "i.value = '{'"])
def test_an_item_that_was_altered_is_named_with_what_removes_it(homes: MemoryGraph, altered: str) -> None:
    address = next(iter(HOMES))
    homes.query(f"MATCH (i:Item {{namespace: $namespace, id: $id}}) SET {altered}", {"id": address.id}, write=True)
    with pytest.raises(UnreadableRecord, match=f"delete its node `{address.id}`"):
        list(homes.items.list_under(""))
    homes.delete(address.id)
    assert address not in {item.address for item in homes.items.list_under("")}


def test_names_of_entities_are_not_those_of_items(homes: MemoryGraph) -> None:
    homes.entities.create([Entity(name="horse", entity_type="animal")])
    assert homes.entities.names() == homes.entities.names("ho") == ["horse"]


@pytest.mark.parametrize("limits", [{"skip": -1}, {"limit": -1}])
def test_a_negative_number_of_items_is_refused(homes: MemoryGraph, limits: dict[str, int]) -> None:
    with pytest.raises(MemoryGraphError, match=r"^`(skip|limit)` is not negative, and this is -1$"):
        list(homes.items.list_under("", **limits))


def test_items_are_no_duplicates_and_are_not_merged(homes: MemoryGraph) -> None:
    homes.entities.create([Entity(name="Home", entity_type="StoreItem")])
    assert homes.duplicates() == []
    with pytest.raises(ConflictError, match="an item of a store, and only entities can be merged"):
        homes.merge(next(iter(HOMES)).id, into="Home")
    assert stored_items(homes) == HOMES


def test_the_key_of_an_item_hides_no_alias(homes: MemoryGraph) -> None:
    homes.entities.create([Entity(name=name, entity_type="place") for name in ("Cottage", "The house")])
    homes.query("MATCH (n {namespace: $namespace, name: 'Cottage'}) SET n.name = 'home'", write=True)
    homes.merge("Cottage", into="The house")
    [added] = homes.entities.observe([Observations(entity_name="home", contents=["has a door"])])
    assert added.alias_of == "The house"
    assert homes.entities.aliases(["home"]) == {"home": "The house"}
    assert "The house" in {entity.name for entity in homes.entities.open(["home"]).entities}
    homes.forget("home")
    assert homes.entities.missing(["The house"]) == ["The house"]
    assert stored_items(homes) == HOMES


def test_an_entity_with_the_key_of_an_item_is_merged_and_forgotten_by_its_name(homes: MemoryGraph) -> None:
    with pytest.raises(NotFoundError, match="the id or the name `home`"):
        homes.forget("home")
    homes.entities.create([Entity(name=name, entity_type="place") for name in ("home", "The house")])
    homes.merge("The house", into="home")
    homes.forget("home")
    assert homes.entities.missing(["home"]) == ["home"]
    assert stored_items(homes) == HOMES


def test_the_undo_of_a_put_leaves_a_node_that_was_no_item_as_it_was(graph: MemoryGraph) -> None:
    """The file of an export has items as nodes, and so they come into another graph."""
    address, writes = ItemKey("users.1.", "home"), ItemWrites()
    graph.load(f'Node(node_id="{address.id}", name="home", data="lives in Bath");')
    before = graph.node(address.id)
    writes.put(address, {"text": "lives in York"}, "lives in York", ttl=60.0)
    graph.items.write(writes)
    graph.undo(2)
    assert (graph.node(address.id), graph.items.get([address])) == (before, {})
    assert [*graph.items.list_under(""), *graph.items.find("Bath", limit=3)] == []
    graph.undo(3)
    assert graph.items.get([address])[address].value == {"text": "lives in York"}
    lasting = "MATCH (i:Item {namespace: $namespace, id: $id}) RETURN i.expires_at > datetime.realtime() AS lasts"
    assert graph.query(lasting, {"id": address.id}) == [{"lasts": True}]
