"""The store does what LangGraph's own does in memory, and its items are nodes: recalled, undone and bundled."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
    TTLConfig,
)
from langgraph.store.memory import InMemoryStore

from memorygraph import MemoryGraph
from memorygraph.errors import ConflictError, MemoryGraphError
from memorygraph.graph import migrations
from memorygraph.graph.connection import Connection
from memorygraph.graph.invariants import Examination
from memorygraph.graph.migrations import DATA_MIGRATIONS
from memorygraph.integrations.langgraph import MemoryGraphStore
from memorygraph.query import Query
from tests.examples import FEWEST_GRAPHS, examples
from tests.shared_neo4j import new_namespace

PARTS = st.sampled_from(["a", "b", "a%", "ab", "ü/x", "*x"])
NAMESPACES = st.lists(PARTS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "K", "k.1", "", "ключ", "a\nb"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
VALUES = st.fixed_dictionaries({"n": st.integers(0, 3), "c": st.sampled_from(["red", "blue"])}, optional={"x": JSON})
NUMBERS = st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"])
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(0, 3) | st.dictionaries(NUMBERS, st.integers(0, 3), min_size=1, max_size=2),
        "c": st.sampled_from(["red", "blue"]) | st.builds(lambda c: {"$ne": c}, st.just("red")),
        "x": JSON.filter(lambda value: not isinstance(value, dict)),
    },
)
PATTERNS = st.lists(st.sampled_from(["a", "b", "*", "ab"]), min_size=1, max_size=2).map(tuple)
CONDITIONS = st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATTERNS)
OPS = st.one_of(
    st.tuples(NAMESPACES, KEYS, st.none() | VALUES).map(lambda given: PutOp(*given)),
    st.tuples(NAMESPACES, KEYS, VALUES).map(lambda given: PutOp(*given)),
    st.tuples(NAMESPACES, KEYS).map(lambda given: GetOp(*given)),
    st.tuples(st.just(()) | NAMESPACES, st.none() | FILTERS, st.just(1000)).map(lambda given: SearchOp(*given)),
    st.builds(
        ListNamespacesOp,
        st.none() | st.lists(CONDITIONS, max_size=2).map(tuple),
        st.none() | st.integers(1, 2),
        st.just(1000) | st.integers(1, 2),
        st.integers(0, 2),
    ),
)


def plain(op: Op, result: Any) -> Any:
    """A result without its times, and a search without the order, which LangGraph leaves open."""
    if isinstance(result, Item):
        return result.namespace, result.key, result.value
    if isinstance(op, SearchOp):
        return sorted((plain(op, item) for item in result), key=lambda item: item[:2])
    return result


def expected(memory: InMemoryStore, ops: Sequence[Op]) -> list[Any]:
    """What the store in memory answers; it lists namespaces that have no items any more, or never had."""
    for namespace in [name for name, items in memory._data.items() if not items]:
        del memory._data[namespace]
    # It makes a namespace when it reads in one, so that lists come first.
    lists = {place: memory.batch([op])[0] for place, op in enumerate(ops) if isinstance(op, ListNamespacesOp)}
    results = memory.batch(ops)
    return [plain(op, lists.get(place, results[place])) for place, op in enumerate(ops)]


@settings(max_examples=examples(50, FEWEST_GRAPHS))
@given(batches=st.lists(st.lists(OPS, max_size=8), max_size=5), is_async=st.booleans())
def test_it_answers_what_the_store_in_memory_answers(
    connection: Connection, batches: list[list[Op]], is_async: bool
) -> None:
    store, memory = MemoryGraphStore(MemoryGraph(connection, new_namespace())), InMemoryStore()
    for ops in batches:
        results = asyncio.run(store.abatch(ops)) if is_async else store.batch(ops)
        assert [plain(*each) for each in zip(ops, results, strict=True)] == expected(memory, ops)


def use(store: BaseStore) -> list[Any]:
    """Call every method, and return what they answered."""
    store.put(("users", "1"), "pet", {"kind": "cat", "age": 3})
    store.put(("users", "2"), "pet", {"kind": "dog", "age": 5}, index=False)
    store.put(("users", "2"), "car", {"kind": "van"}, index=["kind"])
    found = [store.get(("users", "1"), "pet"), store.get(("users", "1"), "none")]
    store.delete(("users", "2"), "car")
    store.delete(("users", "2"), "never there")
    found += store.search(("users",), filter={"age": {"$gte": 4}})
    return [*map(str_of, found), store.list_namespaces(prefix=("users",), suffix=("*",), max_depth=2)]


async def use_async(store: BaseStore) -> list[Any]:
    """The same with asyncio."""
    await store.aput(("users", "1"), "pet", {"kind": "cat", "age": 3})
    await store.aput(("users", "2"), "pet", {"kind": "dog", "age": 5}, index=False)
    await store.aput(("users", "2"), "car", {"kind": "van"}, index=["kind"])
    found = [await store.aget(("users", "1"), "pet"), await store.aget(("users", "1"), "none")]
    await store.adelete(("users", "2"), "car")
    await store.adelete(("users", "2"), "never there")
    found += await store.asearch(("users",), filter={"age": {"$gte": 4}})
    return [*map(str_of, found), await store.alist_namespaces(prefix=("users",), suffix=("*",), max_depth=2)]


def str_of(item: Item | None) -> Any:
    """An item without its times."""
    return item and (item.namespace, item.key, item.value)


def test_every_method_answers_the_same_as_in_memory(store: MemoryGraphStore, connection: Connection) -> None:
    wanted = use(InMemoryStore())
    assert use(store) == wanted
    assert asyncio.run(use_async(MemoryGraphStore(MemoryGraph(connection, new_namespace())))) == wanted


@pytest.mark.parametrize("namespace", [(), ("a", ""), ("a.b",), ("langgraph", "x"), ("a", 1)])
def test_invalid_namespaces_are_refused_with_the_error_of_langgraph(store: MemoryGraphStore, namespace: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {})
    assert store.search(()) == []


def test_operations_given_to_batch_are_checked_too(store: MemoryGraphStore) -> None:
    for op in (PutOp(("a.b",), "k", {}), GetOp(("a", ""), "k"), SearchOp(("a.b",))):
        with pytest.raises(InvalidNamespaceError):
            store.batch([PutOp(("a",), "k", {"kept": False}), op])
    assert store.get(("a",), "k") is None


def test_values_that_are_not_json_are_refused(store: MemoryGraphStore) -> None:
    for value in ({"a": {1, 2}}, {"a": float("nan")}):
        with pytest.raises((TypeError, ValueError)):
            store.put(("a",), "k", value)
    with pytest.raises(MemoryGraphError, match="at most"):
        store.put(("a",), "k" * 3000, {})


def test_half_a_character_is_refused_and_is_nothing_that_is_stored(store: MemoryGraphStore, graph: MemoryGraph) -> None:
    for address, value in ((("a",), "k\ud83d"), {}), ((("a\ud83d",), "k"), {}), ((("a",), "k"), {"x": ["\ud83d"]}):
        with pytest.raises(MemoryGraphError, match="half a character"):
            store.put(*address, value)
    assert store.get(("a",), "k\ud83d") is None
    store.delete(("a",), "k\ud83d")
    assert graph.revisions() == []


def test_a_batch_is_one_revision_and_its_reads_come_first(store: MemoryGraphStore, graph: MemoryGraph) -> None:
    ops: list[Op] = [
        PutOp(("a",), "k", {"n": 1}),
        GetOp(("a",), "k"),
        PutOp(("a",), "l", {"n": 2}),
        PutOp(("a",), "k", {"n": 3}),
    ]
    assert store.batch(ops)[1] is None
    assert len(graph.revisions()) == 1
    assert [item.value["n"] for item in store.search(("a",))] == [3, 2]


def test_pages_of_a_search_have_each_item_once(store: MemoryGraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorygraph.memory.items.PAGE", 3)
    store.batch([PutOp((part,), str(key), {"even": key % 2 == 0}) for part in "ab" for key in range(8)])
    pages = [store.search((), limit=5, offset=start) for start in range(0, 20, 5)]
    keys = [(item.namespace, item.key) for page in pages for item in page]
    assert keys == [((part,), str(key)) for part in "ab" for key in range(8)]
    even = store.search((), filter={"even": True}, limit=3, offset=2)
    assert [(item.namespace[0], item.key) for item in even] == [("a", "4"), ("a", "6"), ("b", "0")]


def test_times_are_those_of_the_first_and_the_last_put(store: MemoryGraphStore) -> None:
    store.put(("a",), "k", {"n": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"n": 2})
    second = store.get(("a",), "k")
    assert first is not None
    assert second is not None
    assert second.created_at == first.created_at == first.updated_at < second.updated_at
    assert abs(datetime.now(UTC) - second.updated_at) < timedelta(minutes=10)


def expiry_of(graph: MemoryGraph) -> datetime | None:
    """When the only item expires."""
    [row] = graph.query("MATCH (item:Item {namespace: $namespace}) RETURN item.expires_at AS at")
    return row["at"] and datetime.fromisoformat(str(row["at"]))


def test_reads_renew_the_time_of_an_item_unless_they_are_not_to(graph: MemoryGraph) -> None:
    store = MemoryGraphStore(graph, ttl=TTLConfig(default_ttl=60.0))
    store.put(("a",), "k", {"n": 1})
    first = expiry_of(graph)
    assert first is not None
    assert timedelta(minutes=59) < first - datetime.now(UTC) < timedelta(minutes=61)
    store.get(("a",), "k", refresh_ttl=False)
    store.search(("a",), refresh_ttl=False)
    assert expiry_of(graph) == first
    store.get(("a",), "k")
    second = expiry_of(graph)
    assert second is not None
    assert second > first
    store.search(("a",))
    third = expiry_of(graph)
    assert third is not None
    assert third > second
    store.put(("a",), "k", {"n": 1}, ttl=None)
    assert expiry_of(graph) is None


@pytest.mark.slow
def test_an_expired_item_is_gone_for_every_read_and_purge_says_so(store: MemoryGraphStore, graph: MemoryGraph) -> None:
    store.put(("a",), "stays", {"text": "a heron"})
    store.put(("b",), "goes", {"text": "a heron"}, ttl=0.01)
    assert store.get(("b",), "goes") is None
    assert [item.key for item in store.search((), query="heron")] == ["stays"]
    assert store.list_namespaces() == [("a",)]
    assert graph.purge_expired().went["nodes"] == 1


@pytest.mark.usefixtures("by_meaning")
def test_a_query_finds_by_meaning_what_is_below_the_prefix(store: MemoryGraphStore, graph: MemoryGraph) -> None:
    for user in range(80):
        store.put(("users", str(user)), "pet", {"text": "a heron"})
    store.put(("users", "late"), "pet", {"text": "nothing that was asked for"})
    graph.load('Node(node_id="h", name="heron", data="a heron of the graph");')
    # No word of the query is in it, and eighty items are nearer.
    [found] = store.search(("users", "late"), query="a heron")
    assert found.namespace == ("users", "late")
    assert found.score is not None
    [both] = store.search(("users", "7"), query="a heron")
    assert both.score == pytest.approx(2 * found.score)  # the first of both lists
    assert len(store.search(("users",), query="a heron", limit=100)) == 81
    assert store.search(("users", "8", "nobody"), query="a heron") == []


@pytest.mark.usefixtures("by_meaning")
def test_items_that_an_earlier_version_gave_vectors_are_found_by_them(
    store: MemoryGraphStore, graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "ITEMS_PER_TRANSACTION", 2)
    for user in range(5):
        store.put(("users", str(user)), "pet", {"text": "a heron"})
    assert len(store.search((), query="stork")) == 5
    earlier = "MATCH (item:Item {namespace: $namespace}) REMOVE item.home"
    graph.connection.write(methodcaller("run", Query(earlier, {"namespace": graph.namespace})))
    assert store.search((), query="stork") == []
    DATA_MIGRATIONS["0036_item_homes"](graph.scope)
    assert [item.namespace for item in store.search(("users", "3"), query="stork")] == [("users", "3")]
    assert len(store.search((), query="stork")) == 5


def test_a_query_finds_below_the_prefix_what_recall_finds(store: MemoryGraphStore, graph: MemoryGraph) -> None:
    for user in range(70):
        store.put(("users", str(user)), "pet", {"text": f"has a heron called {user}", "even": user % 2 == 0})
    graph.load('Node(node_id="h", name="heron", data="a heron of the graph");')
    [found] = store.search(("users", "42"), query="who has a heron?")
    assert (found.key, found.value["even"]) == ("pet", True)
    assert found.score is not None
    assert found.score > 0
    every = store.search(("users",), query="heron", limit=100)
    assert len(every) == 70
    assert [item.score for item in every] == sorted((item.score or 0 for item in every), reverse=True)
    assert len(store.search((), query="heron", filter={"even": False}, limit=20, offset=30)) == 5
    assert store.search((), query="submarine") == []


def test_the_index_of_a_put_says_what_a_query_finds(store: MemoryGraphStore, graph: MemoryGraph) -> None:
    value = {"title": "heron", "notes": [{"text": "stork"}, {"text": "crane"}]}
    store.put(("all",), "one", value)
    store.put(("paths",), "two", value, index=["notes[*].text"])
    store.put(("none",), "three", value, index=False)
    assert [item.key for item in store.search((), query="heron")] == ["one"]
    assert sorted(item.key for item in store.search((), query="crane")) == ["one", "two"]
    assert [item.value for item in store.search(("none",))] == [value]
    assert {hit.kind for hit in graph.recall("stork").hits} == {"node"}


def test_a_query_where_there_is_no_item_finds_none(store: MemoryGraphStore) -> None:
    assert store.search((), query="heron") == []


def test_items_have_a_history_and_come_back(store: MemoryGraphStore, graph: MemoryGraph) -> None:
    store.put(("a",), "k", {"text": "first"})
    store.put(("a",), "k", {"text": "second"})
    store.delete(("a",), "k")
    assert store.search(()) == []
    graph.undo(3)
    assert [item.value["text"] for item in store.search(())] == ["second"]
    graph.undo(2)
    assert [item.value["text"] for item in store.search(())] == ["first"]
    assert list(Examination(graph.scope).find_broken()) == []


def test_an_item_that_comes_back_lives_as_long_as_before(store: MemoryGraphStore, graph: MemoryGraph) -> None:
    store.put(("a",), "k", {"n": 1}, ttl=None)
    store.put(("a",), "k", {"n": 2}, ttl=60)
    store.put(("a",), "k", {"n": 3}, ttl=None)
    graph.undo(3)
    at = expiry_of(graph)
    assert at is not None
    assert timedelta(minutes=59) < at - datetime.now(UTC) < timedelta(minutes=61)
    graph.undo(2)
    assert expiry_of(graph) is None
    [row] = graph.query("MATCH (item:Item {namespace: $namespace}) RETURN item.id AS id")
    graph.expire(row["id"], after=timedelta(days=1))
    given = expiry_of(graph)
    changed = graph.load(f'Node(node_id="{row["id"]}", data="by a script");').revision
    assert changed is not None
    graph.undo(changed)
    assert expiry_of(graph) == given is not None


@pytest.mark.parametrize("index", [["text"], False])
def test_a_value_comes_back_that_changed_only_where_no_recall_looks(
    store: MemoryGraphStore, graph: MemoryGraph, index: Any
) -> None:
    for number in (1, 2, 3):
        store.put(("a",), "k", {"text": "a heron", "n": number}, index=index, ttl=number)
    with pytest.raises(ConflictError, match="was changed by revision 3"):
        graph.undo(2)
    assert (graph.undo(3).nodes_updated, graph.undo(2).nodes_updated) == (1, 1)
    [item] = store.search(())
    assert item.value == {"text": "a heron", "n": 1}
    [row] = graph.query("MATCH (n:Item {namespace: $namespace}) RETURN n.id AS id")
    values = [json.loads(change.after["value"])["n"] for change in graph.history(row["id"]) if change.after]
    assert values == [1, 2, 3, 2, 1]


def test_forgetting_and_deleting_the_node_takes_the_item(store: MemoryGraphStore, graph: MemoryGraph) -> None:
    store.put(("a",), "k", {"text": "first"})
    store.put(("a",), "l", {"text": "second"})
    ids = [row["id"] for row in graph.query("MATCH (n:Item {namespace: $namespace}) RETURN n.id AS id ORDER BY n.key")]
    graph.delete(ids[0])
    graph.forget(ids[1])
    assert store.search(()) == []
    assert store.list_namespaces() == []


def test_a_bundle_has_the_items(store: MemoryGraphStore, graph: MemoryGraph, tmp_path: Path) -> None:
    store.put(("a", "b"), "k", {"n": [1, {"ü": None}], "text": "a heron"}, ttl=60)
    store.put(("c",), "k", {"n": 2})
    file = tmp_path / "items.bundle"
    graph.export_bundle(file)
    other = MemoryGraph(graph.connection, new_namespace())
    other.import_bundle(file)
    copied = MemoryGraphStore(other)
    assert copied.search(()) == store.search(())
    assert [item.namespace for item in copied.search((), query="heron")] == [("a", "b")]
    copied.put(("c",), "k", {"n": 3})
    assert [item.value["n"] for item in copied.search(("c",))] == [3]


def test_a_graph_of_langgraph_remembers_between_threads(store: MemoryGraphStore) -> None:
    def remember(state: MessagesState, runtime: Runtime[None]) -> dict[str, Any]:
        assert runtime.store is not None
        said = str(state["messages"][-1].content)
        known = runtime.store.search(("users", "1"), query=said)
        runtime.store.put(("users", "1"), said, {"text": said})
        return {"messages": [("assistant", "; ".join(item.value["text"] for item in known) or "nothing")]}

    build: Any = StateGraph(MessagesState)
    app = build.add_node("remember", remember).add_edge(START, "remember").compile(store=store)
    answers = [
        app.invoke({"messages": [("user", text)]})["messages"][-1].content
        for text in ("My heron is called Ada.", "What is my heron called?")
    ]
    assert answers == ["nothing", "My heron is called Ada."]
