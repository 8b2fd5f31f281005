"""Where the items of a log end, found while its text is still coming.

This knows as much of the language as it takes to see that the tokens up to some place are whole, and that an item may
end there. What the items are is for the grammar to say.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memorygraph.languages.pete.items import RESERVED

_BLANKS = re.compile(r"[ \t\r\n]*+")
# What is inside of a token that is not yet whole, as far as it is there; it leaves what ends it, or may end it.
_GOES_ON = {
    "line": re.compile(r"[^\n]*+"),
    "description": re.compile(r"(?:[^*]++|\*(?!/|\Z))*+"),
    "text": re.compile(r'(?:[^"\\\n]++|\\[\s\S])*+'),
    "note": re.compile(r"[^\]]*+"),
    "word": re.compile(r"[A-Za-z0-9_]*+"),
    "number": re.compile(r"(?:[A-Za-z0-9_]++|\.(?=[0-9]))*+"),
}
_ENDS = {"description": "*/", "text": '"', "note": "]"}
_BEGIN = {"//": "line", "!!": "line", "/*": "description", "@[": "note"}
_MAX_RESERVED = max(map(len, RESERVED))


class _Step(NamedTuple):
    """How far the scan came, and where an item may end."""

    at: int
    cut: int | None = None


class Scanner:
    """Divides a text, as it comes, where an item may end.

    >>> scanner = Scanner()
    >>> [scanner.feed(text) for text in ("&a has 3", ".", "5. se", "t {} ")]
    [[], [], ['&a has 3.5.'], [' set {}']]
    >>> scanner.rest
    ' '
    """

    def __init__(self) -> None:
        self.inside = ""  # which token is not yet whole
        self._done: list[str] = []  # what was scanned and not given away
        self._tail = ""  # what was not yet scanned
        self._length = 0
        self._begin_item()

    def _begin_item(self) -> None:
        self._kind = ""  # what the item begins with
        self._word = ""  # its first word, or the one after its `=`, as far as it matters
        self._count = 0  # its tokens, or those after its `=`
        self._valued = False  # whether it has an `=`
        self._brackets = 0  # how many are open

    @property
    def rest(self) -> str:
        """What came and was not given away."""
        return "".join([*self._done, self._tail])

    @property
    def length(self) -> int:
        """The length of the rest."""
        return self._length

    def feed(self, text: str) -> list[str]:
        """The stretches of the text that are certain now: where one ends, an item may end."""
        self._length += len(text)
        text = self._tail + text
        stretches = []
        begin = at = 0
        while (step := self._step(text, at)) is not None:
            at, cut = step
            if cut is not None:
                stretches.append("".join([*self._done, text[begin:cut]]))
                self._length -= len(stretches[-1])
                self._done, begin = [], cut
                self._begin_item()
        if at > begin:
            self._done.append(text[begin:at])
        self._tail = text[at:]
        return stretches

    def _step(self, text: str, at: int) -> _Step | None:
        """Scan one token, or a part of it; None where that takes more text."""
        if self.inside:
            return self._go_on(text, at)
        start, at = at, self._blanks_end(text, at)
        if at == len(text):
            return _Step(at) if at > start else None
        if text[at] in "/!@" and at + 1 == len(text):
            return None
        if self._kind and self._ended(text[at], text[at : at + 2]):
            return _Step(at, at)
        return self._begin_token(text, at)

    @staticmethod
    def _blanks_end(text: str, at: int) -> int:
        found = _BLANKS.match(text, at)
        return found.end() if found else at

    def _begin_token(self, text: str, at: int) -> _Step:
        sign, pair = text[at], text[at : at + 2]
        self._kind = self._kind or sign
        self._count += 1
        if pair in _BEGIN:
            self.inside = _BEGIN[pair]
            return _Step(at + 2)
        if sign == '"':
            self.inside = "text"
        elif sign in "&_@" or (sign.isascii() and sign.isalpha()):
            self.inside = "word"
            return _Step(at if sign.isalpha() else at + 1)
        elif sign.isascii() and sign.isdigit():
            self.inside = "number"
        else:
            return self._sign(sign, at + 1)
        return _Step(at + 1)

    def _go_on(self, text: str, at: int) -> _Step | None:
        """Scan the inside of a token that has begun."""
        inside = self.inside
        found = _GOES_ON[inside].match(text, at)
        start, at = at, found.end() if found else at
        if inside == "word" and self._count == 1 and len(self._word) <= _MAX_RESERVED:
            self._word += text[start:at]
        end = _ENDS.get(inside, "")
        if at == len(text) or (
            inside in {"number", "description", "text"} and at + 1 == len(text) and text[at] in ".*\\"
        ):
            return _Step(at) if at > start else None
        self.inside = ""
        if inside == "word" and self._count == 1 and self._kind.isalpha() and not self._valued:
            self._kind = self._word if self._word in RESERVED else "word"
        whole = text.startswith(end, at)
        cut = inside in {"line", "description", "note"} or not whole
        at += len(end) if whole else 0
        return _Step(at, at if cut else None)

    def _sign(self, sign: str, end: int) -> _Step:
        """Take a token of one character, which ends at a place."""
        ends = False
        if sign in "{[":
            ends = sign == "{" and self._kind == "context"
            self._brackets += 1
        elif sign in "]}":
            self._brackets = max(self._brackets - 1, 0)
            ends = not self._brackets and self._kind in {"word", "@", ">", "}"}
        elif sign in ".?":
            ends = not self._brackets
        elif sign == "=" and not self._brackets:
            self._valued, self._count, self._word = True, 0, ""
        return _Step(end, end if ends else None)

    def _ended(self, sign: str, pair: str) -> bool:
        """Whether the item must have ended before the token that begins so."""
        if self._brackets:
            return False
        if sign == "}":
            return True
        if self._valued:
            # Behind `memory`, `:` and the number; but a context has its own `=`.
            return self._count == 3 and self._word != "context" and pair != "/*"
        bare = self._count == {"word": 1, "@": 3}.get(self._kind)
        return bare and sign not in "{['"
