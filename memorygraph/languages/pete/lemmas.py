"""Predicates by their dictionary form, so that `uses` and `doesn't use` are one verb."""

from __future__ import annotations

import re
from functools import lru_cache

_LANGUAGE = "en"
MAX_WORD = 50  # characters; longer forms are in no dictionary
_MIN_STEM = 3  # characters; `as` is no plural of `a`

_WITHOUT_ENDING = re.compile(r"\A(?:is|has|does|as|s)\Z|(?:ss|us)\Z", re.IGNORECASE)
_WITH_ES = re.compile(r"(?:[sxzo]|ch|sh)es\Z", re.IGNORECASE)


@lru_cache(maxsize=2**16)
def lemma_of(form: str) -> str:
    """The dictionary form of a predicate, by simplemma; a word that is in no dictionary stays as it is.

    >>> [lemma_of(form) for form in ("uses", "causes", "watches", "is", "ate", "fixes", "pass", "bus", "likes_to")]
    ['use', 'cause', 'watch', 'be', 'eat', 'fix', 'pass', 'bus', 'likes_to']
    """
    if len(form) > MAX_WORD:
        return form
    from simplemma import is_known, lemmatize  # it takes 0.1 s, and only a log with facts needs it

    lemma = lemmatize(form, _LANGUAGE)
    # The dictionary has `fixe` for `fixes`, and nothing for `means`, though it knows `fix` and `mean`.
    ending = "es" if form.endswith(("sses", "xes")) else "s" if lemma == form and not form.endswith("ss") else ""
    stem = form.removesuffix(ending)
    if stem != form and len(stem) >= _MIN_STEM and is_known(stem, _LANGUAGE):
        return lemmatize(stem, _LANGUAGE)
    return lemma


def stem_of(form: str) -> str:
    """What ids name a predicate by: its letters without the ending of the third person.

    Ids are stored, and exports name them: so this rule stays as it is, whatever a dictionary knows, and when.

    >>> [stem_of(form) for form in ("likes", "watches", "uses", "pass", "bus", "is", "as", "ate")]
    ['like', 'watch', 'us', 'pass', 'bus', 'is', 'as', 'ate']
    """
    if not form.endswith("s") or _WITHOUT_ENDING.search(form):
        return form
    return form[:-2] if _WITH_ES.search(form) else form[:-1]


def spellings(lemma: str, surface: str) -> tuple[str, ...]:
    """The forms of a predicate that an edge without a lemma may have; the last is the one that was written.

    >>> spellings("eat", "eats")
    ('eat', 'eates', 'eats')
    >>> spellings("carry", "carry")
    ('carrys', 'carryes', 'carries', 'carry')
    """
    forms = [lemma, f"{lemma}s", f"{lemma}es", *([f"{lemma[:-1]}ies"] if lemma.endswith("y") else [])]
    return (*(form for form in forms if form != surface), surface)
