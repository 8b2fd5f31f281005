"""Syntax errors of ContextScript: its words for what was expected, and what it knows about what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from memorygraph.errors import Span
from memorygraph.languages.contextscript.syntax import GRAMMAR, KEYWORDS
from memorygraph.languages.engine.explain import (
    BYTE_ORDER_MARK,
    CODE,
    OTHER_BLANKS,
    Explainer,
    Place,
    describe_found,
    either,
    unclosed_text,
)
from memorygraph.languages.engine.findings import Finding, explain_surrogate, shorten

_QUOTED = GRAMMAR.token("Quoted")
_ASSIGNED = re.compile(r"[\w-]+\s*=\s*\Z")
_ARGUMENT = re.compile(r"[\w-]+\s*=|\Z|[;)]")
_NAMES = {"Name": "the name of an argument", "Quoted": "a text in double quotes", "Bare": "a number"}
_HINTS = (
    ("[\u201c\u201d\u201e\u00ab\u00bb]", 'write a straight double quote, `"`'),
    ("[\u2018\u2019]", 'texts stand in straight double quotes, `"`'),
    ("'", 'texts stand in double quotes, `"`'),
    ("`", "write the script alone, without Markdown around it"),
    ("/", "comments begin with `#`"),
    (r"\\", "a backslash has a meaning only inside a text; remove it"),
    BYTE_ORDER_MARK,
    OTHER_BLANKS,
)


class ContextScriptExplainer(Explainer):
    """Explains a syntax error in a statement: `tokens` are its texts and its code, `limit` is how far one may go."""

    word = re.compile(r"[^\W]+(?:[-.+][^\W]+)*")
    names = _NAMES
    hints = _HINTS

    def __init__(self, tokens: Sequence[Span], limit: int) -> None:
        self._tokens = tokens
        self._limit = limit

    def explain_special(self, place: Place) -> Finding | None:
        """A text that is not closed, half a character, no statement at all, or what is missing at the end of a line."""
        text, offset = place.text, place.offset
        before = self._before(place)
        quote = self._unclosed_quote(place, before)
        if quote is not None:
            if self._limit < len(text) and quote == offset:
                message = 'this text does not end within 16 MiB: its second `"` is missing, or it is too large'
                return Finding(message, "too-large", Span(quote, quote + 1))
            return unclosed_text(text, quote, "unclosed-string")
        if "\ud800" <= place.found[:1] <= "\udfff":
            return Finding(explain_surrogate(place.found), "encoding", self.span(place))
        if offset == place.start:
            return self._explain_beginning(place)
        end = min(before.end, offset) if before else offset
        if before and (not place.found or "\n" in text[end:offset] or place.stop.expected == (";",)):
            # What is missing belongs after the token before, and not where the next line goes on.
            last = shorten(text[max(before.start, end - 20) : end][-20:])
            expected, found = self.expected(place.stop.expected), describe_found(place.found)
            message = f"expected {expected} here, after `{last}`, but {found}"
            return Finding(message, CODE, Span(end, end + 1))
        return None

    def hints_for(self, place: Place) -> Iterable[str]:
        """What to do, by what was found, and by the character before it."""
        known, expected = self.known_hint(place), place.stop.expected
        before = self._before(place)
        last = place.text[min(before.end, place.offset) - 1] if before else ""
        if not known and expected == ("Name",) and last == "," and place.found == ")":
            known = "remove the comma before it, or write another argument"
        elif not known and "," in expected and last != '"' and self.word.match(place.found):
            known = "a text of several words stands in double quotes"
        elif not known and "," in expected and last == '"' and not _ARGUMENT.match(place.text, place.offset):
            known = r"a quote inside a text is written `\"`"
        return filter(None, [known])

    def _explain_beginning(self, place: Place) -> Finding:
        """What is wrong where a statement should begin."""
        found = place.found
        by_lower = {keyword.lower(): keyword for keyword in KEYWORDS.values()}
        near = get_close_matches(found[:64].lower(), list(by_lower), n=1)
        if found in KEYWORDS.values():
            message = f"expected `(` after `{found}`"
        elif near:
            message = f"expected a statement but found `{shorten(found)}`; did you mean `{by_lower[near[0]]}`?"
        else:
            listed = either([f"`{keyword}(…)`" for keyword in KEYWORDS.values()])
            empty = "it ends no statement; remove it" if found == ";" else ""
            hint = self.known_hint(place) or empty
            message = f"expected a statement, {listed}, but {describe_found(found)}" + (f"; {hint}" if hint else "")
        return Finding(message, CODE, self.span(place))

    def _unclosed_quote(self, place: Place, before: Span | None) -> int | None:
        """Where a text begins whose second quote is missing.

        Mostly another quote follows, which opens the next text. Then the first text ends in `argument =`.
        """
        text, offset = place.text, place.offset
        if text.startswith('"', offset) and not _QUOTED.match(text, offset, self._limit):
            return offset
        if before is not None and text[before.start] == '"' and 1 < before.end - before.start <= offset - before.start:
            inside = text[max(before.start + 1, before.end - 200) : before.end - 1]
            return before.start if _ASSIGNED.search(inside) else None
        return None

    def _before(self, place: Place) -> Span | None:
        """The text, or the stretch of code, before a place."""
        before = [span for span in self._tokens if span.start < place.offset]
        return before[-1] if before else None


def too_large(text: str, start: int) -> Finding:
    """A statement goes on beyond what is read of one."""
    message = "this statement is too large: one holds at most 16 MiB, and 32 KiB outside its texts and comments"
    word = ContextScriptExplainer.word.match(text, start, min(start + 100, len(text)))
    return Finding(message, "too-large", Span(start, word.end() if word else start + 1))
