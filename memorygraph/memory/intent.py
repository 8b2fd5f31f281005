"""What a question asks for: one thing that was said, the order of several, or a summary of them.

A question about an order or a summary is answered by messages that share a topic over time, and half of its words say
how to answer: they are left out of what is looked for. A question for anything else may be subject to a wish that was
said once (`Always name the version when I ask about libraries`), so messages that state one count more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

Intent = Literal["fact", "order", "summary"]

# In the spelling of somebody who states a rule: `I have always loved it` is none.
WISHES = (
    "Always ",
    "Never ",
    "please always",
    "please never",
    "I prefer",
    "I'd prefer",
    "I\u2019d prefer",
    "I would prefer",
    "my preference",
    "From now on",
    "from now on",
    "when I ask",
    "whenever I",
    "Whenever I",
)

_SUMMARY = re.compile(r"\b(?:summar(?:y|ies|i[sz]e[ds]?|i[sz]ing)|overview|recap)\b", re.IGNORECASE)
_ORDER = re.compile(
    r"\b(?:order in which|order of events|(?:what|which) order|sequence (?:in which|of)|timeline|chronolog)",
    re.IGNORECASE,
)
_ASKING_WORDS = """
across aspect aspects bring brought chat chats chronological chronologically clear complete comprehensive conversation
conversations detailed different discuss discussed discussion discussions explain far give help include including item
items key list mention mentioned only order over overview please recap sequence session sessions show summarise
summarize summary talk talked tell through throughout time timeline up various walk
one two three four five six seven eight nine ten
"""
_ASKING = frozenset(_ASKING_WORDS.split())


def find_intent(text: str) -> Intent:
    """What a question asks for.

    >>> find_intent("In which order did I visit them?"), find_intent("Summarize our talks"), find_intent("Who is Ada?")
    ('order', 'summary', 'fact')
    """
    if _SUMMARY.search(text):
        return "summary"
    return "order" if _ORDER.search(text) else "fact"


def topic_words(words: Sequence[str]) -> list[str]:
    """The words without those that say how to answer; all of them if there are no others.

    >>> topic_words(["list", "order", "trips", "mentioned"])
    ['trips']
    """
    return [word for word in words if word.casefold() not in _ASKING] or list(words)
