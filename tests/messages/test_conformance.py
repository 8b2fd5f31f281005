"""What the rulings say, over both storages: one suite, so that the two cannot drift apart."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memorygraph import ConflictError, MemoryGraphError, NotFoundError
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.history import Version
from memorygraph.messages.storage import InMemoryStorage
from tests.messages.conftest import Open

SKETCH = """
messages.append({'role': 'system', 'content': 'Hello, I am a system message'})
messages[0] = {'role': 'user', 'content': 'Hello, I am a user message'}
"""


def s(text: str = "S") -> dict[str, Any]:
    return {"role": "system", "content": text}


def u(text: str = "U") -> dict[str, Any]:
    return {"role": "user", "content": text}


def a(text: str = "A") -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def call(id_: str = "c1") -> dict[str, Any]:
    calls = [{"id": id_, "type": "function", "function": {"name": "subagent", "arguments": "{}"}}]
    return {"role": "assistant", "tool_calls": calls}


def result(id_: str = "c1", content: str = "out") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def branches(history: MessageGraph) -> int:
    return sum(version.replaces is not None for version in history.versions())


def test_the_sketch_runs_unchanged(history: MessageGraph) -> None:
    exec(SKETCH, {"messages": history})
    assert history == [u("Hello, I am a user message")]
    assert history.prev_graph is None
    assert len(history) == 1


def test_1_an_edit_before_any_answer_makes_no_version(history: MessageGraph) -> None:
    history.extend([s(), u()])
    history[1] = u("V")
    assert (branches(history), history.prev_graph, history.messages) == (0, None, [s(), u("V")])


def test_2_an_edit_of_an_answered_prompt_makes_one(history: MessageGraph) -> None:
    history.extend([s(), u(), a()])
    before = json.dumps(history.messages)
    history[1] = u("V")
    assert branches(history) == 1
    assert history == [s(), u("V"), a()]
    assert [history.off_policy(i) for i in range(3)] == [False, False, True]
    old = history.prev_graph
    assert old is not None
    assert json.dumps(old.messages) == before
    assert not old[2].off_policy
    assert [(v.number, v.replaces, v.at, v.replaced) for v in history.versions()] == [
        (1, None, None, True),
        (2, 1, 1, False),
    ]


def test_3_an_edit_behind_the_last_answer_makes_none(history: MessageGraph) -> None:
    history.extend([s(), u(), a(), u("U2")])
    history[3] = u("V2")
    assert (branches(history), history[3]["content"], history.off_policy(2)) == (0, "V2", False)


def test_4_other_tool_calls_are_another_message(history: MessageGraph) -> None:
    history.extend([s(), u(), {**call("c1"), "content": "A"}])
    history[2] = {**call("c2"), "content": "A"}
    assert (branches(history), history[2]["tool_calls"][0]["id"]) == (1, "c2")


def test_5_an_edited_answer_is_nobodys_answer(history: MessageGraph) -> None:
    history.extend([s(), u(), a()])
    history[2]["content"] = "B"
    assert (branches(history), history.off_policy(2)) == (1, True)


def test_6_a_negative_index_is_the_same_place(history: MessageGraph) -> None:
    history.extend([s(), a(), u()])
    history[-1] = u("V")
    assert (branches(history), history.messages) == (0, [s(), a(), u("V")])


def test_7_an_edit_in_place_is_an_assignment(opened: Open) -> None:
    history = opened()
    history.extend([s(), u(), a()])
    history[1]["content"] = "V"
    other = MessageGraph([s(), u(), a()])
    other[1] = u("V")
    assert history == other
    assert [(v.number, v.at) for v in history.versions()] == [(v.number, v.at) for v in other.versions()]
    assert [e.id for e in history.entries()] == [e.id for e in other.entries()]


@pytest.mark.parametrize("index", [3, -4, 100])
def test_8_out_of_range_changes_nothing(history: MessageGraph, index: int) -> None:
    history.extend([s(), u(), a()])
    for wrong in (lambda: history[index], lambda: history.pop(index), lambda: history.__delitem__(index)):
        with pytest.raises(IndexError):
            wrong()
    with pytest.raises(IndexError):
        history[index] = u()
    assert (len(history.versions()), history.messages) == (1, [s(), u(), a()])


@pytest.mark.parametrize("index", ["0", 0.0, None])
def test_8_what_is_no_index_is_a_type_error_as_of_a_list(history: MessageGraph, index: Any) -> None:
    history.extend([s(), u()])
    for wrong in (lambda: history[index], lambda: history.pop(index), lambda: history.__delitem__(index)):
        with pytest.raises(TypeError, match="integer"):
            wrong()


def test_9_a_subagent_stands_inside_its_tool_response(history: MessageGraph) -> None:
    subagent = [s("called"), u("process"), a("processing")]
    history.extend([s(), u(), call()])
    history.append({**result(), "metadata": {"seconds": 2}, "subgraph": subagent})
    history.append(a("done"))
    assert history[3].metadata == {"seconds": 2, "length": 3}
    assert history[3]["metadata"]["length"] == 3
    assert history[3].subgraph == subagent
    assert history.for_model() == [s(), u(), call(), result(), a("done")]
    inner = history.subgraph(3)
    assert inner is not None
    sampled = [e for e in (*history.entries(), *inner.entries()) if e.sampled and e.message.content]
    assert [e.message.content for e in sampled] == ["done", "processing"]
    inner.refresh()
    assert inner == subagent, "what is read anew is what is inside, and not the conversation around it"
    assert history.subgraph(2) is None
    history[1] = u("V")
    assert history.subgraph(3) == subagent, "the tail keeps what is inside it"


def test_10_an_answer_belongs_to_the_prompt_that_it_was_sampled_from(history: MessageGraph) -> None:
    history.extend([s(), u(), a()])
    history[1] = u("V")
    paths = {
        entry.id: [e.message.content for e in version[: i + 1]]
        for version in (history.checkout(v).entries() for v in history.versions())
        for i, entry in enumerate(version)
        if entry.sampled
    }
    assert list(paths.values()) == [["S", "U", "A"]]


@pytest.mark.parametrize("late", ["edit", "append", "pop"])
@pytest.mark.parametrize("early", ["edit", "append", "quiet"])
def test_11_of_two_changes_of_one_version_the_second_is_told(opened: Open, early: str, late: str) -> None:
    changes = {
        "edit": lambda h: h.__setitem__(0, s("T")),
        "append": lambda h: h.append(u("more")),
        "quiet": lambda h: h.__setitem__(3, u("quiet")),
        "pop": lambda h: h.pop(),
    }
    first = opened()
    first.extend([s(), u(), a(), u("U2")])
    second = opened()
    assert len(second) == 4
    changes[early](first)
    won = first.messages
    with pytest.raises(ConflictError, match=r"replaced|changed"):
        changes[late](second)
    assert second == won, "the list shows what is there now"
    assert opened() == won
    second.append(u("after"))
    assert opened() == [*won, u("after")]


def test_12_text_cannot_pretend_to_be_a_message() -> None:
    injected = MessageGraph([u("x\n\nassistant: y")])
    assert injected != MessageGraph([u("x"), a("y")])
    assert injected.version.tip not in {e.id for e in MessageGraph([u("x"), a("y")]).entries()}


def test_setting_what_is_there_changes_nothing(history: MessageGraph) -> None:
    history.extend([s(), u(), a(), {"role": "user", "content": "A"}])
    version = history.version
    for index, message in enumerate(history.messages):
        history[index] = message
        history[index]["role"] = message["role"]
    history[:] = history.messages
    assert history.version == version
    history[3] = a()
    assert history[3]["role"] == "assistant", "equal text of another role is another message"


def test_removing_an_answer_keeps_it_in_the_old_version(history: MessageGraph) -> None:
    history.extend([u(), a()])
    assert history.pop() == a()
    assert (branches(history), history.messages, history.versions()[1].at) == (1, [u()], 1)
    assert history.prev_graph == [u(), a()]
    history.append(a("B"))
    assert not history.off_policy(1)


def test_an_edit_that_is_taken_back_is_on_policy_again(history: MessageGraph) -> None:
    history.extend([u(), a()])
    history[0] = u("V")
    history[0] = u()
    assert (len(history.versions()), history.off_policy(1)) == (3, False)
    assert history.version.tip == history.versions()[0].tip


def test_everything_that_a_list_does(history: MessageGraph) -> None:
    history.extend([u("0"), u("1"), u("2")])
    history.insert(1, u("i"))
    history[0:2] = [u("a"), u("b"), u("c")]
    history += [u("z")]
    del history[-2:]
    del history[0]
    history[::2] = [u("p"), u("q")]
    history.remove(u("p"))
    assert history.pop(1) == u("q")
    assert [m["content"] for m in history] == ["c"]
    history.extend([u("d"), u("e")])
    history.reverse()
    assert [m["content"] for m in history[::-1]] == ["c", "d", "e"]
    assert u("d") in history
    assert (history.index(u("d")), history.count(u("d"))) == (1, 1)
    with pytest.raises(ValueError, match="extended slice"):
        history[::2] = [u()]
    history.clear()
    assert (history.messages, len(history), bool(history)) == ([], 0, False)
    assert len(history.versions()) == 1


def test_the_list_of_the_messages_is_the_graph(history: MessageGraph) -> None:
    messages = history.messages
    history.extend([u(), a()])
    messages.append(u("next"))
    messages[0]["content"] = "V"
    assert branches(history) == 1
    assert history.prev_graph == [u(), a(), u("next")]
    assert history == [u("V"), a(), u("next")]
    messages += [a("B")]
    messages *= 2
    assert history == messages == [u("V"), a(), u("next"), a("B")] * 2
    messages.remove(a("B"))
    messages.sort(key=lambda message: message["role"], reverse=True)
    assert [message["role"] for message in history] == ["user"] * 4 + ["assistant"] * 3
    with pytest.raises(TypeError, match="dict"):
        messages.append("hello")
    assert len(messages) == len(history) == 7
    assert type(copy.deepcopy(messages)) is type(messages.copy()) is list
    copy.deepcopy(messages).clear()
    assert isinstance(messages, list)
    assert json.loads(json.dumps(messages)) == list(history)
    assert history.prev_graph is not None
    with pytest.raises(MemoryGraphError):
        history.prev_graph.messages.append(u())


def test_the_list_of_the_messages_can_be_set_and_added_to_in_place(history: MessageGraph) -> None:
    history.extend([u(), a()])
    live = history.messages
    history.messages += [u("next")]
    assert history == [u(), a(), u("next")]
    assert branches(history) == 0
    history.messages *= 2
    assert history == [u(), a(), u("next")] * 2
    history.messages = [u("V"), a()]
    assert history.messages is live
    assert history == live == [u("V"), a()]
    assert history.prev_graph == [u(), a(), u("next")] * 2
    with pytest.raises(TypeError, match="dict"):
        history.messages = ["hello"]
    assert history == [u("V"), a()]


def test_edits_at_any_depth_are_routed(history: MessageGraph) -> None:
    history.append({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}]})
    message = history[0]
    message["content"][0]["text"] = "b"
    message["content"][1]["image_url"]["url"] = "u"
    message["content"].append({"type": "text", "text": "c"})
    message["content"][2]["text"] = "d"
    message["name"] = "Ada"
    message.update({"extra": {"k": [1, 2]}})
    message["extra"]["k"] += [3]
    del message["content"][0]
    assert history[0] == {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "u"}}, {"type": "text", "text": "d"}],
        "name": "Ada",
        "extra": {"k": [1, 2, 3]},
    }
    assert json.loads(json.dumps(history[0])) == history.messages[0]
    assert type(copy.deepcopy(history[0])) is dict
    assert type(history[0].copy()["content"]) is list


def test_an_edit_that_is_refused_leaves_the_message_as_it_was(history: MessageGraph) -> None:
    history.append(u())
    message = history[0]
    for wrong in (3, {"a": 1}, [1]):
        with pytest.raises(TypeError):
            message["content"] = wrong
        assert message == u()
    with pytest.raises(ValueError, match="role"):
        del message["role"]
    assert message == history[0] == u()


def test_a_part_that_is_still_held_edits_its_message_also_where_that_is_stored_in_another_form(
    history: MessageGraph,
) -> None:
    history.extend([u(), call()])
    asked = history[1]["tool_calls"][0]["function"]
    asked["arguments"] = '{"a": 1}'
    asked["name"] = "renamed"
    assert asked == history[1]["tool_calls"][0]["function"] == {"arguments": '{"a":1}', "name": "renamed"}
    message = history[0]
    message["content"] = [{"type": "text", "text": "a"}]
    parts, first = message["content"], message["content"][0]
    message.update(name=None, extra=(first, 1))
    parts.append({"type": "text", "text": "b"})
    first["text"] = "c"
    message["extra"][0]["text"] = "d"
    texts = [part["text"] for part in (*history[0]["content"], history[0]["extra"][0])]
    assert (message, texts) == (history[0], ["c", "b", "d"])


def test_a_part_of_an_edit_that_was_refused_is_not_edited(history: MessageGraph) -> None:
    history.append({"role": "user", "content": [{"type": "text", "text": "a"}]})
    parts = history[0]["content"]
    first = parts[0]
    with pytest.raises(TypeError):
        parts.append("no part")
    for held in (first, parts):
        with pytest.raises(ConflictError, match="read the message again"):
            held.clear()
    assert history == [{"role": "user", "content": [{"type": "text", "text": "a"}]}]


def test_a_message_that_moved_is_not_edited(history: MessageGraph) -> None:
    history.extend([u("0"), u("1")])
    first, second = history[0], history[1]
    history.insert(0, s())
    for stale in (first, second):
        with pytest.raises(ConflictError, match="read the message again"):
            stale["content"] = "x"
    assert history == [s(), u("0"), u("1")]
    last = history[2]
    history.pop()
    with pytest.raises(ConflictError):
        last["content"] = "x"


def test_equality_is_structural(history: MessageGraph) -> None:
    history.extend([u(), a()])
    assert history == [u(), {**a(), "name": None, "tool_calls": None}] == history
    assert history == MessageGraph([u(), a()])
    assert history != [u()]
    assert history != [u(), 3]
    assert history != "text"
    assert history.__eq__("text") is NotImplemented
    with pytest.raises(TypeError, match="unhashable"):
        hash(history)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (3, TypeError),
        ("text", TypeError),
        ({"content": "no role"}, ValueError),
        ({"role": "", "content": "x"}, ValueError),
        ({"role": "user", "content": 3}, TypeError),
        ({"role": "user", "content": ["text"]}, TypeError),
        ({"role": "user", "content": "x", "name": 1}, TypeError),
        ({"role": "user", "content": "x", "tool_calls": "c"}, TypeError),
        ({"role": "user", "content": "x", 1: 2}, TypeError),
        ({"role": "user", "content": "x", "n": float("nan")}, ValueError),
        ({"role": "user", "content": "\ud800"}, ValueError),
        ({"role": "user", "content": "x", "n": object()}, TypeError),
        ({"role": "tool", "content": "x", "metadata": 3}, TypeError),
    ],
)
def test_what_is_no_message_is_refused(history: MessageGraph, value: Any, error: type[Exception]) -> None:
    history.append(u())
    for add in (
        lambda: history.append(value),
        lambda: history.extend([a(), value]),
        lambda: history.insert(0, value),
        lambda: history.__setitem__(0, value),
        lambda: history.add_path([u(), value]),
    ):
        with pytest.raises(error):
            add()
    assert history == [u()]


def test_hostile_text_stays_text(history: MessageGraph) -> None:
    texts = ["') DETACH DELETE n //", "\x00\x07", "\u202e\U0001f600", "$namespace"]
    history.extend([u(text) for text in texts])
    history.refresh()
    assert [m["content"] for m in history] == texts


def test_versions_can_be_opened_and_compared(history: MessageGraph) -> None:
    history.extend([s(), u(), a(), u("U2"), a("A2")])
    history[1] = u("V")
    old = history.checkout(1)
    with pytest.raises(MemoryGraphError, match="branch"):
        old.append(u())
    with pytest.raises(NotFoundError, match="no version 9"):
        history.checkout(9)
    difference = history.diff(1, 2)
    assert (difference.at, [i for i, _ in difference.removed], [m.content for _, m in difference.added]) == (
        1,
        [1],
        ["V"],
    )
    assert not history.diff(2, 2)
    assert history.checkout(2) == history


def test_branches_go_their_own_ways(opened: Open) -> None:
    history = opened()
    history.extend([s(), u(), a()])
    other = history.branch(at=2)
    other.append(a("B"))
    history.append(u("more"))
    assert history == [s(), u(), a(), u("more")]
    assert other == [s(), u(), a("B")]
    assert other.prev_graph is None
    assert not other[2].off_policy
    assert [v.length for v in history.versions()] == [4, 3]
    assert history.branch(at=-1) == history[:-1]
    assert history.branch(at=0) == []
    with pytest.raises(IndexError):
        history.branch(at=5)
    history[0] = s("T")
    again = history.checkout(1).branch()
    again.append(a("C"))
    assert again == [s(), u(), a(), u("more"), a("C")]
    assert opened() == again, "a conversation opens where it was last written"


def test_a_branch_of_nothing(history: MessageGraph) -> None:
    other = history.branch()
    other.append(u())
    history.append(s())
    assert (history.messages, other.messages) == ([s()], [u()])


def test_a_copy_is_independent(history: MessageGraph) -> None:
    history.extend([u(), call()])
    history.append(result(), subgraph=[u("inner"), a("inner")])
    copied = history.copy()
    assert copied == history == copy.deepcopy(history)
    assert copied[2].subgraph == [u("inner"), a("inner")]
    assert MessageGraph().copy() == []
    copied[0] = u("V")
    assert (history[0], copied.prev_graph) == (u(), history)


def test_a_written_example_is_no_answer(history: MessageGraph) -> None:
    history.append(u())
    history.append(a(), sampled=False)
    assert history.off_policy(1)
    history[0] = u("V")
    assert branches(history) == 1


def test_tool_calls_without_results_are_found_and_mended(history: MessageGraph) -> None:
    both = {"role": "assistant", "tool_calls": [*call("c1")["tool_calls"], *call("c2")["tool_calls"]]}
    history.extend([u(), both, result("c2")])
    assert [(c.id, c.index) for c in history.unanswered_tool_calls()] == [("c1", 1)]
    with pytest.raises(MemoryGraphError, match="`c1`"):
        history.for_model()
    assert history.mend_tool_calls() == 1
    assert [m.get("tool_call_id") for m in history.for_model()] == [None, None, "c2", "c1"]
    assert history.mend_tool_calls() == 0
    assert branches(history) == 0
    history.extend([call("c3"), u("impatient"), call("c4")])
    assert history.mend_tool_calls("lost") == 2
    assert [m.get("tool_call_id") for m in history.for_model()][4:] == [None, "c3", None, None, "c4"]


def test_a_recorded_path_lands_on_the_version_that_it_continues(opened: Open) -> None:
    recorder, reader = opened(), opened()
    first = recorder.add_path([s(), u(), a()], metadata={"model": "m1"})
    second = recorder.add_path([s(), u(), a(), u("U2"), a("A2")], metadata={"model": "m2"})
    assert (first.number, second.number, second.length) == (1, 1, 5)
    assert recorder.add_path([s(), u(), a()], metadata={"model": "again"}).number == 1
    other = recorder.add_path([s(), u("V"), a("B")])
    assert (other.number, other.replaces) == (2, None)
    assert recorder.add_path([s(), u("V"), a("B"), u("x")]).number == 2
    assert [v.length for v in reader.versions()] == [5, 4]
    line = reader.checkout(1)
    assert line == [s(), u(), a(), u("U2"), a("A2")]
    assert [line.off_policy(i) for i in (2, 4)] == [False, False]
    assert [kept.metadata["model"] for kept in line.attachments()] == ["m1", "again", "m2"]


def test_what_is_kept_beside_an_answer_is_kept_also_where_it_was_recorded_first(opened: Open) -> None:
    history = opened()
    history.append(u())
    opened().add_path([u(), a()], metadata={"model": "m"})
    history.append(a(), metadata={"rating": 5}, subgraph=[u("inside")])
    assert history == opened() == [u(), a()]
    assert [dict(kept.metadata) for kept in history.attachments()] == [{"model": "m"}, {"rating": 5, "length": 1}]
    assert history[1].subgraph == [u("inside")]


def test_a_recorded_list_counts_as_sampled_only_what_the_model_said(history: MessageGraph) -> None:
    history.add_path([u("example"), a("example"), u(), a()])
    assert [history.off_policy(i) for i in (1, 3)] == [True, False]
    history.add_path([u("example"), a("example")])
    assert not history.off_policy(1) or history.version.length == 4
    history.refresh()
    assert not history.off_policy(1), "now a model has said it from exactly this"
    with pytest.raises(ValueError, match="at least one"):
        history.add_path([])


def test_what_is_sound_is_found_sound(history: MessageGraph) -> None:
    assert history.verify().ok
    history.extend([s(), u(), call()])
    history.append(result(), metadata={"seconds": 1.5}, subgraph=[u("inner")])
    history[1] = u("V")
    found = history.verify()
    assert (found.ok, found.versions, found.messages) == (True, 2, 7)


class OvertakenStorage(InMemoryStorage):
    """Shows its versions as a read does that an append overtakes: the tip from before it, and the length after it."""

    readings = 1  # that are overtaken

    def _overtaken(self, version: Version) -> Version:
        self.readings -= 1
        return replace(version, length=version.length + 1) if self.readings >= 0 else version

    def head(self) -> Version | None:
        found = super().head()
        return found and self._overtaken(found)

    def versions(self) -> list[Version]:
        return [self._overtaken(version) for version in super().versions()]


@pytest.fixture
def overtaken() -> OvertakenStorage:
    storage = OvertakenStorage()
    storage.readings = 0
    MessageGraph([u(), a()], storage=storage)
    storage.readings = 1
    return storage


@pytest.mark.parametrize(
    "read",
    [
        lambda history: history.messages,
        lambda history: history[:],
        lambda history: [*history[:1], history[-1]],
        lambda history: [*history],
        lambda history: history.branch().messages,
        lambda history: [*history.branch(-1), history[1]],
    ],
)
def test_a_conversation_is_read_while_another_appends_to_it(
    overtaken: OvertakenStorage, read: Callable[[MessageGraph], list[Any]]
) -> None:
    history = MessageGraph(storage=overtaken)
    assert read(history) == [u(), a()]
    assert len(history) == 2
    overtaken.readings = 0
    assert history.verify().ok


def test_a_conversation_that_is_written_to_while_it_is_verified_is_sound(overtaken: OvertakenStorage) -> None:
    history = MessageGraph(storage=overtaken)
    assert history.verify().ok
    overtaken._overtaken = lambda version: replace(version, length=3)  # type: ignore[method-assign]
    fault = history.verify().fault
    assert fault is not None
    assert "has 3 messages, and 2 are linked" in fault.reason


class TornStorage(InMemoryStorage):
    """Shows its versions as a read does that a writer overtakes: one is replaced, and what replaces it is not there."""

    torn = False

    def versions(self) -> list[Version]:
        return super().versions()[: -1 if self.torn else None]


def test_a_version_is_read_whose_successor_is_just_being_written() -> None:
    storage = TornStorage()
    history = MessageGraph([u(), a()], storage=storage)
    other = MessageGraph(storage=storage)
    other[0] = u("V")
    storage.torn = True
    history.refresh()
    assert history == [u(), a()]
    with pytest.raises(ConflictError, match="replaced"):
        history.append(u("too late"))
    storage.torn = False
    history.refresh()
    assert history == [u("V"), a()]


def test_the_metadata_attached_last_counts_also_where_it_was_there_before(history: MessageGraph) -> None:
    history.extend([u(), a()])
    for value in (1, 5, 1):
        history.attach(1, {"rating": value})
        assert history.metadata(1) == {"rating": value}
    history.pop()
    history.append(a(), metadata={"rating": 5})
    assert history.metadata(1) == {"rating": 5}
    # What a recorder sends once more changes nothing.
    history.add_path([u(), a()], metadata={"rating": 1})
    assert history.metadata(1) == {"rating": 5}


def test_what_an_edit_carries_along_keeps_its_order(history: MessageGraph) -> None:
    history.extend([u(), a()])
    for value in range(5):
        history.attach(1, {"rating": value})
    history[0] = u("V")
    assert [kept.metadata["rating"] for kept in history.attachments()] == [0, 1, 2, 3, 4]
    assert history.metadata(1) == {"rating": 4}


def test_messages_that_a_slice_keeps_keep_what_is_beside_them(history: MessageGraph) -> None:
    history.extend([u("1"), a("2"), call(), result()])
    history.attach(1, {"rating": 5})
    history.attach(3, {"cost": 1}, subgraph=[u("inner")])
    kept = history[1]
    history[0]["content"] = "one"
    history[:] = [kept, *history[2:], u("3")]
    assert history == [a("2"), call(), result(), u("3")]
    assert history.metadata(0) == {"rating": 5}
    assert history.metadata(2) == {"cost": 1, "length": 1}
    assert history.subgraph(2) == [u("inner")]
    history.messages = history.messages[::2]
    assert [history.metadata(i).get("rating") for i in range(2)] == [5, None]
    assert history.metadata(1)["cost"] == 1
    # A message of another list is a new one, and so is one that is not at its place any more.
    history[:] = [*MessageGraph([{**u(), "metadata": {"of": "another"}}]), kept]
    assert [history.metadata(i) for i in range(2)] == [{}, {}]


def test_a_conversation_that_holds_the_message_it_is_beside_is_read_once(history: MessageGraph) -> None:
    history.append(u("1"))
    history.attach(0, subgraph=[u("1"), a("2")])
    found = history.attachments(deep=True)
    assert [[entry.message.text for entry in each.inner] for each in found] == [["1", "2"]] * 2
