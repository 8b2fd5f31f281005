"""ContextScript text to statements, one at a time, and how reading goes on after an error.

A statement is read by the fast path, or else by the machine; where that stops, reading goes on where the next one seems
to start. All of it is linear in the text, and looks at no more than `MAX_CHARACTERS` characters at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

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
from memorygraph.languages.engine.findings import Finding, locate_problem
from memorygraph.languages.engine.machine import Build, Fields, Machine, Stopped

MAX_CHARACTERS = 16 * 2**20  # characters of one statement
MAX_CODE = 32 * 2**10  # characters of one statement outside its long texts and layout
MAX_UNREAD = 2**20  # characters of skipped text in which ids are looked for
LONG = 64  # characters from which on a text, or layout, does not count as code

MACHINE = Machine(GRAMMAR.rules, GRAMMAR.layout)
FAST_PATH = derive_pattern(GRAMMAR, {cls.__name__: len(cls.arguments()) for cls in STATEMENTS})

_ID = GRAMMAR.token("Id")
_TOKENS = [GRAMMAR.tokens_in(rule) for rule in KEYWORDS]
_ENDS = "".join({re.escape(tokens[-1].name) for tokens in _TOKENS})
_LITERALS = "|".join(
    sorted({token.pattern for tokens in _TOKENS for token in tokens if token.pattern == re.escape(token.name)})
)
_QUOTED = GRAMMAR.tokens["Quoted"]
_OPENING = re.compile(
    f"(?i:{'|'.join(f'{first.pattern}{GRAMMAR.layout}{second.pattern}' for first, second, *_ in _TOKENS)})",
    re.MULTILINE,
)
_LIKELY_OPENING = f"{GRAMMAR.tokens['Name']}{GRAMMAR.layout}(?:{'|'.join({tokens[1].pattern for tokens in _TOKENS})})"
_PIECE = re.compile(
    rf"(?P<layout>(?:[{GRAMMAR.blank_characters}]|{GRAMMAR.comment})++)|(?P<quoted>{_QUOTED})|(?P<end>[{_ENDS}])"
    rf"|\\.|[^\"#\\{_ENDS}{GRAMMAR.blank_characters}]++|.",
    re.DOTALL | re.MULTILINE,
)
# What is skipped ends before a keyword at the start of a line, or at a terminator that a statement, or the end, seems
# to follow. A text is skipped as a whole only before a literal, where texts stand: after a missing quote, inside and
# outside have changed places.
_SKIPPED = re.compile(
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


class RawStatementReader:
    """Reads raw statements; `fast=False` leaves out the fast path, which only changes the speed."""

    def __init__(self, *, fast: bool = True) -> None:
        self._fast = fast

    def read(self, text: str, position: int = 0, *, complete: bool = True) -> Iterator[RawStatement | Unreadable]:
        """The statements from a position on, and what cannot be read.

        Of a text that is not `complete`, it reads as far as what may still follow makes no difference.
        """
        match, rules, fast = FAST_PATH.regex.match, FAST_PATH.rules, self._fast
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
    """Parses scripts in one dialect. `fast` is that of `RawStatementReader`."""

    def __init__(self, *, strict: bool = False, fast: bool = True) -> None:
        self.reader = RawStatementReader(fast=fast)
        self._builder = Builder(strict=strict)

    def parse(self, text: str, file: str | None = None) -> ContextScriptProgram:
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

    def program(
        self, part: Part, source: Source, unread: set[str], dropped: int = 0, reported: int = 0
    ) -> ContextScriptProgram:
        """What was read, as a program; `reported` problems of the parts before it are already known."""
        most = MAX_PROBLEMS - reported
        problems = [locate_problem(finding, source) for finding in part.findings[:most]]
        if len(part.findings) > most:
            message = f"there are more than {MAX_PROBLEMS} problems; the text from here on was not read"
            problems.append(source.problem(message, "too-many-problems", part.findings[most].span))
        end, read = dropped + part.end, self.reader.read
        return ContextScriptProgram(source, tuple(part.statements), tuple(problems), frozenset(unread), end, read)


@cache
def parser_for(*, strict: bool) -> Parser:
    """The parser of a dialect."""
    return Parser(strict=strict)


def read_contextscript(text: str, file: str | None = None, *, strict: bool = False) -> ContextScriptProgram:
    """Read a script; what is wrong with it is in the program's `problems`."""
    return parser_for(strict=strict).parse(text, file)
