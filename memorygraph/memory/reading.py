"""Reads of entities and relations, whole or a page that fits a budget of tokens.

A page holds entities, and when all of them were given, relations, each in the order in which it came. What it leaves
out it says: how much, who, and the cursor that goes on from there. A cursor is a place in that order, so that what is
written between two pages moves nothing from one to the other.
"""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from memorygraph.context.tokens import count_tokens, cut_tokens
from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import READ_SECONDS, Read
from memorygraph.graph.namespace import Namespace
from memorygraph.memory.searching import searches
from memorygraph.memory.values import Entity, Relation

MIN_TOKENS = 200
WHOLE_SECONDS = 600.0
MAX_ROWS = (1 << 31) - 1
FEWEST_TOKENS_OF_A_ROW = 24
LAST = 1 << 62  # the place of what has none
_AFTER_ALL_IDS = "\U0010ffff"
_MAX_INDENT = 5  # the line break of a part of a page, and how much further in than its first a line of it can be

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
    """What a page is read from: rows of entities and of relations from its place on, and how many are left.

    A page that begins with entities has the relations from the first one on.
    """

    def entities(self) -> list[dict[str, Any]]: ...

    def relations(self, place: Place) -> list[dict[str, Any]]: ...

    def left(self, place: Place) -> tuple[int, int]: ...


@dataclass(frozen=True)
class _Whole:
    """All of a namespace: what came one by one, and then what ContextScript declared."""

    read: Read
    namespace: Namespace
    place: Place
    limit: int

    def entities(self) -> list[dict[str, Any]]:
        return self._page("entities", self.place)

    def relations(self, place: Place) -> list[dict[str, Any]]:
        return self._page("relations", place)

    def _page(self, kind: str, place: Place) -> list[dict[str, Any]]:
        limit = self.limit
        rows: list[dict[str, Any]] = []
        if place.arrival < LAST:
            query = self.namespace.query(f"entities/{kind}", arrival=place.arrival, limit=limit)
            rows = self.read(query)
        if len(rows) < limit:
            start = place.id if place.arrival >= LAST else ""
            query = self.namespace.query(f"entities/other-{kind}", id=start, limit=limit - len(rows))
            rows += [{**row, "arrival": LAST} for row in self.read(query)]
        return rows

    def left(self, place: Place) -> tuple[int, int]:
        entity = Place(arrival=LAST, id=_AFTER_ALL_IDS) if place.relations else place
        relation = place if place.relations else Place()
        query = self.namespace.query(
            "entities/left-out",
            entity_arrival=entity.arrival,
            entity_id=entity.id if entity.arrival >= LAST else "",
            relation_arrival=relation.arrival,
            relation_id=relation.id if relation.arrival >= LAST else "",
        )
        [row] = self.read(query)
        return row["entities"], row["relations"]


@dataclass(frozen=True)
class _Some:
    """Some entities, in the order of their ids here, and the relations at them; a place is an index in that order.

    The first page is read with the ids. Where there are more entities than a page holds, it has no relations.
    """

    read: Read
    namespace: Namespace
    limit: int
    ids: Sequence[str]
    first_entities: list[dict[str, Any]]
    first_relations: list[dict[str, Any]]

    @classmethod
    def opened(
        cls,
        read: Read,
        namespace: Namespace,
        place: Place,
        limit: int,
        *,
        names: Sequence[str] = (),
        search: Mapping[str, str] | None = None,
    ) -> _Some:
        """The entities of these names, or those that a search finds, with the page from a place on."""
        relation = place if place.relations else Place()
        query = namespace.query(
            "entities/open",
            **{"search": None, "text": None, "parts": None, "terms": None, **(search or {})},
            names=list(names),
            start=MAX_ROWS if place.relations else max(place.arrival, 0),
            arrival=relation.arrival,
            id=relation.id,
            limit=limit,
        )
        [row] = read(query)
        return cls(read, namespace, limit, row["ids"], row["entities"], row["relations"])

    def entities(self) -> list[dict[str, Any]]:
        return self.first_entities

    def relations(self, place: Place) -> list[dict[str, Any]]:
        if len(self.ids) <= self.limit:
            return self.first_relations
        query = self.namespace.query(
            "entities/relations-of", ids=list(self.ids), arrival=place.arrival, id=place.id, limit=self.limit
        )
        return self.read(query)

    def left(self, place: Place) -> tuple[int, int]:
        entities = 0 if place.relations else len(self.ids) - max(place.arrival, 0)
        start = place if place.relations else Place()
        query = self.namespace.query(
            "entities/count-relations-of", ids=list(self.ids), arrival=start.arrival, id=start.id
        )
        [row] = self.read(query)
        return entities, row["relations"]


