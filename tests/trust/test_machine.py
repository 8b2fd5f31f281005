"""A machine that fails under its server and its clients: a full disk, a clock that jumps, a process that stops.

Clients go on afterwards, or were told a clear error; nothing that was acknowledged is lost, and no program is there in
part. All of it happens to one server, whose start takes longer than the rest. At full size each goes on for ten
minutes, and a process is stopped for one.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import psutil
import pytest

from memorygraph import EmbeddedServer, MemoryGraph
from memorygraph.server import doctor
from memorygraph.server import process as server_process
from memorygraph.server.findings import Diagnosis
from memorygraph.server.java import java_executable
from tests.examples import amount
from tests.shared_neo4j import GiveSchema, new_namespace
from tests.trust.chance import seeded
from tests.trust.loading import Client, check
from tests.trust.machine import SmallDisk, WrongClock

pytestmark = [pytest.mark.usefixtures("quick_java"), pytest.mark.slow]

SECONDS = amount(ordinary=0, whole=0, long=600)
STOPS = amount(ordinary=2, whole=2, long=6)
STOPPED_S = amount(ordinary=1, whole=1, long=60)
JUMPS = amount(ordinary=6, whole=6, long=20)
FULL_DISKS = amount(ordinary=1, whole=1, long=10)
PATIENCE_S = 180.0
"""How long clients may need to go on: their own new tries, and those of others before them."""
HOUR, DAY = 3600, 86400
WRONG_BY = [HOUR, -HOUR, DAY, -DAY, 400 * DAY, -400 * DAY, 90, -90, 0]


class Machine:
    """A server on a disk of its own, with a clock of its own, and where clients find it."""

    def __init__(self, folder: Path, give_schema: GiveSchema) -> None:
        self.disk = SmallDisk(folder / "disk")
        self.has_disk = self.disk.mount()
        self.clock = WrongClock(folder, "server")
        self.client_clock = WrongClock(folder, "client")
        self._java = java_executable()
        self.server = give_schema(EmbeddedServer(self.disk.folder / "home", EmbeddedServer().artifacts))

    def start(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            if self.clock.can_be_made:
                patch.setenv("JAVA_HOME", str(self.clock.java_home(self._java)))
            self.server.up()

    def process(self) -> psutil.Process:
        found = server_process.find_server(self.server.home)
        assert found, "the server has ended"
        return found

    def end(self) -> None:
        while process := server_process.find_server(self.server.home):
            process.kill()
            process.wait(10)
        if self.has_disk:
            self.disk.unmount()


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, quick_java: None, give_schema: GiveSchema) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("machine"), give_schema)
    try:
        machine.start()
        yield machine
    finally:
        machine.end()


@contextmanager
def loading(machine: Machine) -> Iterator[list[Client]]:
    """Two clients that load into one namespace, and in the end a look at what they leave there."""
    namespace = new_namespace()
    with ExitStack() as stack:
        clients = []
        for name in ("a", "b"):
            environment = machine.client_clock.environment() if name == "a" else {}
            clients.append(Client(name, machine.server, namespace, environment))
            stack.callback(clients[-1].kill)
        for client in clients:
            client.await_progress(PATIENCE_S)
        yield clients
        for client in clients:
            client.await_progress(PATIENCE_S)
        for client in clients:
            client.end(PATIENCE_S)
        with MemoryGraph.connect(server=machine.server, namespace=namespace) as graph:
            print(check(graph, clients))
    for client in clients:
        assert all("Traceback" not in error for error in client.errors)
        print(f"client {client.name}: {sorted({error[:160] for error in client.errors})}")


def repeat(count: int, chance: Random, work: Callable[[int], None]) -> int:
    """Do something so often, and at full size until its time is over; returns how often."""
    until = time.monotonic() + SECONDS
    number = 0
    while number < count or time.monotonic() < until:
        time.sleep(chance.uniform(0.0, 0.3))
        work(number)
        number += 1
    return number


def failed(findings: list[Diagnosis], name: str) -> str:
    """What the doctor says of a part that is not well."""
    found = [finding for finding in findings if finding.name == name]
    assert found, f"the doctor says nothing of the {name}"
    assert not found[0].ok, f"the doctor finds nothing wrong with the {name}: {found[0].detail}"
    return f"{found[0].detail}; {found[0].next_step}"


@pytest.mark.timeout(300 + 2 * SECONDS + 4 * STOPS * STOPPED_S)
def test_a_process_that_is_stopped_for_a_while_goes_on_where_it_was(machine: Machine) -> None:
    chance = seeded("processes that stop")
    with loading(machine) as clients:

        def stop(number: int) -> None:
            victim = chance.choice([machine.process().pid, *(client.process.pid for client in clients)])
            if number == 0:
                victim = machine.process().pid
            os.kill(victim, signal.SIGSTOP)
            try:
                if number == 0:
                    said = failed([doctor.examine_server(machine.server)], "server")
                    assert "does not answer" in said
                    print(f"doctor: {said}")
                time.sleep(STOPPED_S)
            finally:
                os.kill(victim, signal.SIGCONT)
            for client in clients:
                client.await_progress(PATIENCE_S)

        count = repeat(STOPS, chance, stop)
        print(f"{count} times stopped for {STOPPED_S} s: ", end="")


@pytest.mark.timeout(300 + 2 * SECONDS)
def test_a_clock_that_jumps_neither_loses_nor_stops_anything(machine: Machine) -> None:
    if not machine.clock.can_be_made:
        pytest.skip("needs Linux and a C compiler, `cc`, for a clock that only some processes have")
    chance = seeded("clocks that jump")
    with loading(machine) as clients:

        def jump(number: int) -> None:
            clock = machine.client_clock if chance.random() < 0.4 else machine.clock
            seconds = chance.choice(WRONG_BY)
            if number == 0:
                clock, seconds = machine.clock, -400 * DAY
            clock.set(seconds)
            if number == 0:
                said = failed(doctor.examine_graph(machine.server), "server clock")
                print(f"doctor: {said}")
            for client in clients:
                client.await_progress(PATIENCE_S)

        try:
            count = repeat(JUMPS, chance, jump)
        finally:
            machine.clock.set(0)
        print(f"{count} jumps of a clock: ", end="")


@pytest.mark.timeout(300 + 2 * SECONDS)
def test_a_disk_that_fills_costs_no_load_that_was_acknowledged(machine: Machine) -> None:
    if not machine.has_disk:
        pytest.skip("needs the right to mount a file system")
    chance = seeded("disks that fill")
    with loading(machine) as clients:

        def fill(number: int) -> None:
            machine.disk.fill(free=chance.choice([0, 4096, 2**16, 2**20]) if number else 0)
            try:
                await_standstill(clients)
                findings = doctor.examine(machine.server)
                assert "make room" in failed(findings, "disk")
                print(f"doctor: {[str(finding) for finding in findings if not finding.ok]}")
            finally:
                machine.disk.make_room()
            if chance.random() < 0.3:
                machine.server.down()
            machine.start()
            for client in clients:
                client.await_progress(PATIENCE_S)

        count = repeat(FULL_DISKS, chance, fill)
        print(f"{count} full disks: ", end="")


def await_standstill(clients: list[Client]) -> None:
    """Wait until a client is told of a failure, or none has made a step for some seconds."""
    until = time.monotonic() + PATIENCE_S
    failures = sum(len(client.errors) for client in clients)
    steps, since = -1, time.monotonic()
    while sum(len(client.errors) for client in clients) == failures and time.monotonic() < since + 3:
        assert time.monotonic() < until, "the disk does not fill"
        now = sum(len(client.acknowledged) for client in clients)
        if now != steps:
            steps, since = now, time.monotonic()
        time.sleep(0.02)
