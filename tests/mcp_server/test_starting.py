"""While Neo4j starts no client waits in silence, what one has given up is not done, and a stopped one comes back."""

from __future__ import annotations

import os
import queue
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp
import psutil
import pytest
import uvicorn
from mcp import MCPError
from mcp.shared.memory import create_client_server_memory_streams
from neo4j.exceptions import IncompleteCommit, ServiceUnavailable

from memorygraph import MemoryGraph
from memorygraph.cli import cli
from memorygraph.cli.serve import describe_opening
from memorygraph.cli.settings import OpenedServer, Settings
from memorygraph.errors import ConnectionError
from memorygraph.graph.connection import Transaction
from memorygraph.limits import Cancelled, RunBudget
from memorygraph.mcp_server import BackgroundGraph, build_server, pools
from memorygraph.mcp_server.http import PATH
from memorygraph.mcp_server.server import STARTING
from memorygraph.query import Query
from memorygraph.server import installation
from memorygraph.server import process as server_process
from memorygraph.server.embedded import EmbeddedServer
from tests.cli.test_stopping import locked, waiting
from tests.mcp_server.clients import over_http, started_in, text_of
from tests.shared_neo4j import GiveSchema

pytestmark = pytest.mark.anyio

ENTITY = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
WAIT_S = 30
SOON_S = 15  # on a busy machine; on another it is 2 s, and what is tried again takes 30 s


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


