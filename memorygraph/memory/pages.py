"""Pages of entities and relations that fit a budget of tokens: of a whole namespace, of some names, or of a search.

A page holds entities, and after the last of them relations, each in the order of arrival. It reports what it leaves
out: how many, the next names, and the cursor of the next page. A cursor is a place in the order of arrival, so that a
write between two pages moves nothing from one to the other. What words find comes in the order of its scores, which
any write can change: there a cursor names the entity that comes next.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import regex

from memorygraph.context.tokens import count_tokens, cut_tokens
from memorygraph.errors import MemoryGraphError
from memorygraph.graph.bad_elements import naming_bad_elements
from memorygraph.graph.connection import READ_SECONDS
from memorygraph.graph.elements import as_text
from memorygraph.graph.namespace import Namespace
from memorygraph.graph.search import lucene_query
from memorygraph.json_text import format_json, parse_json
from memorygraph.memory.values import Entity, Relation

MIN_TOKENS = 200
MIN_ROW_TOKENS = 24
NO_ARRIVAL = 1 << 62  # the place of rows that ContextScript declared: after all that have arrived
WHOLE_SECONDS = 600.0
MAX_ROWS = (1 << 31) - 1
MAX_SORTED_ENDS = 100_000  # relations times their entities: Neo4j counts 1 KB for each of these where it sorts
MAX_PARTS = 8
MAX_PART_CHARACTERS = 40  # a part that is longer than any word asks too much of Lucene
MAX_WALKED_NODES = 20_000  # to walk over the terms of so many, or to look at the texts of each, takes some 50 ms
MAX_FOUND = 1_000  # at least of so many hits the entities are in pages: a frequent word is in most of a large graph
MAX_SOUGHT_HITS = 5_000  # among which those are looked for that contain a text
WITH_WORDS = "ids-with-words"
INVALID_CURSOR = "invalid cursor: give the one that the page before ended with, or leave it out"
_MAX_INDENT = 5  # a line of a part begins with a line break, and at most four blanks more than its first line
_AFTER_ALL_IDS = "\U0010ffff"
_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}

# Letters and digits that every analyzer leaves together, whatever stands around them; between blanks they are a word.
_PART = re.compile("(?P<before>(?<=[ \\t\\n]))?(?P<part>[A-Za-z0-9]+)(?P<after>(?=[ \\t\\n]))?")

_WORD = regex.compile(r"[\w\p{M}]+")
_SIGNS = regex.compile(r"[\p{Han}\p{Hiragana}]")
_ONLY_SIGNS = re.compile("[\u3041-\u3096\u4e00-\u9fff]+")


def as_json(value: Any) -> str:
    """A value as readable JSON; no text in it breaks a line, so that none can pretend to be another part.

    What JSON does not know, such as a date, is its text, and NaN and infinity are null.
    """
    return format_json(value, indent=2, ensure_ascii=False).translate(_BREAKS)


@dataclass(frozen=True)
class EntityGraph:
    """Entities and relations. `left_out` counts what a page left out, and `cursor` is for the next page.

    `aliases` are the names that were asked for and are aliases, each with the name of its entity.
    """

    entities: list[Entity]
    relations: list[Relation]
    left_out: dict[str, Any] = field(default_factory=dict)
    cursor: str | None = None
    aliases: dict[str, str] = field(default_factory=dict)

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
        if self.aliases:
            whole["aliases"] = self.aliases
        return whole


@dataclass(frozen=True)
class PageStart:
    """The first row of a page: an entity, `skip` of whose observations the page before gave, or a relation.

    In a search `by_words`, the arrival of an entity is its index in the order of the scores. The observation that comes
    next is found by the place and the id of its edge, also where others are deleted between the pages. `left` are the
    entities and the relations from here on, where the first page has counted all there are. `mark` tells the names or
    the search that the page is of; that of the whole graph is empty.
    """

    relations: bool = False
    arrival: int = -1
    id: str = ""
    skip: int = 0
    by_words: bool = False
    observation: tuple[int, str] | None = None
    left: tuple[int, int] | None = None
    mark: str = ""

    @property
    def declared_id(self) -> str:
        """The id from which on rows that ContextScript declared are read."""
        return self.id if self.arrival >= NO_ARRIVAL else ""

    def cursor(self) -> str:
        """The place as an opaque text."""
        numbers = [int(self.relations), self.arrival]
        values = [self.mark, *numbers, self.id, self.skip, int(self.by_words), *(self.observation or ())]
        if self.left is not None:
            values.append(self.left)
        return urlsafe_b64encode(json.dumps(values, separators=(",", ":")).encode()).decode().rstrip("=")

    @classmethod
    def of(cls, cursor: str | None) -> PageStart:
        """Read a cursor."""
        if not cursor:
            return cls()
        try:
            values = parse_json(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            mark, relations, arrival, identifier, skip, by_words, *observation = values
            left = observation.pop() if observation and isinstance(observation[-1], list) else None
            entities_left, relations_left = left or (0, 0)
            place, edge = observation or (0, "")
            numbers = (relations, arrival, skip, by_words, place, entities_left, relations_left)
            valid = all(type(value) is int and -1 <= value <= NO_ARRIVAL for value in numbers)
            (mark + identifier + edge).encode()
        except (binascii.Error, ValueError, TypeError, AttributeError):
            valid = False
        if not valid or not isinstance(identifier, str):
            raise MemoryGraphError(INVALID_CURSOR)
        following = (place, edge) if observation else None
        counted = (entities_left, relations_left) if left else None
        return cls(bool(relations), arrival, identifier, max(skip, 0), bool(by_words), following, counted, mark)


class PageRequest:
    """A request for a page of a namespace; without `max_tokens` the page holds everything."""

    def __init__(self, namespace: Namespace, max_tokens: int | None, cursor: str | None, *, names_only: bool) -> None:
        self.namespace = namespace
        self.start = PageStart.of(cursor)
        if max_tokens is not None and max_tokens < MIN_TOKENS:
            raise MemoryGraphError(f"max_tokens is at least {MIN_TOKENS}")
        # One row more than can fit tells that there is a next page.
        self.limit = MAX_ROWS if max_tokens is None else max_tokens // MIN_ROW_TOKENS + 2
        self.most_ends = min(self.limit, MAX_SORTED_ENDS // self.limit)
        self._max_tokens = max_tokens
        self._names_only = names_only
        self._mark = ""

    def begin(self, *wanted: Any) -> None:
        """Say what the page is of, nothing for the whole graph; a cursor of anything else is a place in another order.

        Raises:
            MemoryGraphError: the cursor is of another call.
        """
        self._mark = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()[:8] if wanted else ""
        if self.start != PageStart() and self.start.mark != self._mark:
            raise MemoryGraphError(INVALID_CURSOR)

    def read(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        """Read rows; a whole graph may take longer than a page."""
        seconds = WHOLE_SECONDS if self._max_tokens is None else READ_SECONDS
        return self.namespace.read(query, seconds=seconds, **parameters)

    def read_graph(self) -> EntityGraph:
        """A page of all entities and relations."""
        self.begin()
        return self.fill(WholeGraph(self))

    def open_names(self, names: Sequence[str]) -> EntityGraph:
        """A page of the entities of these names, and of the relations at them."""
        chosen = list(dict.fromkeys(filter(None, names)))
        self.begin("names", chosen)
        return self.fill(ChosenEntities.find(self, {"names": chosen}))

    def search(self, text: str) -> EntityGraph:
        """A page of the entities that a text finds, and of the relations at them."""
        if not text:  # every text contains it
            return self.read_graph()
        self.begin("search", text)
        # A page goes on with the search of the one before, also where that finds nothing more.
        goes_on = self.start != PageStart()
        searches = (
            ChosenEntities.find(self, search)
            for search in search_queries(self.namespace, text)
            if not goes_on or (search["search"] == WITH_WORDS) == self.start.by_words
        )
        return self.fill(next((found for found in searches if found.ids), ChosenEntities(self, [], [], [])))

    def fill(self, source: WholeGraph | ChosenEntities) -> EntityGraph:
        """Fill the page from its start on."""
        start, budget = self.start, self._max_tokens
        # The reserve is for the cursor, the counts and the names of what is left out.
        page = PageFilling(None if budget is None else budget - MIN_TOKENS // 2 - budget // 8)
        following: PageStart | None = None
        rows: list[dict[str, Any]] = []
        if not start.relations:
            rows = source.entities()
            name_bad_entities(rows)
            # Where the first entity is gone since the page before, another one is in its place.
            skip = self.count_shown(start) if rows and rows[0]["id"] == start.id else 0
            following = page.add_entities(rows, skip, names_only=self._names_only)
        if following is None and not self._names_only:
            relations = source.relations(start if start.relations else PageStart(relations=True))
            name_bad_relations(relations)
            following = page.add_relations(relations)
        graph = EntityGraph(page.entities, page.relations)
        if following is None:
            # An overview is complete without observations and relations, but says how many there are.
            hidden_relations = source.left(PageStart(relations=True))[1] if self._names_only else 0
            hidden = {"observations": page.hidden, "relations": hidden_relations}
            counts = {key: count for key, count in hidden.items() if count}
            return replace(graph, left_out={**counts, **source.not_found})
        if source.counted_once and start.left is not None:
            # To count what is left on each page would make reading all pages quadratic. What came since the first is
            # not in that number, which is no less than what was read here.
            shown = len(page.entities) - bool(following.skip)
            entities_left = 0 if following.relations else max(start.left[0], len(rows)) - shown
            relations_left = max(start.left[1] - len(page.relations), int(following.relations))
        else:
            entities_left, relations_left = source.left(following)
        left_out: dict[str, Any] = {"entities": entities_left, "relations": relations_left, **source.not_found}
        observation = self.find_observation(following) if following.skip else None
        left = (entities_left, relations_left) if source.counted_once else None
        following = replace(following, by_words=source.by_words, observation=observation, left=left, mark=self._mark)
        cursor = following.cursor()
        said = as_json({**graph.as_dict(), **source.not_found, "cursor": cursor})
        room = (budget or 0) - count_tokens(said) - MIN_TOKENS // 2
        # A part of an entity counts as one that is left out.
        for row in [] if following.relations else rows[len(page.entities) - bool(following.skip) :]:
            room -= count_part(row["name"], 6)
            if room < 0:
                break
            left_out.setdefault("names", []).append(row["name"])
        return replace(graph, left_out=left_out, cursor=cursor)

    def count_shown(self, start: PageStart) -> int:
        """The number of the first entity's observations that come before the one that the page begins with."""
        if start.observation is None:
            return start.skip
        places = self.observation_places(start.id)
        if start.observation in places:
            return places.index(start.observation)
        return sum(place is None or place < start.observation for place in places)  # it is gone

    def find_observation(self, following: PageStart) -> tuple[int, str] | None:
        """Where the observation that comes next stands; None where it has no such place."""
        places = self.observation_places(following.id)
        return places[following.skip] if following.skip < len(places) else None

    def observation_places(self, entity: str) -> list[tuple[int, str] | None]:
        """The places and ids of the edges to the observations of an entity; None for its data and what is spoilt."""
        rows = self.read("entities/observation-places", id=entity)
        places = (place or (None, None) for row in rows for place in row["places"])
        return [(place, id_) if isinstance(place, int) and isinstance(id_, str) else None for place, id_ in places]


