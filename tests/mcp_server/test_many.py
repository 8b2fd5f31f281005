"""Many writers at once: what is acknowledged is kept, N of N, and who dies harms nobody."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import IO, Any

import anyio
import psutil
import pytest
from mcp import Client, MCPError

from memorygraph import EmbeddedServer, MemoryGraph
from memorygraph.graph.namespace import Namespace
from memorygraph.mcp_server.server import PATIENCE_S
from memorygraph.memory.entities import Entities
from tests.mcp_server.clients import (
    HttpServer,
    Server,
    call,
    environment_of,
    over_http,
    over_stdio,
    started_in,
    stdio_command,
    text_of,
)
from tests.shared_neo4j import GiveSchema

pytestmark = pytest.mark.anyio


def _names(graph: MemoryGraph) -> list[str]:
    return sorted(entity.name for entity in Entities(graph.scope).read_graph().entities)


def _entity(name: str) -> dict[str, Any]:
    return {"name": name, "entityType": "t", "observations": [f"{name} was here"]}


async def _create(client: Any, entity: dict[str, Any]) -> None:
    await call(client, "create_entities", entities=[entity])


async def _create_all(clients: list[Any], count: int) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(count):
            for index, client in enumerate(clients):
                tasks.start_soon(_create, client, _entity(f"{index}-{number}"))


async def test_twenty_creates_at_once_over_one_connection_are_all_kept(graph: MemoryGraph, server: Server) -> None:
    async with over_stdio(server, graph.namespace) as client:
        await _create_all([client], 20)
    assert _names(graph) == sorted(f"0-{number}" for number in range(20))


@pytest.mark.slow
async def test_twenty_creates_at_once_over_http_are_all_kept(graph: MemoryGraph, open_http: HttpServer) -> None:
    async with over_http(open_http.url) as client:
        await _create_all([client], 20)
    assert _names(graph) == sorted(f"0-{number}" for number in range(20))


@pytest.mark.slow
async def test_two_processes_lose_nothing_of_each_other(graph: MemoryGraph, server: Server) -> None:
    async with over_stdio(server, graph.namespace) as one, over_stdio(server, graph.namespace) as two:
        await _create_all([one, two], 20)
        await call(one, "add_observations", observations=[{"entityName": "1-0", "contents": ["from the other"]}])
        [found] = (await call(two, "open_nodes", names=["1-0"]))["entities"]
        assert found["observations"] == ["1-0 was here", "from the other"]
    assert _names(graph) == sorted(f"{index}-{number}" for index in range(2) for number in range(20))


@pytest.mark.slow
async def test_the_same_entity_from_everywhere_is_one_with_all_that_was_said(
    graph: MemoryGraph, server: Server
) -> None:
    async with (
        over_stdio(server, graph.namespace) as one,
        over_stdio(server, graph.namespace) as two,
        anyio.create_task_group() as tasks,
    ):
        for number in range(20):
            said = {"name": "A", "entityType": "t", "observations": ["same", f"said {number}"]}
            tasks.start_soon(_create, (one, two)[number % 2], said)
    [entity] = Entities(graph.scope).read_graph().entities
    assert sorted(entity.observations) == sorted(["same", *(f"said {number}" for number in range(20))])


@pytest.mark.slow
async def test_of_eight_servers_one_is_killed_and_the_others_go_on(graph: MemoryGraph, server: Server) -> None:
    before = {process.pid for process in psutil.Process().children()}
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(over_stdio(server, graph.namespace)) for _ in range(7)]
        victim = subprocess.Popen(
            stdio_command(graph.namespace),
            env=environment_of(server),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            await anyio.to_thread.run_sync(_flood, victim)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_create_all, clients, 5)
                os.kill(victim.pid, signal.SIGKILL)
            await _create_all(clients, 6)
        finally:
            victim.kill()
            victim.communicate()
    kept = [name for name in _names(graph) if not name.startswith("victim")]
    assert kept == sorted(f"{index}-{number}" for index in range(7) for number in range(6))
    assert {process.pid for process in psutil.Process().children()} <= before
    entities = Entities(graph.scope).read_graph().entities
    assert all(entity.observations == [f"{entity.name} was here"] for entity in entities)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home in which no Neo4j runs yet, and which has no graph; its program files are those of the developer."""
    installed = EmbeddedServer()
    home = tmp_path / "home"
    home.mkdir()
    (home / installed.artifacts.name).symlink_to(installed.artifacts)
    yield home
    EmbeddedServer(home).down()


async def read_until_answered(client: Client) -> None:
    """Read the graph; a server whose Neo4j is starting says so within two seconds, and when to try again."""
    while True:
        asked = time.monotonic()
        read = await client.call_tool("read_graph", {})
        print(f"answered after {time.monotonic() - asked:.1f} s, with a patience of {PATIENCE_S} s")
        if not read.is_error:
            return
        assert "try again in" in text_of(read)
        await anyio.sleep(1)


