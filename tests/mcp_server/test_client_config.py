"""The entry of a client's configuration starts the server where nothing of the shell's environment is there."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import anyio
import mcp
from mcp import StdioServerParameters, stdio_client

from memorygraph import MemoryGraph
from tests.mcp_server.clients import SERVER_PYTHON, Server, environment_of

ADA = 'Node(node_id="ada", name="Ada Lovelace", data="");'


def output_of(server: Server, namespace: str, option: str) -> str:
    command = [SERVER_PYTHON, "-m", "memorygraph", "-n", namespace, "serve", "--tools", "graph", option]
    return subprocess.run(command, env=environment_of(server), capture_output=True, text=True, check=True).stdout


def test_what_serve_prints_starts_a_server_on_the_same_graph_from_anywhere(
    graph: MemoryGraph, server: Server, tmp_path: Path
) -> None:
    entry = json.loads(output_of(server, graph.namespace, "--client-config"))["mcpServers"]["memory"]

    async def load() -> None:
        # The SDK gives a server no more of the environment than where its user's files are.
        async with mcp.Client(stdio_client(StdioServerParameters(**entry, cwd=tmp_path))) as client:
            await client.call_tool("load_contextscript", {"program": ADA})

    anyio.run(load)
    assert graph.node("ada").name == "Ada Lovelace"


def test_help_prints_nothing_of_the_environment(graph: MemoryGraph, server: Server) -> None:
    assert environment_of(server)["NEO4J_URI"] not in output_of(server, graph.namespace, "--help")
