"""ContextScript: the statements that declare and delete the nodes and edges of a semantic network."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SkipValidation, StringConstraints

from memorygraph.errors import Problem, Source, Span
from memorygraph.languages.engine.grammar import read_grammar

GRAMMAR = read_grammar(Path(__file__).with_name("grammar.tx"))

MAX_ID = 512  # characters of an id or a verb
MAX_NAME = 1500  # characters of a name: it is indexed, and an index holds no longer ones


@dataclass(frozen=True)
class Spelling:
    """What an error says when a field's text does not match its pattern; it stands in the annotation."""

    noun: str
    code: str
    pattern: re.Pattern[str]
    rule: str


class Bare:
    """In the annotation of a text field: it may also be written without quotes."""


_SPELT = "it is made of letters, digits, `_` and `-`, and begins with a letter"
_ID = Spelling("an id", "invalid-id", GRAMMAR.token("Id"), f"{_SPELT} or digit")
_VERB = Spelling("a verb", "invalid-verb", GRAMMAR.token("Verb"), _SPELT)


def pattern_for_pydantic(spelling: Spelling) -> str:
    """The pattern for pydantic, whose engine never goes back and so has no possessive quantifiers."""
    return f"^(?:{spelling.pattern.pattern.replace('*+', '*')})$"


Identifier = Annotated[str, StringConstraints(pattern=pattern_for_pydantic(_ID), max_length=MAX_ID), _ID]
# An id where one is used. Any text may stand there: people and models write a name where an id belongs, and only
# the compiler, which knows the names, can say which id was meant.
Reference = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ID), _ID]
Verb = Annotated[str, StringConstraints(pattern=pattern_for_pydantic(_VERB), max_length=MAX_ID), _VERB]
# Any limit makes pydantic look into the text, and refuse half characters, which Neo4j could not store.
Text = Annotated[str, StringConstraints(min_length=0)]
Name = Annotated[str, StringConstraints(min_length=0, max_length=MAX_NAME)]
# Adding 0.0 makes 0.0 of -0.0.
Weight = Annotated[float, Field(ge=0.0, le=1.0), AfterValidator((0.0).__add__)]


class GraphStatement(BaseModel):
    """One statement: its place, and the arguments that were given. Those that say the same are equal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    span: Annotated[Span, SkipValidation] = Span(0, 0)

    @classmethod
    @cache
    def arguments(cls) -> tuple[str, ...]:
        """The names of the arguments that a statement of this class takes."""
        return tuple(name for name in cls.model_fields if name != "span")

    @classmethod
    def id_argument(cls) -> str:
        """The argument that holds the id which a statement declares or deletes: the first."""
        return cls.arguments()[0]

    def given(self) -> dict[str, Any]:
        """The arguments that were given, by name."""
        values = self.__dict__  # three times as fast as getattr
        return {name: value for name in self.arguments() if (value := values[name]) is not None}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.given() == other.given()

    def __hash__(self) -> int:
        return hash((type(self), *self.given().items()))


class NodeDeclaration(GraphStatement):
    """Declares a node, or updates it: an argument that is None stays as it was."""

    node_id: Identifier
    name: Name | None = None
    data: Text | None = None


class EdgeDeclaration(GraphStatement):
    """Declares an edge, or updates it: an argument that is None stays as it was."""

    edge_id: Identifier
    from_node: Reference | None = None
    to_node: Reference | None = None
    verb: Verb | None = None
    weight: Weight | None = None


class Deletion(GraphStatement):
    """Deletes a node, with its edges, or an edge."""

    id: Annotated[Reference, Bare]


STATEMENTS: tuple[type[GraphStatement], ...] = (NodeDeclaration, EdgeDeclaration, Deletion)
KEYWORDS = {cls.__name__: GRAMMAR.tokens_in(cls.__name__)[0].name for cls in STATEMENTS}


def is_identifier(text: str) -> bool:
    """Whether a text can be an id at all.

    >>> is_identifier("n-1"), is_identifier("Ada Lovelace")
    (True, False)
    """
    return len(text) <= MAX_ID and _ID.pattern.fullmatch(text) is not None


@dataclass(frozen=True)
class ContextScriptProgram:
    """A script, or a part of one: its source, its statements, and what is wrong with it.

    The ids in statements with a problem are in `unread`, so that nobody complains about one that may well be declared
    there.

    >>> from memorygraph.languages import parse
    >>> program = parse('Node(node_id="a"); Node(node_id="b.c");')
    >>> [type(statement).__name__ for statement in program.statements]
    ['NodeDeclaration']
    """

    language: ClassVar[str] = "contextscript"

    source: Source
    statements: tuple[GraphStatement, ...]
    problems: tuple[Problem, ...] = ()
    unread: frozenset[str] = frozenset()
    # Reads the raw statements of a text, to find the places in a statement again.
    read_raw: Callable[[str], Iterable[Any]] | None = field(default=None, repr=False, compare=False)

    def argument_span(self, statement: GraphStatement, argument: str) -> Span:
        """Where the value of an argument stands; the whole statement where the argument was not given.

        >>> from memorygraph.languages import parse
        >>> program = parse('Node(node_id="a", name="A");')
        >>> program.argument_span(program.statements[0], "name")
        Span(start=23, end=26)
        """
        start, end = statement.span  # read again, so that statements need not remember a place for every argument
        for raw in self.read_raw(self.source.text[start:end]) if self.read_raw else ():
            if argument in getattr(raw, "names", ()):
                span = raw.token_span(raw.names.index(argument))
                return Span(start + span.start, start + span.end)
        return statement.span
