"""What a recall costs among many messages: its time as a ratio to the vector query alone.

    python tests/bench/recall_at_size.py [--messages N] [--without-vectors] [--rounds N] [--keep NAME]

The messages are made by the server itself, so that a million takes minutes: a dozen words each, the frequent ones more
often, in conversations of a hundred, with vectors by chance. A recall and the vector query alone are asked in turns,
and the ratio is the median of those of the pairs. `mg.recall` also looks for what has no vector yet: for what is marked
so, as it does mostly, or through all texts, as it did before each recall. With `--keep`, the namespace stays, and is
used again.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

from memorygraph import MemoryGraph
from memorygraph.memory.recall import recall_hits
from memorygraph.memory.vectors import embed_all, embed_missing
from memorygraph.query import Query
from tests.bench.recall import DIMENSIONS, VECTOR_ALONE, Known, WordVectors, milliseconds

PER_TRANSACTION = 2_000
VOCABULARY = 20_000

MAKE = f"""
UNWIND range($start, $start + $count - 1, 100) AS first
CALL (first) {{
  UNWIND range(first, first + 99) AS number
  WITH number, reduce(text = '', i IN range(1, 12) |
                      text + ' w' + toInteger({VOCABULARY} * rand() ^ 3)) AS text
  CREATE (message:Message {{
    namespace: $namespace, id: 'm' + number, role: CASE number % 2 WHEN 0 THEN 'user' ELSE 'assistant' END,
    body: '{{"role": "user", "content": "' + text + '"}}', said: 'Ada (8 May 2026):' + text,
    said_at: datetime('2026-05-08') + duration({{seconds: number}}), conversations: ['talk-' + first],
    namespace_token: $token, created_at: datetime('2026-05-08')
  }})
  FOREACH (_ IN CASE WHEN $vectors THEN [1] ELSE [] END |
    SET message.embedding = [i IN range(1, {DIMENSIONS}) | rand() - 0.5], message.embedding_model = $model)
  WITH message ORDER BY number
  WITH collect(message) AS messages
  UNWIND range(1, size(messages) - 1) AS place
  WITH messages[place - 1] AS before, messages[place] AS after
  CREATE (before)-[:NEXT]->(after)
}}
"""


def fill(graph: MemoryGraph, messages: int, vectors: bool) -> None:
    """Make the messages, and wait until they can be found."""
    parameters = {
        "namespace": graph.namespace,
        "token": graph.scope.token,
        "vectors": vectors,
        "model": WordVectors.name,
    }
    started = time.perf_counter()
    for start in range(0, messages, PER_TRANSACTION):
        query = Query(MAKE, {**parameters, "start": start, "count": min(PER_TRANSACTION, messages - start)})
        graph.connection.write(lambda transaction, query=query: transaction.run(query), seconds=600)  # type: ignore[misc]
        if start % 20_000 == 0:
            print(f"{start} of {messages} messages, {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    graph.connection.read(Query("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()"), seconds=600)


def measure(graph: MemoryGraph, vectors: bool, rounds: int, chance: random.Random) -> None:
    """Ask in turns, and print the median and the 95th percentile of each way, and of the ratios."""
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        question = " ".join(f"w{int(VOCABULARY * chance.random() ** 3)}" for _ in range(6))
        vector = [chance.random() - 0.5 for _ in range(DIMENSIONS)]
        alone = Query(VECTOR_ALONE, {"vector": vector, "namespace": graph.namespace, "model": WordVectors.name})
        ways: dict[str, Callable[[], Any]] = {
            "words": lambda question=question: recall_hits(graph.scope, question),  # type: ignore[misc]
        }
        if vectors:
            ways |= {
                "the vector query alone": lambda alone=alone: graph.connection.read(alone),  # type: ignore[misc]
                "words and vectors": lambda question=question, vector=vector: recall_hits(  # type: ignore[misc]
                    graph.scope, question, embedder=Known(vector)
                ),
                "and what has no vector": lambda question=question, vector=vector: (  # type: ignore[misc]
                    embed_missing(graph.scope, Known(vector)),
                    recall_hits(graph.scope, question, embedder=Known(vector)),
                ),
                "and all looked through": lambda question=question, vector=vector: (  # type: ignore[misc]
                    embed_all(graph.scope, Known(vector)),
                    recall_hits(graph.scope, question, embedder=Known(vector)),
                ),
            }
        for name in chance.sample(sorted(ways), len(ways)):
            times.setdefault(name, []).append(milliseconds(ways[name]))
    for name, taken in sorted(times.items()):
        middle, late = statistics.median(taken), statistics.quantiles(taken, n=20)[-1]
        line = f"{name:24} p50 {middle:7.2f} ms  p95 {late:7.2f} ms = {late / middle:.2f} times the median"
        if vectors:
            ratios = [own / base for own, base in zip(taken, times["the vector query alone"], strict=True)]
            line += f"  = {statistics.median(ratios):.2f} times the vector query"
        print(line)


def main() -> None:
    """Fill a namespace, ask, and delete it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--without-vectors", action="store_true")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--keep", metavar="NAME", help="A namespace to fill once and keep.")
    options = parser.parse_args()
    vectors = not options.without_vectors
    with MemoryGraph.connect(namespace=options.keep or f"bench-{uuid.uuid4().hex}") as graph:
        graph.load("")
        try:
            [stored] = graph.query("MATCH (m:Message {namespace: $namespace}) RETURN count(m) AS count")
            if not stored["count"]:
                fill(graph, options.messages, vectors)
            chance = random.Random(1)
            measure(graph, vectors, 100, chance)
            print(f"warm, {stored['count'] or options.messages} messages:")
            measure(graph, vectors, options.rounds, chance)
        finally:
            if not options.keep:
                graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    main()
