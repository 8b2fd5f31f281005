"""A server that is killed while clients write keeps all that it acknowledged, and no part of anything else.

Each start of Neo4j takes seconds, so that few kills are one test; the clients live through all of them.
"""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memorygraph import ConflictError, ConnectionError, MemoryGraph
from memorygraph.server import process as server_process
from memorygraph.server.embedded import EmbeddedServer
from memorygraph.server.installation import install
from memorygraph.server.java import java_executable
from tests.examples import amount
from tests.shared_neo4j import GiveSchema
from tests.trust.chance import seeded
from tests.trust.rounds import loads, stored

pytestmark = pytest.mark.usefixtures("quick_java")

KILLS = amount(ordinary=3, whole=3, long=20)
NODES = 40
PATIENCE_S = 300.0
"""How long clients may need after a restart: on a busy machine a cold server plans one query for half a minute. Only a
client that waits in vain reaches it."""


@pytest.fixture
def own_server(tmp_path: Path, give_schema: GiveSchema) -> Iterator[EmbeddedServer]:
    """A server that can be killed, with the program files of the developer's home."""
    server = give_schema(EmbeddedServer(tmp_path / "home", EmbeddedServer().artifacts))
    yield server
    while process := server_process.find_server(server.home):
        process.kill()
        process.wait(10)


class Writer(threading.Thread):
    """Writes one numbered value after another, whatever happens, and remembers which were acknowledged."""

    def __init__(self, write: Callable[[int], object]) -> None:
        super().__init__()
        self.write = write
        self.acknowledged: list[int] = []
        self.unknown: list[int] = []
        self.failure: BaseException | None = None
        self.over = threading.Event()

    def run(self) -> None:
        number = 0
        try:
            while not self.over.is_set():
                try:
                    self.write(number)
                    self.acknowledged.append(number)
                except (ConnectionError, ConflictError):
                    self.unknown.append(number)
                number += 1
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            self.failure = error

    def await_progress(self, seconds: float) -> None:
        """Wait until a write that begins now is acknowledged."""
        until = time.monotonic() + seconds
        known = len(self.acknowledged) + 1  # one may have been under way
        while len(self.acknowledged) <= known:
            assert self.failure is None, self.failure
            assert time.monotonic() < until, "the client does not recover"
            time.sleep(0.01)

    def check(self, found: set[int]) -> None:
        assert self.failure is None, self.failure
        assert set(self.acknowledged) <= found, "what was acknowledged is lost"
        assert found <= {*self.acknowledged, *self.unknown}, "nobody wrote this"


def program(number: int) -> str:
    nodes = [f'Node(node_id="p{number}-{i}", name="N", data="{number}");' for i in range(NODES)]
    edges = [
        f'Edge(edge_id="e{number}-{i}", from_node="p{number}-{i}", to_node="p{number}-0", verb="v", weight=0.5);'
        for i in range(NODES)
    ]
    return "".join(nodes + edges)


@pytest.mark.slow
@pytest.mark.timeout(900 + 120 * KILLS)
def test_a_killed_server_keeps_what_it_acknowledged_and_open_clients_recover(own_server: EmbeddedServer) -> None:
    chance = seeded("kills of the server")
    uri = own_server.up().bolt_uri
    with MemoryGraph.connect(uri, ("neo4j", own_server.password()), namespace="kills") as graph:
        loader = Writer(lambda number: graph.load(program(number)))
        speaker = Writer(lambda number: graph.messages("talk").append({"role": "user", "content": str(number)}))
        writers = (loader, speaker)
        for writer in writers:
            writer.start()
        try:
            starts = [_kill_and_start(own_server, writers, chance) for _ in range(KILLS)]
            for writer in writers:
                writer.await_progress(PATIENCE_S)
            assert own_server.status().bolt_uri == uri
        finally:
            for writer in writers:
                writer.over.set()
            for writer in writers:
                writer.join()
        _check(graph, loader, speaker)
        print(
            f"{KILLS} kills, {len(loader.acknowledged)} loads and {len(speaker.acknowledged)} messages acknowledged: "
            f"0 lost, 0 partial; {len(loader.unknown) + len(speaker.unknown)} outcomes unknown; "
            f"longest start {max(starts):.1f} s"
        )
        _stop_during_work(own_server, graph)
    check_consistency(own_server)


def _kill_and_start(server: EmbeddedServer, writers: tuple[Writer, ...], chance: random.Random) -> float:
    for writer in writers:
        writer.await_progress(PATIENCE_S)
    time.sleep(chance.uniform(0.0, 1.0))
    process = server_process.find_server(server.home)
    assert process
    process.kill()
    process.wait(10)
    start = time.monotonic()
    server.up()
    return time.monotonic() - start


def _check(graph: MemoryGraph, loader: Writer, speaker: Writer) -> None:
    numbers: dict[int, int] = {}
    for id_, value in stored(graph).items():
        number = int(id_[1:].partition("-")[0])
        numbers[number] = numbers.get(number, 0) + 1
        assert value in {("N", str(number)), (f"p{number}-{id_.partition('-')[2]}", f"p{number}-0", "v", 0.5)}
    assert set(numbers.values()) == {2 * NODES}, "a part of a program"
    assert loads(graph) == len(numbers)
    loader.check(set(numbers))
    said = [int(message["content"]) for message in graph.messages("talk")]
    assert said == sorted(set(said))
    speaker.check(set(said))


def _stop_during_work(server: EmbeddedServer, graph: MemoryGraph) -> None:
    """A server that is stopped in the midst of loads is a clear error to their client."""
    writer = Writer(lambda number: graph.load(f'Node(node_id="after", name="A", data="{number}");'))
    writer.start()
    writer.await_progress(PATIENCE_S)
    assert server.down()
    writer.over.set()
    writer.join(PATIENCE_S)
    assert not writer.is_alive()
    assert writer.failure is None


def check_consistency(server: EmbeddedServer) -> None:
    """Let Neo4j check the store of a stopped server."""
    class_path = os.pathsep.join(map(str, install(server.artifacts)))
    command = [str(java_executable()), "-cp", class_path, "org.neo4j.server.startup.Neo4jAdminCommand"]
    environment = {**os.environ, "NEO4J_HOME": str(server.home), "NEO4J_CONF": str(server.home / "conf")}
    answer = subprocess.run(
        [*command, "database", "check", "neo4j", f"--report-path={server.home}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert not list(server.home.glob("*.report")), answer.stdout
    print(f"consistency check clean: {answer.stdout.strip().splitlines()[-1]}")
