"""Keys of names: what is equal of two names that are likely those of one thing.

Each key forgets a little more of a name than the one before it, so that names are compared by looking keys up.
A library that measures how alike two names are would have to be asked about each pair of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

import regex

MIN_EDITED_LETTERS = 8
"""Shorter names that are one edit apart are mostly two names, such as Anna and Anne."""

MAX_EDITED_LETTERS = 200
"""A longer one is no name that was mistyped; it has as many variants as letters, each as long as itself."""

MIN_WORD_LETTERS = 3
"""A shorter word that differs is not one that was mistyped."""

_TITLE_WORDS = """
mr mrs ms miss mx dr prof professor sir dame lady lord rev reverend fr hon capt captain col gen lt sgt
herr frau fraulein m mme mlle sr sra srta senor senora don dona ing dipl mag phd md esq
"""
_TITLES = frozenset(_TITLE_WORDS.split())
_MARKS = re.compile(
    "[\u0300-\u036f]"
)  # of Latin, Greek and Cyrillic letters; those of other scripts tell letters apart
_WORD = regex.compile(r"(?!\p{M})[\w\p{M}]+(?:['\u2019][\w\p{M}]+)*")  # with the vowel signs of Devanagari or Thai
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "\u0131": "i", "\u2019": "'"}
)


class NameKeys(NamedTuple):
    """The keys of a name: without case, then without accents, then its words without titles, and these in any order."""

    case: str
    accents: str
    words: str
    order: str


def keys_of(name: str) -> NameKeys:
    """The keys of a name.

    >>> keys_of("Dr. LOVELACE, Zoë").order
    'lovelace zoe'
    """
    case = unicodedata.normalize("NFKC", name).casefold().strip()
    plain = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", case))).translate(_LETTERS)
    found = _WORD.findall(plain) or [plain]
    words = [word for word in found if word not in _TITLES] or found
    return NameKeys(case, plain, " ".join(words), " ".join(sorted(words)))


def explain_difference(first: NameKeys, second: NameKeys) -> str:
    """What tells two names apart whose last keys are equal: `case`, `accents`, `title` or `word order`."""
    if first.case == second.case:
        return "case"
    if first.accents == second.accents:
        return "accents"
    return "title" if first.words == second.words else "word order"


def deletions_of(text: str) -> Iterator[str]:
    """The text without each of its letters in turn; digits stay, because Room 101 and Room 102 are two."""
    for place, letter in enumerate(text):
        if not letter.isdigit() and (place == 0 or text[place - 1] != letter):
            yield text[:place] + text[place + 1 :]


def is_one_edit(first: str, second: str) -> bool:
    """Whether one letter more, less or else, or two neighbours exchanged, make the one text of the other.

    A digit, or a letter of a word that has hardly any others, tells things apart.

    >>> is_one_edit("katherine", "catherine"), is_one_edit("room 101", "room 102"), is_one_edit("player a", "player b")
    (True, False, False)
    """
    edited = [pair for pair in zip(first.split(), second.split(), strict=False) if pair[0] != pair[1]]
    if first.count(" ") == second.count(" ") and any(len(min(pair, key=len)) < MIN_WORD_LETTERS for pair in edited):
        return False
    if len(first) > len(second):
        first, second = second, first
    if first == second or len(second) - len(first) > 1:
        return False
    start = next((place for place, letter in enumerate(first) if letter != second[place]), len(first))
    if len(first) < len(second):
        return first[start:] == second[start + 1 :] and not second[start].isdigit()
    if any(letter.isdigit() for letter in (first[start], second[start])):
        return False
    swapped = first[start + 1 : start + 2] + first[start] == second[start : start + 2]
    return first[start + 1 :] == second[start + 1 :] or (swapped and first[start + 2 :] == second[start + 2 :])
