"""Local vectors: a sentence model from a folder. Its sums are compared with those of a plain reference, by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from memorygraph.errors import ModelError
from memorygraph.memory.local import LocalEmbedder, gelu, read_safetensors

numpy = pytest.importorskip("numpy")
tokenizers = pytest.importorskip("tokenizers")

SIZE, INNER, LAYERS, HEADS = 8, 16, 2, 2
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "ada", "wrote", "a", "program", "violin"]


def shapes() -> dict[str, tuple[int, ...]]:
    norms = ("attention.output.LayerNorm", "output.LayerNorm")
    dense = {f"attention.self.{part}": (SIZE, SIZE) for part in ("query", "key", "value")} | {
        "attention.output.dense": (SIZE, SIZE),
        "intermediate.dense": (INNER, SIZE),
        "output.dense": (SIZE, INNER),
    }
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), SIZE),
        "embeddings.position_embeddings.weight": (512, SIZE),
        "embeddings.token_type_embeddings.weight": (2, SIZE),
        "embeddings.LayerNorm.weight": (SIZE,),
        "embeddings.LayerNorm.bias": (SIZE,),
    }
    for layer in range(LAYERS):
        for name, shape in dense.items():
            found[f"encoder.layer.{layer}.{name}.weight"] = shape
            found[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
        for name in norms:
            found[f"encoder.layer.{layer}.{name}.weight"] = found[f"encoder.layer.{layer}.{name}.bias"] = (SIZE,)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny model with weights by chance."""
    chance, header, content = numpy.random.default_rng(1), {}, b""
    for name, shape in shapes().items():
        values = chance.normal(size=shape).astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(content), len(content) + len(values)]}
        content += values
    encoded = json.dumps(header).encode()
    (tmp_path / "model.safetensors").write_bytes(len(encoded).to_bytes(8, "little") + encoded + content)
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": SIZE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "layer_norm_eps": 1e-12,
    }
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    model = tokenizers.models.WordPiece({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def reference(folder: Path, tokens: list[int]) -> list[float]:
    """The same sums, one number after the other."""
    weights = {name: values.astype(float) for name, values in read_safetensors(folder / "model.safetensors").items()}

    def norm(name: str, x: Any) -> Any:
        return (x - x.mean()) / math.sqrt(((x - x.mean()) ** 2).mean() + 1e-12) * weights[f"{name}.weight"] + weights[
            f"{name}.bias"
        ]

    def dense(name: str, x: Any) -> Any:
        return weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]

    names = [f"embeddings.{part}_embeddings.weight" for part in ("word", "position", "token_type")]
    word, position, kind = (weights[name] for name in names)
    hidden = [norm("embeddings.LayerNorm", word[t] + position[i] + kind[0]) for i, t in enumerate(tokens)]
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        q, k, v = ([dense(f"{at}.attention.self.{p}", x) for x in hidden] for p in ("query", "key", "value"))
        following = []
        for i, x in enumerate(hidden):
            mixed = numpy.zeros(SIZE)
            for head in range(HEADS):
                part = slice(head * SIZE // HEADS, (head + 1) * SIZE // HEADS)
                scores = [math.exp(q[i][part] @ other[part] / math.sqrt(SIZE // HEADS)) for other in k]
                mixed[part] = sum(s / sum(scores) * other[part] for s, other in zip(scores, v, strict=True))
            y = norm(f"{at}.attention.output.LayerNorm", x + dense(f"{at}.attention.output.dense", mixed))
            inner = [n * (1 + math.erf(n / math.sqrt(2))) / 2 for n in dense(f"{at}.intermediate.dense", y)]
            following.append(norm(f"{at}.output.LayerNorm", y + dense(f"{at}.output.dense", numpy.array(inner))))
        hidden = following
    mean = sum(hidden) / len(hidden)
    return list(mean / math.sqrt(mean @ mean))


def test_the_vectors_are_those_of_the_reference(folder: Path) -> None:
    embedder = LocalEmbedder(folder)
    assert embedder.dimensions == SIZE
    vectors = embedder.embed(["Ada wrote a program", "violin", "ada"])
    assert vectors[0] == pytest.approx(reference(folder, [2, 4, 5, 6, 7, 3]), abs=1e-5)
    assert vectors[1] == pytest.approx(reference(folder, [2, 8, 3]), abs=1e-5)
    # Alone or beside longer texts, a text has the same vector.
    assert vectors[2] == pytest.approx(embedder.embed(["ada"])[0], abs=1e-5)


def test_any_text_has_a_vector(folder: Path) -> None:
    embedder = LocalEmbedder(folder)
    for vector in embedder.embed(["", "\ud800", "a " * 5000, "漢字 😀"]):
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)
    assert embedder.embed([]) == []


def test_gelu_is_the_exact_one() -> None:
    values = numpy.linspace(-6, 6, 101, dtype=numpy.float32)
    exact = [float(x) * (1 + math.erf(float(x) / math.sqrt(2))) / 2 for x in values]
    assert gelu(values) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("content", [b"", b"\xff" * 64, (2).to_bytes(8, "little") + b"[]", (4).to_bytes(8, "little")])
def test_a_broken_file_of_weights_is_an_error(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match="does not hold weights in the safetensors format"):
        LocalEmbedder(folder).embed(["a"])


def test_another_kind_of_model_is_refused(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "gpt2"}', "utf-8")
    with pytest.raises(ModelError, match="not of the kind"):
        LocalEmbedder(folder)
    (folder / "config.json").unlink()
    with pytest.raises(ModelError, match=r"it lacks config\.json"):
        LocalEmbedder(folder)
