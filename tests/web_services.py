"""Web services of others on this machine: they note who comes, and answer as they were told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple, Self

SAYING = "what-only-the-stranger-says"


class Answer(NamedTuple):
    """What a web service answers: a body of JSON."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = {}


class LocalServer:
    """A web server on a free port of this machine."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.port = self._server.server_port
        self.host = f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class WebService(LocalServer):
    """Answers each request, of a method and a path with a body, as a function says."""

    def __init__(self, answer: Callable[[str, str, bytes], Answer]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def reply(self) -> None:
                given = self.rfile.read(int(self.headers["Content-Length"] or 0))
                body, status, headers = answer(self.command, self.path, given)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = reply  # noqa: N815 - http.server calls them so

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        super().__init__(Handler)


class Stranger(WebService):
    """Answers every request with one status, with headers, and with a body that holds `SAYING`."""

    def __init__(self, status: int = 418, headers: Mapping[str, str] | None = None) -> None:
        self.visits: list[str] = []

        def answer(method: str, path: str, _given: bytes) -> Answer:
            self.visits.append(f"{method} {path}")
            return Answer(b'{"error": {"message": "%s"}}' % SAYING.encode(), status, headers or {})

        super().__init__(answer)


class Site(WebService):
    """Answers every POST with the JSON value that `answers` has for its path, or an empty object."""

    def __init__(self, answers: dict[str, Any] | None = None) -> None:
        self.posts: list[tuple[str, Any]] = []

        def answer(_method: str, path: str, given: bytes) -> Answer:
            self.posts.append((path, json.loads(given)))
            said = (answers or {}).get(path, {})
            return Answer(json.dumps(said).encode(), said if isinstance(said, int) else 200)

        super().__init__(answer)
