"""Statements of ContextScript to their canonical text."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from memorygraph.languages.contextscript.syntax import KEYWORDS, GraphStatement


def print_statement(statement: GraphStatement) -> str:
    r"""The canonical text of a statement, on one line; parsed, it is the statement again.

    >>> from memorygraph.languages.contextscript import EdgeDeclaration, NodeDeclaration
    >>> print(print_statement(NodeDeclaration(node_id="a", name='The "A"', data="1\n2")))
    Node(node_id="a", name="The \"A\"", data="1\n2");
    >>> print(print_statement(EdgeDeclaration(edge_id="e", weight=1e-7)))
    Edge(edge_id="e", weight=0.0000001);
    """
    arguments = ", ".join([f"{name}={print_value(value)}" for name, value in statement.given().items()])
    return f"{KEYWORDS[type(statement).__name__]}({arguments});"


def print_contextscript(statements: Iterable[GraphStatement]) -> str:
    """The canonical text of statements, one on each line."""
    return "".join(f"{print_statement(statement)}\n" for statement in statements)


def print_value(value: str | float) -> str:
    """The token of a value: a text in double quotes with the escapes it needs, a number in plain digits."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    shortest = repr(value)
    plain = format(Decimal(shortest), "f") if "e" in shortest else shortest
    return plain if "." in plain else f"{plain}.0"
