"""Explains why a text cannot be read: what was expected, what was found instead, and what to write.

Each language adds its words, and the few places that have a message of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from memorygraph.errors import Source, Span
from memorygraph.languages.engine.findings import Finding, name_character, shorten
from memorygraph.languages.engine.machine import Stopped
from memorygraph.languages.engine.patterns import compile_pattern

CODE = "syntax"
BYTE_ORDER_MARK = ("\ufeff", "remove this byte order mark; it may only stand at the very start")
OTHER_BLANKS = (
    "[\\s\u200b\u200c\u200d\u2060]",
    "only spaces, tabs and line breaks may stand between the parts of a statement",
)
MAX_WORD = 100  # characters of what was found


class Group(NamedTuple):
    """Tokens that stand for something larger: where all of `signs` are expected, `name` is, with all its `members`."""

    signs: Collection[str]
    name: str
    members: Collection[str]


class Optional(NamedTuple):
    """Tokens that are not what is missing: with all of `signs`, they are mentioned only if nothing else is expected."""

    signs: Collection[str]
    members: Collection[str]


@dataclass(frozen=True)
class Place:
    """Where the machine stopped in a stretch that begins at `start`, and what it found there; empty at the end."""

    source: Source
    start: int
    stop: Stopped
    found: str

    @property
    def text(self) -> str:
        """The whole text."""
        return self.source.text

    @property
    def offset(self) -> int:
        """Where the machine stopped."""
        return self.stop.offset

    @property
    def before(self) -> str:
        """The token before the place."""
        return self.text[slice(*self.stop.before)]


class Explainer:
    """Explains syntax errors in one language: its tables, and hooks for what they cannot say."""

    word: ClassVar[re.Pattern[str]]  # what is shown of what was found, where it is more than a character
    pieces: ClassVar[re.Pattern[str]]  # comments, texts and, in the group `bracket`, brackets
    names: ClassVar[Mapping[str, str]] = {}  # how tokens are called, by the names of their rules
    groups: ClassVar[Sequence[Group]] = ()
    optional: ClassVar[Sequence[Optional]] = ()
    hints: ClassVar[Sequence[tuple[str | re.Pattern[str], str]]] = ()  # what to do, by how the text goes on
    nothing_expected = ""

    def explain(self, source: Source, stop: Stopped, start: int) -> Finding:
        """What is wrong with a stretch that begins at `start`, where the machine stopped in it."""
        text, offset = source.text, stop.offset
        found = self.word.match(text, offset, min(offset + MAX_WORD, len(text)))
        place = Place(source, start, stop, found[0] if found else text[offset : offset + 1])
        if stop.deep:
            return Finding(self.too_deep(place), "nesting-too-deep", Span(offset, offset + 1))
        special = self.explain_special(place)
        if special is not None:
            return special
        message = f"expected {self.expected(stop.expected)} but {describe_found(place.found)}"
        return Finding("; ".join([message, *self.hints_for(place)]), CODE, self.span(place))

    def too_deep(self, place: Place) -> str:  # noqa: ARG002
        """The message where a text nests too deep."""
        return "this is nested too deep; name a part of it: `part = …`"

    def explain_special(self, place: Place) -> Finding | None:  # noqa: ARG002
        """A problem that has a message of its own, such as a text that is not closed."""
        return None

    def hints_for(self, place: Place) -> Iterable[str]:
        """What to do about what was found."""
        return filter(None, [self.known_hint(place)])

    def span(self, place: Place) -> Span:
        """What was found, or, at the end of the text, the last character of the token before."""
        if place.found:
            return Span(place.offset, place.offset + len(place.found))
        end = max(place.stop.before.end, 1)
        return Span(end - 1, end)

    def expected(self, names: Iterable[str]) -> str:
        """The tokens that would have fitted, in the words of the language."""
        names = list(names)
        left = set(names)
        said = []
        for group in self.groups:
            if left.issuperset(group.signs):
                left.difference_update(group.signs, group.members)
                said.append(group.name)
        for optional in self.optional:
            if left.issuperset(optional.signs) and (said or left.difference(optional.members)):
                left.difference_update(optional.members)
        said += dict.fromkeys(self.names.get(name, f"`{name}`") for name in names if name in left)
        return either(said) or self.nothing_expected

    def known_hint(self, place: Place) -> str:
        """The hint of the first pattern that the text goes on with."""
        for pattern, hint in self.hints:
            regex = compile_pattern(pattern) if isinstance(pattern, str) else pattern
            if regex.match(place.text, place.offset):
                return hint
        return ""

    def open_bracket(self, place: Place) -> int | None:
        """The innermost bracket that is open at a place."""
        brackets: list[int] = []
        for piece in self.pieces.finditer(place.text, place.start, place.offset):
            if piece["bracket"] and piece["bracket"] in "{([":
                brackets.append(piece.start())
            elif piece["bracket"] and brackets:
                brackets.pop()
        return brackets[-1] if brackets else None


def either(options: Sequence[str]) -> str:
    """Alternatives in a sentence, such as: a key, `,` or `}`."""
    return " or ".join(filter(None, [", ".join(options[:-1]), *options[-1:]]))


def describe_found(found: str) -> str:
    """What was found, in a sentence."""
    if not found:
        return "the text ends"
    single = len(found) == 1 or found[0] == "`"  # between backticks, the others could not be told from them
    return f"found {name_character(found[0]) if single else f'`{shorten(found)}`'}"


def not_closed(source: Source, place: int, bracket: str = "") -> str:
    """Which bracket is not closed, and where it stands."""
    return "`{}` at {}:{} is not closed".format(bracket or source.text[place], *source.position(place))


def unclosed_text(text: str, quote: int, code: str = CODE) -> Finding:
    """A text without its second quote."""
    line_end = text.find("\n", quote, quote + MAX_WORD)
    message = f"this text is not closed: its second `{text[quote]}` is missing"
    return Finding(message, code, Span(quote, line_end if line_end > 0 else quote + 1))
