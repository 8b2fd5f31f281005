"""What `load --batch` costs beside the bare driver, at any size: nodes, then three times as many edges between them.

Each of the two files is loaded by a process of its own, which says how long it checked, how long it stored, and how
much memory it took at most; then the driver alone writes the same rows into another namespace, a page of so many rows
in each transaction, by UNWIND MERGE. A ratio is the rate of the load while it stored to that of the driver; checking
stands beside it.

    python -m tests.bench.batches [--nodes N] [--batch N]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

import neo4j

from memorygraph import MemoryGraph
from memorygraph.graph.namespace import pages_of
from tests.bench.history import EDGES, NODES, program, rows, timed
from tests.bench.load import bare_driver, fresh

LOAD = """
import resource, sys, time
from memorygraph import MemoryGraph
path, namespace, batch = sys.argv[1:]
with MemoryGraph.connect(namespace=namespace) as graph:
    began, at = time.perf_counter(), []
    graph.load_file(path, batch=int(batch), checked=lambda _: at.append(time.perf_counter()))
    ended = time.perf_counter()
print(at[0] - began, ended - at[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def load(path: Path, namespace: str, batch: int) -> list[float]:
    """The seconds of checking and of storing, and the memory at most in MiB, of a process that loads a file."""
    command = [sys.executable, "-c", LOAD, str(path), namespace, str(batch)]
    return [float(part) for part in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def write(driver: neo4j.Driver, text: str, namespace: str, part: list[dict[str, Any]], batch: int) -> None:
    """The same rows by the driver alone, a transaction for each page."""
    for page in pages_of(part, batch):
        driver.execute_query(text, namespace=namespace, rows=page)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=20_000)
    given = parser.parse_args()
    whole = program(4 * given.nodes).splitlines(keepends=True)
    lines = {"nodes": whole[: given.nodes], "edges": whole[given.nodes :]}
    with (
        MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex}") as graph,
        bare_driver(graph) as driver,
        fresh(graph) as ours,
        fresh(graph) as bare,
        tempfile.TemporaryDirectory() as folder,
    ):
        for (name, text), query, part in zip(lines.items(), (NODES, EDGES), rows(4 * given.nodes), strict=True):
            path = Path(folder) / f"{name}.ctx"
            path.write_text("".join(text), "utf-8")
            checking, storing, mebibytes = load(path, ours.namespace, given.batch)
            seconds = timed(lambda query=query, part=part: write(driver, query, bare.namespace, part, given.batch))  # type: ignore[misc]
            rate, bare_rate = len(part) / storing, len(part) / seconds
            print(
                f"{len(part)} {name}: checked in {checking:.0f} s, stored in {storing:.0f} s ({rate:,.0f} a second, "
                f"{rate / bare_rate:.2f} of the driver's {bare_rate:,.0f}), client {mebibytes:.0f} MiB",
                flush=True,
            )


if __name__ == "__main__":
    main()
