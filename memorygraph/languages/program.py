"""What a script is once it has been read: typed statements, and the problems of what could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, SkipValidation

from memorygraph.errors import Problem, Source, Span


class StatementReader(Protocol):
    """What a program needs to find the places in its statements again."""

    def read(self, text: str) -> Iterable[Any]:
        """The raw statements of a text, and what of it cannot be read."""


class Script(Protocol):
    """What every language makes of a text: its source, and what is wrong with it."""

    @property
    def source(self) -> Source:
        """The text, which knows its places."""

    @property
    def statements(self) -> Sequence[Any]:
        """What it says, in the order of the text."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong, in the order of the text."""


class Statement(BaseModel):
    """One statement of a script. Its fields, but for `span`, are the arguments that were given.

    `span` is where the statement stands in its program's source. Statements that say the same are equal,
    wherever they stand.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    span: Annotated[Span, SkipValidation] = Span(0, 0)

    @classmethod
    @cache
    def arguments(cls) -> tuple[str, ...]:
        """The names of the arguments that a statement of this class takes."""
        return tuple(name for name in cls.model_fields if name != "span")

    def given(self) -> dict[str, Any]:
        """The arguments that were given, by name."""
        values = ((name, getattr(self, name)) for name in self.arguments())
        return {name: value for name, value in values if value is not None}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.given() == other.given()

    def __hash__(self) -> int:
        return hash((type(self), *self.given().items()))


@dataclass(frozen=True)
class Program:
    """A script, or a part of one: its source, its statements, and what is wrong with it.

    A statement with a problem is not among the `statements`; the ids that its text mentions are in `unread`,
    so that nobody complains about an id that may well be declared there. `end_offset` counts the characters
    of the whole stream up to the end of this part.

    >>> from memorygraph.languages import parse
    >>> program = parse('Node(node_id="a"); Node(node_id="b.c");')
    >>> [type(statement).__name__ for statement in program.statements]
    ['NodeDeclaration']
    >>> print(program.problems[0].message)
    an id may not contain `.`; it is made of letters, digits, `_` and `-`, and begins with a letter or digit
    """

    source: Source
    statements: tuple[Statement, ...]
    problems: tuple[Problem, ...] = ()
    unread: frozenset[str] = frozenset()
    end_offset: int = 0
    reader: StatementReader | None = field(default=None, repr=False, compare=False)

    def argument_span(self, statement: Statement, argument: str) -> Span:
        """Where the value of an argument stands; the whole statement where the argument was not given.

        It is read again from the source, so that statements need not remember a place for every argument.

        >>> from memorygraph.languages import parse
        >>> program = parse('Node(node_id="a", name="A");')
        >>> program.argument_span(program.statements[0], "name")
        Span(start=23, end=26)
        """
        start, end = statement.span
        raws: Iterable[Any] = self.reader.read(self.source.text[start:end]) if self.reader else ()
        for raw in raws:
            if argument in getattr(raw, "names", ()):
                span = raw.token_span(raw.names.index(argument))
                return Span(start + span.start, start + span.end)
        return statement.span
