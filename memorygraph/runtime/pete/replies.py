"""Reads what a model writes, piece by piece: what of it continues the log, and where it has to stop.

Thrown away are feedback and sensor reports, what the model thinks before it writes, a Markdown fence around all of
it, and the log itself, said again.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Iterable
from dataclasses import dataclass, replace

from memorygraph.errors import Problem, Source, Span
from memorygraph.languages.engine.findings import Finding
from memorygraph.languages.pete.checks import check_pete
from memorygraph.languages.pete.continuation import ContinuationReader
from memorygraph.languages.pete.syntax import Closing, Command, Feedback, Opening, Piece, Question, SensorReport
from memorygraph.llm.structured import without_thoughts

REPLY_FILE = "answer"  # the file name that problems give to the text that a model wrote
MAX_STATEMENT_CHARS = 20_000  # that a model may write without ending a statement
MAX_REPLY_CHARS = 50_000
MAX_FENCE_CHARS = 100  # of a line that opens a fence
FORGED_FEEDBACK = "the model wrote feedback, which only the system may; it was thrown away"
FORGED_REPORT = "the model wrote a sensor report, which only the system may; it was thrown away"
AFTER_THE_END = "what the model wrote after the end of the log was thrown away"
TOO_LONG = f"the model wrote more than {MAX_REPLY_CHARS:,} characters, and was stopped"
CUT_OFF = "the model had no room to end its last statement, which was thrown away"
REPEATED_LOG = "the model repeated the log before it went on; that was thrown away"

THOUGHTS, THOUGHTS_END = "<think>", "</think>"
FENCE = "```"
FENCE_END = re.compile(r"\n[ \t]*(?:```|`{0,2}\Z)")  # or what may be the beginning of it
# What is wrong with an item in any log. What it means in this log is found out when it is stored.
CODES_WITHOUT_CONTEXT = frozenset({"invalid-number", "encoding", "unbound-variable"})


@dataclass(frozen=True)
class PeteReply:
    """What counts of a reply; it ends at the first thing that the system has to answer."""

    pieces: tuple[Piece, ...]
    ends: tuple[int, ...]  # where the pieces end in the text
    text: str
    problem: Problem | None
    warnings: tuple[str, ...]

    def problem_at(self, number: int, mistake: Finding) -> Problem:
        """What is wrong with a piece, at its place in what the model wrote."""
        end = self.ends[number]
        return locate_in_reply(self.text[:end], mistake, end - self.pieces[number].item.span.end)


class ReplyReader:
    r"""Reads a reply that continues a log with `depth` open contexts, of which the model was shown `seen`.

    >>> reader = ReplyReader(1, "context main() {")
    >>> [reader.feed(text) for text in ("``", "`\n&a likes", ' &b. set {"n": 1', "} >> {}")]
    [True, True, True, False]
    >>> [piece.text for piece in reader.reply().pieces]
    ['\n&a likes &b.', ' set {"n": 1}']
    """

    def __init__(self, depth: int, seen: str) -> None:
        self._reader = ContinuationReader(depth)
        self._unwrapper = ReplyUnwrapper(seen)
        self._kept: list[Piece] = []
        self._ends: list[int] = []
        self._text: list[str] = []
        self._length = 0
        self._received = self._fed = 0
        self._stopped = False
        self._problem: Problem | None = None
        self._warnings: dict[str, None] = {}

    def feed(self, text: str) -> bool:
        """Read more of the reply; whether still more is wanted."""
        self._received += len(text)
        text = self._unwrapper.feed(text)
        self._fed += len(text)
        self.keep(self._reader.feed(text))
        if not self._stopped and self._received > MAX_REPLY_CHARS:
            self.warn(TOO_LONG)
            return False
        if self._unwrapper.ended and not self._stopped:
            self.keep(self._reader.finish())
        if self._stopped or self._unwrapper.ended:
            return False
        if self._reader.problem is None and self._fed - self._length > MAX_STATEMENT_CHARS:
            message = f"this does not end after {MAX_STATEMENT_CHARS:,} characters; write shorter statements"
            self.fail_at_rest(message, "too-long")
        unreadable = self._problem is not None or self._reader.problem is not None
        return not (unreadable or self.is_after_the_end())

    def finish(self, *, cut: bool = False) -> None:
        """Read the end of the reply; if it was cut off, its last words are no statement."""
        rest = self._unwrapper.finish()
        self._fed += len(rest)
        self.keep(self._reader.feed(rest))
        if not cut:
            self.keep(self._reader.finish())
        elif self._reader.rest.strip() and not self._reader.ended():
            self.warn(CUT_OFF)
            if not self._kept:
                self.fail_at_rest(CUT_OFF, "cut-off")

    def reply(self) -> PeteReply:
        """What counts of the reply so far."""
        problem = self._problem or (None if self._stopped else self._reader.problem)
        if not self._stopped and problem is None:
            self.is_after_the_end()
        if self._unwrapper.repeated:
            self.warn(REPEATED_LOG)
        shown = replace(problem, file=REPLY_FILE) if problem else None
        return PeteReply(tuple(self._kept), tuple(self._ends), "".join(self._text), shown, tuple(self._warnings))

    def keep(self, pieces: Iterable[Piece]) -> None:
        """Keep what a model may write, up to the first thing that is wrong or that the system has to answer."""
        for piece in pieces:
            item, text = piece
            self._text.append(text)
            self._length += len(text)
            if isinstance(item, Feedback | SensorReport):
                self.warn(FORGED_FEEDBACK if isinstance(item, Feedback) else FORGED_REPORT)
            elif self._stopped:
                continue
            elif wrong := find_mistake(piece):
                self._problem = locate_in_reply("".join(self._text), wrong, self._length - item.span.end)
                self._stopped = True
            else:
                self._kept.append(piece)
                self._ends.append(self._length)
                self._stopped = isinstance(item, Command | Question)

    def fail_at_rest(self, message: str, code: str) -> None:
        """Note a problem where the text begins that is not read yet."""
        text = "".join(self._text) + self._reader.rest
        start = len(text) - len(text[self._length :].lstrip())
        if start < len(text):
            self._problem = locate_in_reply(text, Finding(message, code, Span(start, start + 1)))

    def is_after_the_end(self) -> bool:
        """Whether the model goes on after the end of the log, where nothing can be; it is warned of."""
        after = self._reader.depth == 0 and bool(self._reader.rest.strip())
        if after:
            self.warn(AFTER_THE_END)
        return after

    def warn(self, warning: str) -> None:
        """Note a warning, each once."""
        self._warnings[warning] = None


class ReplyUnwrapper:
    """Takes away what is around the continuation: thoughts before it, a Markdown fence, and the log before it."""

    def __init__(self, seen: str) -> None:
        self.ended = False
        self.repeated = False
        self._seen = seen.strip()
        self._begun = self._said = False
        self._fenced = False
        self._held = ""
        # Some endpoints send the halves of a character by themselves.
        self._decoder = getincrementaldecoder("utf-16-le")("replace")

    def feed(self, text: str) -> str:
        """Take more of the reply, and return what is certainly a part of the continuation."""
        self._held += self._decoder.decode(text.encode("utf-16-le", "surrogatepass"))
        if not self._begun and not self.is_thinking():
            self.skip_fence()
        if self._begun and not self._said:
            bare = self._held.lstrip()
            if len(bare) < len(self._seen) and self._seen.startswith(bare):
                return ""  # the model may still be repeating what it saw
            if self._seen and bare.startswith(self._seen):
                self.repeated = True
                self._held = bare[len(self._seen) :]
            self._said = True
        return self.take_body() if self._said else ""

    def finish(self) -> str:
        """Return what was held back when the reply ended."""
        return "" if self.ended else self._held + self._decoder.decode(b"", final=True)

    def is_thinking(self) -> bool:
        """Take away the thoughts that have ended, and tell whether the model may still be thinking."""
        if THOUGHTS_END in self._held and self._held.lstrip().startswith(THOUGHTS):
            self._held = without_thoughts(self._held)
        bare = self._held.lstrip()
        return bare.startswith(THOUGHTS) or THOUGHTS.startswith(bare)

    def skip_fence(self) -> None:
        """Take away the line that opens a fence, once it is clear whether there is one."""
        bare = self._held.lstrip()
        if FENCE.startswith(bare):
            return
        if bare.startswith(FENCE):
            first, line_break, rest = bare.partition("\n")
            if not line_break and len(first) < MAX_FENCE_CHARS:
                return
            if line_break:
                self._fenced, self._held = True, line_break + rest
        self._begun = True

    def take_body(self) -> str:
        """Return what is held, up to the end of the fence, or what may be the beginning of it."""
        text, self._held = self._held, ""
        if self.ended:
            return ""
        end = FENCE_END.search(text) if self._fenced else None
        if end:
            self.ended = end[0].endswith(FENCE)
            text, self._held = text[: end.start()], text[end.start() :]
        return text


def find_mistake(piece: Piece) -> Finding | None:
    """Find what is wrong with an item in any log."""
    if isinstance(piece.item, Opening | Closing | Feedback):
        return None
    findings, _ = check_pete([Opening("log"), piece.item], Source(piece.text))
    return next((found for found in findings if found.code in CODES_WITHOUT_CONTEXT), None)


def locate_in_reply(text: str, finding: Finding, shift: int = 0) -> Problem:
    """Make a problem at a place of what the model wrote."""
    start, end = finding.span
    return Source(text, REPLY_FILE).problem(finding.message, finding.code, Span(start + shift, end + shift))
