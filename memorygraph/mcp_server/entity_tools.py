"""The tools of the two memory servers that people use: the same names, arguments and answers.

Both dialects are understood everywhere. Answers are those of the reference server; the two tools that only
mcp-neo4j-memory has answer in its words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from memorygraph.mcp_server.tools import Answer, Arguments, Budgeted, Tool, provenance
from memorygraph.memory.entities import Entities
from memorygraph.memory.pages import EntityGraph, as_json
from memorygraph.memory.values import (
    AddedObservations,
    Entity,
    EntityOutcome,
    ObservationDeletion,
    Observations,
    Relation,
    RelationOutcome,
)

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph


class EntitiesArguments(Arguments):
    """What create_entities takes."""

    entities: list[Entity]


class RelationsArguments(Arguments):
    """What create_relations takes."""

    relations: list[Relation]


class RelationDeletionsArguments(Arguments):
    """What delete_relations takes."""

    relations: list[Relation] = Field(description="An array of relations to delete")


class ObservationsArguments(Arguments):
    """What add_observations takes."""

    observations: list[Observations]


class EntityDeletionsArguments(Arguments):
    """What delete_entities takes."""

    model_config = ConfigDict(populate_by_name=True)

    entity_names: list[str] = Field(alias="entityNames", description="An array of entity names to delete")


class ObservationDeletionsArguments(Arguments):
    """What delete_observations takes."""

    deletions: list[ObservationDeletion]


class PageArguments(Budgeted):
    """What every read takes."""

    cursor: str | None = Field(default=None, description="Where the page before ended: the `cursor` of its answer")
    names_only: bool = Field(default=False, description="An overview: names and types, without what is known of them")


class SearchArguments(PageArguments):
    """What a search takes."""

    query: str = Field(
        description="The search query to match against entity names, types, and observation content",
    )


class NamesArguments(PageArguments):
    """What is taken to open entities."""

    names: list[str] = Field(description="An array of entity names to retrieve")


class EntitiesAnswer(BaseModel):
    """The entities that are new; `outcomes` is there when some were not."""

    entities: list[Entity]
    outcomes: list[EntityOutcome] = Field(default=[])


class RelationsAnswer(BaseModel):
    """The relations that are new; `outcomes` is there when some were not."""

    relations: list[Relation]
    outcomes: list[RelationOutcome] = Field(default=[])


class ObservationsAnswer(BaseModel):
    """What was new of what was to be added."""

    results: list[AddedObservations]


class DoneAnswer(BaseModel):
    """That something was deleted, or was not there."""

    success: bool
    message: str


class LeftOut(BaseModel):
    """What a page leaves out: how much, and the names of the first entities that come next."""

    entities: int = 0
    observations: int = 0
    relations: int = 0
    names: list[str] = Field(default=[])


class _PageAnswer(BaseModel):
    left_out: LeftOut = Field(default=LeftOut(), serialization_alias="leftOut")
    cursor: str = Field(default="", description="What the next call takes to go on")


class GraphAnswer(_PageAnswer):
    """Entities and relations; `leftOut` and `cursor` are there when there are more."""

    entities: list[Entity]
    relations: list[Relation]


class Neo4jEntity(BaseModel):
    """An entity in the words of mcp-neo4j-memory."""

    name: str
    type: str
    observations: list[str]


class Neo4jRelation(BaseModel):
    """A relation in the words of mcp-neo4j-memory."""

    source: str
    target: str
    relation_type: str = Field(serialization_alias="relationType")


class Neo4jGraphAnswer(_PageAnswer):
    """Entities and relations; `leftOut` and `cursor` are there when there are more."""

    entities: list[Neo4jEntity]
    relations: list[Neo4jRelation]


def _create_entities(graph: MemoryGraph, given: EntitiesArguments) -> Answer:
    created, outcomes = Entities(graph.scope, provenance()).create(given.entities)
    said = [outcome.as_dict() for outcome in outcomes] if len(created) < len(given.entities) else []
    return _array("entities", [entity.as_dict() for entity in created], said)


def _create_relations(graph: MemoryGraph, given: RelationsArguments) -> Answer:
    created, outcomes = Entities(graph.scope, provenance()).relate(given.relations)
    said = [outcome.as_dict() for outcome in outcomes] if len(created) < len(given.relations) else []
    return _array("relations", [relation.as_dict() for relation in created], said)


def _add_observations(graph: MemoryGraph, given: ObservationsArguments) -> Answer:
    added = Entities(graph.scope, provenance()).observe(given.observations)
    return _array("results", [each.as_dict() for each in added], [])


def _array(name: str, values: list[dict[str, Any]], outcomes: list[dict[str, Any]]) -> Answer:
    """The text is the bare array, as the reference server's is."""
    return Answer(as_json(values), {name: values, **({"outcomes": outcomes} if outcomes else {})})


