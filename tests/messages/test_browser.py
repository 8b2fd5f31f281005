"""The saved queries for Neo4j Browser: documented, planned on indexes, and right about a conversation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memorygraph.graph.connection import Connection
from memorygraph.library import CYPHER, NamedQuery, cypher_folder, read_blocks
from memorygraph.messages.graph import MessageGraph
from tests.samples import sampled

SAVED = {block.name: block for block in read_blocks(cypher_folder() / "browser" / "messages.cypher")}
BLOCKS = [*SAVED.values(), *(block for name, block in CYPHER.items() if name.startswith("messages/"))]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_every_query_is_documented_and_planned_on_indexes(connection: Connection, block: NamedQuery) -> None:
    documented = block.documentation.partition("Parameters: ")[2]
    assert all(parameter in documented for parameter in block.parameters)
    _, operators = connection.plan(sampled(block))
    assert [name for name, _ in operators if name.endswith("Scan") and "Index" not in name] == []


def test_they_answer(connection: Connection, namespace: str, in_neo4j: Callable[[str], MessageGraph]) -> None:
    history = in_neo4j("talk")
    history.append({"role": "user", "content": "u"})
    history.append({"role": "assistant", "content": "a"}, metadata={"model": "m"})
    inner = [{"role": "user", "content": "in"}]
    history.append({"role": "tool", "tool_call_id": "c", "content": "out"}, subgraph=inner)
    history[1]["content"] = "b"
    given = {"namespace": namespace, "name": "talk", "a": 1, "b": 2, "model": "m"}
    rows = {n: connection.read(q(**{k: given[k] for k in q.parameters})) for n, q in SAVED.items()}
    assert len(rows["conversation-versions"]) == 2
    assert len(rows["conversation-messages"]) == 2
    assert rows["where-two-versions-part"][0]["fork"]["content"] == "u"
    assert [row["message"]["content"] for row in rows["messages-of-a-model"]] == ["a"]
    assert rows["models-of-a-conversation"] == [{"model": "m", "messages": 1}]
    assert {row["response"]["content"] for row in rows["subagents-of-a-conversation"]} == {"out"}
