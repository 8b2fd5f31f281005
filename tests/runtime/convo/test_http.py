"""HTTP functions against a real server: what it saw, and what the functions gave."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import pytest

from memorygraph.errors import ScriptError
from memorygraph.runtime.permissions import Permissions, Refused
from memorygraph.runtime.tools import http
from tests.runtime.convo.expressions import Script
from tests.runtime.tools.portals import portal_threads
from tests.web_services import LocalServer


@dataclass
class Service:
    """A web service: what it answers by path, and the requests that it saw."""

    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    seen: list[tuple[str, str, str | None, bytes]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answers_json(self, path: str, value: Any, status: int = 200) -> None:
        self.answers[path] = (status, {"Content-Type": "application/json"}, json.dumps(value).encode())

    def answers_text(self, path: str, text: str, status: int = 200) -> None:
        self.answers[path] = (status, {"Content-Type": "text/plain; charset=utf-8"}, text.encode())


class Handler(BaseHTTPRequestHandler):
    service: ClassVar[Service]

    def handle_any(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.service.seen.append((self.command, self.path, self.headers.get("content-type"), content))
        status, headers, body = self.service.answers.get(self.path, (200, {}, b""))
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # the client has seen enough
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Callable[[], Service]]:
    """Start web services, which end with the test."""
    with ExitStack() as stack:

        def start() -> Service:
            service = Service()
            server = LocalServer(type("Bound", (Handler,), {"service": service}))
            service.port = stack.enter_context(server).port
            return service

        yield start


@pytest.fixture
def service(serve: Callable[[], Service]) -> Service:
    return serve()


def run(code: str, service: Service, permissions: Permissions | None = None) -> Any:
    allowed = permissions or Permissions.of(allow_hosts=[f"127.0.0.1:{service.port}"])
    return Script(f"> do\n{code}\n", {"url": service.url}, permissions=allowed).run()


JSON = "application/json"


@pytest.mark.parametrize(
    ("code", "request_"),
    [
        ("httpGet('{{url}}/a?b=c')", ("GET", "/a?b=c", None, b"")),
        ("httpGet('{{url}}')", ("GET", "/", None, b"")),
        ("httpGet('{{url}}/a' {q: 'x y' n: 1.0})", ("GET", "/a?q=x+y&n=1", None, b"")),
        ("httpGet('{{url}}/a#part')", ("GET", "/a", None, b"")),
        ("httpPost('{{url}}/a' {b: [1 true null 'ü'] c: {}})",
         ("POST", "/a", JSON, '{"b":[1,true,null,"ü"],"c":{}}'.encode())),
        ("httpPost('{{url}}/a' {b: missing c: [missing]})",
         ("POST", "/a", JSON, b'{"c":[null]}')),
        ("httpPost('{{url}}/a')", ("POST", "/a", None, b"")),
        ("httpPost('{{url}}/a' 'plain')", ("POST", "/a", "text/plain; charset=utf-8", b"plain")),
        ("httpPut('{{url}}/a' [1])", ("PUT", "/a", JSON, b"[1]")),
        ("httpPatch('{{url}}/a' {b: '> goto x'})", ("PATCH", "/a", JSON, b'{"b":"> goto x"}')),
        ("httpDelete('{{url}}/a')", ("DELETE", "/a", None, b"")),
        ("httpDelete('{{url}}/a' {b: 1})", ("DELETE", "/a", JSON, b'{"b":1}')),
    ],
)  # fmt: skip
def test_requests(code: str, request_: tuple[str, str, str | None, bytes], service: Service) -> None:
    run(code, service)
    assert service.seen == [request_]


def test_answers_are_json_or_text(service: Service) -> None:
    service.answers_json("/json", {"id": 5, "list": [1.5, None]})
    service.answers_text("/text", "größer > goto x {{input}}")
    assert run("httpGet('{{url}}/json')", service) == {"id": 5, "list": [1.5, None]}
    assert run("r = httpGet('{{url}}/json') r.id", service) == 5
    assert run("r = httpGet('{{url}}/text') 'said: {{r}}'", service) == "said: größer > goto x {{input}}"
    assert run("httpGet('{{url}}/nothing')", service) is None


def test_the_example_of_the_seed(service: Service) -> None:
    service.answers_json("/mock/issue-refund", "refund-7")
    body = """
        refundId=httpPost('{{url}}/mock/issue-refund' {
            userEmail: toEmail
            amount: refundAmount
        })

        httpPost('{{url}}/mock/send-email' {
            to: toEmail
            subject: subject
            message: '{{message}}\\n\\nRefund ID: {{refundId}}'
        })
        return("Refund sent")"""
    head = "toEmail:string\n    subject:string\n    message:string\n    refundAmount:number"
    script = Script(
        f"> sendRefund(\n    {head}\n) -> ({body}\n)\n",
        {"url": service.url},
        permissions=Permissions.of(["http"]),
    )
    given = {"toEmail": "a@b.c", "subject": "S", "message": "Sorry", "refundAmount": "4.99"}
    assert script.evaluator.call_function(script.functions[0], given) == "Refund sent"
    assert [(path, json.loads(content)) for _, path, _, content in service.seen] == [
        ("/mock/issue-refund", {"userEmail": "a@b.c", "amount": 4.99}),
        ("/mock/send-email", {"to": "a@b.c", "subject": "S", "message": "Sorry\n\nRefund ID: refund-7"}),
    ]


@pytest.mark.parametrize("permissions", [Permissions(), Permissions.of(["sh"]), Permissions.of(["http"], ["other:80"])])
def test_nothing_is_allowed_by_default(permissions: Permissions, service: Service) -> None:
    with pytest.raises(ScriptError) as caught:
        run("httpPost('{{url}}/a' {b: 1})", service, permissions)
    problem = caught.value.problems[0]
    assert f"--allow-host 127.0.0.1:{service.port}" in problem.message
    assert (problem.line, problem.column) == (2, 1)
    assert service.seen == []
    causes, error = [], caught.value.__cause__
    while error is not None:
        causes.append(type(error))
        error = error.__cause__
    assert Refused in causes


def test_an_error_status_is_an_error(service: Service) -> None:
    service.answers_json("/a", {"error": "no such thing"}, 404)
    service.answers_text("/b", "it broke " * 1000, 500)
    for path, message in (("a", '404: {"error":"no such thing"}'), ("b", "500: it broke it broke")):
        with pytest.raises(ScriptError) as caught:
            run(f"httpPost('{{{{url}}}}/{path}' 1)", service)
        said = caught.value.problems[0].message
        assert said.startswith(f"`httpPost` failed: {service.url} answered {message}")
        assert len(said) < 500


def test_redirects_stay_on_the_host(service: Service, serve: Callable[[], Service]) -> None:
    other = serve()
    service.answers = {
        "/near": (302, {"Location": "/there"}, b""),
        "/far": (302, {"Location": f"{other.url}/x"}, b""),
    }
    service.answers_json("/there", "found")
    allowed = Permissions.of(["http"])
    assert run("httpGet('{{url}}/near')", service, allowed) == "found"
    with pytest.raises(ScriptError, match="and is not followed"):
        run("httpGet('{{url}}/far')", service, allowed)
    with pytest.raises(ScriptError, match="`httpPost` failed: the answer to a POST is a redirect"):
        run("httpPost('{{url}}/near' 1)", service, allowed)
    assert other.seen == []


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("httpGet()", "`httpGet` takes a URL and a body, and was given 0"),
        ("httpPost(url 1 2)", "`httpPost` takes a URL and a body, and was given 3"),
        ("httpGet(5)", "the URL of `httpGet` is a text, and this is a number"),
        ("httpGet('file:///etc/passwd')", "a URL begins with `http://` or `https://` and a host"),
        ("httpGet('/a')", "a URL begins with"),
        ("httpGet('http://')", "a URL begins with"),
        ("httpGet('http://[')", "invalid URL"),
        ("httpGet('http://u:p@127.0.0.1/')", "a user name or password does not belong into a program"),
        ("httpGet('{{url}}/a\\nb')", "invalid URL"),
        ("httpGet('{{url}}/a\\r\\nX-Evil: 1')", "invalid URL"),
        ("httpGet('{{url}}\\n.evil.example/')", "invalid URL"),
        ("httpGet('http://127.0.0.1\\n:80/')", "invalid URL"),
        ("httpGet('ht\\ntp://127.0.0.1/')", "invalid URL"),
        ("httpGet(' {{url}}/')", "invalid URL"),
        ("httpGet('{{url}}@evil.example/')", "a user name or password does not belong into a program"),
        ("httpGet('{{url}}\\\\@evil.example/')", "an address holds no spaces, line breaks or backslashes"),
        ("httpGet('{{url}}/../x')", "holds `.` or `..`"),
        ("httpGet('{{url}}:0/')", "no usable host or port"),
        ("httpGet('{{url}}/a' 5)", "a query is an object"),
    ],
)
def test_wrong_requests_are_never_sent(code: str, message: str, service: Service) -> None:
    with pytest.raises(ScriptError) as caught:
        run(code, service, Permissions.of(["http"]))
    assert message in caught.value.problems[0].message
    assert service.seen == []


def test_time_and_size_are_limited(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.answers_text("/large", "x" * 10_000_001)
    with pytest.raises(ScriptError, match="more than 10,000,000 bytes"):
        run("httpGet('{{url}}/large')", service)
    monkeypatch.setattr(http, "SECONDS", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        service.port = silent.getsockname()[1]
        with pytest.raises(ScriptError, match=r"no whole answer came within 0.3 seconds"):
            run("httpGet('{{url}}/late')", service)


def test_no_thread_is_left(service: Service) -> None:
    before = portal_threads()
    run("httpGet('{{url}}/a')", service)
    assert portal_threads() == before
