"""The HTTP side of the proxy: what comes in is sent on, what comes back is sent back, and a recorded call is kept."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from memorygraph.errors import MemoryGraphError
from memorygraph.hosts import host_in_url
from memorygraph.json_text import join_halves_within, parse_json
from memorygraph.llm.addresses import MAX_UNQUOTINGS, climbs, is_loopback
from memorygraph.messages.calls import APIS, RecordedCall, bodies_without_secrets, plain_json
from memorygraph.messages.record import MIN_SECRET_CHARACTERS
from memorygraph.proxy.access import TOKEN_HEADER, Access, Admission, ProxyRefusalError
from memorygraph.proxy.bodies import DECODED, Body, RequestBody, decode, parse_answer
from memorygraph.proxy.recording import BackgroundRecording
from memorygraph.proxy.upstream import Headers, Upstream, UpstreamAnswer, UpstreamBrokeError
from memorygraph.threaded_server import ThreadedServer

BASE_PATH = "/v1"
CONVERSATION_HEADER = "X-Memorygraph-Conversation"
IDLE_S = 75.0  # that a client's connection may stay open without a byte of a request
STALLED_S = 600.0  # that a client may take no byte of an answer, or send none of a body
MAX_PROXY_CONNECTIONS = 1000
MAX_CONVERSATION_CHARACTERS = 500
NO_BODY = frozenset({204, 304})

# What is said between two neighbours of the wire, and not from one end to the other.
_HOP_HEADERS = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "expect",
        "host",
        TOKEN_HEADER.lower(),
        CONVERSATION_HEADER.lower(),
    }
)
_SECRET_HEADERS = ("authorization", "api-key", "x-api-key", "proxy-authorization", "cookie", TOKEN_HEADER)


@dataclass
class WatchedCall:
    """One call on its way through: who makes it, and the bodies of its request and its answer as they pass."""

    api: str
    admission: Admission
    conversation: str
    headers: Message
    at: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    started: float = field(default_factory=time.perf_counter)
    request: Body = field(default_factory=Body)
    response: Body = field(default_factory=Body)
    kept: bool = False  # whether it was handed over to be recorded

    def forward(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the pieces of the request's body, and keep them."""
        for piece in pieces:
            self.request.add(piece)
            yield piece

    def build_record(self, answer: UpstreamAnswer, *, whole: bool, own_key: str | None) -> RecordedCall:
        """Return what is recorded, without the keys of its headers and the proxy's own.

        Raises:
            ValueError: one of the bodies is not what the format of the API has.
        """
        request = parse_json(self.request.content)
        if not isinstance(request, dict):
            raise ValueError("the request is not an object")  # noqa: TRY004 - a value of the wire, not of a caller
        content = decode(self.response.content, answer.header("content-encoding"))
        document, complete = parse_answer(self.api, content, answer.header("content-type"))
        bodies = join_halves_within(plain_json({"request": request, "response": document}))
        return RecordedCall(
            id=uuid.uuid4().hex,
            namespace=self.admission.namespace,
            conversation=self.conversation,
            api=self.api,
            complete=complete and whole,
            latency_s=round(time.perf_counter() - self.started, 6),
            at=self.at,
            **bodies_without_secrets(**bodies, secrets=self._secrets(own_key)),
        )

    def _secrets(self, own_key: str | None) -> Iterator[str]:
        given = [value for name in _SECRET_HEADERS for value in self.headers.get_all(name, [])]
        for value in [*given, own_key or ""]:
            yield from (word for word in value.split() if len(word) >= MIN_SECRET_CHARACTERS)


