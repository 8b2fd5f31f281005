"""Who may come in over HTTP: Host, Origin, tokens, sizes, and the walls between namespaces."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import click
import httpx2
import mcp
import pytest

from memorygraph import MemoryGraph, MemoryGraphError, NotFoundError
from memorygraph.bearer_tokens import read_tokens
from memorygraph.cli.serve import gather_tokens, parse_token
from memorygraph.graph.connection import Connection
from memorygraph.mcp_server import build_app, build_server, choose_tools
from memorygraph.mcp_server.http import CLIENT_GONE, MAX_BODY_BYTES, allowed_from, listen, say_client_gone
from memorygraph.mcp_server.server import NamespaceGraphs
from memorygraph.mcp_server.tools import TOOLS
from tests.mcp_server.clients import HttpServer, Server, call, over_http

pytestmark = pytest.mark.anyio

_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
_ACCEPT = {"Accept": "application/json, text/event-stream"}


def _post(server: HttpServer, headers: Mapping[str, str] = {}, body: Any = _INITIALIZE) -> httpx2.Response:
    with httpx2.Client(timeout=30, trust_env=False) as client:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return client.post(
            server.url, content=content, headers={"Content-Type": "application/json", **_ACCEPT, **headers}
        )


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://{own}"}, 200),
        ({"Origin": "http://localhost:{port}"}, 200),
        ({"Host": "localhost:{port}"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:{port}"}, 421),
        ({"Host": "127.0.0.1.evil.example:{port}"}, 421),
        ({"Host": "127.0.0.1:{port}@evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://evil.example:{port}"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "file://"}, 403),
        ({"Origin": "http://127.0.0.1.evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:{port}.evil.example"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
    ],
    ids=str,
)
def test_only_this_machine_and_its_pages_come_in(open_door: HttpServer, headers: dict[str, str], status: int) -> None:
    port = open_door.authority.rpartition(":")[2]
    filled = {name: value.format(own=open_door.authority, port=port) for name, value in headers.items()}
    assert _post(open_door, filled).status_code == status


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer wrong", "Basic first-token", "first-token", "Bearer first-token2"],
)
def test_without_its_token_nobody_comes_in(closed_door: HttpServer, authorization: str | None) -> None:
    answer = _post(closed_door, {} if authorization is None else {"Authorization": authorization})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer ")


def test_the_checks_of_host_and_origin_come_before_the_token(closed_door: HttpServer) -> None:
    assert _post(closed_door, {"Host": "evil.example"}).status_code == 421
    assert _post(closed_door, {"Origin": "null"}).status_code == 403
    assert _post(closed_door, {"Authorization": "Bearer first-token"}).status_code == 200


def test_a_body_that_is_too_large_is_refused_before_it_is_read(closed_door: HttpServer) -> None:
    body = b" " * (MAX_BODY_BYTES + 1)
    assert _post(closed_door, {"Authorization": "Bearer first-token"}, body).status_code == 413
    assert _post(closed_door, {}, body).status_code == 401


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"jsonrpc":"2.0"}', b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_request_is_refused_and_never_a_failure(open_door: HttpServer, body: bytes) -> None:
    assert 400 <= _post(open_door, {}, body).status_code < 500


async def test_each_token_has_its_own_namespace(
    closed_http: HttpServer, graph: MemoryGraph, other: MemoryGraph
) -> None:
    async with (
        over_http(closed_http.url, "first-token") as first,
        over_http(closed_http.url, "second-token") as second,
    ):
        await call(first, "create_entities", entities=[{"name": "A", "type": "t", "observations": ["secret"]}])
        await call(second, "create_entities", entities=[{"name": "B", "type": "t", "observations": []}])
        assert [each["name"] for each in (await call(second, "read_graph"))["entities"]] == ["B"]
        for tool in ("search_nodes", "search_memories", "recall"):
            assert "A" not in str(await call(second, tool, query="secret"))
        assert (await call(second, "open_nodes", names=["A"]))["entities"] == []
        assert (await second.call_tool("show", {"id": "A"})).is_error
        await call(second, "delete_entities", entityNames=["A"])
        program = 'import memory M from "neo4j://' + graph.namespace + '" main agent { main func() { return 1 } }'
        refused = await second.call_tool("run_program", {"program": program})
        assert refused.is_error
        assert "your own namespace" in getattr(refused.content[0], "text", "")
    assert graph.node("A").name == "A"
    assert other.node("B").name == "B"


def test_a_session_belongs_to_the_token_that_opened_it(closed_door: HttpServer) -> None:
    opened = _post(closed_door, {"Authorization": "Bearer first-token"})
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    assert _post(closed_door, {"Authorization": "Bearer second-token", **session}, ping).status_code == 404
    assert _post(closed_door, {"Authorization": "Bearer first-token", **session}, ping).status_code == 200


def test_a_call_looks_up_the_schema_of_its_tool_alone(graph: MemoryGraph) -> None:
    server = build_server(graph)
    if not hasattr(server, "get_tool_input_schema"):
        pytest.skip("this version of the SDK looks up no schema")
    assert server.get_tool_input_schema is not None
    described = TOOLS["open_nodes"].described.model_dump(by_alias=True)
    assert server.get_tool_input_schema("open_nodes") == described["inputSchema"]
    assert server.get_tool_input_schema("no_such_tool") is None


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_answer_does_not_wait_for_the_acknowledgement_of_its_first_piece(host: str) -> None:
    with listen(host, 0) as listener, socket.create_connection(listener.getsockname()[:2]):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("host", ["ü" * 70, "a..ü", "x" * 70, "no such host"])
def test_a_host_that_has_no_address_is_said_to_be_none(host: str) -> None:
    with pytest.raises(MemoryGraphError, match=f"cannot serve at {host} port 0: "):
        listen(host, 0)


def test_an_address_may_stand_in_brackets_and_without() -> None:
    with listen("[::1]", 0) as listener:
        assert listener.getsockname()[0] == "::1"
    own = ["[::1]", "[::1]:8000"]
    assert allowed_from("[::1]", 8000).allowed_hosts[-2:] == allowed_from("::1", 8000).allowed_hosts[-2:] == own
    names = ["fd00::5", "[fd00::5]", "[FD00::5]:9", "h:9", "h"]
    allowed = allowed_from("127.0.0.1", 8000, names).allowed_hosts[8:]
    assert allowed == [*["[fd00::5]", "[fd00::5]:8000"] * 2, "[fd00::5]:9", "h:9", "h", "h:8000"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]", "192.168.1.5", "example.org", ""])
def test_beyond_this_machine_it_serves_with_tokens_only(graph: MemoryGraph, host: str) -> None:
    with pytest.raises(MemoryGraphError, match="give it tokens"):
        build_app(graph, host, 8000)
    build_app(graph, host, 8000, {"t": graph.namespace})


async def test_a_server_offers_the_tools_that_it_is_told_to(graph: MemoryGraph) -> None:
    reading = choose_tools(read_only=True)
    assert {"recall", "read_graph"} <= reading.keys()
    assert not {"create_entities", "load_contextscript", "undo", "run_program"} & reading.keys()
    assert not {"merge_entities", "forget"} & reading.keys()
    assert "recall" not in choose_tools(["recall"])
    assert (
        choose_tools(groups=["memory", "all"]).keys() == choose_tools().keys() > choose_tools(groups=["memory"]).keys()
    )
    with pytest.raises(NotFoundError, match="no tool `recal`"):
        choose_tools(["recal"])
    async with mcp.Client(build_server(graph, tools=reading)) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == reading.keys()
        with pytest.raises(mcp.MCPError, match="'create_entities' here: this server is read-only"):
            await client.call_tool("create_entities", {"entities": []})
    async with mcp.Client(build_server(graph, tools=choose_tools(["undo"]))) as client:
        with pytest.raises(mcp.MCPError, match=r"'undo' here: it is left out \(`serve --without undo`\)"):
            await client.call_tool("undo", {"revision": 1})


@pytest.mark.parametrize(
    ("given", "token"),
    [("people=abc", "abc"), ("people=q83vEjRWeJA=", "q83vEjRWeJA="), ("people=q83vEjRWeA==", "q83vEjRWeA==")],
)
def test_a_token_on_the_command_line_may_end_in_equals_signs(given: str, token: str) -> None:
    assert parse_token(given) == (token, "people")


@pytest.mark.parametrize("given", ["abc", "abc=", "abc==", "=abc", "", "people=a=b", "a=people=b=="])
def test_a_token_on_the_command_line_without_a_namespace_or_with_two_readings_is_refused(given: str) -> None:
    with pytest.raises(click.UsageError, match="--token takes NAMESPACE=TOKEN"):
        parse_token(given)


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    """A file of tokens, still empty, that nobody else can read."""
    path = tmp_path / "tokens"
    path.touch(mode=0o600)
    return path


def test_a_token_that_is_given_for_two_namespaces_is_refused_and_not_repeated(tokens: Path) -> None:
    tokens.write_text("team s3cret\nteam another\n")
    assert gather_tokens(str(tokens), ("team=s3cret", "people=a"), "127.0.0.1") == {
        "s3cret": "team",
        "another": "team",
        "a": "people",
    }
    for file, given in ((None, ("team=s3cret", "people=s3cret")), (str(tokens), ("people=s3cret",))):
        with pytest.raises(click.UsageError, match="the namespaces `team` and `people` have the same token") as error:
            gather_tokens(file, given, "127.0.0.1")
        assert "s3cret" not in str(error.value)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "memory.example.org"}, 404),
        ({"host": "MEMORY.example.org:8000"}, 404),
        ({"host": "memory.example.org", "origin": "https://Memory.Example.Org"}, 404),
        ({"host": "memory.example.com"}, 421),
        ({"host": "memory.example.org", "origin": "https://memory.example.com"}, 403),
    ],
    ids=str,
)
async def test_hosts_are_compared_without_case(graph: MemoryGraph, headers: dict[str, str], status: int) -> None:
    app = build_app(graph, allowed_hosts=["Memory.Example.ORG"])
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": "/other", "query_string": b"", "headers": raw}
    await app(scope, receive, send)
    assert sent[0]["status"] == status


def test_the_graph_of_a_namespace_is_kept_with_its_embedding_model(graph: MemoryGraph, other: MemoryGraph) -> None:
    graphs = NamespaceGraphs()
    first, second = graphs.find(graph, "a"), graphs.find(graph, "b")
    assert (first.namespace, second.namespace) == ("a", "b")
    assert graphs.find(graph, "a") is first
    assert graphs.find(other, "a") is first  # of the same connection


def test_the_graphs_of_a_connection_that_is_gone_are_made_anew(graph: MemoryGraph, server: Server) -> None:
    graphs = NamespaceGraphs()
    first = graphs.find(graph, "a")
    with MemoryGraph(Connection(*server), graph.namespace) as opened_anew:
        assert graphs.find(opened_anew, "a") is not first
        assert graphs.find(opened_anew, "a").connection is opened_anew.connection


def test_a_file_of_tokens_has_a_namespace_and_its_token_on_each_line(tokens: Path) -> None:
    tokens.write_text("# who may come in\nmy team  abc\n\nother def\n")
    assert read_tokens(tokens) == {"abc": "my team", "def": "other"}
    tokens.write_text('{"team": "abc"}')
    assert read_tokens(tokens) == {"abc": "team"}


@pytest.mark.parametrize("line", ["people s3cret   # Ada's laptop", "people s3cret #laptop", "people #s3cret"])
def test_a_comment_behind_a_token_is_refused_with_its_line(tokens: Path, line: str) -> None:
    """Its last word would be the token, and anybody might guess it."""
    tokens.write_text(f"# of clients\n\nteam abc\n{line}\n")
    with pytest.raises(MemoryGraphError, match=r"tokens:4: .* a line of its own"):
        read_tokens(tokens)
    tokens.write_text("team#1 a#bc\n")
    assert read_tokens(tokens) == {"a#bc": "team#1"}


def test_the_mark_with_which_editors_begin_utf_8_is_no_part_of_a_file_of_tokens(tokens: Path) -> None:
    for text in ("# tokens of clients\nteam abc\n", "team abc", '{"team": "abc"}'):
        tokens.write_text(text, "utf-8-sig")
        assert read_tokens(tokens) == {"abc": "team"}


@pytest.mark.parametrize(
    ("line", "said"),
    [("s3cret", r"tokens:4: there is no token: .*`NAMESPACE TOKEN`"), ("b abc", r"tokens:4: .*already, .*`team`")],
)
def test_a_bad_line_of_tokens_is_refused_with_its_number_and_is_not_shown(tokens: Path, line: str, said: str) -> None:
    tokens.write_text(f"# of clients\n\nteam abc\n{line}\n")
    with pytest.raises(MemoryGraphError, match=said) as error:
        read_tokens(tokens)
    assert line not in str(error.value)


@pytest.mark.parametrize("text", ["", "one", "a t\nb t", "{", '{"a": 1}', "[]x"])
def test_a_file_that_is_none_is_refused(tokens: Path, text: str) -> None:
    tokens.write_text(text)
    with pytest.raises(MemoryGraphError):
        read_tokens(tokens)


def test_a_json_file_that_has_a_namespace_twice_is_refused(tokens: Path) -> None:
    """Readers of JSON keep the last one, and a token that somebody has opens nothing."""
    tokens.write_text('{"team": "abc", "other": "def", "team": "s3cret"}')
    with pytest.raises(MemoryGraphError, match=r"`team` twice, .* lines `NAMESPACE TOKEN`") as error:
        read_tokens(tokens)
    assert "s3cret" not in str(error.value)


def test_a_folder_is_no_file_of_tokens_whatever_its_rights_are(tmp_path: Path) -> None:
    for mode in (0o755, 0o700):
        tmp_path.chmod(mode)
        with pytest.raises(MemoryGraphError, match="is a folder: name the file of tokens"):
            read_tokens(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="rights are kept otherwise there")
@pytest.mark.parametrize(
    ("error", "is_traceback"),
    [
        (anyio.ClosedResourceError(), False),
        (RuntimeError("Unexpected ASGI message 'http.response.start' sent, after response already completed."), False),
        (RuntimeError("a defect"), True),
    ],
    ids=str,
)
def test_of_a_client_that_is_gone_the_log_says_one_line(error: Exception, is_traceback: bool) -> None:
    record = logging.LogRecord("mcp", logging.ERROR, "", 0, "Error of %s", ("POST",), (type(error), error, None))
    assert say_client_gone(record)
    said = logging.Formatter("%(message)s").format(record)
    assert said == (f"Error of POST\nRuntimeError: {error}" if is_traceback else CLIENT_GONE)


def test_a_file_of_tokens_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("team abc")
    for mode in (0o644, 0o640, 0o604, 0o620):
        path.chmod(mode)
        with pytest.raises(MemoryGraphError, match="chmod 600"):
            read_tokens(path)
    path.chmod(0o400)
    assert read_tokens(path) == {"abc": "team"}


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs the right to give a file away")
def test_the_rights_of_a_file_of_tokens_that_a_container_is_given_are_not_its_own(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("team abc")
    path.chmod(0o444)
    os.chown(path, 12345, 12345)
    assert read_tokens(path) == {"abc": "team"}


async def test_a_wrong_token_is_an_error_of_the_client(closed_door: HttpServer) -> None:
    with pytest.raises(BaseException, match=r"."):
        async with over_http(closed_door.url, "wrong"):
            pass
