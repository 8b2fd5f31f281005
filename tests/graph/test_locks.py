"""Who waits for the write lock of a namespace goes on from what the one before has written."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from memorygraph import MemoryGraph, NotFoundError, QueryError
from memorygraph.graph.connection import Transaction
from memorygraph.graph.migrations import DATA_MIGRATIONS
from memorygraph.graph.namespace import OpenNamespace
from memorygraph.library import CYPHER
from memorygraph.memory.items import ItemKey, ItemWrites
from memorygraph.memory.values import Entity
from memorygraph.memory.vectors import embed_missing
from memorygraph.messages.indexing import write_index
from memorygraph.messages.stored_conversations import open_conversation
from memorygraph.query import Query
from tests.cli.test_stopping import await_waiting
from tests.graph.test_namespaces import LEFT, info_of
from tests.memory.test_recall import PointingEmbedder
from tests.samples import sampled

Result = TypeVar("Result")

LOCKING = [
    name for name, block in CYPHER.items() if re.search(r"^SET namespace\.revision = [^$]", block.text, re.MULTILINE)
]
WAIT_S = 60
COUNTING = "MATCH (namespace:Namespace {name: $namespace}) SET namespace.revision = namespace.revision + 1"
# The role of a message is part of its content, which nobody changes.
SET_TO_ITSELF = re.compile(r"\bSET (\w+\.(?!role\b)\w+) = \1\s*(?:[,;]|//|$|\n)")


def answer_after(
    graph: MemoryGraph, cypher: str, write: Callable[[], Result], last: str = "RETURN 1", **values: Any
) -> Result:
    """What a write answers that has waited for a lock, which this Cypher held until its commit, after `last`."""

    def hold(opened: OpenNamespace) -> None:
        opened.opened.run(Query(cypher, {"namespace": graph.namespace, **values}))

    return answer_after_work(graph, hold, write, last)


def answer_after_work(
    graph: MemoryGraph, work: Callable[[OpenNamespace], object], write: Callable[[], Result], last: str = "RETURN 1"
) -> Result:
    """What a write answers that has waited for another process, which did this work and `last` in one transaction."""
    with (
        ThreadPoolExecutor() as pool,
        graph.connection._driver.session() as session,
        session.begin_transaction() as first,
    ):
        work(OpenNamespace(graph.connection, graph.namespace, opened=Transaction(first)))
        second = pool.submit(write)
        await_waiting(graph, second)
        assert not second.done()
        first.run(last, namespace=graph.namespace).consume()
        first.commit()
        return second.result()


def test_a_write_does_not_wait_for_the_lock_of_another_namespace(graph: MemoryGraph, twin: MemoryGraph) -> None:
    program = 'Node(node_id="{}", name="X", data="");'
    graph.load(program.format("x"))
    with (
        ThreadPoolExecutor() as pool,
        graph.connection._driver.session() as session,
        session.begin_transaction() as holding,
    ):
        holding.run(COUNTING, namespace=graph.namespace).consume()
        for name in ("new", "there"):  # the namespace is made by the first
            assert pool.submit(twin.load, program.format(name)).result(WAIT_S).nodes_created == 1
        holding.commit()


@pytest.mark.parametrize("name", LOCKING)
def test_who_waits_for_a_namespace_sets_back_no_revision(graph: MemoryGraph, name: str) -> None:
    begin, query = (sampled(CYPHER[each], namespace=graph.namespace) for each in ("forget/begin", name))
    graph.connection.write(lambda transaction: transaction.run(begin))  # a list, which `forget/finish` needs
    before = info_of(graph).revision
    answer_after(graph, COUNTING, lambda: graph.connection.write(lambda transaction: transaction.run(query)))
    assert info_of(graph).revision > before


@pytest.mark.parametrize(
    "write",
    [
        lambda graph: graph.load('Node(node_id="x", name="X", data="");'),
        lambda graph: graph.load('Edge(edge_id="e", from_node="a", to_node="a", verb="v", weight=1.0);'),
        lambda graph: graph.load('Node(node_id="x", name="X", data=""); Node(node_id="y", name="Y", data="");'),
        lambda graph: graph.entities.create([Entity(name="X", entity_type="t", observations=[])]),
    ],
)
def test_a_later_revision_has_a_later_time_also_where_it_has_waited(
    graph: MemoryGraph, write: Callable[[MemoryGraph], object]
) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    recording = (
        "MATCH (namespace:Namespace {name: $namespace}) "
        "CREATE (:Load {namespace: $namespace, id: 'before', revision: namespace.revision, at: datetime()})"
    )
    answer_after(graph, COUNTING, lambda: write(graph), recording)
    rows = graph.query(
        "MATCH (load:Load {namespace: $namespace}) RETURN load.revision AS revision, load.at AS at ORDER BY revision"
    )
    assert [row["revision"] for row in rows] == [1, 2, 3]
    assert rows == sorted(rows, key=lambda row: row["at"])


def test_who_waits_for_what_is_deleted_meanwhile_does_not_find_it(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="x", name="X", data="");')
    deleting = "MATCH (node:Node {namespace: $namespace, id: 'x'}) DETACH DELETE node"
    joining = (
        "MATCH (node:Node {namespace: $namespace, id: 'x'}) "
        "CREATE (node)-[:SEES]->(:Thing {namespace: $namespace}) RETURN count(*) AS count"
    )
    assert answer_after(graph, deleting, lambda: graph.query(joining, write=True)) == [{"count": 0}]


def test_a_query_that_asks_for_what_it_has_deleted_is_refused(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="x", name="X", data="");')
    with pytest.raises(QueryError, match="deleted"):
        graph.query("MATCH (node:Node {namespace: $namespace}) DETACH DELETE node RETURN labels(node)", write=True)


def test_no_query_sets_a_value_to_itself_which_is_read_before_the_lock_is_held() -> None:
    assert SET_TO_ITSELF.search("SET a.b = a.b\nWITH a")
    assert [name for name, block in CYPHER.items() if SET_TO_ITSELF.search(block.text)] == []


def test_a_vector_of_a_former_text_is_not_given_to_the_next(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="x", name="", data="east");')
    changing = "MATCH (node:Node {namespace: $namespace, id: 'x'}) SET node.data = 'north'"
    answer_after(graph, changing, lambda: embed_missing(graph.scope, PointingEmbedder()))
    embed_missing(graph.scope, PointingEmbedder())
    [row] = graph.query("MATCH (node:Node {namespace: $namespace}) RETURN node.embedding AS vector")
    assert row["vector"] == [0.0, 1.0]


def test_a_message_that_is_hidden_meanwhile_gets_no_vector(graph: MemoryGraph) -> None:
    graph.messages("talk").append({"role": "user", "content": "east"})
    hiding = "MATCH (message:Message {namespace: $namespace}) SET message.said = null"
    answer_after(graph, hiding, lambda: embed_missing(graph.scope, PointingEmbedder()))
    assert graph.query("MATCH (message:Message {namespace: $namespace}) RETURN message.embedding AS vector") == [
        {"vector": None}
    ]


@pytest.mark.parametrize("label", ["Message", "Passage"])
def test_a_message_that_is_dated_anew_meanwhile_gets_no_vector_of_its_former_text(
    graph: MemoryGraph, label: str
) -> None:
    graph.messages("talk").append({"role": "user", "content": "east " * (5000 if label == "Passage" else 1)})
    changing = f"MATCH (part:{label} {{namespace: $namespace}}) SET part.said = 'north'"
    answer_after(graph, changing, lambda: embed_missing(graph.scope, PointingEmbedder()))
    having = f"MATCH (part:{label} {{namespace: $namespace}}) RETURN DISTINCT part.embedding AS vector"
    assert graph.query(having) == [{"vector": None}]
    embed_missing(graph.scope, PointingEmbedder())
    assert graph.query(having) == [{"vector": [0.0, 1.0]}]


@pytest.mark.parametrize("kind", ["node", "message", "alias"])
def test_parts_of_the_words_of_a_former_text_are_not_stored_beside_the_next(graph: MemoryGraph, kind: str) -> None:
    label, plural = kind.capitalize(), {"alias": "aliases"}.get(kind, f"{kind}s")
    graph.query(f"CREATE (:{label} {{namespace: $namespace, id: 'x', name: 'a', data: '', said: 'a'}})", write=True)
    changing = f"MATCH (element:{label} {{namespace: $namespace, id: 'x'}}) SET element.name = 'b', element.said = 'b'"
    rows = [{"id": "x", "name": "a", "data": "", "said": "a", "parts": {"name_parts": "parts of a"}}]
    query = graph.scope.query(f"recall/add-parts-to-{plural}", rows=rows)
    answer_after(graph, changing, lambda: graph.connection.write(lambda transaction: transaction.run(query)))
    assert graph.query(f"MATCH (element:{label} {{namespace: $namespace}}) RETURN element.name_parts AS parts") == [
        {"parts": None}
    ]


def test_a_message_of_two_conversations_is_found_in_both_that_index_it_at_once(graph: MemoryGraph) -> None:
    for name in ("one", "two"):
        graph.messages(name).append({"role": "user", "content": "Hello"})
    graph.query(
        "MATCH (message:Message {namespace: $namespace}) SET message.conversations = null, message.passages = null, "
        "message.namespace_token = null",
        write=True,
    )
    [row] = graph.query("MATCH (message:Message {namespace: $namespace}) RETURN message.id AS id")
    first = "MATCH (message:Message {namespace: $namespace}) SET message.role = message.role"
    indexed = (
        "MATCH (message:Message {namespace: $namespace}) "
        "SET message.conversations = ['one'], message.passages = 0, message.namespace_token = 'r1'"
    )
    answer_after(graph, first, lambda: write_index(graph.scope, "two", [row["id"]], {}), indexed)
    assert graph.query("MATCH (message:Message {namespace: $namespace}) RETURN message.conversations AS names") == [
        {"names": ["one", "two"]}
    ]


@pytest.mark.parametrize("text", ["Hi", "Hi, all! " * 500], ids=["short", "with passages"])
def test_two_conversations_that_append_the_same_message_at_once_share_it(graph: MemoryGraph, text: str) -> None:
    said = [{"role": "user", "content": content} for content in ("Hello", text)]
    for name in ("one", "two"):
        graph.messages(name).append(said[0])
    second = graph.messages("two")
    assert len(second) == 1
    answer_after_work(
        graph,
        lambda opened: open_conversation(opened, "one").append(said[1]),
        lambda: second.append(said[1]),
    )
    assert list(graph.messages("one")) == list(graph.messages("two")) == said
    assert {hit.conversation for hit in graph.recall("Hi", conversation="two").hits} == {"two"}
    assert graph.query("MATCH (message:Message {namespace: $namespace}) RETURN count(*) AS count") == [{"count": 2}]
    assert graph.broken_invariants() == []


def test_an_item_that_is_stored_for_good_meanwhile_is_not_renewed(graph: MemoryGraph) -> None:
    writes = ItemWrites()
    writes.put(key := ItemKey("users.", "pet"), {}, None, ttl=60.0)
    graph.items.write(writes)
    item = graph.items.get([key])[key]
    storing = "MATCH (item:Item {namespace: $namespace}) SET item.ttl = null, item.expires_at = null"
    answer_after(graph, storing, lambda: graph.items.renew([item]))
    assert graph.expiry(item.id).expires_at is None


def test_who_renews_a_node_waits_for_what_removes_it(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="x", name="X", data="");')
    deleting = "MATCH (node:Node {namespace: $namespace, id: 'x'}) DETACH DELETE node"
    with pytest.raises(NotFoundError):
        answer_after(graph, COUNTING, lambda: graph.expire("x", after=timedelta(hours=1)), deleting)


def test_a_drop_waits_for_a_conversation_that_is_begun_and_takes_it_along(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="x", name="X", data="");')
    values: dict[str, Any] = {"name": "late", "recalled": True, "version": "v"}
    beginning = CYPHER["messages/create-conversation"](namespace=graph.namespace, **values)
    answer_after(graph, beginning.text, lambda: graph.drop_namespace(graph.namespace), **values)
    assert graph.query(LEFT) == []


def test_a_namespace_that_was_set_back_is_written_to_again(graph: MemoryGraph) -> None:
    for name in "ab":
        graph.load(f'Node(node_id="{name}", name="A", data="");')
    for _ in range(2):  # the second time there is nothing to do
        DATA_MIGRATIONS["0037_revisions"](graph.scope)
        assert info_of(graph).revision == 2
        graph.query("MATCH (record:Namespace {name: $namespace}) SET record.revision = 1", write=True)
    DATA_MIGRATIONS["0037_revisions"](graph.scope)
    graph.load('Node(node_id="c", name="C", data="");')
    assert [change.revision for change in graph.history("c")] == [3]
    assert graph.broken_invariants() == []
