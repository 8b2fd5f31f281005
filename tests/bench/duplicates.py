"""What it costs to find duplicates, and to merge two of them, by the number of entities.

Prints, for each size, the seconds and the memory of Python that finding takes, and both as ratios to the smallest size:
a search by pairs would grow with the square.

    python tests/bench/duplicates.py [--sizes 10000,100000]
"""

from __future__ import annotations

import argparse
import random
import time
import tracemalloc
import uuid

from memorygraph import MemoryGraph
from memorygraph.memory.duplicates import list_duplicates

FIRST_NAMES = "Ada Bob Carl Dora Emil Fritz Greta Hans Ida Jana Karl Lena Mona Nils Otto Paula Rosa Sven Tina Uwe"
SYLLABLES = "ba do ka lin mer nor pe ri sto tu val wen xi yor zan schu mi ho fel gra"


def store(graph: MemoryGraph, count: int) -> None:
    """Store entities with long names, one in a hundred of them twice, and three edges each."""
    chance = random.Random(count)
    first, syllables = FIRST_NAMES.split(), SYLLABLES.split()
    rows: list[dict[str, str]] = []
    for index in range(count):
        name = f"{chance.choice(first)} {''.join(chance.choices(syllables, k=5))}".title()
        rows.append({"id": f"n{index}", "name": rows[-1]["name"].upper() if index % 100 == 1 else name})
    for start in range(0, count, 10_000):
        nodes = "".join(
            f'Node(node_id="{r["id"]}", name="{r["name"]}", data="");' for r in rows[start : start + 10_000]
        )
        graph.load(nodes)
    for start in range(0, count, 10_000):
        edges = "".join(
            f'Edge(edge_id="e{i}x{k}", from_node="n{i}", to_node="n{chance.randrange(count)}", verb="v", weight=0.5);'
            for i in range(start, min(start + 10_000, count))
            for k in range(3)
        )
        graph.load(edges)


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000")
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    base: tuple[float, float] | None = None
    for size in sizes:
        with MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex[:8]}") as graph:
            store(graph, size)
            graph.duplicates(1)
            start = time.perf_counter()
            found = list_duplicates(graph.scope, size)
            seconds = time.perf_counter() - start
            tracemalloc.start()
            list_duplicates(graph.scope, size)
            megabytes = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
            base = base or (seconds, megabytes)
            keep, other, *_ = found[0].entities
            start = time.perf_counter()
            graph.merge(other.id, into=keep.id)
            merged = time.perf_counter() - start
            print(
                f"{size} entities, {3 * size} edges: {len(found)} found in {seconds:.2f} s "
                f"({seconds / base[0]:.1f} times), {megabytes:.0f} MiB ({megabytes / base[1]:.1f} times); "
                f"a merge {merged * 1000:.0f} ms"
            )
            graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    main()
