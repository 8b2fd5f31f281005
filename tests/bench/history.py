"""What history costs: a load that creates, one that changes, and reading the past.

Prints the seconds of a load of a new graph (one node to three edges, one transaction, parsed beforehand) beside those
of the same rows written by a bare UNWIND MERGE, in turn. With `--before`, a checkout of an earlier commit, its load is
measured in the same rounds.

    python tests/bench/history.py [--statements N] [--rounds N] [--before FOLDER]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from memorygraph import MemoryGraph
from memorygraph.languages import parse
from memorygraph.query import Query

ROWS = 10_000
NODES = """
UNWIND $rows AS row
MERGE (node:Node {namespace: $namespace, id: row.id})
SET node.name = row.name, node.data = row.data, node.namespace_token = row.token
"""
EDGES = """
UNWIND $rows AS row
MATCH (from_node:Node {namespace: $namespace, id: row.from_node})
MATCH (to_node:Node {namespace: $namespace, id: row.to_node})
MERGE (from_node)-[edge:EDGE {namespace: $namespace, id: row.id}]->(to_node)
SET edge.verb = row.verb, edge.weight = row.weight
"""


def rows(statements: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The nodes and the edges of a graph of so many statements."""
    count = statements // 4
    nodes = [
        {"id": f"n{i}", "name": f"Name {i}", "data": f"what is known of thing {i}", "token": "t"} for i in range(count)
    ]
    edges = [
        {"id": f"e{i}", "from_node": f"n{i % count}", "to_node": f"n{(i * 7 + 1) % count}", "verb": "v", "weight": 0.5}
        for i in range(statements - count)
    ]
    return nodes, edges


def program(statements: int, data: str = "what is known of thing", weight: float = 0.5) -> str:
    """The same graph in ContextScript."""
    nodes, edges = rows(statements)
    lines = [f'Node(node_id="{n["id"]}", name="{n["name"]}", data="{data} {n["id"][1:]}");\n' for n in nodes]
    lines += [
        f'Edge(edge_id="{e["id"]}", from_node="{e["from_node"]}", to_node="{e["to_node"]}", verb="v", '
        f"weight={weight});\n"
        for e in edges
    ]
    return "".join(lines)


def timed(work: Callable[[], Any]) -> float:
    """The seconds that something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def timed_in_turns(ways: Mapping[str, Callable[[], Any]], rounds: int, *, warm_up: int = 1) -> dict[str, list[float]]:
    """The seconds that each way takes, in so many rounds in which each has its turn, after some that only warm up."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(warm_up + rounds):
        for name, way in ways.items():
            seconds = timed(way)
            if number >= warm_up:
                times[name].append(seconds)
    return times


def raw(graph: MemoryGraph, statements: int) -> float:
    """The seconds of a bare UNWIND MERGE."""
    namespace = f"bench-{uuid.uuid4().hex}"

    def work(transaction: Any) -> None:
        transaction.run(Query("MERGE (n:Namespace {name: $namespace}) SET n.revision = 1", {"namespace": namespace}))
        for text, part in zip((NODES, EDGES), rows(statements), strict=True):
            for start in range(0, len(part), ROWS):
                transaction.run(Query(text, {"namespace": namespace, "rows": part[start : start + ROWS]}))

    seconds = timed(lambda: graph.connection.write(work))
    graph.drop_namespace(namespace)
    return seconds


def load(graph: MemoryGraph, statements: int) -> float:
    """The seconds of a load that creates everything."""
    fresh = MemoryGraph(graph.connection, f"bench-{uuid.uuid4().hex}")
    parsed = parse(program(statements), "contextscript")
    seconds = timed(lambda: fresh.load(parsed))
    fresh.drop_namespace(fresh.namespace)
    return seconds


def workers(statements: int, before: Path) -> Iterator[float]:
    """The seconds of a load by an earlier checkout, again and again, in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", "--statements", str(statements)]
    environment = {**os.environ, "PYTHONPATH": str(before)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=before, env=environment
    ) as process:
        assert process.stdin
        assert process.stdout
        while True:
            process.stdin.write("go\n")
            process.stdin.flush()
            yield float(process.stdout.readline())


def work_for_others(statements: int) -> None:
    """Be the process that `workers` asks."""
    with MemoryGraph.connect() as graph:
        for _ in sys.stdin:
            print(load(graph, statements), flush=True)


def compare(graph: MemoryGraph, statements: int, rounds: int, before: Path | None) -> None:
    """Print the loads beside the bare write, and each other."""
    ways: dict[str, Callable[[], float]] = {
        "bare UNWIND MERGE": lambda: raw(graph, statements),
        "load": lambda: load(graph, statements),
    }
    if before is not None:
        others = workers(statements, before)
        ways["load before"] = lambda: next(others)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name in list(ways)[number % len(ways) :] + list(ways)[: number % len(ways)]:
            if number:  # the first round warms up
                seconds[name].append(ways[name]())
            else:
                ways[name]()
    for name, measured in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(measured, seconds["bare UNWIND MERGE"], strict=True))
        print(f"{name:20} {statistics.median(measured):6.2f} s   {ratio:.2f} of the bare write")
    if before is not None:
        ratios = sorted(a / b for a, b in zip(seconds["load"], seconds["load before"], strict=True))
        listed = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"load / load before = {statistics.median(ratios):.2f} (of {listed})")


def past(graph: MemoryGraph, statements: int) -> None:
    """Print what changing everything costs, and reading and undoing it."""
    print(f"with {statements} statements:")
    fresh = MemoryGraph(graph.connection, f"bench-{uuid.uuid4().hex}")
    fresh.load(program(statements))
    changed = parse(program(statements, "what is now known of", 0.75), "contextscript")
    for name, work in (
        ("change everything", lambda: fresh.load(changed)),
        ("the same again", lambda: fresh.load(changed)),
        ("export", fresh.export),
        ("export as of 1", lambda: fresh.at(1).export()),
        ("history of a node", lambda: fresh.history("n7")),
        ("undo the change", lambda: fresh.undo(2)),
        ("undo one statement", lambda: fresh.undo(fresh.load('Node(node_id="n7", name="N");').revision)),
        ("purge", fresh.purge),
    ):
        print(f"{name:20} {timed(work):6.2f} s")
    fresh.drop_namespace(fresh.namespace)


def main() -> None:
    """Run the rounds and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work_for_others(options.statements)
        return
    with MemoryGraph.connect() as graph:
        compare(graph, options.statements, options.rounds, options.before)
        past(graph, options.statements // 5)  # a change of everything keeps it twice, in one transaction


if __name__ == "__main__":
    main()
