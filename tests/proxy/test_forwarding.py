"""The proxy passes requests and answers on as they are, whatever the endpoint and the client do."""

from __future__ import annotations

import gzip
import json
import socket
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event, Thread

import openai
import pytest

from memorygraph import MemoryGraph, threaded_server
from memorygraph.errors import MemoryGraphError
from memorygraph.proxy import Access, Upstream, bodies
from memorygraph.scripted.replies import Failure, Reply
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.proxy.conftest import Proxies, eventually
from tests.proxy.upstreams import TIMEOUT_S, RawClient, RawRequest, RawUpstream

HI = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
COMPLETION = json.dumps(
    {"id": "c", "object": "chat.completion", "model": "m", "created": 1, "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}]}
).encode()  # fmt: skip
EVENTS = [
    b'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}\n\n',
    b": keep-alive\n\n",
    b'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"lo"},"fini',
    b'sh_reason":"stop"}]}\n\ndata: [DONE]\n\n',
]


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def whole(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> list[bytes]:
    lines = b"".join(header + b"\r\n" for header in headers)
    return [b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n" % (status, lines, len(body)), body]


def stored(graph: MemoryGraph) -> list[list[str]]:
    """The texts of each version of each conversation."""
    conversations = [graph.messages(info.name) for info in graph.conversations()]
    return [
        [str(message["content"]) for message in history.checkout(version)]
        for history in conversations
        for version in history.versions()
        if version.length
    ]


def test_a_stream_passes_piece_by_piece_and_byte_for_byte(proxies: Proxies, graph: MemoryGraph) -> None:
    seen = [Event() for _ in EVENTS]

    def answer(_request: RawRequest) -> Iterable[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        for piece, arrived in zip(EVENTS, seen, strict=True):
            yield chunk(piece)
            assert arrived.wait(TIMEOUT_S)  # the next is sent when the client has this one
        yield b"0\r\n\r\n"

    with RawUpstream(answer) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.send("POST", "/v1/chat/completions", HI.replace(b"{", b'{"stream": true, ', 1))
        assert b"200 OK" in client.read_head()
        pieces = []
        for arrived in seen:
            pieces.append(client.read_chunk())
            arrived.set()
        assert client.read_chunk() == b""
    assert pieces == EVENTS
    assert eventually(lambda: stored(graph)) == [["Hi", "Hello"]]


def test_a_compressed_answer_passes_compressed_and_is_recorded(proxies: Proxies, graph: MemoryGraph) -> None:
    packed = gzip.compress(COMPLETION)
    answer = whole(packed, b"Content-Encoding: gzip", b"Content-Type: application/json")
    with RawUpstream(lambda _: answer) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.send("POST", "/v1/chat/completions", HI, accept_encoding="gzip, br, zstd")
        head, body = client.answer()
    assert (body, head.headers["content-encoding"]) == (packed, "gzip")
    assert upstream.requests[0].headers["accept-encoding"] == "gzip"  # another one could not be recorded
    assert eventually(lambda: stored(graph)) == [["Hi", "Hello"]]


def test_a_request_reaches_the_endpoint_as_it_was_sent(proxies: Proxies) -> None:
    with RawUpstream(lambda _: whole(b"{}")) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.send(
            "PATCH", "/v1/a%20b/c?after=x%2Fy&n=1", b"\x00\xff", Authorization="Bearer sk-1", X_Custom="caf\xe9"
        )
        client.answer()
    [request] = upstream.requests
    assert request.line == "PATCH /v1/a%20b/c?after=x%2Fy&n=1 HTTP/1.1"
    assert request.body == b"\x00\xff"
    host = upstream.base_url.removeprefix("http://").removesuffix("/v1")
    assert request.headers == {
        "host": host, "content-length": "2", "authorization": "Bearer sk-1", "x-custom": "caf\xe9"
    }  # fmt: skip


def test_the_head_of_an_answer_passes_with_repeated_headers_and_its_reason(proxies: Proxies) -> None:
    answer = whole(b"no", b"Set-Cookie: a=1", b"Set-Cookie: b=2", b"X-RateLimit: 3", status=b"418 I am a teapot")
    with RawUpstream(lambda _: answer) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.send("GET", "/v1/models")
        head = client.read_head().decode()
        assert client.stream.read(2) == b"no"
    assert head.splitlines()[0] == "HTTP/1.1 418 I am a teapot"
    assert sorted(line for line in head.splitlines()[1:] if line) == [
        "Content-Length: 2", "Set-Cookie: a=1", "Set-Cookie: b=2", "X-RateLimit: 3"
    ]  # fmt: skip


def test_a_body_in_chunks_is_forwarded_and_the_connection_goes_on(proxies: Proxies, graph: MemoryGraph) -> None:
    with RawUpstream(lambda _: whole(COMPLETION)) as upstream:
        with RawClient(proxies(upstream.base_url).base_url) as client:
            body = chunk(HI[:10]) + chunk(HI[10:]) + b"0\r\nX-Trailer: 1\r\n\r\n"
            head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {client.host}\r\ntransfer-encoding: chunked\r\n\r\n"
            client.socket.sendall(head.encode() + body)
            assert client.answer()[1] == COMPLETION
            client.send("GET", "/v1/models")
            assert client.answer()[1] == COMPLETION
        assert upstream.requests[0].body == HI
    assert eventually(lambda: stored(graph)) == [["Hi", "Hello"]]


def test_an_upload_passes_that_is_larger_than_what_is_recorded(
    proxies: Proxies, graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bodies, "MAX_RECORDED_BYTES", 1 << 20)
    text = HI.replace(b"Hi", b"x" * (1 << 20))
    with RawUpstream(lambda _: whole(COMPLETION)) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.send("POST", "/v1/chat/completions", text)
        assert client.answer()[1] == COMPLETION
        assert len(upstream.requests[0].body) == len(text)
    assert eventually(lambda: proxies.said) == ["a call could not be recorded: its body is longer than 1 MiB"]
    assert stored(graph) == []


def test_an_answer_without_a_length_passes_to_its_end(proxies: Proxies, graph: MemoryGraph) -> None:
    def answer(_request: RawRequest) -> Iterable[bytes | None]:
        yield b"HTTP/1.0 200 OK\r\n\r\n" + COMPLETION[:9]
        yield COMPLETION[9:]
        yield None

    with RawUpstream(answer) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.send("POST", "/v1/chat/completions", HI)
        assert client.answer()[1] == COMPLETION
    assert eventually(lambda: stored(graph)) == [["Hi", "Hello"]]


def test_a_client_of_http_1_0_gets_no_chunks(proxies: Proxies) -> None:
    def answer(_request: RawRequest) -> Iterable[bytes]:
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"ab") + chunk(b"c") + b"0\r\n\r\n"

    with RawUpstream(answer) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.socket.sendall(f"GET /v1/models HTTP/1.0\r\nhost: {client.host}\r\n\r\n".encode())
        assert b"chunked" not in client.read_head()
        assert client.stream.read() == b"abc"


def test_the_answer_to_a_head_has_its_length_and_no_body(proxies: Proxies) -> None:
    def answer(request: RawRequest) -> list[bytes]:
        return whole(b"abc")[:1] if request.line.startswith("HEAD") else whole(b"abc")

    with RawUpstream(answer) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.send("HEAD", "/v1/models")
        assert b"Content-Length: 3" in client.read_head()
        client.send("GET", "/v1/models")
        assert client.answer()[1] == b"abc"


def test_a_redirect_is_passed_on_and_not_followed(proxies: Proxies) -> None:
    answer = whole(b"", b"Location: https://elsewhere.example/v1", status=b"307 Temporary Redirect")
    with RawUpstream(lambda _: answer) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.send("POST", "/v1/chat/completions", HI)
        head, _ = client.answer()
    assert head.headers["location"] == "https://elsewhere.example/v1"
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_an_error_of_the_endpoint_is_passed_on_and_not_recorded(
    proxies: Proxies, graph: MemoryGraph, status: int
) -> None:
    failure = Failure(status, "that is wrong", retry_after=7)
    with ScriptedModel(failure) as model:
        direct = proxies.client(model.base_url)
        proxy = proxies(model.base_url)
        proxied = proxies.client(proxy.base_url)
        bodies = []
        for client in (direct, proxied):
            with pytest.raises(openai.APIStatusError) as caught:
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
            assert caught.value.response.headers["retry-after"] == "7"
            bodies.append((caught.value.status_code, caught.value.response.content))
    assert bodies[0] == bodies[1]
    proxy.recording.close()  # what was kept is written by now
    assert (stored(graph), proxies.said, proxy.recording.waiting) == ([], [], 0)


def test_an_endpoint_that_cannot_be_reached_is_said_in_its_own_shape(proxies: Proxies) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody else gets the port, and nobody listens there
        client = proxies.client(proxies(f"http://127.0.0.1:{silent.getsockname()[1]}/v1").base_url)
        with pytest.raises(openai.InternalServerError, match="cannot be reached") as caught:
            client.models.list()
    assert caught.value.status_code == 502


def test_an_endpoint_that_says_nothing_in_time_is_a_504(proxies: Proxies) -> None:
    release = Event()

    def answer(_request: RawRequest) -> Iterable[bytes]:
        release.wait(TIMEOUT_S)
        yield b""

    with RawUpstream(answer) as upstream, RawClient(proxies(upstream.base_url, silence=0.2).base_url) as client:
        client.send("POST", "/v1/chat/completions", HI)
        head, body = client.answer()
        release.set()
    assert "504" in head.line
    assert "said nothing" in json.loads(body)["error"]["message"]


def test_a_closed_proxy_does_not_wait_for_the_endpoint(proxies: Proxies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threaded_server, "CLOSING_S", 0.1)
    asked, release, answered = Event(), Event(), Event()

    def answer(_request: RawRequest) -> Iterable[bytes]:
        asked.set()
        release.wait(TIMEOUT_S)
        answered.set()
        yield from whole(COMPLETION)

    with RawUpstream(answer) as upstream:
        proxy = proxies(upstream.base_url)
        with RawClient(proxy.base_url) as client:
            client.send("POST", "/v1/chat/completions", HI)
            assert asked.wait(TIMEOUT_S)
            proxy.close()  # would wait for the endpoint's whole TIMEOUT_S
            assert not answered.is_set()
        release.set()


def test_a_path_that_no_url_can_hold_is_encoded(proxies: Proxies) -> None:
    with RawUpstream(lambda _: whole(b"{}")) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.send("GET", "/v1/models/mod\u00c3\u00a8le\x7f%20")
        client.answer()
        assert [request.line.split()[1] for request in upstream.requests] == ["/v1/models/mod%C3%A8le%7F%20"]


def test_a_path_that_begins_as_an_address_does_is_passed_on(proxies: Proxies) -> None:
    with RawUpstream(lambda _: whole(b"{}")) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.send("POST", "/v1//[x")
        client.answer()
        assert len(upstream.requests) == 1


def test_a_stream_that_the_endpoint_breaks_is_broken_for_the_client_and_kept_as_cut(
    proxies: Proxies, graph: MemoryGraph
) -> None:
    def answer(_request: RawRequest) -> Iterable[bytes | None]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        yield chunk(EVENTS[0])
        yield None

    with RawUpstream(answer) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.send("POST", "/v1/chat/completions", HI)
        client.read_head()
        assert client.read_chunk() == EVENTS[0]
        assert client.stream.read() == b""  # neither an end nor another chunk
    assert eventually(lambda: stored(graph)) == [["Hi"]]
    assert "the answer broke off" in proxies.said[0]
    [info] = graph.conversations()
    [attachment] = graph.messages(info.name).attachments()
    assert attachment.metadata["finished"] is False
    assert attachment.metadata["response"]["choices"][0]["message"]["content"] == "Hel"


def test_a_client_that_leaves_ends_the_stream_of_the_endpoint_and_what_came_is_kept(
    proxies: Proxies, graph: MemoryGraph
) -> None:
    left, noticed = Event(), Event()

    def answer(_request: RawRequest) -> Iterable[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        yield chunk(EVENTS[0])
        assert left.wait(TIMEOUT_S)
        try:
            while True:
                yield chunk(b": still here\n\n")
        finally:
            noticed.set()

    with RawUpstream(answer) as upstream:
        with RawClient(proxies(upstream.base_url).base_url) as client:
            client.send("POST", "/v1/chat/completions", HI)
            client.read_head()
            client.read_chunk()
        left.set()
        assert noticed.wait(TIMEOUT_S)
    assert eventually(lambda: stored(graph)) == [["Hi"]]


@pytest.mark.slow
def test_a_hundred_requests_at_a_time_pass(proxies: Proxies, graph: MemoryGraph) -> None:
    with ScriptedModel(lambda request: Reply(f"to {request.prompt}")) as model:
        client = proxies.client(proxies(model.base_url).base_url)

        def ask(number: int) -> str | None:
            said = client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"no. {number}"}])
            return said.choices[0].message.content

        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(ask, range(100)))
    assert answers == [f"to no. {number}" for number in range(100)]
    assert eventually(lambda: len(stored(graph)) == 100)


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        ("GET /models HTTP/1.1\r\nhost: {host}\r\n\r\n", b"404"),
        ("GET /v1/../admin HTTP/1.1\r\nhost: {host}\r\n\r\n", b"400"),
        ("GET /v1/%2e%2E/admin HTTP/1.1\r\nhost: {host}\r\n\r\n", b"400"),
        ("GET /v1/..%2f..%2fadmin HTTP/1.1\r\nhost: {host}\r\n\r\n", b"400"),
        ("GET /v1/..\\admin HTTP/1.1\r\nhost: {host}\r\n\r\n", b"400"),
        ("GET /v1/..;/admin HTTP/1.1\r\nhost: {host}\r\n\r\n", b"400"),
        ("GET /v1/%252e%252e/admin HTTP/1.1\r\nhost: {host}\r\n\r\n", b"400"),
        (f"GET /v1/%{'25' * 10}2e HTTP/1.1\r\nhost: {{host}}\r\n\r\n", b"400"),
        ("GET http://elsewhere.example/v1/models HTTP/1.1\r\nhost: {host}\r\n\r\n", b"404"),
        ("POST /v1/x HTTP/1.1\r\nhost: {host}\r\ncontent-length: -1\r\n\r\n", b"400"),
        ("POST /v1/x HTTP/1.1\r\nhost: {host}\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", b"400"),
        ("POST /v1/x HTTP/1.1\r\nhost: {host}\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", b"400"),
        ("GET /v1/models HTTP/1.1\r\nhost: elsewhere.example\r\n\r\n", b"403"),
        ("GET /v1/models HTTP/1.1\r\nhost: {host}\r\norigin: https://elsewhere.example\r\n\r\n", b"403"),
        ("GET /v1/models HTTP/1.1\r\nhost: {host}\r\norigin: null\r\n\r\n", b"403"),
        ("GET /v1/models HTTP/1.1\r\nhost: {host}\r\nX-Memorygraph-Conversation: %0A\r\n\r\n", b"400"),
        ("GET /v1/models HTTP/1.1\r\nhost: {host}\r\nX-Memorygraph-Conversation: caf%e9\r\n\r\n", b"400"),
    ],
)
def test_what_the_proxy_refuses_reaches_no_endpoint(proxies: Proxies, request_head: str, status: bytes) -> None:
    with RawUpstream(lambda _: whole(b"{}")) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.socket.sendall(request_head.format(host=client.host).encode())
        assert client.read_head().split()[1] == status
    assert upstream.requests == []


