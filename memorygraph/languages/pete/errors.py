"""Syntax errors of PETE: its words for what was expected, and what it knows about what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar

from memorygraph.errors import Source, Span
from memorygraph.languages.engine.explain import (
    BYTE_ORDER_MARK,
    CODE,
    MAX_WORD,
    OTHER_BLANKS,
    Explainer,
    Group,
    Place,
    describe_found,
    not_closed,
)
from memorygraph.languages.engine.findings import Finding, shorten
from memorygraph.languages.engine.machine import Stopped
from memorygraph.languages.engine.patterns import compile_pattern
from memorygraph.languages.pete.items import MAX_NESTING, RESERVED
from memorygraph.languages.pete.syntax import Closing, Item

_JSON = frozenset({"String", "Number", "Constant", "{", "["})
_ARGUMENT = _JSON | {"Handle", "Unknown", "Address", "that"}
_STATEMENT = _ARGUMENT | {"Thought", "Report", "tl;dr", "context", "Note", "Faculty", "Identifier"}
_RULE_ENDS = "a rule ends with a full stop"
_TEXT = compile_pattern(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+')


class PeteExplainer(Explainer):
    """Explains syntax errors in logs."""

    word = re.compile(r"[&_@]?[^\W_][\w']*|>>|!!|/\*|//|```")
    pieces = compile_pattern(
        r'"(?:[^"\\]++|\\.)*+"|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/|//[^\r\n]*+|!![^\r\n]*+|@\[[^\]]*+\]|(?P<bracket>[{}()\[\]])'
    )
    names: ClassVar[Mapping[str, str]] = {
        "Identifier": "a name",
        "Handle": "a handle such as `&heat`",
        "String": "a text in double quotes",
        "Address": "`memory:` with a number",
        "Description": "`/* … */`",
        "Conjunction": "`and`",
    }
    # Tokens that stand for something larger: where the first ones may come, that may come.
    groups = (
        Group({"Thought"}, "a statement", _STATEMENT),
        Group({"Unknown"}, "a handle, a variable or a value", _ARGUMENT),
        Group({"Constant"}, "a JSON value", _JSON),
        Group({"Negator"}, "a predicate", {"Identifier"}),
        Group({"Address", "Description"}, "`/* … */`, `memory:` with a number, or an abbreviated context", {"context"}),
        Group({".", "?"}, "`.`, `?` or `if`", {".", "?", "If", "Conjunction"}),
    )
    # What is known about what was found, by how it reads.
    hints = tuple(
        (compile_pattern(pattern), hint)
        for pattern, hint in (
            (r"#", "comments begin with `//`"),
            (r"```", "write the log alone, without Markdown around it"),
            (r">>", "feedback stands directly after a command or a question"),
            ("(?<=n)[\u2019\u2018\u02bc\u00b4`](?=t)", "write a straight apostrophe: doesn't"),
            (r"\w+n't\b", "write: doesn't, don't or not"),
            ("[\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019]", "write straight quotes"),
            (r"'", "texts stand in double quotes"),
            (r"memory\b", "an address is `memory:` and its number, without blanks: memory:42"),
            (r"tl\b|TL;DR|tldr\b", "write: tl;dr /* … */"),
            (rf"[&_@]?(?:{'|'.join(sorted(RESERVED))})\b", "this word means something else, and is no name"),
            (r"@\[[ \t\r\n]*\]", "an annotation says something: @[time: 12:30]"),
            (r"@\[", "this `@[` is not closed: its `]` is missing"),
            (r"@", "`@[…]` annotates, and `@faculty, procedure {…}` calls"),
            (r"/\*", "a description stands after `tl;dr`, or after the `=` of a handle"),
            (r"&(?![A-Za-z])", "a handle is `&` and a name, without blanks: &heat"),
            (r"!!", "a sensor report begins its statement: !! thermometer 30"),
            (r"//", "a comment stands between statements"),
            (r"/(?![/*])", "comments begin with `//`"),
            (r";", "statements need no `;` between them; remove it"),
            (r"True\b|False\b|None\b", "JSON has true, false and null"),
            (r"[+]?\d|\.\d|-", "a number is written as in JSON: 0.5"),
            BYTE_ORDER_MARK,
            OTHER_BLANKS,
        )
    )

    def too_deep(self, place: Place) -> str:
        """Make it flatter, or give a part of it a handle."""
        flatter = "give a part of it a handle: &part = /* … */" if place.found[0] == "t" else "write it flatter"
        return f"this is nested more than {MAX_NESTING} levels deep; {flatter}"

    def explain_special(self, place: Place) -> Finding | None:
        """A text or a description that is not closed."""
        text, offset = place.text, place.offset
        if text.startswith("/*", offset):
            if text.find("*/", offset + 2) >= 0:
                return None
            message = "this `/*` is not closed: its `*/` is missing"
            return Finding(message, CODE, Span(offset, offset + 2))
        begun = _TEXT.match(text, offset)
        if begun is None or text.startswith('"', begun.end()):
            return None
        end = begun.end()
        if text.startswith("\\", end):
            escape = text[end : end + 2]
            known = r"\" \\ \/ \b \f \n \r \t and \u with four digits"
            message = f"the escape `{shorten(escape)}` is not known; JSON has {known}"
            return Finding(message, CODE, Span(end, end + 2))
        message = 'this text is not closed: its second `"` is missing; a line break in it is written `\\n`'
        return Finding(message, CODE, Span(offset, end))

    def hints_for(self, place: Place) -> Iterable[str]:
        """What to do, by the place, or by what was found."""
        expected = set(place.stop.expected)
        missing = ""
        if "." in expected:
            missing = "a fact ends with a full stop, a question with `?`" if "?" in expected else _RULE_ENDS
        if not place.found:
            bracket = self.open_bracket(place)
            known = not_closed(place.source, bracket) if bracket is not None else ""
        else:
            known = hint_by_place(expected, place.before, place.found) or self.known_hint(place)
        return filter(None, [known or missing])

    def span(self, place: Place) -> Span:
        """A full stop is missed where it should stand, and not where the next line begins."""
        end = place.stop.before.end
        if place.found and "." in place.stop.expected and "\n" in place.text[end : place.offset]:
            return Span(end - 1, end)
        return super().span(place)


explain = PeteExplainer().explain


def beginning(source: Source, stop: Stopped) -> Finding:
    """What is wrong with a log that does not begin with a context."""
    text, offset = source.text, stop.offset
    if offset >= len(text):
        message = "a log begins with a context, and this one is empty; write: context main() {"
        return Finding(message, CODE, Span(max(offset - 1, 0), max(offset, 1)))
    word = PeteExplainer.word.match(text, offset, offset + MAX_WORD)
    found = word[0] if word else text[offset]
    hint = "write the log alone, without Markdown around it" if found == "```" else "write: context main() {"
    message = f"a log begins with a context but {describe_found(found)}; {hint}"
    return Finding(message, CODE, Span(offset, offset + len(found)))


def outside(source: Source, item: Item, closing: Item) -> Finding:
    """What is wrong with an item after the outermost context."""
    place = "{}:{}".format(*source.position(closing.span.start))
    if isinstance(item, Closing):
        return Finding(f"this `}}` closes no context; the outermost one ended at {place}", CODE, item.span)
    message = f"nothing stands after the outermost context, which ended at {place}; remove that `}}`, or what follows"
    return Finding(message, CODE, item.span)


def hint_by_place(expected: set[str], before: str, found: str) -> str:  # noqa: PLR0911 - one for each place
    """The hint for what was expected, and for the token before it."""
    if found in {">>", "memory"} or found.startswith(("#", "`")):
        return ""
    if expected == {"{", "["}:
        return "feedback is an object or an array"
    if found == "," and "Conjunction" in expected:
        return "predications are joined with `and`"
    if expected == {"("}:
        return "a context has parentheses, even without handles: context cool() {"
    if "Handle" in expected and ")" in expected and found[0].isalpha():
        return f"handles begin with `&`: &{shorten(found)}"
    if expected == {","} and before.startswith("@"):
        return f"write: {shorten(before)}, procedure {{…}}"
    if {"Address", "Description"} <= expected:
        return "a concept is described: &heat = /* the heat in the lab */"
    if "=" in expected and found in {".", "?"}:
        return "a predication has a subject, a predicate and an object; names of things begin with `&`"
    if expected in ({"String"}, {"String", "}"}):
        return "the keys of an object stand in double quotes, and no comma stands after the last"
    return ""