@dataclass(frozen=True)
class WholeGraph:
    """All of a namespace: the entities that arrived one by one, and then those that ContextScript declared."""

    by_words: ClassVar = False
    counted_once: ClassVar = True
    not_found: ClassVar[Mapping[str, str]] = {}

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
            declared = self.request.read(f"entities/other-{kind}", id=place.declared_id, limit=limit - len(rows))
            rows += [{**row, "arrival": NO_ARRIVAL} for row in declared]
        return rows

    def left(self, place: PageStart) -> tuple[int, int]:
        """The number of entities and of relations from a place on."""
        entity = PageStart(arrival=NO_ARRIVAL, id=_AFTER_ALL_IDS) if place.relations else place
        relation = place if place.relations else PageStart()
        [row] = self.request.read(
            "entities/left-out",
            entity_arrival=entity.arrival,
            entity_id=entity.declared_id,
            relation_arrival=relation.arrival,
            relation_id=relation.declared_id,
        )
        return row["entities"], row["relations"]


@dataclass(frozen=True)
class ChosenEntities:
    """Some entities in the order of `ids`, and the relations at them.

    They are found `by_words`, or in the order of arrival. `not_found` says so where words may find more.
    """

    counted_once: ClassVar = False

    request: PageRequest
    ids: Sequence[str]
    first_entities: list[dict[str, Any]]
    first_relations: list[dict[str, Any]]  # empty where there are more entities than `most_ends`
    by_words: bool = False
    not_found: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def find(cls, request: PageRequest, wanted: Mapping[str, Any]) -> ChosenEntities:
        """Find the entities of these `names`, or those of one of `search_queries`."""
        start = request.start
        relation = start if start.relations else PageStart()
        most_found = max(request.limit, MAX_FOUND)
        [row] = request.read(
            "entities/open",
            wanted=wanted,
            most_nodes=MAX_WALKED_NODES,
            most_hits=max(MAX_SOUGHT_HITS, most_found),
            most_found=most_found,
            place=NO_ARRIVAL + 1 if start.relations else max(start.arrival, 0),
            first="" if start.relations else start.id,
            arrival=relation.arrival,
            id=relation.id,
            limit=request.limit,
            most_ends=request.most_ends,
        )
        by_words = wanted.get("search") == WITH_WORDS
        if by_words:
            said = f"only the best {most_found:,} hits of these words are looked at: more words tell them apart"
        else:
            said = f"only the first {most_found:,} hits of this text are looked at: a longer one tells them apart"
        not_found = {"hits": said} if row["more"] else {}
        return cls(request, row["ids"], row["entities"], row["relations"], by_words, not_found)

    def entities(self) -> list[dict[str, Any]]:
        """The rows of entities from the start of the page on."""
        return self.first_entities

    def relations(self, place: PageStart) -> list[dict[str, Any]]:
        """The rows of relations from a place on."""
        if len(self.ids) <= self.request.most_ends:
            return self.first_relations
        start = {"arrival": place.arrival, "id": place.id}
        return self.request.read("entities/relations-of", ids=list(self.ids), limit=self.request.limit, **start)

    def left(self, place: PageStart) -> tuple[int, int]:
        """The number of entities and of relations from a place on."""
        first = (row["index"] for row in self.first_entities if row["id"] == place.id)
        entities = 0 if place.relations else len(self.ids) - next(first, len(self.ids))
        start = place if place.relations else PageStart()
        [row] = self.request.read("entities/count-relations-of", ids=list(self.ids), arrival=start.arrival, id=start.id)
        return entities, row["relations"]


