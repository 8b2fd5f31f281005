"""What the checkpointer keeps of threads: messages of the message graph, what forks share, and what goes with it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from memorygraph import MemoryGraph, MemoryGraphError
from memorygraph.graph.invariants import Examination
from memorygraph.graph.namespace import Namespace
from memorygraph.integrations.langgraph import MemoryGraphSaver, channels
from memorygraph.messages.history import entries_of
from memorygraph.messages.message import Message
from memorygraph.messages.neo4j_storage import Neo4jStorage
from memorygraph.messages.threads import Threads
from tests.graph.test_locks import answer_after_work
from tests.shared_neo4j import new_namespace

TALK: list[AnyMessage] = [
    SystemMessage("Be short.", id="0"),
    HumanMessage("What time is it?", id="1", additional_kwargs={"seen": [1, {"a": None}]}),
    AIMessage(
        "",
        id="2",
        tool_calls=[{"name": "clock", "args": {"zone": "utc"}, "id": "c", "type": "tool_call"}],
        usage_metadata={"input_tokens": 3, "output_tokens": 1, "total_tokens": 4},
        response_metadata={"model": "m"},
    ),
    ToolMessage("12:30", id="3", tool_call_id="c", artifact={"exact": [12, 30]}),
    AIMessage([{"type": "text", "text": "Half past twelve."}], id="4", name="Clock"),
]


def thread(name: str = "t", checkpoint: str | None = None) -> RunnableConfig:
    """The configuration of a thread."""
    return {"configurable": {"thread_id": name, "checkpoint_ns": "", "checkpoint_id": checkpoint}}


def put(saver: MemoryGraphSaver, config: RunnableConfig, step: int = 0, **values: Any) -> RunnableConfig:
    """Store a checkpoint with these values, which came from the one that the configuration names."""
    checkpoint: Checkpoint = {
        **empty_checkpoint(),
        "id": str(uuid6(clock_seq=step)),
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, step + 1),
    }
    return saver.put(config, checkpoint, {"source": "loop", "step": step}, checkpoint["channel_versions"])


def values_of(saver: MemoryGraphSaver, config: RunnableConfig) -> dict[str, Any]:
    """The values of a checkpoint."""
    found = saver.get_tuple(config)
    assert found is not None
    return found.checkpoint["channel_values"]


def count(graph: MemoryGraph, label: str) -> int:
    """How many nodes of a label the namespace has."""
    [row] = graph.query(f"MATCH (node:{label} {{namespace: $namespace}}) RETURN count(node) AS count")
    return int(row["count"])


def grow(saver: MemoryGraphSaver, messages: list[AnyMessage], config: RunnableConfig) -> RunnableConfig:
    """Store a checkpoint for each message, with all messages up to it."""
    for step in range(len(messages)):
        config = put(saver, config, step, messages=messages[: step + 1])
    return config


def test_messages_come_back_as_they_were_from_a_program_that_knows_nothing(graph: MemoryGraph) -> None:
    saver = MemoryGraphSaver(graph)
    config = grow(saver, TALK, thread())
    again = MemoryGraphSaver(graph)
    assert values_of(again, config)["messages"] == TALK
    assert [again.serde.dumps_typed(message) for message in values_of(again, thread())["messages"]] == [
        saver.serde.dumps_typed(message) for message in TALK
    ]


def test_the_messages_of_a_state_are_those_of_the_message_graph(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    grow(saver, TALK, thread())
    history = graph.messages("talk")
    for role, content in [("system", "Be short."), ("user", "What time is it?")]:
        history.append({"role": role, "content": content})
    rows = graph.query(
        "MATCH (state:State {namespace: $namespace, thread: 't'})-[:HOLDS {channel: 'messages'}]->()-[:SAYS]->(said) "
        "OPTIONAL MATCH (said)<-[:TIP]-(version) "
        "RETURN state.step AS step, said.role AS role, said.content AS content, version.number AS version ORDER BY step"
    )
    assert [row["step"] for row in rows] == list(range(5))
    assert [row["role"] for row in rows] == ["system", "user", "assistant", "tool", "assistant"]
    assert [row["content"] for row in rows][3:] == ["12:30", "Half past twelve."]
    assert [row["version"] for row in rows] == [None, 1, None, None, None]
    assert count(graph, "Message") == 5


def test_a_step_stores_only_what_is_new_in_it(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    big = {"text": "x" * 1000}
    config = put(saver, thread(), 0, messages=TALK[:2], settings=big)
    before = count(graph, "ChannelValue")
    config = put(saver, config, 1, messages=TALK[:3], settings=big)
    assert (before, count(graph, "ChannelValue")) == (3, 4)
    put(MemoryGraphSaver(graph), config, 2, messages=TALK[:4], settings=big)  # of another process, which knows nothing
    assert (count(graph, "ChannelValue"), count(graph, "Message")) == (5, 4)


def test_forks_share_what_they_have_in_common(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    put(saver, grow(saver, TALK[:3], thread()), 3, messages=TALK[:4])
    second = next(found for found in saver.list(thread()) if found.metadata["step"] == 1).config
    fork = put(saver, second, 2, messages=[*TALK[:2], HumanMessage("Never mind.", id="9")])
    assert [message.id for message in values_of(saver, fork)["messages"]] == ["0", "1", "9"]
    assert (count(graph, "ChannelValue"), count(graph, "Message")) == (5, 5)
    rows = graph.query(
        "MATCH (parent:State {namespace: $namespace})<-[:PARENT]-(state:State) "
        "WITH parent, collect(state.step) AS steps WHERE size(steps) > 1 RETURN parent.step AS step, steps"
    )
    assert rows == [{"step": 1, "steps": [2, 2]}]


@pytest.mark.parametrize("known", [True, False], ids=["of a known list", "of a list that is read again"])
def test_a_message_that_is_replaced_or_taken_away_is_so(graph: MemoryGraph, known: bool) -> None:
    saver = MemoryGraphSaver(graph)
    config = grow(saver, TALK, thread())
    changed = [TALK[0], HumanMessage("What day is it?", id="1"), *TALK[2:]]
    for step, messages in enumerate([changed, changed[1:], changed[:1], [*changed, *TALK]], start=5):
        saver = saver if known else MemoryGraphSaver(graph)
        config = put(saver, config, step, messages=messages)
        assert values_of(MemoryGraphSaver(graph), config)["messages"] == messages


def test_forks_that_threads_make_at_once_stay_apart(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    config = grow(saver, TALK, thread())

    def fork(number: int) -> list[str]:
        messages, at = list(TALK), config
        for step in range(5):
            messages = [*messages, HumanMessage(f"{number}.{step}", id=f"{number}.{step}")]
            at = put(saver, at, 10 * number + step, messages=messages)
        return [str(message.id) for message in values_of(MemoryGraphSaver(graph), at)["messages"][len(TALK) :]]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(fork, range(8))) == [[f"{number}.{step}" for step in range(5)] for number in range(8)]


def test_a_change_in_place_of_one_of_the_last_messages_is_seen(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    messages: list[AnyMessage] = [HumanMessage(f"{place}", id=f"{place}") for place in range(40)]
    first = put(saver, thread(), 0, messages=list(messages))
    messages[-channels.MAX_COMPARED].content = "changed"
    second = put(saver, first, 1, messages=list(messages))
    again = MemoryGraphSaver(graph)
    assert values_of(again, second)["messages"] == messages
    assert values_of(again, first)["messages"][-channels.MAX_COMPARED].content == "8"


def test_a_change_in_place_to_something_equal_is_seen(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    message = ToolMessage("12:30", id="0", tool_call_id="c", artifact={"exact": 1})
    first = put(saver, thread(), 0, messages=[message])
    message.artifact["exact"] = True
    second = put(saver, first, 1, messages=[message])
    assert values_of(MemoryGraphSaver(graph), second)["messages"][0].artifact["exact"] is True


def test_a_change_in_place_of_what_cannot_be_pickled_is_seen(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    @dataclass
    class Local:
        number: int

    message = ToolMessage("12:30", id="0", tool_call_id="c", artifact=Local(1))
    config = put(saver, thread(), 0, messages=[message])
    for step, (number, values) in enumerate(((1, 1), (2, 2)), start=1):
        message.artifact.number = number
        config = put(saver, config, step, messages=[message])
        assert count(graph, "ChannelValue") == values


def test_values_of_every_kind_come_back(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    values: dict[str, Any] = {
        "nothing": None,
        "truth": True,
        "decimal": 0.1,
        "text": "t" * 5000,
        "short": "Zoë \x00 🙂",
        "list": [1, "a", None],
        "empty": [],
        "mixed": [HumanMessage("a", id="a"), "a"],
        "set": {1, 2},
        "path": Path("a"),
        "bytes": b"\x00\xff",
        "message": HumanMessage("a", id="a"),
    }
    config = put(saver, thread(), 0, **values)
    assert values_of(MemoryGraphSaver(graph), config) == values


class HidingSerializer(JsonPlusSerializer):
    """A serializer of a user, made of LangGraph's own."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        type_, data = super().dumps_typed(obj)
        return type_, data[::-1]

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return super().loads_typed((data[0], data[1][::-1]))


