"""What reading costs: each way to read through an open client, as a ratio to `RETURN 1` through it.

    python -m tests.bench.reading [--nodes N] [--rounds N]

The graph has two edges to a node; the ways are asked in turn, so that whatever else happens on the machine happens
to all of them. The throughput is that of one thread beside that of eight.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
import tracemalloc
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from memorygraph import MemoryGraph
from memorygraph.query import Query
from tests.bench.history import timed_in_turns

PING = Query("RETURN 1 AS one")
WARM_UP = 50
BATCH = 20_000


def fill(graph: MemoryGraph, count: int, chance: random.Random) -> None:
    """So many nodes with texts of some ten words, and twice as many edges."""
    words = ["".join(chance.choices("aeioubdfgklmnprst", k=chance.randint(3, 9))) for _ in range(20_000)]
    names = [" ".join(chance.choices(words, k=2)) for _ in range(count)]
    texts = [" ".join(chance.choices(words, k=8)) for _ in range(count)]
    lines = [f'Node(node_id="n{i}", name="{names[i]}", data="{texts[i]}");' for i in range(count)]
    lines += [
        f'Edge(edge_id="e{i}", from_node="n{i % count}", to_node="n{chance.randrange(count)}", verb="v", weight=0.5);'
        for i in range(2 * count)
    ]
    for start in range(0, len(lines), BATCH):
        graph.load("\n".join(lines[start : start + BATCH]))
    graph.query("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()", write=True)


def ways(graph: MemoryGraph, count: int, chance: random.Random) -> dict[str, Callable[[], Any]]:
    """What is read, each time of another node."""

    def any_id() -> str:
        return f"n{chance.randrange(count)}"

    known = [graph.node(any_id()).data.split()[0] for _ in range(200)]
    return {
        "RETURN 1": lambda: graph.connection.read(PING),
        "a node by its id": lambda: graph.node(any_id()),
        "two hops": lambda: graph.neighbours(any_id(), depth=2),
        "full text": lambda: graph.search(" ".join(chance.choices(known, k=2))),
    }


def measure(reads: dict[str, Callable[[], Any]], rounds: int) -> None:
    """Print each way's median and 99th percentile beside those of the first."""
    times = timed_in_turns(reads, rounds, warm_up=WARM_UP)
    base = statistics.median(next(iter(times.values()))) * 1e3
    for name, taken in times.items():
        middle, worst = statistics.median(taken) * 1e3, statistics.quantiles(taken, n=100)[-1] * 1e3
        print(
            f"{name:20} p50 {middle:6.2f} ms  p99 {worst:6.2f} ms  = {middle / base:.2f} times `RETURN 1`", flush=True
        )


def measure_threads(reads: dict[str, Callable[[], Any]], rounds: int) -> None:
    """Print how much more eight threads read in the same time than one."""
    for name, read in reads.items():
        rates = []
        for threads in (1, 8):
            with ThreadPoolExecutor(threads) as pool:
                started = time.perf_counter()
                for done in [pool.submit(read) for _ in range(rounds)]:
                    done.result()
                rates.append(rounds / (time.perf_counter() - started))
        print(f"{name:20} {rates[0]:5.0f} a second by one thread, {rates[1] / rates[0]:.2f} times by eight", flush=True)


def measure_memory(graph: MemoryGraph) -> None:
    """Print how much memory the rows of a long query take, as a stream and as a list."""
    cypher = "MATCH (node:Node {namespace: $namespace}) RETURN node.id AS id, node.data AS data"

    def streamed() -> int:
        return sum(1 for _ in graph.stream(cypher, seconds=600))

    def listed() -> int:
        return len(graph.query(cypher))

    for read in (streamed, listed):
        tracemalloc.start()
        rows = read()
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(f"{rows} rows {read.__name__}: {peak:.2f} MB of memory at most", flush=True)


def main() -> None:
    """Fill a namespace of its own, read, and delete it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=500)
    options = parser.parse_args()
    chance = random.Random(1)
    with MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex}") as graph:
        try:
            fill(graph, options.nodes, chance)
            reads = ways(graph, options.nodes, chance)
            measure(reads, options.rounds)
            measure_threads(reads, options.rounds)
            measure_memory(graph)
        finally:
            graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    main()
