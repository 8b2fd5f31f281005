"""ContextScript: the language of nodes and edges. What other parts use of it is named here."""

from memorygraph.languages.contextscript.printing import print_program, print_statement, print_value
from memorygraph.languages.contextscript.syntax import (
    GRAMMAR,
    MAX_NAME,
    STATEMENTS,
    Deletion,
    EdgeDeclaration,
    Identifier,
    Name,
    NodeDeclaration,
    Program,
    Reference,
    Statement,
    Text,
    Verb,
    Weight,
    is_identifier,
)

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
