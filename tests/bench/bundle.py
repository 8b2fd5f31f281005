"""How fast a namespace goes out as a bundle and comes in again, and what memory that takes.

Half of the elements are nodes, and half of these have a point in time, as messages do; of the relationships one in ten
begins at one node, a hub, and one node in a hundred has no key. Prints elements a second, beside the baseline: the
reading of the same nodes and edges, all of their properties, by the driver alone. An export reads everything twice, and
an import checks its file, writes, and reads everything once.

    python -m tests.bench.bundle [--elements N] [--rounds N] [--profile]
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from operator import methodcaller
from pathlib import Path
from typing import Any

from memorygraph import MemoryGraph
from memorygraph.query import Query

ROWS = 20_000
NODES = """
UNWIND range($start, $end - 1) AS i
CREATE (:Node {namespace: $namespace, namespace_token: $token, id: 'n' + i, name: 'Name ' + i,
               data: 'what is known of thing ' + i, since: 1, created_at: CASE i % 2 WHEN 0 THEN datetime() END})
"""
KEYLESS = """
UNWIND range($start, $end - 1) AS i
CREATE (:Person {namespace: $namespace, name: 'Name ' + i})
"""
EDGES = """
UNWIND range($start, $end - 1) AS i
MATCH (a:Node {namespace: $namespace, id: 'n' + (i % $nodes)})
MATCH (b:Node {namespace: $namespace, id: 'n' + ((i * 7 + 1) % $nodes)})
CREATE (a)-[:EDGE {namespace: $namespace, id: 'e' + i, verb: 'likes', weight: 0.5, since: 1}]->(b)
"""
SPOKES = """
MATCH (hub:Node {namespace: $namespace, id: 'n0'})
UNWIND range($start, $end - 1) AS i
MATCH (b:Node {namespace: $namespace, id: 'n' + ((i * 7 + 1) % $nodes)})
CREATE (hub)-[:SEES {number: i}]->(b)
"""
BASELINE = """
MATCH (node:Node {namespace: $namespace}) WHERE node.id IS NOT NULL
RETURN properties(node) AS one
UNION ALL
MATCH (:Node {namespace: $namespace})-[edge]->() RETURN properties(edge) AS one
"""


def write(graph: MemoryGraph, text: str, count: int, **values: Any) -> None:
    """Run a query for so many rows, in transactions of a bounded size."""
    for start in range(0, count, ROWS):
        given = {"namespace": graph.namespace, **values, "start": start, "end": min(start + ROWS, count)}
        graph.connection.write(methodcaller("run", Query(text, given)))


def fill(graph: MemoryGraph, elements: int) -> None:
    """Make a namespace of so many elements."""
    nodes = elements // 2
    graph.load("")
    write(graph, NODES, nodes - nodes // 100, token=graph.scope.token)
    write(graph, KEYLESS, nodes // 100)
    write(graph, EDGES, nodes - nodes // 10, nodes=nodes - nodes // 100)
    write(graph, SPOKES, nodes // 10, nodes=nodes - nodes // 100)


def timed(what: str, elements: int, work: Callable[[], Any], profile: bool = False) -> None:
    """Print how many elements a second something handles."""
    started = time.perf_counter()
    with cProfile.Profile() if profile else nullcontext() as profiled:
        work()
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"  {what:<9} {seconds:7.2f} s  {elements / seconds:>9.0f} elements a second, {memory} MB at most so far",
        flush=True,
    )
    if profiled is not None:
        pstats.Stats(profiled).sort_stats("tottime").print_stats(25)


def main() -> None:
    """Fill a namespace; export it, and import it into another, in turns with the baseline."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--profile", action="store_true", help="print where the time of this process goes")
    options = parser.parse_args()
    elements = options.elements
    with MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex}") as graph, tempfile.TemporaryDirectory() as folder:
        fill(graph, elements)
        path = Path(folder) / "bundle"
        print(f"{elements} elements", flush=True)
        read = Query(BASELINE, {"namespace": graph.namespace})
        for number in range(options.rounds):
            timed("read", elements, lambda: sum(1 for _ in graph.connection.stream(read, typed=True)))
            timed("export", elements, lambda: graph.export_bundle(path), options.profile)
            copy = MemoryGraph(graph.connection, f"{graph.namespace}-{number}")
            timed("import", elements, lambda copy=copy: copy.import_bundle(path), options.profile)  # type: ignore[misc]
            copy.drop_namespace(copy.namespace)
        graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    main()
