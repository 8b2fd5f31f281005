"""What surely takes more than one transaction has is refused at once, whoever asks for it, with the way that works."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memorygraph import MemoryGraph
from memorygraph.errors import TooLargeError
from memorygraph.graph import forgetting, loads, sizes
from memorygraph.graph.forgetting import ForgettingState
from memorygraph.memory.items import ItemKey, ItemWrites
from memorygraph.memory.values import Entity, Observations, Relation
from tests.examples import every_nth, mostly_slow
from tests.stored import everything

EDGES = 12


@pytest.fixture
def hub(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> MemoryGraph:
    """A graph with an entity of many edges, where a transaction has room for one less."""
    graph.entities.create([Entity(name=name, entity_type="t") for name in ("A hub", "Other")])
    graph.entities.relate([Relation(source="A hub", relation_type=f"r{i}", target="Other") for i in range(EDGES - 1)])
    graph.entities.relate([Relation(source="Other", relation_type="r", target="A hub")])
    monkeypatch.setattr(sizes, "MIN_LARGE_PARTS", EDGES)
    monkeypatch.setattr(sizes, "MIN_LARGE_BYTES", 0)
    limit_memory(monkeypatch, EDGES * sizes.DELETED_EDGE_BYTES - 1)
    return graph


def limit_memory(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(sizes, "read_memory_limit", lambda _connection: limit)


def delete_relations(graph: MemoryGraph) -> None:
    relations = [Relation(source="A hub", relation_type=f"r{i}", target="Other") for i in range(EDGES - 1)]
    graph.entities.delete_relations([*relations, Relation(source="Other", relation_type="r", target="A hub")])


WAYS: dict[str, tuple[Callable[[MemoryGraph], object], str, int]] = {
    "entities": (
        lambda graph: graph.entities.delete(["A hub"]),
        r"with `entity-\w+` \(A hub\) go 12 edges, .*, and nothing was changed by it: "
        r"`delete entity-\w+ --batch 3` deletes it in parts",
        sizes.DELETED_NODE_BYTES,
    ),
    "relations": (
        delete_relations,
        "with this go 12 edges, .*, and nothing was changed by it: delete fewer at a time",
        0,
    ),
    "merge": (
        lambda graph: graph.merge("A hub", "Other"),
        r"with `entity-\w+` \(A hub\) go its 12 edges, .*, and nothing was changed by it. Merge the entity that has .* "
        "`load --batch 5` stores them in parts",
        0,
    ),
}


@pytest.mark.parametrize("way", mostly_slow(WAYS, ordinary=1))
def test_a_change_of_too_many_edges_is_refused_before_anything_is_written(
    hub: MemoryGraph, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    change, told, more = WAYS[way]
    before = everything(hub)
    with pytest.raises(TooLargeError, match=told):
        change(hub)
    assert everything(hub) == before
    limit_memory(monkeypatch, EDGES * sizes.DELETED_EDGE_BYTES + more)
    change(hub)


def test_the_way_that_is_named_deletes_an_entity_of_too_many_edges(hub: MemoryGraph) -> None:
    [entity] = hub.query("MATCH (node:Node {namespace: $namespace, name: 'A hub'}) RETURN node.id AS id")
    assert hub.delete(entity["id"], batch=3).edges_deleted == EDGES


def observe_much(graph: MemoryGraph) -> str:
    """Make an entity with many observations, and return its id."""
    texts = [f"observation {i}" for i in range(20)]
    graph.entities.create([Entity(name="Ada", entity_type="t", observations=texts)])
    return "Ada"


def think_much(graph: MemoryGraph) -> str:
    """Make a context with many facts, which are no edges at it, and return its id."""
    facts = "\n".join(f"&a v{i} &b." for i in range(20))
    graph.load(f"context big(&a, &b) {{\n{facts}\n}}", "pete")
    return f"memory-{graph.thoughts()[0].address}"


DELETIONS: dict[str, Callable[[MemoryGraph, str], object]] = {
    "client": lambda graph, id_: graph.delete(id_),
    "script": lambda graph, id_: graph.load(f'Node(node_id="new", name="N", data=""); del(id="{id_}");'),
    "entity": lambda graph, _id: graph.entities.delete(["Ada"]),
}
LARGE = [
    (observe_much, "client", 21, 0),
    (observe_much, "script", 21, 0),
    (observe_much, "entity", 21, 0),
    (think_much, "client", 1, 20),
    (think_much, "script", 1, 20),
]


@pytest.mark.parametrize(("make", "way", "nodes", "statements"), every_nth(LARGE, 3))
def test_what_goes_with_a_node_counts_in_what_its_deletion_takes_and_the_way_that_is_named_works(
    graph: MemoryGraph,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[MemoryGraph], str],
    way: str,
    nodes: int,
    statements: int,
) -> None:
    node = make(graph)
    before, first = everything(graph, ["revision"]), graph.revisions(1)[0].revision
    size = sizes.Deleted(nodes, 20, statements).size
    for module in (sizes, loads):
        monkeypatch.setattr(module, "MIN_LARGE_PARTS", 1)
        monkeypatch.setattr(module, "read_memory_limit", lambda _connection: size - 1)
    monkeypatch.setattr(sizes, "MIN_LARGE_BYTES", 0)
    with pytest.raises(TooLargeError, match=rf"`{node}`.* go .*20 edges.* `delete {node} --batch (\d+)`") as refused:
        DELETIONS[way](graph, node)
    assert everything(graph, ["revision"]) == before
    batch = int(str(refused.value).partition("--batch ")[2].partition("`")[0])
    report = graph.delete(node, batch=batch)
    assert (report.nodes_deleted, report.edges_deleted) == (nodes, 20)
    for revision in range(report.revision, first, -1):
        graph.undo(revision)
    assert everything(graph, ["revision"]) == before


def test_a_context_with_more_statements_than_a_transaction_has_room_for_can_be_forgotten(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = think_much(graph)
    monkeypatch.setattr(loads, "MIN_LARGE_PARTS", 1)
    monkeypatch.setattr(loads, "read_memory_limit", lambda _connection: 20 * sizes.DELETED_STATEMENT_BYTES)
    with pytest.raises(
        TooLargeError, match=f"`{node}` are deleted, and what is left .*: `forget {node}` forgets it for good"
    ):
        graph.delete(node, batch=2)
    assert graph.forget(node).went["nodes"]


def test_batches_with_no_room_in_a_transaction_become_smaller(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = observe_much(graph)
    monkeypatch.setattr(loads, "MIN_LARGE_STATEMENTS", 1)
    monkeypatch.setattr(loads, "read_memory_limit", lambda _connection: sizes.Deleted(6, 6).size)
    report = graph.delete(node, batch=20)
    assert (report.nodes_deleted, report.edges_deleted) == (21, 20)


@pytest.mark.parametrize(
    ("change", "size", "told"),
    [
        (
            "".join(f'Node(node_id="m{i}", name="M", data="");' for i in range(10)),
            10 * sizes.DELETED_NODE_BYTES,
            r"has `del\(id=…\);` for what it created, which has `since: 2` in the graph: `load --batch 5` stores",
        ),
        (
            "".join(f'Node(node_id="n{i}", name="New");' for i in range(10)),
            10 * sizes.CHANGED_NODE_BYTES,
            r"has declarations of what it changed or deleted, as `export --at 1` writes them: `load --batch 5` stores",
        ),
        (
            "".join(f'del(id="n{i}");' for i in range(9)) + 'Node(node_id="m", name="M", data="");',
            9 * sizes.NEW_NODE_BYTES + sizes.NEW_EDGE_BYTES + sizes.DELETED_NODE_BYTES,
            r"has `del\(id=…\);` for .* and declarations of .*, as `export --at 1` writes them: `load --batch 6`",
        ),
        (
            'del(id="e");' + "".join(f'del(id="n{i}");' for i in range(9)),
            9 * sizes.NEW_NODE_BYTES + sizes.NEW_EDGE_BYTES,
            r"has declarations of what it changed or deleted, as `export --at 1` writes them: `load --batch 5` stores",
        ),
        ('Edge(edge_id="e", weight=1.0);', sizes.CHANGED_EDGE_BYTES, "has declarations of what it changed or deleted"),
    ],
)
def test_an_undo_of_too_much_is_refused_before_anything_is_written(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, change: str, size: int, told: str
) -> None:
    nodes = "".join(f'Node(node_id="n{i}", name="N", data="");' for i in range(10))
    graph.load(nodes + 'Edge(edge_id="e", from_node="n0", to_node="n1", verb="v", weight=0.5);')
    graph.load(change)
    before = everything(graph)
    monkeypatch.setattr(sizes, "MIN_LARGE_BYTES", 0)
    limit_memory(monkeypatch, size - 1)
    with pytest.raises(TooLargeError, match=f"undoing revision 2 changes .*, and nothing was changed by it.* {told}"):
        graph.undo(2)
    assert everything(graph) == before
    limit_memory(monkeypatch, size)
    graph.undo(2)
    assert not graph.broken_invariants()


def test_a_dry_run_of_forgetting_that_is_too_large_names_the_way_that_works(
    hub: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    piece = forgetting.forget_piece

    def forget_some(state: ForgettingState) -> bool:
        if state.went["edges"] or "edges" in str(state.properties.get("went")):
            raise TooLargeError("memory")
        return piece(state)

    before = everything(hub)
    monkeypatch.setattr(forgetting, "forget_piece", forget_some)
    told = "a dry run does everything in one transaction, .* nothing was forgotten. Without .*`--yes` does not ask"
    with pytest.raises(TooLargeError, match=told):
        hub.forget("A hub", dry_run=True)
    assert everything(hub) == before
    monkeypatch.undo()
    assert hub.forget("A hub").went["edges"] == EDGES


def create_texts(graph: MemoryGraph, texts: list[str]) -> None:
    graph.entities.create([Entity(name="New", entity_type="t", observations=texts)])


def observe_texts(graph: MemoryGraph, texts: list[str]) -> None:
    graph.entities.observe([Observations(entity_name="Ada", contents=texts)])


def put_texts(graph: MemoryGraph, texts: list[str]) -> None:
    writes = ItemWrites()
    for place, text in enumerate(texts):
        writes.put(ItemKey("shelf.", str(place)), {}, text)
    graph.items.write(writes)


@pytest.mark.parametrize("write", [create_texts, observe_texts, put_texts])
def test_texts_that_one_transaction_has_no_room_for_are_refused_before_anything_is_written(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, write: Callable[[MemoryGraph, list[str]], None]
) -> None:
    graph.entities.create([Entity(name="Ada", entity_type="t")])
    monkeypatch.setattr(sizes, "MIN_LARGE_CHARACTERS", 3000)
    monkeypatch.setattr(sizes, "MIN_LARGE_BYTES", 0)
    texts = [letter * 1000 for letter in "abc"]
    before = everything(graph)
    limit_memory(monkeypatch, 3000 * sizes.TEXT_BYTE_BYTES - 1)
    with pytest.raises(
        TooLargeError, match="and nothing was changed by it: store fewer at a time, or a long text in parts"
    ):
        write(graph, texts)
    assert everything(graph) == before
    limit_memory(monkeypatch, 3000 * sizes.TEXT_BYTE_BYTES + 3 * len("{}") * sizes.KEPT_CHARACTER_BYTES)
    write(graph, texts)


def append_messages(graph: MemoryGraph, texts: list[str]) -> None:
    graph.messages("talk").extend([{"role": "user", "content": text} for text in texts])


def add_messages(graph: MemoryGraph, texts: list[str]) -> None:
    graph.messages("talk").add_path([{"role": "user", "content": text} for text in texts])


@pytest.mark.parametrize("write", [append_messages, add_messages])
def test_messages_that_one_transaction_has_no_room_for_are_refused_before_anything_is_written(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, write: Callable[[MemoryGraph, list[str]], None]
) -> None:
    append_messages(graph, ["Hello"])
    texts = ["Hello", *("One sentence of a long message. " * 100 for _ in range(3))]
    size = 3 * 3 * 3200 * sizes.KEPT_CHARACTER_BYTES
    monkeypatch.setattr(sizes, "MIN_LARGE_CHARACTERS", 9600)
    monkeypatch.setattr(sizes, "MIN_LARGE_BYTES", 0)
    before = everything(graph)
    limit_memory(monkeypatch, size + 3 * sizes.NEW_NODE_BYTES)
    with pytest.raises(
        TooLargeError, match="and nothing was changed by it: store fewer at a time, or a long text in parts"
    ):
        write(graph, texts)
    assert everything(graph) == before
    limit_memory(monkeypatch, 3 * size + 100 * sizes.NEW_NODE_BYTES)
    write(graph, texts)


def test_observations_that_are_stored_already_need_no_room(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [letter * 1000 for letter in "abc"]
    create_texts(graph, texts)
    monkeypatch.setattr(sizes, "MIN_LARGE_CHARACTERS", 0)
    monkeypatch.setattr(sizes, "MIN_LARGE_BYTES", 0)
    limit_memory(monkeypatch, 1000 * sizes.TEXT_BYTE_BYTES)
    create_texts(graph, [*texts, "d" * 1000])
    with pytest.raises(TooLargeError):
        create_texts(graph, [*texts, "e" * 1001])


def test_short_texts_ask_the_server_for_no_limit(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_connection: object) -> int:
        raise AssertionError

    monkeypatch.setattr(sizes, "read_memory_limit", fail)
    create_texts(graph, ["a" * 10_000])
    observe = [letter * 1000 for letter in "abc"]
    graph.entities.observe([Observations(entity_name="New", contents=observe)])
    put_texts(graph, observe)
