"""Wrong logins and pages of strangers: they get nothing, and take nothing from the owner."""

from __future__ import annotations

import base64
import http.client
import json
import os
import socket
import struct
from typing import TYPE_CHECKING, Self

import psutil
import pytest

from memorygraph.errors import LoginError
from memorygraph.graph.connection import Connection
from memorygraph.server import process as server_process

if TYPE_CHECKING:
    from collections.abc import Callable

    from memorygraph.server.embedded import EmbeddedServer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_java")]

WRONG_LOGINS = 8  # Neo4j's own limit is three
FAILURE, SUCCESS = 0x7F, 0x70
KEY = "a-key-of-a-model"


@pytest.fixture(scope="module")
def server(make_server: Callable[[], EmbeddedServer]) -> EmbeddedServer:
    made = make_server()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        patch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:1/?key={KEY}")
        made.up()
    return made


def text(value: str) -> bytes:
    """A short string, as Bolt writes it."""
    return bytes([0x80 | len(value)]) + value.encode()


def table(**values: str) -> bytes:
    """A small map of strings, as Bolt writes it."""
    return bytes([0xA0 | len(values)]) + b"".join(text(key) + text(value) for key, value in values.items())


class Page:
    """What a page of another site can do in a browser: speak Bolt over a WebSocket."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: https://evil.example\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self._received = b""
        while b"\r\n\r\n" not in self._received:
            self._received += self._socket.recv(4096)
        self.greeting, _, self._received = self._received.partition(b"\r\n\r\n")
        self._frame(b"\x60\x60\xb0\x17" + bytes((0, 0, 4, 5)) + bytes(12))
        self.version = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _frame(self, data: bytes) -> None:
        assert len(data) < 126
        self._socket.sendall(bytes([0x82, 0x80 | len(data), 0, 0, 0, 0]) + data)

    def _take(self, count: int) -> bytes:
        while len(self._received) < count:
            more = self._socket.recv(4096)
            assert more, "the server ended the connection"
            self._received += more
        taken, self._received = self._received[:count], self._received[count:]
        return taken

    def _answer(self) -> bytes:
        length = self._take(2)[1]
        if length == 126:
            (length,) = struct.unpack(">H", self._take(2))
        return self._take(length)

    def say(self, signature: int, *fields: bytes) -> tuple[int, bytes]:
        """Send a message, and return the signature and the text of the answer."""
        message = bytes([0xB0 | len(fields), signature]) + b"".join(fields)
        self._frame(struct.pack(">H", len(message)) + message + b"\0\0")
        answer = b""
        while not answer.endswith(b"\0\0"):
            answer += self._answer()
        return answer[3], answer

    def hello(self) -> tuple[int, bytes]:
        return self.say(0x01, b"\xa2" + text("user_agent") + text("page/1") + text("bolt_agent") + table(product="p/1"))

    def log_in(self, password: str) -> tuple[int, bytes]:
        return self.say(0x6A, table(scheme="basic", principal="neo4j", credentials=password))


def port_of(url: str | None) -> int:
    assert url
    return int(url.split(":")[2].partition("/")[0])


def test_wrong_logins_do_not_lock_the_owner_out(server: EmbeddedServer) -> None:
    status = server.status()
    assert status.bolt_uri
    for _ in range(WRONG_LOGINS):
        with pytest.raises(LoginError):
            Connection(status.bolt_uri, ("neo4j", "a wrong password"))
    server.check()

    web = http.client.HTTPConnection("127.0.0.1", port_of(status.browser_url), timeout=20)
    wrong = {"Authorization": "Basic " + base64.b64encode(b"neo4j:wrong").decode(), "Content-Type": "application/json"}
    for _ in range(WRONG_LOGINS):
        web.request("POST", "/db/neo4j/query/v2", json.dumps({"statement": "RETURN 1"}), wrong)
        answer = web.getresponse()
        answer.read()
        assert answer.status == 401
    web.close()
    server.check()


def test_a_page_of_another_site_gets_nothing_without_the_password(server: EmbeddedServer) -> None:
    """Neo4j takes a WebSocket from any origin, and has no setting for that: the password decides."""
    port = port_of(server.status().bolt_uri)
    run = (0x10, text("RETURN 1"), b"\xa0", b"\xa0")
    for _ in range(WRONG_LOGINS):
        with Page(port) as page:
            assert page.greeting.startswith(b"HTTP/1.1 101 ")
            assert page.hello()[0] == SUCCESS
            signature, answer = page.log_in("a wrong one")
            assert signature == FAILURE
            assert b"Neo.ClientError.Security.Unauthorized" in answer
    with Page(port) as page:
        assert page.hello()[0] == SUCCESS
        assert page.say(*run)[0] == FAILURE
    server.check()


def test_a_short_password_is_refused_because_it_could_be_guessed(server: EmbeddedServer) -> None:
    with (
        Connection(str(server.status().bolt_uri), ("neo4j", server.password()), "system") as connection,
        pytest.raises(Exception, match="at least 16 characters"),
    ):
        connection._driver.execute_query(
            "ALTER CURRENT USER SET PASSWORD FROM $old TO 'short-pass'", old=server.password(), database_="system"
        )


def test_the_keys_of_models_are_not_in_the_environment_of_the_server(server: EmbeddedServer) -> None:
    process = server_process.find_server(server.home)
    assert process
    environment = psutil.Process(process.pid).environ()
    assert "PATH" in environment
    assert not [name for name, value in environment.items() if KEY in value or "OPENAI" in name]
