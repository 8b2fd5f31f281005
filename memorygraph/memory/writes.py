"""Writes of entities: each is one transaction under the write lock of its namespace, and its next revision.

A write begins by taking the lock and finding the entities of its names; it is planned on what was found, stored with
one more query, and leaves its record as any load does. Ids are made from what they name, so that nothing is stored
twice. What a small write will find can mostly be planned, too: its rows go to the server with the query that begins it,
and are stored at once if the server finds just that. If the acknowledgement of a commit is lost, the same write runs
again, finds its own record, and reads from the places of what is stored which of it was new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

from memorygraph.errors import ConflictError
from memorygraph.graph.connection import Abandon
from memorygraph.graph.elements import explaining_ambiguity
from memorygraph.graph.loads import Provenance, build_load_record
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.graph.search import fold_name, spellings_row
from memorygraph.graph.sizes import are_long, refuse_deletion, refuse_texts
from memorygraph.graph.writes import COUNTS, NOTHING, OpenWrite, run_counted, write_revision
from memorygraph.languages.contextscript import is_identifier
from memorygraph.query import Query

LANGUAGE = "memory"
MAX_OF_A_WRITE = 1 << 22  # places of one revision; with the revision they stay below 2**53 for a billion of them
ROWS_PER_QUERY = 10_000
MAX_CLASHES = 20

Ids = Mapping[str, Sequence[str]]
Found = Mapping[str, list[str]]
"""What a write deletes: the ids of `nodes`, of `edges`, and of nodes whose data is `emptied`."""
Result = TypeVar("Result")


def hashed_id(kind: str, *parts: str | int) -> str:
    """An id that is made from what it names."""
    # Half a character is in nothing that is stored; it can be asked for all the same, and is not found.
    text = json.dumps(parts, ensure_ascii=False).encode(errors="surrogatepass")
    digest = blake2b(text, digest_size=16)
    return f"{kind}-{digest.hexdigest()}"


def entity_ids(name: str) -> tuple[str, ...]:
    """The ids that an entity of this name may have, the best first: the name itself, if it can be an id."""
    hashed = hashed_id("entity", name)
    return (name, hashed) if is_identifier(name) and len(name) <= 200 else (hashed,)


def observation_ids(entity: str, text: str, number: int, salt: int = 0) -> dict[str, str]:
    """The ids of an observation and of the edge to it.

    A number tells equal texts of an entity apart, and a salt avoids ids that belong to something else.
    """
    parts: tuple[str | int, ...] = (entity, text, *filter(None, [number * 1000 + salt]))
    return {"id": hashed_id("observation", *parts), "edge": hashed_id("observed", *parts)}


class LikeNamed(NamedTuple):
    """An entity whose name differs from another in case only, and its type."""

    id: str
    name: str
    kind: str


@dataclass(frozen=True)
class EntityWrite:
    """A write that holds the lock: its revision, the entities of the names it asked for, and the ids that are taken."""

    revision: int = 0
    applied: Mapping[str, Any] | None = None  # its own record, if only the acknowledgement of its commit was lost
    ids: Ids = field(default_factory=dict)
    arrivals: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)  # the types of these entities, by their ids
    aliases: Mapping[str, str] = field(default_factory=dict)  # the entity's name, by the alias that was asked for
    alike: Mapping[str, LikeNamed] = field(default_factory=dict)  # by the names that nothing has
    taken: frozenset[str] = frozenset()
    written: Mapping[str, list[int]] | None = None  # what the planned write stored when this one began

    def place(self, index: int) -> int:
        """Where something stands in the order in which everything came."""
        revision = self.applied["revision"] if self.applied else self.revision
        return int(revision) * MAX_OF_A_WRITE + index


@dataclass
class MemoryRows:
    """What a write stores; the `index` of each is its place in the write."""

    entities: list[dict[str, Any]] = field(default_factory=list)
    observations: list[dict[str, Any]] = field(default_factory=list)
    relations: list[dict[str, Any]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.entities or self.observations or self.relations)

    @property
    def texts(self) -> list[str]:
        """The texts of the observations."""
        return [row["data"] for row in self.observations]


@dataclass(frozen=True)
class PlannedWrite:
    """What a write stores if each of its names is that of the entity with this id, or of none and is among the rows."""

    ids: Mapping[str, str]
    rows: MemoryRows


class Clash(Exception):  # noqa: N818 - control flow, not an error
    """Some ids belong to what has been changed since it was stored, by their indexes: others are to be tried."""

    def __init__(self, indexes: Iterable[int]) -> None:
        super().__init__()
        self.indexes = frozenset(indexes)


@dataclass(frozen=True)
class Writer:
    """Writes into one namespace; the record of each write will say who asked for it."""

    namespace: Namespace
    provenance: Provenance | None = None

    def run(
        self,
        names: Iterable[str],
        ids: Iterable[str],
        work: Callable[[NamespaceTransaction, EntityWrite, str], Result],
        planned: PlannedWrite | None = None,
        about: Mapping[str, Any] | None = None,
        spelled: Iterable[str] = (),
    ) -> Result:
        """Run one write: open it, and let `work` do the rest with the transaction, what was found, and its id.

        Of names that are `spelled` as no entity's is, those that have them in another case are found.
        """
        # Nothing is called "": a node without a name is called by its id.
        asked: dict[str, Any] = {"names": list(dict.fromkeys(filter(None, names))), "ids": list(dict.fromkeys(ids))}
        asked["spelled"] = [spellings_row(name, self.namespace.name) for name in dict.fromkeys(spelled)]
        begin = "entities/begin"
        # It is stored when the write begins, if the server finds what it expects; long texts are to be counted first.
        if planned and not are_long(planned.rows.texts):
            begin = "entities/begin-and-write"
            asked |= {**self.rows_of(planned.rows, self.record(NOTHING, about)), "expected": planned.ids}

        return write_revision(
            self.namespace, lambda write: work(write.transaction, _opened(write), write.load), begin, **asked
        )

    def store(
        self,
        transaction: NamespaceTransaction,
        opened: EntityWrite,
        load: str,
        rows: MemoryRows,
        about: Mapping[str, Any] | None = None,
    ) -> frozenset[int]:
        """Store the rows, unless they are, and close the write; returns which observations and relations are new."""
        if opened.written:
            return _new(opened.written)
        self.refuse_too_large(transaction, rows)
        stored: set[int] = set()
        counts = dict(NOTHING)
        parts = _parts(rows)
        for number, part in enumerate(parts, start=1):
            closing = self.record(counts, about) if number == len(parts) else None
            [row] = transaction.run("entities/write", load=load, **self.rows_of(part, closing))
            new = _new(row)
            stored |= new
            observed = new.intersection(observation["index"] for observation in part.observations)
            counts["nodes_created"] += len(part.entities) + len(observed)
            counts["edges_created"] += len(new)
        return frozenset(stored)

    def refuse_too_large(self, transaction: NamespaceTransaction, rows: MemoryRows) -> None:
        """Refuse observations that one transaction surely has no room for; what is stored already needs none."""
        if are_long(rows.texts):
            [row] = transaction.run("load/stored-elements", ids=[row["id"] for row in rows.observations])
            stored = set(row["nodes"])
            refuse_texts(self.namespace, [row["data"] for row in rows.observations if row["id"] not in stored])

    def rows_of(self, rows: MemoryRows, record: Mapping[str, Any] | None) -> dict[str, Any]:
        """The parameters of the query that stores rows, and, with its record, closes the write."""
        return {
            "namespace_token": self.namespace.token,
            "record": record,
            "most": MAX_OF_A_WRITE,
            "entities": rows.entities,
            "observations": rows.observations,
            "relations": rows.relations,
        }

    def stored_before(self, transaction: NamespaceTransaction, opened: EntityWrite, rows: MemoryRows) -> frozenset[int]:
        """The indexes of those observations and relations that the write stored when it ran before."""
        edges = [row["edge"] for row in rows.observations] + [row["id"] for row in rows.relations]
        [row] = transaction.run("entities/places", ids=edges)
        start = opened.place(0)
        return frozenset(place - start for place in row["places"] if 0 <= place - start < MAX_OF_A_WRITE)

    def delete(
        self, names: Iterable[str], find: Callable[[NamespaceTransaction, Ids], Found], statements: int
    ) -> dict[str, int]:
        """Delete what `find` finds for the entities of these names; returns the counts."""
        nodes: list[str] = []

        def work(transaction: NamespaceTransaction, opened: EntityWrite, load: str) -> dict[str, int]:
            if opened.applied:
                raise Abandon({name: opened.applied.get(name, 0) for name in COUNTS})
            found = find(transaction, opened.ids)
            nodes[:] = found.get("nodes", ())
            refuse_deletion(transaction, nodes, found.get("edges", ()))
            counts = run_counted(transaction, self._deletions(found))
            if not any(counts.values()):  # where nothing is found, there is no revision of it
                raise Abandon(counts)
            record = self.record(counts, {"statements": statements})
            transaction.run("load/record-load", load=load, record=record)
            return counts

        with explaining_ambiguity(self.namespace, nodes):
            return self.run(names, (), work)

    def _deletions(self, found: Found) -> Iterator[Query]:
        """The queries that delete what was found, as a script that deletes it would: so its history is kept."""
        if nodes := found.get("nodes"):
            yield self.namespace.query("contextscript/delete-nodes", ids=nodes)
        if edges := found.get("edges"):
            yield self.namespace.query("contextscript/delete-edges", ids=edges)
        if emptied := found.get("emptied"):
            rows = [{"id": identifier, "set": {"data": ""}} for identifier in emptied]
            yield self.namespace.query("contextscript/change-nodes", rows=rows)

    def record(self, counts: Mapping[str, int], about: Mapping[str, Any] | None) -> dict[str, Any]:
        """What the record of a write says: who asked for it, what it did, and what else is known `about` it."""
        return {**build_load_record(LANGUAGE, self.provenance), **counts, **(about or {})}


def with_other_ids(run: Callable[[Mapping[int, int]], Result]) -> Result:
    """Run a write, and run it again with other ids for what clashed, by its index in the write."""
    salts: dict[int, int] = {}
    for _ in range(MAX_CLASHES):
        try:
            return run(salts)
        except Clash as clash:
            for index in clash.indexes:
                salts[index] = salts.get(index, 0) + 1
    raise ConflictError("what is stored under the ids of these observations or relations has been changed too often")


def _opened(write: OpenWrite) -> EntityWrite:
    row = write.found
    ids: dict[str, list[str]] = {}
    # What clients created comes first: a node of the same name that a program declares later gets none of its writes.
    for found in sorted(row["found"], key=lambda found: (found["arrival"] is None, found["id"])):
        ids.setdefault(found["name"], []).append(found["id"])
    arrivals = {found["id"]: found["arrival"] or 0 for found in row["found"]}
    kinds = {found["id"]: found["kind"] for found in row["found"]}
    aliases = {found["name"]: found["entity"] for found in row["found"] if "entity" in found}
    alike = {
        found["name"]: LikeNamed(found["id"], found["entity"], found["kind"])
        for found in sorted(row["alike"], key=_place, reverse=True)
        if fold_name(found["spelt"]) == fold_name(found["name"])
    }
    written = row if row.get("stored") is not None else None
    taken = frozenset(row["taken"])
    return EntityWrite(write.revision, write.applied, ids, arrivals, kinds, aliases, alike, taken, written)


def _place(found: Mapping[str, Any]) -> tuple[bool, int, bool, int, str]:
    """The place of an entity among those that a name in another case could stand for; it stands for the first.

    An alias comes after the names, and the one that was merged last first.
    """
    merged = found["merged"] or 0
    return merged > 0, -merged, found["arrival"] is None, found["arrival"] or 0, found["id"]


def _new(written: Mapping[str, list[int]]) -> frozenset[int]:
    """The indexes of what a query has stored, if all could be."""
    if written["clashes"]:
        raise Clash(written["clashes"])
    return frozenset(written["stored"])


def _parts(rows: MemoryRows) -> list[MemoryRows]:
    """The rows in parts of a size that one query takes well; entities come before what hangs on them."""
    kinds = {"entities": rows.entities, "observations": rows.observations, "relations": rows.relations}
    if sum(map(len, kinds.values())) <= ROWS_PER_QUERY:
        return [rows]
    return [
        MemoryRows(**{kind: some[start : start + ROWS_PER_QUERY]})
        for kind, some in kinds.items()
        for start in range(0, len(some), ROWS_PER_QUERY)
    ]
