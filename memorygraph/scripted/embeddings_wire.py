"""Embeddings without a model: vectors that depend on nothing but the text, in the format of /v1/embeddings.

Each word adds a direction of its own, so that texts that share words are near each other. That is enough to try
a search with, and it is no measure of meaning.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import sys
from array import array
from collections.abc import Sequence
from typing import Any

from memorygraph.scripted.request_checks import EmbeddingsRequest
from memorygraph.scripted.wire import tokens_of

DIMENSIONS = 256


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """The vector of a text, of length 1, in single precision.

    >>> def nearness(a, b):
    ...     return sum(x * y for x, y in zip(vector_of(a), vector_of(b)))
    >>> nearness("a grey cat", "a black cat") > nearness("a grey cat", "two ships") + 0.3
    True
    """
    words = re.findall(r"\w+", text.casefold()) or [text]
    total = [0.0] * dimensions
    for word in words:
        for index, value in enumerate(_direction(word, dimensions)):
            total[index] += value
    length = math.sqrt(sum(value * value for value in total)) or 1.0
    return list(array("f", (value / length for value in total)))


def _direction(word: str, dimensions: int) -> Sequence[int]:
    """Numbers from -128 to 127 that look like chance, the same in every process."""
    return array("b", hashlib.shake_128(word.encode("utf-8", "surrogatepass")).digest(dimensions))


def document(request: EmbeddingsRequest, dimensions: int) -> dict[str, Any]:
    """The vectors of a request's texts."""
    texts = request.texts()
    vectors = [vector_of(text, request.dimensions or dimensions) for text in texts]
    encode = _base64 if request.encoding_format == "base64" else list
    tokens = sum(map(tokens_of, texts))
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": encode(vector)} for index, vector in enumerate(vectors)
        ],
        "model": request.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _base64(vector: list[float]) -> str:
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes()).decode()
