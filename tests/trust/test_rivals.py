"""Eight processes that want the same ids, as nodes and as edges, in opposed orders: one owner each, nothing lost."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from memorygraph.graph.connection import Connection
from tests.examples import amount
from tests.trust.chance import seeded
from tests.trust.rivals import COUNTERS, Account
from tests.trust.rounds import loads, stored
from tests.trust.test_faulty_network import MAX_CALL_S

PROCESSES = 8
ROUNDS = amount(ordinary=4, whole=10, long=200)


@pytest.mark.slow
def test_each_id_has_one_owner_and_no_deadlock_reaches_a_client(environment: str, connection: Connection) -> None:
    graph = MemoryGraph(connection, environment)
    graph.load("".join(f'Node(node_id="{counter}", name="C", data="0");' for counter in COUNTERS))
    accounts = _fight(seeded("rivals"))

    world = stored(graph)
    total = PROCESSES * ROUNDS
    assert [world[counter][1] for counter in COUNTERS] == [str(total)] * len(COUNTERS), "a count is lost or doubled"
    acknowledged = [id_ for account in accounts for id_ in account.loads]
    kept = {row["id"] for row in graph.query("MATCH (l:Load {namespace: $namespace}) RETURN l.id AS id")}
    assert set(acknowledged) < kept, "an acknowledged load is lost"
    assert loads(graph) == len(acknowledged) + 1
    deadlocks = sum(account.deadlocks for account in accounts)
    longest = max(account.longest_s for account in accounts)
    refused = sum(account.refused for account in accounts)
    print(
        f"{PROCESSES} processes, {len(acknowledged)} loads, {refused} rightly refused, {total} counts: 0 lost, ", end=""
    )
    print(f"{deadlocks} deadlocks retried, 0 surfaced, longest call {longest:.1f} s")
    assert refused
    assert deadlocks, "nothing was tested: no two processes ever waited for each other"
    assert longest < MAX_CALL_S


def _fight(chance: random.Random) -> list[Account]:
    """Start all processes, let them begin at once, and hear what each did."""
    with ExitStack() as stack:
        rivals = []
        for _ in range(PROCESSES):
            command = [sys.executable, "-m", "tests.trust.rivals", str(chance.randrange(2**32)), str(ROUNDS)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": Path(__file__).parents[2]}
            rivals.append(stack.enter_context(subprocess.Popen(command, text=True, **pipes)))  # type: ignore[call-overload]
        for rival in rivals:
            assert rival.stdout.readline() == "ready\n"
        for rival in rivals:
            print(file=rival.stdin, flush=True)
        return [Account(**json.loads(rival.communicate()[0])) for rival in rivals]
