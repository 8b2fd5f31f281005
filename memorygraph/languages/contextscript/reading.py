"""ContextScript text to statements, one at a time, and how reading goes on after an error.

A statement is read by the fast path, or else by the machine; where that stops, reading goes on where the next one seems
to start. All of it is linear in the text, and looks at no more than `MAX_CHARACTERS` characters at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import NamedTuple, TextIO

from memorygraph.collection import without_collection
from memorygraph.errors import MAX_PROBLEMS, Source, Span
from memorygraph.languages.contextscript.checks import Builder
from memorygraph.languages.contextscript.errors import ContextScriptExplainer, too_large
from memorygraph.languages.contextscript.syntax import (
    GRAMMAR,
    KEYWORDS,
    STATEMENTS,
    ContextScriptProgram,
    GraphStatement,
)
from memorygraph.languages.engine.fast_path import RawStatement, derive_pattern
from memorygraph.languages.engine.findings import Finding, locate_problems
from memorygraph.languages.engine.machine import Build, Fields, Machine, Stopped
from memorygraph.languages.engine.patterns import compile_pattern

MAX_CHARACTERS = 16 * 2**20  # characters of one statement
MAX_CODE = 32 * 2**10  # characters of one statement outside its long texts and layout
MAX_UNREAD = 2**20  # characters of skipped text in which ids are looked for
LONG = 64  # characters from which on a text, or layout, does not count as code
MAX_BATCH_CHARACTERS = 4 * 2**20  # after which a batch is closed, however few statements it has
MIN_READ_CHARACTERS = 2**17
MAX_LINE_CHARACTERS = 2**16  # that are kept around a batch, for its columns and its messages

MACHINE = Machine(GRAMMAR.rules, GRAMMAR.layout)
FAST_PATH = derive_pattern(GRAMMAR, {cls.__name__: len(cls.arguments()) for cls in STATEMENTS})

_ID = GRAMMAR.token("Id")
_TOKENS = [GRAMMAR.tokens_in(rule) for rule in KEYWORDS]
_ENDS = "".join({re.escape(tokens[-1].name) for tokens in _TOKENS})
_LITERALS = "|".join(
    sorted({token.pattern for tokens in _TOKENS for token in tokens if token.pattern == re.escape(token.name)})
)
_QUOTED = GRAMMAR.tokens["Quoted"]
_OPENING = compile_pattern(
    f"(?i:{'|'.join(f'{first.pattern}{GRAMMAR.layout}{second.pattern}' for first, second, *_ in _TOKENS)})",
    re.MULTILINE,
)
_LIKELY_OPENING = f"{GRAMMAR.tokens['Name']}{GRAMMAR.layout}(?:{'|'.join({tokens[1].pattern for tokens in _TOKENS})})"
_PIECE = compile_pattern(
    rf"(?P<layout>(?:[{GRAMMAR.blank_characters}]|{GRAMMAR.comment})++)|(?P<quoted>{_QUOTED})|(?P<end>[{_ENDS}])"
    rf"|\\.|[^\"#\\{_ENDS}{GRAMMAR.blank_characters}]++|.",
    re.DOTALL | re.MULTILINE,
)
# What is skipped ends before a keyword at the start of a line, or at a terminator that a statement, or the end, seems
# to follow. A text is skipped as a whole only before a literal, where texts stand: after a missing quote, inside and
# outside have changed places.
_SKIPPED = compile_pattern(
    rf"(?:{_QUOTED}(?=[{GRAMMAR.blank_characters}]{{0,200}}+(?:{_LITERALS}))|\"{{3,}}+|\""
    rf"|{GRAMMAR.comment}|#|\\.|\\"
    rf"|[{_ENDS}](?!{GRAMMAR.layout}(?:{_LIKELY_OPENING}|\Z))"
    rf"|\n(?![ \t]*+{_OPENING.pattern})"
    rf"|[^\"#\\\n{_ENDS}]++)*+",
    re.DOTALL | re.MULTILINE,
)


class Unreadable(NamedTuple):
    """What could not be read: why, the stretch that is skipped, and whether anything after it can be read."""

    finding: Finding
    skipped: Span
    last: bool


def read_raw_statements(
    text: str, position: int = 0, *, complete: bool = True, fast: bool = True
) -> Iterator[RawStatement | Unreadable]:
    """The statements from a position on, and what cannot be read.

    Of a text that is not `complete`, it reads as far as what may still follow makes no difference. `fast=False` leaves
    out the fast path, which only changes the speed.
    """
    match, rules = FAST_PATH.regex.match, FAST_PATH.rules
    while True:
        found = match(text, position) if fast else None
        if found is not None and found.end() - found.start(1) <= MAX_CODE:
            rule, first = rules[found.lastindex or 0]
            groups = found.groups()
            names = groups[first - 1 : found.lastindex : 2]
            tokens = groups[first : found.lastindex : 2]
            position = found.end()
            yield RawStatement(rule, Span(found.start(1), position), names, tokens, found.span, first)
            continue
        start = MACHINE.layout_end(text, position)
        if start == len(text):
            return
        result = read_statement(text, start)
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


def read_statement(text: str, start: int) -> RawStatement | Unreadable:
    """Let the machine read the statement that begins at a place, or explain what is wrong with it."""
    limit = min(len(text), start + MAX_CHARACTERS)
    tokens, end, whole = measure_statement(text, start, limit)
    result = MACHINE.read(text, "Statement", _BUILDS, start, limit=end)
    if not isinstance(result, Stopped):
        raw: RawStatement = result.value
        return raw
    if whole or result.offset < end:
        finding = ContextScriptExplainer(tokens, limit).explain(Source(text), result, start)
    else:
        finding = too_large(text, start)
    position = result.offset
    if finding.code == "unclosed-string":
        position = finding.span.start + 1
    elif position > start and _OPENING.match(text, position, limit):
        return Unreadable(finding, Span(start, position), last=False)
    skipped = _SKIPPED.match(text, position, limit)
    skipped_end = skipped.end() if skipped else limit
    return Unreadable(finding, Span(start, min(skipped_end + 1, limit)), last=skipped_end >= limit)


def measure_statement(text: str, start: int, limit: int) -> tuple[list[Span], int, bool]:
    """The texts and the code of a statement, where it ends, and whether that is all of it.

    A limit for code keeps errors small: without it, a file of garbage would be one statement of 16 MiB.
    """
    tokens: list[Span] = []
    room = MAX_CODE
    for piece in _PIECE.finditer(text, start, limit):
        kind, (begin, end) = piece.lastgroup, piece.span()
        if kind != "layout":
            tokens.append(Span(begin, end))
        is_long = kind in {"layout", "quoted"} and end - begin > LONG
        if not is_long and end - begin >= room:
            return tokens, end if kind else begin + room, kind == "end"
        if kind == "end":
            return tokens, end, True
        room -= 1 if is_long else end - begin
    return tokens, limit, limit == len(text)


def build_statement(rule: str) -> Build:
    """What the machine makes of the statements of a rule."""

    def build(fields: Fields, span: Span) -> RawStatement:
        names, tokens, places = zip(*fields["arguments"], strict=True)
        spans = [span for pair in places for span in pair]
        return RawStatement(rule, span, names, tokens, spans.__getitem__, 0)

    return build


def build_raw_argument(fields: Fields, span: Span) -> tuple[str, str, tuple[Span, Span]]:
    """The name and the token of an argument, and where they stand: at its two ends."""
    name, token = fields["name"], fields["value"]
    return name, token, (Span(span.start, span.start + len(name)), Span(span.end - len(token), span.end))


_BUILDS = {"Argument": build_raw_argument, **{rule: build_statement(rule) for rule in KEYWORDS}}


@dataclass
class Part:
    """A program as it grows; `end` is the offset up to which it has been read."""

    end: int
    statements: list[GraphStatement] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


class Parser:
    """Parses scripts in one dialect. `fast` is that of `read_raw_statements`."""

    def __init__(self, *, strict: bool = False, fast: bool = True) -> None:
        self.read = partial(read_raw_statements, fast=fast)
        self._builder = Builder(strict=strict)

    def parse(self, text: str, file: str | None = None) -> ContextScriptProgram:
        """Read a whole script."""
        text = text.removeprefix("\ufeff")
        part = Part(0)
        unread: set[str] = set()
        with without_collection():
            for item in self.read(text):
                self.take(item, text, part, unread)
                if len(part.findings) > MAX_PROBLEMS:
                    break
        return self.program(part, Source(text, file), unread)

    def take(self, item: RawStatement | Unreadable, text: str, part: Part, unread: set[str]) -> None:
        """Add a statement, or what is wrong with it, to a part."""
        if isinstance(item, Unreadable):
            part.findings.append(item.finding)
            start, part.end = item.skipped
            unread.update(_ID.findall(text, start, min(part.end, start + MAX_UNREAD)))
            return
        statement = self._builder.build(item)
        part.end = item.span.end
        if statement is not None:
            part.statements.append(statement)
            return
        part.findings += self._builder.find_problems(item)
        words = (token.strip('"') for token in item.tokens)
        unread.update(word for word in words if _ID.fullmatch(word))

    def program(self, part: Part, source: Source, unread: set[str], reported: int = 0) -> ContextScriptProgram:
        """What was read, as a program; `reported` problems of the parts before it are already known."""
        rest = "the text from here on was not read"
        problems = locate_problems(part.findings, source, MAX_PROBLEMS - reported, rest)
        return ContextScriptProgram(source, tuple(part.statements), problems, frozenset(unread), self.read)


parser_for = cache(Parser)


def read_contextscript(text: str, file: str | None = None, *, strict: bool = False) -> ContextScriptProgram:
    """Read a script; what is wrong with it is in the program's `problems`."""
    return parser_for(strict=strict).parse(text, file)


