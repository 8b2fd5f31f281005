"""What work takes in a big graph, in time and in memory of client and server: two sizes beside each other.

Each size has a fresh home of its own, with three edges to a node. The long works are commands, timed as a user waits
for them; the short ones are calls of an open client, medians of many. Memory is the most that was resident, looked at
ten times a second: of a command, and of the server with all that the command starts. Of a later size stands how many
times as long each work takes as at the first.

    python -m tests.bench.at_size [--nodes N …] [--batch N] [--calls N]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from memorygraph import EmbeddedServer, MemoryGraph
from tests.bench.batches import server_process
from tests.bench.fresh_homes import await_cache, environment_of, fresh_home, memorygraph
from tests.bench.history import program

NAMESPACE = "big"
BETWEEN_LOOKS_S = 0.1


class Measured(NamedTuple):
    """What one work took: its seconds, and the most mebibytes of the client and of the server."""

    seconds: float
    client: float = 0.0
    server: float = 0.0


def resident(process: psutil.Process) -> float:
    """The mebibytes that a process holds, and 0 once it is gone."""
    with contextlib.suppress(psutil.Error):
        return float(process.memory_info().rss / 2**20)
    return 0.0


class Watch:
    """Looks at the memory of a command and of the server until the command ends."""

    def __init__(self, command: subprocess.Popen[bytes], server: psutil.Process | None) -> None:
        self.client = self.server = 0.0
        self._command = psutil.Process(command.pid)
        self._server = server
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(BETWEEN_LOOKS_S):
            children = list[psutil.Process]()
            with contextlib.suppress(psutil.Error):
                children = self._command.children(recursive=True)
            self.client = max(self.client, resident(self._command))
            self.server = max(self.server, sum(map(resident, [*children, *([self._server] if self._server else [])])))


def run(home: Path, server: psutil.Process | None, *arguments: str, into: Path = Path(os.devnull)) -> Measured:
    """A command in a home; what it prints goes into a file."""
    environment = {**environment_of(home), "MEMORYGRAPH_NAMESPACE": NAMESPACE}
    began = time.perf_counter()
    with into.open("wb") as printed, tempfile.TemporaryFile() as complaints:
        command = subprocess.Popen(
            [sys.executable, "-m", "memorygraph", *arguments], env=environment, stdout=printed, stderr=complaints
        )
        with Watch(command, server) as watch:
            failed = command.wait()
        if failed:
            complaints.seek(0)
            raise SystemExit(f"memorygraph {' '.join(arguments)}: {complaints.read().decode()}")
    return Measured(time.perf_counter() - began, watch.client, watch.server)


def short_works(graph: MemoryGraph, nodes: int, chance: random.Random) -> dict[str, Callable[[], Any]]:
    """The calls of an open client, each with other ids at each call."""

    def any_id() -> str:
        return f"n{chance.randrange(nodes)}"

    def change() -> int:
        return graph.load(f'Node(node_id="{any_id()}", data="another is known, by chance {chance.random()}");').revision

    def create() -> None:
        graph.load(f'Node(node_id="new-{chance.getrandbits(64)}", name="New", data="what was not known before");')

    revision = graph.revisions(1)[0].revision
    return {
        "one node": lambda: graph.node(any_id()),
        "its neighbours": lambda: graph.neighbours(any_id()),
        "two steps from it": lambda: graph.neighbours(any_id(), depth=2),
        "one node as it was": lambda: graph.at(revision).node(any_id()),
        "search": lambda: graph.search(f"what is known of thing {any_id()[1:]}"),
        "recall": lambda: graph.recall(f"What is known of thing {any_id()[1:]}?"),
        "create one node": create,
        "update one node": change,
        "its history": lambda: graph.history(any_id()),
        "update, and undo it": lambda: graph.undo(change()),
    }


def measure_short(home: Path, nodes: int, calls: int) -> Iterator[tuple[str, Measured]]:
    """The medians of the calls, after a few that are not counted."""
    with MemoryGraph.connect(server=EmbeddedServer(home), namespace=NAMESPACE) as graph:
        process = server_process(graph.connection.uri)
        for name, work in short_works(graph, nodes, random.Random(1)).items():
            taken = []
            for _ in range(calls + 10):
                began = time.perf_counter()
                work()
                taken.append(time.perf_counter() - began)
            yield name, Measured(statistics.median(taken[10:]), server=resident(process))


def measure(home: Path, nodes: int, batch: int, calls: int) -> Iterator[tuple[str, Measured]]:
    """Everything at one size, in the order in which it is done."""
    whole = program(4 * nodes).splitlines(keepends=True)
    files = {"nodes": home / "nodes.ctx", "edges": home / "edges.ctx"}
    for name, lines in zip(files, (whole[:nodes], whole[nodes:]), strict=True):
        files[name].write_text("".join(lines), "utf-8")
    del whole
    memorygraph(home, "up")
    await_cache(home)  # what makes it takes a processor
    MemoryGraph.connect(server=EmbeddedServer(home)).close()  # the first connection to a database makes its schema
    server = server_process(EmbeddedServer(home).status().bolt_uri or "")
    for name, path in files.items():
        yield f"load --batch of the {name}", run(home, server, "load", "--batch", str(batch), str(path))
    yield from measure_short(home, nodes, calls)
    for name in ("contextscript", "jsonl", "bundle"):
        yield f"export as {name}", run(home, server, "export", "--format", name, into=home / f"exported.{name}")
    yield "doctor --graph", run(home, server, "doctor", "--graph")
    backup = home / "graph.backup"
    yield "backup, with the stop and start", run(home, server, "backup", str(backup))
    yield "restore, with the stop and start", run(home, None, "restore", "--force", str(backup))
    memorygraph(home, "down")
    yield "up with that graph", run(home, None, "up")


def describe(seconds: float) -> str:
    """A time with its unit."""
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def main() -> None:
    """Measure each size, and print it beside the first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--batch", type=int, default=20_000)
    parser.add_argument("--calls", type=int, default=100)
    given = parser.parse_args()
    first: dict[str, Measured] = {}
    artifacts = EmbeddedServer().artifacts
    for nodes in given.nodes:
        with fresh_home(artifacts) as home:
            print(f"{nodes:,} nodes and {3 * nodes:,} edges", flush=True)
            for name, measured in measure(home, nodes, given.batch, given.calls):
                base = first.setdefault(name, measured)
                grown = "" if base is measured else f" = {measured.seconds / base.seconds:5.2f} times"
                memory = f"client {measured.client:.0f} MiB, " if measured.client else ""
                memory += f"server {measured.server:.0f} MiB"
                print(f"  {name:32} {describe(measured.seconds):>10}{grown}, {memory}", flush=True)
            store = sum(file.stat().st_size for file in (home / "data").rglob("*") if file.is_file())
            print(f"  the home's data {store / 2**20:.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
