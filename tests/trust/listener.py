"""What stands between clients and Neo4j in these tests: it listens on a port, with a thread for each connection."""

from __future__ import annotations

import select
import socket
import threading
from typing import Self
from urllib.parse import urlsplit


class Listener:
    """Serves connections until it is closed; `server` is where Neo4j is."""

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        self.server = (parts.hostname or "127.0.0.1", parts.port or 7687)
        self.closing = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._listen)]
        self._threads[0].start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _listen(self) -> None:
        while not self.closing.is_set():
            if select.select([self._listener], [], [], 0.1)[0]:
                client, _ = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(client,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, client: socket.socket) -> None:
        """Serve one connection."""
        raise NotImplementedError
