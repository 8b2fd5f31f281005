"""The continuation of a log, read while a model writes it."""

from __future__ import annotations

from memorygraph.errors import Problem, Source, Span
from memorygraph.languages.engine.findings import locate_problem
from memorygraph.languages.engine.machine import Stopped
from memorygraph.languages.pete import syntax
from memorygraph.languages.pete.errors import explain
from memorygraph.languages.pete.items import BLANKS, builds_for, read_item
from memorygraph.languages.pete.scanning import Scanner

MAX_UNREAD = 2_000  # characters after unreadable text, until reading gives up


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

    @property
    def ended(self) -> bool:
        """Whether nothing more is read: the outermost context was closed, or there is a problem."""
        return self._over()

    def _over(self) -> bool:
        return self.depth == 0 or self.problem is not None

    def feed(self, text: str) -> list[syntax.Piece]:
        """The pieces that are certain now."""
        if self._over():
            self._rest.append(text)
            return []
        pieces: list[syntax.Piece] = []
        for stretch in self._scanner.feed(text):
            if self._over():
                self._rest.append(stretch)
            else:
                pieces += self._read(stretch)
        if not self._over() and self._scanner.length > self._patience and not self._scanner.inside:
            self._lose_patience()
        if self._over():
            self._rest.append(self._take())
        return pieces

    def finish(self) -> list[syntax.Piece]:
        """The pieces that the end of the text makes certain."""
        if self._over():
            return []
        return self._read(self._take())

    def _read(self, text: str) -> list[syntax.Piece]:
        """Read all of a text, which ends where an item does."""
        self._patience = MAX_UNREAD
        pieces: list[syntax.Piece] = []
        text, self._blanks = self._blanks + text, ""
        while text.strip(BLANKS) and not self._over():
            result = read_item(text, builds_for(text), 0, self._rule(text))
            if isinstance(result, Stopped):
                self._fail(text, result)
            else:
                pieces.append(self._piece(result.value, text))
                text = text[len(pieces[-1].text) :]
        if self._over():
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
        answered = isinstance(self._last, (syntax.Command, syntax.Question)) and text.lstrip(BLANKS).startswith(">>")
        return "Feedback" if answered else "Item"

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
        result = read_item(text, builds_for(text), 0, self._rule(text))
        if isinstance(result, Stopped) and (result.deep or len(text) - result.offset > MAX_UNREAD):
            self._fail(text, result)

    def _fail(self, text: str, stop: Stopped) -> None:
        """What came next cannot be read."""
        begin = len(self._before)
        source = Source(self._before + text, first_line=self._line)
        before = Span(*(place + begin for place in stop.before))
        finding = explain(source, stop._replace(offset=stop.offset + begin, before=before), begin)
        self.problem = locate_problem(finding, source)
