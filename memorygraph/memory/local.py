"""Vectors made on this machine: a small BERT-like sentence model from a folder, with numpy and without torch.

The folder is what such models are given out as: `config.json`, `tokenizer.json` and `model.safetensors`, for example
that of all-MiniLM-L6-v2. None comes with this package, and none is ever downloaded: whoever names a folder has chosen
to trust it, and only numbers are read from it, no code. It needs the extra `local`: `pip install memorygraph[local]`.

A text is what its tokens mean on average, cut behind `MAX_TOKENS` of them, as a vector of length 1.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from memorygraph.errors import ModelError

# Arrays of numpy, which the type checker need not have.
Floats: TypeAlias = Any
Integers: TypeAlias = Any

MAX_TOKENS = 256
BATCH = 32
NEEDED = ("config.json", "tokenizer.json", "model.safetensors")


class LocalEmbedder:
    """A sentence model in a folder; it is read when it is first used.

    Raises:
        ModelError: the folder holds no such model, or the extra `local` is not installed.
    """

    def __init__(self, folder: Path) -> None:
        missing = [name for name in NEEDED if not (folder / name).is_file()]
        if missing:
            raise ModelError(f"`{folder}` holds no sentence model: there is no {' and no '.join(missing)}")
        self._folder = folder
        self.name = f"local:{folder.name}"
        self._config: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
        if self._config.get("model_type") != "bert" or self._config.get("hidden_act") != "gelu":
            raise ModelError(f"the model in `{folder}` is not of the kind that can be read here (BERT with gelu)")

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        return int(self._config["hidden_size"])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in their order."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch([_whole(text) for text in texts])]
        vectors: list[list[float]] = [[]] * len(tokens)
        # Texts of about one length need the least padding.
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            for place, vector in zip(places, self._vectors([tokens[place] for place in places]), strict=True):
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

    def _vectors(self, batch: list[list[int]]) -> Floats:
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        width = max(map(len, batch))
        ids = np.array([[*tokens, *[0] * (width - len(tokens))] for tokens in batch])
        mask = np.array([[1.0] * len(tokens) + [0.0] * (width - len(tokens)) for tokens in batch], np.float32)
        hidden = self._embedded(ids)
        for layer in range(self._config["num_hidden_layers"]):
            hidden = self._layer(f"encoder.layer.{layer}.", hidden, mask)
        total = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        vectors: Floats = total / np.linalg.norm(total, axis=1, keepdims=True)
        return vectors

    def _embedded(self, ids: Integers) -> Floats:
        weights = self._weights
        words = weights["embeddings.word_embeddings.weight"][ids]
        places = weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        kinds = weights["embeddings.token_type_embeddings.weight"][0]
        return self._normed("embeddings.LayerNorm.", words + places + kinds)

    def _layer(self, name: str, hidden: Floats, mask: Floats) -> Floats:
        attended = self._dense(name + "attention.output.dense.", self._attention(name, hidden, mask))
        hidden = self._normed(name + "attention.output.LayerNorm.", hidden + attended)
        inner = _gelu(self._dense(name + "intermediate.dense.", hidden))
        return self._normed(name + "output.LayerNorm.", hidden + self._dense(name + "output.dense.", inner))

    def _attention(self, name: str, hidden: Floats, mask: Floats) -> Floats:
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        heads = self._config["num_attention_heads"]
        size = self.dimensions // heads

        def split(part: str) -> Floats:
            dense = self._dense(f"{name}attention.self.{part}.", hidden)
            return dense.reshape(*dense.shape[:2], heads, size).transpose(0, 2, 1, 3)

        scores = split("query") @ split("key").transpose(0, 1, 3, 2) / np.float32(math.sqrt(size))
        scores += (mask[:, None, None, :] - 1) * 1e9
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed = (scores @ split("value")).transpose(0, 2, 1, 3)
        return mixed.reshape(*mixed.shape[:2], -1)

    def _dense(self, name: str, values: Floats) -> Floats:
        result: Floats = values @ self._weights[name + "weight"].T + self._weights[name + "bias"]
        return result

    def _normed(self, name: str, values: Floats) -> Floats:
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        centred = values - values.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self._config["layer_norm_eps"])
        result: Floats = centred / spread * self._weights[name + "weight"] + self._weights[name + "bias"]
        return result


def read_safetensors(file: Path) -> dict[str, Floats]:
    """The tensors of 32-bit numbers in a file of the safetensors format, which are not copied.

    The file is 8 bytes of length, a header in JSON of that length, and the numbers.

    Raises:
        ModelError: the file is broken.
    """
    import numpy as np  # type: ignore[import-not-found, unused-ignore]

    try:
        with file.open("rb") as opened:
            content = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
        start = 8 + int.from_bytes(content[:8], "little")
        header: dict[str, Any] = json.loads(bytes(content[8:start]))
        header.pop("__metadata__", None)
        return {
            name.removeprefix("bert."): _tensor(np, content[start:], entry)
            for name, entry in header.items()
            if entry["dtype"] == "F32"
        }
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"`{file}` is no file of weights: {error}") from error


def _tensor(numpy: Any, content: memoryview, entry: dict[str, Any]) -> Any:
    first, last = entry["data_offsets"]
    return numpy.frombuffer(content[first:last], dtype="<f4").reshape(entry["shape"])


def _gelu(values: Floats) -> Floats:
    """The exact form: x/2 (1 + erf(x/√2)), with erf as in Abramowitz and Stegun 7.1.26, exact to 1.5e-7."""
    import numpy as np  # type: ignore[import-not-found, unused-ignore]

    scaled = np.abs(values) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * scaled)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.copysign(1 - series * np.exp(-scaled * scaled), values)
    result: Floats = (values * (1 + erf) * 0.5).astype(np.float32)
    return result


def _whole(text: str) -> str:
    """The text without halves of surrogate pairs, which have no bytes."""
    return text.encode("utf-8", "replace").decode("utf-8")
