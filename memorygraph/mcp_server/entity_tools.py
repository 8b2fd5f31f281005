"""The tools of the two memory servers that people use: the same names, arguments and answers.

Both dialects are understood everywhere. Answers are those of the reference server; the two tools that only
mcp-neo4j-memory has answer in its words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field

from memorygraph.mcp_server.tools import DEFAULT_TOKENS, AnswerTokens, ToolAnswer, ToolArguments, provenance, tool
from memorygraph.mcp_server.wording import (
    NOTHING_DELETED,
    explain_aliases,
    explain_alike,
    explain_deletion,
    explain_entities,
    explain_missing,
    explain_relations,
)
from memorygraph.memory.pages import EntityGraph, as_json
from memorygraph.memory.values import (
    AddedObservations,
    AnyRelation,
    Entity,
    EntityOutcome,
    ObservationDeletion,
    Observations,
    Relation,
    RelationOutcome,
)
from memorygraph.sentences import ask_meant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memorygraph.client import MemoryGraph


SearchQuery = Annotated[str, Field(description="What entity names, types or observations contain")]
RetrievedNames = Annotated[list[str], Field(description="The names of entities to retrieve")]
DeletedNames = Annotated[list[str], Field(alias="entityNames", description="The names of entities to delete")]
DistinguishCase = Annotated[
    bool, Field(alias="distinguishCase", description="Create a name that another entity has in another case, too")
]
DeletedRelations = Annotated[list[AnyRelation], Field(description="The relations to delete")]


class PageArguments(ToolArguments):
    """What every read takes."""

    max_tokens: AnswerTokens = DEFAULT_TOKENS
    cursor: str | None = Field(default=None, description="The `cursor` of the page before")
    names_only: bool = Field(default=False, description="An overview: names and types only")


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


class PageAnswer(BaseModel):
    """What every answer says that comes in pages."""

    left_out: dict[str, Any] = Field(
        default={},
        serialization_alias="leftOut",
        description="How many more there are, and who comes next",
    )
    cursor: str = Field(default="", description="What the next call takes to go on")
    aliases: dict[str, str] = Field(default={}, description="Names that are aliases, with their entities")


class GraphAnswer(PageAnswer):
    """Entities and relations; `leftOut` and `cursor` are there when there are more, `aliases` for names that are."""

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


@tool("memory", "Create Entities", EntitiesAnswer, writes=True)
def create_entities(
    graph: MemoryGraph, *, entities: list[Entity], distinguish_case: DistinguishCase = False
) -> ToolAnswer:
    """Create multiple new entities in the knowledge graph.

    What is said of an entity that exists is added to it; nothing is overwritten.
    """
    writer = graph.entities.attributed_to(provenance())
    created, outcomes = writer.create(entities, distinguish_case=distinguish_case)
    told = outcomes if len(created) < len(entities) else ()
    return answer_with_array("entities", created, told, explain_entities(outcomes))


@tool("memory", "Create Relations", RelationsAnswer, writes=True)
def create_relations(graph: MemoryGraph, *, relations: list[Relation]) -> ToolAnswer:
    """Create multiple new relations between entities in the knowledge graph.

    Relations should be in active voice, and both entities must exist.
    """
    created, outcomes = graph.entities.attributed_to(provenance()).relate(relations)
    told = outcomes if len(created) < len(relations) or any(each.aliases for each in outcomes) else ()
    return answer_with_array("relations", created, told, explain_relations(outcomes))


@tool("memory", "Add Observations", ObservationsAnswer, writes=True)
def add_observations(graph: MemoryGraph, *, observations: list[Observations]) -> ToolAnswer:
    """Add new observations to existing entities in the knowledge graph."""
    added = graph.entities.attributed_to(provenance()).observe(observations)
    aliases = {each.entity_name: each.alias_of for each in added if each.alias_of}
    return answer_with_array("results", added, note=explain_aliases(aliases))


def answer_with_array(name: str, values: Iterable[Any], outcomes: Iterable[Any] = (), note: str = "") -> ToolAnswer:
    """Answer with values whose text is the bare array, as the reference server's is; a note is a text of its own."""
    shown = [value.as_dict() for value in values]
    said = [outcome.as_dict() for outcome in outcomes]
    return ToolAnswer(as_json(shown), {name: shown, **({"outcomes": said} if said else {})}, note)


@tool("memory", "Delete Entities", DoneAnswer, writes=True, destructive=True)
def delete_entities(graph: MemoryGraph, *, entity_names: DeletedNames) -> ToolAnswer:
    """Delete multiple entities and their associated relations from the knowledge graph."""
    aliases, missing = graph.entities.aliases(entity_names), graph.entities.missing(entity_names)
    deleted = graph.entities.attributed_to(provenance()).delete(entity_names)
    said = explain_missing(missing) if deleted["nodes_deleted"] else NOTHING_DELETED
    return answer_deletion(graph, "Entities deleted successfully", said, missing, aliases)


