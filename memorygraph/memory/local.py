"""Vectors made on this machine: a small BERT-like sentence model from a folder, with numpy and without torch.

The folder holds such a model as it is published, for example all-MiniLM-L6-v2; only numbers are read from it, no code.
The usual library for this is `sentence-transformers`; it brings torch along, a gigabyte, for the forward pass below.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from memorygraph.errors import ModelError
from memorygraph.json_text import parse_json

Floats: TypeAlias = Any  # arrays of numpy, which the type checker need not have

MAX_TOKENS = 256
BATCH_TEXTS = 32
FILES = ("config.json", "tokenizer.json", "model.safetensors")


class LocalEmbedder:
    """A sentence model in a folder, read on first use."""

    def __init__(self, folder: Path) -> None:
        missing = [name for name in FILES if not (folder / name).is_file()]
        if missing:
            raise ModelError(f"`{folder}` is not the folder of a sentence model: it lacks {' and '.join(missing)}")
        self._folder = folder
        self.name = f"local:{folder.name}"
        try:
            self._config: dict[str, Any] = dict(parse_json((folder / "config.json").read_text("utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise ModelError(f"`{folder / 'config.json'}` is not the configuration of a model: {error}") from error
        if self._config.get("model_type") != "bert" or self._config.get("hidden_act") != "gelu":
            raise ModelError(f"the model in `{folder}` is not of the kind that can be read here (BERT with gelu)")

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        return int(self._config["hidden_size"])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in their order."""
        # Halves of surrogate pairs have no bytes in UTF-8.
        whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(whole)]
        vectors: list[list[float]] = [[]] * len(tokens)
        # Texts of about one length need the least padding.
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        for start in range(0, len(order), BATCH_TEXTS):
            places = order[start : start + BATCH_TEXTS]
            for place, vector in zip(places, self.encode([tokens[place] for place in places]), strict=True):
                vectors[place] = vector.tolist()
        return vectors

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise ModelError("a local model needs more: pip install 'memorygraph[local]'") from error
        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _weights(self) -> dict[str, Floats]:
        try:
            return read_safetensors(self._folder / "model.safetensors")
        except ImportError as error:
            raise ModelError("a local model needs more: pip install 'memorygraph[local]'") from error

    def encode(self, batch: list[list[int]]) -> Floats:
        """The vectors of texts that are lists of token ids."""
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        width = max(map(len, batch))
        ids = np.array([[*tokens, *[0] * (width - len(tokens))] for tokens in batch])
        mask = np.array([[1.0] * len(tokens) + [0.0] * (width - len(tokens)) for tokens in batch], np.float32)
        weights = self._weights
        words = weights["embeddings.word_embeddings.weight"][ids]
        places = weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        kinds = weights["embeddings.token_type_embeddings.weight"][0]
        hidden = self.normalize("embeddings.LayerNorm.", words + places + kinds)
        for layer in range(self._config["num_hidden_layers"]):
            hidden = self.apply_layer(f"encoder.layer.{layer}.", hidden, mask)
        # The vector of a text is the mean of those of its tokens, scaled to length 1.
        total = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        vectors: Floats = total / np.linalg.norm(total, axis=1, keepdims=True)
        return vectors

    def apply_layer(self, name: str, hidden: Floats, mask: Floats) -> Floats:
        """The hidden states after one layer of the transformer."""
        attended = self.project(name + "attention.output.dense.", self.attend(name, hidden, mask))
        hidden = self.normalize(name + "attention.output.LayerNorm.", hidden + attended)
        inner = gelu(self.project(name + "intermediate.dense.", hidden))
        return self.normalize(name + "output.LayerNorm.", hidden + self.project(name + "output.dense.", inner))

    def attend(self, name: str, hidden: Floats, mask: Floats) -> Floats:
        """Multi-head self-attention, where padding is masked."""
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        heads = self._config["num_attention_heads"]
        size = self.dimensions // heads

        def split(part: str) -> Floats:
            dense = self.project(f"{name}attention.self.{part}.", hidden)
            return dense.reshape(*dense.shape[:2], heads, size).transpose(0, 2, 1, 3)

        scores = split("query") @ split("key").transpose(0, 1, 3, 2) / np.float32(math.sqrt(size))
        scores += (mask[:, None, None, :] - 1) * 1e9
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed = (scores @ split("value")).transpose(0, 2, 1, 3)
        return mixed.reshape(*mixed.shape[:2], -1)

    def project(self, name: str, values: Floats) -> Floats:
        """A dense layer: multiply by its weights, and add its bias."""
        result: Floats = values @ self._weights[name + "weight"].T + self._weights[name + "bias"]
        return result

    def normalize(self, name: str, values: Floats) -> Floats:
        """Layer normalization."""
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        centred = values - values.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._config["layer_norm_eps"])
        result: Floats = centred / spread * self._weights[name + "weight"] + self._weights[name + "bias"]
        return result


def read_safetensors(file: Path) -> dict[str, Floats]:
    """The 32-bit tensors in a file of the safetensors format, mapped and not copied."""
    import numpy as np  # type: ignore[import-not-found, unused-ignore]

    try:
        with file.open("rb") as opened:
            content = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
        # The file is 8 bytes of length, a header in JSON of that length, and the numbers.
        start = 8 + int.from_bytes(content[:8], "little")
        header: dict[str, Any] = parse_json(bytes(content[8:start]))
        header.pop("__metadata__", None)
        return {
            name.removeprefix("bert."): np.frombuffer(
                content[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]], dtype="<f4"
            ).reshape(entry["shape"])
            for name, entry in header.items()
            if entry["dtype"] == "F32"
        }
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"`{file}` does not hold weights in the safetensors format: {error}") from error


def gelu(values: Floats) -> Floats:
    """The exact GELU, x/2 (1 + erf(x/√2)), with erf as in Abramowitz and Stegun 7.1.26, exact to 1.5e-7."""
    import numpy as np  # type: ignore[import-not-found, unused-ignore]

    scaled = np.abs(values) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * scaled)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.copysign(1 - series * np.exp(-scaled * scaled), values)
    result: Floats = (values * (1 + erf) * 0.5).astype(np.float32)
    return result
