"""The words of a text as a full-text query that cannot fail, and finds what the text asks for.

Words that only ask or join (`what`, `did`, `about`) find nothing that is meant, and are left out: on conversations
this alone gains four points of evidence. Two words that stand side by side count once more where they do so in what
is found: `support group` is more than `support` and `group`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from memorygraph.graph.search import namespace_token
from memorygraph.memory.times import times_meant
from memorygraph.messages.findable import conversation_token

MAX_TERMS = 64
MAX_TERM = 255

# A word with its inner apostrophes, or signs of other scripts that are no words, such as an emoji.
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
    """The words that a text is about, each once; all of its words where it has only joining ones.

    >>> words_of("When did Caroline go to the support group's picnic?")
    ['Caroline', 'go', 'support', 'group', 'picnic']
    >>> words_of("Who is it?"), words_of('" AND (')
    (['Who', 'is', 'it'], ['AND'])
    """
    found = [_POSSESSIVE.sub("", term) for term in _TERM.findall(text)]
    once = {word.casefold(): word[:MAX_TERM] for word in reversed(found) if word}
    terms = list(reversed(once.values()))
    return ([term for term in terms if term.casefold() not in JOINING] or terms)[:MAX_TERMS]


def words_query(words: Sequence[str], phrases: Sequence[str], tokens: Sequence[str], fields: Mapping[str, int]) -> str:
    """A Lucene query: words any of which may match in these fields, in what carries all of the tokens.

    Each is quoted, so that nothing in it is an operator. The tokens add nothing to the score: what only they match
    has a score of zero.

    >>> words_query(["red", "car"], ["1 May 2023"], ["7"], {"said": 1})
    '+namespace_token:"7"^0 said:"red" said:"car" said:"red car" said:"1 May 2023"'
    """
    pairs = [f"{first} {second}" for first, second in pairwise(words)]
    quoted = ['"' + _SPECIAL.sub(r"\\\1", part) + '"' for part in (*words, *pairs, *phrases)]
    required = [f'+namespace_token:"{token}"^0' for token in tokens]
    wanted = [f"{field}:{part}{_boost(weight)}" for part in quoted for field, weight in fields.items()]
    return " ".join([*required, *wanted])


def message_query(text: str, namespace: str, conversation: str | None, at: datetime | None) -> str:
    """The query for messages that say something, or were said then, in a namespace, and in a conversation if named."""
    tokens = [namespace_token(namespace)]
    if conversation is not None:
        tokens.append(conversation_token(namespace, conversation))
    return words_query(words_of(text), times_meant(text, at), tokens, {"said": 1})


def node_query(text: str, namespace: str) -> str:
    """The query for nodes of one namespace; a word of the name counts twice."""
    return words_query(words_of(text), (), [namespace_token(namespace)], {"name": 2, "data": 1})


def _boost(weight: int) -> str:
    return "" if weight == 1 else f"^{weight}"
