"""Which entities a text leads to: those that contain it, and where there are none, those that its words find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memorygraph.graph.namespace import Namespace
from memorygraph.graph.search import lucene_query

MAX_PARTS = 8
MAX_PART = 40  # what is longer than any word asks too much of Lucene

# Letters and digits that every analyzer leaves together, whatever stands around them; between blanks they are a word.
_PART = re.compile("(?P<before>(?<=[ \\t\\n]))?(?P<part>[A-Za-z0-9]+)(?P<after>(?=[ \\t\\n]))?")


def searches(namespace: Namespace, text: str) -> Iterator[dict[str, str]]:
    """The searches that `entities/open` takes, each of them for the case that the one before it found nothing."""
    yield _containing(namespace, text)
    terms = lucene_query(text, namespace.name)
    if terms is not None:
        yield {"search": "ids-with-words", "terms": terms}


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
        _Part(match["part"][:MAX_PART], match["before"] is not None, match["after"] is not None)
        for match in _PART.finditer(text.lower())
    ]
    parts = [part._replace(ends=part.ends and len(part.text) < MAX_PART) for part in dict.fromkeys(found)]
    parts = sorted(parts, key=lambda part: len(part.text), reverse=True)[:MAX_PARTS]
    return [part for part in parts if len(part.text) > 1] or parts  # one letter leads nearly everywhere


def _containing(namespace: Namespace, text: str) -> dict[str, str]:
    parts = parts_of(text)
    if not parts:
        return {"search": "ids-containing", "text": text}
    token = namespace.token
    clauses = " ".join(f"+(name:{part.term} kind:{part.term} data:{part.term})" for part in parts)
    terms = f'+namespace_token:"{token}" {clauses}'
    return {"search": "ids-containing-parts", "text": text, "parts": terms}
