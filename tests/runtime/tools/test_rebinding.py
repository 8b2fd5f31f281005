"""A name that leads elsewhere at each look-up (DNS rebinding) reaches nothing that it did not reach at first.

The names are those of a name server that the tests speak for; the servers at their addresses are real.
"""

from __future__ import annotations

import json
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import httpx2
import pytest

from memorygraph.errors import ModelError
from memorygraph.llm.addresses import PinnedAddresses
from memorygraph.llm.certificates import trusted_certificates
from memorygraph.llm.model import OpenAIModel
from memorygraph.llm.uris import find_model
from memorygraph.runtime.models import RunModels
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools import ToolFailure, open_tool
from memorygraph.runtime.tools.pinned import PinnedTransport, pinned_httpx_transport
from memorygraph.server.certificate import make_certificate
from tests.runtime.convo.expressions import Script
from tests.scripted.conftest import HI

FIRST, SECOND = "127.0.0.1", "127.0.0.2"
OWN_NAME, FOREIGN_NAME = "service.localhost", "rebound.example"
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}]}


class House:
    """A machine with two addresses, with a web server at the same port of each, which note who comes."""

    def __init__(self) -> None:
        self.visits: list[tuple[str, str]] = []
        first = self._serve(FIRST, 0)
        self.port = first.server_address[1]
        self.servers = [first, self._serve(SECOND, self.port)]

    def _serve(self, address: str, port: int) -> ThreadingHTTPServer:
        visits = self.visits

        class Handler(BaseHTTPRequestHandler):
            def reply(self) -> None:
                visits.append((address, self.headers["Host"]))
                self.rfile.read(int(self.headers["Content-Length"] or 0))
                body = json.dumps(ANSWER).encode()
                self.send_response(404 if self.path == "/mcp" else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_DELETE = reply  # noqa: N815 - http.server calls them so

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer((address, port), Handler)
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server


@pytest.fixture
def house() -> Iterator[House]:
    try:
        house = House()
    except OSError:
        pytest.skip("needs two addresses of this machine")
    yield house
    for server in house.servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def lead(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Let a name lead to one address after another, and then to the last; returns the names that are asked for."""
    asked: list[str] = []
    known = socket.getaddrinfo

    def lead(name: str, *addresses: str) -> list[str]:
        left = list(addresses)

        def look_up(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
            if host not in {name, name.encode()}:
                return known(host, port, *rest, **more)
            asked.append(name)
            return known(left.pop(0) if len(left) > 1 else left[0], port, *rest, **more)

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        return asked

    return lead


def call_http_tool(host: str, permissions: Permissions) -> None:
    with ExitStack() as stack:
        tool = open_tool("Api", f"http://{host}/v1", Path(), permissions)
        stack.callback(tool.close)
        for _ in range(2):
            tool.call("get", ["a"])


def ask_model(host: str, _permissions: Permissions) -> None:
    with find_model(f"ollama://{host}/m") as model:
        for _ in range(2):
            assert model.complete(HI).content == "hello"


def call_mcp_tool(host: str, permissions: Permissions) -> None:
    for _ in range(2):
        with suppress(ToolFailure):  # it is no MCP server
            open_mcp_tool(host, permissions)


def open_mcp_tool(host: str, permissions: Permissions) -> None:
    with ExitStack() as stack:
        tool = open_tool("Api", f"mcp://http://{host}/mcp", Path(), permissions)
        stack.callback(tool.close)
        tool.call("get", [])


def call_two_tools(host: str, permissions: Permissions) -> None:
    with ExitStack() as stack:
        for _ in range(2):
            tool = open_tool("Api", f"http://{host}/v1", Path(), permissions)
            stack.callback(tool.close)
            tool.call("get", ["a"])


def call_functions(host: str, permissions: Permissions) -> None:
    code = "".join(f"{function}('http://{host}/v1' map(a: 1))\n" for function in ("httpGet", "httpPost"))
    Script(f"> do\n{code}", permissions=permissions).run()


def ask_two_models(host: str, permissions: Permissions) -> None:
    models = RunModels(permissions)
    for name in ("a", "b"):
        assert models.find(f"ollama://{host}/{name}").complete(HI).content == "hello"
    models.close()


def name_proxy(monkeypatch: pytest.MonkeyPatch, house: House, excepted: str = "") -> None:
    """Have the environment name a server of the house as the proxy of everything but some hosts."""
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"127.0.0.1:{house.port}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, excepted)


CALLS = {
    "an http tool": call_http_tool,
    "an mcp tool": call_mcp_tool,
    "a model": ask_model,
    "two tools": call_two_tools,
    "functions of Convo-Lang": call_functions,
    "two models": ask_two_models,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_name_leads_where_it_led_at_first(
    house: House, lead: Callable[..., list[str]], call: Callable[[str, Permissions], None]
) -> None:
    asked = lead(OWN_NAME, FIRST, SECOND)
    host = f"{OWN_NAME}:{house.port}"
    call(host, Permissions.of(["http", "mcp"], [host]))
    assert asked
    assert house.visits
    assert set(house.visits) == {(FIRST, host)}


@pytest.mark.parametrize("name", ["an http tool", "an mcp tool", "functions of Convo-Lang"])
def test_a_proxy_of_the_environment_is_asked_and_looks_up_the_name(
    house: House, lead: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    name_proxy(monkeypatch, house)
    asked = lead(FOREIGN_NAME, SECOND)
    CALLS[name](FOREIGN_NAME, Permissions.of(["http", "mcp"], [FOREIGN_NAME]))
    assert asked == []
    assert set(house.visits) == {(FIRST, FOREIGN_NAME)}


@pytest.mark.parametrize("excepted", [FOREIGN_NAME, ".example", "*"])
def test_a_name_that_is_reached_without_the_proxy_is_looked_up_here(
    house: House, lead: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, excepted: str
) -> None:
    name_proxy(monkeypatch, house, excepted)
    lead(FOREIGN_NAME, FIRST)
    with pytest.raises(ToolFailure, match=f"the name {FOREIGN_NAME} leads to {FIRST}, where"):
        call_http_tool(FOREIGN_NAME, Permissions.of(["http"], [FOREIGN_NAME]))
    assert house.visits == []


@pytest.mark.parametrize(("excepted", "visits"), [("", [(FIRST, FOREIGN_NAME)]), (FOREIGN_NAME, []), ("*", [])])
def test_a_model_whose_name_is_excepted_is_reached_without_the_proxy(
    house: House,
    lead: Callable[..., list[str]],
    monkeypatch: pytest.MonkeyPatch,
    excepted: str,
    visits: list[tuple[str, str]],
) -> None:
    name_proxy(monkeypatch, house, excepted)
    lead(FOREIGN_NAME, "255.255.255.255")  # where nothing answers, at once
    url = f"http://{FOREIGN_NAME}/v1"
    with OpenAIModel("m", url, api_key="", retries=0, timeout=1.0, pinned=PinnedAddresses()) as model:
        with suppress(ModelError):
            model.complete(HI)
        assert house.visits == visits


def test_a_client_of_httpx_checks_by_the_certificates_that_every_client_checks_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    httpx = pytest.importorskip("httpx")
    monkeypatch.setattr(httpx, "AsyncHTTPTransport", lambda **options: options)
    assert vars(pinned_httpx_transport(PinnedAddresses()))["_transport"] == {"verify": trusted_certificates()}


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        ("ftp://ada:planted@proxy.example:21", "{} names no proxy that can be used"),
        ("http://ada:planted/2@127.0.0.1:9", "{} names no proxy that can be used"),  # taken for a port
        ("socks5://ada:planted@127.0.0.1:9", "{} names a SOCKS proxy, for which .*`pip install socksio`"),
        ("http://[", "failed: "),
        ("http://ada:planted@127.0.0.1:9", "failed: "),
    ],
)
def test_a_proxy_that_cannot_be_used_fails_the_call_and_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, variable: str, proxy: str, message: str
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)  # as where it is not installed
    for name in ("HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, proxy)
    for call, scheme in ((call_http_tool, "http"), (open_mcp_tool, "mcp")):
        with pytest.raises(ToolFailure, match=message.format(variable)) as raised:
            call(FOREIGN_NAME, Permissions.of([scheme], [FOREIGN_NAME]))
        assert "planted" not in str(raised.value)


@pytest.mark.parametrize("address", [FIRST, "169.254.169.254", "0.0.0.0", "::1", "::ffff:127.0.0.1", "fe80::1"])
@pytest.mark.parametrize("call", [call_http_tool, ask_model], ids=["an http tool", "a model"])
def test_the_name_of_another_machine_leads_neither_to_this_one_nor_to_the_link(
    house: House, lead: Callable[..., list[str]], call: Callable[[str, Permissions], None], address: str
) -> None:
    lead(FOREIGN_NAME, address)
    host = f"{FOREIGN_NAME}:{house.port}"
    with pytest.raises((ToolFailure, ModelError), match=f"the name {FOREIGN_NAME} leads to {address}, where"):
        call(host, Permissions.of(["http"], [host]))
    assert house.visits == []


def test_of_several_addresses_those_are_kept_to_which_a_name_may_lead(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in (FIRST, "192.0.2.7")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    assert PinnedAddresses().find(FOREIGN_NAME, 80) == ("192.0.2.7",)
    assert PinnedAddresses().find("localhost", 80) == (FIRST, "192.0.2.7")


def test_a_name_is_the_same_however_it_is_written(lead: Callable[..., list[str]]) -> None:
    addresses = PinnedAddresses()
    asked = lead(FOREIGN_NAME, "192.0.2.7")
    for name in (FOREIGN_NAME, FOREIGN_NAME.upper(), f"{FOREIGN_NAME}."):
        assert addresses.find(name, 80) == ("192.0.2.7",)
    assert asked == [FOREIGN_NAME]


def test_a_name_that_is_not_found_is_looked_up_again(lead: Callable[..., list[str]]) -> None:
    addresses = PinnedAddresses()
    with pytest.raises(OSError, match=r".+"):
        addresses.find("nowhere.invalid", 80)
    lead("nowhere.invalid", "192.0.2.7")
    assert addresses.find("nowhere.invalid", 80) == ("192.0.2.7",)


def test_a_server_with_tls_has_to_prove_the_name_and_not_the_address(
    tmp_path: Path, house: House, lead: Callable[..., list[str]]
) -> None:
    key, certificate = make_certificate()  # for 127.0.0.1, and for localhost
    (tmp_path / "pair.pem").write_text(key + certificate)
    trusting = ssl.create_default_context(cadata=certificate)
    proving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    proving.load_cert_chain(tmp_path / "pair.pem")
    first = house.servers[0]
    first.socket = proving.wrap_socket(first.socket, server_side=True)

    async def get(name: str) -> int:
        transport = PinnedTransport(PinnedAddresses(), httpx2.AsyncHTTPTransport(verify=trusting))
        async with httpx2.AsyncClient(transport=transport) as client:
            return (await client.get(f"https://{name}:{house.port}/")).status_code

    assert anyio.run(get, "localhost") == 200
    assert house.visits == [(FIRST, f"localhost:{house.port}")]
    lead(OWN_NAME, FIRST)
    with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        anyio.run(get, OWN_NAME)
