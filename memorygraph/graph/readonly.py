"""What a reader's Cypher may do: read the graph, and nothing else.

Read access mode alone lets LOAD CSV read files and call addresses, and lets procedures stop other transactions or clear
caches. So the server's own plan of the query is checked first.
"""

from __future__ import annotations

from memorygraph.errors import QueryError
from memorygraph.graph.connection import Connection
from memorygraph.query import Query

MAX_NESTING = 100
_BRACKETS = dict.fromkeys("([{", 1) | dict.fromkeys(")]}", -1)
_REFUSED_OPERATORS = {
    "LoadCSV": "LOAD CSV reads files and addresses",
    "TerminateTransactions": "TERMINATE TRANSACTIONS stops the work of others",
}
_PROCEDURES = frozenset(
    {
        "db.index.fulltext.listAvailableAnalyzers",
        "db.index.fulltext.queryNodes",
        "db.index.fulltext.queryRelationships",
        "db.index.vector.queryNodes",
        "db.index.vector.queryRelationships",
        "db.info",
        "db.labels",
        "db.ping",
        "db.propertyKeys",
        "db.relationshipTypes",
        "db.schema.nodeTypeProperties",
        "db.schema.relTypeProperties",
        "db.schema.visualization",
        "dbms.components",
    }
)


def check_reads_only(connection: Connection, query: Query) -> None:
    """Raise a QueryError for a query that does more than read, or whose effects are not known."""
    check_nesting(query.text)
    kind, operators = connection.plan(query)
    for operator, details in operators:
        if operator in _REFUSED_OPERATORS:
            raise QueryError(f"refused: {_REFUSED_OPERATORS[operator]}; `query` only reads the graph")
        procedure = details.partition("(")[0]
        if operator == "ProcedureCall" and procedure not in _PROCEDURES:
            raise QueryError(f"refused: the procedure {procedure} is not one that only reads the graph")
    if kind != "r":
        raise QueryError("refused: this query writes; say so with --write (in Python: write=True)")


def check_nesting(text: str) -> None:
    """Refuse Cypher whose brackets nest so deeply that the server's parser would overflow its stack."""
    depth = 0
    for character in text:
        depth += _BRACKETS.get(character, 0)
        if depth > MAX_NESTING:
            raise QueryError(f"refused: brackets nested more than {MAX_NESTING} deep; pass such a value as a parameter")
