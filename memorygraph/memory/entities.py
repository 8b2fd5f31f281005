"""The operations of a memory server: entities with observations and relations, by their names.

Each write is one transaction and the next revision of its namespace; where it changes nothing, there is none. What is
acknowledged is stored, and nothing that is stored is overwritten.

>>> from memorygraph import MemoryGraph
>>> with MemoryGraph.connect() as mg:  # doctest: +SKIP
...     create_entities(mg.scope, [Entity(name="Ada", type="person", observations=["likes tea"])])
...     open_nodes(mg.scope, ["Ada"]).entities[0].observations
['likes tea']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.connection import Abandon
from memorygraph.graph.loads import Provenance
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.memory.reading import Graph, open_nodes, read_graph, search_nodes
from memorygraph.memory.values import (
    AddedObservations,
    Entity,
    EntityOutcome,
    ObservationDeletion,
    Observations,
    Relation,
    RelationOutcome,
)
from memorygraph.memory.writes import (
    MAX_OF_A_WRITE,
    Foreseen,
    Ids,
    Opened,
    Rows,
    Writer,
    entity_ids,
    hashed_id,
    with_other_ids,
)

__all__ = [
    "AddedObservations",
    "CreatedEntities",
    "CreatedRelations",
    "Entity",
    "EntityOutcome",
    "Graph",
    "ObservationDeletion",
    "Observations",
    "Relation",
    "RelationOutcome",
    "add_observations",
    "create_entities",
    "create_relations",
    "delete_entities",
    "delete_observations",
    "delete_relations",
    "open_nodes",
    "read_graph",
    "search_nodes",
]

MAX_MISSING = 20  # names in one error
MAX_FORESEEN = 100  # things of a write; of more, the round trip is a small part, and they may have to be sent twice

Outcome = TypeVar("Outcome")


class CreatedEntities(NamedTuple):
    """The entities that are new, and what became of each that was asked for."""

    entities: list[Entity]
    outcomes: list[EntityOutcome]


class CreatedRelations(NamedTuple):
    """The relations that are new, and what became of each that was asked for."""

    relations: list[Relation]
    outcomes: list[RelationOutcome]


class Stored(NamedTuple):
    """What a write stored: the indexes of the observations and relations that are new, its revision and its id."""

    indexes: frozenset[int] = frozenset()
    revision: int = 0
    load: str = ""


class Plan:
    """What a write is to store, on what it found. The index of each thing is its place in what was asked for."""

    def __init__(self, opened: Opened, salts: Mapping[int, int], most: int = MAX_OF_A_WRITE) -> None:
        self.rows = Rows()
        self.ids: dict[str, str] = {name: ids[0] for name, ids in opened.ids.items()}
        self._opened = opened
        self._salts = salts
        self._most = most
        self._used = set(opened.taken)
        self._next = 0
        self._related: set[tuple[str, str, str]] = set()

    def _index(self) -> int:
        if self._next >= self._most:
            raise MemoryGraphError(f"at most {self._most} things can be stored at once")
        self._next += 1
        return self._next - 1

    def _numbered(self, index: int, number: int) -> tuple[int, ...]:
        number = number * 1000 + self._salts.get(index, 0)
        return (number,) if number else ()

    def entity(self, name: str, kind: str) -> bool:
        """Store an entity unless there is one; returns whether it is new."""
        index = self._index()
        if name in self.ids:
            return self._opened.arrivals.get(self.ids[name]) == self._opened.place(index)
        identifier = next((each for each in entity_ids(name) if each not in self._used), None)
        if identifier is None:
            raise MemoryGraphError(f"the ids that an entity with name {name} can have belong to others")
        self.ids[name] = identifier
        self._used.add(identifier)
        self.rows.entities.append({"id": identifier, "name": name, "kind": kind, "index": index})
        return True

    def observe(self, name: str, text: str, number: int = 0) -> int:
        """Store an observation of an entity; `number` tells those of the same text apart. Returns its index."""
        index = self._index()
        parts: tuple[str | int, ...] = (self.ids[name], text, *self._numbered(index, number))
        ids = {"id": hashed_id("observation", *parts), "edge": hashed_id("observed", *parts)}
        self.rows.observations.append({**ids, "entity": self.ids[name], "data": text, "index": index})
        return index

    def relate(self, relation: Relation) -> int:
        """Store a relation, unless this write does already; returns its index."""
        index = self._index()
        ends = (self.ids[relation.source], relation.relation_type, self.ids[relation.target])
        if ends not in self._related:
            self._related.add(ends)
            identifier = hashed_id("relation", *ends, *self._numbered(index, 0))
            row = {"id": identifier, "source": ends[0], "target": ends[2], "verb": ends[1], "index": index}
            self.rows.relations.append(row)
        return index

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of the names that no entity has, stored or in this plan."""
        return [name for name in dict.fromkeys(names) if name not in self.ids]

    def edges(self) -> list[str]:
        """The ids of the edges that this stores."""
        return [row["edge"] for row in self.rows.observations] + [row["id"] for row in self.rows.relations]


