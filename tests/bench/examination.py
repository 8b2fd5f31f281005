"""How long `doctor --graph` takes, and `--fix`, on a large graph: healthy, and with everything broken.

The nodes and edges are made by raw Cypher, healthy ones in one namespace, and in another ones that break a rule with
each of their values. All namespaces are examined, with what else is in the database. Prints the seconds of each check,
and the most memory that this process held; the baseline is the reading of every node once, printed first.

    python -m tests.bench.examination [--healthy N] [--broken N] [--edges N] [--keep]
"""

from __future__ import annotations

import argparse
import resource
import time
import uuid
from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any

from memorygraph import MemoryGraph
from memorygraph.graph.invariants import CHECK_SECONDS, MAX_EXAMPLES, Examination, list_invariants
from memorygraph.query import Query

ROWS = 20_000
NODES = """
UNWIND range($start, $end - 1) AS i
CREATE (:Node {namespace: $namespace, namespace_token: $token, id: 'n' + i, name: 'Name ' + i, data: ''})
"""
BROKEN_NODES = """
UNWIND range($start, $end - 1) AS i
CREATE (:Node {namespace: $namespace, id: 'n' + i, name: i, data: '', since: 99})
"""
NODES_WITHOUT_KEYS = """
UNWIND range($start, $end - 1) AS i
CREATE (:Node {namespace: $namespace, id: i, name: '', data: ''})
"""
LEFTOVERS = """
UNWIND range($start, $end - 1) AS i
CREATE (:Node:Observation {namespace: $namespace, namespace_token: $token, id: 'o' + i, name: '', data: 'tea'})
"""
EDGES = """
UNWIND range($start, $end - 1) AS i
MATCH (a:Node {namespace: $namespace, id: 'n' + (i % $nodes)})
MATCH (b:Node {namespace: $namespace, id: 'n' + ((i * 7 + 1) % $nodes)})
CREATE (a)-[:EDGE {namespace: $namespace, id: 'e' + i, verb: 'likes', weight: 0.5}]->(b)
"""
BROKEN_EDGES = """
UNWIND range($start, $end - 1) AS i
MATCH (a:Node {namespace: $namespace, id: 'n' + (i % $nodes)})
MATCH (b:Node {namespace: $namespace, id: 'n' + ((i * 7 + 1) % $nodes)})
CREATE (a)-[:EDGE {namespace: $namespace, id: 'n' + i, verb: 5, weight: 7.5, since: 99}]->(b)
CREATE (a)-[:EDGE {id: i, verb: 'likes', weight: 0.5}]->(b)
"""
BASELINE = "MATCH (node:Node) RETURN count(node.name) AS nodes"


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that something takes, and what it returns."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def write(graph: MemoryGraph, what: str, text: str, count: int, **values: Any) -> None:
    """Run a query for so many rows, in transactions of a bounded size."""
    given = {"namespace": graph.namespace, **values}
    started = time.perf_counter()
    for start in range(0, count, ROWS):
        query = Query(text, {**given, "start": start, "end": min(start + ROWS, count)})
        graph.connection.write(methodcaller("run", query))
    print(f"{count} {what} made in {time.perf_counter() - started:.0f} s", flush=True)


def examine(graph: MemoryGraph, what: str) -> None:
    """Print the seconds of each check, and how much breaks it."""
    baseline = partial(graph.connection.read, Query(BASELINE), seconds=CHECK_SECONDS)
    baseline()
    seconds, [row] = timed(baseline)
    print(f"{what}; each of {row['nodes']} nodes read once in {seconds:.2f} s", flush=True)
    examination = Examination(graph.scope, everywhere=True)
    total = 0.0
    for invariant in list_invariants():
        look = examination.find_leftovers if invariant.name == "leftovers" else examination.find_violations
        seconds, (count, first) = timed(partial(look, invariant, MAX_EXAMPLES))
        total += seconds
        print(f"  {invariant.name:<18} {seconds:7.2f} s  {count:>9} broken, {len(first)} named", flush=True)
    print(f"  {'all':<18} {total:7.2f} s", flush=True)


def main() -> None:
    """Make a healthy graph and examine it; make a broken one beside it, examine both, and mend."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--healthy", type=int, default=1_000_000, help="healthy nodes")
    parser.add_argument("--broken", type=int, default=1_000_000, help="broken nodes")
    parser.add_argument("--edges", type=int, default=1_000_000, help="edges of each namespace")
    parser.add_argument("--keep", action="store_true", help="leave the namespaces where they are")
    options = parser.parse_args()
    names = [f"bench-{uuid.uuid4().hex}" for _ in range(2)]
    with MemoryGraph.connect(namespace=names[0]) as healthy, MemoryGraph.connect(namespace=names[1]) as broken:
        healthy.load("")
        write(healthy, "healthy nodes", NODES, options.healthy, token=healthy.scope.token)
        write(healthy, "healthy edges", EDGES, min(options.edges, options.healthy), nodes=options.healthy)
        examine(healthy, "healthy")
        broken.load("")
        write(broken, "broken nodes", BROKEN_NODES, options.broken)
        write(broken, "pairs of broken edges", BROKEN_EDGES, options.edges // 2, nodes=options.broken)
        write(broken, "nodes without a key", NODES_WITHOUT_KEYS, options.broken // 10)
        write(broken, "leftovers", LEFTOVERS, options.broken // 10, token=broken.scope.token)
        examine(broken, "with everything broken")
        seconds, mended = timed(broken.mend)
        removed = sum(report.nodes_deleted for report in mended.removed)
        print(
            f"--fix: {seconds:.1f} s, {removed} leftovers removed in {len(mended.removed)} revisions, "
            f"{mended.indexed} nodes indexed"
        )
        print(f"most memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
        for graph in () if options.keep else (healthy, broken):
            graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    main()
