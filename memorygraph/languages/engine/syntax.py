"""What the syntax classes of every language are: frozen dataclasses that know their place in the source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import dataclass_transform

from memorygraph.errors import Span


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class FrozenDataclass:
    """Makes a frozen dataclass of each class below it."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class SyntaxNode(FrozenDataclass):
    """A piece of a program. Pieces that say the same are equal, wherever they stand."""

    span: Span = field(default=Span(0, 0), compare=False, repr=False, kw_only=True)


def parts_in(node: SyntaxNode) -> list[SyntaxNode]:
    """The pieces that a piece of syntax consists of, in the order of its fields."""
    parts: list[SyntaxNode] = []
    for value in vars(node).values():
        if isinstance(value, SyntaxNode):
            parts.append(value)
        elif type(value) is tuple:  # a span is another kind of tuple
            parts += [part for part in value if isinstance(part, SyntaxNode)]
    return parts


def walk(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """A piece of syntax and everything in it, in the order of its fields; not recursive, for it can nest deep."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += reversed(parts_in(part))


def walk_levels(nodes: Iterable[SyntaxNode], levels: type | tuple[type, ...]) -> Iterator[tuple[SyntaxNode, int]]:
    """Pieces of syntax and everything in them, the last first, each with how many of `levels` it is and stands in."""
    waiting = [(node, 0) for node in nodes]
    while waiting:
        node, depth = waiting.pop()
        depth += isinstance(node, levels)
        yield node, depth
        waiting += [(part, depth) for part in parts_in(node)]
