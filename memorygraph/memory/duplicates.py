"""Duplicates: entities that are likely one, found by keys and never by comparing pairs.

1. Names that are equal but for case, accents, titles or the order of their words have one key.
2. Of long names that are one edit apart, one letter can be deleted from each so that the same is left.
3. Entities with equal neighbours have one hash of what their edges say.

Time and memory grow with the entities, their letters and the edges. Many entities that share a key of the second or the
third kind are a series, such as the rows of a table, and not one thing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from memorygraph.graph.namespace import Namespace
from memorygraph.limits import require_running
from memorygraph.memory.name_keys import (
    MAX_EDITED_LETTERS,
    MIN_EDITED_LETTERS,
    NameKeys,
    deletions_of,
    explain_difference,
    is_one_edit,
    keys_of,
)

READ_ALL_SECONDS = 600.0
MAX_SHOWN_ENTITIES = 20  # of one find
MAX_SERIES = 5  # entities with one key that may still be one thing
MIN_NEIGHBOURS = 3
MAX_VARIANTS = 1_000_000  # texts held in memory at once
REASONS = ("same name", "case", "accents", "title", "word order", "one edit", "equal neighbours")
_HASHES = 1 << 64


@dataclass(frozen=True)
class ComparedEntity:
    """An entity as it is compared: with its name, its type and how many edges it has."""

    id: str
    name: str
    kind: str | None
    edges: int

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {"id": self.id, "name": self.name, "kind": self.kind, "edges": self.edges}


@dataclass(frozen=True)
class Duplicates:
    """Entities that are likely one, and why. The first has the most edges: it is the one to keep.

    `reason` is the greatest difference between their names (`same name`, `case`, `accents`, `title`, `word order` or
    `one edit`), or `equal neighbours`. `others` counts the entities that are not listed.
    """

    reason: str
    entities: tuple[ComparedEntity, ...]
    others: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            "reason": self.reason,
            "entities": [entity.as_dict() for entity in self.entities],
            "others": self.others,
        }


def list_duplicates(namespace: Namespace, limit: int) -> list[Duplicates]:
    """Find the entities of a namespace that are likely one, the likeliest first."""
    entities: list[ComparedEntity] = []
    called: dict[str, list[int]] = defaultdict(list)  # the entities of each name, by their places
    with closing(namespace.stream("merges/entities-to-compare", seconds=READ_ALL_SECONDS)) as rows:
        for row in rows:
            require_running()
            for name in dict.fromkeys([row["name"], *row["aliases"]]):
                called[name].append(len(entities))
            entities.append(ComparedEntity(row["id"], row["name"], row["kind"], row["edges"]))
    keys = {name: keys_of(name) for name in called}
    found: dict[frozenset[int], str] = {}
    for reason, group in (*find_same_names(entities, called, keys), *find_one_edit_apart(entities, called, keys)):
        found.setdefault(group, reason)
    for group in find_equal_neighbours(namespace, entities):
        found.setdefault(group, "equal neighbours")
    order = sorted(
        found, key=lambda group: (REASONS.index(found[group]), [entities[place].id for place in sorted(group)])
    )
    return [describe_group(entities, group, found[group]) for group in order[:limit]]


def describe_group(entities: Sequence[ComparedEntity], places: Iterable[int], reason: str) -> Duplicates:
    """Describe entities that are likely one, those with the most edges first."""
    ordered = sorted((entities[place] for place in places), key=lambda entity: (-entity.edges, entity.id))
    return Duplicates(reason, tuple(ordered[:MAX_SHOWN_ENTITIES]), max(0, len(ordered) - MAX_SHOWN_ENTITIES))


def split_by_kind(entities: Sequence[ComparedEntity], places: Iterable[int]) -> Iterator[frozenset[int]]:
    """Keep apart entities of different types; one without a type goes with the first."""
    by_kind: dict[str, set[int]] = {}
    untyped: set[int] = set()
    for place in places:
        kind = entities[place].kind
        (untyped if kind is None else by_kind.setdefault(kind.casefold(), set())).add(place)
    groups = list(by_kind.values()) or [set()]
    groups[0] |= untyped
    return (frozenset(group) for group in groups if len(group) > 1)


def find_same_names(
    entities: Sequence[ComparedEntity], called: Mapping[str, Sequence[int]], keys: Mapping[str, NameKeys]
) -> Iterator[tuple[str, frozenset[int]]]:
    """Find entities of one type whose names are equal but for case, accents, titles and the order of words."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name in called:
        alike[keys[name].order].append(name)
    for names in alike.values():
        names_of: dict[int, list[str]] = defaultdict(list)
        for name in names:
            for place in called[name]:
                names_of[place].append(name)
        for group in split_by_kind(entities, names_of):
            first, *others = dict.fromkeys(name for place in sorted(group) for name in names_of[place])
            reasons = ("same name", *(explain_difference(keys[first], keys[name]) for name in others))
            yield max(reasons, key=REASONS.index), group


