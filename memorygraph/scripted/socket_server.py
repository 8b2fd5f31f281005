"""The HTTP side of the scripted endpoint: bytes from and to sockets.

It knows nothing of models: a function gives each request its response.
"""

from __future__ import annotations

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from memorygraph.scripted.endpoint import Cut, Wait, WireResponse, whole
from memorygraph.scripted.replies import Request
from memorygraph.scripted.request_checks import RefusedRequest
from memorygraph.threaded_server import ThreadedServer

IDLE_TIMEOUT_S = 60.0


class ScriptedServer(ThreadedServer):
    """Serves on the loopback interface, and nowhere else, until it is closed."""

    def __init__(
        self, respond: Callable[[Request], WireResponse], address: tuple[str, int], max_body_bytes: int
    ) -> None:
        self.respond = respond
        self.max_body_bytes = max_body_bytes
        super().__init__(address, ScriptedHandler, "scripted-model")


class ScriptedHandler(BaseHTTPRequestHandler):
    """Reads requests from one connection, and sends their responses."""

    protocol_version = "HTTP/1.1"
    server_version = "memorygraph-scripted-model"
    sys_version = ""
    timeout = IDLE_TIMEOUT_S
    disable_nagle_algorithm = True
    server: ScriptedServer

    def do_GET(self) -> None:
        """Serve a request of any method: the endpoint decides what the method means."""
        try:
            body = self.read_body()
        except RefusedRequest as refused:
            self.close_connection = True
            self.send(whole(refused.document(), refused.status))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.send(self.server.respond(Request(self.command, self.path, headers, body)))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET  # noqa: N815 - names that the base class looks up

    def read_body(self) -> bytes:
        """Read a body of a known and limited length, or refuse it."""
        if self.headers.get("transfer-encoding"):
            raise RefusedRequest(411, "The request needs a Content-Length.")
        given = self.headers.get("content-length", "0")
        if not (given.isascii() and given.isdigit()):
            raise RefusedRequest(400, "The Content-Length is not a number.")
        length, maximum = int(given), self.server.max_body_bytes
        if length > maximum:
            # A client hears the refusal only after it has sent its body, so it is read, unless that is endless.
            rest = min(length, 4 * maximum)
            while rest > 0 and (block := self.rfile.read(min(rest, 65536))):
                rest -= len(block)
            raise RefusedRequest(413, f"The request is larger than {maximum} bytes.")
        body = self.rfile.read(length)
        if len(body) < length:
            raise RefusedRequest(400, "The request ended before its end.")
        return body

    def send(self, response: WireResponse) -> None:
        """Send a response step by step; its head goes with the first bytes."""
        started = False
        for step in response.steps:
            closed = isinstance(step, Wait) and self.server.closing.wait(step.seconds)
            if closed or isinstance(step, Cut):
                self.close_connection = True
                return
            if isinstance(step, bytes):
                if not started:
                    self.send_head(response)
                    started = True
                self.wfile.write(step if response.length is not None else b"%x\r\n%b\r\n" % (len(step), step))
        if response.length is None:
            self.wfile.write(b"0\r\n\r\n")

    def send_head(self, response: WireResponse) -> None:
        """Send the status and the headers."""
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if response.length is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(response.length))
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Print nothing: the requests are recorded."""
