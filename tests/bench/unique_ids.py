"""What it costs that a node and an edge never share an id: three registries of ids, and one lock for a namespace.

Prints the time of the same load (nodes, then twice as many edges, one transaction) with each registry, as a ratio to
the load that memorygraph does: the namespace's write lock, and no registry. The four are run in turn in each round.

    python -m tests.bench.unique_ids [--nodes N] [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
import time
import uuid
from dataclasses import dataclass
from typing import Any

from memorygraph import MemoryGraph
from memorygraph.graph.connection import Transaction
from memorygraph.query import Query

LOCK = """
MERGE (n:Namespace {name: $namespace}) SET n.revision = coalesce(n.revision, 0) + 1
RETURN n.revision AS revision
"""
NODES = "UNWIND $rows AS row CREATE (:Node {namespace: $namespace, id: row.id, name: row.name, data: row.data})"
EDGES = """
UNWIND $rows AS row
MATCH (a:Node {namespace: $namespace, id: row.from_node})
MATCH (b:Node {namespace: $namespace, id: row.to_node})
CREATE (a)-[:EDGE {namespace: $namespace, id: row.id, verb: 'v', weight: 0.5}]->(b)
"""
CONSTRAINT = "CREATE CONSTRAINT bench_id IF NOT EXISTS FOR (n:BenchId) REQUIRE (n.namespace, n.id) IS UNIQUE"
LABELLED = NODES.replace(":Node", ":Node:BenchId")
REGISTER = "UNWIND $rows AS row CREATE (:BenchId {namespace: $namespace, id: row.id})"


@dataclass(frozen=True)
class Way:
    """A way to keep ids apart: the queries for rows of nodes, and for rows of edges."""

    nodes: tuple[str, ...]
    edges: tuple[str, ...]


LOCK_ALONE = "the lock alone"
WAYS = {
    LOCK_ALONE: Way((NODES,), (EDGES,)),
    "a registry node for each id": Way((NODES, REGISTER), (EDGES, REGISTER)),
    "a second label on nodes, a registry node for each edge": Way((LABELLED,), (EDGES, REGISTER)),
    "a registry node for each edge, under the constraint of nodes": Way(
        (NODES,), (EDGES, REGISTER.replace("BenchId", "Node"))
    ),
}


def load(graph: MemoryGraph, way: Way, count: int) -> float:
    """The seconds of one load in a fresh namespace."""
    namespace = f"bench-{uuid.uuid4().hex}"
    nodes = [{"id": f"n{i}", "name": f"Name {i}", "data": f"text about thing {i}"} for i in range(count)]
    edges = [{"id": f"e{i}", "from_node": f"n{i % count}", "to_node": f"n{(i * 7) % count}"} for i in range(2 * count)]

    def work(transaction: Transaction) -> None:
        transaction.run(Query(LOCK, {"namespace": namespace}))
        parts: tuple[tuple[tuple[str, ...], list[dict[str, Any]]], ...] = ((way.nodes, nodes), (way.edges, edges))
        for texts, rows in parts:
            for start in range(0, len(rows), 10_000):
                for text in texts:
                    transaction.run(Query(text, {"namespace": namespace, "rows": rows[start : start + 10_000]}))

    started = time.perf_counter()
    graph.connection.write(work)
    seconds = time.perf_counter() - started
    graph.query("MATCH (n:BenchId {namespace: $ns}) DETACH DELETE n", {"ns": namespace}, write=True)
    graph.drop_namespace(namespace)
    return seconds


def main() -> None:
    """Run the rounds and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    ratios: dict[str, list[float]] = {name: [] for name in WAYS if name != LOCK_ALONE}
    with MemoryGraph.connect() as graph:
        graph.query(CONSTRAINT, write=True)
        try:
            for each in range(options.rounds + 1):
                seconds = {name: load(graph, way, options.nodes) for name, way in WAYS.items()}
                if each:  # the first round warms up
                    for name, of in ratios.items():
                        of.append(seconds[name] / seconds[LOCK_ALONE])
        finally:
            graph.query("DROP CONSTRAINT bench_id", write=True)
    print(f"{options.nodes} nodes, {2 * options.nodes} edges; {LOCK_ALONE} is 1.00, median of {options.rounds} rounds")
    for name, of in ratios.items():
        print(f"  {name:<62} {statistics.median(of):.2f} (of {', '.join(f'{ratio:.2f}' for ratio in sorted(of))})")


if __name__ == "__main__":
    main()
