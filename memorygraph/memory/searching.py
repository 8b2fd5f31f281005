"""Which entities a text leads to: those that contain it, and where there are none, those that its words find."""

from __future__ import annotations

import re
from typing import Any

from memorygraph.graph.connection import Transaction
from memorygraph.graph.search import lucene_query, namespace_token
from memorygraph.library import CYPHER

MOST_HITS = 50
MOST_PARTS = 8
LONGEST_PART = 40  # what is longer than any word asks too much of Lucene

# Letters and digits that every analyzer leaves together, whatever stands around them.
_PART = re.compile("[A-Za-z0-9]+")
# What the index of all nodes does not know.
_STOP_WORDS = (
    " a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with "
)


def found_ids(transaction: Transaction, namespace: str, text: str) -> list[str]:
    """The ids of the entities that a text leads to."""
    rows = _containing(transaction, namespace, text)
    terms = None if rows else lucene_query(text, namespace)
    if terms is not None:
        rows = transaction.run(CYPHER["entities/ids-with-words"](namespace=namespace, terms=terms, limit=MOST_HITS))
    return [row["id"] for row in rows]


def _containing(transaction: Transaction, namespace: str, text: str) -> list[dict[str, Any]]:
    parts = list(dict.fromkeys(part[:LONGEST_PART] for part in _PART.findall(text.lower())))
    parts = sorted(parts, key=len, reverse=True)[:MOST_PARTS]
    parts = [part for part in parts if len(part) > 1] or parts  # one letter leads nearly everywhere
    if not parts:
        return transaction.run(CYPHER["entities/ids-containing"](namespace=namespace, text=text))
    found = CYPHER["entities/ids-containing-parts"](
        namespace=namespace,
        text=text,
        parts=_within(namespace, [_anywhere(part, ("name", "kind", "data")) for part in parts]),
        words=_within(
            namespace,
            [
                f'{_anywhere(part, ("name", "data"))} name:"{part}" data:"{part}"'
                for part in parts
                if f" {part} " not in _STOP_WORDS
            ],
        ),
    )
    return transaction.run(found)


def _anywhere(part: str, fields: tuple[str, ...]) -> str:
    return " ".join(f"{field}:*{part}*" for field in fields)


def _within(namespace: str, clauses: list[str]) -> str:
    required = " ".join(f"+({clause})" for clause in clauses)
    return f'+namespace_token:"{namespace_token(namespace)}" {required}'