HIDING = [EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef"), HidingSerializer()]


@pytest.mark.parametrize("serde", HIDING, ids=lambda serde: type(serde).__name__)
def test_what_a_serializer_hides_is_nowhere_in_the_graph(graph: MemoryGraph, serde: Any) -> None:
    saver = MemoryGraphSaver(graph, serde=serde)
    config = grow(saver, TALK, thread())
    assert values_of(MemoryGraphSaver(graph, serde=serde), config)["messages"] == TALK
    assert (count(graph, "Message"), count(graph, "ChannelValue")) == (0, 5)


@pytest.mark.parametrize("serde", HIDING, ids=lambda serde: type(serde).__name__)
def test_a_change_in_place_is_seen_whatever_serializer_hides_it(graph: MemoryGraph, serde: Any) -> None:
    saver = MemoryGraphSaver(graph, serde=serde)
    message = HumanMessage("Hi", id="0")
    first = put(saver, thread(), 0, messages=[message])
    same = put(saver, first, 1, messages=[message])
    assert count(graph, "ChannelValue") == 1
    message.content = "changed"
    second = put(saver, same, 2, messages=[message])
    again = MemoryGraphSaver(graph, serde=serde)
    assert [values_of(again, each)["messages"][0].content for each in (first, second)] == ["Hi", "changed"]


def test_deleting_a_thread_leaves_what_others_have(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    last = grow(saver, TALK, thread("a"))
    saver.put_writes(last, [("messages", TALK[0])], "task")
    saver.copy_thread("a", "b")
    put(saver, thread("a", last["configurable"]["checkpoint_id"]), 5, messages=[*TALK, HumanMessage("Bye.", id="5")])
    graph.messages("talk").append({"role": "system", "content": "Be short."})
    saver.delete_thread("a")
    assert saver.get_tuple(thread("a")) is None
    assert values_of(MemoryGraphSaver(graph), thread("b"))["messages"] == TALK
    assert (count(graph, "Message"), count(graph, "ChannelValue"), count(graph, "PendingWrite")) == (5, 5, 1)
    saver.delete_thread("b")
    assert [count(graph, label) for label in ("Thread", "State", "ChannelValue", "PendingWrite")] == [0, 0, 0, 0]
    assert [message["content"] for message in graph.messages("talk")] == ["Be short."]
    assert count(graph, "Message") == 1


def grow_tree(saver: MemoryGraphSaver, name: str) -> RunnableConfig:
    """Store a thread that parts at each state, and again at the end of a long branch; return its last state."""
    config, shared = thread(name), {"settings": {"text": "same"}}
    for step in range(len(TALK)):
        config = put(saver, config, step, messages=TALK[: step + 1], **shared)
        put(saver, config, 20 + step, messages=[*TALK[: step + 1], HumanMessage("Never mind.", id="9")])
    put(saver, config, 40, messages=[*TALK, HumanMessage("a", id="a"), HumanMessage("b", id="b")], **shared)
    saver.put_writes(config, [("messages", TALK[0])], "task")
    return put(saver, config, 41, messages=[*TALK, HumanMessage("a", id="a"), HumanMessage("c", id="c")], **shared)


@pytest.fixture
def stop_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have this process die before the transaction after so many."""
    write = Namespace.write
    left = -1

    def write_or_die(namespace: Namespace, *args: Any, **options: Any) -> Any:
        nonlocal left
        if left == 0:
            raise InterruptedError
        left -= 1
        return write(namespace, *args, **options)

    def set_left(transactions: int) -> None:
        nonlocal left
        left = transactions

    monkeypatch.setattr(Namespace, "write", write_or_die)
    return set_left


PARTS = ("Thread", "State", "ChannelValue", "PendingWrite", "Message")


@pytest.mark.parametrize("limit", [2, 7])
def test_a_thread_is_deleted_in_transactions_of_limited_size_and_one_that_was_interrupted_goes_on(
    graph: MemoryGraph,
    saver: MemoryGraphSaver,
    monkeypatch: pytest.MonkeyPatch,
    stop_after: Callable[[int], None],
    limit: int,
) -> None:
    put(saver, thread("b"), 0, messages=TALK[:3])
    graph.messages("talk").extend(
        [{"role": "system", "content": "Be short."}, {"role": "user", "content": "What time is it?"}]
    )
    kept = [count(graph, label) for label in PARTS]
    last = grow_tree(saver, "a")
    values = values_of(MemoryGraphSaver(graph), last)
    values_and_states = count(graph, "ChannelValue") + count(graph, "State") - kept[1] - kept[2]
    monkeypatch.setattr("memorygraph.messages.threads.MAX_DELETED_PER_TRANSACTION", limit)
    monkeypatch.setattr("memorygraph.messages.threads.MAX_STATES_PER_QUERY", 5)
    interruptions = 0
    while count(graph, "Thread") > kept[0]:
        stop_after(1)
        with suppress(InterruptedError):
            saver.delete_thread("a")
        found = MemoryGraphSaver(graph).get_tuple(last)
        assert found is None or found.checkpoint["channel_values"] == values
        assert graph.broken_invariants() == []
        interruptions += 1
    stop_after(-1)
    assert [count(graph, label) for label in PARTS] == kept
    assert interruptions >= values_and_states / limit
    assert values_of(MemoryGraphSaver(graph), thread("b"))["messages"] == TALK[:3]


def test_a_prune_that_was_interrupted_goes_on(
    graph: MemoryGraph,
    saver: MemoryGraphSaver,
    monkeypatch: pytest.MonkeyPatch,
    stop_after: Callable[[int], None],
) -> None:
    monkeypatch.setattr("memorygraph.messages.threads.MAX_DELETED_PER_TRANSACTION", 2)
    last = grow_tree(saver, "t")
    values = values_of(saver, last)
    stop_after(9)
    with pytest.raises(InterruptedError):
        saver.prune(["t"])
    stop_after(-1)
    assert values_of(MemoryGraphSaver(graph), last) == values
    saver.prune(["t"])
    assert values_of(MemoryGraphSaver(graph), last) == values
    assert [count(graph, label) for label in ("State", "ChannelValue")] == [1, 8]


def test_of_what_is_being_deleted_a_prune_keeps_nothing_and_a_copy_has_nothing(
    graph: MemoryGraph,
    saver: MemoryGraphSaver,
    monkeypatch: pytest.MonkeyPatch,
    stop_after: Callable[[int], None],
) -> None:
    shown = grow(saver, TALK[:2], thread())
    for name, config in (("t", shown), ("going", thread("going"))):
        put(saver, config, 2, messages=TALK[:3])
        monkeypatch.setattr("memorygraph.messages.threads.MAX_DELETED_PER_TRANSACTION", 1)
        stop_after(1)
        with pytest.raises(InterruptedError):
            saver.threads.delete_states([saver.threads.keys(name)[-1][0]])
        stop_after(-1)
        saver.copy_thread(name, f"copy of {name}")
    assert [len(values_of(saver, found.config)["messages"]) for found in saver.list(thread("copy of t"))] == [2, 1]
    assert graph.threads.list_threads() == [("copy of t", 2), ("going", 1), ("t", 3)]
    saver.prune(["t", "going"])
    assert [found.config for found in saver.list(thread())] == [shown]
    assert graph.threads.list_threads() == [("copy of t", 2), ("t", 1)]
    assert graph.broken_invariants() == []


def test_a_state_is_stored_whole_though_another_program_deleted_what_it_shares(graph: MemoryGraph) -> None:
    saver = MemoryGraphSaver(graph)
    config = grow(saver, TALK[:3], thread())
    MemoryGraphSaver(graph).delete_thread("t")
    config = put(saver, config, 3, messages=TALK)
    assert values_of(MemoryGraphSaver(graph), config)["messages"] == TALK


def saver_in(opened: Namespace, graph: MemoryGraph) -> MemoryGraphSaver:
    """A checkpointer of another process, whose transaction goes on."""
    saver = MemoryGraphSaver(graph)
    saver.threads = Threads(opened)
    return saver


NOTE = "n" * 100
STORES: dict[str, Callable[[MemoryGraphSaver], object]] = {
    "shared": lambda saver: put(saver, thread(), 1, messages=TALK[:4], note=NOTE),
    "new": lambda saver: put(saver, thread(), 1, messages=TALK[3:]),
    "a copy": lambda saver: saver.copy_thread("t", "u"),
}


@pytest.mark.parametrize("stored", STORES)
def test_a_deletion_leaves_what_is_stored_meanwhile_whole(
    graph: MemoryGraph, saver: MemoryGraphSaver, stored: str
) -> None:
    put(saver, thread(), 0, messages=TALK[:3], note=NOTE)
    [(key, _)] = saver.threads.keys("t")
    answer_after_work(
        graph,
        lambda opened: STORES[stored](saver_in(opened, graph)),
        lambda: saver.threads.delete_states([key]),
    )
    [left] = MemoryGraphSaver(graph).list(None)
    messages = {"shared": TALK[:4], "new": TALK[3:], "a copy": TALK[:3]}[stored]
    assert left.checkpoint["channel_values"] == {"messages": messages} | ({} if stored == "new" else {"note": NOTE})
    assert graph.threads.list_threads() == [("u" if stored == "a copy" else "t", 1)]
    assert count(graph, "ChannelValue") == len(messages) + (stored != "new")
    assert graph.broken_invariants() == []


@pytest.mark.parametrize("stored", STORES)
def test_what_is_stored_while_what_it_shares_is_deleted_is_whole(
    graph: MemoryGraph, saver: MemoryGraphSaver, stored: str
) -> None:
    put(saver, thread(), 0, messages=TALK[:3], note=NOTE)
    answer_after_work(graph, lambda opened: Threads(opened).delete("t"), lambda: STORES[stored](saver))
    found = [each.checkpoint["channel_values"] for each in MemoryGraphSaver(graph).list(None)]
    whole = {"shared": [{"messages": TALK[:4], "note": NOTE}], "new": [{"messages": TALK[3:]}], "a copy": []}
    assert found == whole[stored]
    assert graph.threads.list_threads() == [("t", 1)] * len(found)
    assert graph.broken_invariants() == []


def test_a_state_that_is_deleted_takes_along_what_a_task_writes_after_it_meanwhile(
    graph: MemoryGraph, saver: MemoryGraphSaver
) -> None:
    early = thread("t", str(uuid6()))  # its state may be stored later
    saver.put_writes(early, [("a", 1)], "one")
    answer_after_work(
        graph,
        lambda opened: saver_in(opened, graph).put_writes(early, [("a", 2)], "two"),
        lambda: saver.delete_thread("t"),
    )
    assert [count(graph, label) for label in PARTS] == [0] * len(PARTS)


def test_a_thread_that_is_copied_again_holds_what_it_holds_now(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    config = put(saver, thread("a"), messages=TALK[:2], note="n" * 100)
    saver.copy_thread("a", "b")
    body = saver.get_tuple(config).checkpoint  # type: ignore[union-attr]
    values = {"messages": TALK}
    again: Checkpoint = {**body, "channel_values": values, "channel_versions": {"messages": 2}}
    saver.put(thread("a"), again, {"source": "loop", "step": 0}, again["channel_versions"])
    saver.copy_thread("a", "b")
    assert values_of(saver, config) == values_of(MemoryGraphSaver(graph), thread("b")) == values
    [row] = graph.query("MATCH (:State {namespace: $namespace})-[holds:HOLDS]->() RETURN count(holds) AS count")
    assert row["count"] == 2


@pytest.mark.parametrize(
    ("read", "found"),
    [
        (lambda saver: saver.get_tuple(thread()), None),
        (lambda saver: list(saver.list(thread())), []),
        (lambda saver: list(saver.list(None)), ["u"]),
        (lambda saver: saver.prune(["t"]), None),
    ],
)
def test_a_thread_that_is_deleted_while_it_is_read_is_not_there(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, read: Callable[[MemoryGraphSaver], Any], found: Any
) -> None:
    saver = MemoryGraphSaver(graph)
    put(saver, thread("u"), messages=TALK[:1])
    grow(saver, TALK, thread())
    read_lists = saver.threads.read_lists

    def read_late(tips: Any) -> Any:
        MemoryGraphSaver(graph).delete_thread("t")
        return read_lists(tips)

    monkeypatch.setattr(saver.threads, "read_lists", read_late)
    left = read(saver)
    assert found == ([each.config["configurable"]["thread_id"] for each in left] if left else left)


def test_a_list_that_was_damaged_is_said(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    grow(saver, TALK, thread())
    graph.query("MATCH (value:ChannelValue {namespace: $namespace, length: 1}) DETACH DELETE value", write=True)
    for read in (lambda: saver.get_tuple(thread()), lambda: list(saver.list(thread()))):
        with pytest.raises(MemoryGraphError, match=r"has [0-9] elements, and [0-9] of them are there"):
            read()


def test_a_pruned_thread_keeps_its_last_state_whole(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    config = grow(saver, TALK, thread())
    saver.prune(["t"])
    [left] = saver.list(thread())
    assert left.config == config
    assert left.checkpoint["channel_values"]["messages"] == TALK
    assert count(graph, "ChannelValue") == 5
    with pytest.raises(ValueError, match="keep_latest or delete"):
        saver.prune(["t"], strategy="keep_some")


def test_what_a_conversation_and_a_thread_share_stays_until_both_are_gone(
    graph: MemoryGraph, saver: MemoryGraphSaver
) -> None:
    put(saver, thread(), 0, messages=[HumanMessage("Hi", id="1")])
    graph.messages("talk").append({"role": "user", "content": "Hi"})
    graph.forget_conversation("talk")
    assert [message.content for message in values_of(MemoryGraphSaver(graph), thread())["messages"]] == ["Hi"]
    assert count(graph, "Message") == 1
    saver.delete_thread("t")
    assert count(graph, "Message") == 0


LONG = "The anchor of the ship lies in the bay. " * 60


@pytest.mark.parametrize("said", ["The anchor is rusty.", LONG], ids=["short", "long"])
def test_what_only_a_thread_has_after_a_forgetting_is_as_if_no_conversation_had_had_it(
    graph: MemoryGraph, saver: MemoryGraphSaver, said: str
) -> None:
    history = graph.messages("talk")
    inner = [{"role": "user", "content": "inner talk"}]
    history.append({"role": "user", "content": said}, metadata={"note": "secret"}, subgraph=inner)
    fact = {"id": "fact", "data": "Ships rust.", "messages": [history.entries()[0].id]}
    graph.scope.write(
        lambda transaction: transaction.run("recall/learn", namespace_token=graph.scope.token, rows=[fact])
    )
    put(saver, thread(), 0, messages=[HumanMessage(said, id="1")])
    planned = graph.forget_conversation("talk", dry_run=True)
    assert graph.forget_conversation("talk").went == planned.went
    assert graph.recall("anchor ship").hits == ()
    assert [count(graph, label) for label in ("Message", "Metadata", "Passage", "Node")] == [1, 0, 0, 0]
    assert [message.content for message in values_of(MemoryGraphSaver(graph), thread())["messages"]] == [said]
    assert graph.broken_invariants() == []
    saver.delete_thread("t")
    assert count(graph, "Message") == 0


def test_recall_finds_what_only_a_thread_has_once_another_conversation_has_it(
    graph: MemoryGraph, saver: MemoryGraphSaver
) -> None:
    talk = [{"role": "user", "content": LONG}, {"role": "assistant", "content": "Weigh it."}]
    put(saver, thread(), 0, messages=[HumanMessage(LONG, id="1")])
    for name in ("appended", "recorded"):
        if name == "appended":
            graph.messages(name).extend(talk)
        else:
            Neo4jStorage(graph.scope, name).add_path(entries_of([*map(Message.of, talk)]))
        assert {hit.conversation for hit in graph.recall("anchor ship").hits} == {name}
        assert graph.broken_invariants() == []
        graph.forget_conversation(name)
        assert graph.recall("anchor ship").hits == ()


def test_a_deleted_thread_takes_along_what_an_earlier_version_left_beside_its_messages(
    graph: MemoryGraph, saver: MemoryGraphSaver
) -> None:
    put(saver, thread(), 0, messages=[HumanMessage(LONG, id="1")])
    graph.messages("talk").append({"role": "user", "content": LONG}, metadata={"note": "secret"})
    graph.query(
        "MATCH (message:Message {namespace: $namespace}) SET message.conversations = [] WITH message "
        "MATCH (message)<-[:TIP]-(version)<-[:VERSION]-(talk) DETACH DELETE version, talk",
        write=True,
    )
    saver.delete_thread("t")
    assert [count(graph, label) for label in ("Message", "Metadata", "Passage")] == [0, 0, 0]


def test_recall_finds_what_a_thread_stored_before_a_conversation_did(
    graph: MemoryGraph, saver: MemoryGraphSaver
) -> None:
    put(saver, thread(), 0, messages=[HumanMessage("The anchor is rusty.", id="1")])
    history = graph.messages("talk")
    history.append({"role": "user", "content": "The anchor is rusty."})
    history.append({"role": "assistant", "content": "Then paint it."})
    assert "The anchor is rusty." in str(graph.recall("anchor"))


@pytest.mark.slow
def test_a_bundle_has_threads_whole(graph: MemoryGraph, saver: MemoryGraphSaver, tmp_path: Path) -> None:
    last = grow(saver, TALK, thread("a/b%"))
    saver.put_writes(last, [("messages", TALK[0]), ("__error__", "e")], "task", "path")
    graph.export_bundle(tmp_path / "threads.jsonl")
    other = MemoryGraph(graph.connection, new_namespace())
    other.import_bundle(tmp_path / "threads.jsonl")
    imported, stored = (list(MemoryGraphSaver(each).list(thread("a/b%"))) for each in (other, graph))
    assert imported == stored
    assert len(imported) == 5
    assert list(Examination(other.scope).find_broken()) == []
    other.drop_namespace(other.namespace)
    assert [count(other, label) for label in ("Thread", "State", "ChannelValue", "PendingWrite", "Message")] == [0] * 5


def test_no_invariant_is_broken_by_what_threads_go_through(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    last = grow(saver, TALK, thread())
    saver.put_writes(last, [("messages", TALK[0])], "task")
    saver.put_writes(thread("t", str(uuid6())), [("messages", TALK[0])], "early")  # its state may be stored later
    saver.copy_thread("t", "u")
    saver.prune(["t"])
    put(saver, last, 6, messages=TALK[1:])
    saver.delete_thread("u")
    assert list(Examination(graph.scope).find_broken()) == []


def test_writes_that_come_before_their_state_are_kept_and_show_no_state(saver: MemoryGraphSaver) -> None:
    early = thread("t", str(uuid6()))
    saver.put_writes(early, [("a", 1)], "task")
    assert saver.get_tuple(early) is None
    assert list(saver.list(thread())) == []
    checkpoint = {**empty_checkpoint(), "id": early["configurable"]["checkpoint_id"]}
    saver.put(thread(), checkpoint, {"source": "loop", "step": 0}, {})  # type: ignore[arg-type]
    found = saver.get_tuple(early)
    assert found is not None
    assert found.pending_writes == [("task", "a", 1)]


def test_states_are_listed_the_newest_first_with_messages_that_grow(saver: MemoryGraphSaver) -> None:
    grow(saver, TALK, thread())
    listed = list(saver.list(thread()))
    assert [len(found.checkpoint["channel_values"]["messages"]) for found in listed] == [5, 4, 3, 2, 1]
    assert all(newer.parent_config == older.config for newer, older in pairwise(listed))
    assert [found.metadata["step"] for found in saver.list(thread(), before=listed[1].config, limit=2)] == [2, 1]
    assert [found.metadata["step"] for found in saver.list(None, filter={"step": 3})] == [3]
    assert list(saver.list(thread("other"))) == []


def test_threads_are_listed_by_the_client(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    grow(saver, TALK[:2], thread("b"))
    put(saver, thread("a/b%"), 0, messages=TALK[:1])
    assert graph.threads.list_threads() == [("a/b%", 1), ("b", 2)]
    assert graph.threads.list_threads(1, after="a/b%") == [("b", 2)]
