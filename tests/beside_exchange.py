"""What `tests/beside` runs in an environment with other packages: they import, and the memory server answers them.

It prints what it did. No Neo4j is there: the tool that is called, `check_contextscript`, needs none.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import uvicorn

from memorygraph.mcp_server import BackgroundGraph, build_app, choose_tools
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools import open_tool

SERVE = ["-m", "memorygraph", "serve", "--tools", "all"]
WRONG, SAID = 'Node(node_name="a");', "has no argument"
LONG = 'Node(node_id="a", name="A", data="x");\n' * 25_000  # as long as a program may be
MODULES = ("agents", "langchain_core", "langchain_mcp_adapters.client", "langgraph.graph", "mcp", "openai")
PACKAGES = ("mcp", "openai-agents", "langchain-mcp-adapters", "langgraph", "langchain-neo4j", "neo4j-graphrag")


@contextmanager
def served_over_http() -> Iterator[str]:
    """The memory server over HTTP in this process, with a graph that nothing opens."""

    def refuse() -> Any:
        raise AssertionError("a tool that needs no graph has opened one")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        app = build_app(BackgroundGraph(refuse), port=port, tools=choose_tools())
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.should_exit = True
            thread.join()


async def ask_as_agents(url: str) -> None:
    """The client of the OpenAI Agents SDK, over both transports."""
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

    for server in (
        MCPServerStdio({"command": sys.executable, "args": SERVE}, client_session_timeout_seconds=60),
        MCPServerStreamableHttp({"url": url}, client_session_timeout_seconds=60),
    ):
        async with server:
            assert {"recall", "check_contextscript"} <= {tool.name for tool in await server.list_tools()}
            answer = await server.call_tool("check_contextscript", {"program": WRONG})
            assert SAID in str(answer.content), answer


async def ask_as_langchain(url: str) -> None:
    """The tools of LangChain, over both transports."""
    client = import_module("langchain_mcp_adapters.client").MultiServerMCPClient(
        {
            "pipes": {"transport": "stdio", "command": sys.executable, "args": SERVE},
            "http": {"transport": "streamable_http", "url": url},
        }
    )
    tools = [tool for tool in await client.get_tools() if tool.name == "check_contextscript"]
    assert len(tools) == 2
    for tool in tools:
        assert SAID in str(await tool.ainvoke({"program": WRONG}))


def cancel_calls() -> None:
    """A client that cancels its calls is answered the next one: the server goes on."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    with subprocess.Popen([sys.executable, *SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        requests = server.stdin

        def send(method: str, params: dict[str, Any], number: int | None = None) -> None:
            numbered = {} if number is None else {"id": number}
            requests.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **numbered}) + "\n")
            requests.flush()

        send("initialize", hello, 1)
        server.stdout.readline()
        send("notifications/initialized", {})
        calls = range(10, 22)
        for number in calls:
            send("tools/call", {"name": "check_contextscript", "arguments": {"program": LONG}}, number)
        time.sleep(0.5)  # in which the server begins with some of them; all take seconds
        for number in calls:
            send("notifications/cancelled", {"requestId": number})
        send("tools/call", {"name": "check_contextscript", "arguments": {"program": WRONG}}, 3)
        answers = map(json.loads, server.stdout)
        assert SAID in str(next(answer for answer in answers if answer.get("id") == 3))
        server.stdin.close()


def ask_as_a_program(url: str) -> None:
    """The tools of our own programs, `mcp://…`, over both transports."""
    for place in (shlex.join([sys.executable, *SERVE]), url):
        with tempfile.TemporaryDirectory() as folder:
            tool = open_tool("Memory", f"mcp://{place}", Path(folder), Permissions.of(["mcp"]))
            try:
                assert "recall" in tool.methods()
                answer = tool.call("check_contextscript", [{"program": WRONG}])
                assert SAID in str(answer.value), answer
            finally:
                tool.close()


def main() -> None:
    """Import all that is there, and ask."""
    for name in MODULES:
        if find_spec(name.partition(".")[0]):
            import_module(name)
    with served_over_http() as url:
        asyncio.run(ask_as_agents(url))
        if find_spec("langchain_mcp_adapters"):
            asyncio.run(ask_as_langchain(url))
        ask_as_a_program(url)
    cancel_calls()
    print(", ".join(f"{name} {found}" for name in PACKAGES if (found := find_version(name))))


def find_version(name: str) -> str | None:
    """The version of a package, if it is installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