class StreamBuffer:
    """The part of a stream that is held. It begins where a line does, so that places have lines and columns.

    Of a line longer than `MAX_LINE_CHARACTERS`, the beginning is dropped; its columns count from there.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.text = ""
        self.first_line = 1
        self.ended = False
        self.grow()
        self.text = self.text.removeprefix("\ufeff")

    def grow(self) -> None:
        """Read on, at least as much as is held: so rereading an unfinished statement takes linear time in all."""
        more = self._stream.read(max(MIN_READ_CHARACTERS, len(self.text)))
        self.ended = not more
        self.text += more

    def drop(self, position: int) -> int:
        """Drop the lines before a position, and return the position after that."""
        line = self.text.rfind("\n", 0, position) + 1
        if position - line > MAX_LINE_CHARACTERS:
            line = position
        self.first_line += self.text.count("\n", 0, line)
        self.text = self.text[line:]
        return position - line

    def shorten_layout(self, position: int) -> None:
        """Keep only the beginning of blanks or a comment that go on beyond the buffer."""
        if len(self.text) - position > MAX_LINE_CHARACTERS:
            last_line = self.text[position:].rpartition("\r")[2]  # a comment ends there, too
            self.text = self.text[:position] + last_line.lstrip()[:1]

    def through_line(self, position: int) -> str:
        """The text through the end of a position's line."""
        while not self.ended and self.text.find("\n", position) < 0 and len(self.text) - position < MAX_LINE_CHARACTERS:
            self.grow()
        end = self.text.find("\n", position, position + MAX_LINE_CHARACTERS)
        return self.text[: end if end >= 0 else position + MAX_LINE_CHARACTERS]


