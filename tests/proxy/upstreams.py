"""An endpoint whose every byte a test decides, and programs that read every byte of an answer."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Self
from urllib.parse import urlsplit

TIMEOUT_S = 30.0


@dataclass(frozen=True)
class RawRequest:
    """A request as it came over the wire."""

    head: bytes
    body: bytes

    @property
    def line(self) -> str:
        """The method, the target and the version."""
        return self.head.split(b"\r\n", 1)[0].decode("latin-1")

    @property
    def headers(self) -> dict[str, str]:
        """The headers by their lower-case names."""
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        return {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
        }


class RawUpstream:
    """Answers each connection's requests with the bytes that a function gives; None breaks the connection."""

    def __init__(self, answer: Callable[[RawRequest], Iterable[bytes | None]]) -> None:
        self.requests: list[RawRequest] = []
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._connections):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError), connection.makefile("rb") as stream:
            while head := read_head(stream):
                request = RawRequest(head, read_framed(stream, head))
                self.requests.append(request)
                for piece in self._answer(request):
                    if piece is None:
                        connection.shutdown(socket.SHUT_RDWR)
                        return
                    connection.sendall(piece)


def read_head(stream: object) -> bytes:
    """Read the lines up to the empty one."""
    lines = []
    while line := stream.readline():  # type: ignore[attr-defined]
        lines.append(line)
        if line == b"\r\n":
            break
    return b"".join(lines)


def read_framed(stream: object, head: bytes) -> bytes:
    """Read a body of known length or in chunks."""
    headers = RawRequest(head, b"").headers
    if headers.get("transfer-encoding") != "chunked":
        return bytes(stream.read(int(headers.get("content-length", "0"))))  # type: ignore[attr-defined]
    body = b""
    while size := int(stream.readline().strip() or b"0", 16):  # type: ignore[attr-defined]
        body += stream.read(size)  # type: ignore[attr-defined]
        stream.readline()  # type: ignore[attr-defined]
    stream.readline()  # type: ignore[attr-defined]
    return body


class RawClient:
    """A connection to a base URL over which a test sends bytes, and reads them."""

    def __init__(self, base_url: str) -> None:
        target = urlsplit(base_url)
        self.host = target.netloc
        self.socket = socket.create_connection((target.hostname or "", target.port or 80), TIMEOUT_S)
        self.stream = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.socket.close()

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> None:
        """Send a request; an underscore of a header's name is a hyphen."""
        given = {"host": self.host, **({"content-length": str(len(body))} if body else {}), **headers}
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items())
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body)

    def read_head(self) -> bytes:
        """Read the status and the headers of an answer."""
        return read_head(self.stream)

    def read_chunk(self) -> bytes:
        """Read one chunk of a body."""
        size = int(self.stream.readline().strip(), 16)
        piece = self.stream.read(size)
        assert self.stream.readline() == b"\r\n"
        return piece

    def answer(self) -> tuple[RawRequest, bytes]:
        """Read a whole answer: its head as of a request, and its body."""
        head = self.read_head()
        return RawRequest(head, b""), read_framed(self.stream, head)