def search_queries(namespace: Namespace, text: str) -> Iterator[dict[str, Any]]:
    """The searches of `entities/open`: for entities that contain a text, and, if none does, for those of its words."""
    terms = search_terms(text)
    anchored = [term for term in terms if not term.startswith("*")]
    seek = anchored or beginning_terms(text)
    yield {
        "search": "ids-containing",
        "text": text,
        "parts": index_query(namespace, terms) if terms else None,
        "seek": index_query(namespace, seek) if seek else None,
        # Whatever contains signs that are a word each has them as a phrase.
        "complete": bool(anchored) or _ONLY_SIGNS.fullmatch(text) is not None,
    }
    words = lucene_query(text, namespace.name)
    if words is not None:
        yield {"search": WITH_WORDS, "terms": words}


def index_query(namespace: Namespace, terms: Sequence[str]) -> str:
    """A Lucene query for the nodes of a namespace that have all of these terms."""
    clauses = " ".join(f"+(name:{term} kind:{term} data:{term})" for term in terms)
    return f'+namespace_token:"{namespace.token}" {clauses}'


def beginning_terms(text: str) -> list[str]:
    """The Lucene term of the first word of a text, for texts in which a word begins with it.

    >>> beginning_terms("-Zür"), beginning_terms("東京 "), beginning_terms("!")
    (['zür*'], ['"東京"'], [])
    """
    word = _WORD.search(text.lower())
    if word is None:
        return []
    # Each sign of these scripts is a word of its own in the index, and several are a phrase.
    return [f'"{word[0]}"' if _SIGNS.search(word[0]) else f"{word[0][:MAX_PART_CHARACTERS]}*"]


