"""Web services over a real local HTTP server: what is sent, what comes back, and where nothing leads."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pytest

from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.permissions import SCHEMES, Permissions, Refused
from memorygraph.runtime.tools import ImportedTool, ToolFailure, http, open_tool
from tests.runtime.tools.portals import portal_threads
from tests.web_services import LocalServer

pytestmark = pytest.mark.timeout(120)


@dataclass
class Site:
    """A web server, and the requests that it has seen."""

    port: int = 0
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        return [path for _, path, _, _ in self.seen]


class Answers(BaseHTTPRequestHandler):
    """What the server says is told by the last part of the path."""

    site: ClassVar[Site]

    def handle_any(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.site.seen.append((self.command, self.path, headers, content))
        name = self.path.partition("?")[0].rpartition("/")[2]
        with suppress(BrokenPipeError, ConnectionResetError):  # the client has seen enough
            getattr(self, f"answer_{name}", self.answer_other)(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_any  # noqa: N815

    def send(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def answer_other(self, content: bytes) -> None:
        target = self.site.redirects.get(self.path.partition("?")[0])
        if target is not None:
            self.send(302, b"", Location=target)
        else:
            said = {"method": self.command, "path": self.path, "content": content.decode()}
            self.send(200, json.dumps(said).encode(), Content_Type="application/json; charset=utf-8")

    def answer_text(self, _: bytes) -> None:
        self.send(200, "größer".encode("latin-1"), Content_Type="text/plain; charset=latin-1")

    def answer_bad_charset(self, _: bytes) -> None:
        self.send(200, b"a\xff", Content_Type=f"text/plain; charset={self.path.partition('?')[2]}")

    def answer_bad_json(self, _: bytes) -> None:
        self.send(200, b"{NaN", Content_Type="application/json")

    def answer_deep(self, _: bytes) -> None:
        self.send(200, b"[" * 200_000, Content_Type="application/json")

    def answer_nothing(self, _: bytes) -> None:
        self.send(204, b"")

    def answer_missing(self, _: bytes) -> None:
        self.send(404, b'{"error": "no such thing"}' + b" " * 5000, Content_Type="application/json")

    def answer_broken(self, _: bytes) -> None:
        self.send(500, b"it broke " * 1000, Content_Type="text/plain")

    def answer_large(self, _: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "200000000")
        self.end_headers()
        for _number in range(200):
            self.wfile.write(b"x" * 1_000_000)

    def answer_bomb(self, _: bytes) -> None:
        self.send(200, gzip.compress(b"\0" * 200_000_000, 9), Content_Encoding="gzip")

    def answer_late(self, _: bytes) -> None:
        time.sleep(3)
        self.send(200, b"late")

    def answer_drip(self, _: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        for _number in range(100):
            self.wfile.write(b"x")
            time.sleep(0.05)

    def answer_drip_headers(self, _: bytes) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(100):
            self.wfile.write(f"X-{number}: y\r\n".encode())
            time.sleep(0.05)

    def answer_cut(self, _: bytes) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

    def answer_garbage(self, _: bytes) -> None:
        self.wfile.write(b"\0\1\2 this is not HTTP\r\n\r\n")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Callable[[], Site]]:
    """Start web servers, which end with the test."""
    with ExitStack() as stack:

        def start() -> Site:
            site = Site()
            server = LocalServer(type("Handler", (Answers,), {"site": site}))
            site.port = stack.enter_context(server).port
            return site

        yield start


@pytest.fixture
def site(serve: Callable[[], Site]) -> Site:
    return serve()


@pytest.fixture
def tool(site: Site) -> Iterator[ImportedTool]:
    tool = open_tool("Api", f"http://127.0.0.1:{site.port}/v1", Path(), Permissions.of(["http"]))
    yield tool
    tool.close()


def test_get_gives_the_json_value(tool: ImportedTool) -> None:
    result = tool.call("get", ["items/7", {"q": "a b&c", "n": 2.0, "flag": True, "tag": ["x", "y"], "none": None}])
    path = "/v1/items/7?q=a+b%26c&n=2&flag=true&tag=x&tag=y"
    assert result.value == {"method": "GET", "path": path, "content": ""}
    assert result.effects == {"method": "GET", "status": 200, "bytes": len(json.dumps(result.value))}


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("", "/v1"),
        ("/", "/v1/"),
        ("items", "/v1/items"),
        ("/items", "/v1/items"),
        ("items/", "/v1/items/"),
        ("?a=1", "/v1?a=1"),
        ("items?url=http://evil/../x", "/v1/items?url=http://evil/../x"),
        ("a b/ü", "/v1/a%20b/%C3%BC"),
        ("a%20b", "/v1/a%20b"),
        ("time/12:30", "/v1/time/12:30"),
        ("a..b/...", "/v1/a..b/..."),
        ("@name", "/v1/@name"),
    ],
)
def test_paths_go_below_the_base(path: str, seen: str, tool: ImportedTool, site: Site) -> None:
    tool.call("get", [path])
    assert site.paths == [seen]


def test_a_base_without_a_path(site: Site) -> None:
    for base in ("", "/"):
        tool = open_tool("Api", f"http://127.0.0.1:{site.port}{base}", Path(), Permissions.of(["http"]))
        tool.call("get", ["a"])
        tool.call("get", [])
        tool.close()
    assert site.paths == ["/a", "/", "/a", "/"]


@pytest.mark.parametrize(
    "path", ["//evil.example.com", "///x", "http://evil.example.com/", "https:evil", "ftp://x", "../admin",
             "a/../../admin", "..", ".", "%2e%2e/admin", "%2E%2e%2fadmin", "%252e%252e/admin", "..%2fadmin",
             "%2525252e%2525252e/admin", "..\\admin", "%5c%2e%2e/x", "..%5cadmin", "a//b", "a%2f%2fb", "a#b",
             "a\r\nX-Evil: 1", "a\nb", "a\0", "a%0d%0a/../x", "/..;/admin", "%2e%2e;x=1/admin", "a/.. /b",
             "\\\\evil", "a\tb", "\u2028", f"%{'25' * 10}2e", f"a%{'25' * 10}2fb"]
)  # fmt: skip
def test_no_path_leads_out(path: str, tool: ImportedTool, site: Site) -> None:
    for method, argument in (("get", path), ("post", path), ("request", {"path": path})):
        with pytest.raises(ToolFailure, match="path"):
            tool.call(method, [argument])
    assert site.seen == []


def test_a_path_that_is_encoded_without_end_is_refused_at_once(tool: ImportedTool, site: Site) -> None:
    path, started = f"%{'25' * 200_000}", time.perf_counter()
    with pytest.raises(ToolFailure, match="percent-encoded more than 10 times"):
        tool.call("get", [path])
    with pytest.raises(MemoryGraphError, match="percent-encoded more than 10 times"):
        open_tool("Api", f"http://127.0.0.1:{site.port}/{path}", Path(), Permissions.of(["http"]))
    assert time.perf_counter() - started < 5
    assert tool.call("get", [f"a%{'25' * 9}2e"]).value is not None


@pytest.mark.parametrize("method", ["post", "put", "patch"])
def test_bodies_are_json_or_text(method: str, tool: ImportedTool, site: Site) -> None:
    value = {"name": "Größe", "n": [1, 1.5, None, True]}
    assert json.loads(tool.call(method, ["items", value]).value["content"]) == value
    assert tool.call(method, ["items", "plain: ü"]).value["content"] == "plain: ü"
    assert tool.call(method, ["items", False]).value["content"] == "false"
    assert tool.call(method, ["items"]).value["content"] == ""
    types = [headers.get("content-type") for _, _, headers, _ in site.seen]
    assert types == ["application/json", "text/plain; charset=utf-8", "application/json", None]
    assert {verb for verb, _, _, _ in site.seen} == {method.upper()}


def test_delete(tool: ImportedTool) -> None:
    assert tool.call("delete", ["items/7"]).value["method"] == "DELETE"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("text", "größer"),
        *((f"bad_charset?{name}", "a\ufffd") for name in ("nonesuch", "hex", "idna", "punycode", "undefined")),
        ("bad_json", "{NaN"),
        ("deep", "[" * 200_000),
        ("nothing", None),
    ],
)
def test_what_is_no_json_is_a_text(path: str, value: str, tool: ImportedTool) -> None:
    assert tool.call("get", [path]).value == value


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing", 'the status is 404: {"error":"no such thing"}'),
        ("broken", "the status is 500: it broke"),
        ("cut", "."),
        ("garbage", "."),
    ],
)
def test_failures_say_why(path: str, message: str, tool: ImportedTool, site: Site) -> None:
    with pytest.raises(ToolFailure) as failure:
        tool.call("get", [path])
    assert str(failure.value).startswith(f"Tool Api.get (http://127.0.0.1:{site.port}/v1) failed: ")
    assert message in str(failure.value)
    assert len(str(failure.value)) < 500


def test_request_gives_the_whole_answer_whatever_the_status(tool: ImportedTool, site: Site) -> None:
    options = {
        "method": "post",
        "path": "missing",
        "query": {"a": 1},
        "headers": {"X-Key": "k", "accept": "x/y"},
        "body": [1],
    }
    value = tool.call("request", [options]).value
    assert (value["status"], value["body"]) == (404, {"error": "no such thing"})
    assert value["headers"]["content-type"] == "application/json"
    verb, path, headers, content = site.seen[0]
    assert (verb, path, headers["x-key"], headers["accept"], content) == ("POST", "/v1/missing?a=1", "k", "x/y", b"[1]")
    assert tool.call("request", [{"method": "HEAD", "path": "text"}]).value["body"] is None


def test_half_a_character_in_a_query_is_replaced(tool: ImportedTool, site: Site) -> None:
    tool.call("request", [{"path": "missing", "query": {"a\ud83d": ["\ud83d", "b"]}}])
    assert [path for _, path, _, _ in site.seen] == ["/v1/missing?a%EF%BF%BD=%EF%BF%BD&a%EF%BF%BD=b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("x", "a request is an object"),
        ({"url": "http://evil"}, "a request has no `url`; it has method, path, query, headers, body"),
        ({"method": "CONNECT"}, "there is no method 'CONNECT'"),
        ({"method": "GET\r\nX: y"}, "there is no method"),
        ({"path": 1}, "a path is a text"),
        ({"query": []}, "a query is an object, and this is a list"),
        ({"query": {"a": {}}}, "`a` in a query"),
        ({"query": {"a": [10**5000]}}, "`a` in a query is a number with more digits than can be written"),
        ({"headers": {"A": "b\r\nX-Evil: 1"}}, "is no header"),
        ({"headers": {"A\r\nX-Evil": "b"}}, "is no header"),
        ({"headers": {"A:": "b"}}, "is no header"),
        ({"headers": {"A": "\u2028"}}, "is no header"),
        ({"headers": {"A": 1}}, "is a text"),
        ({"headers": {"hOsT": "evil"}}, "not for a program to set"),
        ({"headers": {"Content-Length": "0"}}, "not for a program to set"),
        ({"headers": {"Transfer-Encoding": "chunked"}}, "not for a program to set"),
        ({"headers": {"Proxy-Authorization": "x"}}, "not for a program to set"),
        ({"body": "x" * 10_000_001}, "10,000,000 are the most"),
    ],
)
def test_a_wrong_request_is_never_sent(options: Any, message: str, tool: ImportedTool, site: Site) -> None:
    with pytest.raises(ToolFailure, match=message):
        tool.call("request", [options])
    assert site.seen == []


def test_redirects_below_the_base_are_followed(tool: ImportedTool, site: Site) -> None:
    site.redirects = {"/v1/a": "/v1/b", "/v1/b": f"http://127.0.0.1:{site.port}/v1/c"}
    assert tool.call("get", ["a"]).value["path"] == "/v1/c"
    assert site.paths == ["/v1/a", "/v1/b", "/v1/c"]


def test_a_circle_of_redirects_ends(tool: ImportedTool, site: Site) -> None:
    site.redirects = {"/v1/a": "/v1/a"}
    with pytest.raises(ToolFailure, match="redirected more than 5 times"):
        tool.call("get", ["a"])
    assert len(site.paths) == 6


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_only_a_get_is_redirected(method: str, tool: ImportedTool, site: Site) -> None:
    site.redirects = {"/v1/a": "/v1/b"}
    with pytest.raises(ToolFailure, match=f"the answer to a {method.upper()} is a redirect"):
        tool.call(method, ["a"])
    answer = tool.call("request", [{"method": method, "path": "a"}]).value
    assert (answer["status"], answer["headers"]["location"]) == (302, "/v1/b")
    assert site.paths == ["/v1/a", "/v1/a"]


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:{other}/v1/x", "//127.0.0.1:{other}/v1/x", "http://localhost:{port}/v1/x", "/admin",
               "/v1x", "/v1/../admin", "/v1/%2e%2e/admin", "/v1/%252e%252e/admin", "http://u:pw@127.0.0.1:{port}/v1/x",
               "https://127.0.0.1:{port}/v1/x", "file:///etc/passwd", "http://[", "../v1x"]
)  # fmt: skip
def test_no_redirect_leads_out(target: str, tool: ImportedTool, site: Site, serve: Callable[[], Site]) -> None:
    other = serve()
    site.redirects = {"/v1/a": target.format(other=other.port, port=site.port)}
    with pytest.raises(ToolFailure) as failure:
        tool.call("get", ["a"])
    assert (site.paths, other.paths) == (["/v1/a"], [])
    assert "pw" not in str(failure.value)


@pytest.mark.parametrize("path", ["large", "bomb"])
def test_a_large_answer_is_not_read_to_its_end(path: str, tool: ImportedTool) -> None:
    with pytest.raises(ToolFailure, match="the answer has more than 10,000,000 bytes"):
        tool.call("get", [path])


@pytest.mark.parametrize("path", ["late", "drip", "drip_headers"])
def test_the_time_limit_is_for_the_whole_answer(path: str, tool: ImportedTool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "SECONDS", 0.5)
    started = time.monotonic()
    with pytest.raises(ToolFailure, match=r"no whole answer came within 0.5 seconds"):
        tool.call("get", [path])
    assert time.monotonic() - started < 10


def test_a_server_that_is_not_there(serve: Callable[[], Site]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        tool = open_tool("Api", f"http://127.0.0.1:{free.getsockname()[1]}", Path(), Permissions.of(["http"]))
        with pytest.raises(ToolFailure, match=r"failed: .*onnect"):
            tool.call("get", [])
        tool.close()


def test_proxies_of_the_environment_are_not_used_on_loopback(
    tool: ImportedTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert tool.call("get", ["a"]).value["path"] == "/v1/a"


def test_only_listed_hosts_are_reached(site: Site) -> None:
    uri = f"http://127.0.0.1:{site.port}"
    for permissions in (Permissions(), Permissions.of(SCHEMES, ["127.0.0.1:1"]), Permissions.of([], ["localhost"])):
        with pytest.raises(Refused, match=f"--allow-host 127.0.0.1:{site.port}"):
            open_tool("Api", uri, Path(), permissions).call("get", [])
    assert site.seen == []
    tool = open_tool("Api", uri, Path(), Permissions.of([], [f"127.0.0.1:{site.port}"]))
    assert tool.call("get", []).value["path"] == "/"
    tool.close()


def test_it_works_where_a_loop_runs_already(tool: ImportedTool) -> None:
    async def cell_of_a_notebook() -> Any:
        return tool.call("get", ["a"]).value["path"]

    assert asyncio.run(cell_of_a_notebook()) == "/v1/a"


def test_close_ends_the_thread_and_a_later_call_begins_anew(tool: ImportedTool) -> None:
    before = portal_threads()
    for _ in range(2):
        tool.call("get", ["a"])
        assert len(portal_threads() - before) == 1
        tool.close()
        assert portal_threads() == before
    tool.close()
    assert portal_threads() == before
