"""Stores one of each thing that the memory server stores or reads."""

from __future__ import annotations

from memorygraph import MemoryGraph
from memorygraph.memory.entities import Entities
from memorygraph.memory.values import Entity, Relation
from tests.memory.recalling import learn, say

FOREIGN = "MERGE (:Memory {name: '', type: '', observations: []})"
"""Stores a node of mcp-neo4j-memory, which memorygraph only reads."""

_PARTS = "CREATE (a:Node {name_parts: '', data_parts: ''}), (b:Alias {name_parts: ''}) DELETE a, b"

_RECALLED = (
    "CREATE (a:Message {said: '', said_parts: '', said_at: datetime(), conversations: [''], namespace_token: '', "
    "embedding_model: ''}) "
    "CREATE (a)-[:SOURCE]->(a) DETACH DELETE a"
)


def store_names(graph: MemoryGraph) -> None:
    """Store an entity with an observation and a relation."""
    entity = Entity(name="names", entity_type="t", observations=["o"])
    Entities(graph.scope).create([entity])
    Entities(graph.scope).relate([Relation(source="names", target="names", relation_type="r")])
    if not graph.aliases("names"):
        Entities(graph.scope).create([Entity(name="merged", entity_type="t", observations=["o"])])
        graph.merge("merged", into="names")
    graph.query(_PARTS, write=True)
    graph.index_messages()
    graph.query(_RECALLED, write=True)
    [first, *_] = say(graph, "names-of-recall", ("Ada", "Hello"), ("Ada", "Hello again. " * 100))
    learn(graph, [("fact", "Ada says hello.", [first])])
    graph.scope.write_query("recall/set-embedder", model="m")
