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
from dataclasses import dataclass
from typing import Any

from openai.types import CreateEmbeddingResponse, Embedding
from openai.types.create_embedding_response import Usage as EmbeddingUsage

from memorygraph.scripted.request_checks import EmbeddingsRequest
from memorygraph.scripted.wire import DIMENSIONS, WireAnswer, estimate_tokens


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Compute the vector of a text, of length 1, in single precision.

    >>> def nearness(a, b):
    ...     return sum(x * y for x, y in zip(vector_of(a), vector_of(b)))
    >>> nearness("a grey cat", "a black cat") > nearness("a grey cat", "two ships") + 0.3
    True
    """
    total = [0.0] * dimensions
    for word in re.findall(r"\w+", text.casefold()) or [text]:
        # The direction of a word: numbers from -128 to 127 that look random, the same in every process.
        digest = hashlib.shake_128(word.encode("utf-8", "surrogatepass")).digest(dimensions)
        for index, value in enumerate(array("b", digest)):
            total[index] += value
    length = math.sqrt(sum(value * value for value in total)) or 1.0
    return list(array("f", (value / length for value in total)))


@dataclass(frozen=True)
class EmbeddingsAnswer(WireAnswer):
    """The vectors of a request's texts; `dimensions` is their length where the request names none."""

    request: EmbeddingsRequest
    dimensions: int

    def document(self) -> dict[str, Any]:
        """Return the list of the vectors, as numbers or in base64."""
        texts = self.request.texts()
        vectors = [vector_of(text, self.request.dimensions or self.dimensions) for text in texts]
        encode: Any = encode_base64 if self.request.encoding_format == "base64" else list
        tokens = sum(map(estimate_tokens, texts))
        # The type knows numbers alone: what base64 stands for is decoded by the client.
        data = [
            Embedding.model_construct(object="embedding", index=index, embedding=encode(vector))
            for index, vector in enumerate(vectors)
        ]
        answer = CreateEmbeddingResponse(
            object="list",
            data=data,
            model=self.request.model,
            usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
        )
        return answer.to_dict(warnings=False)


def encode_base64(vector: list[float]) -> str:
    """Encode a vector as 32-bit floats, little-endian."""
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes()).decode()
