"""What has expired is read by no tool and no resource, whichever of them is the first to look."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from memorygraph import MemoryGraph
from memorygraph.errors import MemoryGraphError
from memorygraph.mcp_server.resources import RESOURCES, find_resource
from memorygraph.mcp_server.tools import TOOLS
from tests.examples import mostly_slow
from tests.graph.test_expiry import CANARIES, expire_all, plant

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("recall", {"query": CANARIES["said"]}),
    ("read_graph", {}),
    ("history", {"id": "n"}),
    ("show", {"id": "n"}),
    ("neighbours", {"id": "kept", "depth": 3}),
    ("search_nodes", {"query": "canary"}),
    ("open_nodes", {"names": [CANARIES["name"], "Ada"]}),
    ("search_memories", {"query": CANARIES["observed"]}),
    ("find_memories_by_name", {"names": ["Ada", CANARIES["name"]]}),
    ("list_conversations", {}),
    ("show_conversation", {"name": CANARIES["talk"]}),
    ("show_conversation", {"name": CANARIES["talk"], "version": 0}),
    ("conversation_versions", {"name": CANARIES["talk"]}),
    ("memory://knowledge-graph", {}),
    ("memory://overview", {}),
    ("memory://entity/Ada", {}),
    ("memory://node/n", {}),
    (f"memory://conversation/{CANARIES['talk']}", {}),
]
OTHERS = {"revisions", "find_duplicates", "list_thoughts", "show_thought", "list_programs", "check_contextscript"}
"""The tools that say nothing of what is planted."""
ALWAYS_THE_SAME = "memory://contextscript"


def ask(graph: MemoryGraph, name: str, arguments: dict[str, Any]) -> str:
    """What a tool or a resource answers, without what it was asked."""
    answer = ""
    if name in TOOLS:
        answer = TOOLS[name].call(graph, arguments).model_dump_json()
    else:
        found = find_resource(name)
        assert found is not None
        with suppress(MemoryGraphError):
            answer = found[0].read(graph, found[1])
    sent = f"{name} {json.dumps(arguments)}"
    for word in CANARIES.values():
        answer = answer.replace(word, "") if word in sent else answer
    return answer


def test_every_tool_that_only_reads_and_every_resource_is_asked() -> None:
    asked = {name for name, _ in ASKED}
    assert asked & TOOLS.keys() == {name for name, tool in TOOLS.items() if not tool.writes} - OTHERS
    found = [find_resource(name) for name in asked - TOOLS.keys()]
    assert {each[0].uri for each in found if each} == {each.uri for each in RESOURCES} - {ALWAYS_THE_SAME}


@pytest.mark.parametrize("asked", mostly_slow(ASKED, ordinary=3))
def test_none_reads_what_has_expired(graph: MemoryGraph, asked: tuple[str, dict[str, Any]]) -> None:
    name, arguments = asked
    plant(graph)
    known = ask(graph, name, arguments)
    expire_all(graph)
    found = ask(graph, name, arguments)
    assert [word for word in CANARIES.values() if word in found] == []
    assert known != found