class RecordingProxy:
    """A base URL that forwards to an endpoint and records each call of a model, from its making until `close`.

    Chat completions and responses are recorded, everything else is forwarded only. A call belongs to the conversation
    that its header `X-Memorygraph-Conversation` names (percent-encoded where it is not ASCII), or else to
    `conversation`, or else to the one that its prompt continues. `own_key` is sent to the endpoint for clients whose
    API key is the proxy's token. `say` is told what people should know.

    Raises:
        MemoryGraphError: it would forward to itself.
        OSError: the address cannot be bound.
    """

    def __init__(
        self,
        upstream: Upstream,
        access: Access,
        recording: BackgroundRecording,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        conversation: str = "",
        own_key: str | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.upstream = upstream
        self.access = access
        self.recording = recording
        self.conversation = conversation
        self.own_key = own_key
        self.say = say
        target = urlsplit(upstream.base_url)
        self._server = _Server((host, port), self)
        self.port = self._server.server_port
        self.base_url = f"http://{host_in_url(host)}:{self.port}{BASE_PATH}"
        if target.port == self.port and (is_loopback(target.hostname or "") or target.hostname == host):
            self._server.close()
            raise MemoryGraphError(
                f"the proxy would forward to itself: {upstream.base_url} is its own address. "
                "Name the endpoint with --upstream."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening, and break what is open; `upstream` and `recording` are closed by who made them."""
        self._server.close()

    def is_busy(self) -> bool:
        """Tell whether an answer is on its way, or a call waits to be written."""
        return self._server.connections > 0 or self.recording.waiting > 0

    def record(self, call: WatchedCall, answer: UpstreamAnswer, *, whole: bool) -> None:
        """Keep a call whose answer ends or has ended; it raises nothing."""
        call.kept = True
        try:
            self.recording.keep(call.build_record(answer, whole=whole, own_key=self.own_key))
        except Exception as error:  # noqa: BLE001 - a record never breaks a call
            self.say(f"a call could not be recorded: {error}")

    def conversation_of(self, headers: Message) -> str:
        """Return the name of the conversation of a request; empty where its prompt decides.

        Raises:
            ProxyRefusalError: the header has a name that no conversation can have.
        """
        given = headers.get(CONVERSATION_HEADER)
        if given is None:
            return self.conversation
        try:
            name = unquote(given.strip(), errors="strict")
        except UnicodeDecodeError:
            raise ProxyRefusalError(400, f"{CONVERSATION_HEADER} is percent-encoded UTF-8, and this is not") from None
        if not name or len(name) > MAX_CONVERSATION_CHARACTERS or not name.isprintable():
            raise ProxyRefusalError(
                400, f"{CONVERSATION_HEADER} is a name of 1 to {MAX_CONVERSATION_CHARACTERS} printable characters"
            )
        return name

    def headers_to_send(self, headers: Message, admission: Admission, *, recorded: bool) -> Headers:
        """Return the headers of a request as the endpoint gets them."""
        dropped = _HOP_HEADERS | named_by_connection(headers.get_all("connection", []))
        sent = [(name, value) for name, value in headers.items() if name.lower() not in dropped]
        if admission.key_is_token:
            sent = [(name, value) for name, value in sent if name.lower() != "authorization"]
            sent += [("Authorization", f"Bearer {self.own_key}")] if self.own_key else []
        if recorded:  # an answer in another encoding could not be read
            sent = [(name, readable(value) if name.lower() == "accept-encoding" else value) for name, value in sent]
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent]


def named_by_connection(values: list[str]) -> frozenset[str]:
    """Return the headers that a `Connection` header says are for the next neighbour only."""
    return frozenset(name.strip().lower() for value in values for name in value.split(","))


def readable(accepted: str) -> str:
    """Return the encodings of an `Accept-Encoding` that can be recorded.

    >>> readable("gzip, deflate, br;q=0.9, zstd"), readable("br")
    ('gzip, deflate', 'identity')
    """
    kept = [part.strip() for part in accepted.split(",") if part.partition(";")[0].strip().lower() in DECODED]
    return ", ".join(kept) or "identity"


class _Server(ThreadedServer):
    def __init__(self, address: tuple[str, int], proxy: RecordingProxy) -> None:
        self.proxy = proxy
        super().__init__(address, _Handler, "memorygraph-proxy", MAX_PROXY_CONNECTIONS)


class _Handler(BaseHTTPRequestHandler):
    """Forwards the requests of one connection, one after the other."""

    protocol_version = "HTTP/1.1"
    server_version = "memorygraph-proxy"
    sys_version = ""
    timeout = IDLE_S
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        """Serve a request of any method."""
        try:
            self.forward()
        except ProxyRefusalError as refused:
            self.refuse(refused)
        self.connection.settimeout(IDLE_S)

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET  # noqa: N815 - names that the base class looks up

    def forward(self) -> None:
        """Send the request on, and its answer back.

        Raises:
            ProxyRefusalError: nothing of an answer was sent yet, and none will come from the endpoint.
        """
        proxy = self.server.proxy
        admission = proxy.access.admit(self.headers)
        self.connection.settimeout(STALLED_S)
        path = path_below_base(self.path)
        conversation = proxy.conversation_of(self.headers)
        body = RequestBody(self.rfile, self.headers)
        api = APIS.get(path.partition("?")[0].rstrip("/")) if self.command == "POST" else None
        call = WatchedCall(api, admission, conversation, self.headers) if api else None
        headers = proxy.headers_to_send(self.headers, admission, recorded=call is not None)
        sent = call.forward(body) if call else body
        with proxy.upstream.send(self.command, path, headers, sent if body.exists else None) as answer:
            # An endpoint may answer before it has read all: then the rest is still on the connection.
            self.close_connection |= not body.ended
            recorded = call if call and answer.status < 300 else None
            try:
                self.send_answer(answer, recorded)
            except UpstreamBrokeError as error:
                self.close_connection = True  # without the end of the body, so that the client sees the break
                proxy.say(str(error))
            finally:
                if recorded and not recorded.kept:
                    proxy.record(recorded, answer, whole=False)

    def send_answer(self, answer: UpstreamAnswer, recorded: WatchedCall | None) -> None:
        """Send the answer back as it comes.

        A call is kept before its answer ends: the client's next one, which repeats the answer, is kept after it.
        """
        length = answer.header("content-length")
        has_body = self.command != "HEAD" and answer.status not in NO_BODY
        chunked = has_body and not length and self.request_version != "HTTP/1.0"
        self.close_connection |= has_body and not length and not chunked
        dropped = _HOP_HEADERS | named_by_connection([answer.header("connection")])
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.headers:
            if name.decode("latin-1").lower() not in dropped:
                self.send_header(name.decode("latin-1"), value.decode("latin-1"))
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        left = int(length) if length.isdecimal() else -1
        for piece in answer.pieces():
            left -= len(piece)
            if recorded:
                recorded.response.add(piece)
                if left == 0:
                    self.server.proxy.record(recorded, answer, whole=True)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        if recorded and not recorded.kept:
            self.server.proxy.record(recorded, answer, whole=True)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def refuse(self, refused: ProxyRefusalError) -> None:
        """Answer in the place of the endpoint, in its shape of an error."""
        # What is left of the request's body would be taken for the next request.
        self.close_connection = True
        error = {"message": f"memorygraph proxy: {refused}", "type": "memorygraph_proxy", "param": None, "code": None}
        body = json.dumps({"error": error}).encode()
        self.send_response(refused.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Print nothing: a request's path and headers are nobody else's business."""


def path_below_base(target: str) -> str:
    """Return what follows `/v1` in the target of a request.

    Raises:
        ProxyRefusalError: it is not below `/v1`.
    """
    path = target.partition("?")[0]
    if path != BASE_PATH and not path.startswith(f"{BASE_PATH}/"):
        raise ProxyRefusalError(404, f"the recording proxy serves below {BASE_PATH}: its base URL ends in {BASE_PATH}")
    if climbs(path):
        raise ProxyRefusalError(
            400, f"a path has no parts `.` or `..`, nor is it percent-encoded more than {MAX_UNQUOTINGS} times"
        )
    return target.removeprefix(BASE_PATH)
