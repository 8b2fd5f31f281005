"""A loading client that is killed leaves a whole program or nothing, and a rerun ends in the same graph."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from memorygraph.graph.connection import Connection

KILLS = 12
NODES = 300

# Loads the program again and again, each time with another value in all of its nodes.
_CLIENT = """
import sys
from memorygraph import MemoryGraph
with MemoryGraph.connect() as mg:
    print("ready", flush=True)
    for round in range(10_000):
        mg.load("".join(f'Node(node_id="n{i}", name="N", data="round {round}");' for i in range(%d)))
"""


def test_a_killed_client_leaves_whole_programs(environment: str, connection: Connection) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    graph = MemoryGraph(connection, environment)
    kept = 0
    for _ in range(KILLS):
        with subprocess.Popen([sys.executable, "-c", _CLIENT % NODES], stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout
            assert client.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.0, 0.3))
            client.kill()
        [row] = graph.query(
            "MATCH (n:Node {namespace: $namespace}) RETURN count(n) AS nodes, count(DISTINCT n.data) AS rounds"
        )
        assert row in ({"nodes": 0, "rounds": 0}, {"nodes": NODES, "rounds": 1}), f"seed {seed}: {row}"
        kept += row["nodes"] > 0
    revisions = graph.query(
        "MATCH (l:Load {namespace: $namespace}) RETURN count(l) AS loads, coalesce(max(l.revision), 0) AS last"
    )[0]
    assert revisions["loads"] == revisions["last"], "revisions have gaps"
    print(f"{KILLS} kills, {kept} with a stored program, {revisions['loads']} loads, seed {seed}")


@pytest.mark.usefixtures("environment")
def test_a_killed_batched_load_goes_on_and_ends_in_the_same_graph(
    environment: str, connection: Connection, tmp_path: Path
) -> None:
    path = tmp_path / "large.ctx"
    path.write_text("".join(f'Node(node_id="n{i}", name="N{i}", data="{i}");\n' for i in range(4000)), "utf-8")
    graph = MemoryGraph(connection, environment)
    chance = random.Random(7)
    command = [sys.executable, "-m", "memorygraph", "load", str(path), "--batch", "200", "--json"]
    for _ in range(3):
        client = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.8, 2.0))
        client.kill()
        client.wait()
        stored = graph.query("MATCH (n:Node {namespace: $namespace}) RETURN count(n) AS n")[0]["n"]
        assert stored % 200 == 0
    graph.load_file(path, batch=200)
    batched = graph.export()
    graph.drop_namespace(environment)
    graph.load_file(path)
    assert graph.export() == batched
