"""What `load --batch` costs beside the bare driver, at any size: nodes, then three times as many edges between them.

Each of the two files is loaded by a process of its own, which says how long it checked, how long it stored, and how
much memory it took at most; the driver alone writes the same rows into another namespace by UNWIND MERGE, a transaction
for each page of so many rows. The two take turns at who is first, and the medians of the rounds are printed. A ratio is
the rate of the load while it stored to that of the driver; checking stands beside it. The second ratio is that of their
processor time, of the client and the server together: on a machine with other work it says more.

    python -m tests.bench.batches [--nodes N] [--batch N] [--rounds N]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import neo4j
import psutil

from memorygraph import MemoryGraph
from memorygraph.graph.namespace import pages_of
from tests.bench.history import EDGES, NODES, program, rows
from tests.bench.load import bare_driver, fresh

LOAD = """
import sys, time
from memorygraph import MemoryGraph
from tests.graph.measuring import most_memory
path, namespace, batch = sys.argv[1:]
with MemoryGraph.connect(namespace=namespace) as graph:
    began, at = time.perf_counter(), []
    graph.load_file(path, batch=int(batch), checked=lambda _: at.append((time.perf_counter(), time.process_time())))
    ended, processor = time.perf_counter(), time.process_time()
[[checked, before]] = at
print(checked - began, ended - checked, processor - before, most_memory())
"""


class Measured(NamedTuple):
    """The seconds of a way to store rows, those of the processor, client and server, and beside the load alone more."""

    stored: float
    processor: float
    checked: float = 0.0
    mebibytes: float = 0.0


def server_process(uri: str) -> psutil.Process:
    """The process that answers at an address of this machine."""
    port = urlsplit(uri).port
    [pid] = {
        each.pid
        for each in psutil.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN and each.laddr.port == port
    }
    return psutil.Process(pid)


def seconds_of(server: psutil.Process) -> float:
    """The processor time that the server has taken so far."""
    times = server.cpu_times()
    return float(times.user + times.system)


def load(server: psutil.Process, path: Path, namespace: str, batch: int) -> Measured:
    """A process that loads a file."""
    before = seconds_of(server)
    command = [sys.executable, "-c", LOAD, str(path), namespace, str(batch)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    checked, stored, processor, mebibytes = map(float, printed.split())
    return Measured(stored, processor + seconds_of(server) - before, checked, mebibytes)


def write(
    server: psutil.Process, driver: neo4j.Driver, text: str, namespace: str, part: list[dict[str, Any]], batch: int
) -> Measured:
    """The same rows by the driver alone, a transaction for each page."""
    before, own, began = seconds_of(server), time.process_time(), time.perf_counter()
    for page in pages_of(part, batch):
        driver.execute_query(text, namespace=namespace, rows=page)
    return Measured(time.perf_counter() - began, time.process_time() - own + seconds_of(server) - before)


def describe(name: str, count: int, pairs: list[tuple[Measured, Measured]]) -> str:
    """The medians of the rounds of one file."""
    loads, bare = zip(*pairs, strict=True)
    stored, checked, mebibytes = (
        median(getattr(each, key) for each in loads) for key in ("stored", "checked", "mebibytes")
    )
    rate = median(own.stored / ours.stored for ours, own in pairs)
    processor = median(own.processor / ours.processor for ours, own in pairs)
    bare_rate = count / median(own.stored for own in bare)
    return (
        f"{count} {name}: checked in {checked:.1f} s, stored in {stored:.1f} s ({count / stored:,.0f} a second, "
        f"{rate:.2f} of the driver's {bare_rate:,.0f}; by processor time {processor:.2f}), client {mebibytes:.0f} MiB"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    whole = program(4 * given.nodes).splitlines(keepends=True)
    lines = {"nodes": whole[: given.nodes], "edges": whole[given.nodes :]}
    measured: dict[str, list[tuple[Measured, Measured]]] = {name: [] for name in lines}
    with (
        MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex}") as graph,
        bare_driver(graph) as driver,
        tempfile.TemporaryDirectory() as folder,
    ):
        server = server_process(graph.connection.uri)
        for number in range(given.rounds):
            with fresh(graph) as ours, fresh(graph) as bare:
                for (name, text), query, part in zip(lines.items(), (NODES, EDGES), rows(4 * given.nodes), strict=True):
                    path = Path(folder) / f"{name}.ctx"
                    path.write_text("".join(text), "utf-8")
                    if number % 2:
                        alone = write(server, driver, query, bare.namespace, part, given.batch)
                    loaded = load(server, path, ours.namespace, given.batch)
                    if not number % 2:
                        alone = write(server, driver, query, bare.namespace, part, given.batch)
                    measured[name].append((loaded, alone))
                    if number == given.rounds - 1:
                        print(describe(name, len(part), measured[name]), flush=True)


if __name__ == "__main__":
    main()
