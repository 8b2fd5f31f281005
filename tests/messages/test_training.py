"""Training data: each sampled answer once, behind exactly what it was sampled from, in every storage."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorygraph import NotFoundError
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.history import Attachment
from memorygraph.messages.training import AnswerFilter, TrainingData, read_paths, training_data
from tests.examples import examples


def u(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def a(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def trained(data: TrainingData) -> list[tuple[list[str], str]]:
    """What is trained on: the texts of the prefix, and of the answer."""
    rows = [json.loads(line) for line in data.jsonl("prompt-completion").splitlines()]
    return sorted(([m["content"] for m in row["prompt"]], row["completion"][0]["content"]) for row in rows)


def test_a_straight_conversation_is_one_sample_with_all_answers(history: MessageGraph) -> None:
    history.extend([u("1"), a("2"), u("3"), a("4")])
    data = history.training_data()
    assert [[m.get("weight") for m in sample["messages"]] for sample in data] == [[None, 1, None, 1]]
    assert trained(data) == [(["1"], "2"), (["1", "2", "3"], "4")]
    assert (data.answers, data.left_out) == (2, {})


def test_10_an_answer_behind_an_edited_prompt_is_exported_once_with_the_old_prompt(history: MessageGraph) -> None:
    history.extend([u("old"), a("answer")])
    history[0]["content"] = "new"
    data = history.training_data()
    assert trained(data) == [(["old"], "answer")]
    assert data.left_out == {"off-policy": 1}


def test_an_answer_that_two_versions_share_is_trained_on_once(history: MessageGraph) -> None:
    history.extend([u("1"), a("2"), u("3"), a("4")])
    history[2] = u("3b")
    history.append(a("5"))
    data = history.training_data()
    assert trained(data) == [(["1"], "2"), (["1", "2", "3"], "4"), (["1", "2", "3b", "4"], "5")]
    weights = Counter(m["weight"] for sample in data for m in sample["messages"] if "weight" in m)
    assert weights[1] == 3
    assert data.left_out == {"off-policy": 1}


def test_versions_hold_their_common_messages_once(history: MessageGraph) -> None:
    history.extend({"role": "user", "content": f"{number}?"} for number in range(3))
    history.append({"role": "assistant", "content": "yes"}, sampled=True)
    history[2] = {"role": "user", "content": "another one?"}
    paths, _ = read_paths(history._storage)
    assert len(paths) == 2
    assert [one is other for one, other in zip(*paths, strict=True)] == [True, True, False, False]


def test_9_a_subagent_is_a_sample_of_its_own(history: MessageGraph) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "sub", "arguments": "{}"}}]
    inner = [{"role": "system", "content": "S"}, u("task"), a("done")]
    history.extend([u("go"), {"role": "assistant", "content": "calling", "tool_calls": calls}])
    history.append({"role": "tool", "tool_call_id": "c", "content": "out"}, subgraph=inner)
    data = history.training_data()
    assert history.metadata(2)["length"] == 3
    assert len(data) == 2
    assert trained(data) == [(["S", "task"], "done"), (["go"], "calling")]


def test_answers_are_filtered_by_model_and_time_and_counted(history: MessageGraph) -> None:
    history.append(u("1"))
    history.append(a("2"), metadata={"model": "small"})
    history.append(u("3"))
    history.append(a("4"), metadata={"model": "large"})
    now = datetime.now(UTC)
    assert trained(history.training_data(model="large")) == [(["1", "2", "3"], "4")]
    assert history.training_data(model="large").left_out == {"another model": 1}
    assert history.training_data(since=now + timedelta(hours=1)).left_out == {"another time": 2}
    assert history.training_data(since=now - timedelta(hours=1), until=now + timedelta(hours=1)).answers == 2


def test_the_time_of_an_answer_without_metadata_is_when_it_was_stored(history: MessageGraph) -> None:
    history.extend([u("1"), a("2")])
    hour, now = timedelta(hours=1), datetime.now(UTC)
    assert history.training_data(since=now - hour).answers == 1
    assert history.training_data(until=now + hour).answers == 1
    assert history.training_data(since=now + hour).left_out == {"another time": 1}
    assert history.training_data(until=now - hour).left_out == {"another time": 1}


def test_a_time_without_a_zone_is_of_utc(history: MessageGraph) -> None:
    history.append(u("1"))
    history.append(a("2"), metadata={"model": "small"})
    hour, now = timedelta(hours=1), datetime.now(UTC).replace(tzinfo=None)
    assert history.training_data(since=now - hour, until=now + hour).answers == 1
    assert history.training_data(since=now + hour).answers == 0
    elsewhere = timezone(timedelta(hours=9))
    assert history.training_data(since=datetime.now(elsewhere) - hour).answers == 1


def test_a_time_may_name_its_zone_as_that_of_a_server_with_one_does() -> None:
    kept = Attachment("m", {}, at="2026-07-02T01:30:00.123456789+02:00[Europe/Berlin]")
    hour, at = timedelta(hours=1), datetime(2026, 7, 1, 23, 30, tzinfo=UTC)
    assert AnswerFilter(since=at, until=at + hour).refuse([kept], None) is None
    assert AnswerFilter(since=at + hour).refuse([], kept.at) == "another time"


@pytest.mark.parametrize(
    "metadata",
    [
        {"model": {"name": "large"}},
        {"model": ["large"], "length": 2**70},
        {"parameters": "temperature=0.5", "length": "long"},
        {"parameters": {"tools": 5}},
    ],
)
def test_metadata_of_a_users_own_may_be_anything(history: MessageGraph, metadata: dict[str, Any]) -> None:
    history.append(u("1"))
    history.append(a("2"), metadata=metadata)
    assert history.metadata(1) == metadata
    assert history.training_data().answers == 1
    assert history.training_data(model="large").left_out == {"another model": 1}


def test_answers_sampled_with_other_tools_are_in_other_samples(history: MessageGraph) -> None:
    tools = [{"type": "function", "function": {"name": "clock"}}]
    history.append(u("1"))
    history.append(a("2"))
    history.append(u("3"))
    history.append(a("4"), metadata={"parameters": {"tools": tools}})
    samples = list(history.training_data())
    assert [sample.get("tools") for sample in samples] == [tools, None]
    assert [[m.get("weight") for m in sample["messages"]] for sample in samples] == [[None, 0, None, 1], [None, 1]]


def test_an_answer_has_the_tools_of_the_calls_that_were_asked_for(history: MessageGraph) -> None:
    tools = [{"type": "function", "function": {"name": "clock"}}]
    history.append(u("1"))
    history.append(a("2"), metadata={"model": "small", "parameters": {"tools": tools}})
    history.attach(1, {"model": "large"})
    offered = {
        model: [sample.get("tools") for sample in history.training_data(model=model)]
        for model in (None, "small", "large")
    }
    assert offered == {None: [tools], "small": [tools], "large": [None]}


def test_an_answer_of_two_models_was_stored_when_the_one_that_is_asked_for_gave_it() -> None:
    day = datetime(2026, 7, 1, tzinfo=UTC)
    kept = [
        Attachment("m", {"model": model}, at=(day + timedelta(days=number)).isoformat())
        for number, model in enumerate(["small", "large"])
    ]
    later = day + timedelta(hours=12)
    assert AnswerFilter("small", since=later).refuse(kept, kept[0].at) == "another time"
    assert AnswerFilter("large", since=later).refuse(kept, kept[0].at) is None
    assert AnswerFilter("large", until=later).refuse(kept, kept[0].at) == "another time"
    assert AnswerFilter(since=later).select(kept) == kept[1:]


def test_a_row_can_be_changed_without_the_others(history: MessageGraph) -> None:
    history.extend([u("1"), a("2"), u("3"), a("4")])
    [sample] = history.training_data().samples
    first, second = sample.prompt_completions()
    first["prompt"][0]["content"] = first["completion"][0]["content"] = "changed"
    assert second == {"prompt": [u("1"), a("2"), u("3")], "completion": [a("4")]}


def test_an_unknown_format_is_said(history: MessageGraph) -> None:
    with pytest.raises(NotFoundError, match="openai and prompt-completion"):
        history.training_data().jsonl("csv")


EDITS = st.lists(st.tuples(st.sampled_from("uaeed"), st.integers(0, 5), st.sampled_from("xyz")), max_size=25)


@settings(max_examples=examples(300), deadline=None)
@given(EDITS)
def test_whatever_is_edited_each_sampled_answer_is_trained_on_once(edits: list[tuple[str, int, str]]) -> None:
    history = MessageGraph()
    sampled: set[tuple[str, ...]] = set()
    for kind, index, text in edits:
        if kind == "u":
            history.append(u(text))
        elif kind == "a":
            history.append(a(text))
            sampled.add(tuple(f"{m['role']} {m['content']}" for m in history))
        elif len(history):
            if kind == "e":
                history[index % len(history)]["content"] = text
            else:
                del history[index % len(history)]
    data = training_data(history._storage, AnswerFilter())
    seen = [
        tuple(f"{entry.message.role} {entry.message.text}" for entry in sample.path[: i + 1])
        for sample in data.samples
        for i, answer in enumerate(sample.path)
        if answer.id in sample.trained
    ]
    assert len(seen) == len(set(seen))
    assert set(seen) == sampled
