"""PETE text to items: a whole log at once, and how reading goes on after an error."""

from __future__ import annotations

import re

from memorygraph.errors import MAX_PROBLEMS, Source, Span
from memorygraph.languages.engine.findings import Finding, find_surrogates, locate_problems
from memorygraph.languages.engine.machine import Stopped
from memorygraph.languages.engine.patterns import compile_pattern
from memorygraph.languages.pete import syntax
from memorygraph.languages.pete.checks import check_pete
from memorygraph.languages.pete.errors import beginning, explain, outside
from memorygraph.languages.pete.items import MACHINE, builds_for, read_item

MAX_CHARACTERS = 2**24  # characters of a log

# Where an item may well begin a line; words begin commands, but mostly they are something else.
_NEXT = re.compile(
    r"^[ \t]*+(?=//|!!|tl;dr|context\b|that\b|memory:|\}|&[A-Za-z]|_[A-Za-z]"
    r"|@[\[A-Za-z]|[A-Za-z]\w*+[ \t]*+(?:[{\[]|$))",
    re.MULTILINE,
)
_CLOSINGS = compile_pattern(r"(?:\}[ \t\r\n]*+)++")  # of which nobody knows any more what they close


def read_pete(text: str, file: str | None = None, *, strict: bool = False) -> syntax.PeteProgram:  # noqa: ARG001 - one dialect
    """A log, and everything that is wrong with it; its items are those before the first error of the syntax."""
    source = Source(text.removeprefix("\ufeff"), file)
    items, findings = read_items(source)
    if findings:
        return syntax.PeteProgram(source, items, locate_problems(findings, source))
    problems, warnings = check_pete(items, source)
    return syntax.PeteProgram(source, items, locate_problems(problems, source), locate_problems(warnings, source))


def read_items(source: Source) -> tuple[tuple[syntax.Item, ...], list[Finding]]:
    """The items before the first error of the syntax, and all such errors."""
    if len(source.text) > MAX_CHARACTERS:
        message = f"this log is too large; one has at most {MAX_CHARACTERS:,} characters"
        return (), [Finding(f"{message}. Fold what is in closed contexts", "program-too-large", Span(0, 1))]
    log = _Log(source)
    log.read()
    return tuple(log.items), find_surrogates(source.text) or log.findings


class _Log:
    """Reads the items of a log, and counts its open contexts up to the first error."""

    def __init__(self, source: Source) -> None:
        self.items: list[syntax.Item] = []
        self.findings: list[Finding] = []
        self._source = source
        self._depth = 0

    def read(self) -> None:
        """Read all that can be read."""
        text, builds = self._source.text, builds_for(self._source.text)
        position: int | None = MACHINE.layout_end(text, 0)
        first = read_item(text, position or 0, "Opening")
        if isinstance(first, Stopped):
            position = self._first(first, position or 0)
        while position is not None and position < len(text):
            result = read_item(text, position, builds=builds)
            if isinstance(result, Stopped):
                position = self._after(result, position)
                continue
            position = result.end
            if not self.findings:
                self._take(result.value)
            if self.findings and (more := _CLOSINGS.match(text, position)):
                position = more.end()

    def _first(self, stop: Stopped, position: int) -> int | None:
        """A log begins with a context: where reading goes on if it does not."""
        if stop.offset > position:
            return self._after(stop, position)
        self.findings.append(beginning(self._source, stop))
        other = read_item(self._source.text, position)
        unreadable = isinstance(other, Stopped) and other.offset == position
        return self._resume(position, position) if unreadable else position

    def _after(self, stop: Stopped, position: int) -> int | None:
        """Say what is wrong with the item at a position, and where reading goes on."""
        self.findings.append(explain(self._source, stop, position))
        return self._resume(stop.offset, position) if len(self.findings) <= MAX_PROBLEMS else None

    def _resume(self, offset: int, position: int) -> int | None:
        """Where an item may begin, after one that stopped at an offset: at the start of that line, or later."""
        text = self._source.text
        line = text.rfind("\n", 0, offset) + 1
        if line <= position or text[line:offset].strip(syntax.BLANKS):
            line = text.find("\n", offset) + 1 or len(text)
        following = _NEXT.search(text, line)
        return MACHINE.layout_end(text, following.start()) if following else None

    def _take(self, item: syntax.Item) -> None:
        """Keep an item, unless the outermost context has ended before it."""
        if self.items and not self._depth:
            self.findings.append(outside(self._source, item, self.items[-1]))
            return
        self.items.append(item)
        self._depth += isinstance(item, syntax.Opening) - isinstance(item, syntax.Closing)
