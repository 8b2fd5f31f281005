"""A client that is killed leaves a whole program or nothing, and a rerun ends in the graph that it would have made."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorygraph import MemoryGraph
from memorygraph.graph.connection import Connection
from tests.examples import amount, profile
from tests.trust.chance import seeded
from tests.trust.rounds import after, loads, statements, stored, text_of
from tests.trust.transactions import await_open_transactions
from tests.trust.victims import End, Order, log_of

LONG = profile() == "long"
KILLS = amount(ordinary=3, whole=12, long=200)
"""Kills at random times, and kills at the k-th call for each kind of write; by the option, at every call."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes"),
    pytest.mark.timeout(300 + 6 * KILLS),
]
LAST = amount(ordinary=4, whole=9, long=9)
"""The commit, and what is acknowledged of it, is among the last calls: they are never left out."""
REPOSITORY = Path(__file__).parents[2]


class Clients:
    """Where clients live and die."""

    def __init__(self, process: subprocess.Popen[str], folder: Path, connection: Connection) -> None:
        self.process = process
        self.folder = str(folder)
        self.connection = connection

    def run(self, task: str, namespace: str, round_: int, **kill: Any) -> End:
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps(Order(task, namespace, round_, self.folder, **kill)), file=self.process.stdin, flush=True)
        end = End(*json.loads(self.process.stdout.readline()))
        await_open_transactions(self.connection)
        return end


@pytest.fixture
def clients(environment: str, connection: Connection, tmp_path: Path) -> Iterator[Clients]:
    command = [sys.executable, "-m", "tests.trust.victims"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as process:
        yield Clients(process, tmp_path, connection)
        assert process.stdin
        process.stdin.close()
        assert process.wait(30) == 0


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    return seeded(request.node.name)


def calls_to_kill_at(calls: int, chance: random.Random) -> list[int]:
    """Numbers of calls: all and some behind the end, or some at about equal distances and the last ones."""
    if LONG:
        return list(range(1, calls + 10))
    distance = calls / KILLS
    spread = {int(distance * (i + chance.random())) + 1 for i in range(KILLS)}
    return sorted(spread | set(range(calls - LAST, calls)))


def test_a_client_killed_at_any_call_leaves_a_whole_program(
    clients: Clients, environment: str, connection: Connection, chance: random.Random
) -> None:
    graph = MemoryGraph(connection, environment)
    calls = [clients.run("load", environment, round_).calls for round_ in (0, 1)][-1]
    world, kills, whole = after(after({}, statements(0)), statements(1)), 0, 0
    assert stored(graph) == world
    for round_, call in enumerate(calls_to_kill_at(calls, chance), 2):
        end = clients.run("load", environment, round_, kill_at=call)
        kills += end.killed
        new = after(world, statements(round_))
        found = stored(graph)
        assert found in (world, new), f"a part of a program, killed at call {call}"
        assert found == new or not end.acknowledged, f"an acknowledged load is lost, killed at call {call}"
        whole += found == new
        loads(graph)
        if found == world:
            graph.load(text_of(statements(round_)))
        assert stored(graph) == new
        world = new
    fresh = MemoryGraph(connection, f"{environment}-once")
    fresh.load(text_of([*statements(0), *statements(round_)[:24], statements(round_)[-1]]).replace("extra0", "gone"))
    fresh.delete("gone")
    assert fresh.export() == graph.export(), "a rerun ends in another graph"
    print(f"{kills} kills at one of {calls} calls: 0 partial, {whole} stored, {kills - whole} not")


def test_a_client_killed_at_any_call_leaves_whole_batches_and_goes_on_behind_them(
    clients: Clients, environment: str, connection: Connection, chance: random.Random, tmp_path: Path
) -> None:
    graph = MemoryGraph(connection, environment)
    for round_ in (0, 1):
        (tmp_path / f"round{round_}.ctx").write_text(text_of(statements(round_)), "utf-8")
        calls = clients.run("batches", environment, round_).calls
    world, kills, resumed = after(after({}, statements(0)), statements(1)), 0, 0
    assert stored(graph) == world
    for round_, call in enumerate(calls_to_kill_at(calls, chance), 2):
        program = statements(round_)
        path = tmp_path / f"round{round_}.ctx"
        path.write_text(text_of(program), "utf-8")
        killed = clients.run("batches", environment, round_, kill_at=call).killed
        found, beginnings = stored(graph), [after(world, program[:n]) for n in (*range(0, len(program), 4), None)]
        assert found in beginnings, f"a part of a batch, killed at call {call}"
        loads(graph)
        if found != beginnings[-1]:
            assert graph.load_file(path, batch=4).resumed_after == 4 * beginnings.index(found)
        assert stored(graph) == beginnings[-1]
        world, kills, resumed = after(world, program), kills + killed, resumed + (found in beginnings[1:-1])
    assert graph.query("MATCH (c:Checkpoint {namespace: $namespace}) RETURN count(c) AS n") == [{"n": 0}]
    print(f"{kills} kills at one of {calls} calls: 0 partial batches, {resumed} loads went on where they stopped")


def test_a_client_killed_at_any_call_leaves_a_whole_log_and_a_whole_message(
    clients: Clients, environment: str, connection: Connection, chance: random.Random
) -> None:
    graph = MemoryGraph(connection, environment)
    kills = 0
    calls = [clients.run("log", environment, round_).calls for round_ in (0, 1)][-1]
    grown = set()
    for round_, call in enumerate(calls_to_kill_at(calls, chance), 2):
        before = stored(graph)
        kills += clients.run("log", environment, round_, kill_at=call).killed
        found = stored(graph)
        graph.load(log_of(round_), "pete")
        complete = stored(graph)
        assert found in (before, complete), f"a part of a log, killed at call {call}"
        grown.add(len(complete) - len(before))
    assert len(grown) == 1
    assert len(graph.thoughts()) == round_ + 1
    loads(graph)

    said = ["message 0", "message 1"]
    calls = [clients.run("append", environment, round_).calls for round_ in (0, 1)][-1]
    for round_, call in enumerate(calls_to_kill_at(calls, chance), 2):
        kills += clients.run("append", environment, round_, kill_at=call).killed
        history = graph.messages("talk")
        heard = [message["content"] for message in history]
        wanted = [*said, f"message {round_}"]
        assert heard in (said, wanted), f"killed at call {call}"
        if heard == said:
            history.append({"role": "user", "content": wanted[-1]})
        said = wanted
    assert [message["content"] for message in graph.messages("talk")] == said
    print(f"{kills} kills: 0 partial logs, 0 partial or doubled messages")


def test_a_client_killed_at_any_time_leaves_a_whole_program(
    clients: Clients, environment: str, connection: Connection, chance: random.Random
) -> None:
    graph = MemoryGraph(connection, environment)
    first = 0
    for kill in range(KILLS):
        end = clients.run("load", environment, first, kill_after=chance.uniform(0.0, 0.5))
        found = stored(graph)
        last = int(found["n0"][1].removeprefix("round "))
        assert last in {first + end.acknowledged - 1, first + end.acknowledged}, f"a load is lost, at kill {kill}"
        program = statements(last)
        assert found == after({f"extra{last - 1}": ()} if last else {}, program), f"a part of a program, at kill {kill}"
        first = last + 1
    assert loads(graph) == first
    print(f"{KILLS} kills at random times: 0 partial, 0 of {first} loads lost")
