"""An HTTP server of threads, one for each connection, that all end when it is closed.

Python's `ThreadingHTTPServer` alone leaves open connections to their threads when it is closed, and limits no number.
"""

from __future__ import annotations

import socket
import sys
import time
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

ACCEPT_INTERVAL_S = 0.02
CLOSING_S = 4.0


class ThreadedServer(ThreadingHTTPServer):
    """Serves at an address from the moment it is made until it is closed.

    A connection beyond `max_connections` is closed without a word.

    Raises:
        OSError: the address cannot be bound.
    """

    request_queue_size = 128

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], name: str, max_connections: int = 10_000
    ) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, handler)
        self.closing = Event()
        self._name = name
        self._max_connections = max_connections
        self._lock = Lock()
        self._connections: dict[Thread, socket.socket] = {}
        accept = partial(self.serve_forever, ACCEPT_INTERVAL_S)
        self._accepting = Thread(target=accept, name=name, daemon=True)
        self._accepting.start()

    def server_bind(self) -> None:
        """Bind without asking the resolver for this machine's name, as the base class does, which can take seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, and remember both."""

        def serve() -> None:
            try:
                self.process_request_thread(request, client_address)
            finally:
                with self._lock:
                    self._connections.pop(thread, None)

        thread = Thread(target=serve, name=f"{self._name}-connection", daemon=True)
        with self._lock:
            if len(self._connections) >= self._max_connections:
                self.shutdown_request(request)
                return
            thread.start()  # it waits for the lock at its end; one that cannot start is not remembered
            self._connections[thread] = request

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._connections)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show an error, unless it is only a client that went away."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def close(self) -> None:
        """Stop, breaking connections that are still open; no socket is left.

        A thread that waits for more than `CLOSING_S`, as for a slow model, ends with its answer, or with the process.
        """
        self.closing.set()
        self.shutdown()
        self._accepting.join()
        with self._lock:
            connections = dict(self._connections)
        for connection in connections.values():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        deadline = time.monotonic() + CLOSING_S
        for thread in connections:
            thread.join(max(0.0, deadline - time.monotonic()))
        self.server_close()
