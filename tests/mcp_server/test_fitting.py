"""An answer within a number of tokens shows something, however long the first of its items is."""

from __future__ import annotations

from typing import Any

import pytest

from memorygraph import MemoryGraph
from memorygraph.context.tokens import count_tokens
from memorygraph.mcp_server.graph_tools import find_duplicates, list_conversations, show, show_conversation
from memorygraph.mcp_server.resources import find_resource
from memorygraph.mcp_server.tools import DEFAULT_TOKENS, keep_fitting
from memorygraph.memory.pages import as_json

LONG = "one two three " * 10_000
PARTS = [{"type": "text", "text": "part"} for _ in range(1000)]


@pytest.mark.parametrize("max_tokens", [200, 1000])
@pytest.mark.parametrize(
    "item",
    [
        {"id": "a", "content": LONG},
        {"id": "a", "content": PARTS},
        {"id": "a", "content": [{"type": "text", "text": LONG[:1000]} for _ in range(100)]},
        {"id": "a", "content": "\x01" * 5000, "tool_calls": [{"id": "c", "function": {"arguments": LONG}}]},
    ],
    ids=["text", "parts", "long parts", "arguments"],
)
def test_an_item_that_is_too_long_is_shown_shortened(item: dict[str, Any], max_tokens: int) -> None:
    shown = keep_fitting("items", [item, {"id": "b"}], max_tokens, lambda each: each)
    [first] = shown["items"]
    assert first.keys() == item.keys()
    assert first["id"] == "a"
    assert count_tokens(as_json(shown)) <= max_tokens
    left_out = shown["leftOut"]
    assert left_out["items"] == 1
    assert left_out["tokens"] > 1000
    assert "leftOut" not in keep_fitting("items", [item], 10_000_000, lambda each: each)


def test_entities_that_are_left_out_of_duplicates_count_as_others(graph: MemoryGraph) -> None:
    graph.load("".join(f'Node(node_id="{"n" * 150}{n}", name="{"Ada Lovelace " * 9}", data="");' for n in range(3)))
    shown: Any = find_duplicates.run(graph, limit=1, max_tokens=200).values
    [found] = shown["duplicates"]
    assert len(found["entities"]) + found["others"] == 3
    assert found["others"] > 0


def test_a_node_that_is_shown_is_shortened_and_told_so(graph: MemoryGraph) -> None:
    graph.load(f'Node(node_id="a", name="A", data="{LONG}");')
    shown: Any = show.run(graph, id="a", max_tokens=500).values
    assert (shown["kind"], shown["id"], shown["name"]) == ("node", "a", "A")
    assert shown["data"].startswith("one two three one")
    assert shown["leftOut"]["tokens"] > 1000
    assert count_tokens(as_json(shown)) <= 500
    whole = show.run(graph, id="a", max_tokens=10_000_000).values
    assert whole == {"kind": "node", "id": "a", "name": "A", "data": LONG}
    found = find_resource("memory://node/a")
    assert found is not None
    assert count_tokens(found[0].read(graph, found[1])) <= DEFAULT_TOKENS


def test_the_last_message_is_shown_however_long_it_is(graph: MemoryGraph) -> None:
    graph.messages("talk").extend([{"role": "user", "content": text} for text in ("Hi", LONG)])
    shown: Any = show_conversation.run(graph, name="talk").values
    assert [message["index"] for message in shown["messages"]] == [1]
    assert shown["messages"][0]["content"].startswith("one two three one")
    assert "tokens left out" in shown["messages"][0]["content"]
    assert shown["leftOut"]["messages"] == 1
    found = find_resource("memory://conversation/talk")
    assert found is not None
    text = found[0].read(graph, found[1])
    assert "one two three one" in text
    assert count_tokens(text) <= DEFAULT_TOKENS


def test_a_long_conversation_is_read_page_by_page_from_its_end(graph: MemoryGraph) -> None:
    texts = [f"{number} {'word ' * 40}" for number in range(9)]
    graph.messages("talk").extend([{"role": "user", "content": text} for text in texts])
    read: list[str] = []
    pages = 0
    before: int | None = None
    while before is None or before > 0:
        page: Any = show_conversation.run(graph, name="talk", max_tokens=400, before=before).values
        read = [*(message["content"] for message in page["messages"]), *read]
        before = page.get("leftOut", {}).get("before", 0)
        pages += 1
    assert read == texts
    assert pages > 2
    page = show_conversation.run(graph, name="talk", last=1, before=3).values
    assert [message["index"] for message in page["messages"]] == [2]
    assert show_conversation.run(graph, name="talk", before=0).values == {"messages": []}


def test_conversations_with_long_names_are_all_listed(graph: MemoryGraph) -> None:
    names = sorted(f"{letter}{'-long name' * 80}" for letter in "abc")
    for name in names:
        graph.messages(name).append({"role": "user", "content": "Hi"})
    listed: list[str] = []
    after = ""
    for _ in names:
        page: Any = list_conversations.run(graph, max_tokens=200, after=after).values
        listed += [each["name"] for each in page["conversations"]]
        after = page.get("leftOut", {}).get("after")
    assert listed == names
    assert after is None
