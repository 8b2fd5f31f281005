"""Full-text search: Lucene queries that cannot fail, made of what a user types."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import regex

from memorygraph.word_parts import MAX_TERMS, PARTS, Terms, keep_ends, normal_forms, segments_of, words_with_signs

MAX_TERM = 255
MAX_NAMED = 64  # conversations of one message that have a word each in the index; all others have `SHARED_TOKEN`
TRANSCRIPT_PREFIX = "claude-code-"  # of conversations that hooks keep: the id of the agent's session follows it
MAX_SHARP = 8  # places of a name where ss may stand for ß
NODE_FIELDS = {"name": 2, "data": 1}  # how much a word of a node counts in each
MAX_FUZZY_CHARACTERS = 20  # of a word: to compare one of thousands takes Lucene more memory than Neo4j has
MAX_FUZZY_WORDS = 4  # of a query: each in two forms and two fields, of up to 50 spellings: Lucene takes 1,024
SIGN_WEIGHT = 0.2  # of a Chinese sign alone; two that follow each other are a word

# A word keeps the marks on its letters, and an emoji those and what joins it to another; half a character is in no text
# that is stored, nor can it be asked for.
_TERM = regex.compile(r"(?![\p{M}\u200d])[\w\p{M}]+|(?:[^\w\s\ud800-\udfff]|[\p{M}\u200d])+")
_STEM_END = re.compile("(?<=..)[sey]$")
_SPECIAL = re.compile(r'(["\\])')


def namespace_token(namespace: str) -> str:
    """Return the word for a namespace in the full-text index: digits, which every analyzer leaves whole.

    >>> namespace_token("default")
    '18345607124885091234'
    """
    return digits_of(namespace.encode())


def conversation_token(namespace: str, conversation: str) -> str:
    """The word that stands for a conversation in the full-text index, as `namespace_token` does for a namespace."""
    named = f"{len(namespace)} {namespace} {conversation}".encode("utf-8", "surrogatepass")
    return digits_of(named, b"conversation")


def conversation_tokens(namespace: str, conversations: Sequence[str]) -> list[str]:
    """The words by which a message is found in its conversations: one for each, and of very many one for all others."""
    named = [conversation_token(namespace, name) for name in conversations[:MAX_NAMED]]
    return named if len(conversations) <= MAX_NAMED else [*named, SHARED_TOKEN]


def transcript_tokens(conversations: Sequence[str]) -> list[str]:
    """The hashes by which the record of a forgetting tells the transcripts that hooks had kept.

    Of no other conversations: their names can be guessed, unlike the id of a session.
    """
    named = [name for name in conversations if name.startswith(TRANSCRIPT_PREFIX)]
    return [digits_of(name.encode("utf-8", "surrogatepass"), b"transcript") for name in named]


def require_token(token: str) -> str:
    """A condition for Lucene: a document has this word of the index, which adds nothing to its score."""
    return f'+namespace_token:"{token}"^0'


def digits_of(text: bytes, person: bytes = b"") -> str:
    """A hash as a word of digits; those of different kinds (`person`) do not meet."""
    return str(int.from_bytes(blake2b(text, digest_size=8, person=person).digest()))


SHARED_TOKEN = digits_of(b"shared", b"conversation")
"""The word of a message in the full-text index that stands for all of its conversations after the first `MAX_NAMED`."""


def token_parameters(namespace: str, conversation: str) -> dict[str, Any]:
    """The parameters of the queries that have a stored message be found in one more conversation."""
    token = conversation_token(namespace, conversation)
    return {"conversation_token": token, "shared_token": SHARED_TOKEN, "max_named": MAX_NAMED}


def lucene_query(text: str, namespace: str) -> str | None:
    """Make a query for nodes of one namespace that match any word of a text; None without a word.

    Of more than `MAX_TERMS` words those in the middle are left out.

    >>> lucene_query("   ", "default") is None
    True
    """
    words = list[str]()
    for part in text.split():
        words += (word[:MAX_TERM] for word in words_with_signs(part))
        words += (segment.text for match in _TERM.findall(part) for segment in segments_of(match[:MAX_TERM]))
    # Reversed twice, so that the last place of a word counts: where a question repeats it.
    once = dict.fromkeys(reversed(words))
    terms = keep_ends(list(reversed(once)), MAX_TERMS)
    if not terms:
        return None
    clauses = " ".join(any_of(Terms.of(terms), NODE_FIELDS))
    return f"{require_token(namespace_token(namespace))} +({clauses})"


def fuzzy_query(text: str, namespace: str, fields: Mapping[str, int] = NODE_FIELDS) -> str | None:
    """Make a query for nodes of one namespace with words spelled almost like those of a text; None without a word.

    A word may be one letter off, and one of eight letters or more two. The index has stems, and Lucene makes none of a
    word that it looks for so: each word is also looked for with the end of a stem, as `lovlac` for `lovelac`.

    >>> fuzzy_query("Armstong", "default")
    '+namespace_token:"18345607124885091234"^0 +(name:armstong~2^2 data:armstong~2^1)'
    """
    found = _TERM.findall(unicodedata.normalize("NFC", text).lower())
    compared = [word for word in found if word.isalnum() and len(word) <= MAX_FUZZY_CHARACTERS]
    words = keep_ends(compared, MAX_FUZZY_WORDS)
    if not words:
        return None
    clauses = " ".join(
        f"{field}:{form}~{min(2, len(word) // 4)}^{weight}"
        for word in words
        for form in dict.fromkeys((word, _STEM_END.sub(lambda end: "i" if end[0] == "y" else "", word)))
        for field, weight in fields.items()
    )
    return f"{require_token(namespace_token(namespace))} +({clauses})"


def any_of(terms: Terms, fields: Mapping[str, int]) -> Iterator[str]:
    """The clauses that look for terms in fields of these weights, and in the parts stored beside them."""
    for ending, share, wanted in (("", 1, terms.text), (PARTS, 1, terms.parts), ("", SIGN_WEIGHT, terms.signs)):
        for term in wanted:
            for field, weight in fields.items():
                boost = "" if weight * share == 1 else f"^{weight * share:g}"
                yield f"{field}{ending}:{quote_phrase(term)}{boost}"


def quote_phrase(text: str) -> str:
    """A text as a phrase of Lucene, in which nothing is an operator.

    >>> quote_phrase("AND")
    '"AND"'
    """
    return '"' + _SPECIAL.sub(r"\\\1", text) + '"'


def name_query(text: str, namespace: str) -> str:
    """Make a query for nodes of one namespace whose name has the words of a text in their order.

    >>> name_query("the heat", "default")
    '+namespace_token:"18345607124885091234"^0 +name:"the heat"'
    """
    return f"{require_token(namespace_token(namespace))} +name:{quote_phrase(text[:MAX_TERM])}"


def fold_name(name: str) -> str:
    """What is equal of names that differ in case, in the encoding of their letters or in outer blanks only.

    >>> fold_name(" Cafe\u0301 Straße") == fold_name("CAFÉ STRASSE")
    True
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).strip() or name


