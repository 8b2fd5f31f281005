"""The entry of a client's configuration starts the server where nothing of the shell's environment is there."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import anyio
import mcp
import pytest
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


def test_the_entry_has_all_variables_of_a_server_and_its_paths_mean_the_same_everywhere(
    server: Server, tmp_path: Path
) -> None:
    given = {
        "MEMORYGRAPH_HOME": "./home", "MEMORYGRAPH_EMBEDDING_MODEL": "../model", "MEMORYGRAPH_MODEL": "org/model",
        "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://a", "AGENTSCRIPT_LLM_TIMEOUT_MS": "5",
        "JAVA_HOME": "java", "XDG_DATA_HOME": "/data", "REQUESTS_CA_BUNDLE": "a.pem", "SSL_CERT_FILE": "b.pem",
        "SSL_CERT_DIR": "c:/d", "HTTPS_PROXY": "http://p:1", "no_proxy": "localhost",
    }  # fmt: skip
    absolute = {
        "MEMORYGRAPH_HOME": f"{tmp_path}/home", "MEMORYGRAPH_EMBEDDING_MODEL": f"{tmp_path}/../model",
        "JAVA_HOME": f"{tmp_path}/java", "REQUESTS_CA_BUNDLE": f"{tmp_path}/a.pem",
        "SSL_CERT_FILE": f"{tmp_path}/b.pem", "SSL_CERT_DIR": f"{tmp_path}/c:/d",
    }  # fmt: skip
    command = [SERVER_PYTHON, "-m", "memorygraph", "serve", "--client-config"]
    environment = {**environment_of(server), **given, "UNRELATED": "no"}
    printed = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    variables = json.loads(printed)["mcpServers"]["memory"]["env"]
    assert variables | given | absolute == variables
    assert "UNRELATED" not in variables


@pytest.mark.parametrize("joined", [False, True])
def test_the_entry_names_the_file_of_tokens_so_that_it_is_found_from_anywhere(
    server: Server, tmp_path: Path, *, joined: bool
) -> None:
    given = ["--tokens=a/tokens"] if joined else ["--tokens", "a/tokens"]
    absolute = [f"--tokens={tmp_path}/a/tokens"] if joined else ["--tokens", f"{tmp_path}/a/tokens"]
    command = [SERVER_PYTHON, "-m", "memorygraph", "serve", "--transport", "http", *given, "--client-config"]
    done = subprocess.run(command, env=environment_of(server), cwd=tmp_path, capture_output=True, text=True, check=True)
    arguments = json.loads(done.stdout)["mcpServers"]["memory"]["args"]
    assert arguments == ["-m", "memorygraph", "serve", "--transport", "http", *absolute]


def test_help_prints_nothing_of_the_environment(graph: MemoryGraph, server: Server) -> None:
    assert environment_of(server)["NEO4J_URI"] not in output_of(server, graph.namespace, "--help")
