"""Predicates in their ground form, so that `likes` and `like` are one edge."""

from __future__ import annotations

import re

_UNCHANGED = frozenset({"is", "has", "does", "as"})
_KEPT = re.compile(r"(?:ss|us)\Z", re.IGNORECASE)
_WITH_ES = re.compile(r"(?:[sxzo]|ch|sh)es\Z", re.IGNORECASE)


def lemma_of(form: str) -> str:
    """The lemma of a predicate: without the ending of the third person, as far as that can be told from its letters.

    >>> [lemma_of(form) for form in ("likes", "watches", "goes", "passes", "pass", "bus", "is", "as", "eat")]
    ['like', 'watch', 'go', 'pass', 'pass', 'bus', 'is', 'as', 'eat']
    """
    if form.lower() in _UNCHANGED or _KEPT.search(form) or not form.endswith("s") or len(form) < 2:
        return form
    return form[:-2] if _WITH_ES.search(form) else form[:-1]