def coarse_key(name: str) -> str:
    """What Cypher, which knows no case folding, compares of names: it takes a dotless i for an i, too."""
    return unicodedata.normalize("NFC", name).strip().lower().upper()


def spellings_row(name: str, namespace: str) -> dict[str, Any]:
    """What finds the nodes whose names `fold_name` calls equal: usual spellings, and a query for any other.

    >>> spellings_row("ada King", "default")["spellings"]
    ['ADA KING', 'Ada King', 'ada King', 'ada king']
    """
    forms = list(_forms_of(name))
    spellings = {
        spelling
        for form in forms
        for spelling in (form, form.lower(), form.upper(), form.title(), form[:1].upper() + form[1:])
    }
    phrases = " ".join(dict.fromkeys(f"name:{quote_phrase(form[:MAX_TERM])}" for form in forms))
    terms = f"{require_token(namespace_token(namespace))} +({phrases})"
    return {"name": name, "spellings": sorted({name, *spellings}), "terms": terms}


def _forms_of(name: str) -> Iterator[str]:
    """The forms of a name that the indexes tell apart in each case: its letters, ß or ss, with their marks or apart."""
    whole = unicodedata.normalize("NFC", name).strip() or name
    forms = {whole: None}
    if not whole.isascii() or "ss" in whole.lower():
        folded = whole.casefold()
        places = [match.start() for match in re.finditer("ss", folded)][:MAX_SHARP]
        with_sharp = [f"{folded[:place]}ß{folded[place + 2 :]}" for place in places]
        forms |= dict.fromkeys([whole.lower(), folded, *with_sharp, folded.replace("ss", "ß")])
    for form in forms:
        yield from normal_forms(form)
