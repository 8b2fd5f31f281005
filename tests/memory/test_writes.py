"""What a write does where a part of what it stores is there already, and how it finds that."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from memorygraph import MemoryGraph, Query
from memorygraph.library import CYPHER
from memorygraph.memory.entities import Entities
from memorygraph.memory.values import Entity, Observations
from memorygraph.memory.writes import hashed_id

OBSERVED = """
MATCH (:Node {namespace: $namespace})-[edge:EDGE {verb: 'observed'}]->(observation:Observation)
RETURN edge.id AS edge, observation.data AS text
"""


def observed(graph: MemoryGraph) -> list[dict[str, Any]]:
    """The observations with the edges to them."""
    return graph.connection.read(Query(OBSERVED, {"namespace": graph.namespace}))


def test_an_observation_that_lost_its_edge_is_joined_to_its_entity_again(graph: MemoryGraph) -> None:
    where = graph.scope
    Entities(where).create([Entity(name="Ada", entity_type="person", observations=["likes tea", "likes jam"])])
    lost = observed(graph)[0]
    graph.delete(lost["edge"])
    assert lost not in observed(graph)
    said = Observations(entity_name="Ada", contents=["likes tea", "likes jam", "likes rum"])
    [added] = Entities(where).observe([said])
    assert added.added_observations == [text for text in said.contents if text in (lost["text"], "likes rum")]
    assert lost in observed(graph)
    assert len(observed(graph)) == 3
    assert sorted(Entities(where).open(["Ada"]).entities[0].observations) == ["likes jam", "likes rum", "likes tea"]


def test_what_is_found_by_its_id_or_its_name_is_sought_and_never_scanned_for() -> None:
    """Without the hint Neo4j may look through everything for each row, as long as it has no sample of an index.

    For what has no name it took the index of names, which leads to all observations.
    """
    lines = [line.strip() for name in CYPHER if name.startswith("entities/") for line in CYPHER[name].text.splitlines()]
    after = [
        after
        for line, after in pairwise(lines)
        if re.search(r"MATCH .*:(Node|EDGE) {namespace: \$namespace, (id|name): ", line)
    ]
    assert len(after) > 15
    assert [line for line in after if not line.startswith("USING INDEX SEEK ")] == []


def test_an_id_is_made_from_what_it_names() -> None:
    assert hashed_id("entity", "Ada Lovelace") == "entity-4a517998c9b62d6d0f869f58af0b257e"
