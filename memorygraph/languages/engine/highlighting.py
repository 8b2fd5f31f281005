"""How a language is coloured, as data: what Pygments and the grammars of editors are both made from.

A region is a stretch of text with rules of its own, and the whole text is the region `root`. Patterns stay within a
line, because editors look at one at a time, and have no possessive groups, so that Python and Oniguruma agree on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Colour: TypeAlias = Literal[
    "attribute",
    "builtin",
    "comment",
    "constant",
    "description",
    "escape",
    "function",
    "keyword",
    "label",
    "name",
    "number",
    "operator",
    "punctuation",
    "report",
    "string",
    "tag",
    "text",
    "title",
    "type",
    "variable",
]


class ColourRule(NamedTuple):
    """What a pattern is coloured as: all of it, or each of its groups, which then are all of it.

    `region` names the region that it opens.
    """

    pattern: str
    colours: Colour | tuple[Colour, ...]
    region: str | None = None


@dataclass(frozen=True)
class Region:
    """The rules of a stretch of text, up to `end`, which is coloured as `end_colour`; what no rule takes is `rest`."""

    rules: tuple[ColourRule, ...]
    end: str | None = None
    end_colour: Colour = "text"
    rest: Colour = "text"


Highlighting: TypeAlias = Mapping[str, Region]


def one_of(words: Iterable[str], letters: str = "A-Za-z0-9_") -> str:
    r"""The pattern of some words, the longest first; the `letters` may not follow one.

    >>> one_of(["if", "in"])
    '(?:if|in)(?![A-Za-z0-9_])'
    """
    return f"(?:{'|'.join(sorted(words, key=lambda word: (-len(word), word)))})(?![{letters}])"


def quoted_region(quote: str, *rules: ColourRule) -> Region:
    r"""The region of a text in quotes, in which a backslash takes the meaning of the character after it."""
    return Region((ColourRule(r"\\.", "escape"), *rules), end=quote, end_colour="string", rest="string")
