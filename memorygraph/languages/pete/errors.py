"""Where the reading of a log stopped, said so that a person, or the model that wrote it, knows what to do."""

from __future__ import annotations

import re

from memorygraph.errors import Source, Span
from memorygraph.languages.engine.findings import Finding, character, clipped
from memorygraph.languages.engine.machine import Stopped
from memorygraph.languages.pete.items import MAX_NESTING
from memorygraph.languages.pete.syntax import Closing, Item

TOO_DEEP = f"this is nested more than {MAX_NESTING} levels deep; "

_JSON = frozenset({"String", "Number", "Constant", "{", "["})
_ARGUMENT = _JSON | {"Handle", "Unknown", "Address", "that"}
_STATEMENT = _ARGUMENT | {"Thought", "Report", "tl;dr", "context", "Note", "Faculty", "Identifier"}
# Tokens that stand for something larger: where the first ones may come, that may come.
_GROUPS = (
    ({"Thought"}, "a statement", _STATEMENT),
    ({"Unknown"}, "a handle, a variable or a value", _ARGUMENT),
    ({"Constant"}, "a JSON value", _JSON),
    ({"Negator"}, "a predicate", {"Identifier"}),
    ({"Address", "Description"}, "`/* … */`, `memory:` with a number, or an abbreviated context", {"context"}),
    ({".", "?"}, "`.`, `?` or `if`", {".", "?", "If", "Conjunction"}),
)
_NAMES = {
    "Identifier": "a name",
    "Handle": "a handle such as `&heat`",
    "String": "a text in double quotes",
    "Address": "`memory:` with a number",
    "Description": "`/* … */`",
    "Conjunction": "`and`",
}
_RESERVED = "context|that|tl|not|and|or|but|true|false|null|memory"
_STATEMENTS = "`@[…]` annotates, and `@faculty, procedure {…}` calls"
# What is known about what was found, by how it reads.
_HINTS = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (r"#", "comments begin with `//`"),
        (r"```", "write the log alone, without Markdown around it"),
        (r">>", "feedback stands directly behind a command or a question"),
        ("(?<=n)[\u2019\u2018\u02bc\u00b4`](?=t)", "write a straight apostrophe: doesn't"),
        (r"\w+n't\b", "write: doesn't, don't or not"),
        ("[\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019]", "write straight quotes"),
        (r"'", "texts stand in double quotes"),
        (r"memory\b", "an address is `memory:` and its number, without blanks: memory:42"),
        (r"tl\b|TL;DR|tldr\b", "write: tl;dr /* … */"),
        (rf"[&_@]?(?:{_RESERVED})\b", "this word means something else, and is no name"),
        (r"@\[[ \t\r\n]*\]", "an annotation says something: @[time: 12:30]"),
        (r"@\[", "this `@[` is not closed: its `]` is missing"),
        (r"@", _STATEMENTS),
        (r"/\*", "a description stands behind `tl;dr`, or behind the `=` of a handle"),
        (r"&(?![A-Za-z])", "a handle is `&` and a name, without blanks: &heat"),
        (r"!!", "a sensor report begins its statement: !! thermometer 30"),
        (r"//", "a comment stands between statements"),
        (r"/(?![/*])", "comments begin with `//`"),
        (r";", "statements need no `;` between them; remove it"),
        (r"True\b|False\b|None\b", "JSON has true, false and null"),
        (r"[+]?\d|\.\d|-", "a number is written as in JSON: 0.5"),
        ("\ufeff", "remove this byte order mark; it may only stand at the very start"),
    )
)
_FOUND = re.compile(r"[&_@]?[^\W_][\w']*|>>|!!|/\*|//|```")
_TEXT = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+')
_PIECE = re.compile(
    r'"(?:[^"\\]++|\\.)*+"|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/|//[^\n]*+|!![^\n]*+|@\[[^\]]*+\]|([{}()\[\]])'
)


def explained(source: Source, stop: Stopped, start: int) -> Finding:
    """What is wrong with the item that begins at `start`."""
    text, offset = source.text, stop.offset
    if stop.deep:
        flatter = "give a part of it a handle: &part = /* … */" if text[offset] == "t" else "write it flatter"
        return Finding(TOO_DEEP + flatter, "nesting-too-deep", Span(offset, offset + 1))
    unclosed = _unclosed_token(text, offset)
    if unclosed is not None:
        return unclosed
    message = f"expected {_either(_expected(stop.expected))} but "
    if offset >= len(text):
        span = Span(max(stop.before.end - 1, 0), max(stop.before.end, 1))
        bracket = _open_bracket(text, start, offset)
        place = "{}:{}".format(*source.position(bracket)) if bracket is not None else ""
        hint = f"; `{text[bracket]}` at {place} is not closed" if bracket is not None else _missing(stop.expected)
        return Finding(f"{message}the text ends{hint}", "syntax", span)
    found = _found(text, offset)
    hint = _hint(text, stop, found)
    message += f"found {f'`{clipped(found)}`' if len(found) > 1 else character(found)}{hint}"
    if "." in stop.expected and "\n" in text[stop.before.end : offset]:
        # A full stop is missed where it should stand, and not where the next line begins.
        return Finding(message, "syntax", Span(stop.before.end - 1, stop.before.end))
    return Finding(message, "syntax", Span(offset, offset + len(found)))


