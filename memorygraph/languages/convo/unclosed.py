"""What is open at a place of a conversation: brackets, insertions, texts. Only error messages need it.

It has a scanner of its own, since the place may be one where the grammar cannot go on.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_CODE = re.compile(
    r"""(?P<comment>//[^\n]*+|\#[^\n]*+)|(?P<double>"(?:[^"\\]++|\\[\s\S])*+"?+)|(?P<dashes>-{3,}+)|(?P<single>')
    |(?P<open>[(\[{])|(?P<close>\}\}|[)\]}])|(?P<tag>@[^\n=]*+)|(?P<head>>)|[^"'()\[\]{}\#/>@-]++|[\s\S]""",
    re.VERBOSE,
)
_QUOTED = re.compile(r"(?:[^'\\{]++|\\[\s\S]|\{(?!\{))*+(?P<stop>'|\{\{|\\?\Z)")
_TEXT = re.compile(r"(?:[^\\{]++|(?:\\\\)*+\\\{\{|\\++|\{(?!\{))*+(?P<stop>\{\{|\Z)")
_TEXT_HEAD = re.compile(
    r">[ \t]*+(?!(?:do|define|result|thinkingResult|debug|end|target|make|stage|app)(?![\w!])|\w+!"
    r"|(?:\w+[ \t]++)?\w+[ \t]*+\()\w++[^\n]*+"
)
_WHOLE = re.compile(r'"(?:[^"\\]++|\\[\s\S])*+"')
_LINE = re.compile(r"[^\n]*+")
_HEAD_INSIDE = re.compile(r"\n[ \t]*+>")
_WORD = re.compile(r"\w")
_CLOSES = {")": "(", "]": "[", "}": "{", "}}": "{{"}


class OpenBrackets(NamedTuple):
    """The places of the brackets that are open, the innermost last; which of them are insertions (`{{`).

    `quote` is where a text begins that is not closed, `broken` where one ends inside a word before that, and `tag`
    where the tag begins that the place belongs to.
    """

    brackets: tuple[int, ...] = ()
    insertions: frozenset[int] = frozenset()
    quote: int | None = None
    tag: int | None = None
    broken: int | None = None


class OpenScanner:
    """Goes from the start of a message to a place. `stack` has the kind and the start of what is open."""

    def __init__(self, text: str, start: int, end: int, *, plain: bool) -> None:
        self.text, self.end = text, end
        self.position = start
        self.stack: list[tuple[str, int]] = [("text", start)] if plain else []
        self.quote: int | None = None
        self.tag: int | None = None
        self.broken: int | None = None

    def run(self) -> None:
        """Scan up to the place, or to a text that is not closed."""
        while self.position < self.end and self.quote is None:
            kind = self.stack[-1][0] if self.stack else ""
            if kind == "'":
                self.read_quoted()
            elif kind == "text":
                self.read_text()
            else:
                self.read_code()

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
        self.position = found.end() if found else self.end
        if found and found["stop"] == "{{":
            self.stack.append(("{{", self.position - 2))
        else:
            self.position = self.end

    def read_code(self) -> None:
        """Read one token of code."""
        found = _CODE.match(self.text, self.position)
        if found is None:
            self.position = self.end
            return
        start, self.position = found.span()
        match found.lastgroup:
            case "double" if _WHOLE.fullmatch(found[0]):
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
        count = min(len(dashes), 5)
        closing = re.compile(rf"[^\n]*?-{{{count}}}|[\s\S]*?\n[ \t]*+-{{{count}}}")
        found = closing.match(self.text, self.position)
        if found is None:
            self.quote = start
        else:
            self.position = found.end()
            while self.text.startswith("-", self.position):
                self.position += 1

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


def open_at(text: str, start: int, end: int, *, plain: bool) -> OpenBrackets:
    r"""What is open at the end of a stretch that begins with a message, or with its tags.

    >>> open_at("> user\nHi {{f(x", 0, 15, plain=False).brackets
    (10, 13)
    """
    scanner = OpenScanner(text, start, end, plain=plain)
    scanner.run()
    stack = [one for one in scanner.stack if one[0] not in {"text", "'"}]
    quote = scanner.quote
    if quote is None and end >= len(text) and scanner.stack and scanner.stack[-1][0] == "'":
        quote = scanner.stack[-1][1]
    inside = frozenset(place for kind, place in stack if kind == "{{")
    broken = scanner.broken if quote is not None else None
    return OpenBrackets(tuple(place for _, place in stack), inside, quote, scanner.tag, broken)
