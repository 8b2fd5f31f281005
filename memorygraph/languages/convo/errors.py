"""Syntax errors of Convo-Lang: its words for what was expected, and what it knows about what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memorygraph.errors import Span
from memorygraph.languages.convo.text import begins_line
from memorygraph.languages.engine.explain import (
    BYTE_ORDER_MARK,
    CODE,
    OTHER_BLANKS,
    Explainer,
    Group,
    Optional,
    Place,
    not_closed,
    unclosed_text,
)
from memorygraph.languages.engine.findings import Finding
from memorygraph.languages.engine.patterns import compile_pattern

_HEADS = frozenset({"CallStart", "FunctionStart", "CodeStart", "TextStart"})
_TAGS = frozenset({"CodeTagStart", "TagLine"})
_VALUE = frozenset(
    {"Quote", "DoubleQuote", "HeredocText", "Numeral", "ConstantName", "Callee", "Variable", "{", "["}
    | {"PromptStart", "EmbedStart"}
)
# Tokens that stand for something larger: where all of the first ones may come, that may come.
_GROUPS = (
    Group({"Label", "Variable"}, "an argument", _VALUE | {"Label", "Target"}),
    Group({"Target", "Variable"}, "a statement", _VALUE | {"Target", "StatementLabel"}),
    Group({"Variable"}, "a value", _VALUE),
    Group(_TAGS, "a tag", _TAGS),
    Group(_HEADS, "a message such as `> user`", _HEADS),
)
_NAMES = {
    "Label": "a key",
    "ParameterName": "a parameter",
    "ParameterType": "the type of the parameter",
    "ReturnType": "a type",
    **dict.fromkeys(("TextRest", "QuoteRest", "PlainRest", "PromptRest", "EmbedRest"), "`}}`"),
}
# These may stand nearly everywhere, so that they are never what is missing.
_ALWAYS = frozenset({"Note", "Separator", "ParameterType", "{{", "MarkLine", "Member", "<<"})
_OPERATORS = "there are no operators; write {}"
# What is known about what was found, by how it reads.
_HINTS = tuple(
    (compile_pattern(pattern), hint)
    for pattern, hint in (
        (r"==|=>", _OPERATORS.format("eq(a b)")),
        (r"!=", _OPERATORS.format("neq(a b)")),
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
        (r"\?", _OPERATORS.format("if(a) then(b) else(c)")),
        (r"=", "a variable is set by `name = value`"),
        (r"\(", "parentheses belong to the call of a function: name(…)"),
        (r":", "labels belong to arguments; a variable is set by `name = value`"),
        (r"\$", "names are made of letters, digits and `_`"),
        (r"```", "write the conversation alone, without Markdown around it"),
        ("[\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019`]", "write straight quotes"),
        BYTE_ORDER_MARK,
        OTHER_BLANKS,
    )
)
_WORD = re.compile(r"\w+")
_EMPTY_HEAD = re.compile(r">[ \t]*+(?:\r?\n|\Z)")


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
        self._opened = OpenScanner("", 0, 0, plain=plain)

    def too_deep(self, place: Place) -> str:  # noqa: ARG002
        """Name a part."""
        return "this is nested too deep; give a part of it a name: part = …"

    def explain_special(self, place: Place) -> Finding | None:
        """A text that is not closed, or a tag that the end of its line cuts off."""
        text, offset = place.text, place.offset
        self._opened = opened = OpenScanner(text, place.start, offset, plain=self._plain)
        dashes = text.startswith("---", offset) and "HeredocText" in place.stop.expected
        quote = offset if dashes else opened.quote
        if quote is None:
            line_end = text.find("\n", opened.tag) if opened.tag is not None else -1
            return self.explain_cut_tag(place, line_end) if 0 <= line_end < offset else None
        if opened.broken is not None:
            message = f"this text ends inside a word; in it, write `\\{text[opened.broken]}`"
            return Finding(message, CODE, Span(opened.broken, opened.broken + 1))
        finding = unclosed_text(text, quote)
        if text.startswith("---", quote):
            message = "this text between dashes is not closed: write a line of as many dashes below it"
            return finding._replace(message=message)
        return finding

    def hints_for(self, place: Place) -> Iterable[str]:
        """What to do about what was found, and which bracket is open."""
        return filter(None, (self.hint(place), self.hint_for_bracket(place)))

    def explain_cut_tag(self, place: Place, line_end: int) -> Finding:
        """A tag that the end of its line cuts off."""
        end = min(max(place.stop.before.end, 1), line_end)
        expected = self.expected(name for name in place.stop.expected if name not in _HEADS | _TAGS)
        message = f"expected {expected} but the line ends; a tag is one line"
        if self._opened.bracket is not None:
            message += f"; {not_closed(place.source, *self._opened.bracket)}"
        return Finding(message, CODE, Span(end - 1, end))

    def hint(self, place: Place) -> str:
        """What to do about what was found."""
        text, offset, expected, opened = place.text, place.offset, place.stop.expected, self._opened
        if text.startswith(">", offset) and begins_line(text, offset):
            return "" if opened.bracket else hint_for_head(text, offset)
        if place.found in {")", "]", "}"}:
            inside = opened.bracket is not None and opened.bracket[1] != "{{"
            return "" if inside else f"this `{place.found}` closes nothing; remove it"
        if "TextStart" in expected and "Target" not in expected:
            return "a text belongs to a message; write a head above it, such as `> user`"
        known = self.known_hint(place)
        if not known and "Label" in expected and "Variable" not in expected and place.found:
            return "a map has keys: { key: value }"
        return known

    def hint_for_bracket(self, place: Place) -> str:
        """The open bracket, where nothing else explains the error."""
        if self._opened.bracket is None:
            return ""
        at, kind = self._opened.bracket
        ends = not place.found or (place.found in {")", "]", "}"} and kind != "{{")
        begins = place.found in {">", "@"} and begins_line(place.text, place.offset)
        return not_closed(place.source, at, kind) if ends or begins else ""


def hint_for_head(text: str, offset: int) -> str:
    """What to do about a line that begins with `>`."""
    escaped = r"in a text, write `\>` at the start of a line"
    if _EMPTY_HEAD.match(text, offset):
        return f"a message has a role, such as `> user`; {escaped}"
    return f"a line that begins with `>` is the head of a message; {escaped}"


# What is open at a place. The scanner is its own, since the place may be one where the grammar cannot go on.

_TOKEN = compile_pattern(
    r"""(?P<comment>//[^\n]*+|\#[^\n]*+)|(?P<double>"(?:[^"\\]++|\\[\s\S])*+"?+)|(?P<dashes>-{3,}+)|(?P<single>')
    |(?P<open>[(\[{])|(?P<close>\}\}|[)\]}])|(?P<tag>@[^\n=]*+)|(?P<head>>)|[^"'()\[\]{}\#/>@-]++|[\s\S]""",
    re.VERBOSE,
)
_QUOTED = compile_pattern(r"(?:[^'\\{]++|\\[\s\S]|\{(?!\{))*+(?P<stop>'|\{\{|\\?\Z)")
_TEXT = compile_pattern(r"(?:[^\\{]++|(?:\\\\)*+\\\{\{|\\++|\{(?!\{))*+(?P<stop>\{\{|\Z)")
_TEXT_HEAD = re.compile(
    r">[ \t]*+(?!(?:do|define|result|thinkingResult|debug|end|target|make|stage|app)(?![\w!])|\w+!"
    r"|(?:\w+[ \t]++)?\w+[ \t]*+\()\w++[^\n]*+"
)
_DOUBLE_QUOTED = compile_pattern(r'"(?:[^"\\]++|\\[\s\S])*+"')
_LINE = re.compile(r"[^\n]*+")
_HEAD_INSIDE = re.compile(r"\n[ \t]*+>")
_CLOSES = {")": "(", "]": "[", "}": "{", "}}": "{{"}


