"""What it costs that a node and an edge never share an id: a registry node for each id, or one lock for a namespace.

Prints the time of the same load (nodes, then twice as many edges, one transaction) with a registry constraint, as
a ratio to the load that memorygraph does: the namespace's write lock, and no registry. Pairs are run in turn.

    python tests/bench/unique_ids.py [--nodes N] [--pairs N]
"""

from __future__ import annotations

import argparse
import statistics
import time
import uuid
from typing import Any

from memorygraph import MemoryGraph
from memorygraph.query import Query

NODES = "UNWIND $rows AS row CREATE (:%s {namespace: $namespace, id: row.id, name: row.name, data: row.data})"
EDGES = """
UNWIND $rows AS row
MATCH (a:Node {namespace: $namespace, id: row.from_node})
MATCH (b:Node {namespace: $namespace, id: row.to_node})
%s
CREATE (a)-[:EDGE {namespace: $namespace, id: row.id, verb: 'v', weight: 0.5}]->(b)
"""
REGISTER = "CREATE (:BenchId {namespace: $namespace, id: row.id})"
LOCK = """
MERGE (n:Namespace {name: $namespace}) SET n.revision = coalesce(n.revision, 0) + 1
RETURN n.revision AS revision
"""
CONSTRAINT = "CREATE CONSTRAINT bench_id IF NOT EXISTS FOR (n:BenchId) REQUIRE (n.namespace, n.id) IS UNIQUE"


def load(graph: MemoryGraph, count: int, *, registry: bool) -> float:
    """The seconds of one load in a fresh namespace."""
    namespace = f"bench-{uuid.uuid4().hex}"
    nodes = [{"id": f"n{i}", "name": f"Name {i}", "data": f"text about thing {i}"} for i in range(count)]
    edges = [{"id": f"e{i}", "from_node": f"n{i % count}", "to_node": f"n{(i * 7) % count}"} for i in range(2 * count)]
    queries: list[tuple[str, list[dict[str, Any]]]] = [
        (NODES % ("Node:BenchId" if registry else "Node"), nodes),
        (EDGES % (REGISTER if registry else ""), edges),
    ]

    def work(transaction: Any) -> None:
        transaction.run(Query(LOCK, {"namespace": namespace}))
        for text, rows in queries:
            for start in range(0, len(rows), 10_000):
                transaction.run(Query(text, {"namespace": namespace, "rows": rows[start : start + 10_000]}))

    started = time.perf_counter()
    graph.connection.write(work)
    seconds = time.perf_counter() - started
    graph.query("MATCH (n:BenchId {namespace: $ns}) DETACH DELETE n", {"ns": namespace}, write=True)
    graph.drop_namespace(namespace)
    return seconds


def main() -> None:
    """Run the pairs and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    count, pairs = options.nodes, options.pairs
    with MemoryGraph.connect() as graph:
        graph.query(CONSTRAINT, write=True)
        try:
            load(graph, count, registry=False)
            load(graph, count, registry=True)
            ratios = [load(graph, count, registry=True) / load(graph, count, registry=False) for _ in range(pairs)]
        finally:
            graph.query("DROP CONSTRAINT bench_id", write=True)
    listed = ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios))
    print(f"{count} nodes, {2 * count} edges: registry / lock = {statistics.median(ratios):.2f} (of {listed})")


if __name__ == "__main__":
    main()