def search_terms(text: str) -> list[str]:
    """The Lucene terms of the parts of a text that any text containing it has, the longest first."""
    found: dict[tuple[str, str], str] = {}
    for match in _PART.finditer(text.lower()):
        part = match["part"][:MAX_PART_CHARACTERS]
        # A word may begin before the part, and go on after it: then Lucene looks through all of its words.
        ends = match["after"] is not None and len(part) < MAX_PART_CHARACTERS
        term = ("" if match["before"] is not None else "*") + part + ("" if ends else "*")
        found[part, term] = f'"{part}"' if term == part else term
    longest = sorted(found, key=lambda key: len(key[0]), reverse=True)[:MAX_PARTS]
    useful = [key for key in longest if len(key[0]) > 1] or longest  # a single letter is nearly everywhere
    return [found[key] for key in useful]


def name_bad_entities(rows: list[dict[str, Any]]) -> None:
    """Name the entities and observations with texts that are none."""
    with naming_bad_elements() as check:
        for row in rows:
            check("entity", row["id"], name=row["name"], kind=row["entity_type"])
            for text in row["observations"]:
                if not isinstance(text, str):
                    check("an observation of entity", row["id"], data=text)


def name_bad_relations(rows: list[dict[str, Any]]) -> None:
    """Name the edges with a verb that is none."""
    with naming_bad_elements() as check:
        for row in rows:
            check("edge", row["id"], verb=row["relation_type"])


