"""The continuation of a log, read while a model writes it."""

from __future__ import annotations

import re
from typing import NamedTuple

from memorygraph.errors import Problem, Source, Span
from memorygraph.languages.engine.findings import locate_problem
from memorygraph.languages.engine.machine import Stopped
from memorygraph.languages.engine.patterns import compile_pattern
from memorygraph.languages.pete import syntax
from memorygraph.languages.pete.errors import explain
from memorygraph.languages.pete.items import MACHINE, RESERVED, read_item

MAX_UNREAD = 2_000  # characters after unreadable text, until reading gives up

# What is inside of a token that is not yet whole, as far as it is there; it leaves what ends it, or may end it.
_GOES_ON = {
    "line": re.compile(r"[^\r\n]*+"),
    "description": compile_pattern(r"(?:[^*]++|\*(?!/|\Z))*+"),
    "text": compile_pattern(r'(?:[^"\\\n]++|\\[\s\S])*+'),
    "note": re.compile(r"[^\]]*+"),
    "word": re.compile(r"[A-Za-z0-9_]*+"),
    "number": compile_pattern(r"(?:[A-Za-z0-9_]++|\.(?=[0-9]))*+"),
}
_ENDS = {"description": "*/", "text": '"', "note": "]"}
_BEGIN = re.compile(
    r'(?P<line>//|!!)|(?P<description>/\*)|(?P<note>@\[)|(?P<text>")|(?P<word>[&_@]|(?=[A-Za-z]))|(?P<number>[0-9])'
)
_MAX_RESERVED = max(map(len, RESERVED))


class _Step(NamedTuple):
    """How far the scan came, and where an item may end."""

    at: int
    cut: int | None = None


class Scanner:
    """Divides a text, as it comes, where an item may end; what the items are is for the grammar to say.

    >>> scanner = Scanner()
    >>> [scanner.feed(text) for text in ("&a has 3", ".", "5. se", "t {} ")]
    [[], [], ['&a has 3.5.'], [' set {}']]
    >>> scanner.rest
    ' '
    """

    def __init__(self) -> None:
        self.inside = ""  # which token is not yet whole
        self.length = 0  # of the rest
        self._done: list[str] = []  # what was scanned and not given away
        self._tail = ""  # what was not yet scanned
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

    def feed(self, text: str) -> list[str]:
        """The stretches of the text that are certain now: where one ends, an item may end."""
        self.length += len(text)
        text = self._tail + text
        stretches = []
        begin = at = 0
        while (step := self._step(text, at)) is not None:
            at, cut = step
            if cut is not None:
                stretches.append("".join([*self._done, text[begin:cut]]))
                self.length -= len(stretches[-1])
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
        start, at = at, MACHINE.layout_end(text, at)
        if at == len(text):
            return _Step(at) if at > start else None
        if text[at] in "/!@" and at + 1 == len(text):
            return None
        if self._kind and self._ended(text[at], text[at : at + 2]):
            return _Step(at, at)
        return self._begin_token(text, at)

    def _begin_token(self, text: str, at: int) -> _Step:
        self._kind = self._kind or text[at]
        self._count += 1
        found = _BEGIN.match(text, at)
        if found is None:
            return self._sign(text[at], at + 1)
        self.inside = str(found.lastgroup)
        return _Step(found.end())

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


class ContinuationReader:
    r"""Reads the continuation of a log while it is written, item by item.

    The pieces are the same, however the text is divided. After the end of the outermost context, everything is left
    in the `rest`, and so is what cannot be read, once there is a `problem`.

    >>> reader = ContinuationReader(depth=1)
    >>> [piece.text for text in ("&a eats", " &b. &a ha", "s 3.") for piece in reader.feed(text)]
    ['&a eats &b.']
    >>> [piece.text for piece in reader.finish()]
    [' &a has 3.']
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.problem: Problem | None = None
        self._scanner = Scanner()
        self._blanks = ""  # before what comes next, where they were given away by the scanner
        self._rest: list[str] = []  # what will not be read any more
        self._patience = MAX_UNREAD
        self._last: syntax.Item | syntax.Feedback | None = None
        self._line, self._before = 1, ""  # where the next piece begins: its line, and what stands before it there

    @property
    def rest(self) -> str:
        """The text that was not read as items."""
        return "".join([*self._rest, self._blanks, self._scanner.rest])

    def ended(self) -> bool:
        """Whether nothing more is read: the outermost context was closed, or there is a problem."""
        return self.depth == 0 or self.problem is not None

    def feed(self, text: str) -> list[syntax.Piece]:
        """The pieces that are certain now."""
        if self.ended():
            self._rest.append(text)
            return []
        pieces = [piece for stretch in self._scanner.feed(text) for piece in self._read(stretch)]
        if not self.ended() and self._scanner.length > self._patience and not self._scanner.inside:
            self._lose_patience()
        if self.ended():
            self._rest.append(self._take())
        return pieces

    def finish(self) -> list[syntax.Piece]:
        """The pieces that the end of the text makes certain."""
        return self._read(self._take())

    def _read(self, text: str) -> list[syntax.Piece]:
        """Read all of a text, which ends where an item does."""
        self._patience = MAX_UNREAD
        pieces: list[syntax.Piece] = []
        text, self._blanks = self._blanks + text, ""
        while text.strip(syntax.BLANKS) and not self.ended():
            result = read_item(text, rule=self._rule(text))
            if isinstance(result, Stopped):
                self._fail(text, result)
            else:
                pieces.append(self._piece(result.value, text))
                text = text[len(pieces[-1].text) :]
        if self.ended():
            self._rest.append(text)
        else:
            self._blanks = text
        return pieces

    def _take(self) -> str:
        """What came and was not yet read, to be read or left."""
        rest = self._blanks + self._scanner.rest
        self._scanner, self._blanks = Scanner(), ""
        return rest

    def _rule(self, text: str) -> str:
        """What a text begins with: feedback stands only after what can be answered."""
        asked = isinstance(self._last, (syntax.Command, syntax.Question))
        return "Feedback" if asked and text.lstrip(syntax.BLANKS).startswith(">>") else "Item"

    def _piece(self, item: syntax.Item | syntax.Feedback, text: str) -> syntax.Piece:
        """Take the item that a text begins with."""
        self._last = item
        self.depth += isinstance(item, syntax.Opening) - isinstance(item, syntax.Closing)
        verbatim = text[: item.span.end]
        lines = verbatim.count("\n")
        self._line += lines
        self._before = verbatim[verbatim.rfind("\n") + 1 :] if lines else self._before + verbatim
        return syntax.Piece(item, verbatim)

    def _lose_patience(self) -> None:
        """See whether what was not read for long cannot be read at all."""
        text = self._blanks + self._scanner.rest
        self._patience = 2 * len(text)
        result = read_item(text, rule=self._rule(text))
        if isinstance(result, Stopped) and (result.deep or len(text) - result.offset > MAX_UNREAD):
            self._fail(text, result)

    def _fail(self, text: str, stop: Stopped) -> None:
        """What came next cannot be read."""
        begin = len(self._before)
        source = Source(self._before + text, first_line=self._line)
        before = Span(*(place + begin for place in stop.before))
        finding = explain(source, stop._replace(offset=stop.offset + begin, before=before), begin)
        self.problem = locate_problem(finding, source)
