"""ContextScript: the language of nodes and edges. What other parts use of it is named here."""

from memorygraph.languages.contextscript.printing import print_contextscript, print_statement, print_value
from memorygraph.languages.contextscript.syntax import (
    GRAMMAR,
    MAX_ID,
    MAX_NAME,
    ContextScriptProgram,
    Deletion,
    EdgeDeclaration,
    GraphStatement,
    NodeDeclaration,
    is_identifier,
)

__all__ = [
    "GRAMMAR",
    "MAX_ID",
    "MAX_NAME",
    "ContextScriptProgram",
    "Deletion",
    "EdgeDeclaration",
    "GraphStatement",
    "NodeDeclaration",
    "is_identifier",
    "print_contextscript",
    "print_statement",
    "print_value",
]
