"""The operations of a memory server: entities with observations and relations, by their names.

Each write is one transaction and the next revision of its namespace, or no revision if it changes nothing. Whatever is
acknowledged is stored, and nothing stored is overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any, NamedTuple, TypeAlias, TypeVar

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.connection import Abandon
from memorygraph.graph.loads import Provenance
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.graph.search import coarse_key, fold_name, spellings_row
from memorygraph.limits import require_one
from memorygraph.memory.pages import EntityGraph, PageRequest
from memorygraph.memory.values import (
    AddedObservations,
    AnyRelation,
    Entity,
    EntityOutcome,
    ObservationDeletion,
    Observations,
    Relation,
    RelationOutcome,
    read_names,
    validate_values,
)
from memorygraph.memory.writes import (
    MAX_OF_A_WRITE,
    EntityWrite,
    Found,
    Ids,
    LikeNamed,
    MemoryRows,
    PlannedWrite,
    Writer,
    entity_ids,
    hashed_id,
    observation_ids,
    with_other_ids,
)
from memorygraph.word_parts import parts_of_properties

MAX_MISSING = 20  # names in one error
MAX_PLANNED_ROWS = 100  # rows; for more, the round trip is a small part, and they may have to be sent twice

Result = TypeVar("Result")


class CreatedEntities(NamedTuple):
    """The new entities, and the outcome for each entity of the request."""

    entities: list[Entity]
    outcomes: list[EntityOutcome]


class CreatedRelations(NamedTuple):
    """The new relations, and the outcome for each relation of the request."""

    relations: list[Relation]
    outcomes: list[RelationOutcome]


class StoredWrite(NamedTuple):
    """The indexes of the new observations and relations of a write, its revision and its id."""

    indexes: frozenset[int] = frozenset()
    revision: int = 0
    load: str = ""


class EntityPlan:
    """The rows of a write, planned on the entities that it has found. An index is a place in the request."""

    def __init__(self, opened: EntityWrite, salts: Mapping[int, int], max_things: int = MAX_OF_A_WRITE) -> None:
        self.rows = MemoryRows()
        self.ids: dict[str, str] = {name: ids[0] for name, ids in opened.ids.items()}
        self._opened = opened
        self._salts = salts
        self._max_things = max_things
        self._used = set(opened.taken)
        self._indexes = count()
        self._observed: set[tuple[str, str, int]] = set()
        self._related: set[tuple[str, str, str]] = set()
        self._like: dict[str, LikeNamed] = {}  # the entities that this plan has named, by `fold_name`
        self._kinds: dict[str, str] = dict(opened.kinds)
        self.meant: dict[str, str] = {}  # the entity that an added name stands for in another case, by that name
        self.aliases = opened.aliases

    def next_index(self) -> int:
        """The index of the next entity, observation or relation."""
        index = next(self._indexes)
        if index >= self._max_things:
            raise MemoryGraphError(f"at most {self._max_things} things can be stored at once")
        return index

    def add_entity(self, name: str, kind: str, *, distinguish_case: bool = True) -> bool:
        """Plan an entity unless it exists, or else one whose name differs in case only; returns whether it is new."""
        index = self.next_index()
        new = False
        if name in self.ids:
            new = self._opened.arrivals.get(self.ids[name]) == self._opened.place(index)
        elif not distinguish_case and (like := self._opened.alike.get(name) or self._like.get(fold_name(name))):
            self.ids[name] = like.id
            self._kinds[like.id] = like.kind
            self.meant[name] = like.name
        else:
            self._create(name, kind, index)
            new = True
        found, called = self.ids[name], self.aliases.get(name, name)
        self._like.setdefault(fold_name(name), LikeNamed(found, called, self._kinds.get(found, kind)))
        return new

    def _create(self, name: str, kind: str, index: int) -> None:
        identifier = next((each for each in entity_ids(name) if each not in self._used), None)
        if identifier is None:
            raise MemoryGraphError(f"the ids that an entity with name {name} can have belong to others")
        self.ids[name] = identifier
        self._used.add(identifier)
        self._kinds[identifier] = kind
        parts = parts_of_properties({"name": name})
        self.rows.entities.append({"id": identifier, "name": name, "kind": kind, "index": index, **parts})

    def other_kind(self, name: str, kind: str) -> str | None:
        """The type of an entity, if it is another one than this."""
        found = self._kinds.get(self.ids[name], kind)
        return None if found == kind else found

    def observe(self, name: str, text: str, number: int = 0) -> int:
        """Plan an observation of an entity, unless the plan has it already; returns its index.

        `number` tells those of the same text apart. An entity can have several names in one request.
        """
        index = self.next_index()
        observed = (self.ids[name], text, number)
        if observed not in self._observed:
            self._observed.add(observed)
            ids = observation_ids(self.ids[name], text, number, self._salts.get(index, 0))
            said = {"data": text, **parts_of_properties({"data": text})}
            row = {**ids, "entity": self.ids[name], "number": number, "index": index, **said}
            self.rows.observations.append(row)
        return index

    def relate(self, relation: Relation) -> int:
        """Plan a relation, unless the plan has it already; returns its index."""
        index = self.next_index()
        ends = (self.ids[relation.source], relation.relation_type, self.ids[relation.target])
        if ends not in self._related:
            self._related.add(ends)
            identifier = hashed_id("relation", *ends, *filter(None, [self._salts.get(index)]))
            row = {"id": identifier, "source": ends[0], "target": ends[2], "verb": ends[1], "index": index}
            self.rows.relations.append(row)
        return index

    def missing(self, names: Iterable[str]) -> list[str]:
        """The names that no entity has, stored or in this plan."""
        return [name for name in dict.fromkeys(names) if name not in self.ids]

    def require(self, names: Iterable[str]) -> None:
        """Refuse names that no entity has; the `NotFoundError` says which."""
        if missing := self.missing(names):
            told = "; ".join(
                f"Entity with name {name} not found{self._suggest(name)}" for name in missing[:MAX_MISSING]
            )
            more = len(missing) - MAX_MISSING
            raise NotFoundError(f"{told}; and {more} more" if more > 0 else told)

    def _suggest(self, name: str) -> str:
        like = self._opened.alike.get(name)
        return f", did you mean {like.name}?" if like else ""


# Plans a write, and returns the function that reports what was stored.
PlanBuilder: TypeAlias = Callable[[EntityPlan], Callable[[StoredWrite], Result]]


def store_plan(
    writer: Writer,
    names: Iterable[str],
    build: PlanBuilder[Result],
    *,
    statements: int,
    file: str | None = None,
    spelled: Iterable[str] = (),
) -> Result:
    """Store what `build` plans, in one write, and return the report that it makes of the stored write.

    Of names that are `spelled` as no entity's is, the plan is told which entities have them in another case.
    """
    ids = {name: entity_ids(name) for name in names}
    about = {"statements": statements, "file": file}
    spelled = list(dict.fromkeys(spelled))
    # Many are found by one walk over all names, and not each by itself.
    many = spelled if len(spelled) > MAX_PLANNED_ROWS else []

    def run(salts: Mapping[int, int]) -> Result:
        def work(transaction: NamespaceTransaction, opened: EntityWrite, load: str) -> Result:
            if many:
                opened = replace(
                    opened, alike=find_alike(transaction, [name for name in many if name not in opened.ids])
                )
            plan = EntityPlan(opened, salts)
            report = build(plan)
            if opened.applied:
                before = writer.stored_before(transaction, opened, plan.rows)
                raise Abandon(report(StoredWrite(before, opened.applied["revision"], load)))
            new = writer.store(transaction, opened, load, plan.rows, about) if plan.rows else frozenset[int]()
            if not new and not plan.rows.entities:
                raise Abandon(report(StoredWrite()))
            return report(StoredWrite(new, opened.revision, load))

        planned = plan_unseen(ids, salts, build)
        return writer.run(ids, chain(*ids.values()), work, planned, about, [] if many else spelled)

    return with_other_ids(run)


def find_alike(transaction: NamespaceTransaction, names: Sequence[str]) -> dict[str, LikeNamed]:
    """Find the entities that have these names in another case; every name of the namespace is looked at, once."""
    rows = transaction.run("load/nodes-named", folded=sorted(set(map(coarse_key, names)))) if names else ()
    found: dict[str, LikeNamed] = {}
    for row in rows:
        found.setdefault(fold_name(row["called"]), LikeNamed(row["id"], row["entity"], row["kind"]))
    return {name: found[fold_name(name)] for name in names if fold_name(name) in found}


def plan_unseen(ids: Ids, salts: Mapping[int, int], build: PlanBuilder[Any]) -> PlannedWrite | None:
    """Plan a small write before anything was read, if that is possible."""
    # It is if all entities are missing and the write creates them, or if all exist, each with the first of its ids.
    for found in ({}, ids):
        plan = EntityPlan(EntityWrite(ids=found), salts, MAX_PLANNED_ROWS)
        with suppress(MemoryGraphError):
            build(plan)
            return PlannedWrite(plan.ids, plan.rows) if plan.rows else None
    return None


@dataclass(frozen=True)
class Entities:
    """The entities of a namespace, with their observations and relations, by their names.

    The records of its writes are attributed to `provenance`. A `ConnectionError` says that the server cannot be
    reached, and a `MemoryGraphError` that a cursor is invalid, or a value or a list of names.

    What is given is an `Entity`, `Relation`, `Observations` or `ObservationDeletion` of `memorygraph.memory.values`,
    made with the names of its attributes, or a mapping as the tools of the memory server take it.

    >>> from memorygraph import MemoryGraph
    >>> with MemoryGraph.connect() as mg:  # doctest: +SKIP
    ...     mg.entities.create([Entity(name="Ada", entity_type="person", observations=["likes tea"])])
    ...     mg.entities.open(["Ada"]).entities[0].observations
    ['likes tea']
    """

    namespace: Namespace
    provenance: Provenance | None = None

    def attributed_to(self, provenance: Provenance | None) -> Entities:
        """The same entities, with writes whose records name another author."""
        return replace(self, provenance=provenance)

    def create(
        self, entities: Sequence[Entity | Mapping[str, Any]], *, distinguish_case: bool = False
    ) -> CreatedEntities:
        """Create entities; the observations of one that exists are added to it.

        A name that no entity has stands for the one that has it in another case, stored or earlier in the request,
        unless `distinguish_case` is true: no second one is created, and its outcome says which entity was meant.
        """
        types: dict[str, str] = {}
        texts: dict[str, dict[str, None]] = {}
        for entity in validate_values(Entity, entities):
            types.setdefault(entity.name, entity.entity_type)
            texts.setdefault(entity.name, {}).update(dict.fromkeys(entity.observations))

        def build(plan: EntityPlan) -> Callable[[StoredWrite], CreatedEntities]:
            new = {name: plan.add_entity(name, kind, distinguish_case=distinguish_case) for name, kind in types.items()}
            given = {name: [(plan.observe(name, text), text) for text in texts[name]] for name in types}

            def report(stored: StoredWrite) -> CreatedEntities:
                outcomes = []
                said: dict[str, list[str]] = {}
                for name, kind in types.items():
                    added = [text for index, text in given[name] if index in stored.indexes]
                    said.setdefault(plan.ids[name], []).extend(added)
                    word = "created" if new[name] else "merged" if added else "unchanged"
                    other = {"alias_of": plan.aliases.get(name), "did_you_mean": plan.meant.get(name)}
                    kept = {"entity_type": None if new[name] else plan.other_kind(name, kind)}
                    outcomes.append(EntityOutcome(name=name, outcome=word, added_observations=added, **other, **kept))
                created = [
                    Entity(name=name, entity_type=kind, observations=said[plan.ids[name]])
                    for name, kind in types.items()
                    if new[name]
                ]
                return CreatedEntities(created, outcomes)

            return report

        spelled = () if distinguish_case else [*types]
        return store_plan(self._writer, types, build, statements=len(entities), spelled=spelled)

    def relate(self, relations: Sequence[Relation | Mapping[str, Any]]) -> CreatedRelations:
        """Create relations between entities that exist; a `NotFoundError` names missing ends, and nothing is stored."""
        wanted = validate_values(Relation, relations)
        names = [name for relation in wanted for name in (relation.source, relation.target)]

        def build(plan: EntityPlan) -> Callable[[StoredWrite], CreatedRelations]:
            plan.require(names)
            indexes = [plan.relate(relation) for relation in wanted]

            def report(stored: StoredWrite) -> CreatedRelations:
                created, outcomes = [], []
                for relation, index in zip(wanted, indexes, strict=True):
                    new = index in stored.indexes
                    if new:
                        created.append(relation)
                    word = "created" if new else "exists"
                    aliases = {
                        name: plan.aliases[name] for name in (relation.source, relation.target) if name in plan.aliases
                    }
                    told = {**relation.as_dict(), "outcome": word, "aliases": aliases or None}
                    outcomes.append(RelationOutcome.model_validate(told))
                return CreatedRelations(created, outcomes)

            return report

        return store_plan(self._writer, names, build, statements=len(relations), spelled=names)

    def observe(self, observations: Sequence[Observations | Mapping[str, Any]]) -> list[AddedObservations]:
        """Add observations to entities that exist; returns the new ones, in the order of the request.

        A `NotFoundError` names missing entities, and nothing is stored.
        """
        wanted = validate_values(Observations, observations)
        names = [each.entity_name for each in wanted]

        def build(plan: EntityPlan) -> Callable[[StoredWrite], list[AddedObservations]]:
            plan.require(names)
            given = [[(plan.observe(each.entity_name, text), text) for text in each.contents] for each in wanted]

            def report(stored: StoredWrite) -> list[AddedObservations]:
                new = ([text for index, text in texts if index in stored.indexes] for texts in given)
                pairs = zip(names, new, strict=True)
                return [
                    AddedObservations(entity_name=name, added_observations=texts, alias_of=plan.aliases.get(name))
                    for name, texts in pairs
                ]

            return report

        return store_plan(self._writer, names, build, statements=len(observations), spelled=names)

    def delete(self, names: Sequence[str]) -> dict[str, int]:
        """Delete entities with their observations and relations; missing ones are ignored. Returns the counts."""

        def find(_transaction: NamespaceTransaction, found: Ids) -> Found:
            return {"nodes": [identifier for ids in found.values() for identifier in ids]}

        wanted = read_names(names)
        return self._writer.delete(wanted, find, len(wanted))

    def delete_observations(self, deletions: Sequence[ObservationDeletion | Mapping[str, Any]]) -> dict[str, int]:
        """Delete observations by their texts; missing ones are ignored.

        Returns the counts, and as `found` how many of the observations were there.
        """
        texts: dict[str, dict[str, None]] = {}
        for deletion in validate_values(ObservationDeletion, deletions):
            texts.setdefault(deletion.entity_name, {}).update(dict.fromkeys(deletion.observations))
        there: set[tuple[str, str]] = set()

        def find(transaction: NamespaceTransaction, found: Ids) -> Found:
            wanted = {name: list(texts[name]) for name in found if texts[name]}
            rows = [{"entity": id_, "texts": each} for name, each in wanted.items() for id_ in found[name]]
            [observations] = transaction.run("entities/find-observations", rows=rows)
            first_ids = {id_: found[name][0] for name in wanted for id_ in found[name]}
            there.clear()
            there.update((first_ids[entity], text) for entity, text in observations["found"])
            return observations

        return {**self._writer.delete(texts, find, len(deletions)), "found": len(there)}

    def delete_relations(self, relations: Sequence[AnyRelation | Mapping[str, Any]]) -> dict[str, int]:
        """Delete relations; missing ones are ignored.

        Returns the counts, and as `found` how many of the relations were there.
        """
        wanted = validate_values(AnyRelation, relations)
        names = [name for relation in wanted for name in (relation.source, relation.target)]
        there: set[tuple[str, str, str]] = set()

        def find(transaction: NamespaceTransaction, found: Ids) -> Found:
            rows = [
                {
                    "index": index,
                    "sources": found[each.source],
                    "targets": found[each.target],
                    "verb": each.relation_type,
                }
                for index, each in enumerate(wanted)
                if each.source in found and each.target in found
            ]
            [edges] = transaction.run("entities/find-relations", rows=rows)
            of_these = [wanted[index] for index in edges["found"]]
            there.clear()
            there.update((found[each.source][0], each.relation_type, found[each.target][0]) for each in of_these)
            return edges

        return {**self._writer.delete(names, find, len(relations)), "found": len(there)}

    def aliases(self, names: Iterable[str]) -> dict[str, str]:
        """Those of these names that are aliases, each with the name of the entity that it stands for."""
        wanted = list(dict.fromkeys(filter(None, read_names(names))))
        rows = self.namespace.read("merges/entities-of-aliases", names=wanted)
        return {row["alias"]: row["entity"] for row in rows}

    def names(self, beginning: str = "", limit: int = 100) -> list[str]:
        """The names of entities that begin with a text, in their order, and at most so many."""
        require_one(limit, "name")
        return [row["name"] for row in self.namespace.read("entities/names-beginning", text=beginning, limit=limit)]

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of these names that no entity has, as a name or an alias."""
        return [row["name"] for row in self.namespace.read("entities/missing-names", names=read_names(names))]

    def alike(self, names: Iterable[str]) -> dict[str, str]:
        """Those of these names that no entity has, the first ones, each with the entity that has it in another case."""
        rows = [spellings_row(name, self.namespace.name) for name in self.missing(names)[:MAX_MISSING]]
        found: dict[str, str] = {}
        for row in self.namespace.read("merges/nodes-called", rows=rows) if rows else ():
            if fold_name(called := str(row["name"])) == fold_name(row["wanted"]):
                found.setdefault(row["wanted"], called)
        return found

    def read_graph(
        self, *, max_tokens: int | None = None, cursor: str | None = None, names_only: bool = False
    ) -> EntityGraph:
        """All entities and relations, or a page of them; with `names_only` just the names and types of entities."""
        return PageRequest(self.namespace, max_tokens, cursor, names_only=names_only).read_graph()

    def open(
        self,
        names: Sequence[str],
        *,
        max_tokens: int | None = None,
        cursor: str | None = None,
        names_only: bool = False,
    ) -> EntityGraph:
        """The entities of these names or aliases, and the relations that begin or end at one of them."""
        wanted = read_names(names)
        page = PageRequest(self.namespace, max_tokens, cursor, names_only=names_only).open_names(wanted)
        named = {entity.name for entity in page.entities}
        others = [name for name in wanted if name not in named]
        return replace(page, aliases=self.aliases(others)) if others else page

    def search(
        self, text: str, *, max_tokens: int | None = None, cursor: str | None = None, names_only: bool = False
    ) -> EntityGraph:
        """The entities whose name, type or observations contain the text in any case, and the relations at them.

        One without a name is found by its id. If there are none, they are those that any of its words finds, best
        first. Any text is a valid search.
        """
        return PageRequest(self.namespace, max_tokens, cursor, names_only=names_only).search(text)

    @property
    def _writer(self) -> Writer:
        return Writer(self.namespace, self.provenance)