def find_one_edit_apart(
    entities: Sequence[ComparedEntity], called: Mapping[str, Sequence[int]], keys: Mapping[str, NameKeys]
) -> Iterator[tuple[str, frozenset[int]]]:
    """Find entities of one type with long names that are one edit apart."""
    places: dict[str, set[int]] = defaultdict(set)
    for name in called:
        if MIN_EDITED_LETTERS <= len(keys[name].words) <= MAX_EDITED_LETTERS:
            places[keys[name].words].update(called[name])
    by_length: dict[int, list[str]] = defaultdict(list)
    for words in places:
        by_length[len(words)].append(words)
    seen: set[tuple[str, str]] = set()
    for length in sorted(by_length):
        for names in find_common_variants(by_length[length], by_length.get(length - 1, ())):
            for first, second in combinations(sorted(names), 2):
                pair = (first, second)
                if pair not in seen and is_one_edit(first, second):
                    seen.add(pair)
                    groups = split_by_kind(entities, places[first] | places[second])
                    yield from (("one edit", group) for group in groups)


def find_common_variants(longer: Sequence[str], shorter: Iterable[str]) -> Iterator[list[str]]:
    """Find the names that have a text in common that is left when one letter is deleted from the longer ones."""
    shorter = list(shorter)
    parts = 1 + sum(map(len, longer)) // MAX_VARIANTS
    for part in range(parts):
        variants: dict[str, list[str]] = defaultdict(list)
        for name in longer:
            require_running()
            for variant in deletions_of(name):
                if hash(variant) % parts == part:
                    variants[variant].append(name)
        for name in shorter:
            if name in variants:
                variants[name].append(name)
        yield from (names for names in variants.values() if 1 < len(names) <= MAX_SERIES)


def find_equal_neighbours(namespace: Namespace, entities: Sequence[ComparedEntity]) -> Iterator[frozenset[int]]:
    """Find entities of one type whose edges say the same of the same neighbours."""
    place_of = {entity.id: place for place, entity in enumerate(entities)}
    hashes = [0] * len(entities)
    counts = [0] * len(entities)
    with closing(namespace.stream("merges/edges-to-compare", seconds=READ_ALL_SECONDS)) as rows:
        for row in rows:
            require_running()
            ends = ((row["source"], "out", row["target"]), (row["target"], "in", row["source"]))
            for end, direction, other in ends:
                place = place_of.get(end)
                if place is not None:
                    # A sum, so that the order in which edges come is all the same.
                    hashes[place] = (hashes[place] + hash((direction, row["verb"], other))) % _HASHES
                    counts[place] += 1
    groups: dict[tuple[int, int, str], set[int]] = defaultdict(set)
    for place, entity in enumerate(entities):
        if counts[place] >= MIN_NEIGHBOURS:
            groups[hashes[place], counts[place], (entity.kind or "").casefold()].add(place)
    return (frozenset(places) for places in groups.values() if 1 < len(places) <= MAX_SERIES)
