"""Where textX stopped, said so that a person, or a model that tries again, knows what to write instead."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import NamedTuple

from memorygraph.errors import Span
from memorygraph.languages.contextscript.syntax import GRAMMAR, KEYWORDS
from memorygraph.languages.engine.findings import Finding, character, clipped, half_character

_QUOTED = GRAMMAR.token("Quoted")
_WORD = re.compile(r"[^\W]+(?:[-.+][^\W]+)*")
_ASSIGNED = re.compile(r"[\w-]+\s*=\s*\Z")
_NAMES = {"Name": "the name of an argument", "Quoted": "a text in double quotes", "Bare": "a number"}
_HINTS = {
    **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", 'write a straight double quote, `"`'),
    **dict.fromkeys("\u2018\u2019", 'texts stand in straight double quotes, `"`'),
    "'": 'texts stand in double quotes, `"`',
    "`": "write the script alone, without Markdown around it",
    "/": "comments begin with `#`",
    "\\": "a backslash has a meaning only inside a text; remove it",
    "\ufeff": "remove this byte order mark; it may only stand at the very start",
}
_INVISIBLE = {"\u200b", "\u200c", "\u200d", "\u2060"}
_EMPTY = {";": "the statement before it has already ended; remove it"}


class SyntaxStop(NamedTuple):
    """Where the reading of a statement stopped: `tokens` are the spans of its code and strings so far."""

    text: str
    start: int
    limit: int
    offset: int
    expected: tuple[str, ...]
    tokens: list[Span]


def too_large(stop: SyntaxStop) -> Finding:
    """The statement goes on beyond what is read of one."""
    message = "this statement is too large: one holds at most 16 MiB, and 32 KiB outside its texts and comments"
    return Finding(message, "too-large", _found_span(stop._replace(offset=stop.start)))


def explain(stop: SyntaxStop) -> Finding:
    """What is wrong, and where."""
    opening = _unclosed(stop)
    if opening is not None:
        if stop.limit < len(stop.text) and opening == stop.offset:
            message = 'this text does not end within 16 MiB: its second `"` is missing, or it is too large'
            return Finding(message, "too-large", Span(opening, opening + 1))
        line_end = stop.text.find("\n", opening, opening + 100)
        span = Span(opening, line_end if line_end > 0 else opening + 1)
        return Finding('this text is not closed: its second `"` is missing', "unclosed-string", span)
    if stop.offset < len(stop.text) and "\ud800" <= stop.text[stop.offset] <= "\udfff":
        message = half_character(stop.text[stop.offset])
        return Finding(message, "encoding", Span(stop.offset, stop.offset + 1))
    if stop.offset == stop.start:
        return _no_statement(stop)
    return _unexpected(stop)


def _unclosed(stop: SyntaxStop) -> int | None:
    """The offset of the quote that opens a text without an end.

    Mostly the text does end, at the quote that opens the next one; then it ends in `argument =`.
    """
    if stop.text.startswith('"', stop.offset) and not _QUOTED.match(stop.text, stop.offset, stop.limit):
        return stop.offset
    before = _before(stop)
    if before is not None and stop.text[before.start] == '"' and before.end - before.start > 1:
        inside = stop.text[max(before.start + 1, before.end - 200) : before.end - 1]
        if before.end <= stop.offset and _ASSIGNED.search(inside):
            return before.start
    return None


def _no_statement(stop: SyntaxStop) -> Finding:
    span = _found_span(stop)
    found = stop.text[span.start : span.end]
    listed = _either([f"`{keyword}(…)`" for keyword in KEYWORDS.values()])
    by_lower = {keyword.lower(): keyword for keyword in KEYWORDS.values()}
    near = get_close_matches(found[:64].lower(), list(by_lower), n=1)
    if found in KEYWORDS.values():
        message = f"expected `(` after `{found}`"
    elif near:
        message = f"expected a statement but found `{clipped(found)}`; did you mean `{by_lower[near[0]]}`?"
    else:
        message = f"expected a statement, {listed}, but found {_shown(found)}"
        hint = _hint(stop.text, stop.offset) or _EMPTY.get(found, "")
        message += f"; {hint}" if hint else ""
    return Finding(message, "syntax", span)


def _unexpected(stop: SyntaxStop) -> Finding:
    text, offset = stop.text, stop.offset
    wanted = _either([_NAMES.get(name, f"`{name}`") for name in stop.expected])
    before = _before(stop)
    at_end = offset >= len(text)
    found = "the text ends" if at_end else f"found {_shown(text[slice(*_found_span(stop))])}"
    previous_end = min(before.end, offset) if before else offset
    if before and (at_end or "\n" in text[previous_end:offset] or stop.expected == (";",)):
        # What is missing belongs behind what stands before, not where the next line goes on.
        last = clipped(text[max(before.start, previous_end - 20) : previous_end][-20:])
        message = f"expected {wanted} here, after `{last}`, but {found}"
        return Finding(message, "syntax", Span(previous_end, previous_end + 1))
    hint = _advice(stop, before)
    message = f"expected {wanted} but {found}" + (f"; {hint}" if hint else "")
    return Finding(message, "syntax", _found_span(stop))


def _advice(stop: SyntaxStop, before: Span | None) -> str:
    known = _hint(stop.text, stop.offset)
    if known:
        return known
    last = stop.text[min(before.end, stop.offset) - 1] if before else ""
    if stop.expected == ("Name",) and last == "," and stop.text.startswith(")", stop.offset):
        return "remove the comma before it, or write another argument"
    if "," in stop.expected and last != '"' and _WORD.match(stop.text, stop.offset):
        return "a text of several words stands in double quotes"
    return ""


def _before(stop: SyntaxStop) -> Span | None:
    """The token, or the stretch of code, before the place where reading stopped."""
    before = [span for span in stop.tokens if span.start < stop.offset]
    return before[-1] if before else None


def _found_span(stop: SyntaxStop) -> Span:
    word = _WORD.match(stop.text, stop.offset, min(stop.offset + 100, len(stop.text)))
    return Span(stop.offset, word.end() if word else min(stop.offset + 1, len(stop.text)))


def _shown(found: str) -> str:
    return character(found) if len(found) == 1 else f"`{clipped(found)}`"


def _hint(text: str, offset: int) -> str:
    char = text[offset : offset + 1]
    if char.isspace() or char in _INVISIBLE:
        return "only spaces, tabs and line breaks may stand between the parts of a statement"
    return _HINTS.get(char, "")


def _either(options: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(options[:-1]), *options[-1:]]))
