"""The entry of a client's configuration starts the server where nothing of the shell's environment is there."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import anyio
import mcp
import pytest
from click.testing import CliRunner
from mcp import StdioServerParameters, stdio_client

from memorygraph import MemoryGraph
from memorygraph.cli import cli
from memorygraph.cli.serve import gather_tokens
from tests.mcp_server.clients import SERVER_PYTHON, Server, environment_of

ADA = 'Node(node_id="ada", name="Ada Lovelace", data="");'


def output_of(server: Server, namespace: str, option: str) -> str:
    command = [SERVER_PYTHON, "-m", "memorygraph", "-n", namespace, "serve", "--tools", "graph", option]
    return subprocess.run(command, env=environment_of(server), capture_output=True, text=True, check=True).stdout


def test_what_serve_prints_starts_a_server_on_the_same_graph_from_anywhere(
    graph: MemoryGraph, server: Server, tmp_path: Path
) -> None:
    entry = json.loads(output_of(server, graph.namespace, "--client-config"))["mcpServers"]["memory"]
    (tmp_path / "click.py").write_text('raise SystemExit("a module of the folder was run")')

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


@pytest.mark.parametrize(
    ("given", "entry"),
    [
        ((), {"url": "http://127.0.0.1:8000/mcp"}),
        (("--host", "::1", "--port", "9"), {"url": "http://[::1]:9/mcp"}),
        (
            ("--host", "0.0.0.0", "--token", "people=s3cret", "--allow-host", "memory.example.org"),
            {"url": "http://memory.example.org:8000/mcp", "headers": {"Authorization": "Bearer TOKEN"}},
        ),
        (
            ("--host", "0.0.0.0", "--tokens", "not-there-yet", "--allow-host", "a", "--allow-host", "b.example:443"),
            {"url": "http://b.example:443/mcp", "headers": {"Authorization": "Bearer TOKEN"}},
        ),
    ],
    ids=str,
)
def test_over_http_the_entry_is_where_the_server_is_reached(given: tuple[str, ...], entry: dict[str, Any]) -> None:
    """A client that starts one waits for it on its standard output."""
    printed = CliRunner().invoke(cli, ["serve", "--transport", "http", *given, "--client-config"])
    assert printed.exit_code == 0
    assert json.loads(printed.stdout) == {"mcpServers": {"memory": {"type": "http", **entry}}}
    assert "start it yourself, without --client-config" in printed.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--transport", "http", "--port", "0", "--client-config"), "--client-config needs the --port"),
        (("--port", "8000"), "--port goes with --transport http"),
        (("--host", "127.0.0.1", "--client-config"), "--host goes with --transport http"),
        (("--token", "people=s3cret"), "--token goes with --transport http"),
        (("--tokens", "tokens", "--transport", "stdio"), "--tokens goes with --transport http"),
        (("--allow-host", "example.org"), "--allow-host goes with --transport http"),
    ],
    ids=str,
)
def test_what_is_for_http_alone_is_refused_without_it(given: tuple[str, ...], said: str) -> None:
    refused = CliRunner().invoke(cli, ["serve", *given])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert said in " ".join(refused.stderr.split())


def test_a_namespace_that_no_token_opens_is_refused() -> None:
    refused = CliRunner().invoke(cli, ["-n", "shop", "serve", "--transport", "http", "--token", "people=s3cret"])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "-n shop goes without tokens, of which each has its own namespace" in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    ("host", "token", "warned"),
    [("0.0.0.0", "x", True), ("127.0.0.1", "x", False), ("0.0.0.0", "0123456789abcdef", False)],
)
def test_a_token_that_others_may_guess_is_warned_of_where_they_reach_the_server(
    host: str, token: str, warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gather_tokens(None, (f"people={token}",), host) == {token: "people"}
    said = capsys.readouterr().err
    assert ("a token of people" in said and "secrets.token_urlsafe(32)" in said) == warned
    assert warned or not said


def test_help_prints_nothing_of_the_environment(graph: MemoryGraph, server: Server) -> None:
    assert environment_of(server)["NEO4J_URI"] not in output_of(server, graph.namespace, "--help")
