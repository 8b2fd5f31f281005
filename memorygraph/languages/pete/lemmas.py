"""Predicates by their dictionary form, so that `uses` and `doesn't use` are one verb."""

from __future__ import annotations

from functools import lru_cache

_LANGUAGE = "en"
MAX_WORD = 50  # characters; longer forms are in no dictionary
_MIN_STEM = 3  # characters; `as` is no plural of `a`


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


def spellings(lemma: str, surface: str) -> tuple[str, ...]:
    """The forms of a predicate that an edge without a lemma may have; the last is the one that was written.

    >>> spellings("eat", "eats")
    ('eat', 'eates', 'eats')
    >>> spellings("carry", "carry")
    ('carrys', 'carryes', 'carries', 'carry')
    """
    forms = [lemma, f"{lemma}s", f"{lemma}es", *([f"{lemma[:-1]}ies"] if lemma.endswith("y") else [])]
    return (*(form for form in forms if form != surface), surface)
