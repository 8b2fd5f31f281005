"""What makes vectors of tokens: a BERT-like model on numpy, a matrix of words, or a model in the ONNX format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from memorygraph.errors import ModelError
from memorygraph.memory.local.model_files import Floats, read_safetensors

ROWS_PER_BLOCK = 64  # what fits the fast memory of a core
LAYER_PARTS = ("attention.output.dense", "intermediate.dense", "output.dense")


class Encoder(Protocol):
    """Makes vectors of texts that are lists of token ids."""

    @property
    def packages(self) -> tuple[str, ...]:
        """What has to be installed for it."""

    @property
    def file(self) -> Path:
        """The file of its weights."""

    @property
    def dimensions(self) -> int:
        """The length of the vectors."""

    def encode(self, texts: Sequence[Sequence[int]]) -> list[Floats]:
        """For each text the vectors of its tokens, as rows; or one vector, where the model pools by itself."""


class BertEncoder:
    """A BERT-like model. Texts of a batch lie one after the other, so that none is padded."""

    packages = ("numpy", "tokenizers")

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.file = folder / "model.safetensors"
        self._lock = Lock()
        try:
            self._heads = int(config["num_attention_heads"])
            self._layers = int(config["num_hidden_layers"])
            self._epsilon = float(config["layer_norm_eps"])
            self.dimensions = int(config["hidden_size"])
        except (LookupError, TypeError, ValueError) as error:
            raise ModelError(f"`{folder / 'config.json'}` lacks the sizes of a BERT model: {error}") from error

    @cached_property
    def weights(self) -> dict[str, Floats]:
        """The weights by their names, as each is used: matrices are turned, and the query is scaled."""
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        found = {
            name.removeprefix("bert."): np.asarray(values, np.float32)
            for name, values in read_safetensors(self.file).items()
        }
        scale = np.float32(1 / math.sqrt(self.dimensions // self._heads))
        try:
            for layer in (f"encoder.layer.{number}." for number in range(self._layers)):
                for kind in ("weight", "bias"):
                    query, key, value = (
                        found.pop(f"{layer}attention.self.{p}.{kind}") for p in ("query", "key", "value")
                    )
                    found[f"{layer}attention.{kind}"] = np.concatenate([query * scale, key, value])
                for part in ("attention", *LAYER_PARTS):
                    found[f"{layer}{part}.weight"] = np.ascontiguousarray(found[f"{layer}{part}.weight"].T)
            found["places"] = (
                found["embeddings.position_embeddings.weight"] + found["embeddings.token_type_embeddings.weight"][0]
            )
        except (KeyError, ValueError) as error:
            raise ModelError(f"`{self.file}` lacks weights of a BERT model: {error}") from error
        return found

    def encode(self, texts: Sequence[Sequence[int]]) -> list[Floats]:
        """The hidden states of the last layer for each text."""
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        with self._lock:  # several cores begin at once, and would each read the model
            weights = self.weights
        ends = np.cumsum([0, *map(len, texts)]).tolist()
        hidden = weights["embeddings.word_embeddings.weight"][np.concatenate([*map(np.asarray, texts)])]
        for start, end in pairwise(ends):
            hidden[start:end] += weights["places"][: end - start]
        self.normalize("embeddings.LayerNorm.", hidden)
        for layer in (f"encoder.layer.{number}." for number in range(self._layers)):
            attended = self.project(layer + "attention.output.dense.", self.attend(layer, hidden, ends))
            hidden = self.normalize(layer + "attention.output.LayerNorm.", np.add(hidden, attended, out=attended))
            inner = gelu(self.project(layer + "intermediate.dense.", hidden))
            following = self.project(layer + "output.dense.", inner)
            hidden = self.normalize(layer + "output.LayerNorm.", np.add(hidden, following, out=following))
        return [hidden[start:end] for start, end in pairwise(ends)]

    def attend(self, layer: str, hidden: Floats, ends: Sequence[int]) -> Floats:
        """Multi-head self-attention within each text."""
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        parts = self.project(layer + "attention.", hidden)
        mixed = np.empty_like(hidden)
        for start, end in pairwise(ends):
            shape = (end - start, 3, self._heads, self.dimensions // self._heads)
            query, key, value = parts[start:end].reshape(shape).transpose(1, 2, 0, 3)
            scores = query @ key.transpose(0, 2, 1)
            scores -= scores.max(axis=-1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=-1, keepdims=True)
            mixed[start:end] = (scores @ value).transpose(1, 0, 2).reshape(end - start, -1)
        return mixed

    def project(self, name: str, values: Floats) -> Floats:
        """A dense layer: multiply by its weights, and add its bias."""
        result: Floats = values @ self.weights[name + "weight"]
        result += self.weights[name + "bias"]
        return result

    def normalize(self, name: str, values: Floats) -> Floats:
        """Layer normalization, in place."""
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        values -= values.mean(axis=-1, keepdims=True)
        values /= np.sqrt(np.einsum("ij,ij->i", values, values) / values.shape[1] + self._epsilon)[:, None]
        values *= self.weights[name + "weight"]
        values += self.weights[name + "bias"]
        return values


class StaticEncoder:
    """A matrix with a vector for each word, whatever stands around it (`model2vec`, `StaticEmbedding`)."""

    packages = ("numpy", "tokenizers")

    def __init__(self, folder: Path) -> None:
        self.file = folder / "model.safetensors"

    @cached_property
    def weights(self) -> dict[str, Floats]:
        """The matrix and what belongs to it."""
        found = read_safetensors(self.file)
        matrix = found.get("embeddings", found.get("embedding.weight"))
        if matrix is None or matrix.ndim != 2:
            raise ModelError(f"`{self.file}` lacks `embeddings` or `embedding.weight`, the matrix of a static model")
        return {**found, "matrix": matrix}

    @property
    def dimensions(self) -> int:
        """The length of the vectors."""
        return int(self.weights["matrix"].shape[1])

    def encode(self, texts: Sequence[Sequence[int]]) -> list[Floats]:
        """The mean of the vectors of the tokens of each text, which is zero where it has none."""
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        matrix, mapping, weights = (self.weights.get(name) for name in ("matrix", "mapping", "weights"))
        found = []
        for tokens in map(np.asarray, texts):
            if not len(tokens):
                found.append(np.zeros(self.dimensions, np.float32))
                continue
            rows = np.asarray(matrix)[tokens if mapping is None else mapping[tokens]].astype(np.float32)
            if weights is not None:
                rows *= weights[tokens].astype(np.float32)[:, None]
            found.append(rows.mean(axis=0))
        return found


class OnnxEncoder:
    """A model in the ONNX format, which `onnxruntime` runs on all cores."""

    packages = ("numpy", "tokenizers", "onnxruntime")

    def __init__(self, file: Path, config: dict[str, Any]) -> None:
        self.file = file
        self._config = config

    @cached_property
    def _session(self) -> Any:
        try:
            import onnxruntime  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError as error:
            raise ModelError("a model in the ONNX format needs more: pip install 'memorygraph[onnx]'") from error
        try:
            return onnxruntime.InferenceSession(str(self.file), providers=["CPUExecutionProvider"])
        except Exception as error:
            raise ModelError(f"`{self.file}` is not a model in the ONNX format: {error}") from error

    @property
    def dimensions(self) -> int:
        """The length of the vectors."""
        size = self._session.get_outputs()[0].shape[-1]
        return int(size if isinstance(size, int) else self._config["hidden_size"])

    def encode(self, texts: Sequence[Sequence[int]]) -> list[Floats]:
        """What the model answers first: the hidden states of each text, or its vector."""
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        width = max(1, *map(len, texts))
        ids = np.zeros((len(texts), width), np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(texts):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = [each.name for each in self._session.get_inputs()]
        if unknown := [name for name in wanted if name not in given]:
            raise ModelError(f"`{self.file}` asks for {unknown[0]!r}; expected {', '.join(given)}")
        answer = self._session.run(None, {name: given[name] for name in wanted})[0]
        return [row[: len(tokens)] if answer.ndim == 3 else row for row, tokens in zip(answer, texts, strict=True)]


def pool(states: Floats, ways: Sequence[str]) -> Floats:
    """Make one vector of the vectors of the tokens of a text, as sentence-transformers does."""
    import numpy as np  # type: ignore[import-not-found, unused-ignore]

    count = len(states)
    places = np.arange(1, count + 1, dtype=np.float32)
    found = {
        "cls": lambda: states[0],
        "max": lambda: states.max(axis=0),
        "mean": lambda: states.mean(axis=0),
        "mean_sqrt_len_tokens": lambda: states.sum(axis=0) / np.float32(math.sqrt(count)),
        "weightedmean": lambda: places @ states / places.sum(),
        "lasttoken": lambda: states[-1],
    }
    return np.concatenate([found[way]() for way in ways])


def gelu(values: Floats) -> Floats:
    """The exact GELU, x/2 (1 + erf(x/√2)), in place, with erf as in Abramowitz and Stegun 7.1.26, exact to 1.5e-7."""
    import numpy as np  # type: ignore[import-not-found, unused-ignore]

    # For a = |x| it is max(x, 0) - a/2 · series · exp(-a²/2), with fewer steps. A block of rows stays in the cache.
    flat = values.reshape(-1, values.shape[-1])
    for start in range(0, len(flat), ROWS_PER_BLOCK):
        block = flat[start : start + ROWS_PER_BLOCK]
        size = np.abs(block)
        t = size * np.float32(0.3275911 * math.sqrt(0.5))
        t += 1
        np.reciprocal(t, out=t)
        series = t * np.float32(0.5 * 1.061405429)
        for term in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
            series += np.float32(0.5 * term)
            series *= t
        series *= size
        size *= size
        size *= np.float32(-0.5)
        series *= np.exp(size, out=size)
        np.maximum(block, 0, out=block)
        block -= series
    return values
