"""The files of a sentence model as they are published: its settings and its weights. Only numbers are read, no code.

The files are those of `sentence-transformers` (`modules.json`, `sentence_bert_config.json`,
`config_sentence_transformers.json`, `1_Pooling/config.json`) and of `model2vec`.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from memorygraph.errors import ModelError
from memorygraph.json_text import parse_json

Floats: TypeAlias = Any  # arrays of numpy, which the type checker need not have

MAX_TOKENS = 256  # where a model does not say
MAX_STATIC_TOKENS = 512  # where model2vec does not say
SAMPLES, SAMPLE_BYTES = 64, 1024  # of weights, which tell models apart
POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""The ways to make one vector of those of the tokens, in the order in which several are joined."""

_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "?",
}  # fmt: skip


@dataclass(frozen=True)
class ModelSettings:
    """What a model says about its use; `part` is the folder of its weights within that of the model."""

    max_tokens: int | None = MAX_TOKENS
    pooling: tuple[str, ...] = ("mean",)
    normalize: bool = True
    question_prefix: str = ""
    passage_prefix: str = ""
    pools_prefix: bool = True
    static: bool = False
    drops_unknown: bool = False
    part: str = ""

    @classmethod
    def read(cls, folder: Path) -> ModelSettings:
        """Read the settings of the model in a folder; what it does not say is as in all-MiniLM-L6-v2."""
        steps = read_list(folder / "modules.json")
        # The kind of a step, without the package that it is of.
        modules = {str(step.get("type")).rpartition(".")[2]: part_of(folder, step) for step in steps}
        if unknown := [
            kind for kind in modules if kind not in {"Transformer", "Pooling", "Normalize", "StaticEmbedding"}
        ]:
            raise ModelError(
                f"the model in `{folder}` has a step that cannot be read here: {unknown[0]}; expected Transformer or "
                "StaticEmbedding, Pooling and Normalize"
            )
        config = read_map(folder / "config.json")
        prompts = read_map(folder / "config_sentence_transformers.json")
        named = prompts.get("prompts") or {}
        default = str(named.get(prompts.get("default_prompt_name"), ""))
        question = str(named.get("query", default))
        passage = next((str(named[name]) for name in ("document", "passage") if name in named), default)
        if "StaticEmbedding" in modules or config.get("model_type") == "model2vec":
            normalize = "Normalize" in modules or bool(config.get("normalize"))
            part = modules.get("StaticEmbedding", "")
            of_model2vec = bool(config)  # sentence-transformers writes none for such a model
            longest = config.get("max_length", MAX_STATIC_TOKENS) if of_model2vec else None
            return cls(longest, (), normalize, question, passage, static=True, drops_unknown=of_model2vec, part=part)
        part = modules.get("Transformer", "")
        pooling = read_map(folder / modules.get("Pooling", "1_Pooling") / "config.json")
        return cls(
            longest_input(folder / part),
            poolings_of(pooling),
            "Normalize" in modules or not modules,
            question,
            passage,
            pools_prefix=pooling.get("include_prompt", True) is not False,
            part=part,
        )


def part_of(folder: Path, module: Mapping[str, Any]) -> str:
    """The folder of a step within that of the model, and never one beside it."""
    path = str(module.get("path", ""))
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise ModelError(f"the model in `{folder}` has a step outside of its folder: {path!r}")
    return path


def longest_input(folder: Path) -> int:
    """How many tokens of a text a model reads."""
    positions = read_map(folder / "config.json").get("max_position_embeddings", 512)
    said = read_map(folder / "sentence_bert_config.json").get("max_seq_length")
    if said is None:
        said = read_map(folder / "tokenizer_config.json").get("model_max_length", MAX_TOKENS)
    try:
        return max(1, min(int(said), int(positions)))
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"the model in `{folder}` has {said!r} as its longest input, and not a number") from error


def poolings_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The ways of pooling that a configuration chooses."""
    named = config.get("pooling_mode")
    chosen = [named] if isinstance(named, str) else named or [way for key, way in POOLINGS.items() if config.get(key)]
    if unknown := [way for way in chosen if way not in POOLINGS.values()]:
        raise ModelError(f"the model pools by {unknown[0]!r}; expected one of {', '.join(POOLINGS.values())}")
    return tuple(chosen) or ("mean",)


def read_map(file: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if there is no such file."""
    found = read_file(file, {})
    if not isinstance(found, dict):
        raise ModelError(f"`{file}` is not the configuration of a model: it holds no JSON object")
    return found


def read_list(file: Path) -> list[dict[str, Any]]:
    """The JSON objects in a list in a file; empty if there is no such file."""
    found = read_file(file, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ModelError(f"`{file}` is not the configuration of a model: it holds no list of JSON objects")
    return found


def read_file(file: Path, missing: Any) -> Any:
    """What a file of JSON holds, or `missing` if there is no such file."""
    try:
        return parse_json(file.read_text("utf-8")) if file.is_file() else missing
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(f"`{file}` is not the configuration of a model: {error}") from error


def read_samples(file: Path) -> bytes:
    """The size of a file and a few of its bytes from all over it: other weights have others, also of the same size."""
    try:
        size = file.stat().st_size
        found = [size.to_bytes(8, "little")]
        with file.open("rb") as opened:
            for start in range(0, size, max(SAMPLE_BYTES, size // SAMPLES)):
                opened.seek(start)
                found.append(opened.read(SAMPLE_BYTES))
    except OSError as error:
        raise ModelError(f"`{file}` cannot be read: {error}") from error
    return b"".join(found)


def read_safetensors(file: Path) -> dict[str, Floats]:
    """The tensors in a file of the safetensors format, mapped and not copied; numpy has no BF16, which becomes F32."""
    import numpy as np  # type: ignore[import-not-found, unused-ignore]

    try:
        with file.open("rb") as opened:
            content = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
        # The file is 8 bytes of length, a header in JSON of that length, and the numbers.
        start = 8 + int.from_bytes(content[:8], "little")
        header: dict[str, Any] = parse_json(bytes(content[8:start]))
        header.pop("__metadata__", None)
        if unknown := [entry["dtype"] for entry in header.values() if entry["dtype"] not in _TYPES]:
            raise ModelError(f"`{file}` has numbers of the type {unknown[0]!r}; expected one of {', '.join(_TYPES)}")
        found = {
            name: np.frombuffer(
                content[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]],
                dtype=_TYPES[entry["dtype"]],
            ).reshape(entry["shape"])
            for name, entry in header.items()
        }
        # BF16 is the upper half of the F32 of the same number.
        halves = {name: found[name] for name, entry in header.items() if entry["dtype"] == "BF16"}
        return found | {name: (values.astype("<u4") << 16).view("<f4") for name, values in halves.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ModelError(f"`{file}` does not hold weights in the safetensors format: {error}") from error
