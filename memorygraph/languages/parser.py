"""A script, or a stream of one, to programs: the reader and the builder of a language put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memorygraph.errors import MAX_PROBLEMS, Source
from memorygraph.languages.build import Builder
from memorygraph.languages.finding import Finding, problem_of
from memorygraph.languages.lower import Grammar, RawStatement
from memorygraph.languages.program import Program, Statement
from memorygraph.languages.reader import Reader, Unreadable
from memorygraph.languages.tokens import Tokens

_MAX_UNREAD = 2**20  # characters of skipped text in which ids are looked for


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
