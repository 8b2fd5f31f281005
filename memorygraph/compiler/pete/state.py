"""What a log is compiled from: its pieces, the contexts that are open, and what the store knows of what they name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from memorygraph.compiler.pete.goals import Goal
from memorygraph.errors import Span
from memorygraph.languages.engine.syntax import walk
from memorygraph.languages.pete import syntax

MAX_KEY = 500  # characters; an index takes no longer ones than some thousand, and their hash does as well


class Bound(NamedTuple):
    """What a handle means: the id of a node, and its name."""

    id: str
    name: str


class Asked(NamedTuple):
    """A question that the store has to answer; `shown` says that the answer gets into the log."""

    goal: Goal
    span: Span
    shown: bool


@dataclass
class Open:
    """An open context: its address, how many parts it has, what its handles mean, and whether it has a tl;dr."""

    address: int
    name: str
    size: int = 0
    bindings: dict[str, Bound] = field(default_factory=dict)
    has_tldr: bool = False

    @property
    def id(self) -> str:
        """The id of its node."""
        return id_of(self.address)

    @property
    def bound(self) -> Bound:
        """What a handle for it means."""
        return Bound(self.id, self.name)


@dataclass
class Known:
    """What the store knows: concepts by their key, nodes by their address, and which addresses are free."""

    concepts: dict[str, Bound] = field(default_factory=dict)
    addresses: dict[int, Bound] = field(default_factory=dict)
    contexts: set[int] = field(default_factory=set)
    faculties: set[str] = field(default_factory=set)
    free: list[int] = field(default_factory=list)


class Needs(NamedTuple):
    """What must be known before items are compiled: concepts by their key, addresses, and how many new ones."""

    concepts: dict[str, str]
    addresses: frozenset[int]
    new: int


def id_of(address: int) -> str:
    """The id of the node at an address.

    >>> id_of(42)
    'memory-42'
    """
    return f"memory-{address}"


def key_of(text: str) -> str:
    r"""The one form of a text by which its concept is found.

    >>> key_of("  The heat\n in the lab")
    'the heat in the lab'
    """
    key = " ".join(text.split()).casefold()
    return key if len(key) <= MAX_KEY else hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def pieces_of(items: Iterable[syntax.Item], text: str) -> Iterator[syntax.Piece]:
    """Items with their texts; the feedback of a command or a question is a piece of its own."""
    end = 0
    for item in items:
        feedback = item.feedback if isinstance(item, syntax.Command | syntax.Question) else None
        if feedback is not None:
            before = text[end : feedback.span.start].rstrip()
            yield syntax.Piece(item, before)
            end += len(before)
            yield syntax.Piece(feedback, text[end : item.span.end])
        else:
            yield syntax.Piece(item, text[end : item.span.end])
        end = item.span.end


def needs_of(pieces: Iterable[syntax.Piece], *, root: bool, live: bool, faculties: Iterable[str] = ()) -> Needs:
    """What must be looked up for these items; `root`: the first begins a log; the `faculties` were called before."""
    concepts = {key_of(name): name for name in (syntax.SELF, *faculties)}
    addresses: set[int] = set()
    new = 0
    for number, (item, _) in enumerate(pieces):
        if isinstance(item, syntax.Opening):
            new += 1
        if isinstance(item, syntax.Command) and item.faculty is not None:
            concepts[key_of(item.faculty)] = item.faculty
        for part in walk(item):
            if isinstance(part, syntax.Nlp) and isinstance(item, syntax.Instantiation) and part is item.value:
                concepts[key_of(part.text)] = part.concept
            elif isinstance(part, syntax.Memory):
                addresses.add(part.address)
            elif isinstance(part, syntax.Ref):
                new += live  # it may turn out to be unknown, and becomes a concept then
                if root and number == 0:
                    concepts[key_of(part.name)] = part.name
    return Needs(concepts, frozenset(addresses), new + len(concepts))
