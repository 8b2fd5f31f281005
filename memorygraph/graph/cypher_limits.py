"""Limits on a Cypher text: a few hundred bytes can overflow the stack of Neo4j's parser, or be planned for hours.

The sender of such a text waits for minutes, whatever the time limit of the transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memorygraph.errors import QueryError
from memorygraph.graph.cypher_tokens import CypherToken, read_cypher_tokens

# Neo4j 2026.08.1 overflows at 150 CASE within each other, at 200 brackets, NOT, or `+` in a row, and at 100 functions
# with a NOT before each.
MAX_NESTING = 100
# Each EXISTS within another, and each XOR, doubles the time of planning: 18 take seconds, and 30 take hours.
MAX_DOUBLINGS = 12
_CLOSING = {")": "(", "]": "[", "}": "{", "END": "CASE"}
_OPENING = frozenset(_CLOSING.values())
_SUBQUERIES = frozenset({"EXISTS", "COUNT", "COLLECT"})
# Each of these in a row is one deeper for the parser.
_CHAINED = frozenset({"NOT", "+", "-", "*", "/", "%", "^", "||"})
# What begins another expression, or another part of one.
_DIVIDERS = frozenset(
    (
        *(",", "AND", "OR", "WHEN", "THEN", "ELSE", "WHERE", "WITH", "RETURN", "UNION", "NEXT", "LET", "FILTER"),
        *("MATCH", "UNWIND", "CALL", "CREATE", "INSERT", "MERGE", "SET", "REMOVE", "DELETE", "ORDER", "SKIP", "LIMIT"),
    )
)


@dataclass
class _Level:
    """A bracket or a CASE that is open: how deep it is, and what in it was counted so far."""

    opening: str = ""
    depth: int = 0
    doublings: int = 0
    chain: int = 0  # NOT and operators of the same expression


def check_nesting(cypher: str) -> None:
    """Refuse Cypher that holds no query, or nests so deeply that Neo4j would overflow or plan it for hours.

    Raises:
        QueryError: the text is refused.
    """
    check_limits([*read_cypher_tokens(cypher)])


def check_limits(tokens: Sequence[CypherToken]) -> None:
    """Do as `check_nesting` does, for the tokens of a text."""
    if all(token.symbol == ";" for token in tokens):
        raise QueryError("there is no query in this text: write one in Cypher")
    levels = [_Level()]
    before = ""
    for token in tokens:
        mark = token.keyword or token.symbol
        if token.name is not None and before in {".", ":"}:  # a property or a label of this name
            mark = ""
        level = levels[-1]
        if mark in _OPENING:
            doublings = level.doublings + (mark == "{" and before in _SUBQUERIES)
            levels.append(_Level(mark, level.depth + level.chain + 1, doublings))
        elif mark in _CLOSING:
            _close(levels, _CLOSING[mark])
        elif mark in _CHAINED:
            level.chain += 1
        elif mark == "XOR":
            level.doublings += 1
        elif mark in _DIVIDERS:
            level.chain = 0
        _check(levels[-1])
        before = mark


def _close(levels: list[_Level], opening: str) -> None:
    """Close the innermost level that was opened so, and with a bracket each CASE within it."""
    for index in range(len(levels) - 1, 0, -1):
        if levels[index].opening == opening:
            del levels[index:]
            return
        if levels[index].opening != "CASE":
            return


def _check(level: _Level) -> None:
    if level.depth + level.chain > MAX_NESTING:
        raise QueryError(
            f"refused: more than {MAX_NESTING} brackets, CASE, NOT or operators within each other; "
            "pass such a value as a parameter"
        )
    if level.doublings > MAX_DOUBLINGS:
        raise QueryError(
            f"refused: more than {MAX_DOUBLINGS} XOR or subqueries within each other; Neo4j would plan this for hours"
        )
