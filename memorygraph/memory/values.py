"""Entities, observations and relations as values, in the words of both memory servers that people use.

Each model reads `from` and `source`, `to` and `target`, `entityType` and `type`, `contents` and `observations`, and
writes the first of each pair.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from memorygraph.languages.contextscript import MAX_NAME

# With any limit, pydantic looks into the text and refuses half characters, which Neo4j cannot store.
Text = Annotated[str, StringConstraints(min_length=0)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]


class EntityValue(BaseModel):
    """A value in either dialect of a memory server; keys that it does not know are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", serialize_by_alias=True, populate_by_name=True)

    def as_dict(self) -> dict[str, Any]:
        """The value as JSON, in the words of the reference server, without what there is nothing to say of."""
        return self.model_dump(by_alias=True, exclude_none=True)


class Entity(EntityValue):
    """A person or a thing, with the observations of it.

    >>> Entity.model_validate({"name": "Ada", "type": "person"}).as_dict()
    {'name': 'Ada', 'entityType': 'person', 'observations': []}
    """

    name: Name = Field(description="The name of the entity")
    entity_type: Text = Field(
        description="The type of the entity",
        validation_alias=AliasChoices("entityType", "type"),
        serialization_alias="entityType",
    )
    observations: Annotated[list[Text], BeforeValidator(lambda given: [] if given is None else given)] = Field(
        default_factory=list, description="What is known of the entity, a short sentence each"
    )


class Relation(EntityValue):
    """A directed relation between two entities, in active voice.

    >>> Relation.model_validate({"source": "Ada", "target": "Bob", "relationType": "knows"}).as_dict()
    {'from': 'Ada', 'to': 'Bob', 'relationType': 'knows'}
    """

    source: Name = Field(
        description="The entity where the relation starts",
        validation_alias=AliasChoices("from", "source"),
        serialization_alias="from",
    )
    target: Name = Field(
        description="The entity where the relation ends",
        validation_alias=AliasChoices("to", "target"),
        serialization_alias="to",
    )
    relation_type: Text = Field(description="The type of the relation", alias="relationType")


class Observations(EntityValue):
    """Observations to add to an entity."""

    entity_name: Name = Field(description="The entity they are of", alias="entityName")
    contents: list[Text] = Field(
        description="The observations to add",
        validation_alias=AliasChoices("contents", "observations"),
        serialization_alias="contents",
    )


class ObservationDeletion(EntityValue):
    """Observations to delete from an entity."""

    entity_name: Name = Field(description="The entity they are of", alias="entityName")
    observations: list[Text] = Field(
        description="The observations to delete",
        validation_alias=AliasChoices("observations", "contents"),
        serialization_alias="observations",
    )


class AddedObservations(EntityValue):
    """The observations of a request that are new; `alias_of` is the entity that has them, if it was named otherwise."""

    entity_name: str = Field(alias="entityName")
    added_observations: list[str] = Field(alias="addedObservations")
    alias_of: str | None = Field(default=None, alias="aliasOf")


class EntityOutcome(EntityValue):
    """The outcome for one entity of a request: `created`, `merged` into one that exists, or `unchanged`.

    `alias_of` is the entity that the name is an alias of. `did_you_mean` is one whose name differs in case only: it got
    the observations, and no second entity was created. `entity_type` is the type that the entity has and keeps, where
    another one was given.
    """

    name: str
    outcome: str
    added_observations: list[str] = Field(alias="addedObservations")
    alias_of: str | None = Field(default=None, alias="aliasOf")
    did_you_mean: str | None = Field(default=None, alias="didYouMean")
    entity_type: str | None = Field(default=None, alias="entityType")


class RelationOutcome(EntityValue):
    """The outcome for one relation of a request: `created`, or it `exists` already.

    `aliases` are the names in it that are aliases, each with the entity that it stands for.
    """

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    relation_type: str = Field(alias="relationType")
    outcome: str
    aliases: dict[str, str] | None = None
