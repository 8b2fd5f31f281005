"""Real servers, each in a process of its own, and the official client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import mcp
import pytest

from memorygraph import MemoryGraph
from memorygraph.mcp_server import build_server
from tests.conftest import empty_namespace
from tests.mcp_server.clients import HttpServer, serving_http


@pytest.fixture
def anyio_backend() -> str:
    """What coroutines are run on, as the servers are."""
    return "asyncio"


@pytest.fixture
async def client(graph: MemoryGraph) -> AsyncIterator[mcp.Client]:
    """A client of a server in this process, over the test's namespace."""
    async with mcp.Client(build_server(graph)) as client:
        yield client


@pytest.fixture
def other(graph: MemoryGraph) -> MemoryGraph:
    """Another namespace, as empty."""
    return empty_namespace(graph.connection)


@pytest.fixture(scope="module")
def open_door(server: tuple[str, tuple[str, str] | None]) -> Iterator[HttpServer]:
    """A server on this machine without tokens, in which nothing is stored."""
    with serving_http(server, "nothing") as served:
        yield served


@pytest.fixture(scope="module")
def closed_door(server: tuple[str, tuple[str, str] | None]) -> Iterator[HttpServer]:
    """A server with the tokens `first-token` and `second-token`, in which nothing is stored."""
    with serving_http(server, "nothing", "nothing=first-token", "nothing-else=second-token") as served:
        yield served


@pytest.fixture
def open_http(graph: MemoryGraph, server: tuple[str, tuple[str, str] | None]) -> Iterator[HttpServer]:
    """A server on this machine, without tokens, in the test's namespace."""
    with serving_http(server, graph.namespace) as served:
        yield served


@pytest.fixture
def closed_http(
    graph: MemoryGraph, other: MemoryGraph, server: tuple[str, tuple[str, str] | None]
) -> Iterator[HttpServer]:
    """A server with the token `first-token` for the test's namespace, and `second-token` for the other one."""
    with serving_http(
        server, graph.namespace, f"{graph.namespace}=first-token", f"{other.namespace}=second-token"
    ) as served:
        yield served