class PageFilling:
    """A page while it is filled, within a budget of tokens; None is unlimited."""

    def __init__(self, budget: int | None) -> None:
        self.entities: list[Entity] = []
        self.relations: list[Relation] = []
        self.hidden = 0
        self._budget = PageBudget(budget)

    def add_entities(self, rows: list[dict[str, Any]], skip: int, *, names_only: bool) -> PageStart | None:
        """Add entities as long as they fit, and at least a part of one.

        Returns the start of the next page, if one is left.
        """
        for row in rows:
            place = PageStart(arrival=row["arrival"], id=row["id"], skip=skip)
            observations = row["observations"][skip:]
            skip = 0
            if names_only:
                self.hidden += len(observations)
                observations = []
            entity = Entity.model_construct(
                name=as_text(row["name"]),
                entity_type=as_text(row["entity_type"]),
                observations=list(map(as_text, observations)),
            )
            if self._budget.take(entity.as_dict(), 4):
                self.entities.append(entity)
            elif self.entities:
                return place
            elif (shown := self.add_part(entity)) < len(observations):
                return replace(place, skip=place.skip + shown)
        return None

    def add_part(self, entity: Entity) -> int:
        """Add what a page has room for of an entity that is too large for it: its name, and a part of its type.

        Returns the number of observations in it: at least one, or a part of that, if there are any.
        """
        entity = entity.model_copy(update={"entity_type": shorten_part(entity.entity_type)})
        fits = self._budget.take(entity.model_copy(update={"observations": []}).as_dict(), 4)
        shown: list[str] = []
        for text in entity.observations if fits else ():
            if not self._budget.take(text, 8):
                break
            shown.append(text)
        if not shown and entity.observations:
            shown.append(shorten_part(entity.observations[0], max(self._budget.left, MIN_TOKENS // 2) // 2))
        self.entities.append(entity.model_copy(update={"observations": shown}))
        self._budget.use_up()
        return len(shown)

    def add_relations(self, rows: list[dict[str, Any]]) -> PageStart | None:
        """Add relations as long as they fit, and at least one where the page is empty.

        Returns the start of the next page, if one is left.
        """
        for row in rows:
            source, target, kind = (as_text(row[name]) for name in ("source", "target", "relation_type"))
            relation = Relation.model_construct(source=source, target=target, relation_type=kind)
            if not self._budget.take(relation.as_dict(), 4):
                if self.entities or self.relations:
                    return PageStart(relations=True, arrival=row["arrival"], id=row["id"])
                relation = relation.model_copy(update={"relation_type": shorten_part(kind)})
                self._budget.use_up()
            self.relations.append(relation)
        return None


def shorten_part(text: str, tokens: int = MIN_TOKENS // 4) -> str:
    """A text that is too long for its page, cut after some tokens, with the number of those that are left out.

    >>> shorten_part("one two three", 2)
    'one two… (1 tokens left out)'
    """
    kept = cut_tokens(text, tokens)
    return text if kept == text else f"{kept}… ({count_tokens(text[len(kept) :])} tokens left out)"


class PageBudget:
    """The tokens that are left for parts of a page; None is unlimited."""

    # Counting tokens takes longer than all other work on a part. A token has at least one byte, so that as long as the
    # bytes of all parts fit, their tokens do: only after that are the parts counted.

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

    def use_up(self) -> None:
        """Leave nothing for other parts."""
        if self._tokens is not None:
            self._tokens, self._uncounted = 0, None

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
    """An upper bound of the bytes of a value as a part of a page, with its comma and line break."""
    # In ASCII JSON on one line each character is a byte, and its escapes are as long as what they stand for in a page.
    # A line of the page begins after one of the counted signs.
    line = json.dumps(value)
    return len(line) + (1 + sum(map(line.count, "[{,}]"))) * (indent + _MAX_INDENT) + 2
