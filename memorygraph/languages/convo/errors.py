"""Syntax errors of Convo-Lang: its words for what was expected, and what it knows about what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memorygraph.errors import Source, Span
from memorygraph.languages.convo.syntax import Message
from memorygraph.languages.convo.unclosed import OpenBrackets, open_at
from memorygraph.languages.engine.explain import CODE, Explainer, Group, Optional, Place, not_closed, unclosed_text
from memorygraph.languages.engine.findings import Finding
from memorygraph.languages.engine.machine import Stopped

_HEADS = frozenset({"CallStart", "FunctionStart", "CodeStart", "TextStart"})
_TAGS = frozenset({"CodeTagStart", "TagLine"})
_VALUE = frozenset({"Quote", "DoubleQuote", "HeredocText", "Numeral", "ConstantName", "Callee", "Variable", "{", "["})
# Tokens that stand for something larger: where all of the first ones may come, that may come.
_GROUPS = (
    Group({"Label", "Variable"}, "an argument", _VALUE | {"Label", "Target"}),
    Group({"Target", "Variable"}, "a statement", _VALUE | {"Target"}),
    Group({"Variable"}, "a value", _VALUE),
    Group(_TAGS, "a tag", _TAGS),
    Group(_HEADS, "a message such as `> user`", _HEADS),
)
_NAMES = {
    "Label": "a key",
    "ParameterName": "a parameter",
    "ParameterType": "the type of the parameter",
    "ReturnType": "a type",
    "TextRest": "`}}`",
    "QuoteRest": "`}}`",
    "PlainRest": "`}}`",
}
# These may stand nearly everywhere, so that they are never what is missing.
_ALWAYS = frozenset({"Note", "Separator", "ParameterType", "{{"})
_OPERATORS = "there are no operators; write {}"
# What is known about what was found, by how it reads.
_HINTS = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (r"==|=>", _OPERATORS.format("eq(a b)")),
        (r"!=", _OPERATORS.format("neq(a b)")),
        (r"<<", "pipes are not part of this language; write calls one inside the other"),
        (r"<=", _OPERATORS.format("lte(a b)")),
        (r">=", _OPERATORS.format("gte(a b)")),
        (r"<", _OPERATORS.format("lt(a b)")),
        (r">", _OPERATORS.format("gt(a b)")),
        (r"&", _OPERATORS.format("and(a b)")),
        (r"\|", _OPERATORS.format("or(a b)")),
        (r"!", _OPERATORS.format("not(a)")),
        (r"\+", _OPERATORS.format("add(a b)")),
        (r"-(?!--)", f"{_OPERATORS.format('sub(a b)')}, and names contain no `-`"),
        (r"\*", _OPERATORS.format("mul(a b)")),
        (r"/(?!\*)", _OPERATORS.format("div(a b)")),
        (r"%", _OPERATORS.format("mod(a b)")),
        (r"/\*", "comments begin with `//`, on every line"),
        (r"\?\?\?", "prompts inside code are not part of this language"),
        (r"\?", _OPERATORS.format("if(a) then(b) else(c)")),
        (r"=", "a variable is set by `name = value`"),
        (r"\(", "parentheses belong to the call of a function: name(…)"),
        (r":", "labels belong to arguments; a variable is set by `name = value`"),
        (r"\$", "names are made of letters, digits and `_`"),
        (r"```", "write the conversation alone, without Markdown around it"),
        ("[\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019`]", "write straight quotes"),
        ("\ufeff", "remove this byte order mark; it may only stand at the very start"),
    )
)
_WORD = re.compile(r"\w+")
_EMPTY_HEAD = re.compile(r">[ \t]*+(?:\r?\n|\Z)")
_BLANK = re.compile(r"[ \t]*")


class ConvoExplainer(Explainer):
    """Explains syntax errors in a message, or in a `plain` text without heads."""

    word = _WORD
    names = _NAMES
    groups = _GROUPS
    optional = (Optional((), _ALWAYS),)
    hints = _HINTS
    nothing_expected = "a message such as `> user`"

    def __init__(self, *, plain: bool) -> None:
        self._plain = plain
        self._opened = OpenBrackets()

    def too_deep(self, place: Place) -> str:  # noqa: ARG002
        """Name a part."""
        return "this is nested too deep; give a part of it a name: part = …"

    def explain_special(self, place: Place) -> Finding | None:
        """A text that is not closed, or a tag that the end of its line cuts off."""
        text, offset = place.text, place.offset
        self._opened = opened = open_at(text, place.start, offset, plain=self._plain)
        dashes = text.startswith("---", offset) and "HeredocText" in place.stop.expected
        quote = offset if dashes else opened.quote
        if quote is not None:
            return explain_unclosed_text(text, quote, opened.broken)
        line_end = text.find("\n", opened.tag) if opened.tag is not None else -1
        return self.explain_cut_tag(place, line_end) if 0 <= line_end < offset else None

    def hints_for(self, place: Place) -> Iterable[str]:
        """What to do about what was found, and which bracket is open."""
        return filter(None, (self.hint(place), self.hint_for_bracket(place)))

    def explain_cut_tag(self, place: Place, line_end: int) -> Finding:
        """A tag that the end of its line cuts off."""
        end = min(max(place.stop.before.end, 1), line_end)
        expected = self.expected(name for name in place.stop.expected if name not in _HEADS | _TAGS)
        message = f"expected {expected} but the line ends; a tag is one line"
        if self._opened.brackets:
            message += f"; {self.bracket_not_closed(place)}"
        return Finding(message, CODE, Span(end - 1, end))

    def hint(self, place: Place) -> str:
        """What to do about what was found."""
        text, offset, expected, opened = place.text, place.offset, place.stop.expected, self._opened
        if text.startswith(">", offset) and begins_line(text, offset):
            return "" if opened.brackets else hint_for_head(text, offset)
        if place.found in {")", "]", "}"}:
            inside = not opened.brackets or opened.brackets[-1] in opened.insertions
            return f"this `{place.found}` closes nothing; remove it" if inside else ""
        if "TextStart" in expected and "Target" not in expected:
            return "a text belongs to a message; write a head above it, such as `> user`"
        known = self.known_hint(place)
        if not known and "Label" in expected and "Variable" not in expected and place.found:
            return "a map has keys: { key: value }"
        return known

    def hint_for_bracket(self, place: Place) -> str:
        """The open bracket, where nothing else explains the error."""
        if not self._opened.brackets:
            return ""
        inserts = self._opened.brackets[-1] in self._opened.insertions
        ends = not place.found or (place.found in {")", "]", "}"} and not inserts)
        begins = place.found in {">", "@"} and begins_line(place.text, place.offset)
        return self.bracket_not_closed(place) if ends or begins else ""

    def bracket_not_closed(self, place: Place) -> str:
        """Which bracket is not closed."""
        at = self._opened.brackets[-1]
        return not_closed(place.source, at, "{{" if at in self._opened.insertions else "")


def explain(source: Source, stop: Stopped, start: int, *, plain: bool = False) -> Finding:
    """What is wrong with a message that begins at `start`; a `plain` text has no head."""
    return ConvoExplainer(plain=plain).explain(source, stop, start)


def misplaced(messages: Iterable[Message], source: Source) -> Iterator[Finding]:
    """What is read, but stands in the wrong place: heads and tags begin a line, and a tag is one line."""
    text = source.text
    for message in messages:
        for tag in message.tags:
            if not begins_line(text, tag.span.start):
                yield Finding("a tag begins a line; write it above the message", CODE, first_line(text, tag.span))
            line_end = text.find("\n", *tag.span)
            if line_end >= 0:
                hint = "a tag is one line; put what is long into a variable or a function"
                yield Finding(f"this tag goes over lines; {hint}", CODE, Span(tag.span.start, line_end))
        place = message.span.start
        if text.startswith(">", place) and not begins_line(text, place):
            hint = "there are no operators: to compare, write gt(a b)"
            yield Finding(f"`>` begins a message only at the start of a line; {hint}", CODE, Span(place, place + 1))


def begins_line(text: str, place: int) -> bool:
    """Whether only blanks stand before a place in its line."""
    line = text.rfind("\n", 0, place) + 1
    found = _BLANK.match(text, line, place)
    return found is not None and found.end() == place


def first_line(text: str, span: Span) -> Span:
    """The first line of a stretch."""
    line_end = text.find("\n", *span)
    return Span(span.start, line_end) if line_end >= 0 else span


def explain_unclosed_text(text: str, quote: int, broken: int | None) -> Finding:
    """A text that is still open where the file ends, or where a message seems to begin."""
    if broken is not None:
        message = f"this text ends inside a word; in it, write `\\{text[broken]}`"
        return Finding(message, CODE, Span(broken, broken + 1))
    finding = unclosed_text(text, quote)
    if text.startswith("---", quote):
        return finding._replace(
            message="this text between dashes is not closed: write a line of as many dashes below it"
        )
    return finding


def hint_for_head(text: str, offset: int) -> str:
    """What to do about a line that begins with `>`."""
    escaped = r"in a text, write `\>` at the start of a line"
    if _EMPTY_HEAD.match(text, offset):
        return f"a message has a role, such as `> user`; {escaped}"
    return f"a line that begins with `>` is the head of a message; {escaped}"
