"""The HTTP side of the scripted endpoint: bytes from and to sockets, and threads that all end when it is closed.

It knows nothing of models: a function gives each request its response.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

from memorygraph.scripted.endpoint import Cut, Response, Wait, refusal
from memorygraph.scripted.replies import Request
from memorygraph.scripted.request_checks import RefusedRequest

HOST = "127.0.0.1"
MAX_BODY = 32 * 1024 * 1024
IDLE_SECONDS = 60.0
POLL_SECONDS = 0.02


class Server(ThreadingHTTPServer):
    """Serves on the loopback interface, and nowhere else, until it is closed.

    Raises:
        OSError: the port is taken.
    """

    request_queue_size = 128

    def __init__(self, respond: Callable[[Request], Response], port: int = 0, largest_body: int = MAX_BODY) -> None:
        super().__init__((HOST, port), _Handler)
        self.respond = respond
        self.largest_body = largest_body
        self.closing = Event()
        self._lock = Lock()
        self._connections: dict[Thread, socket.socket] = {}
        self._accepting = Thread(target=self.serve_forever, args=(POLL_SECONDS,), name="scripted-model", daemon=True)
        self._accepting.start()

    def server_bind(self) -> None:
        """Bind without asking the resolver for this machine's name, as the base class does, which can take seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = HOST, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, and remember both."""
        arguments = (request, client_address)
        thread = Thread(target=self._serve_connection, args=arguments, name="scripted-model-connection", daemon=True)
        with self._lock:
            self._connections[thread] = request
        thread.start()

    def _serve_connection(self, request: Any, client_address: Any) -> None:
        try:
            self.process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._connections = {
                    thread: connection for thread, connection in self._connections.items() if connection is not request
                }

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error; anything else is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def close(self) -> None:
        """Stop, breaking connections that are still open; no thread or socket is left."""
        self.closing.set()
        self.shutdown()
        self._accepting.join()
        with self._lock:
            connections = dict(self._connections)
        for thread, connection in connections.items():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Reads requests from one connection, and sends their responses."""

    protocol_version = "HTTP/1.1"
    server_version = "memorygraph-scripted-model"
    sys_version = ""
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        """Every method is served alike: what it means is the endpoint's matter."""
        try:
            body = self._read_body()
        except RefusedRequest as refused:
            self.close_connection = True
            self._send(refusal(refused))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(self.server.respond(Request(self.command, self.path, headers, body)))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET  # noqa: N815 - names that the base class looks up

    def _read_body(self) -> bytes:
        if self.headers.get("transfer-encoding"):
            raise RefusedRequest(411, "The request needs a Content-Length.")
        given = self.headers.get("content-length", "0")
        if not (given.isascii() and given.isdigit()):
            raise RefusedRequest(400, "The Content-Length is not a number.")
        length = int(given)
        if length > self.server.largest_body:
            self._discard(length)
            raise RefusedRequest(413, f"The request is larger than {self.server.largest_body} bytes.")
        body = self.rfile.read(length)
        if len(body) < length:
            raise RefusedRequest(400, "The request ended before its end.")
        return body

    def _discard(self, length: int) -> None:
        """Read on for a while: a client hears the refusal only after it has sent its body, unless that is endless."""
        rest = min(length, 4 * self.server.largest_body)
        while rest > 0 and (block := self.rfile.read(min(rest, 65536))):
            rest -= len(block)

    def _send(self, response: Response) -> None:
        started = False
        for step in response.steps:
            closed = isinstance(step, Wait) and self.server.closing.wait(step.seconds)
            if closed or isinstance(step, Cut):
                self.close_connection = True
                return
            if isinstance(step, bytes):
                if not started:
                    self._send_head(response)
                    started = True
                self._send_part(response, step)
        if response.length is None:
            self.wfile.write(b"0\r\n\r\n")

    def _send_head(self, response: Response) -> None:
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

    def _send_part(self, response: Response, part: bytes) -> None:
        self.wfile.write(part if response.length is not None else b"%x\r\n%b\r\n" % (len(part), part))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Nothing is printed: the requests are recorded."""
