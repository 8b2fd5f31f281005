"""The memory server as the tools of an agent of the OpenAI Agents SDK, over standard input and output and over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest
from agents import Agent, OpenAIResponsesModel, RunConfig, Runner
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

from memorygraph import MemoryGraph
from memorygraph.integrations.openai_agents import MemoryGraphSession
from memorygraph.llm.completion import ToolCall
from memorygraph.scripted.replies import Reply, ScriptedAnswer
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.examples import mostly_slow
from tests.mcp_server.clients import HttpServer, Server, environment_of, stdio_command
from tests.mcp_server.conftest import closed_http, open_http, other

__all__ = ["closed_http", "open_http", "other"]

SCRIPT: list[ScriptedAnswer] = [
    Reply(
        tool_calls=(
            ToolCall(
                "create_entities",
                '{"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes tea"]}]}',
                "call_1",
            ),
        )
    ),
    Reply(tool_calls=(ToolCall("recall", '{"query": "tea"}', "call_2"),)),
    Reply(tool_calls=(ToolCall("open_nodes", '{"names": []}', "call_3"),)),
    "Ada likes tea.",
]


async def ask(connected: MCPServerStdio | MCPServerStreamableHttp, graph: MemoryGraph) -> list[dict[str, Any]]:
    """Let an agent remember and recall, and give what its model was told by the tools."""
    with ScriptedModel(SCRIPT, strict=True) as scripted:
        async with (
            connected as server,
            openai.AsyncOpenAI(base_url=scripted.base_url, api_key="sk-test", max_retries=0) as client,
        ):
            agent = Agent("keeper", model=OpenAIResponsesModel("scripted", client), mcp_servers=[server])
            session = MemoryGraphSession(graph, "kept")
            result = await Runner.run(
                agent, "Ada likes tea.", session=session, run_config=RunConfig(tracing_disabled=True)
            )
            assert result.final_output == "Ada likes tea."
        offered = {tool["name"] for tool in scripted.requests[0].json["tools"]}
        assert {"create_entities", "recall", "open_nodes"} <= offered
    items: Any = await session.get_items()
    return [item for item in items if item.get("type") == "function_call_output"]


def check(answers: list[dict[str, Any]], graph: MemoryGraph) -> None:
    assert [answer["call_id"] for answer in answers] == ["call_1", "call_2", "call_3"]
    assert "likes tea" in str(answers[1]["output"])
    assert [node["name"] for node in graph.query("MATCH (n:Entity {namespace: $namespace}) RETURN n.name AS name")] == [
        "Ada"
    ]


@pytest.mark.slow
def test_an_agent_remembers_over_standard_input_and_output(graph: MemoryGraph, server: Server) -> None:
    command, *arguments = stdio_command(graph.namespace)
    started = MCPServerStdio(
        {"command": command, "args": arguments, "env": environment_of(server)}, client_session_timeout_seconds=60
    )
    check(asyncio.run(ask(started, graph)), graph)


@pytest.mark.parametrize("token", mostly_slow(["first-token", None], ordinary=1), ids=["with a token", "open"])
def test_an_agent_remembers_over_http(
    graph: MemoryGraph, request: pytest.FixtureRequest, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    reached: HttpServer = request.getfixturevalue("closed_http" if token else "open_http")
    connected = MCPServerStreamableHttp(
        {"url": reached.url, "headers": {"Authorization": f"Bearer {token}"} if token else {}},
        client_session_timeout_seconds=60,
    )
    check(asyncio.run(ask(connected, graph)), graph)
