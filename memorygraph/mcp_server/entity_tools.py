"""The tools of the two memory servers that people use: the same names, arguments and answers.

Both dialects are understood everywhere. Answers are those of the reference server; the two tools that only
mcp-neo4j-memory has answer in its words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from memorygraph.mcp_server.tools import BudgetedArguments, ToolAnswer, ToolArguments, provenance, tool
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


class EntitiesArguments(ToolArguments):
    """What create_entities takes."""

    entities: list[Entity]


class RelationsArguments(ToolArguments):
    """What create_relations takes."""

    relations: list[Relation]


class RelationDeletionsArguments(ToolArguments):
    """What delete_relations takes."""

    relations: list[Relation] = Field(description="An array of relations to delete")


class ObservationsArguments(ToolArguments):
    """What add_observations takes."""

    observations: list[Observations]


class EntityDeletionsArguments(ToolArguments):
    """What delete_entities takes."""

    model_config = ConfigDict(populate_by_name=True)

    entity_names: list[str] = Field(alias="entityNames", description="An array of entity names to delete")


class ObservationDeletionsArguments(ToolArguments):
    """What delete_observations takes."""

    deletions: list[ObservationDeletion]


class PageArguments(BudgetedArguments):
    """What every read takes."""

    cursor: str | None = Field(default=None, description="Where the page before ended: the `cursor` of its answer")
    names_only: bool = Field(default=False, description="An overview: names and types, without what is known of them")

    def page(self) -> dict[str, Any]:
        """The page that is asked for, as the reading methods of the client take it."""
        return {"max_tokens": self.max_tokens, "cursor": self.cursor, "names_only": self.names_only}


class SearchArguments(PageArguments):
    """What a search takes."""

    query: str = Field(description="The search query to match against entity names, types, and observation content")


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


class PageAnswer(BaseModel):
    """What every answer says that comes in pages."""

    left_out: LeftOut = Field(default=LeftOut(), serialization_alias="leftOut")
    cursor: str = Field(default="", description="What the next call takes to go on")


class GraphAnswer(PageAnswer):
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


class Neo4jGraphAnswer(PageAnswer):
    """Entities and relations; `leftOut` and `cursor` are there when there are more."""

    entities: list[Neo4jEntity]
    relations: list[Neo4jRelation]


@tool("Create Entities", EntitiesArguments, EntitiesAnswer, writes=True)
def create_entities(graph: MemoryGraph, given: EntitiesArguments) -> ToolAnswer:
    """Create multiple new entities in the knowledge graph.

    What is said of an entity that exists is added to it; nothing is overwritten.
    """
    created, outcomes = graph.entities.attributed_to(provenance()).create(given.entities)
    said = [outcome.as_dict() for outcome in outcomes] if len(created) < len(given.entities) else []
    return answer_with_array("entities", [entity.as_dict() for entity in created], said)


@tool("Create Relations", RelationsArguments, RelationsAnswer, writes=True)
def create_relations(graph: MemoryGraph, given: RelationsArguments) -> ToolAnswer:
    """Create multiple new relations between entities in the knowledge graph.

    Relations should be in active voice, and both entities must exist.
    """
    created, outcomes = graph.entities.attributed_to(provenance()).relate(given.relations)
    said = [outcome.as_dict() for outcome in outcomes] if len(created) < len(given.relations) else []
    return answer_with_array("relations", [relation.as_dict() for relation in created], said)


@tool("Add Observations", ObservationsArguments, ObservationsAnswer, writes=True)
def add_observations(graph: MemoryGraph, given: ObservationsArguments) -> ToolAnswer:
    """Add new observations to existing entities in the knowledge graph."""
    added = graph.entities.attributed_to(provenance()).observe(given.observations)
    return answer_with_array("results", [each.as_dict() for each in added], [])


def answer_with_array(name: str, values: list[dict[str, Any]], outcomes: list[dict[str, Any]]) -> ToolAnswer:
    """Answer with values whose text is the bare array, as the reference server's is."""
    return ToolAnswer(as_json(values), {name: values, **({"outcomes": outcomes} if outcomes else {})})