def store_plan(
    writer: Writer,
    names: Iterable[str],
    plan: Callable[[Plan], Callable[[Stored], Outcome]],
    *,
    statements: int,
    file: str | None = None,
) -> Outcome:
    """Run one write: `plan` says what to store, and what came of it once the indexes of what is new are known."""
    ids = {name: entity_ids(name) for name in names}
    about = {"statements": statements, "file": file}

    def run(salts: Mapping[int, int]) -> Outcome:
        def work(transaction: NamespaceTransaction, opened: Opened, load: str) -> Outcome:
            made = Plan(opened, salts)
            outcome = plan(made)
            if opened.applied:
                before = writer.stored_before(transaction, opened, made.edges())
                raise Abandon(outcome(Stored(before, opened.applied["revision"], load)))
            if not made.rows:
                raise Abandon(outcome(Stored()))
            new = writer.store(transaction, opened, load, made.rows, about)
            if not new and not made.rows.entities:
                raise Abandon(outcome(Stored()))
            return outcome(Stored(new, opened.revision, load))

        result: Outcome = writer.run(ids, chain(*ids.values()), work, _foreseen(ids, salts, plan), about)
        return result

    outcome: Outcome = with_other_ids(run)
    return outcome


def _foreseen(ids: Ids, salts: Mapping[int, int], plan: Callable[[Plan], object]) -> Foreseen | None:
    """What a small write stores, where it can be planned without looking.

    It can if it creates the entities that are missing, or else if none is, and each has the best of its ids.
    """
    for found in ({}, ids):
        made = Plan(Opened(ids=found), salts, MAX_FORESEEN)
        with suppress(MemoryGraphError):
            plan(made)
            return Foreseen(made.ids, made.rows) if made.rows else None
    return None


def create_entities(
    namespace: Namespace, entities: Sequence[Entity], *, provenance: Provenance | None = None
) -> CreatedEntities:
    """Create entities; what is said of one that exists is added to it.

    Raises:
        ConnectionError: the server cannot be reached.
    """
    wanted = _by_name(entities)

    def plan(made: Plan) -> Callable[[Stored], CreatedEntities]:
        new = {name: made.entity(name, kind) for name, (kind, _) in wanted.items()}
        given = {name: [(made.observe(name, text), text) for text in texts] for name, (_, texts) in wanted.items()}

        def outcome(stored: Stored) -> CreatedEntities:
            added = {name: [text for index, text in texts if index in stored.indexes] for name, texts in given.items()}
            return CreatedEntities(
                [Entity(name=n, entity_type=wanted[n][0], observations=added[n]) for n in wanted if new[n]],
                [_entity_outcome(name, new[name], added[name]) for name in wanted],
            )

        return outcome

    return store_plan(Writer(namespace, provenance), wanted, plan, statements=len(entities))


def _by_name(entities: Sequence[Entity]) -> dict[str, tuple[str, dict[str, None]]]:
    """The type and the observations of each name; the first type counts."""
    wanted: dict[str, tuple[str, dict[str, None]]] = {}
    for entity in entities:
        texts = wanted.setdefault(entity.name, (entity.entity_type, {}))[1]
        texts.update(dict.fromkeys(entity.observations))
    return wanted


def _entity_outcome(name: str, new: bool, added: list[str]) -> EntityOutcome:  # noqa: FBT001
    word = "created" if new else "merged" if added else "unchanged"
    return EntityOutcome(name=name, outcome=word, added_observations=added)


