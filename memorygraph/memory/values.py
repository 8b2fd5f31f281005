"""Entities, observations and relations as values, in the words of both memory servers that people use.

Each model reads `from` and `source`, `to` and `target`, `entityType` and `type`, `contents` and `observations`, and
writes the first of each pair. Made in Python, it takes the names of its attributes, which type checkers know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import (
    AliasChoices,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic.alias_generators import to_camel

from memorygraph.errors import MemoryGraphError
from memorygraph.languages.contextscript import MAX_ID, MAX_NAME

# With any limit, pydantic looks into the text and refuses half characters, which Neo4j cannot store.
Text = Annotated[str, StringConstraints(min_length=0)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME)]
# The reference server has stored relations of an empty type, which its files bring along.
RelationType = Annotated[str, StringConstraints(min_length=0, max_length=MAX_ID)]


class EntityValue(BaseModel):
    """A value in either dialect of a memory server; keys that it does not know are ignored.

    A field `entity_type` is the key `entityType`, unless it says otherwise.
    """

    model_config = ConfigDict(
        # No `alias`, which type checkers would take in place of the name.
        alias_generator=AliasGenerator(validation_alias=to_camel, serialization_alias=to_camel),
        frozen=True,
        extra="ignore",
        serialize_by_alias=True,
        populate_by_name=True,
    )

    def as_dict(self) -> dict[str, Any]:
        """The value as JSON, in the words of the reference server, without what there is nothing to say of."""
        return self.model_dump(by_alias=True, exclude_none=True)


Value = TypeVar("Value", bound=EntityValue)


class Entity(EntityValue):
    """A person or a thing, with the observations of it.

    >>> Entity.model_validate({"name": "Ada", "type": "person"}).as_dict()
    {'name': 'Ada', 'entityType': 'person', 'observations': []}
    """

    name: Name = Field(description="The name of the entity")
    entity_type: Text = Field(description="The type of the entity", validation_alias=AliasChoices("entityType", "type"))
    observations: Annotated[list[Text], BeforeValidator(lambda given: [] if given is None else given)] = Field(
        default_factory=list, description="What is known of the entity, a short sentence each"
    )


class AnyRelation(EntityValue):
    """A relation whose type has any length, as earlier releases have stored it: it can be deleted."""

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
    relation_type: Text = Field(description="The type of the relation")


class Relation(AnyRelation):
    """A directed relation between two entities, in active voice.

    >>> Relation.model_validate({"source": "Ada", "target": "Bob", "relationType": "knows"}).as_dict()
    {'from': 'Ada', 'to': 'Bob', 'relationType': 'knows'}
    """

    relation_type: RelationType = Field(description="The type of the relation")


class Observations(EntityValue):
    """Observations to add to an entity."""

    entity_name: Name = Field(description="The entity they are of")
    contents: list[Text] = Field(
        description="The observations to add", validation_alias=AliasChoices("contents", "observations")
    )


class ObservationDeletion(EntityValue):
    """Observations to delete from an entity."""

    entity_name: Name = Field(description="The entity they are of")
    observations: list[Text] = Field(
        description="The observations to delete", validation_alias=AliasChoices("observations", "contents")
    )


class AddedObservations(EntityValue):
    """The observations of a request that are new; `alias_of` is the entity that has them, if it was named otherwise."""

    entity_name: str
    added_observations: list[str]
    alias_of: str | None = None


class EntityOutcome(EntityValue):
    """The outcome for one entity of a request: `created`, `merged` into one that exists, or `unchanged`.

    `alias_of` is the entity that the name is an alias of. `did_you_mean` is one whose name differs in case only: it got
    the observations, and no second entity was created. `entity_type` is the type that the entity has and keeps, where
    another one was given.
    """

    name: str
    outcome: str
    added_observations: list[str]
    alias_of: str | None = None
    did_you_mean: str | None = None
    entity_type: str | None = None


class RelationOutcome(EntityValue):
    """The outcome for one relation of a request: `created`, or it `exists` already.

    `aliases` are the names in it that are aliases, each with the entity that it stands for.
    """

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    relation_type: str
    outcome: str
    aliases: dict[str, str] | None = None


def validate_values(kind: type[Value], given: Iterable[Value | Mapping[str, Any]]) -> list[Value]:
    """Read the values of a request: each is one of this kind, or a mapping in either dialect.

    >>> validate_values(Entity, [{"name": "Ada", "entityType": "person"}])[0].entity_type
    'person'

    Raises:
        MemoryGraphError: one is neither.
    """
    values: list[Value] = []
    for number, value in enumerate(given, 1):
        try:
            values.append(kind.model_validate(value))
        except ValidationError as error:
            told = explain_validation_error(error)
            raise MemoryGraphError(f"value {number} of the list is no {kind.__name__}: {told}") from None
    return values


def read_names(names: Iterable[str]) -> list[str]:
    """Read the names of a request.

    Raises:
        MemoryGraphError: a text is given, and each of its letters would be a name.
    """
    if isinstance(names, str):
        raise MemoryGraphError(f"invalid names {names!r}: give a list of names, of one too, as [{names!r}]")
    return list(names)


def explain_validation_error(error: ValidationError) -> str:
    """The errors of a validation, in one line."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    shown = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" if each["loc"] else each["msg"] for each in found[:20]]
    return "; ".join(shown + ([f"and {len(found) - 20} more"] if len(found) > 20 else []))
