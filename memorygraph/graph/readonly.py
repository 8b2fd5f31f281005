"""What a reader's Cypher may do: read the graph, and nothing else.

Read access mode alone lets LOAD CSV read files and call addresses, and lets procedures stop other transactions or clear
caches. So the tokens of the query are checked first, wherever they stand, then the server's own plan of it: that shows
what kind of query it is, but not what its subqueries do.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from memorygraph.errors import QueryError
from memorygraph.graph.connection import Connection
from memorygraph.graph.cypher_limits import check_limits
from memorygraph.graph.cypher_tokens import CypherToken, CypherTokenKind, read_cypher_tokens
from memorygraph.query import Query

_LOAD_CSV = "LOAD CSV reads files and addresses"
_TERMINATE = "TERMINATE TRANSACTIONS stops the work of others"
_REFUSED_OPERATORS = {"LoadCSV": _LOAD_CSV, "TerminateTransactions": _TERMINATE}
# Two keywords in a row are never two names: Cypher has no place for that.
_REFUSED_KEYWORDS = {
    ("LOAD", "CSV"): _LOAD_CSV,
    ("TERMINATE", "TRANSACTION"): _TERMINATE,
    ("TERMINATE", "TRANSACTIONS"): _TERMINATE,
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
    }
)
# Functions with a dot in their names: those of Neo4j, and those of APOC that only compute. Others of APOC run Cypher,
# and those of GenAI call addresses. A function without a dot is always one of Neo4j's own.
_FUNCTIONS = (
    *("date.", "datetime.", "duration.", "localdatetime.", "localtime.", "time."),
    *("db.nameFromElementId", "graph.", "point.", "vector.similarity."),
    *("apoc.agg.", "apoc.coll.", "apoc.convert.", "apoc.date.", "apoc.map.", "apoc.math.", "apoc.number."),
    *("apoc.temporal.", "apoc.text."),
)
_ALLOWED_FUNCTIONS = tuple(name.lower() for name in _FUNCTIONS)


def check_reads_only(connection: Connection, query: Query) -> None:
    """Raise a QueryError for a query that does more than read, or whose effects are not known."""
    tokens = list(read_cypher_tokens(query.text))
    check_limits(tokens)
    _check_keywords(tokens)
    _check_calls(tokens)
    kind, operators = connection.plan(query)
    if tokens and tokens[-1].kind is CypherTokenKind.UNCLOSED:
        raise QueryError("refused: a string, a name or a comment has no end")
    for operator, _ in operators:
        if operator in _REFUSED_OPERATORS:
            raise _refuse(_REFUSED_OPERATORS[operator])
    for operator, details in operators:
        if operator == "ProcedureCall":
            _check_procedure(details.partition("(")[0])
    if kind == "s":
        raise _refuse("this is a command for the server or the schema")
    if kind != "r":
        raise QueryError("refused: this query writes; say so with --write (in Python: write=True)")


def _check_keywords(tokens: Sequence[CypherToken]) -> None:
    for one, other in pairwise(tokens):
        if reason := _REFUSED_KEYWORDS.get((one.keyword, other.keyword)):
            raise _refuse(reason)


def _check_calls(tokens: Sequence[CypherToken]) -> None:
    """Refuse the calls of procedures and functions that are not known to be harmless."""
    start = 0
    while start < len(tokens):
        name, end = _read_name(tokens, start)
        if "." in name and tokens[start - 1 : start] and tokens[start - 1].keyword == "CALL":
            _check_procedure(name)
        elif "." in name and tokens[end : end + 1] and tokens[end].symbol == "(":
            _check_function(name)
        start = max(end, start + 1)


def _read_name(tokens: Sequence[CypherToken], start: int) -> tuple[str, int]:
    """Read the name that begins here, parts with dots between them, and return it with the place after it."""
    parts: list[str] = []
    end = start
    while end < len(tokens) and (part := tokens[end].name) is not None:
        parts.append(part)
        if not tokens[end + 1 : end + 2] or tokens[end + 1].symbol != ".":
            return ".".join(parts), end + 1
        end += 2
    return ".".join(parts), end


def _check_procedure(name: str) -> None:
    if name not in _PROCEDURES:
        raise QueryError(f"refused: the procedure {name} is not one that only reads the graph")


def _check_function(name: str) -> None:
    if not name.lower().startswith(_ALLOWED_FUNCTIONS):
        raise QueryError(f"refused: the function {name} is not one that only computes")


def _refuse(reason: str) -> QueryError:
    return QueryError(f"refused: {reason}; `query` only reads the graph")
