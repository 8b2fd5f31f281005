"""What a recall costs: its time as a ratio to the vector query alone, and to a query that does nothing.

    python tests/bench/recall.py [--messages N] [--nodes N] [--rounds N]

Its messages are made of words by chance, half of them joining words and the others of some thousands, the frequent
ones more often, in conversations of a hundred; its vectors are those of the scripted endpoint, which depend on the
words alone.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from memorygraph import MemoryGraph
from memorygraph.memory.recall import recall_hits
from memorygraph.memory.vectors import embed_missing
from memorygraph.memory.words import JOINING
from memorygraph.messages.indexing import index_messages
from memorygraph.query import Query
from memorygraph.scripted.wire import vector_of

DIMENSIONS = 384
VECTOR_ALONE = """
CYPHER 25
MATCH (element)
SEARCH element IN (VECTOR INDEX recall_vectors FOR $vector
                   WHERE element.namespace = $namespace AND element.embedding_model = $model LIMIT 20) SCORE AS score
RETURN element.id AS id, element.body AS body, element.data AS data, score
"""
PING = "RETURN 1 AS one"
FILTERS: dict[str, dict[str, Any]] = {
    "since": {"since": "2000-01-01"},
    "until (nothing fits)": {"until": "2000-01-01"},
    "role": {"role": "user"},
    "speaker (half)": {"speaker": "Ada"},
    "conversation (100)": {"conversation": "talk-0"},
    "kind (a fifth)": {"kind": "k0"},
    "verb (all)": {"verb": "knows"},
    "verb (one edge)": {"verb": "met"},
}


class WordVectors:
    """Vectors that depend on the words alone."""

    name = "bench"
    dimensions = DIMENSIONS

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text."""
        return [vector_of(text, DIMENSIONS) for text in texts]


class Known:
    """An embedder whose one vector is known before: what is measured is the database."""

    name = WordVectors.name
    dimensions = DIMENSIONS

    def __init__(self, vector: list[float]) -> None:
        self._vector = vector

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """The vector, for the one text that is asked."""
        return [self._vector for _ in texts]


def sentences(count: int, chance: random.Random) -> list[str]:
    """Texts of about fifteen words, of which half only join the others, as in English."""
    words = ["".join(chance.choices("aeioubdfgklmnprst", k=chance.randint(3, 9))) for _ in range(8000)]
    weights = [1 / (place + 50) for place in range(len(words))]
    joining = sorted(JOINING)
    return [
        " ".join(
            word
            for content in chance.choices(words, weights, k=chance.randint(3, 12))
            for word in (chance.choice(joining), content)
        )
        for _ in range(count)
    ]


def fill(graph: MemoryGraph, messages: Sequence[str], nodes: Sequence[str]) -> None:
    """Store messages and nodes, with all that recall needs."""
    for start in range(0, len(messages), 100):
        page = messages[start : start + 100]
        graph.messages(f"talk-{start}").extend(
            {"role": "user", "name": ("Ada", "Ben")[i % 2], "content": text} for i, text in enumerate(page)
        )
    lines = [f'Node(node_id="n{i}", name="{text.split()[1]}", data="{text}");' for i, text in enumerate(nodes)]
    lines += [
        f'Edge(edge_id="e{i}", from_node="n{i}", to_node="n{i * 7 % len(nodes)}", verb="knows", weight=0.5);'
        for i in range(len(nodes))
    ]
    lines.append('Edge(edge_id="met", from_node="n0", to_node="n1", verb="met", weight=0.5);')
    graph.load("\n".join(lines))
    graph.query(
        "MATCH (n:Node {namespace: $namespace}) WHERE n.id IS NOT NULL "
        "SET n.kind = 'k' + (toInteger(substring(n.id, 1)) % 5)",
        write=True,
    )
    index_messages(graph.scope)
    embed_missing(graph.scope, WordVectors())


def milliseconds(work: Callable[[], Any]) -> float:
    """How long a piece of work takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def measure(graph: MemoryGraph, questions: Sequence[str]) -> None:
    """Print the median and the 99th percentile of each way to ask, taken in turns."""
    times: dict[str, list[float]] = {}
    for question in questions:
        [vector] = WordVectors().embed([question])
        alone = Query(VECTOR_ALONE, {"vector": vector, "namespace": graph.namespace, "model": WordVectors.name})
        ways: dict[str, Callable[[], Any]] = {
            "a query that does nothing": lambda: graph.connection.read(Query(PING)),
            "the vector query alone": lambda alone=alone: graph.connection.read(alone),  # type: ignore[misc]
            "words": lambda question=question: recall_hits(graph.scope, question),  # type: ignore[misc]
            "words and vectors": lambda question=question, vector=vector: recall_hits(  # type: ignore[misc]
                graph.scope, question, embedder=Known(vector)
            ),
            "without steps": lambda question=question, vector=vector: recall_hits(  # type: ignore[misc]
                graph.scope, question, embedder=Known(vector), steps=False
            ),
        }
        # Each is to be compared with the same question without a filter, `words and vectors`.
        for label, filters in FILTERS.items():
            ways[f"filter: {label}"] = lambda question=question, vector=vector, filters=filters: recall_hits(  # type: ignore[misc]
                graph.scope, question, embedder=Known(vector), **filters
            )
        for name, work in ways.items():
            times.setdefault(name, []).append(milliseconds(work))
    base = statistics.median(times["the vector query alone"])
    for name, taken in times.items():
        middle, worst = statistics.median(taken), statistics.quantiles(taken, n=100)[-1]
        print(f"{name:28} p50 {middle:6.2f} ms  p99 {worst:6.2f} ms  = {middle / base:.2f} times the vector query")


def main() -> None:
    """Fill a namespace of its own, ask, and delete it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    chance = random.Random(1)
    texts = sentences(options.messages + options.nodes + options.rounds + 50, chance)
    with MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex}") as graph:
        graph.load("")
        try:
            fill(graph, texts[: options.messages], texts[options.messages : options.messages + options.nodes])
            questions = [" ".join(text.split()[:10]) for text in texts[options.messages + options.nodes :]]
            measure(graph, questions[:50])
            print("warm:")
            measure(graph, questions[50:])
        finally:
            graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    main()