class Batches:
    """The programs of one stream."""

    def __init__(self, parser: Parser, stream: TextIO, size: int, file: str | None) -> None:
        self._parser = parser
        self._size = size
        self._file = file
        self._buffer = StreamBuffer(stream)
        self._unread: set[str] = set()
        self._findings = 0

    def __iter__(self) -> Iterator[ContextScriptProgram]:
        """At least one program, and none without statements or problems after it."""
        buffer = self._buffer
        position, first, done = 0, True, False
        while not done:
            part = Part(buffer.drop(position))
            with without_collection():
                done = self.fill(part)
            if first or part.statements or part.findings:
                source = Source(buffer.through_line(part.end), self._file, buffer.first_line)
                yield self._parser.program(part, source, self._unread, self._findings)
                self._findings += len(part.findings)
            position, first = part.end, False

    def fill(self, part: Part) -> bool:
        """Read statements until the batch is full; return whether nothing more can be read."""
        buffer, parser, start = self._buffer, self._parser, part.end
        while True:
            for item in parser.read(buffer.text, part.end, complete=buffer.ended):
                parser.take(item, buffer.text, part, self._unread)
                if isinstance(item, Unreadable) and item.last:
                    return True
                if self._findings + len(part.findings) > MAX_PROBLEMS:
                    return True
                if len(part.statements) >= self._size or part.end - start > MAX_BATCH_CHARACTERS:
                    return False
            if buffer.ended:
                return True
            if not part.statements and not part.findings:
                start = part.end = self.skip_layout(part.end)
            buffer.grow()

    def skip_layout(self, position: int) -> int:
        """Drop the lines of layout before the next statement."""
        buffer = self._buffer
        end = MACHINE.layout_end(buffer.text, position)
        open_end = end == len(buffer.text)
        line = buffer.text.rfind("\n", position, end) + 1
        if line:
            position = buffer.drop(line)
        if open_end:
            buffer.shorten_layout(position)
        return position


def read_batches(
    stream: TextIO, size: int, file: str | None = None, *, strict: bool = False
) -> Iterator[ContextScriptProgram]:
    """Read a stream as programs of at most `size` statements."""
    return iter(Batches(parser_for(strict=strict), stream, size, file))
