"""Full-text search: Lucene queries that cannot fail, made of what a user types."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Any

MAX_TERMS = 64
MAX_TERM = 255

_TERM = re.compile(r"\w+|[^\w\s]+")
_SPECIAL = re.compile(r'(["\\])')


def namespace_token(namespace: str) -> str:
    """Return the word for a namespace in the full-text index: digits, which every analyzer leaves whole.

    >>> namespace_token("default")
    '18345607124885091234'
    """
    return str(int.from_bytes(blake2b(namespace.encode(), digest_size=8).digest()))


def conversation_token(namespace: str, conversation: str) -> str:
    """The word that stands for a conversation in the full-text index, as `namespace_token` does for a namespace."""
    named = f"{len(namespace)} {namespace} {conversation}".encode("utf-8", "surrogatepass")
    return str(int.from_bytes(blake2b(named, digest_size=8, person=b"conversation").digest()))


def lucene_query(text: str, namespace: str) -> str | None:
    """Make a query for nodes of one namespace that match any word of a text; None without a word.

    >>> lucene_query("   ", "default") is None
    True
    """
    terms = list(dict.fromkeys(match[:MAX_TERM] for match in _TERM.findall(text)))[:MAX_TERMS]
    if not terms:
        return None
    # Quoted, so that nothing in them is an operator. A match in the name counts twice, the namespace adds no score.
    quoted = ['"' + _SPECIAL.sub(r"\\\1", term) + '"' for term in terms]
    words = " ".join(f"name:{term}^2 data:{term}" for term in quoted)
    return f'+namespace_token:"{namespace_token(namespace)}"^0 +({words})'


def name_query(text: str, namespace: str) -> str:
    """Make a query for nodes of one namespace whose name has the words of a text in their order.

    >>> name_query("the heat", "default")
    '+namespace_token:"18345607124885091234"^0 +name:"the heat"'
    """
    words = _SPECIAL.sub(r"\\\1", text[:MAX_TERM])
    return f'+namespace_token:"{namespace_token(namespace)}"^0 +name:"{words}"'


def spellings_row(name: str, namespace: str) -> dict[str, Any]:
    """What finds the nodes whose names differ from one in case only: usual spellings, and a query for any other.

    >>> spellings_row("ada King", "default")["spellings"]
    ['ADA KING', 'Ada King', 'ada King', 'ada king']
    """
    spellings = sorted({name, name.lower(), name.upper(), name.title(), name[:1].upper() + name[1:]})
    return {"name": name, "spellings": spellings, "terms": name_query(name, namespace)}