@tool("memory", "Delete Observations", DoneAnswer, writes=True, destructive=True)
def delete_observations(graph: MemoryGraph, *, deletions: list[ObservationDeletion]) -> ToolAnswer:
    """Delete specific observations from entities in the knowledge graph."""
    names = [each.entity_name for each in deletions]
    aliases = graph.entities.aliases(names)
    deleted = graph.entities.attributed_to(provenance()).delete_observations(deletions)
    wanted = {
        (aliases.get(each.entity_name, each.entity_name), text) for each in deletions for text in each.observations
    }
    said = explain_deletion(deleted["found"], len(wanted))
    return answer_deletion(graph, "Observations deleted successfully", said, names, aliases)


@tool("memory", "Delete Relations", DoneAnswer, writes=True, destructive=True)
def delete_relations(graph: MemoryGraph, *, relations: DeletedRelations) -> ToolAnswer:
    """Delete multiple relations from the knowledge graph."""
    names = [name for each in relations for name in (each.source, each.target)]
    aliases = graph.entities.aliases(names)
    deleted = graph.entities.attributed_to(provenance()).delete_relations(relations)
    wanted = {
        (aliases.get(each.source, each.source), each.relation_type, aliases.get(each.target, each.target))
        for each in relations
    }
    said = explain_deletion(deleted["found"], len(wanted))
    return answer_deletion(graph, "Relations deleted successfully", said, names, aliases)


def answer_deletion(
    graph: MemoryGraph, message: str, missing: str, names: Sequence[str], aliases: Mapping[str, str]
) -> ToolAnswer:
    """Answer in the words of the reference server, and say beside them what was not there and what was an alias.

    Where something was missing, one of the `names` may be that of an entity in another case.
    """
    meant = explain_alike(graph.entities.alike(names)) if missing else ""
    return ToolAnswer.of_done(message, " ".join(filter(None, [missing, meant, explain_aliases(aliases)])))


@tool("memory", "Read Graph", GraphAnswer, base=PageArguments)
def read_graph(graph: MemoryGraph, **page: Any) -> ToolAnswer:
    """Read the entire knowledge graph.

    Long answers come in pages: the answer says what it left out, and `cursor` goes on from there.
    """
    return ToolAnswer.of(graph.entities.read_graph(**page).as_dict())


@tool("memory", "Search Nodes", GraphAnswer, base=PageArguments)
def search_nodes(graph: MemoryGraph, *, query: SearchQuery, **page: Any) -> ToolAnswer:
    """Search for nodes in the knowledge graph based on a query: those that contain it, or else its words."""
    found = graph.entities.search(query, **page)
    return replace(ToolAnswer.of(found.as_dict()), note=note_meant(graph, query, found))


@tool("memory", "Open Nodes", GraphAnswer, base=PageArguments)
def open_nodes(graph: MemoryGraph, *, names: RetrievedNames, **page: Any) -> ToolAnswer:
    """Open specific nodes in the knowledge graph by their names."""
    return ToolAnswer.of(graph.entities.open(names, **page).as_dict())


@tool("neo4j-memory", "Search Memories", Neo4jGraphAnswer, base=PageArguments)
def search_memories(graph: MemoryGraph, *, query: SearchQuery, **page: Any) -> ToolAnswer:
    """Search for memories based on a query containing search terms; search_nodes in the words of mcp-neo4j-memory."""
    found = graph.entities.search(query, **page)
    return replace(answer_as_neo4j_memory(found), note=note_meant(graph, query, found))


@tool("neo4j-memory", "Find Memories by Name", Neo4jGraphAnswer, base=PageArguments)
def find_memories_by_name(graph: MemoryGraph, *, names: RetrievedNames, **page: Any) -> ToolAnswer:
    """Find specific memories by name; open_nodes in the words of mcp-neo4j-memory."""
    return answer_as_neo4j_memory(graph.entities.open(names, **page))


def note_meant(graph: MemoryGraph, query: str, found: EntityGraph) -> str:
    """What may have been meant by a search that finds no entity."""
    meant = "" if found.entities else ask_meant(graph.suggest(query))
    return meant and f"Nothing was found{meant}"


def answer_as_neo4j_memory(page: EntityGraph) -> ToolAnswer:
    """Answer with a page of entities and relations in the words of mcp-neo4j-memory."""
    entities = [
        {"name": each.name, "type": each.entity_type, "observations": each.observations} for each in page.entities
    ]
    relations = [
        {"source": each.source, "target": each.target, "relationType": each.relation_type} for each in page.relations
    ]
    return ToolAnswer.of({**page.as_dict(), "entities": entities, "relations": relations})
