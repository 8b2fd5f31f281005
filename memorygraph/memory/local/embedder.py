"""Vectors made on this machine: a sentence model from a folder, with numpy and without torch.

The folder holds a model as it is published, for example all-MiniLM-L6-v2, a static model of `model2vec`, or a model in
the ONNX format. The usual library for this is `sentence-transformers`; it brings torch along, a gigabyte, for what
`encoders` does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from memorygraph.errors import ModelError
from memorygraph.json_text import parse_json
from memorygraph.memory.local.encoders import BertEncoder, Encoder, OnnxEncoder, StaticEncoder, pool
from memorygraph.memory.local.model_files import Floats, ModelSettings, read_map, read_samples

MAX_BATCH_TOKENS = 1024
ONNX_FILES = ("model.onnx", "onnx/model.onnx")
NEEDED = "a local model needs more: pip install 'memorygraph[local]'"


class LocalEmbedder:
    """A sentence model in a folder, read on first use, and used as its own files say.

    >>> LocalEmbedder(Path("all-MiniLM-L6-v2")).settings.max_tokens  # doctest: +SKIP
    256
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.settings = ModelSettings.read(folder)
        self._encoder = open_encoder(folder, self.settings)
        # Vectors are compared with those of the same name: another model makes others, as do other settings.
        self.name = f"local:{folder.resolve().name}-{self._digest()}"

    def _digest(self) -> str:
        """A few digits: they are others for other settings or weights."""
        file = self._encoder.file
        beside = file.with_name(f"{file.name}_data")  # the numbers of a large model in the ONNX format
        digest = blake2b(repr(astuple(self.settings)).encode(), digest_size=4)
        digest.update(json.dumps(read_map(self._folder / self.settings.part / "config.json"), sort_keys=True).encode())
        for weights in filter(Path.is_file, (file, beside)):
            digest.update(read_samples(weights))
        return digest.hexdigest()

    @property
    def packages(self) -> tuple[str, ...]:
        """What has to be installed for it."""
        return self._encoder.packages

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        return self._encoder.dimensions * max(1, len(self.settings.pooling))

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text that is stored, in their order."""
        return self._embed(texts, self.settings.passage_prefix)

    def embed_questions(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text that is asked, in their order."""
        return self._embed(texts, self.settings.question_prefix)

    def _embed(self, texts: Sequence[str], prefix: str) -> list[list[float]]:
        # Halves of surrogate pairs have no bytes in UTF-8.
        whole = [(prefix + text).encode("utf-8", "replace").decode("utf-8") for text in texts]
        left_out = 0 if self.settings.pools_prefix or not prefix else len(self.tokenize([prefix])[0]) - 1
        tokens = self.tokenize(whole)
        # The longest come first, so that no core is left with one at the end.
        order = sorted(range(len(tokens)), key=lambda place: -len(tokens[place]))
        batches = list(batches_of(order, tokens))
        vectors: list[list[float]] = [[]] * len(tokens)

        def encode(places: list[int]) -> None:
            states = self._encoder.encode([tokens[place] for place in places])
            for place, found in zip(places, states, strict=True):
                vectors[place] = self._finish(found, left_out).tolist()

        with use_cores(len(batches) if isinstance(self._encoder, BertEncoder) else 1) as cores:
            list((map if cores is None else cores.map)(encode, batches))
        return vectors

    def _finish(self, states: Floats, left_out: int) -> Floats:
        import numpy as np  # type: ignore[import-not-found, unused-ignore]

        vector = states if states.ndim == 1 else pool(states[min(left_out, len(states) - 1) :], self.settings.pooling)
        length = float(np.linalg.norm(vector)) if self.settings.normalize else 0.0
        return vector / np.float32(length) if length else vector

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of the tokens of each text, as many as the model reads."""
        static = self.settings.static
        found = self._tokenizer.encode_batch(list(texts), add_special_tokens=not static)
        if self._unknown is None:
            return [encoding.ids for encoding in found]
        return [[token for token in encoding.ids if token != self._unknown] for encoding in found]

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer  # type: ignore[import-not-found, unused-ignore]
        except ImportError as error:
            raise ModelError(NEEDED) from error
        file = self._folder / self.settings.part / "tokenizer.json"
        file = file if file.is_file() else self._folder / "tokenizer.json"
        try:
            tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:
            raise ModelError(f"`{file}` is not the tokenizer of a model: {error}") from error
        if self.settings.max_tokens is None:
            tokenizer.no_truncation()
        else:
            tokenizer.enable_truncation(self.settings.max_tokens)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _unknown(self) -> int | None:
        """The token of unknown words, which model2vec leaves out."""
        if not self.settings.drops_unknown:
            return None
        model = parse_json(self._tokenizer.to_str())["model"]
        unknown: int | None = model.get("unk_id")
        if model.get("unk_token"):
            unknown = self._tokenizer.token_to_id(model["unk_token"])
        return unknown


def open_encoder(folder: Path, settings: ModelSettings) -> Encoder:
    """What makes vectors with the model in a folder, by the files that are there.

    Raises:
        ModelError: a file is missing, or the model is of a kind that cannot be read.
    """
    part = folder / settings.part
    if settings.static:
        require(folder, [part / "model.safetensors"])
        return StaticEncoder(part)
    config = read_map(part / "config.json")
    if (
        (part / "model.safetensors").is_file()
        and config.get("model_type") == "bert"
        and config.get("hidden_act") == "gelu"
    ):
        require(folder, [part / "tokenizer.json"])
        return BertEncoder(part, config)
    for file in (part / name for name in ONNX_FILES):
        if file.is_file():
            require(folder, [part / "tokenizer.json"])
            return OnnxEncoder(file, config)
    require(folder, [part / name for name in ("config.json", "tokenizer.json", "model.safetensors")])
    raise ModelError(
        f"the model in `{folder}` is not of the kind that can be read here: expected BERT with gelu, a static model, "
        f"or {' or '.join(ONNX_FILES)}"
    )


def require(folder: Path, files: Sequence[Path]) -> None:
    """Refuse a folder that lacks one of these files."""
    if missing := [str(file.relative_to(folder)) for file in files if not file.is_file()]:
        raise ModelError(f"`{folder}` is not the folder of a sentence model: it lacks {' and '.join(missing)}")


def batches_of(order: Sequence[int], tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Split places into batches with as many tokens as stay near a core."""
    batch: list[int] = []
    width = 0
    for place in order:
        width = max(width, len(tokens[place]))
        if batch and width * (len(batch) + 1) > MAX_BATCH_TOKENS:
            yield batch
            batch, width = [], len(tokens[place])
        batch.append(place)
    if batch:
        yield batch


@contextmanager
def use_cores(batches: int) -> Iterator[ThreadPoolExecutor | None]:
    """Threads for batches, one for each core, where each multiplies alone; None where one thread is best."""
    cores = min(batches, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        cores = 1
    if cores < 2:
        yield None
        return
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(cores) as executor:
        yield executor
