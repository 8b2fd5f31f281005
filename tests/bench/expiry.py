"""What expiry costs reads, in ratios: the same reads with the gate and without it, in turns; and removing what is due.

python tests/bench/expiry.py [--nodes 20000] [--seconds 1] [--rounds 21]
"""

from __future__ import annotations

import argparse
import statistics
import time
import uuid
from collections.abc import Callable
from datetime import timedelta

from memorygraph import MemoryGraph
from memorygraph.client import clear_files
from memorygraph.graph.expiry import ExpiryGate
from memorygraph.query import Query

BATCH = 5000
TEXT = "lake boat bread stone river cloud glass paper wheel light winter garden silver copper window market"
WORDS = TEXT.split()
MAKE_DUE = (
    "MATCH (node:Node {namespace: $namespace}) WHERE node.expires_at IS NOT NULL "
    "SET node.expires_at = datetime.realtime()"
)


def store(graph: MemoryGraph, count: int) -> None:
    """Store nodes of a few words each; one in a hundred expires in a year."""
    for start in range(0, count, BATCH):
        graph.load(
            "".join(
                f'Node(node_id="n{i}", name="{WORDS[i % 16]} {i}", '
                f'data="{WORDS[i // 16 % 16]} {WORDS[i // 256 % 16]}");'
                for i in range(start, min(start + BATCH, count))
            )
        )
    for i in range(0, count, 100):
        graph.expire(f"n{i}", after=timedelta(days=365))


def milliseconds_of(read: Callable[[int], object], seconds: float) -> float:
    """The mean time of a read that is repeated for some seconds."""
    times, until, number = list[float](), time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        started = time.perf_counter()
        read(number)
        times.append(time.perf_counter() - started)
        number += 1
    return statistics.fmean(times) * 1000


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    with MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex[:8]}") as graph:
        store(graph, options.nodes)
        reads: dict[str, Callable[[int], object]] = {
            "node": lambda number: graph.node(f"n{number % options.nodes}"),
            "search": lambda number: graph.search(f"{WORDS[number % 16]} {WORDS[number // 16 % 16]}"),
            "recall": lambda number: graph.recall(f"{WORDS[number % 16]} {WORDS[number // 16 % 16]}"),
        }
        for name, read in reads.items():
            milliseconds_of(read, options.seconds)
            figures: dict[bool, list[float]] = {True: [], False: []}
            for _ in range(options.rounds):
                for gated in (False, True):
                    graph.connection.before_use = ExpiryGate(clear_files) if gated else lambda _: None
                    figures[gated].append(milliseconds_of(read, options.seconds))
            with_gate, without = (statistics.median(figures[gated]) for gated in (True, False))
            print(
                f"{name}: {without:.2f} ms without expiry, {with_gate:.2f} ms with it, ratio {with_gate / without:.3f}"
            )
        for again in range(3):
            if again:
                for i in range(again, options.nodes, 100):
                    graph.expire(f"n{i}", after=timedelta(days=1))
            due = Query(MAKE_DUE, {"namespace": graph.namespace})
            graph.connection.write(lambda transaction, due=due: transaction.run(due))  # type: ignore[misc]
            started = time.perf_counter()
            went = graph.purge_expired().went
            print(f"removing {went} took {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