def read_graph(
    namespace: Namespace,
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
    return _read(namespace, partial(_whole, namespace), max_tokens, cursor, names_only)


def open_nodes(
    namespace: Namespace,
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
    asked = list(dict.fromkeys(filter(None, names)))

    def some(read: Read, place: Place, limit: int) -> _Source:
        return _Some.opened(read, namespace, place, limit, names=asked)

    return _read(namespace, some, max_tokens, cursor, names_only)


def search_nodes(
    namespace: Namespace,
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
        return _read(namespace, partial(_whole, namespace), max_tokens, cursor, names_only)

    def some(read: Read, place: Place, limit: int) -> _Source:
        found = (_Some.opened(read, namespace, place, limit, search=each) for each in searches(namespace, query))
        return next((some for some in found if some.ids), _Some(read, namespace, limit, [], [], []))

    return _read(namespace, some, max_tokens, cursor, names_only)


def _whole(namespace: Namespace, read: Read, place: Place, limit: int) -> _Source:
    return _Whole(read, namespace, place, limit)


def _read(
    namespace: Namespace,
    open_source: Callable[[Read, Place, int], _Source],
    max_tokens: int | None,
    cursor: str | None,
    names_only: bool,  # noqa: FBT001
) -> Graph:
    seconds = WHOLE_SECONDS if max_tokens is None else READ_SECONDS
    place = Place.of(cursor)
    if max_tokens is not None and max_tokens < MIN_TOKENS:
        raise MemoryGraphError(f"max_tokens is at least {MIN_TOKENS}")
    limit = MAX_ROWS if max_tokens is None else max_tokens // FEWEST_TOKENS_OF_A_ROW + 2
    source = open_source(partial(namespace.read, seconds=seconds), place, limit)
    return _page(source, place, max_tokens, names_only)


def _page(source: _Source, place: Place, max_tokens: int | None, names_only: bool) -> Graph:  # noqa: FBT001
    page = _Filling(None if max_tokens is None else max_tokens - MIN_TOKENS // 2 - max_tokens // 8)
    following: Place | None = None
    rows: list[dict[str, Any]] = []
    if not place.relations:
        rows = source.entities()
        following = page.add_entities(rows, place.skip, names_only)
    if following is None and not names_only:
        start = place if place.relations else Place(relations=True)
        following = page.add_relations(source.relations(start))
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
    room = max_tokens - count_tokens(as_json(graph.as_dict())) - MIN_TOKENS // 2
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


def _part(value: Any, indent: int) -> str:
    """A value as a part of a page, as its text stands there."""
    return " " * indent + as_json(value).replace("\n", "\n" + " " * indent)


def _cost(value: Any, indent: int) -> int:
    """How many tokens a value is as a part of a page, with its comma and line break."""
    return count_tokens(_part(value, indent)) + 2


def _most_bytes(value: Any, indent: int) -> int:
    """No less than the bytes of a value as a part of a page, with its comma and line break.

    In JSON on one line each character is a byte, and what is none takes no more bytes in a page. A line there begins
    behind one of these signs.
    """
    line = json.dumps(value)
    return len(line) + (1 + sum(map(line.count, "[{,}]"))) * (indent + _MAX_INDENT) + 2


class _Budget:
    """What is left of a budget of tokens while parts of a page are taken from it; None has no end.

    Counting tokens takes longer than all else that is done with a part. No token is less than a byte, so that as long
    as the bytes of all parts fit, their tokens do: only when they do not, the parts are counted.
    """

    def __init__(self, tokens: int | None) -> None:
        self._tokens = tokens
        self._bytes = tokens or 0
        self._uncounted: list[tuple[Any, int]] | None = []

    def takes(self, value: Any, indent: int) -> bool:
        """Take a value from the budget, if it fits."""
        if self._tokens is None:
            return True
        if self._uncounted is not None:
            self._bytes -= _most_bytes(value, indent)
            if self._bytes >= 0:
                self._uncounted.append((value, indent))
                return True
        cost = _cost(value, indent)
        if cost > self.left:
            return False
        self._tokens = self.left - cost
        return True

    @property
    def left(self) -> int:
        """How many tokens are left, exactly."""
        left = (self._tokens or 0) - sum(_cost(value, indent) for value, indent in self._uncounted or ())
        self._tokens, self._uncounted = left, None
        return left


class _Filling:
    """A page while it is filled; a budget of None has no end."""

    def __init__(self, budget: int | None) -> None:
        self.entities: list[Entity] = []
        self.relations: list[Relation] = []
        self.hidden = 0
        self._budget = _Budget(budget)

    def add_entities(self, rows: list[dict[str, Any]], skip: int, names_only: bool) -> Place | None:  # noqa: FBT001
        """Add entities as long as they fit; returns where the next page begins, if something is left."""
        for entity, row in _entities(rows, skip):
            place = Place(arrival=row["arrival"], id=row["id"], skip=skip)
            if names_only:
                self.hidden += len(entity.observations)
                entity = entity.model_copy(update={"observations": []})  # noqa: PLW2901
            if self._budget.takes(entity.as_dict(), 4):
                self.entities.append(entity)
            elif self.entities:
                return place
            else:
                return self._add_some(entity, place)
            skip = 0
        return None

    def _add_some(self, entity: Entity, place: Place) -> Place:
        """Add a part of an entity that is alone too large for a page; at least one observation, or a part of it."""
        self._budget.takes(entity.model_copy(update={"observations": []}).as_dict(), 4)
        shown: list[str] = []
        for text in entity.observations:
            if not self._budget.takes(text, 8):
                break
            shown.append(text)
        if not shown and entity.observations:
            text = entity.observations[0]
            kept = cut_tokens(text, max(self._budget.left, MIN_TOKENS // 2) // 2)
            shown.append(f"{kept}… ({count_tokens(text[len(kept) :])} tokens left out)")
        self.entities.append(entity.model_copy(update={"observations": shown}))
        return replace(place, skip=place.skip + max(1, len(shown)))

    def add_relations(self, rows: list[dict[str, Any]]) -> Place | None:
        """Add relations as long as they fit; returns where the next page begins, if something is left."""
        for row in rows:
            relation = Relation.model_construct(**_named(row, "source", "target", "relation_type"))
            if not self._budget.takes(relation.as_dict(), 4):
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
