"""What is deleted is found by its vector no more, however it was deleted, and its vector is nowhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memorygraph import MemoryGraph
from memorygraph.memory.recall import recall_hits
from memorygraph.memory.values import Entity
from memorygraph.memory.vectors import Embedder, embed_missing

WAYS: dict[str, Callable[[MemoryGraph], object]] = {
    "statement": lambda graph: graph.load('del(id="Ada");'),
    "client": lambda graph: graph.delete("Ada"),
    "entity": lambda graph: graph.entities.delete(["Ada"]),
    "undo": lambda graph: graph.undo(1),
    "forgetting": lambda graph: graph.forget("Ada"),
}


def sources(graph: MemoryGraph, embedder: Embedder) -> set[str]:
    """What a question finds of Ada, and by what."""
    hits = recall_hits(graph.scope, "harpsichord", embedder=embedder, limit=10).hits
    return {hit.source for hit in hits if "Ada" in hit.content}


def count_vectors(graph: MemoryGraph) -> int:
    [row] = graph.query(
        "MATCH (n:Node|Message|Passage {namespace: $namespace}) WHERE n.embedding IS NOT NULL RETURN count(n) AS count"
    )
    return int(row["count"])


@pytest.mark.parametrize("way", WAYS)
def test_the_vectors_of_a_deleted_entity_and_of_its_observations_are_gone(
    graph: MemoryGraph, embedder: Embedder, way: str
) -> None:
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["plays the harpsichord"])])
    graph.entities.create([Entity(name="Bob", entity_type="person", observations=["plays the harpsichord, too"])])
    embed_missing(graph.scope, embedder)
    before = count_vectors(graph)
    assert sources(graph, embedder)
    WAYS[way](graph)
    assert sources(graph, embedder) == set()
    assert 0 < count_vectors(graph) < before
    assert graph.broken_invariants() == []


def test_what_comes_back_is_found_again(graph: MemoryGraph, embedder: Embedder) -> None:
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["plays the harpsichord"])])
    embed_missing(graph.scope, embedder)
    graph.delete("Ada")
    graph.undo(graph.revisions(1)[0].revision)
    embed_missing(graph.scope, embedder)
    assert sources(graph, embedder)
