"""Pages of entities and relations that fit a budget of tokens.

A page holds entities, and after the last of them relations, each in the order of arrival. It reports what it leaves
out: how many, the next names, and the cursor of the next page. A cursor is a place in the order of arrival, so that a
write between two pages moves nothing from one to the other.
"""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from memorygraph.context.tokens import count_tokens, cut_tokens
from memorygraph.errors import MemoryGraphError
from memorygraph.memory.values import Entity, Relation

MIN_TOKENS = 200
MIN_ROW_TOKENS = 24
NO_ARRIVAL = 1 << 62  # the place of rows that ContextScript declared: after all that have arrived
_MAX_INDENT = 5  # a line of a part begins with a line break, and at most four blanks more than its first line

_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def as_json(value: Any) -> str:
    r"""A value as readable JSON; no text in it breaks a line, so that none can pretend to be another part.

    >>> print(as_json({"a": "1\n2"}))
    {
      "a": "1\n2"
    }
    """
    return json.dumps(value, indent=2, ensure_ascii=False).translate(_BREAKS)


@dataclass(frozen=True)
class EntityGraph:
    """Entities and relations. `left_out` counts what a page left out, and `cursor` is for the next page."""

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
class PageStart:
    """The first row of a page: an entity, `skip` of whose observations the page before gave, or a relation."""

    relations: bool = False
    arrival: int = -1
    id: str = ""
    skip: int = 0

    def cursor(self) -> str:
        """The place as an opaque text."""
        values = [int(self.relations), self.arrival, self.id, self.skip]
        return urlsafe_b64encode(json.dumps(values, separators=(",", ":")).encode()).decode().rstrip("=")

    @classmethod
    def of(cls, cursor: str | None) -> PageStart:
        """Read a cursor.

        Raises:
            MemoryGraphError: the cursor is invalid.
        """
        if not cursor:
            return cls()
        try:
            relations, arrival, identifier, skip = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            valid = all(type(value) is int and -1 <= value < 1 << 62 for value in (relations, arrival, skip))
            identifier.encode()
        except (binascii.Error, ValueError, TypeError, AttributeError, RecursionError):
            valid = False
        if not valid or not isinstance(identifier, str):
            raise MemoryGraphError("invalid cursor: give the one that the page before ended with, or leave it out")
        return cls(bool(relations), arrival, identifier, max(skip, 0))


class PageSource(Protocol):
    """The rows of entities and of relations from a place on, and the number of those that follow a place.

    A page that begins with entities has the relations from the first one on.
    """

    def entities(self) -> list[dict[str, Any]]:
        """The rows of entities from the start of the page on."""

    def relations(self, place: PageStart) -> list[dict[str, Any]]:
        """The rows of relations from a place on."""

    def left(self, place: PageStart) -> tuple[int, int]:
        """The number of entities and of relations from a place on."""


