"""What a model writes, heard piece by piece: what of it continues the log, and where it has to stop.

A model may only say what it thinks and call for something: feedback and sensor reports that it writes are thrown away.
So is what belongs to no log: a Markdown fence around all of it, and the log itself, said again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from memorygraph.errors import Problem, Source, Span
from memorygraph.languages.pete.checks import check_program
from memorygraph.languages.pete.reading import Reader
from memorygraph.languages.pete.syntax import Closing, Command, Feedback, Item, Opening, Piece, Question, SensorReport

ANSWER = "answer"  # how problems call the text that a model wrote
MAX_STATEMENT = 20_000  # characters that a model may write without ending a statement
MAX_SPEECH = 50_000  # characters that a model may write at once
MAX_FENCE = 100  # characters of a line that opens a fence
FORGED_FEEDBACK = "the model wrote feedback, which only the system may; it was thrown away"
FORGED_REPORT = "the model wrote a sensor report, which only the system may; it was thrown away"
BEHIND_THE_END = "what the model wrote behind the end of the log was thrown away"
TOO_LONG = f"the model wrote more than {MAX_SPEECH:,} characters, and was stopped"
CUT_OFF = "the model had no room to end its last statement, which was thrown away"
ECHOED = "the model repeated the log before it went on; that was thrown away"

_HALF = re.compile("[\ud800-\udfff]")
_FENCE = "```"
_FENCE_END = re.compile(r"\n[ \t]*```")
_MAYBE_FENCE_END = re.compile(r"\n[ \t]*`{0,2}\Z")
_ALONE = frozenset({"invalid-number", "encoding", "unbound-variable"})  # what is wrong with an item wherever it is


@dataclass(frozen=True)
class Spoken:
    """What counts of an answer; it ends at the first thing that the system has to answer.

    `ends` are the places in `text` where the pieces end.
    """

    pieces: tuple[Piece, ...]
    ends: tuple[int, ...]
    text: str
    problem: Problem | None
    warnings: tuple[str, ...]

    def problem_at(self, number: int, message: str, code: str, span: Span) -> Problem:
        """What is wrong with a piece, at its place in what the model wrote."""
        end = self.ends[number]
        return _problem(self.text[:end], message, code, _shifted(span, end - self.pieces[number].item.span.end))


class Hearing:
    r"""Hears an answer that continues a log with so many open contexts, of which `seen` was shown.

    >>> hearing = Hearing(1, "context main() {")
    >>> [hearing.take(text) for text in ("``", "`\n&a likes", ' &b. set {"n": 1', "} >> {}")]
    [True, True, True, False]
    >>> [piece.text for piece in hearing.spoken().pieces]
    ['\n&a likes &b.', ' set {"n": 1}']
    """

    def __init__(self, depth: int, seen: str) -> None:
        self._reader = Reader(depth)
        self._wrapping = _Wrapping(seen)
        self._kept: list[Piece] = []
        self._ends: list[int] = []
        self._text: list[str] = []
        self._length = 0
        self._heard = self._fed = 0
        self._stopped = False
        self._problem: Problem | None = None
        self._warnings: dict[str, None] = {}

    def take(self, text: str) -> bool:
        """Hear more; whether still more is wanted."""
        self._heard += len(text)
        self._feed(self._wrapping.unwrapped(text))
        if not self._stopped and self._heard > MAX_SPEECH:
            self._warn(TOO_LONG)
            return False
        return not (self._stopped or self._wrapping.ended or self._unreadable() or self._behind_the_end())

    def end(self, *, cut: bool = False) -> None:
        """The answer has ended; if it was cut off, its last words are no statement."""
        self._feed(self._wrapping.rest())
        if not cut:
            self._read(self._reader.finish())
        elif self._reader.rest.strip() and not self._reader.ended:
            self._warn(CUT_OFF)
            if not self._kept:
                self._fail_at_rest(CUT_OFF, "cut-off")

    def spoken(self) -> Spoken:
        """What counts of it."""
        problem = self._problem or (None if self._stopped else self._reader.problem)
        if not self._stopped and problem is None:
            self._behind_the_end()
        if self._wrapping.echoed:
            self._warn(ECHOED)
        shown = replace(problem, file=ANSWER) if problem else None
        return Spoken(tuple(self._kept), tuple(self._ends), "".join(self._text), shown, tuple(self._warnings))

    def _feed(self, text: str) -> None:
        self._fed += len(text)
        self._read(self._reader.feed(text))

    def _read(self, pieces: Iterable[tuple[Item | Feedback, str]]) -> None:
        for item, text in pieces:
            self._text.append(text)
            self._length += len(text)
            if isinstance(item, Feedback | SensorReport):
                self._warn(FORGED_FEEDBACK if isinstance(item, Feedback) else FORGED_REPORT)
            elif not self._stopped:
                self._keep(Piece(item, text))

    def _keep(self, piece: Piece) -> None:
        flaw = _flaw(piece)
        if flaw is not None:
            message, code, span = flaw
            shift = self._length - piece.item.span.end
            self._problem = _problem("".join(self._text), message, code, _shifted(span, shift))
            self._stopped = True
            return
        self._kept.append(piece)
        self._ends.append(self._length)
        self._stopped = isinstance(piece.item, Command | Question)

    def _unreadable(self) -> bool:
        """Whether nothing more can be read."""
        if self._reader.problem is None and self._fed - self._length > MAX_STATEMENT:
            message = f"this does not end after {MAX_STATEMENT:,} characters; write shorter statements"
            self._fail_at_rest(message, "too-long")
        return self._problem is not None or self._reader.problem is not None

    def _fail_at_rest(self, message: str, code: str) -> None:
        text = "".join(self._text) + self._reader.rest
        start = len(text) - len(text[self._length :].lstrip())
        if start < len(text):
            self._problem = _problem(text, message, code, Span(start, start + 1))

    def _behind_the_end(self) -> bool:
        """Whether the model goes on behind the end of the log, where nothing can be."""
        behind = self._reader.depth == 0 and bool(self._reader.rest.strip())
        if behind:
            self._warn(BEHIND_THE_END)
        return behind

    def _warn(self, warning: str) -> None:
        self._warnings[warning] = None


class _Wrapping:
    """Takes away what is around the continuation: a Markdown fence, and the log before it."""

    def __init__(self, seen: str) -> None:
        self.ended = False
        self.echoed = False
        self._seen = seen.strip()
        self._begun = self._said = False
        self._fenced = False
        self._half = ""
        self._held = ""

    def unwrapped(self, text: str) -> str:
        """What is certainly a part of the continuation."""
        self._held += self._whole(text)
        if not self._begun:
            self._open()
        if self._begun and not self._said:
            self._hear_again()
        return self._body() if self._said else ""

    def rest(self) -> str:
        """What was held back when the answer ended."""
        rest, self._held = self._held + ("\ufffd" if self._half else ""), ""
        return "" if self.ended else rest

    def _whole(self, text: str) -> str:
        """Whole characters: some endpoints send the halves of one by themselves."""
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return without_halves(text)

    def _open(self) -> None:
        bare = self._held.lstrip()
        if _FENCE.startswith(bare):
            return
        if bare.startswith(_FENCE):
            first, line_break, rest = bare.partition("\n")
            if not line_break and len(first) < MAX_FENCE:
                return
            if line_break:
                self._fenced, self._held = True, line_break + rest
        self._begun = True

    def _hear_again(self) -> None:
        """Wait until it is clear whether the model repeats what it saw."""
        bare = self._held.lstrip()
        if len(bare) < len(self._seen) and self._seen.startswith(bare):
            return
        if self._seen and bare.startswith(self._seen):
            self.echoed = True
            self._held = bare[len(self._seen) :]
        self._said = True

    def _body(self) -> str:
        text, self._held = self._held, ""
        if not self._fenced:
            return text
        if self.ended:
            return ""
        end = _FENCE_END.search(text)
        if end:
            self.ended = True
            return text[: end.start()]
        maybe = _MAYBE_FENCE_END.search(text)
        if maybe:
            text, self._held = text[: maybe.start()], text[maybe.start() :]
        return text


def without_halves(text: str) -> str:
    r"""A text that can be encoded: halves of characters are put together, or replaced.

    >>> without_halves("\ud83d\ude00 \ud83d").encode()
    b'\xf0\x9f\x98\x80 \xef\xbf\xbd'
    """
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _flaw(piece: Piece) -> tuple[str, str, Span] | None:
    """What is wrong with an item in any log."""
    if isinstance(piece.item, Opening | Closing | Feedback):
        return None
    findings, _ = check_program([Opening("log"), piece.item], Source(piece.text))
    return next(((found.message, found.code, found.span) for found in findings if found.code in _ALONE), None)


def _shifted(span: Span, shift: int) -> Span:
    return Span(span.start + shift, span.end + shift)


def _problem(text: str, message: str, code: str, span: Span) -> Problem:
    return Source(text, ANSWER).problem(message, code, span)
