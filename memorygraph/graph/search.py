"""Full-text search: what a user types, as a Lucene query that cannot fail."""

from __future__ import annotations

import re
from hashlib import blake2b

MAX_TERMS = 64
MAX_TERM = 255

_TERM = re.compile(r"\w+|[^\w\s]+")
_SPECIAL = re.compile(r'(["\\])')


def namespace_token(namespace: str) -> str:
    """The word that stands for a namespace in the full-text index: digits, which every analyzer leaves whole.

    >>> namespace_token("default")
    '18345607124885091234'
    """
    return str(int.from_bytes(blake2b(namespace.encode(), digest_size=8).digest()))


def lucene_query(text: str, namespace: str) -> str | None:
    """The words of a text, any of which may match, in one namespace; None where there is no word.

    Each word is quoted, so that nothing in it is an operator. A term of the name counts twice. The namespace
    is required, and adds nothing to the score.

    >>> lucene_query("   ", "default") is None
    True
    """
    terms = list(dict.fromkeys(match[:MAX_TERM] for match in _TERM.findall(text)))[:MAX_TERMS]
    if not terms:
        return None
    quoted = ['"' + _SPECIAL.sub(r"\\\1", term) + '"' for term in terms]
    words = " ".join(f"name:{term}^2 data:{term}" for term in quoted)
    return f'+namespace_token:"{namespace_token(namespace)}"^0 +({words})'


def name_query(text: str, namespace: str) -> str:
    """A query for nodes of one namespace whose name has the words of a text in their order.

    >>> name_query("the heat", "default")
    '+namespace_token:"18345607124885091234"^0 +name:"the heat"'
    """
    words = _SPECIAL.sub(r"\\\1", text[:MAX_TERM])
    return f'+namespace_token:"{namespace_token(namespace)}"^0 +name:"{words}"'