def beginning(source: Source, stop: Stopped) -> Finding:
    """What is wrong with a log that does not begin with a context."""
    text, offset = source.text, stop.offset
    if offset >= len(text):
        message = "a log begins with a context, and this one is empty; write: context main() {"
        return Finding(message, "syntax", Span(max(offset - 1, 0), max(offset, 1)))
    found = _found(text, offset)
    hint = "write the log alone, without Markdown around it" if found == "```" else "write: context main() {"
    shown = f"`{clipped(found)}`" if len(found) > 1 else character(found)
    return Finding(
        f"a log begins with a context but found {shown}; {hint}", "syntax", Span(offset, offset + len(found))
    )


def outside(source: Source, item: Item, closing: Item) -> Finding:
    """What is wrong with an item behind the outermost context."""
    place = "{}:{}".format(*source.position(closing.span.start))
    if isinstance(item, Closing):
        return Finding(f"this `}}` closes no context; the outermost one ended at {place}", "syntax", item.span)
    message = f"nothing stands behind the outermost context, which ended at {place}; remove that `}}`, or what follows"
    return Finding(message, "syntax", item.span)


def _found(text: str, offset: int) -> str:
    found = _FOUND.match(text, offset, offset + 100)
    return found[0] if found else text[offset]


def _unclosed_token(text: str, offset: int) -> Finding | None:
    """A text or a description that begins at a place, and does not end."""
    if text.startswith("/*", offset):
        if text.find("*/", offset + 2) >= 0:
            return None
        message = "this `/*` is not closed: its `*/` is missing"
        return Finding(message, "syntax", Span(offset, offset + 2))
    begun = _TEXT.match(text, offset)
    if begun is None or text.startswith('"', begun.end()):
        return None
    end = begun.end()
    if text.startswith("\\", end):
        escape = text[end : end + 2]
        known = r"\" \\ \/ \b \f \n \r \t and \u with four digits"
        message = f"the escape `{clipped(escape)}` is not known; JSON has {known}"
        return Finding(message, "syntax", Span(end, end + 2))
    message = 'this text is not closed: its second `"` is missing; a line break in it is written `\\n`'
    return Finding(message, "syntax", Span(offset, end))


def _expected(names: tuple[str, ...]) -> list[str]:
    """What would have fitted, in the words of the language."""
    left = set(names)
    said = []
    for begins, name, members in _GROUPS:
        if begins <= left:
            left -= begins | members
            said.append(name)
    return [*said, *(_NAMES.get(name, f"`{name}`") for name in names if name in left)]


def _either(options: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(options[:-1]), *options[-1:]]))


def _missing(expected: tuple[str, ...]) -> str:
    question = ", a question with `?`" if "?" in expected else ""
    return f"; a {'fact' if question else 'rule'} ends with a full stop{question}" if "." in expected else ""


def _hint(text: str, stop: Stopped, found: str) -> str:
    """The end of the message: what to do, as far as it can be told."""
    hint = _by_place(set(stop.expected), text[slice(*stop.before)], found)
    for pattern, known in _HINTS:
        if not hint and pattern.match(text, stop.offset):
            hint = known
    return f"; {hint}" if hint else _missing(stop.expected)


def _by_place(expected: set[str], before: str, found: str) -> str:  # noqa: PLR0911 - one for each place
    """What is known from what was expected, and what stands before it."""
    if found in {">>", "memory"} or found.startswith(("#", "`")):
        return ""
    if expected == {"{", "["}:
        return "feedback is an object or an array"
    if found == "," and "Conjunction" in expected:
        return "predications are joined with `and`"
    if expected == {"("}:
        return "a context has parentheses, even without handles: context cool() {"
    if "Handle" in expected and ")" in expected and found[0].isalpha():
        return f"handles begin with `&`: &{clipped(found)}"
    if expected == {","} and before.startswith("@"):
        return f"write: {clipped(before)}, procedure {{…}}"
    if {"Address", "Description"} <= expected:
        return "a concept is described: &heat = /* the heat in the lab */"
    if "=" in expected and found in {".", "?"}:
        return "a predication has a subject, a predicate and an object; names of things begin with `&`"
    if expected in ({"String"}, {"String", "}"}):
        return "the keys of an object stand in double quotes, and no comma stands behind the last"
    return ""


def _open_bracket(text: str, start: int, end: int) -> int | None:
    """The innermost bracket that is open at the end of a stretch."""
    brackets: list[int] = []
    for piece in _PIECE.finditer(text, start, end):
        if piece[1] and piece[1] in "{([":
            brackets.append(piece.start())
        elif piece[1] and brackets:
            brackets.pop()
    return brackets[-1] if brackets else None