@tool("Delete Entities", EntityDeletionsArguments, DoneAnswer, writes=True, destructive=True)
def delete_entities(graph: MemoryGraph, given: EntityDeletionsArguments) -> ToolAnswer:
    """Delete multiple entities and their associated relations from the knowledge graph."""
    graph.entities.attributed_to(provenance()).delete(given.entity_names)
    return ToolAnswer.of_done("Entities deleted successfully")


@tool("Delete Observations", ObservationDeletionsArguments, DoneAnswer, writes=True, destructive=True)
def delete_observations(graph: MemoryGraph, given: ObservationDeletionsArguments) -> ToolAnswer:
    """Delete specific observations from entities in the knowledge graph."""
    graph.entities.attributed_to(provenance()).delete_observations(given.deletions)
    return ToolAnswer.of_done("Observations deleted successfully")


@tool("Delete Relations", RelationDeletionsArguments, DoneAnswer, writes=True, destructive=True)
def delete_relations(graph: MemoryGraph, given: RelationDeletionsArguments) -> ToolAnswer:
    """Delete multiple relations from the knowledge graph."""
    graph.entities.attributed_to(provenance()).delete_relations(given.relations)
    return ToolAnswer.of_done("Relations deleted successfully")


@tool("Read Graph", PageArguments, GraphAnswer)
def read_graph(graph: MemoryGraph, given: PageArguments) -> ToolAnswer:
    """Read the entire knowledge graph.

    Long answers come in pages: the answer says what it left out, and `cursor` goes on from there.
    """
    return ToolAnswer.of(graph.entities.read_graph(**given.page()).as_dict())


@tool("Search Nodes", SearchArguments, GraphAnswer)
def search_nodes(graph: MemoryGraph, given: SearchArguments) -> ToolAnswer:
    """Search for nodes in the knowledge graph based on a query: those that contain it, or else its words.

    Long answers come in pages: the answer says what it left out, and `cursor` goes on from there.
    """
    return ToolAnswer.of(graph.entities.search(given.query, **given.page()).as_dict())


@tool("Open Nodes", NamesArguments, GraphAnswer)
def open_nodes(graph: MemoryGraph, given: NamesArguments) -> ToolAnswer:
    """Open specific nodes in the knowledge graph by their names.

    Long answers come in pages: the answer says what it left out, and `cursor` goes on from there.
    """
    return ToolAnswer.of(graph.entities.open(given.names, **given.page()).as_dict())


@tool("Search Memories", SearchArguments, Neo4jGraphAnswer)
def search_memories(graph: MemoryGraph, given: SearchArguments) -> ToolAnswer:
    """Search for memories based on a query containing search terms; search_nodes in the words of mcp-neo4j-memory."""
    return answer_as_neo4j_memory(graph.entities.search(given.query, **given.page()))


@tool("Find Memories by Name", NamesArguments, Neo4jGraphAnswer)
def find_memories_by_name(graph: MemoryGraph, given: NamesArguments) -> ToolAnswer:
    """Find specific memories by name; open_nodes in the words of mcp-neo4j-memory."""
    return answer_as_neo4j_memory(graph.entities.open(given.names, **given.page()))


def answer_as_neo4j_memory(page: EntityGraph) -> ToolAnswer:
    """Answer with a page of entities and relations in the words of mcp-neo4j-memory."""
    entities = [
        {"name": each.name, "type": each.entity_type, "observations": each.observations} for each in page.entities
    ]
    relations = [
        {"source": each.source, "target": each.target, "relationType": each.relation_type} for each in page.relations
    ]
    return ToolAnswer.of({**page.as_dict(), "entities": entities, "relations": relations})
