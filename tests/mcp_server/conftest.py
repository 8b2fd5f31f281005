"""Real servers, each in a process of its own, and the official client."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from memorygraph import MemoryGraph
from tests.conftest import empty_namespace
from tests.mcp_server.clients import HttpServer, environment_of, http_command


@pytest.fixture
def other(graph: MemoryGraph) -> MemoryGraph:
    """Another namespace, as empty."""
    return empty_namespace(graph.connection)


def _serve(server: tuple[str, tuple[str, str] | None], *arguments: str) -> Iterator[HttpServer]:
    process = subprocess.Popen(http_command(*arguments), env=environment_of(server), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("serving at "), line + process.stderr.read()
    try:
        yield HttpServer(line.removeprefix("serving at ").strip(), process.pid)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def open_door(server: tuple[str, tuple[str, str] | None]) -> Iterator[HttpServer]:
    """A server on this machine without tokens, in which nothing is stored."""
    yield from _serve(server, "nothing")


@pytest.fixture(scope="module")
def closed_door(server: tuple[str, tuple[str, str] | None]) -> Iterator[HttpServer]:
    """A server with the tokens `first-token` and `second-token`, in which nothing is stored."""
    yield from _serve(server, "nothing", "nothing=first-token", "nothing-else=second-token")


@pytest.fixture
def open_http(graph: MemoryGraph, server: tuple[str, tuple[str, str] | None]) -> Iterator[HttpServer]:
    """A server on this machine, without tokens, in the test's namespace."""
    yield from _serve(server, graph.namespace)


@pytest.fixture
def closed_http(
    graph: MemoryGraph, other: MemoryGraph, server: tuple[str, tuple[str, str] | None]
) -> Iterator[HttpServer]:
    """A server with the token `first-token` for the test's namespace, and `second-token` for the other one."""
    yield from _serve(server, graph.namespace, f"{graph.namespace}=first-token", f"{other.namespace}=second-token")
