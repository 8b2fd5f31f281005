"""Reading a script statement by statement, and going on after what cannot be read.

The way of each statement: the pattern that is derived from the grammar; where it does not match, textX on the
text of that one statement; where textX stops, a problem, and on to where the next statement seems to start.
All of it is linear in the text, and looks at no more than `MAX_CHARACTERS` characters at a time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from memorygraph.errors import MAX_PROBLEMS, Source, Span
from memorygraph.languages.contextscript.checks import Builder
from memorygraph.languages.contextscript.errors import Diagnosis, Stop
from memorygraph.languages.contextscript.syntax import GRAMMAR, STATEMENTS, Program, Statement
from memorygraph.languages.contextscript.tokens import Tokens
from memorygraph.languages.engine.findings import Finding, problem_of
from memorygraph.languages.engine.grammar import Grammar, RawStatement

MAX_CHARACTERS = 16 * 2**20  # characters of one statement
_MAX_CODE = 32 * 2**10  # characters of one statement outside its strings and comments
_MAX_UNREAD = 2**20  # characters of skipped text in which ids are looked for
_LONG = 64  # characters; of longer texts and layout, textX sees something short in their place

_SHORTENED: dict[str | None, Callable[[str], str]] = {
    "layout": lambda _: " ",
    "quoted": lambda text: text[0] + text[-1],
}


class Unreadable(NamedTuple):
    """What could not be read: why, the stretch that is skipped, and whether anything after it can be read."""

    finding: Finding
    skipped: Span
    last: bool


class _Window(NamedTuple):
    """The text of one statement as textX gets it: up to its terminator, with long texts and layout shortened.

    `shifts` are pairs of offsets, in the window and in the source, from which on the two run side by side.
    """

    text: str
    shifts: list[tuple[int, int]]
    tokens: list[Span]
    cut: bool

    def offset(self, position: int) -> int:
        """Where a character of the window stands in the source."""
        at, source = self.shifts[bisect_right(self.shifts, (position, 2**62)) - 1]
        return source + position - at


class Reader:
    """Reads the raw statements of one language.

    `fast` is there for the tests: without it textX reads every statement, and nothing else may change.

    >>> from memorygraph.languages.contextscript import GRAMMAR
    >>> reader = Reader(GRAMMAR, {"NodeDeclaration": 3, "EdgeDeclaration": 5, "Deletion": 1})
    >>> [raw.tokens for raw in reader.read('del(id = a); del(id = "b");')]
    [('a',), ('"b"',)]
    """

    def __init__(self, grammar: Grammar, arguments: Mapping[str, int], *, fast: bool = True) -> None:
        self._grammar = grammar
        self._fast = fast
        self._statement = grammar.statement_pattern(arguments)
        self._layout = re.compile(grammar.layout, re.MULTILINE)
        self._opening = re.compile(grammar.opening(), re.MULTILINE)
        self._piece = _piece(grammar)
        self._skipped = _skipped(grammar)
        self._diagnosis = Diagnosis(grammar)

    def layout_end(self, text: str, position: int) -> int:
        """Where the blanks and comments at a position end."""
        found = self._layout.match(text, position)
        return found.end() if found else position

    def read(self, text: str, position: int = 0, *, complete: bool = True) -> Iterator[RawStatement | Unreadable]:
        """The statements from a position on, and what cannot be read.

        Of a text that is not `complete`, it reads as far as what may still follow makes no difference.
        """
        match, rules, fast = self._statement.regex.match, self._statement.rules, self._fast
        while True:
            found = match(text, position) if fast else None
            if found is not None and found.end() - found.start(1) <= _MAX_CODE:
                rule, first = rules[found.lastindex or 0]
                groups = found.groups()
                names = groups[first - 1 : found.lastindex : 2]
                tokens = groups[first : found.lastindex : 2]
                position = found.end()
                yield RawStatement(rule, Span(found.start(1), position), names, tokens, found.span, first)
                continue
            start = self.layout_end(text, position)
            if start == len(text):
                return
            result = self._read_slowly(text, start)
            if isinstance(result, RawStatement):
                position = result.span.end
                yield result
                continue
            if not complete and len(text) - start <= MAX_CHARACTERS:
                return
            yield result
            if result.last:
                return
            position = result.skipped.end

    def _read_slowly(self, text: str, start: int) -> RawStatement | Unreadable:
        limit = min(len(text), start + MAX_CHARACTERS)
        window = self._window(text, start, limit)
        outcome = self._grammar.read(window.text)
        if isinstance(outcome, RawStatement):
            return _moved(outcome, window, text)
        offset = window.offset(outcome.offset)
        stop = Stop(text, start, limit, offset, outcome.expected, window.tokens)
        # A text at the very end may have lost its second quote.
        overrun = window.cut and outcome.offset >= len(window.text) - 2
        finding = self._diagnosis.too_large(stop) if overrun else self._diagnosis.finding(stop)
        return self._skip_from(stop, finding)

    def _window(self, text: str, start: int, limit: int) -> _Window:
        parts: list[str] = []
        shifts = [(0, start)]
        tokens: list[Span] = []
        kind: str | None = None
        length = 0
        for piece in self._piece.finditer(text, start, limit):
            part, kind = piece[0], piece.lastgroup
            if kind != "layout":
                tokens.append(Span(*piece.span()))
            if kind in _SHORTENED and len(part) > _LONG:
                part = _SHORTENED[kind](part)
                shifts.append((length + len(part) - 1, piece.end() - 1))
            part = part[: _MAX_CODE - length]
            parts.append(part)
            length += len(part)
            if kind == "end" or length >= _MAX_CODE:
                break
        cut = kind != "end" and (length >= _MAX_CODE or limit < len(text))
        return _Window("".join(parts), shifts, tokens, cut)

    def _skip_from(self, stop: Stop, finding: Finding) -> Unreadable:
        """Find where to go on after a problem."""
        text, start, position, limit = stop.text, stop.start, stop.offset, stop.limit
        if finding.code == "unclosed-string":
            position = finding.span.start + 1
        elif position > start and self._opening.match(text, position, limit):
            return Unreadable(finding, Span(start, position), last=False)
        skipped = self._skipped.match(text, position, limit)
        end = skipped.end() if skipped else limit
        return Unreadable(finding, Span(start, min(end + 1, limit)), last=end >= limit)


def _piece(grammar: Grammar) -> re.Pattern[str]:
    """A pattern that cuts a statement into layout, strings, its end, and the code between them."""
    ends = re.escape(grammar.terminators)
    return re.compile(
        rf"(?P<layout>(?:{grammar.blanks}|{grammar.comment})++)|(?P<quoted>{grammar.token('Quoted').pattern})"
        rf"|(?P<end>[{ends}])|\\.|[^\"#\\{ends}{grammar.blank_characters}]++|.",
        re.DOTALL | re.MULTILINE,
    )


def _skipped(grammar: Grammar) -> re.Pattern[str]:
    """A pattern that runs over text that cannot be read, up to where a statement seems to start.

    That is a keyword at the start of a line, or what follows a terminator, if it looks like a statement or is
    the end. A string is passed over as a whole only if it stands where a string can stand, before one of the
    grammar's literals: after a quote that is missing, inside and outside have changed places.
    """
    opening, ends, blanks = grammar.opening(), re.escape(grammar.terminators), grammar.blanks
    literal = "|".join(map(re.escape, sorted(grammar.literals)))
    return re.compile(
        rf"(?:{grammar.token('Quoted').pattern}(?={blanks}{{0,200}}+(?:{literal}))|\"{{3,}}+|\""
        rf"|{grammar.comment}|#|\\.|\\"
        rf"|[{ends}](?!{grammar.layout}(?:{grammar.likely_opening()}|\Z))"
        rf"|\n(?![ \t]*+{opening})"
        rf"|[^\"#\\\n{ends}]++)*+",
        re.DOTALL | re.MULTILINE,
    )


def _moved(raw: RawStatement, window: _Window, text: str) -> RawStatement:
    """A statement with its places, and so its tokens, in the source instead of in the window."""

    def moved(span: tuple[int, int]) -> Span:
        return Span(window.offset(span[0]), window.offset(span[1] - 1) + 1)

    spans = [moved(raw.place(number)) for number in range(2 * len(raw.names))]
    tokens = tuple(text[start:end] for start, end in spans[1::2])
    return RawStatement(raw.rule, moved(raw.span), raw.names, tokens, spans.__getitem__, 0)


@dataclass
class Part:
    """A program as it grows; `end` is the offset up to which it has been read."""

    end: int
    statements: list[Statement] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


class Parser:
    """Parses the scripts of one language in one dialect. `fast` is that of `Reader`."""

    def __init__(
        self, grammar: Grammar, classes: Sequence[type[Statement]], *, strict: bool = False, fast: bool = True
    ) -> None:
        arguments = {cls.__name__: len(cls.arguments()) for cls in classes}
        self.reader = Reader(grammar, arguments, fast=fast)
        self._builder = Builder(classes, grammar.keywords, Tokens(grammar, strict=strict))
        self._id = grammar.token("Id")

    def parse(self, text: str, file: str | None = None) -> Program:
        """Read a whole script."""
        text = text.removeprefix("\ufeff")
        part = Part(0)
        unread: set[str] = set()
        for item in self.reader.read(text):
            self.take(item, text, part, unread)
            if len(part.findings) > MAX_PROBLEMS:
                break
        return self.program(part, Source(text, file), unread)

    def take(self, item: RawStatement | Unreadable, text: str, part: Part, unread: set[str]) -> None:
        """Add a statement, or what is wrong with it, to a part."""
        if isinstance(item, Unreadable):
            part.findings.append(item.finding)
            start, part.end = item.skipped
            unread.update(self._id.findall(text, start, min(part.end, start + _MAX_UNREAD)))
            return
        statement = self._builder.statement(item)
        part.end = item.span.end
        if statement is not None:
            part.statements.append(statement)
            return
        part.findings += self._builder.problems(item)
        words = (token.strip('"') for token in item.tokens)
        unread.update(word for word in words if self._id.fullmatch(word))

    def program(self, part: Part, source: Source, unread: set[str], dropped: int = 0, reported: int = 0) -> Program:
        """What was read, as a program; `reported` problems of the parts before it are already known."""
        most = MAX_PROBLEMS - reported
        problems = [problem_of(finding, source) for finding in part.findings[:most]]
        if len(part.findings) > most:
            message = f"there are more than {MAX_PROBLEMS} problems; the text from here on was not read"
            problems.append(source.problem(message, "too-many-problems", part.findings[most].span))
        return Program(
            source,
            tuple(part.statements),
            tuple(problems),
            frozenset(unread),
            dropped + part.end,
            self.reader,
        )


@cache
def parser_for(*, strict: bool) -> Parser:
    """The parser of a dialect."""
    return Parser(GRAMMAR, STATEMENTS, strict=strict)


def read_program(text: str, file: str | None = None, *, strict: bool = False) -> Program:
    """Read a script; what is wrong with it is in the program's `problems`."""
    return parser_for(strict=strict).parse(text, file)
