"""What a load costs beside the bare driver: whole programs, one statement, memory, and parsing alone.

Prints ratios of what is run in turn (one node to three edges in each program):

- `load` from text to report, to the driver alone, which writes the same rows by UNWIND MERGE in one transaction, with
  the same constraints and indexes;
- the parsing in it, as a share;
- a load of one statement through an open client, to one bare parameterized write on an open driver: by its
  `execute_query`, which is a managed transaction too, and by a query on an open session, which nothing repeats;
- how much memory a process that loads with `--batch` takes above its start, for files of two lengths.

    python -m tests.bench.load [--statements N...] [--rounds N]
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import neo4j

from memorygraph import EmbeddedServer, MemoryGraph
from memorygraph.client import login
from memorygraph.languages import parse
from tests.bench.history import EDGES, NODES, ROWS, program, rows, timed

SINGLE_ROUNDS = 200
WRITE = """
MERGE (node:Node {namespace: $namespace, id: $id})
SET node.name = $name, node.data = $data, node.namespace_token = 't'
"""
MEMORY = """
import sys
from memorygraph import MemoryGraph
from memorygraph.languages import parse_batches
from tests.graph.measuring import most_memory
import memorygraph.graph.batches, memorygraph.languages.contextscript
with MemoryGraph.connect(namespace=sys.argv[2]) as graph:
    graph.load('Node(node_id="first", name="", data="");')
    start = most_memory()
    report = graph.load_file(sys.argv[1], batch=int(sys.argv[3]))
    peak = most_memory()
    graph.drop_namespace(graph.namespace)
print(report.statements, peak - start)
"""


@contextmanager
def fresh(graph: MemoryGraph) -> Iterator[MemoryGraph]:
    """A namespace of its own, which is deleted again."""
    own = MemoryGraph(graph.connection, f"bench-{uuid.uuid4().hex}")
    own.load("")
    try:
        yield own
    finally:
        own.drop_namespace(own.namespace)


@contextmanager
def bare_driver(graph: MemoryGraph) -> Iterator[neo4j.Driver]:
    """The driver alone, at the same server."""
    auth = login() or ("neo4j", EmbeddedServer().password())
    with neo4j.GraphDatabase.driver(graph.connection.uri, auth=auth) as driver:
        driver.verify_connectivity()
        yield driver


def write_rows(driver: neo4j.Driver, namespace: str, parts: tuple[list[dict[str, Any]], ...]) -> None:
    """All rows of a program in one transaction."""

    def work(transaction: neo4j.ManagedTransaction) -> None:
        for text, part in zip((NODES, EDGES), parts, strict=True):
            for start in range(0, len(part), ROWS):
                transaction.run(text, namespace=namespace, rows=part[start : start + ROWS]).consume()

    with driver.session() as session:
        session.execute_write(work)


def measure_programs(graph: MemoryGraph, driver: neo4j.Driver, statements: int, rounds: int) -> None:
    """Print what loads of one length cost."""
    text, parts = program(statements), rows(statements)
    loads, bares, parsings = [], [], []
    for _ in range(rounds + 1):
        with fresh(graph) as own:
            bares.append(timed(lambda own=own: write_rows(driver, own.namespace, parts)))  # type: ignore[misc]
        with fresh(graph) as own:
            loads.append(timed(lambda own=own: own.load(text)))  # type: ignore[misc]
        parsings.append(timed(lambda: parse(text, "contextscript")))
    ratios = sorted(load / bare for load, bare in zip(loads[1:], bares[1:], strict=True))
    print(
        f"{statements:7} statements: load / bare UNWIND MERGE = {statistics.median(ratios):.2f} "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f}, {rounds} pairs); load {statistics.median(loads[1:]):.3f} s, "
        f"bare {statistics.median(bares[1:]):.3f} s, parsing {statistics.median(parsings[1:]):.3f} s",
        flush=True,
    )


def measure_single(graph: MemoryGraph, driver: neo4j.Driver) -> None:
    """Print what a load of one statement costs, of a new node and of one that changes."""
    for kind in ("creates a node", "changes a node"):
        times: dict[str, list[float]] = {"load": [], "execute_query": [], "open session": []}
        with fresh(graph) as own, driver.session() as session:
            for number in range(SINGLE_ROUNDS + 20):
                id_ = f"n{number}" if kind == "creates a node" else "n"
                text = f'Node(node_id="{id_}", name="Name {number}", data="what is known of thing {number}");'
                values = {"namespace": own.namespace, "id": f"b{id_}", "name": f"Name {number}", "data": text[30:]}
                ways: dict[str, Callable[[], object]] = {
                    "load": partial(own.load, text),
                    "execute_query": partial(driver.execute_query, WRITE, {**values, "id": f"c{id_}"}),
                    "open session": lambda session=session, values=values: session.run(WRITE, values).consume(),  # type: ignore[misc]
                }
                for name, way in random.sample(list(ways.items()), len(ways)):
                    times[name].append(timed(way))
        middle = {name: statistics.median(taken[20:]) * 1e3 for name, taken in times.items()}
        load = middle.pop("load")
        ratios = ", ".join(f"{load / bare:.2f} times {name} ({bare:.2f} ms)" for name, bare in middle.items())
        print(f"a load of one statement that {kind}: {load:.2f} ms, {ratios}", flush=True)


def measure_memory(statements: int, batch: int) -> None:
    """Print how much memory a process takes that loads a file in batches."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.ctx"
        for length in (statements, 4 * statements):
            path.write_text(program(length), "utf-8")
            namespace = f"bench-{uuid.uuid4().hex}"
            command = [sys.executable, "-c", MEMORY, str(path), namespace, str(batch)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            size = path.stat().st_size / 2**20
            print(
                f"--batch {batch}: {printed[0]} statements of {size:.1f} MB take {float(printed[1]):.0f} MB of memory"
            )


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex}") as graph, bare_driver(graph) as driver:
        measure_single(graph, driver)
        for statements in options.statements:
            measure_programs(graph, driver, statements, options.rounds)
    measure_memory(100_000, 5000)


if __name__ == "__main__":
    main()
