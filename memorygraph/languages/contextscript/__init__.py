"""ContextScript: the language of nodes and edges. What other parts use of it is named here."""

from memorygraph.languages.contextscript.printing import print_contextscript, print_statement, print_value
from memorygraph.languages.contextscript.syntax import (
    GRAMMAR,
    MAX_NAME,
    STATEMENTS,
    ContextScriptProgram,
    Deletion,
    EdgeDeclaration,
    GraphStatement,
    Identifier,
    Name,
    NodeDeclaration,
    Reference,
    Text,
    Verb,
    Weight,
    is_identifier,
)

__all__ = [
    "GRAMMAR",
    "MAX_NAME",
    "STATEMENTS",
    "ContextScriptProgram",
    "Deletion",
    "EdgeDeclaration",
    "GraphStatement",
    "Identifier",
    "Name",
    "NodeDeclaration",
    "Reference",
    "Text",
    "Verb",
    "Weight",
    "is_identifier",
    "print_contextscript",
    "print_statement",
    "print_value",
]