def fill_page(source: PageSource, start: PageStart, max_tokens: int | None, *, names_only: bool) -> EntityGraph:
    """Fill a page from its start on; without `max_tokens` it holds everything."""
    # The reserve is for the cursor, the counts and the names of what is left out.
    page = PageFilling(None if max_tokens is None else max_tokens - MIN_TOKENS // 2 - max_tokens // 8)
    following: PageStart | None = None
    rows: list[dict[str, Any]] = []
    if not start.relations:
        rows = source.entities()
        following = page.add_entities(rows, start.skip, names_only=names_only)
    if following is None and not names_only:
        following = page.add_relations(source.relations(start if start.relations else PageStart(relations=True)))
    graph = EntityGraph(page.entities, page.relations)
    if following is None:
        # An overview is complete without observations and relations, but says how many there are.
        relations = source.left(PageStart(relations=True))[1] if names_only else 0
        hidden = {"observations": page.hidden, "relations": relations}
        return replace(graph, left_out={key: count for key, count in hidden.items() if count})
    entities_left, relations_left = source.left(following)
    left_out: dict[str, Any] = {"entities": entities_left, "relations": relations_left}
    names: list[str] = []
    room = (max_tokens or 0) - count_tokens(as_json(graph.as_dict())) - MIN_TOKENS // 2
    # A part of an entity counts as one that is left out.
    for row in [] if following.relations else rows[len(page.entities) - bool(following.skip) :]:
        room -= count_part(row["name"], 6)
        if room < 0:
            break
        names.append(row["name"])
    if names:
        left_out["names"] = names
    return replace(graph, left_out=left_out, cursor=following.cursor())


class PageFilling:
    """A page while it is filled, within a budget of tokens; None is unlimited."""

    def __init__(self, budget: int | None) -> None:
        self.entities: list[Entity] = []
        self.relations: list[Relation] = []
        self.hidden = 0
        self._budget = PageBudget(budget)

    def add_entities(self, rows: list[dict[str, Any]], skip: int, *, names_only: bool) -> PageStart | None:
        """Add entities as long as they fit; returns the start of the next page, if one is left."""
        for entity, row in read_entities(rows, skip):
            place = PageStart(arrival=row["arrival"], id=row["id"], skip=skip)
            if names_only:
                self.hidden += len(entity.observations)
                entity = entity.model_copy(update={"observations": []})  # noqa: PLW2901
            if self._budget.take(entity.as_dict(), 4):
                self.entities.append(entity)
            elif self.entities:
                return place
            else:
                return self.add_part(entity, place)
            skip = 0
        return None

    def add_part(self, entity: Entity, place: PageStart) -> PageStart:
        """Add a part of an entity that is too large for a page: at least one observation, or a part of it."""
        self._budget.take(entity.model_copy(update={"observations": []}).as_dict(), 4)
        shown: list[str] = []
        for text in entity.observations:
            if not self._budget.take(text, 8):
                break
            shown.append(text)
        if not shown and entity.observations:
            text = entity.observations[0]
            kept = cut_tokens(text, max(self._budget.left, MIN_TOKENS // 2) // 2)
            shown.append(f"{kept}… ({count_tokens(text[len(kept) :])} tokens left out)")
        self.entities.append(entity.model_copy(update={"observations": shown}))
        return replace(place, skip=place.skip + max(1, len(shown)))

    def add_relations(self, rows: list[dict[str, Any]]) -> PageStart | None:
        """Add relations as long as they fit; returns the start of the next page, if one is left."""
        for row in rows:
            ends = {name: row[name] for name in ("source", "target", "relation_type")}
            relation = Relation.model_construct(**ends)
            if not self._budget.take(relation.as_dict(), 4):
                return PageStart(relations=True, arrival=row["arrival"], id=row["id"])
            self.relations.append(relation)
        return None


def read_entities(rows: list[dict[str, Any]], skip: int) -> Iterator[tuple[Entity, dict[str, Any]]]:
    """The entities in rows; `skip` observations of the first are left out."""
    for row in rows:
        entity = Entity.model_construct(**{name: row[name] for name in ("name", "entity_type", "observations")})
        yield entity.model_copy(update={"observations": entity.observations[skip:]}) if skip else entity, row
        skip = 0


class PageBudget:
    """The tokens that are left for parts of a page; None is unlimited.

    Counting tokens takes longer than all other work on a part. A token has at least one byte, so that as long as the
    bytes of all parts fit, their tokens do: only after that are the parts counted.
    """

    def __init__(self, tokens: int | None) -> None:
        self._tokens = tokens
        self._bytes = tokens or 0
        self._uncounted: list[tuple[Any, int]] | None = []

    def take(self, value: Any, indent: int) -> bool:
        """Take the tokens of a value, and return whether they were left."""
        if self._tokens is None:
            return True
        if self._uncounted is not None:
            self._bytes -= max_part_bytes(value, indent)
            if self._bytes >= 0:
                self._uncounted.append((value, indent))
                return True
        cost = count_part(value, indent)
        if cost > self.left:
            return False
        self._tokens = self.left - cost
        return True

    @property
    def left(self) -> int:
        """The exact number of tokens that are left."""
        left = (self._tokens or 0) - sum(count_part(value, indent) for value, indent in self._uncounted or ())
        self._tokens, self._uncounted = left, None
        return left


def as_part(value: Any, indent: int) -> str:
    """A value as a part of a page, with its indent."""
    return " " * indent + as_json(value).replace("\n", "\n" + " " * indent)


def count_part(value: Any, indent: int) -> int:
    """The tokens of a value as a part of a page, with its comma and line break."""
    return count_tokens(as_part(value, indent)) + 2


def max_part_bytes(value: Any, indent: int) -> int:
    """An upper bound of the bytes of a value as a part of a page, with its comma and line break.

    In ASCII JSON on one line each character is a byte, and its escapes are as long as what they stand for in a page.
    A line of the page begins after one of the counted signs.
    """
    line = json.dumps(value)
    return len(line) + (1 + sum(map(line.count, "[{,}]"))) * (indent + _MAX_INDENT) + 2