def test_a_connection_whose_thread_cannot_start_takes_no_place(
    proxies: Proxies, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refused(Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    with RawUpstream(lambda _: whole(b"{}")) as upstream:
        proxy = proxies(upstream.base_url)
        with monkeypatch.context() as patched:
            patched.setattr(threaded_server, "Thread", Refused)
            with RawClient(proxy.base_url) as client:
                assert client.socket.recv(1) == b""
        assert not proxy.is_busy()
        with RawClient(proxy.base_url) as client:
            client.send("GET", "/v1/models")
            assert "200" in client.answer()[0].line
        proxy.close()


def test_a_page_of_this_machine_may_use_the_proxy(proxies: Proxies) -> None:
    with RawUpstream(lambda _: whole(b"{}")) as upstream, RawClient(proxies(upstream.base_url).base_url) as client:
        client.send("GET", "/v1/models", origin="http://localhost:3000")
        assert "200" in client.answer()[0].line


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_others_than_this_machine_are_served_with_tokens_only(host: str) -> None:
    with pytest.raises(MemoryGraphError, match="give it tokens"):
        Access(host, "default")
    assert Access(host, "default", {"t": "team"}).namespaces == {"team"}


def test_the_proxy_does_not_forward_to_itself(proxies: Proxies) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(MemoryGraphError, match="forward to itself"):
        proxies(f"http://localhost:{port}/v1", port=port)


@pytest.mark.parametrize("url", ["ftp://x/v1", "https://me:pw@x/v1", "https://x/v1?key=1", "nonsense"])
def test_an_address_that_cannot_be_forwarded_to_is_refused_without_its_secrets(proxies: Proxies, url: str) -> None:
    with pytest.raises(MemoryGraphError) as caught:
        proxies(url)
    assert "pw" not in str(caught.value)


def test_a_proxy_of_the_environment_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)  # as where it is not installed
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(MemoryGraphError, match="ALL_PROXY names a SOCKS proxy"):
        Upstream("http://192.0.2.1/v1")
    with closing(Upstream("http://127.0.0.1:1/v1")) as upstream:  # which no proxy can reach
        assert str(upstream) == "http://127.0.0.1:1"