def create_relations(
    namespace: Namespace, relations: Sequence[Relation], *, provenance: Provenance | None = None
) -> CreatedRelations:
    """Create relations between entities that exist.

    Raises:
        NotFoundError: an end is missing; nothing was stored.
        ConnectionError: the server cannot be reached.
    """
    names = [name for relation in relations for name in (relation.source, relation.target)]

    def plan(made: Plan) -> Callable[[Stored], CreatedRelations]:
        _require(made, names)
        indexes = [made.relate(relation) for relation in relations]

        def outcome(stored: Stored) -> CreatedRelations:
            new = [index in stored.indexes for index in indexes]
            return CreatedRelations(
                [relation for relation, created in zip(relations, new, strict=True) if created],
                [
                    RelationOutcome.model_validate({**each.as_dict(), "outcome": "created" if created else "exists"})
                    for each, created in zip(relations, new, strict=True)
                ],
            )

        return outcome

    return store_plan(Writer(namespace, provenance), names, plan, statements=len(relations))


def add_observations(
    namespace: Namespace,
    observations: Sequence[Observations],
    *,
    provenance: Provenance | None = None,
) -> list[AddedObservations]:
    """Add observations to entities that exist; returns what was new, in the order of what was asked for.

    Raises:
        NotFoundError: an entity is missing; nothing was stored.
        ConnectionError: the server cannot be reached.
    """
    names = [wanted.entity_name for wanted in observations]

    def plan(made: Plan) -> Callable[[Stored], list[AddedObservations]]:
        _require(made, names)
        seen: set[tuple[str, str]] = set()
        given: list[list[tuple[int, str]]] = []
        for wanted in observations:
            texts = [text for text in dict.fromkeys(wanted.contents) if (wanted.entity_name, text) not in seen]
            seen.update((wanted.entity_name, text) for text in texts)
            given.append([(made.observe(wanted.entity_name, text), text) for text in texts])

        def outcome(stored: Stored) -> list[AddedObservations]:
            return [
                AddedObservations(
                    entity_name=name, added_observations=[text for index, text in texts if index in stored.indexes]
                )
                for name, texts in zip(names, given, strict=True)
            ]

        return outcome

    return store_plan(Writer(namespace, provenance), names, plan, statements=len(observations))


def _require(made: Plan, names: Iterable[str]) -> None:
    missing = made.missing(names)
    if missing:
        said = "; ".join(f"Entity with name {name} not found" for name in missing[:MAX_MISSING])
        more = len(missing) - MAX_MISSING
        raise NotFoundError(f"{said}; and {more} more" if more > 0 else said)


def delete_entities(
    namespace: Namespace, names: Sequence[str], *, provenance: Provenance | None = None
) -> dict[str, int]:
    """Delete entities with their observations and relations; missing ones are passed over. Returns the counts.

    Raises:
        ConnectionError: the server cannot be reached.
    """

    def rows(found: Ids) -> dict[str, list[Any]]:
        return {"ids": [identifier for ids in found.values() for identifier in ids]}

    return Writer(namespace, provenance).delete(names, "entities/find-entities", rows, len(names))


def delete_observations(
    namespace: Namespace,
    deletions: Sequence[ObservationDeletion],
    *,
    provenance: Provenance | None = None,
) -> dict[str, int]:
    """Delete observations by their texts; missing ones are passed over. Returns the counts.

    Raises:
        ConnectionError: the server cannot be reached.
    """
    texts: dict[str, dict[str, None]] = {}
    for deletion in deletions:
        texts.setdefault(deletion.entity_name, {}).update(dict.fromkeys(deletion.observations))

    def rows(found: Ids) -> dict[str, list[Any]]:
        return {
            "rows": [
                {"entity": identifier, "texts": list(texts[name])}
                for name, ids in found.items()
                for identifier in ids
                if texts[name]
            ]
        }

    return Writer(namespace, provenance).delete(texts, "entities/find-observations", rows, len(deletions))


def delete_relations(
    namespace: Namespace, relations: Sequence[Relation], *, provenance: Provenance | None = None
) -> dict[str, int]:
    """Delete relations; missing ones are passed over. Returns the counts.

    Raises:
        ConnectionError: the server cannot be reached.
    """
    names = [name for relation in relations for name in (relation.source, relation.target)]

    def rows(found: Ids) -> dict[str, list[Any]]:
        return {
            "rows": [
                {"sources": found[each.source], "targets": found[each.target], "verb": each.relation_type}
                for each in relations
                if each.source in found and each.target in found
            ]
        }

    return Writer(namespace, provenance).delete(names, "entities/find-relations", rows, len(relations))
