"""Connections and sessions over HTTP: one address or one token uses up nothing that others need."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import uvicorn

from memorygraph import MemoryGraph
from memorygraph.mcp_server import connections, http
from memorygraph.mcp_server.connections import ConnectionLimits, bounded_connections
from memorygraph.mcp_server.http import MAX_SESSIONS_OF_ONE_TOKEN
from tests.mcp_server.clients import HttpServer, Server, serving_http
from tests.mcp_server.test_http import _ACCEPT, _INITIALIZE

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import Receive, Scope, Send

FILES = 256  # that the server may open
STRANGER = "127.0.0.2"  # another address of this machine


@pytest.fixture(scope="module")
def narrow(server: Server) -> Iterator[HttpServer]:
    """A server that may open few files, with the tokens `first-token`, `second-token` and `third-token`."""
    tokens = (f"{token}={token}" for token in ("first-token", "second-token", "third-token"))
    limited = ["/bin/sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh"]
    with serving_http(server, "nothing", *tokens, around=limited) as served:
        yield served


def post(server: HttpServer, token: str, body: Any = _INITIALIZE, source: str = "127.0.0.1") -> httpx2.Response:
    transport = httpx2.HTTPTransport(local_address=source, verify=False)  # no certificates are read for it
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}", **_ACCEPT}
    with httpx2.Client(timeout=30, trust_env=False, transport=transport) as client:
        return client.post(server.url, content=json.dumps(body).encode(), headers=headers)


@contextmanager
def listening(server: HttpServer, token: str) -> Iterator[int]:
    """A request for what a session tells, which is open as long as its client wants; its status."""
    session = post(server, token).headers.get("mcp-session-id", "")
    headers = {"Authorization": f"Bearer {token}", "Mcp-Session-Id": session, **_ACCEPT}
    with (
        httpx2.Client(timeout=30, trust_env=False, verify=False) as client,
        client.stream("GET", server.url, headers=headers) as answer,
    ):
        yield answer.status_code


def connect(server: HttpServer, source: str = STRANGER) -> socket.socket:
    host, _, port = server.authority.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=30, source_address=(source, 0))


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent",
    [b"", b"POST /mcp HTTP/1.1\r\nHost: x", b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{"],
    ids=["nothing", "half a header", "half a body"],
)
@pytest.mark.parametrize("source", [STRANGER, "127.0.0.1"])
def test_half_open_connections_stop_nobody(narrow: HttpServer, sent: bytes, source: str) -> None:
    with ExitStack() as stack:
        for _ in range(FILES + 50):
            opened = stack.enter_context(connect(narrow, source))
            opened.sendall(sent)
        for token in ("first-token", "second-token"):
            assert post(narrow, token).status_code == 200
        assert post(narrow, "first-token", source=STRANGER).status_code == 200


def test_the_open_requests_of_one_token_stop_no_other(narrow: HttpServer) -> None:
    with ExitStack() as stack:
        statuses = [stack.enter_context(listening(narrow, "third-token")) for _ in range(FILES // 8 + 10)]
        assert (statuses[0], statuses[-1]) == (200, 429)
        assert post(narrow, "second-token").status_code == 200
        assert post(narrow, "third-token", source=STRANGER).status_code == 429
    assert any(post(narrow, "third-token").status_code == 200 for _ in range(1000))  # when their ends are seen


@pytest.mark.slow
def test_the_sessions_of_one_token_stop_no_other(narrow: HttpServer) -> None:
    statuses = [post(narrow, "third-token").status_code for _ in range(MAX_SESSIONS_OF_ONE_TOKEN + 1)]
    assert statuses[-1] == 503
    assert post(narrow, "second-token").status_code == 200


def test_a_session_that_its_client_has_left_ends_and_makes_room(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "SESSION_IDLE_S", 0.2)
    monkeypatch.setattr(http, "MAX_SESSIONS", 1)
    asyncio.run(replace_a_session(http.build_app(graph)))


async def replace_a_session(app: Starlette) -> None:
    """Open a session, open another as soon as there is room, and ask in the first one."""
    transport = httpx2.ASGITransport(app)
    async with (
        asyncio.timeout(30),
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=_ACCEPT) as client,
    ):
        left = await client.post(http.PATH, json=_INITIALIZE)
        assert left.status_code == 200
        while (opened := await client.post(http.PATH, json=_INITIALIZE)).status_code == 503:
            pass
        assert opened.status_code == 200
        headers = {"Mcp-Session-Id": left.headers["mcp-session-id"]}
        assert (await client.post(http.PATH, json=_INITIALIZE, headers=headers)).status_code == 404


@pytest.mark.slow
def test_headers_have_a_time_limit(narrow: HttpServer) -> None:
    started = time.monotonic()
    with connect(narrow) as nothing, connect(narrow) as half:
        half.sendall(b"POST /mcp HTTP/1.1\r\nHost: x")
        for opened in (nothing, half):
            opened.settimeout(connections.HEADER_S + 30)
            assert received(opened) == b""
            assert time.monotonic() - started >= connections.HEADER_S - 1


class LongAnswer:
    """An application that answers with more than the buffers between a server and a client hold."""

    PART = bytes(1 << 20)
    PARTS = 64

    def __init__(self) -> None:
        self.ended = Event()

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(self.PARTS):
            await send({"type": "http.response.body", "body": self.PART, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        self.ended.set()


@contextmanager
def answering(app: LongAnswer) -> Iterator[socket.socket]:
    """A connection to a server of this application, whose connections have limits."""
    http = bounded_connections(ConnectionLimits(10, 10))
    server = uvicorn.Server(
        uvicorn.Config(app, http=http, lifespan="off", log_config=None, timeout_graceful_shutdown=1)
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            with socket.create_connection(listener.getsockname(), timeout=60) as opened:
                yield opened
        finally:
            server.should_exit = True
            thread.join()


def test_bodies_have_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BODY_S", 0.2)
    with answering(LongAnswer()) as opened:
        opened.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf a body")
        assert received(opened) == b""


def test_answers_that_are_not_read_have_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "WRITE_S", 0.2)
    app = LongAnswer()
    with answering(app) as opened:
        opened.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert app.ended.wait(60)
        size = 0
        while part := received(opened):
            size += len(part)
    assert 0 < size < app.PARTS * len(app.PART)


def test_an_answer_that_is_read_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BODY_S", 0.2)
    app = LongAnswer()
    with answering(app) as opened:
        opened.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        size = 0
        while part := received(opened):
            size += len(part)
    assert size > app.PARTS * len(app.PART)


def received(opened: socket.socket) -> bytes:
    try:
        return opened.recv(1 << 20)
    except ConnectionResetError:
        return b""


def test_a_process_that_may_open_few_files_has_few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "getrlimit", lambda _: (1024, 4096))
    assert ConnectionLimits.of_process() == ConnectionLimits(512, 128)
    monkeypatch.setattr(connections, "getrlimit", lambda _: (-1, -1))
    assert ConnectionLimits.of_process() == ConnectionLimits(2000, 500)
