"""The rows of a page of entities: those of a whole namespace, of some names, or of a search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import READ_SECONDS
from memorygraph.graph.namespace import Namespace
from memorygraph.graph.search import lucene_query
from memorygraph.memory.pages import MIN_ROW_TOKENS, MIN_TOKENS, NO_ARRIVAL, EntityGraph, PageStart, fill_page
from memorygraph.query import Query

WHOLE_SECONDS = 600.0
MAX_ROWS = (1 << 31) - 1
MAX_PARTS = 8
MAX_PART_CHARACTERS = 40  # a part that is longer than any word asks too much of Lucene
_AFTER_ALL_IDS = "\U0010ffff"

# Letters and digits that every analyzer leaves together, whatever stands around them; between blanks they are a word.
_PART = re.compile("(?P<before>(?<=[ \\t\\n]))?(?P<part>[A-Za-z0-9]+)(?P<after>(?=[ \\t\\n]))?")


class PageRequest:
    """A request for a page of a namespace.

    Raises:
        MemoryGraphError: the cursor is invalid, or `max_tokens` is too small.
    """

    def __init__(self, namespace: Namespace, max_tokens: int | None, cursor: str | None, *, names_only: bool) -> None:
        self.namespace = namespace
        self.start = PageStart.of(cursor)
        if max_tokens is not None and max_tokens < MIN_TOKENS:
            raise MemoryGraphError(f"max_tokens is at least {MIN_TOKENS}")
        # One row more than can fit tells that there is a next page.
        self.limit = MAX_ROWS if max_tokens is None else max_tokens // MIN_ROW_TOKENS + 2
        self._max_tokens = max_tokens
        self._names_only = names_only

    def read(self, query: str | Query, **parameters: Any) -> list[dict[str, Any]]:
        """Read rows; a whole graph may take longer than a page."""
        seconds = WHOLE_SECONDS if self._max_tokens is None else READ_SECONDS
        return self.namespace.read(query, seconds=seconds, **parameters)

    def read_graph(self) -> EntityGraph:
        """A page of all entities and relations."""
        return fill_page(WholeGraph(self), self.start, self._max_tokens, names_only=self._names_only)

    def open_names(self, names: Sequence[str]) -> EntityGraph:
        """A page of the entities of these names, and of the relations at them."""
        found = ChosenEntities.find(self, names=list(dict.fromkeys(filter(None, names))))
        return fill_page(found, self.start, self._max_tokens, names_only=self._names_only)

    def search(self, text: str) -> EntityGraph:
        """A page of the entities that a text finds, and of the relations at them."""
        if not text:  # every text contains it
            return self.read_graph()
        searches = (ChosenEntities.find(self, search=query) for query in search_queries(self.namespace, text))
        found = next((entities for entities in searches if entities.ids), ChosenEntities(self, [], [], []))
        return fill_page(found, self.start, self._max_tokens, names_only=self._names_only)


@dataclass(frozen=True)
class WholeGraph:
    """All of a namespace: the entities that arrived one by one, and then those that ContextScript declared."""

    request: PageRequest

    def entities(self) -> list[dict[str, Any]]:
        """The rows of entities from the start of the page on."""
        return self.read_rows("entities", self.request.start)

    def relations(self, place: PageStart) -> list[dict[str, Any]]:
        """The rows of relations from a place on."""
        return self.read_rows("relations", place)

    def read_rows(self, kind: str, place: PageStart) -> list[dict[str, Any]]:
        """The rows of `entities` or `relations` from a place on, as many as a page can hold."""
        rows: list[dict[str, Any]] = []
        limit = self.request.limit
        if place.arrival < NO_ARRIVAL:
            rows = self.request.read(f"entities/{kind}", arrival=place.arrival, limit=limit)
        if len(rows) < limit:
            start = place.id if place.arrival >= NO_ARRIVAL else ""
            declared = self.request.read(f"entities/other-{kind}", id=start, limit=limit - len(rows))
            rows += [{**row, "arrival": NO_ARRIVAL} for row in declared]
        return rows

    def left(self, place: PageStart) -> tuple[int, int]:
        """The number of entities and of relations from a place on."""
        entity = PageStart(arrival=NO_ARRIVAL, id=_AFTER_ALL_IDS) if place.relations else place
        relation = place if place.relations else PageStart()
        [row] = self.request.read(
            "entities/left-out",
            entity_arrival=entity.arrival,
            entity_id=entity.id if entity.arrival >= NO_ARRIVAL else "",
            relation_arrival=relation.arrival,
            relation_id=relation.id if relation.arrival >= NO_ARRIVAL else "",
        )
        return row["entities"], row["relations"]


@dataclass(frozen=True)
class ChosenEntities:
    """Some entities in the order of `ids`, and the relations at them; the place of an entity is its index there.

    The first page is read together with the ids, without relations if there are more entities than a page holds.
    """

    request: PageRequest
    ids: Sequence[str]
    first_entities: list[dict[str, Any]]
    first_relations: list[dict[str, Any]]

    @classmethod
    def find(
        cls, request: PageRequest, *, names: Sequence[str] = (), search: Mapping[str, str] | None = None
    ) -> ChosenEntities:
        """Find the entities of these names, or those of a search."""
        start = request.start
        relation = start if start.relations else PageStart()
        [row] = request.read(
            "entities/open",
            **{"search": None, "text": None, "parts": None, "terms": None, **(search or {})},
            names=list(names),
            start=MAX_ROWS if start.relations else max(start.arrival, 0),
            arrival=relation.arrival,
            id=relation.id,
            limit=request.limit,
        )
        return cls(request, row["ids"], row["entities"], row["relations"])

    def entities(self) -> list[dict[str, Any]]:
        """The rows of entities from the start of the page on."""
        return self.first_entities

    def relations(self, place: PageStart) -> list[dict[str, Any]]:
        """The rows of relations from a place on."""
        limit = self.request.limit
        # All entities fit into one page, so that their relations came with them.
        if len(self.ids) <= limit:
            return self.first_relations
        start = {"arrival": place.arrival, "id": place.id}
        return self.request.read("entities/relations-of", ids=list(self.ids), limit=limit, **start)

    def left(self, place: PageStart) -> tuple[int, int]:
        """The number of entities and of relations from a place on."""
        entities = 0 if place.relations else len(self.ids) - max(place.arrival, 0)
        start = place if place.relations else PageStart()
        [row] = self.request.read("entities/count-relations-of", ids=list(self.ids), arrival=start.arrival, id=start.id)
        return entities, row["relations"]


def search_queries(namespace: Namespace, text: str) -> Iterator[dict[str, str]]:
    """The searches of `entities/open`: for entities that contain a text, and, if none does, for those of its words."""
    parts = search_parts(text)
    if parts:
        clauses = " ".join(f"+(name:{part.term} kind:{part.term} data:{part.term})" for part in parts)
        terms = f'+namespace_token:"{namespace.token}" {clauses}'
        yield {"search": "ids-containing-parts", "text": text, "parts": terms}
    else:
        yield {"search": "ids-containing", "text": text}
    words = lucene_query(text, namespace.name)
    if words is not None:
        yield {"search": "ids-with-words", "terms": words}


class SearchPart(NamedTuple):
    """Letters and digits of a text, and whether a word that contains them must begin and end with them."""

    text: str
    begins: bool
    ends: bool

    @property
    def term(self) -> str:
        """The Lucene term; without a known beginning, Lucene looks through all of its words."""
        if self.begins and self.ends:
            return f'"{self.text}"'
        return ("" if self.begins else "*") + self.text + ("" if self.ends else "*")


def search_parts(text: str) -> list[SearchPart]:
    """The parts of a text that any text containing it has, the longest first.

    >>> [part.term for part in search_parts("mine tea le")]
    ['*mine', '"tea"', 'le*']
    """
    found = [
        SearchPart(match["part"][:MAX_PART_CHARACTERS], match["before"] is not None, match["after"] is not None)
        for match in _PART.finditer(text.lower())
    ]
    parts = [part._replace(ends=part.ends and len(part.text) < MAX_PART_CHARACTERS) for part in dict.fromkeys(found)]
    parts = sorted(parts, key=lambda part: len(part.text), reverse=True)[:MAX_PARTS]
    return [part for part in parts if len(part.text) > 1] or parts  # a single letter is nearly everywhere