def _environment(**given: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NEO4J_")}
    return {**kept, **given}


@pytest.mark.slow
@pytest.mark.usefixtures("quick_java")
@pytest.mark.skipif("NEO4J_URI" in os.environ, reason="NEO4J_URI is set: Neo4j is not installed for these tests")
async def test_eight_servers_that_begin_at_once_share_one_neo4j_that_they_start(home: Path) -> None:
    environment = _environment(MEMORYGRAPH_HOME=str(home))

    async def begin(name: str) -> None:
        async with started_in(environment, "shared") as client:
            await read_until_answered(client)
            await _create(client, _entity(name))
            await call(client, "add_observations", observations=[{"entityName": name, "contents": ["and again"]}])

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(begin, f"server {number}")
    embedded = EmbeddedServer(home)
    auth = (embedded.status().username, embedded.password())
    with MemoryGraph.connect(embedded.status().bolt_uri, auth, namespace="shared") as graph:
        entities = Entities(Namespace(graph.connection, "shared")).read_graph().entities
    assert sorted(entity.name for entity in entities) == [f"server {number}" for number in range(8)]
    assert all(entity.observations == [f"{entity.name} was here", "and again"] for entity in entities)


async def test_a_client_is_greeted_before_neo4j_is_there_and_told_why_it_is_not() -> None:
    async with started_in(_environment(NEO4J_URI="bolt://127.0.0.1:1"), "nowhere") as client:
        assert len((await client.list_tools()).tools) > 20
        refused = await client.call_tool("read_graph", {})
        assert refused.is_error
        assert "Neo4j cannot be reached" in text_of(refused)
        with pytest.raises(MCPError, match="cannot be reached"):
            await client.read_resource("memory://knowledge-graph")


async def test_check_contextscript_needs_no_database() -> None:
    async with started_in(_environment(NEO4J_URI="bolt://127.0.0.1:1"), "nowhere") as client:
        wrong = await client.call_tool("check_contextscript", {"program": "Node(node_id=ada);"})
        assert [error["column"] for error in wrong.structured_content["errors"]] == [14]
        unknown = {"program": 'Edge(edge_id="e", from_node="a", to_node="b", verb="knows", weight=1);'}
        assert (await client.call_tool("check_contextscript", unknown)).structured_content == {"errors": []}


@pytest.mark.slow
@pytest.mark.usefixtures("quick_java")
@pytest.mark.skipif("NEO4J_URI" in os.environ, reason="NEO4J_URI is set: Neo4j is not installed for these tests")
async def test_who_only_checks_programs_starts_no_neo4j_and_the_first_other_call_does_also_after_a_stop(
    home: Path, give_schema: GiveSchema
) -> None:
    give_schema(EmbeddedServer(home))
    before = {path.name for path in home.iterdir()}
    async with started_in(_environment(MEMORYGRAPH_HOME=str(home)), "lazy") as client:
        await client.list_tools()
        await client.list_resources()
        await client.list_prompts()
        await client.get_prompt("remember", {"text": "Ada likes tea."})
        checked = await client.call_tool("check_contextscript", {"program": 'Node(node_id="a", name="", data="");'})
        assert checked.structured_content == {"errors": []}
    assert {path.name for path in home.iterdir()} == before
    async with started_in(_environment(MEMORYGRAPH_HOME=str(home)), "lazy") as client:
        await read_until_answered(client)
        assert await anyio.to_thread.run_sync(EmbeddedServer(home).down)
        await read_until_answered(client)
    assert EmbeddedServer(home).status().running


def _say(stream: IO[bytes], message: dict[str, Any]) -> None:
    stream.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    stream.flush()


def _open(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    _say(process.stdin, {"id": 0, "method": "initialize", "params": client})
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "memorygraph"
    _say(process.stdin, {"method": "notifications/initialized"})
    return process.stdin, process.stdout


def _flood(process: subprocess.Popen[bytes]) -> None:
    """Make a server write, and do not wait for its answers but the first."""
    to_server, from_server = _open(process)
    for number in range(1, 40):
        arguments = {"entities": [_entity(f"victim-{number}")]}
        params = {"name": "create_entities", "arguments": arguments}
        _say(to_server, {"id": number, "method": "tools/call", "params": params})
    from_server.readline()


def test_a_line_with_half_a_character_and_one_that_is_no_json_are_answered(graph: MemoryGraph, server: Server) -> None:
    with subprocess.Popen(
        stdio_command(graph.namespace), env=environment_of(server), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        to_server, from_server = _open(process)
        _say(to_server, {"id": 1, "method": "tools/call", "params": {"name": "search_nodes \ud83d", "arguments": {}}})
        answer = json.loads(from_server.readline())
        assert (answer["id"], answer["error"]["message"]) == (1, "there is no tool 'search_nodes \ufffd'")
        to_server.write(b'\n{"half\n')
        to_server.flush()
        answer = json.loads(from_server.readline())
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        _say(to_server, {"id": 2, "method": "ping"})
        assert json.loads(from_server.readline())["id"] == 2
        to_server.close()
    assert process.returncode == 0


def test_standard_output_carries_the_protocol_and_nothing_else(graph: MemoryGraph, server: Server) -> None:
    with subprocess.Popen(
        stdio_command(graph.namespace),
        env=environment_of(server),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        to_server, from_server = _open(process)
        to_server.write(b"\n{\nnull\n[1]\n\xff\xfe\n" + b"[" * 5000 + b"\n")
        calls: list[tuple[str, dict[str, Any]]] = [
            ("load_contextscript", {"program": "Node("}),
            ("nothing", {}),
            ("create_entities", {"entities": 1}),
        ]
        for number, (name, arguments) in enumerate(calls, start=1):
            _say(to_server, {"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
        lines: list[dict[str, Any]] = []
        while not {1, 2, 3} <= {line.get("id") for line in lines}:
            lines.append(json.loads(from_server.readline()))
        to_server.close()
        lines += map(json.loads, from_server.read().splitlines())
    assert all(line["jsonrpc"] == "2.0" for line in lines)
    assert process.returncode == 0
