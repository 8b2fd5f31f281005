"""ContextScript: the statements that declare and delete the nodes and edges of a semantic network."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from memorygraph.languages.build import MAX_ID, MAX_NAME, Bare, Spelling
from memorygraph.languages.lower import Grammar
from memorygraph.languages.program import Program, Statement

__all__ = [
    "GRAMMAR",
    "MAX_NAME",
    "STATEMENTS",
    "Deletion",
    "EdgeDeclaration",
    "Identifier",
    "Name",
    "NodeDeclaration",
    "Program",
    "Reference",
    "Statement",
    "Text",
    "Verb",
    "Weight",
    "is_identifier",
    "print_program",
    "print_statement",
    "print_value",
]

GRAMMAR = Grammar(Path(__file__).with_name("contextscript.tx"))

_ID = Spelling(
    "an id",
    "invalid-id",
    GRAMMAR.token("Id"),
    "it is made of letters, digits, `_` and `-`, and begins with a letter or digit",
)
_VERB = Spelling(
    "a verb",
    "invalid-verb",
    GRAMMAR.token("Verb"),
    "it is made of letters, digits, `_` and `-`, and begins with a letter",
)


def _rust(spelling: Spelling) -> str:
    """The pattern for pydantic, whose engine never goes back and so has no possessive quantifiers."""
    return f"^(?:{spelling.pattern.pattern.replace('*+', '*')})$"


Identifier = Annotated[str, StringConstraints(pattern=_rust(_ID), max_length=MAX_ID), _ID]
# An id where one is used. Any text may stand there: people and models write a name where an id belongs, and only
# the compiler, which knows the names, can say which id was meant.
Reference = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ID), _ID]
Verb = Annotated[str, StringConstraints(pattern=_rust(_VERB), max_length=MAX_ID), _VERB]
# Any limit makes pydantic look into the text, and refuse half characters, which Neo4j could not store.
Text = Annotated[str, StringConstraints(min_length=0)]
Name = Annotated[str, StringConstraints(min_length=0, max_length=MAX_NAME)]
# Adding 0.0 makes 0.0 of -0.0.
Weight = Annotated[float, Field(ge=0.0, le=1.0), AfterValidator((0.0).__add__)]


class NodeDeclaration(Statement):
    """Declares a node, or updates it: an argument that is None stays as it was.

    >>> NodeDeclaration(node_id="ada", name="Ada").given()
    {'node_id': 'ada', 'name': 'Ada'}
    """

    node_id: Identifier
    name: Name | None = None
    data: Text | None = None


class EdgeDeclaration(Statement):
    """Declares an edge, or updates it: an argument that is None stays as it was."""

    edge_id: Identifier
    from_node: Reference | None = None
    to_node: Reference | None = None
    verb: Verb | None = None
    weight: Weight | None = None


class Deletion(Statement):
    """Deletes a node, with its edges, or an edge."""

    id: Annotated[Reference, Bare]


STATEMENTS: tuple[type[Statement], ...] = (NodeDeclaration, EdgeDeclaration, Deletion)


def is_identifier(text: str) -> bool:
    """Whether a text can be an id at all.

    >>> is_identifier("n-1"), is_identifier("Ada Lovelace")
    (True, False)
    """
    return len(text) <= MAX_ID and _ID.pattern.fullmatch(text) is not None


def print_statement(statement: Statement) -> str:
    r"""The canonical text of a statement, on one line; parsed, it is the statement again.

    >>> print(print_statement(NodeDeclaration(node_id="a", name='The "A"', data="1\n2")))
    Node(node_id="a", name="The \"A\"", data="1\n2");
    >>> print(print_statement(EdgeDeclaration(edge_id="e", weight=1e-7)))
    Edge(edge_id="e", weight=0.0000001);
    """
    arguments = ", ".join(f"{name}={print_value(value)}" for name, value in statement.given().items())
    return f"{GRAMMAR.keywords[type(statement).__name__]}({arguments});"


def print_program(statements: Iterable[Statement]) -> str:
    """The canonical text of statements, one on each line.

    >>> print(print_program([Deletion(id="a"), Deletion(id="b")]), end="")
    del(id="a");
    del(id="b");
    """
    return "".join(f"{print_statement(statement)}\n" for statement in statements)


def print_value(value: str | float) -> str:
    """The token of a value: a text in double quotes with the escapes it needs, a number in plain digits."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    plain = format(Decimal(repr(value)), "f")
    return plain if "." in plain else f"{plain}.0"