def _delete_entities(graph: MemoryGraph, given: EntityDeletionsArguments) -> Answer:
    Entities(graph.scope, provenance()).delete(given.entity_names)
    return _done("Entities deleted successfully")


def _delete_observations(graph: MemoryGraph, given: ObservationDeletionsArguments) -> Answer:
    Entities(graph.scope, provenance()).delete_observations(given.deletions)
    return _done("Observations deleted successfully")


def _delete_relations(graph: MemoryGraph, given: RelationDeletionsArguments) -> Answer:
    Entities(graph.scope, provenance()).delete_relations(given.relations)
    return _done("Relations deleted successfully")


def _done(message: str) -> Answer:
    return Answer(message, {"success": True, "message": message})


def _read(graph: MemoryGraph, given: PageArguments) -> EntityGraph:
    return Entities(graph.scope).read_graph(**_page(given))


def _search(graph: MemoryGraph, given: SearchArguments) -> EntityGraph:
    return Entities(graph.scope).search(given.query, **_page(given))


def _open(graph: MemoryGraph, given: NamesArguments) -> EntityGraph:
    return Entities(graph.scope).open(given.names, **_page(given))


def _page(given: PageArguments) -> dict[str, Any]:
    return {"max_tokens": given.max_tokens, "cursor": given.cursor, "names_only": given.names_only}


def _as_reference(read: Callable[[MemoryGraph, Any], EntityGraph]) -> Callable[[MemoryGraph, Any], Answer]:
    return lambda graph, given: Answer.of(read(graph, given).as_dict())


def _as_neo4j(read: Callable[[MemoryGraph, Any], EntityGraph]) -> Callable[[MemoryGraph, Any], Answer]:
    def run(graph: MemoryGraph, given: Any) -> Answer:
        found = read(graph, given)
        entities = [
            {"name": each.name, "type": each.entity_type, "observations": each.observations} for each in found.entities
        ]
        relations = [
            {"source": each.source, "target": each.target, "relationType": each.relation_type}
            for each in found.relations
        ]
        return Answer.of({**found.as_dict(), "entities": entities, "relations": relations})

    return run


_PAGED = " Long answers come in pages: the answer says what it left out, and `cursor` goes on from there."

TOOLS = (
    Tool(
        "create_entities",
        "Create Entities",
        "Create multiple new entities in the knowledge graph. What is said of an entity that exists is added to it; "
        "nothing is overwritten.",
        EntitiesArguments,
        _create_entities,
        EntitiesAnswer,
        writes=True,
    ),
    Tool(
        "create_relations",
        "Create Relations",
        "Create multiple new relations between entities in the knowledge graph. Relations should be in active voice, "
        "and both entities must exist.",
        RelationsArguments,
        _create_relations,
        RelationsAnswer,
        writes=True,
    ),
    Tool(
        "add_observations",
        "Add Observations",
        "Add new observations to existing entities in the knowledge graph",
        ObservationsArguments,
        _add_observations,
        ObservationsAnswer,
        writes=True,
    ),
    Tool(
        "delete_entities",
        "Delete Entities",
        "Delete multiple entities and their associated relations from the knowledge graph",
        EntityDeletionsArguments,
        _delete_entities,
        DoneAnswer,
        writes=True,
        destructive=True,
    ),
    Tool(
        "delete_observations",
        "Delete Observations",
        "Delete specific observations from entities in the knowledge graph",
        ObservationDeletionsArguments,
        _delete_observations,
        DoneAnswer,
        writes=True,
        destructive=True,
    ),
    Tool(
        "delete_relations",
        "Delete Relations",
        "Delete multiple relations from the knowledge graph",
        RelationDeletionsArguments,
        _delete_relations,
        DoneAnswer,
        writes=True,
        destructive=True,
    ),
    Tool(
        "read_graph",
        "Read Graph",
        "Read the entire knowledge graph." + _PAGED,
        PageArguments,
        _as_reference(_read),
        GraphAnswer,
    ),
    Tool(
        "search_nodes",
        "Search Nodes",
        "Search for nodes in the knowledge graph based on a query: those that contain it, or else its words." + _PAGED,
        SearchArguments,
        _as_reference(_search),
        GraphAnswer,
    ),
    Tool(
        "open_nodes",
        "Open Nodes",
        "Open specific nodes in the knowledge graph by their names." + _PAGED,
        NamesArguments,
        _as_reference(_open),
        GraphAnswer,
    ),
    Tool(
        "search_memories",
        "Search Memories",
        "Search for memories based on a query containing search terms; search_nodes in the words of mcp-neo4j-memory.",
        SearchArguments,
        _as_neo4j(_search),
        Neo4jGraphAnswer,
    ),
    Tool(
        "find_memories_by_name",
        "Find Memories by Name",
        "Find specific memories by name; open_nodes in the words of mcp-neo4j-memory.",
        NamesArguments,
        _as_neo4j(_open),
        Neo4jGraphAnswer,
    ),
)