class Opening:
    """A graph that is open when the test says so, as a Neo4j that starts."""

    def __init__(self, graph: MemoryGraph) -> None:
        self.may_open = threading.Event()
        self.is_gone = False
        self.times = 0
        self._graph = graph

    @contextmanager
    def open(self) -> Iterator[MemoryGraph]:
        assert self.may_open.wait(WAIT_S)
        self.times += 1
        self.is_gone = False
        yield MemoryGraph(self._graph.connection, self._graph.namespace)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[mcp.Client]:
        """A client over a wire, of a server whose graph is opened so."""
        server = build_server(BackgroundGraph(self.open, lambda: self.is_gone))

        @asynccontextmanager
        async def wire() -> AsyncIterator[Any]:
            async with (
                create_client_server_memory_streams() as (of_client, of_server),
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(server.run, *of_server, server.create_initialization_options())
                yield of_client
                tasks.cancel_scope.cancel()

        async with mcp.Client(wire()) as client:
            yield client


@pytest.fixture
def opening(graph: MemoryGraph) -> Iterator[Opening]:
    made = Opening(graph)
    yield made
    made.may_open.set()


async def create(client: mcp.Client, **options: Any) -> Any:
    return await client.call_tool("create_entities", {"entities": [ENTITY]}, **options)


async def test_a_call_while_neo4j_starts_is_answered_at_once_and_does_nothing(
    graph: MemoryGraph, opening: Opening
) -> None:
    async with opening.client() as client:
        with anyio.fail_after(WAIT_S):
            refused = await create(client)
        assert refused.is_error
        assert "try again in 5 s" in text_of(refused)
        opening.may_open.set()
        while (done := await create(client)).is_error:
            assert "Neo4j is starting" in text_of(done)
    assert opening.times == 1
    assert len(graph.history("Ada")) == 1


async def test_a_client_that_asks_for_progress_hears_of_it_and_waits(opening: Opening) -> None:
    said: list[str | None] = []

    async def hear(_progress: float, _total: float | None, message: str | None) -> None:
        said.append(message)
        if len(said) == 3:  # that is after the time in which others are answered
            opening.may_open.set()

    async with opening.client() as client:
        assert not (await create(client, progress_callback=hear)).is_error
    assert set(said) == {STARTING}


def test_what_takes_its_time_is_said_as_it_is(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.setattr(installation, "is_complete", lambda _: True)
    assert describe_opening(Settings()) == STARTING
    monkeypatch.setattr(installation, "is_complete", lambda _: False)
    assert describe_opening(Settings()) == "Neo4j is being downloaded, and starts then"
    assert describe_opening(Settings(uri="bolt://10.0.0.1")) == "the Neo4j of this server has not answered yet"
    far = BackgroundGraph(lambda: nullcontext(graph), describe=lambda: "it is far away")
    assert far.say_starting() == "it is far away: nothing was done; try again in 5 s"


async def test_over_http_a_call_while_neo4j_starts_is_answered_at_once(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving: queue.Queue[tuple[uvicorn.Server, str]] = queue.Queue()
    serve = uvicorn.Server.run

    def say_where(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        serving.put((server, f"http://127.0.0.1:{sockets[0].getsockname()[1]}{PATH}"))
        serve(server, sockets)

    monkeypatch.setattr(uvicorn.Server, "run", say_where)
    monkeypatch.setattr(Settings, "embedded", True)
    monkeypatch.setattr(Settings, "connect", lambda _settings: opening.open())
    monkeypatch.setattr(OpenedServer, "is_gone", lambda _opened: False)
    command = partial(cli.main, ["serve", "--transport", "http", "--port", "0"], standalone_mode=False)
    thread = threading.Thread(target=command)
    thread.start()
    server, url = serving.get(timeout=WAIT_S)

    try:
        async with over_http(url) as client:
            assert "try again in 5 s" in text_of(await create(client))
            opening.may_open.set()
            while (done := await create(client)).is_error:
                assert "Neo4j is starting" in text_of(done)
    finally:
        server.should_exit = True
        thread.join(WAIT_S)
    assert opening.times == 1


async def test_a_neo4j_that_was_stopped_is_started_again_by_the_next_call(opening: Opening) -> None:
    opening.may_open.set()
    async with opening.client() as client:
        assert not (await create(client)).is_error
        opening.is_gone = True
        assert not (await create(client)).is_error
    assert opening.times == 2


def test_a_call_whose_neo4j_ends_begins_the_next_start_and_says_so(graph: MemoryGraph, opening: Opening) -> None:
    opening.may_open.set()
    background = BackgroundGraph(opening.open, lambda: opening.is_gone)
    background.open_now()
    connection = background().connection
    failing = ServiceUnavailable("it is gone")

    def fail_once(_: Transaction) -> None:
        opening.is_gone, fails = True, not opening.is_gone
        if fails:
            raise failing

    try:
        opening.may_open.clear()
        with pytest.raises(ConnectionError, match=f"{STARTING}: try again in 5 s") as refused:
            connection.write(fail_once)
        assert (refused.value.outcome_unknown, background.is_opening) == (False, True)
        opening.may_open.set()
        wait_until(lambda: not background.is_opening)
        assert background().connection is connection  # as in this test alone
        failing, opening.is_gone = IncompleteCommit("it is gone"), False
        with pytest.raises(ConnectionError, match="whether it was kept is not known") as in_doubt:
            connection.write(fail_once)
        assert in_doubt.value.outcome_unknown
    finally:
        opening.may_open.set()
        wait_until(lambda: not background.is_opening)
        graph.connection.find_end = None


@pytest.mark.slow
@pytest.mark.usefixtures("quick_java")
@pytest.mark.timeout(600)
async def test_calls_in_work_when_the_embedded_neo4j_stops_are_answered_soon(
    tmp_path: Path, give_schema: GiveSchema
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    artifacts = EmbeddedServer().artifacts
    installation.install(artifacts)
    server = give_schema(EmbeddedServer(home, artifacts))
    (home / EmbeddedServer(home).artifacts.name).symlink_to(artifacts)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NEO4J_")}
    environment |= {"MEMORYGRAPH_HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])}

    def kill() -> None:
        process = server.find_process()
        assert process is not None
        process.kill()

    async def go_on(client: mcp.Client, told: list[tuple[float, str]], tool: str, arguments: dict[str, Any]) -> None:
        """Call until a call has failed, and then until one has succeeded; keep how long each took and what it said."""
        failed = False
        while True:
            began = time.monotonic()
            result = await client.call_tool(tool, arguments)
            told.append((time.monotonic() - began, text_of(result) if result.is_error else ""))
            if failed and not result.is_error:
                return
            failed = failed or bool(result.is_error)
            await anyio.sleep(0.05 if not result.is_error else 0.5)

    told: list[tuple[float, str]] = []
    try:
        async with started_in(environment, "stopping") as client:
            while (await create(client)).is_error:
                await anyio.sleep(0.5)
            for stop in (kill, server.down):
                async with anyio.create_task_group() as tasks:
                    for number in range(3):
                        said = {"entityName": "Ada", "contents": [f"{number}"]}
                        tasks.start_soon(go_on, client, told, "read_graph", {})
                        tasks.start_soon(go_on, client, told, "add_observations", {"observations": [said]})
                    await anyio.sleep(1)
                    await anyio.to_thread.run_sync(stop)
    finally:
        server.down()
    assert max(seconds for seconds, text in told if text) < SOON_S
    for text in {text for _, text in told if text}:
        assert "try again in 5 s" in text or "look before you run it again" in text
        assert "`memorygraph" not in text


def test_an_embedded_neo4j_that_was_started_again_is_another(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = {"found": psutil.Process()}
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.setattr(Settings, "connect", lambda _: nullcontext(graph))
    monkeypatch.setattr(server_process, "find_server", lambda _: processes["found"])
    for settings, is_another in ((Settings(), True), (Settings(uri="bolt://host"), False)):
        processes["found"] = psutil.Process()
        opened = OpenedServer(settings)
        with opened.connect():
            assert not opened.is_gone()
            processes["found"] = psutil.Process(os.getppid())
            assert opened.is_gone() == is_another


async def test_what_could_not_be_opened_is_the_answer_and_is_tried_again(graph: MemoryGraph) -> None:
    outcomes: list[Callable[[], MemoryGraph]] = [lambda: graph]

    @contextmanager
    def open_once() -> Iterator[MemoryGraph]:
        if outcomes:
            outcomes.pop()
            raise ConnectionError("there is no Java")
        yield graph

    async with mcp.Client(build_server(BackgroundGraph(open_once))) as client:
        assert "there is no Java" in text_of(await create(client))
        assert not (await create(client)).is_error


@pytest.mark.slow
async def test_while_a_slow_start_is_tried_again_the_reason_of_the_last_failure_is_said(graph: MemoryGraph) -> None:
    may_fail = [threading.Event() for _ in range(2)]
    opened = iter(may_fail)

    @contextmanager
    def fail_late() -> Iterator[MemoryGraph]:
        if next(opened).wait(WAIT_S):
            raise ConnectionError("the port is taken")
        yield graph

    background = BackgroundGraph(fail_late)
    async with mcp.Client(build_server(background)) as client:
        assert "the port is taken" not in text_of(await create(client))
        may_fail[0].set()
        while background.is_opening:
            await anyio.sleep(0)
        assert "The start before failed: the port is taken" in text_of(await create(client))
        may_fail[1].set()


def test_a_write_that_its_client_has_given_up_is_not_committed(graph: MemoryGraph) -> None:
    budget = RunBudget()

    given_up = Query("CREATE (:GivenUp {namespace: $namespace})", {"namespace": graph.namespace})
    left = Query("MATCH (node:GivenUp {namespace: $namespace}) RETURN count(*) AS count", given_up.parameters)

    def write_and_give_up(transaction: Transaction) -> None:
        transaction.run(given_up)
        budget.cancel("the request has ended")

    with pytest.raises(Cancelled):
        budget.call(lambda: graph.connection.write(write_and_give_up))
    assert graph.connection.read(left) == [{"count": 0}]


async def test_a_call_that_the_client_gives_up_while_it_waits_for_a_lock_is_not_committed_later(
    graph: MemoryGraph, opening: Opening
) -> None:
    opening.may_open.set()
    graph.load('Node(node_id="a", name="A", data="");')
    async with opening.client() as client:
        is_blocked = waiting(graph.connection, graph.namespace)
        with locked(graph.connection, graph.namespace), anyio.fail_after(WAIT_S):
            while not is_blocked():  # the first calls may be given up before that
                with pytest.raises(MCPError, match=r"[Tt]imed out"):
                    await create(client, read_timeout_seconds=1)
            # The server hears of it after the client has given up, and may commit until then.
            while any(budget.cancelled is None for budget in [*pools._in_work]):
                await anyio.sleep(0.01)
        with anyio.fail_after(WAIT_S):
            while pools.calls_in_work():
                await anyio.sleep(0.01)
    assert (graph.ids("", 10), len(graph.revisions(10))) == (["a"], 1)
    assert graph.query("MATCH (node {namespace: $namespace}) WHERE node.name = 'Ada' RETURN node") == []
