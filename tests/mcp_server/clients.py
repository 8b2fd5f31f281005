"""How the tests start a server, and what they ask it with the official client."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
import mcp
from anyio.from_thread import start_blocking_portal
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

Result = TypeVar("Result")
Server = tuple[str, tuple[str, str] | None]


SERVER_PYTHON = os.environ.get("MEMORYGRAPH_TEST_SERVER_PYTHON", sys.executable)
"""The Python that servers run on: that of another environment has another version of the MCP SDK."""


def stdio_command(namespace: str) -> list[str]:
    """What starts a server with all tools over standard input and output, as a user's configuration does."""
    where = ["--namespace", namespace] if namespace else []
    return [SERVER_PYTHON, "-m", "memorygraph", *where, "serve", "--tools", "all"]


def http_command(namespace: str, *tokens: str) -> list[str]:
    """What starts a server over HTTP; a token is NAMESPACE=TOKEN."""
    given = [part for token in tokens for part in ("--token", token)]
    return [*stdio_command("" if tokens else namespace), "--transport", "http", "--port", "0", *given]


@dataclass(frozen=True)
class HttpServer:
    """A server over HTTP in a process of its own."""

    url: str
    pid: int

    @property
    def authority(self) -> str:
        return urlsplit(self.url).netloc


@contextmanager
def serving_http(server: Server, *arguments: str, around: Sequence[str] = ()) -> Iterator[HttpServer]:
    """A server over HTTP, of `http_command` with these arguments, perhaps started by another program around it."""
    command = [*around, *http_command(*arguments)]
    with subprocess.Popen(command, env=environment_of(server), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("serving at "), line + process.stderr.read()
        reading = threading.Thread(target=process.stderr.read)  # a full pipe would stop the server
        reading.start()
        try:
            yield HttpServer(line.removeprefix("serving at ").strip(), process.pid)
        finally:
            process.kill()
            reading.join()


def environment_of(server: Server) -> dict[str, str]:
    """The environment in which a process finds the test's Neo4j."""
    uri, auth = server
    login = {"NEO4J_USERNAME": auth[0], "NEO4J_PASSWORD": auth[1]} if auth else {}
    return {**os.environ, "NEO4J_URI": uri, **login}


def over_stdio(server: Server, namespace: str, **options: Any) -> AbstractAsyncContextManager[mcp.Client]:
    """A client of a server of its own, which uses the test's Neo4j."""
    return started_in(environment_of(server), namespace, **options)


@asynccontextmanager
async def started_in(
    environment: dict[str, str], namespace: str, *given: str, **options: Any
) -> AsyncIterator[mcp.Client]:
    """A client of a server of its own, which is started in an environment, with these arguments of `serve`."""
    command, *arguments = stdio_command(namespace)
    parameters = StdioServerParameters(command=command, args=[*arguments, *given], env=environment)
    async with mcp.Client(stdio_client(parameters), **options) as client:
        yield client


@asynccontextmanager
async def over_http(url: str, token: str | None = None, mode: str = "auto") -> AsyncIterator[mcp.Client]:
    """A client of a server over HTTP."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(timeout=60, trust_env=False, headers=headers) as http,
        mcp.Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


def run(work: Callable[[], Awaitable[Result]]) -> Result:
    """Run a test's coroutine."""

    async def main() -> Result:
        return await work()

    return asyncio.run(main())


async def call(client: mcp.Client, tool: str, **arguments: Any) -> Any:
    """What a tool answers: its structured content, or its text where it has none.

    Raises:
        AssertionError: the tool failed.
    """
    result = await client.call_tool(tool, arguments)
    text = "\n".join(part.text for part in result.content if part.type == "text")
    assert not result.is_error, text
    return text if result.structured_content is None else result.structured_content


class Session:
    """A client that stays connected from one call to the next."""

    def __init__(self, transport: AbstractAsyncContextManager[mcp.Client]) -> None:
        self._transport = transport
        self._stack = ExitStack()

    def __enter__(self) -> Session:
        self._portal = self._stack.enter_context(start_blocking_portal())
        self._client = self._stack.enter_context(self._portal.wrap_async_context_manager(self._transport))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """The result of a call, whether it failed or not."""
        return self.ask(lambda client: client.call_tool(tool, arguments))

    def tools(self) -> list[Any]:
        """The tools of the server."""
        return list(self.ask(lambda client: client.list_tools()).tools)

    def ask(self, request: Callable[[mcp.Client], Awaitable[Result]]) -> Result:
        """The answer to any request of the client's."""

        async def work() -> Result:
            return await request(self._client)

        return self._portal.call(work)


def text_of(result: Any) -> str:
    """The text of a result."""
    return "\n".join(part.text for part in result.content if part.type == "text")
