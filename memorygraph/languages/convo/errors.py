"""Where the reading of a conversation stopped, said so that a person, or a model, knows what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memorygraph.errors import Source, Span
from memorygraph.languages.convo.syntax import Message
from memorygraph.languages.convo.unclosed import Opened, open_at
from memorygraph.languages.engine.findings import Finding, character, clipped
from memorygraph.languages.engine.machine import Stopped

TOO_DEEP = "this is nested too deep; give a part of it a name: part = …"

_HEADS = frozenset({"CallStart", "FunctionStart", "CodeStart", "TextStart"})
_TAGS = frozenset({"CodeTagStart", "TagLine"})
_VALUE = frozenset({"Quote", "DoubleQuote", "HeredocText", "Numeral", "ConstantName", "Callee", "Variable", "{", "["})
# Tokens that stand for something larger: where all of the first ones may come, that may come.
_GROUPS = (
    (frozenset({"Label", "Variable"}), "an argument", _VALUE | {"Label", "Target"}),
    (frozenset({"Target", "Variable"}), "a statement", _VALUE | {"Target"}),
    (frozenset({"Variable"}), "a value", _VALUE),
    (_TAGS, "a tag", _TAGS),
    (_HEADS, "a message such as `> user`", _HEADS),
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
_ALWAYS = frozenset(
    {"Note", "Separator", "ParameterType", "{{"}
)  # what may stand nearly everywhere, and is not missing
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


class _Place(NamedTuple):
    """Where something is wrong: what stands there, and what was open."""

    stop: Stopped
    opened: Opened
    found: str


def explained(source: Source, stop: Stopped, start: int, *, plain: bool = False) -> Finding:
    """What is wrong with a message that begins at `start`; a `plain` text has no head."""
    text, offset = source.text, stop.offset
    if stop.deep:
        return Finding(TOO_DEEP, "nesting-too-deep", Span(offset, offset + 1))
    opened = open_at(text, start, offset, plain=plain)
    quote = offset if text.startswith("---", offset) and "HeredocText" in stop.expected else opened.quote
    if quote is not None:
        return _unclosed_text(text, quote, opened.broken)
    line_end = text.find("\n", opened.tag) if opened.tag is not None else -1
    if opened.tag is not None and 0 <= line_end < offset:
        return _cut_tag(source, stop, opened, line_end)
    place = _Place(stop, opened, _found(text, offset))
    message = f"expected {_either(_expected(stop.expected))} but {_shown(place.found)}"
    hints = filter(None, (_hint(source, place), _unclosed(source, place)))
    end = offset + max(1, len(place.found))
    span = Span(offset, end) if place.found else Span(max(stop.before.end - 1, 0), max(stop.before.end, 1))
    return Finding("; ".join([message, *hints]), "syntax", span)


def misplaced(messages: Iterable[Message], source: Source) -> Iterator[Finding]:
    """What reads well, but does not stand where it may: heads and tags begin a line, and a tag is one line."""
    text = source.text
    for message in messages:
        for tag in message.tags:
            if not _begins_line(text, tag.span.start):
                yield Finding("a tag begins a line; write it above the message", "syntax", _first(text, tag.span))
            line_end = text.find("\n", *tag.span)
            if line_end >= 0:
                hint = "a tag is one line; put what is long into a variable or a function"
                yield Finding(f"this tag goes over lines; {hint}", "syntax", Span(tag.span.start, line_end))
        place = message.span.start
        if text.startswith(">", place) and not _begins_line(text, place):
            hint = "there are no operators: to compare, write gt(a b)"
            yield Finding(f"`>` begins a message only at the start of a line; {hint}", "syntax", Span(place, place + 1))


def _begins_line(text: str, place: int) -> bool:
    line = text.rfind("\n", 0, place) + 1
    found = _BLANK.match(text, line, place)
    return found is not None and found.end() == place


def _first(text: str, span: Span) -> Span:
    """The first line of a stretch."""
    line_end = text.find("\n", *span)
    return Span(span.start, line_end) if line_end >= 0 else span


def _unclosed_text(text: str, quote: int, broken: int | None) -> Finding:
    """A text that is still open where the file ends, or where a message seems to begin."""
    if broken is not None:
        message = f"this text ends inside a word; in it, write `\\{text[broken]}`"
        return Finding(message, "syntax", Span(broken, broken + 1))
    line_end = text.find("\n", quote, quote + 100)
    end = line_end if line_end > 0 else quote + 1
    if text.startswith("---", quote):
        message = "this text between dashes is not closed: write a line of as many dashes below it"
    else:
        message = f"this text is not closed: its second `{text[quote]}` is missing"
    return Finding(message, "syntax", Span(quote, end))


def _cut_tag(source: Source, stop: Stopped, opened: Opened, line_end: int) -> Finding:
    """A tag that the end of its line cuts off."""
    end = min(max(stop.before.end, 1), line_end)
    expected = _either(_expected(tuple(name for name in stop.expected if name not in _HEADS | _TAGS)))
    message = f"expected {expected} but the line ends; a tag is one line"
    if opened.brackets:
        message += f"; {_not_closed(source, opened)}"
    return Finding(message, "syntax", Span(end - 1, end))


def _found(text: str, offset: int) -> str:
    word = _WORD.match(text, offset, offset + 100)
    return word[0] if word else text[offset : offset + 1]


def _shown(found: str) -> str:
    if not found:
        return "the text ends"
    return f"found {f'`{clipped(found)}`' if len(found) > 1 else character(found)}"


def _expected(names: tuple[str, ...]) -> list[str]:
    """What would have fitted, in the words of the language."""
    left = set(names)
    if left - _ALWAYS:
        left -= _ALWAYS
    said = []
    for begins, name, members in _GROUPS:
        if begins <= left:
            left -= members
            said.append(name)
    others = dict.fromkeys(_NAMES.get(name, f"`{name}`") for name in names if name in left)
    return [*said, *others] or ["a message such as `> user`"]


def _either(options: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(options[:-1]), *options[-1:]]))


def _hint(source: Source, place: _Place) -> str:
    """What to do, as far as it can be told."""
    text, offset = source.text, place.stop.offset
    if text.startswith(">", offset) and _begins_line(text, offset):
        return "" if place.opened.brackets else _head_hint(text, offset)
    if place.found in {")", "]", "}"}:
        inside = not place.opened.brackets or place.opened.brackets[-1] in place.opened.insertions
        return f"this `{place.found}` closes nothing; remove it" if inside else ""
    if "TextStart" in place.stop.expected and "Target" not in place.stop.expected:
        return "a text belongs to a message; write a head above it, such as `> user`"
    known = next((hint for pattern, hint in _HINTS if pattern.match(text, offset)), "")
    if not known and "Label" in place.stop.expected and "Variable" not in place.stop.expected and place.found:
        return "a map has keys: { key: value }"
    return known


def _head_hint(text: str, offset: int) -> str:
    escaped = r"in a text, write `\>` at the start of a line"
    if _EMPTY_HEAD.match(text, offset):
        return f"a message has a role, such as `> user`; {escaped}"
    return f"a line that begins with `>` is the head of a message; {escaped}"


def _unclosed(source: Source, place: _Place) -> str:
    """What is said of an open bracket where no other thing explains the error."""
    if not place.opened.brackets:
        return ""
    at = place.opened.brackets[-1]
    opening = _bracket(source.text, at, place.opened)
    text, offset = source.text, place.stop.offset
    ends = not place.found or (place.found in {")", "]", "}"} and opening != "{{")
    begins = place.found in {">", "@"} and _begins_line(text, offset)
    return _not_closed(source, place.opened) if ends or begins else ""


def _bracket(text: str, at: int, opened: Opened) -> str:
    return "{{" if at in opened.insertions else text[at]


def _not_closed(source: Source, opened: Opened) -> str:
    at = opened.brackets[-1]
    return "`{}` at {}:{} is not closed".format(_bracket(source.text, at, opened), *source.position(at))