class OpenScanner:
    r"""Finds what is open at the end of a stretch that begins with a message, or with its tags.

    >>> OpenScanner("> user\nHi {{f(x", 0, 15, plain=False).stack
    [('text', 0), ('{{', 10), ('(', 13)]
    """

    def __init__(self, text: str, start: int, end: int, *, plain: bool) -> None:
        self.text, self.position, self.end = text, start, end
        self.stack: list[tuple[str, int]] = [("text", start)] if plain else []  # the kind and the place of each
        self.quote: int | None = None  # where a text begins that is not closed
        self.broken: int | None = None  # where a text ends inside a word before that
        self.tag: int | None = None  # where the tag begins that the place belongs to
        while self.position < self.end and self.quote is None:
            kind = self.stack[-1][0] if self.stack else ""
            if kind == "'":
                self.read_quoted()
            elif kind == "text":
                self.read_text()
            else:
                self.read_code()
        if self.quote is None and end >= len(text) and self.stack and self.stack[-1][0] == "'":
            self.quote = self.stack[-1][1]
        if self.quote is None:
            self.broken = None

    @property
    def bracket(self) -> tuple[int, str] | None:
        """The place and the kind of the innermost bracket that is open; an insertion has `{{`."""
        return next(((place, kind) for kind, place in reversed(self.stack) if kind not in {"text", "'"}), None)

    def read_quoted(self) -> None:
        """Read on in a text in single quotes, up to its end or an insertion."""
        start = self.stack[-1][1]
        found = _QUOTED.match(self.text, self.position)
        stop = found["stop"] if found else ""
        self.position = found.end() if found else self.end
        if stop == "{{":
            self.stack.append(("{{", self.position - 2))
        elif stop == "'":
            self.stack.pop()
            self.suspect(start)
        else:
            self.quote = start

    def read_text(self) -> None:
        """Read on in the text of a message, up to its end or an insertion."""
        found = _TEXT.match(self.text, self.position, self.end + 2)
        self.position = self.end
        if found and found["stop"] == "{{":
            self.position = found.end()
            self.stack.append(("{{", self.position - 2))

    def read_code(self) -> None:
        """Read one token of code."""
        found = _TOKEN.match(self.text, self.position)
        if found is None:
            self.position = self.end
            return
        start, self.position = found.span()
        match found.lastgroup:
            case "double" if _DOUBLE_QUOTED.fullmatch(found[0]):
                self.suspect(start)
            case "double":
                self.quote = start
            case "dashes":
                self.read_dashes(start, found[0])
            case "single":
                self.stack.append(("'", start))
            case "open":
                self.stack.append((found[0], start))
            case "close":
                self.close(found[0])
            case "tag" | "head" if not self.stack:
                self.begin(start, head=found.lastgroup == "head")

    def read_dashes(self, start: int, dashes: str) -> None:
        """Read a text between dashes."""
        closing = compile_pattern(rf"(?:[^\n]*?|[\s\S]*?\n[ \t]*+)-{{{min(len(dashes), 5)},}}+")
        found = closing.match(self.text, self.position)
        if found is None:
            self.quote = start
        else:
            self.position = found.end()

    def close(self, bracket: str) -> None:
        """Close the innermost bracket, if this one closes it; in code, `}}` may be two braces."""
        if bracket == "}}" and not (self.stack and self.stack[-1][0] == "{{"):
            self.position -= 1
            bracket = "}"
        if self.stack and self.stack[-1][0] == _CLOSES[bracket]:
            self.stack.pop()

    def begin(self, start: int, *, head: bool) -> None:
        """Begin a tag, or a message with its head."""
        self.tag = None if head else start
        found = _TEXT_HEAD.match(self.text, start) if head else None
        if found is not None:
            self.position = found.end()
            self.stack.append(("text", start))
        elif head:
            # A role such as `to!` and the target after it are no code.
            line = _LINE.match(self.text, start)
            bracket = self.text.find("(", start, line.end() if line else start)
            self.position = bracket if bracket >= 0 else line.end() if line else self.end

    def suspect(self, start: int) -> None:
        """Suspect a text that goes over the head of a message, or ends inside a word: it lost its second quote."""
        inside = self.text[start : self.position]
        if "\n" in inside and (_HEAD_INSIDE.search(inside) or _WORD.match(self.text, self.position)):
            self.quote = start
        elif self.broken is None and _WORD.match(self.text, self.position):
            self.broken = self.position - 1
