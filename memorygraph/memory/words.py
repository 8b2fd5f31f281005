"""The words of a text as a full-text query that never fails to parse.

Words that only ask or join (`what`, `did`, `about`) are left out: on conversations this alone gains four points of
evidence. Two neighbouring words count once more where they are neighbours in a hit, too: `support group` is more than
`support` and `group`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from memorygraph.graph.search import namespace_token
from memorygraph.memory.times import times_meant
from memorygraph.messages.indexing import conversation_token

MAX_TERMS = 64
MAX_TERM_CHARACTERS = 255

# A word with its inner apostrophes, or signs that are not letters, such as an emoji.
_TERM = re.compile(r"\w+(?:['\u2019]\w+)*|[^\w\s\x00-\x7f\ud800-\udfff]+")
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_SPECIAL = re.compile(r'(["\\])')
_JOINING_WORDS = """
a about an and are as at be been being but by can could did do does done for from had has have having he her him his
how i if in into is it its just me might must my no not of on or our shall she should so than that the their them
then there these they this those to too us very was we were what when where which who whom whose why will with would
you your
"""
JOINING = frozenset(_JOINING_WORDS.split())


def words_of(text: str) -> list[str]:
    """The words of a text without joining ones, each once; all of its words if it has no others.

    >>> words_of("When did Caroline go to the support group's picnic?")
    ['Caroline', 'go', 'support', 'group', 'picnic']
    >>> words_of("Who is it?"), words_of('" AND (')
    (['Who', 'is', 'it'], ['AND'])
    """
    found = [_POSSESSIVE.sub("", term) for term in _TERM.findall(text)]
    # Reversed twice, so that the first spelling of a word counts.
    once = {word.casefold(): word[:MAX_TERM_CHARACTERS] for word in reversed(found) if word}
    terms = list(reversed(once.values()))
    return ([term for term in terms if term.casefold() not in JOINING] or terms)[:MAX_TERMS]


def words_query(words: Sequence[str], phrases: Sequence[str], tokens: Sequence[str], fields: Mapping[str, int]) -> str:
    """A Lucene query for any of the words in these fields, in documents with all of the tokens.

    Each word is quoted, so that it holds no operator. The tokens add nothing to the score: a document that only they
    match has a score of zero.

    >>> words_query(["red", "car"], ["1 May 2023"], ["7"], {"said": 1})
    '+namespace_token:"7"^0 said:"red" said:"car" said:"red car" said:"1 May 2023"'
    """
    pairs = [f"{first} {second}" for first, second in pairwise(words)]
    quoted = ['"' + _SPECIAL.sub(r"\\\1", part) + '"' for part in (*words, *pairs, *phrases)]
    required = [f'+namespace_token:"{token}"^0' for token in tokens]
    boosts = {field: "" if weight == 1 else f"^{weight}" for field, weight in fields.items()}
    wanted = [f"{field}:{part}{boost}" for part in quoted for field, boost in boosts.items()]
    return " ".join([*required, *wanted])


def message_query(text: str, namespace: str, conversation: str | None, at: datetime | None) -> str:
    """The query for messages by the words and the times of a text, in a namespace or in one conversation of it."""
    tokens = [namespace_token(namespace)]
    if conversation is not None:
        tokens.append(conversation_token(namespace, conversation))
    return words_query(words_of(text), times_meant(text, at), tokens, {"said": 1})


def node_query(text: str, namespace: str) -> str:
    """The query for nodes of a namespace; a word in the name counts twice."""
    return words_query(words_of(text), (), [namespace_token(namespace)], {"name": 2, "data": 1})
