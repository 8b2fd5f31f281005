"""Passages: the parts of a long message that an embedding model can read whole, and by which recall finds it.

A passage ends where a sentence or a paragraph does, if it can. Tokens are estimated, which takes a twentieth of the
time of a tokenizer, and an append waits for it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

# Chosen on the chats 1 to 5 of BEAM's 100K, among 64 to 200 tokens and with overlaps of none and a quarter.
MAX_PASSAGE_TOKENS = 128

TOKENS_OF_MODEL = 205
"""As many tokens of a BERT model no passage of these chats exceeds, with the speaker and the day before it."""

# At most six letters of a word, or another character, and the space before it. `*+` and `}+` keep what they have
# matched: a word is never divided further to make up a number of tokens. The group is the shortest passage.
_SPACE = r"[\t-\r\x1c-\x20]*+"
_TOKEN = rf"(?:{_SPACE}(?:[A-Za-z0-9_]{{1,6}}+|[^\t-\r\x1c-\x20]))"
_MIN_PASSAGE_TOKENS = MAX_PASSAGE_TOKENS // 4
_PASSAGE = re.compile(
    rf"({_TOKEN}{{{_MIN_PASSAGE_TOKENS}}}+{_SPACE}){_TOKEN}{{{MAX_PASSAGE_TOKENS - _MIN_PASSAGE_TOKENS}}}+{_SPACE}"
)
# A class comes first, which `re` looks for quickly. The last are the ends of sentences in Chinese.
_BREAK = re.compile(
    r"[\n.!?\u3002\uff01\uff1f](?:(?<=\n)\n*|(?<=[.!?])(?:\n+|\s+)|(?<=[\u3002\uff01\uff1f])\n*)",
)


class Passage(NamedTuple):
    """The characters of a text from `start` up to `end`."""

    start: int
    end: int


def find_passages(text: str) -> list[Passage]:
    """Divide a text that is longer than one passage; each of its characters is in one passage.

    >>> find_passages("It is short.")
    []
    """
    # Where a passage that begins here ends at the latest; before the end of the text there are more tokens.
    if len(text) <= MAX_PASSAGE_TOKENS or not (longest := _PASSAGE.match(text)) or longest.end() == len(text):
        return []
    breaks = [0, *(match.end() for match in _BREAK.finditer(text))]
    passages, start = [], 0
    while longest and (most := longest.end()) < len(text):
        least, end = longest.end(1), breaks[bisect_right(breaks, most) - 1]
        if end < least:
            end = 1 + text.rfind(" ", least, most) or most
        passages.append(Passage(start, end))
        start, longest = end, _PASSAGE.match(text, end)
    return [*passages, Passage(start, len(text))]
