"""Reads of entities and relations, whole or a page that fits a budget of tokens.

A page holds entities, and when all of them were given, relations, each in the order in which it came. What it leaves
out it says: how much, who, and the cursor that goes on from there. A cursor is a place in that order, so that what is
written between two pages moves nothing from one to the other.
"""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from memorygraph.context.tokens import count_tokens, cut_tokens
from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import READ_SECONDS, Connection, Transaction
from memorygraph.library import CYPHER
from memorygraph.memory.searching import found_ids
from memorygraph.memory.values import Entity, Relation

LEAST_TOKENS = 200
WHOLE_SECONDS = 600.0
MOST_ROWS = (1 << 31) - 1
FEWEST_TOKENS_OF_A_ROW = 24
LAST = 1 << 62  # the place of what has none
_AFTER_ALL_IDS = "\U0010ffff"

_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def as_json(value: Any) -> str:
    r"""A value as JSON that a person can read; nothing in it breaks a line, so no text can begin one.

    >>> print(as_json({"a": "1\n2"}))
    {
      "a": "1\n2"
    }
    """
    return json.dumps(value, indent=2, ensure_ascii=False).translate(_BREAKS)


@dataclass(frozen=True)
class Graph:
    """Entities and relations. `left_out` says what a page left out, and `cursor` goes on behind it."""

    entities: list[Entity]
    relations: list[Relation]
    left_out: dict[str, Any] = field(default_factory=dict)
    cursor: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The graph as JSON, in the words of the reference server."""
        whole: dict[str, Any] = {
            "entities": [entity.as_dict() for entity in self.entities],
            "relations": [relation.as_dict() for relation in self.relations],
        }
        if self.left_out:
            whole["leftOut"] = self.left_out
        if self.cursor:
            whole["cursor"] = self.cursor
        return whole


@dataclass(frozen=True)
class Place:
    """Where a page begins: at an entity, some of whose observations were given already, or at a relation."""

    relations: bool = False
    arrival: int = -1
    id: str = ""
    skip: int = 0

    def cursor(self) -> str:
        """The place as a text that means nothing to others."""
        values = [int(self.relations), self.arrival, self.id, self.skip]
        return urlsafe_b64encode(json.dumps(values, separators=(",", ":")).encode()).decode().rstrip("=")

    @classmethod
    def of(cls, cursor: str | None) -> Place:
        """Read a cursor.

        Raises:
            MemoryGraphError: it is none of ours.
        """
        if not cursor:
            return cls()
        try:
            relations, arrival, identifier, skip = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            numbers = all(type(value) is int and -1 <= value < 1 << 62 for value in (relations, arrival, skip))
        except (binascii.Error, ValueError, TypeError, RecursionError):
            numbers, identifier = False, None
        if not numbers or not isinstance(identifier, str):
            raise MemoryGraphError("this is no cursor; give the one that the page before ended with, or none")
        try:
            identifier.encode()
        except UnicodeEncodeError:
            raise MemoryGraphError("this is no cursor; give the one that the page before ended with") from None
        return cls(bool(relations), arrival, identifier, max(skip, 0))


class _Source(Protocol):
    """What is read page by page: rows of entities and of relations from a place on, and how many are left."""

    def entities(self, place: Place, limit: int) -> list[dict[str, Any]]: ...

    def relations(self, place: Place, limit: int) -> list[dict[str, Any]]: ...

    def left(self, place: Place) -> tuple[int, int]: ...


@dataclass(frozen=True)
class _Whole:
    """All of a namespace: what came one by one, and then what ContextScript declared."""

    transaction: Transaction
    namespace: str

    def entities(self, place: Place, limit: int) -> list[dict[str, Any]]:
        return self._page("entities", place, limit)

    def relations(self, place: Place, limit: int) -> list[dict[str, Any]]:
        return self._page("relations", place, limit)

    def _page(self, kind: str, place: Place, limit: int) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        if place.arrival < LAST:
            query = CYPHER[f"entities/{kind}"](namespace=self.namespace, arrival=place.arrival, limit=limit)
            rows = self.transaction.run(query)
        if len(rows) < limit:
            start = place.id if place.arrival >= LAST else ""
            query = CYPHER[f"entities/other-{kind}"](namespace=self.namespace, id=start, limit=limit - len(rows))
            rows += [{**row, "arrival": LAST} for row in self.transaction.run(query)]
        return rows

    def left(self, place: Place) -> tuple[int, int]:
        entity = Place(arrival=LAST, id=_AFTER_ALL_IDS) if place.relations else place
        relation = place if place.relations else Place()
        query = CYPHER["entities/left-out"](
            namespace=self.namespace,
            entity_arrival=entity.arrival,
            entity_id=entity.id if entity.arrival >= LAST else "",
            relation_arrival=relation.arrival,
            relation_id=relation.id if relation.arrival >= LAST else "",
        )
        [row] = self.transaction.run(query)
        return row["entities"], row["relations"]


@dataclass(frozen=True)
class _Some:
    """Some entities, in the order of their ids here, and the relations at them; a place is an index in that order."""

    transaction: Transaction
    namespace: str
    ids: Sequence[str]

    def entities(self, place: Place, limit: int) -> list[dict[str, Any]]:
        start = max(place.arrival, 0)
        ids = list(self.ids[start : start + limit])
        rows = self.transaction.run(CYPHER["entities/entities-of"](namespace=self.namespace, ids=ids)) if ids else []
        found = {row["id"]: row for row in rows}
        numbered = enumerate(ids, start=start)
        return [{**found[each], "id": "", "arrival": index} for index, each in numbered if each in found]

    def relations(self, place: Place, limit: int) -> list[dict[str, Any]]:
        if not self.ids:
            return []
        query = CYPHER["entities/relations-of"](
            namespace=self.namespace, ids=list(self.ids), arrival=place.arrival, id=place.id, limit=limit
        )
        return self.transaction.run(query)

    def left(self, place: Place) -> tuple[int, int]:
        entities = 0 if place.relations else len(self.ids) - max(place.arrival, 0)
        start = place if place.relations else Place()
        query = CYPHER["entities/count-relations-of"](
            namespace=self.namespace, ids=list(self.ids), arrival=start.arrival, id=start.id
        )
        [row] = self.transaction.run(query)
        return entities, row["relations"]


def read_graph(
    connection: Connection,
    namespace: str,
    *,
    max_tokens: int | None = None,
    cursor: str | None = None,
    names_only: bool = False,
) -> Graph:
    """All entities and relations, or a page of them; with `names_only` an overview without observations and relations.

    Raises:
        MemoryGraphError: the cursor is none.
        ConnectionError: the server cannot be reached.
    """
    return _read(connection, lambda tx: _Whole(tx, namespace), max_tokens, cursor, names_only)


def open_nodes(
    connection: Connection,
    namespace: str,
    names: Sequence[str],
    *,
    max_tokens: int | None = None,
    cursor: str | None = None,
    names_only: bool = False,
) -> Graph:
    """The entities of these names, and the relations at either end of which one of them is.

    Raises:
        MemoryGraphError: the cursor is none.
        ConnectionError: the server cannot be reached.
    """

    def some(transaction: Transaction) -> _Source:
        query = CYPHER["entities/ids-of-names"](namespace=namespace, names=list(dict.fromkeys(filter(None, names))))
        return _Some(transaction, namespace, [row["id"] for row in transaction.run(query)])

    return _read(connection, some, max_tokens, cursor, names_only)


def search_nodes(
    connection: Connection,
    namespace: str,
    query: str,
    *,
    max_tokens: int | None = None,
    cursor: str | None = None,
    names_only: bool = False,
) -> Graph:
    """The entities whose name, type or observations contain the text, whatever the case, and the relations at them.

    Where none does, they are those that any of its words leads to, best first. Any text is a valid search.

    Raises:
        MemoryGraphError: the cursor is none.
        ConnectionError: the server cannot be reached.
    """
    if not query:  # every text contains it
        return _read(connection, lambda tx: _Whole(tx, namespace), max_tokens, cursor, names_only)

    def some(transaction: Transaction) -> _Source:
        return _Some(transaction, namespace, found_ids(transaction, namespace, query))

    return _read(connection, some, max_tokens, cursor, names_only)


def _read(
    connection: Connection,
    source: Callable[[Transaction], _Source],
    max_tokens: int | None,
    cursor: str | None,
    names_only: bool,  # noqa: FBT001
) -> Graph:
    seconds = WHOLE_SECONDS if max_tokens is None else READ_SECONDS
    place = Place.of(cursor)
    if max_tokens is not None and max_tokens < LEAST_TOKENS:
        raise MemoryGraphError(f"max_tokens is at least {LEAST_TOKENS}")
    return connection.read_with(
        lambda transaction: _page(source(transaction), place, max_tokens, names_only), seconds=seconds
    )


def _page(source: _Source, place: Place, max_tokens: int | None, names_only: bool) -> Graph:  # noqa: FBT001
    limit = MOST_ROWS if max_tokens is None else max_tokens // FEWEST_TOKENS_OF_A_ROW + 2
    page = _Filling(None if max_tokens is None else max_tokens - LEAST_TOKENS // 2 - max_tokens // 8)
    following: Place | None = None
    rows: list[dict[str, Any]] = []
    if not place.relations:
        rows = source.entities(place, limit)
        following = page.add_entities(rows, place.skip, names_only)
    if following is None and not names_only:
        start = place if place.relations else Place(relations=True)
        following = page.add_relations(source.relations(start, limit))
    graph = Graph(page.entities, page.relations)
    if following is None:
        relations = source.left(Place(relations=True))[1] if names_only else 0
        hidden = {"observations": page.hidden, "relations": relations}
        return replace(graph, left_out={key: count for key, count in hidden.items() if count})
    names = (
        [row["name"] for row in rows[len(page.entities) - bool(following.skip) :]] if not following.relations else []
    )
    return _with_rest(graph, source.left(following), names, following, max_tokens or 0)


def _with_rest(graph: Graph, left: tuple[int, int], names: Sequence[str], following: Place, max_tokens: int) -> Graph:
    """The page with what it leaves out: how much, and as many of the next names as there is room for."""
    left_out: dict[str, Any] = {"entities": left[0], "relations": left[1]}
    room = max_tokens - count_tokens(as_json(graph.as_dict())) - LEAST_TOKENS // 2
    shown = _first_that_fit(names, room)
    if shown:
        left_out["names"] = shown
    return replace(graph, left_out=left_out, cursor=following.cursor())


def _first_that_fit(names: Sequence[str], tokens: int) -> list[str]:
    shown: list[str] = []
    for name in names:
        tokens -= _cost(name, 6)
        if tokens < 0:
            break
        shown.append(name)
    return shown


def _cost(value: Any, indent: int) -> int:
    """How many tokens a value is as a part of a page, with its comma and line break."""
    text = as_json(value).replace("\n", "\n" + " " * indent)
    return count_tokens(" " * indent + text) + 2


class _Filling:
    """A page while it is filled; a budget of None has no end."""

    def __init__(self, budget: int | None) -> None:
        self.entities: list[Entity] = []
        self.relations: list[Relation] = []
        self.hidden = 0
        self._left = budget

    def _takes(self, value: dict[str, Any]) -> bool:
        if self._left is None:
            return True
        cost = _cost(value, 4)
        if cost > self._left:
            return False
        self._left -= cost
        return True

    def add_entities(self, rows: list[dict[str, Any]], skip: int, names_only: bool) -> Place | None:  # noqa: FBT001
        """Add entities as long as they fit; returns where the next page begins, if something is left."""
        for entity, row in _entities(rows, skip):
            place = Place(arrival=row["arrival"], id=row["id"], skip=skip)
            if names_only:
                self.hidden += len(entity.observations)
                entity = entity.model_copy(update={"observations": []})  # noqa: PLW2901
            if self._takes(entity.as_dict()):
                self.entities.append(entity)
            elif self.entities:
                return place
            else:
                return self._add_some(entity, place)
            skip = 0
        return None

    def _add_some(self, entity: Entity, place: Place) -> Place:
        """Add a part of an entity that is alone too large for a page; at least one observation, or a part of it."""
        self._takes(entity.model_copy(update={"observations": []}).as_dict())
        shown: list[str] = []
        for text in entity.observations:
            cost = _cost(text, 8)
            if self._left is None or cost <= self._left:
                self._left = None if self._left is None else self._left - cost
                shown.append(text)
            else:
                break
        if not shown and entity.observations:
            text = entity.observations[0]
            kept = cut_tokens(text, max(self._left or 0, LEAST_TOKENS // 2) // 2)
            shown.append(f"{kept}… ({count_tokens(text[len(kept) :])} tokens left out)")
        self.entities.append(entity.model_copy(update={"observations": shown}))
        return replace(place, skip=place.skip + max(1, len(shown)))

    def add_relations(self, rows: list[dict[str, Any]]) -> Place | None:
        """Add relations as long as they fit; returns where the next page begins, if something is left."""
        for row in rows:
            relation = Relation.model_construct(**_named(row, "source", "target", "relation_type"))
            if not self._takes(relation.as_dict()):
                return Place(relations=True, arrival=row["arrival"], id=row["id"])
            self.relations.append(relation)
        return None


def _entities(rows: list[dict[str, Any]], skip: int) -> Iterator[tuple[Entity, dict[str, Any]]]:
    for row in rows:
        entity = Entity.model_construct(**_named(row, "name", "entity_type", "observations"))
        yield entity.model_copy(update={"observations": entity.observations[skip:]}) if skip else entity, row
        skip = 0


def _named(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}
