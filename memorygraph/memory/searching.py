"""Which entities a text leads to: those that contain it, and where there are none, those that its words find."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from memorygraph.graph.connection import Transaction
from memorygraph.graph.search import lucene_query, namespace_token
from memorygraph.library import CYPHER

MOST_HITS = 50
MOST_PARTS = 8
LONGEST_PART = 40  # what is longer than any word asks too much of Lucene

# Letters and digits that every analyzer leaves together, whatever stands around them; between blanks they are a word.
_PART = re.compile("(?P<before>(?<=[ \\t\\n]))?(?P<part>[A-Za-z0-9]+)(?P<after>(?=[ \\t\\n]))?")
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


class _Part(NamedTuple):
    """Letters and digits of a text, and whether a word of what contains it begins and ends with them."""

    text: str
    begins: bool
    ends: bool

    @property
    def term(self) -> str:
        """What finds the words. Lucene looks through all words that there are where it does not know the beginning."""
        if self.begins and self.ends:
            return f'"{self.text}"'
        return ("" if self.begins else "*") + self.text + ("" if self.ends else "*")


def parts_of(text: str) -> list[_Part]:
    """The parts of a text that lead to what may contain it, the longest first.

    >>> [part.term for part in parts_of("mine tea le")]
    ['*mine', '"tea"', 'le*']
    """
    found = [
        _Part(match["part"][:LONGEST_PART], match["before"] is not None, match["after"] is not None)
        for match in _PART.finditer(text.lower())
    ]
    parts = [part._replace(ends=part.ends and len(part.text) < LONGEST_PART) for part in dict.fromkeys(found)]
    parts = sorted(parts, key=lambda part: len(part.text), reverse=True)[:MOST_PARTS]
    return [part for part in parts if len(part.text) > 1] or parts  # one letter leads nearly everywhere


def _containing(transaction: Transaction, namespace: str, text: str) -> list[dict[str, Any]]:
    parts = parts_of(text)
    if not parts:
        return transaction.run(CYPHER["entities/ids-containing"](namespace=namespace, text=text))
    found = CYPHER["entities/ids-containing-parts"](
        namespace=namespace,
        text=text,
        parts=_within(namespace, [_anywhere(part.term, ("name", "kind", "data")) for part in parts]),
        words=_within(
            namespace,
            [
                f'{_anywhere(part.term, ("name", "data"))} name:"{part.text}" data:"{part.text}"'
                for part in parts
                if f" {part.text} " not in _STOP_WORDS
            ],
        ),
    )
    return transaction.run(found)


def _anywhere(term: str, fields: tuple[str, ...]) -> str:
    return " ".join(f"{field}:{term}" for field in fields)


def _within(namespace: str, clauses: list[str]) -> str:
    required = " ".join(f"+({clause})" for clause in clauses)
    return f'+namespace_token:"{namespace_token(namespace)}" {required}'
