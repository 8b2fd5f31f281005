"""A message has a label of its role, by which Neo4j Browser colors it, and an off-policy one says that it is."""

from __future__ import annotations

from typing import Any

import pytest

from memorygraph import MemoryGraph
from memorygraph.graph import message_labels
from memorygraph.graph.message_labels import migrate_message_labels
from memorygraph.messages import neo4j_storage
from memorygraph.messages.calls import exchange_of
from tests.messages.test_recorder import call_of

ROLES = {
    "system": {"SystemMessage"},
    "developer": {"SystemMessage"},
    "user": {"UserMessage"},
    "assistant": {"AssistantMessage"},
    "tool": {"ToolMessage"},
    "narrator": set[str](),
}


def said(role: str) -> dict[str, Any]:
    return {"role": role, "content": f"by {role}", **({"tool_call_id": "c"} if role == "tool" else {})}


def labels_by_content(graph: MemoryGraph) -> list[tuple[str, set[str]]]:
    rows = graph.query("MATCH (m:Message {namespace: $namespace}) RETURN m.content AS content, labels(m) AS labels")
    return sorted(((row["content"], {*row["labels"]} - {"Message"}) for row in rows), key=str)


EXPECTED = sorted(((f"by {role}", labels) for role, labels in ROLES.items()), key=str)


def test_each_role_has_its_label_whether_messages_come_one_by_one_or_at_once(graph: MemoryGraph) -> None:
    one_by_one = graph.messages("one by one")
    for role in ROLES:
        one_by_one.append(said(role))
    assert labels_by_content(graph) == EXPECTED
    graph.drop_namespace(graph.namespace)
    graph.messages("at once").extend(map(said, ROLES))
    assert labels_by_content(graph) == EXPECTED


def test_messages_that_are_stored_ahead_of_their_change_have_their_labels(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neo4j_storage, "MAX_ROWS_PER_QUERY", 2)
    monkeypatch.setattr(neo4j_storage, "MAX_ROWS_PER_CHANGE", 3)
    graph.messages("ahead").extend(map(said, ROLES))
    assert labels_by_content(graph) == EXPECTED


def test_what_follows_an_edit_is_off_policy_until_a_model_gives_it(graph: MemoryGraph) -> None:
    history = graph.messages("edited")
    history.extend([said("user"), said("assistant")])
    history[0]["content"] = "by somebody"
    of_assistant = [labels for content, labels in labels_by_content(graph) if content == "by assistant"]
    assert sorted(of_assistant, key=len) == [{"AssistantMessage"}, {"AssistantMessage", "OffPolicyMessage"}]
    call = call_of(
        graph.namespace,
        request={"model": "m", "messages": [{"role": "user", "content": "by somebody"}]},
        response={"choices": [{"message": said("assistant")}]},
    )
    exchange = exchange_of(call)
    [answer] = exchange.answers
    graph.messages("recorded").add_path([*exchange.prompt, *answer.messages], metadata=answer.metadata)
    assert [labels for content, labels in labels_by_content(graph) if content == "by assistant"] == [
        {"AssistantMessage"}
    ] * 2
    assert graph.messages("edited").verify().ok


def test_messages_of_earlier_versions_are_migrated_in_pages_and_twice_is_once(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = graph.messages("old")
    history.extend(map(said, ROLES))
    history[0]["content"] = "by another"
    new = labels_by_content(graph)
    every = "UserMessage:AssistantMessage:ToolMessage:SystemMessage:OffPolicyMessage"
    graph.query(f"MATCH (m:Message {{namespace: $namespace}}) REMOVE m:{every}", write=True)
    assert not any(labels for _, labels in labels_by_content(graph))
    monkeypatch.setattr(message_labels, "PAGE", 4)
    for _ in range(2):
        migrate_message_labels(graph.scope)
        assert labels_by_content(graph) == new
