"""Local vectors: a sentence model from a folder. Its sums are compared with those of a plain reference, by hand."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from memorygraph import MemoryGraph
from memorygraph.errors import ModelError
from memorygraph.memory.doctor import examine_embedding
from memorygraph.memory.local import LocalEmbedder
from memorygraph.memory.local.encoders import BertEncoder, gelu
from memorygraph.memory.local.model_files import read_safetensors, read_samples
from memorygraph.memory.vectors import embed_all, embed_question

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


def write_weights(folder: Path, weights: dict[str, Any], dtype: str = "F32") -> None:
    """Write the weights of a model, numbers of a type, in the format of safetensors."""
    header, content = {}, b""
    for name, values in weights.items():
        written = values.tobytes()
        place = [len(content), len(content) + len(written)]
        header[name] = {"dtype": dtype, "shape": values.shape, "data_offsets": place}
        content += written
    encoded = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(encoded).to_bytes(8, "little") + encoded + content)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny model with weights by chance."""
    chance = numpy.random.default_rng(1)
    write_weights(tmp_path, {name: chance.normal(size=shape).astype("<f4") for name, shape in shapes().items()})
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


def hidden_states(folder: Path, tokens: list[int]) -> list[Any]:
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
    return hidden


def reference(folder: Path, tokens: list[int]) -> list[float]:
    """The vector of a text: the mean of those of its tokens, of length 1."""
    hidden = hidden_states(folder, tokens)
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
    assert gelu(values[None, :])[0] == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("content", [b"", b"\xff" * 64, (2).to_bytes(8, "little") + b"[]", (4).to_bytes(8, "little")])
def test_a_broken_file_of_weights_is_an_error(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelError, match="does not hold weights in the safetensors format"):
        LocalEmbedder(folder).embed(["a"])


def test_weights_of_another_kind_of_model_are_an_error(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    with pytest.raises(ModelError, match=r"model\.safetensors` lacks weights of a BERT model"):
        LocalEmbedder(folder).embed(["ada"])


def test_a_broken_tokenizer_is_an_error(folder: Path) -> None:
    (folder / "tokenizer.json").write_text('{"model": []}', "utf-8")
    with pytest.raises(ModelError, match="is not the tokenizer of a model"):
        LocalEmbedder(folder).embed(["a"])


def test_another_kind_of_model_is_refused(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "gpt2"}', "utf-8")
    with pytest.raises(ModelError, match="not of the kind"):
        LocalEmbedder(folder)
    (folder / "config.json").unlink()
    with pytest.raises(ModelError, match=r"it lacks config\.json"):
        LocalEmbedder(folder)


def write(file: Path, value: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value), "utf-8")


def describe(folder: Path, *steps: str, **pooling: Any) -> None:
    """Write the files by which a model says what its steps are, and how it pools."""
    kinds = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize", "Dense": "2_Dense"}
    modules = [{"type": f"sentence_transformers.models.{step}", "path": kinds[step]} for step in steps]
    write(folder / "modules.json", modules)
    write(folder / "1_Pooling" / "config.json", pooling)


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("cls_token", lambda states: states[0]),
        ("max_tokens", lambda states: numpy.max(states, axis=0)),
        ("mean_tokens", lambda states: numpy.mean(states, axis=0)),
        ("mean_sqrt_len_tokens", lambda states: numpy.sum(states, axis=0) / math.sqrt(len(states))),
        ("weightedmean_tokens", lambda states: numpy.average(states, axis=0, weights=range(1, len(states) + 1))),
        ("lasttoken", lambda states: states[-1]),
    ],
)
def test_a_model_pools_and_scales_as_its_files_say(folder: Path, way: str, expected: Any) -> None:
    describe(folder, "Transformer", "Pooling", **{f"pooling_mode_{way}": True})
    vector = expected(hidden_states(folder, [2, 4, 5, 3]))
    [found] = LocalEmbedder(folder).embed(["ada wrote"])
    assert found == pytest.approx(list(vector), abs=1e-5)
    describe(folder, "Transformer", "Pooling", "Normalize", **{f"pooling_mode_{way}": True})
    [found] = LocalEmbedder(folder).embed(["ada wrote"])
    assert found == pytest.approx(list(vector / numpy.linalg.norm(vector)), abs=1e-5)


def test_several_ways_of_pooling_are_joined(folder: Path) -> None:
    describe(folder, "Transformer", "Pooling", pooling_mode_mean_tokens=True, pooling_mode_cls_token=True)
    embedder = LocalEmbedder(folder)
    states = hidden_states(folder, [2, 8, 3])
    assert embedder.dimensions == 2 * SIZE
    assert embedder.embed(["violin"])[0] == pytest.approx([*states[0], *(sum(states) / 3)], abs=1e-5)


def test_questions_and_passages_have_their_prefixes(folder: Path) -> None:
    prompts = {"query": "a violin ", "passage": "wrote "}
    write(folder / "config_sentence_transformers.json", {"prompts": prompts})
    embedder = LocalEmbedder(folder)
    assert embedder.embed(["ada"])[0] == pytest.approx(reference(folder, [2, 5, 4, 3]), abs=1e-5)
    assert embed_question(embedder, "ada")[0] == pytest.approx(reference(folder, [2, 6, 8, 4, 3]), abs=1e-5)
    describe(folder, "Transformer", "Pooling", pooling_mode_mean_tokens=True, include_prompt=False)
    states = hidden_states(folder, [2, 6, 8, 4, 3])[3:]
    assert LocalEmbedder(folder).embed_questions(["ada"])[0] == pytest.approx(list(sum(states) / 2), abs=1e-5)


def test_a_default_prefix_is_that_of_both(folder: Path) -> None:
    said = {"prompts": {"any": "wrote "}, "default_prompt_name": "any"}
    write(folder / "config_sentence_transformers.json", said)
    embedder = LocalEmbedder(folder)
    assert embedder.embed(["ada"]) == embedder.embed_questions(["ada"])
    assert embedder.embed(["ada"])[0] == pytest.approx(reference(folder, [2, 5, 4, 3]), abs=1e-5)


def test_the_longest_input_is_that_of_the_model(folder: Path) -> None:
    write(folder / "sentence_bert_config.json", {"max_seq_length": 4})
    assert LocalEmbedder(folder).embed(["ada wrote a program"])[0] == pytest.approx(
        reference(folder, [2, 4, 5, 3]), abs=1e-5
    )
    (folder / "sentence_bert_config.json").unlink()
    write(folder / "tokenizer_config.json", {"model_max_length": 10**30})
    assert LocalEmbedder(folder).settings.max_tokens == 512  # it has no more positions


def test_the_doctor_warns_of_a_model_that_reads_no_whole_passage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYGRAPH_EMBEDDING_MODEL", str(folder))
    for longest, warned in ((256, False), (128, True)):
        write(folder / "sentence_bert_config.json", {"max_seq_length": longest})
        [found] = examine_embedding()
        assert (found.ok, found.warning, "it reads 128 tokens" in found.detail) == (True, warned, warned)


def test_vectors_of_other_settings_have_another_name(folder: Path) -> None:
    usual = LocalEmbedder(folder).name
    describe(folder, "Transformer", "Pooling", "Normalize", pooling_mode_mean_tokens=True)
    assert LocalEmbedder(folder).name == usual
    write(folder / "sentence_bert_config.json", {"max_seq_length": 128})
    assert LocalEmbedder(folder).name != usual


def test_vectors_of_another_model_in_a_folder_of_the_same_name_have_another_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    usual = LocalEmbedder(Path("./")).name
    assert LocalEmbedder(folder).name == usual
    assert usual.startswith(f"local:{folder.name}-")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\0")  # of the same shapes
    assert LocalEmbedder(folder).name != usual
    usual = LocalEmbedder(folder).name
    write(folder / "config.json", {**json.loads((folder / "config.json").read_text("utf-8")), "layer_norm_eps": 1e-6})
    assert LocalEmbedder(folder).name != usual


def test_the_samples_of_a_large_file_are_few_and_from_all_over_it(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(bytes(2**20))
    plain = read_samples(file)
    assert len(plain) < 70_000
    file.write_bytes(bytes(2**19) + b"\1" * 2**15 + bytes(2**19 - 2**15))
    assert read_samples(file) != plain


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        (
            "modules.json",
            [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}],
            "cannot be read here: Dense",
        ),
        ("modules.json", {}, "no list of JSON objects"),
        ("modules.json", [{"type": "m.Transformer", "path": "../other"}], "outside of its folder: '../other'"),
        ("modules.json", [{"type": "m.Transformer", "path": "a/../../b"}], "outside of its folder"),
        ("modules.json", [{"type": "m.Transformer"}, {"type": "m.Pooling", "path": "/etc"}], "outside of its folder"),
        ("config.json", {"model_type": "bert", "hidden_act": "gelu"}, "lacks the sizes of a BERT model"),
        ("1_Pooling/config.json", {"pooling_mode": "sum"}, "pools by 'sum'"),
        ("sentence_bert_config.json", {"max_seq_length": "long"}, "'long' as its longest input"),
        ("config_sentence_transformers.json", [], "no JSON object"),
    ],
)
def test_settings_that_cannot_be_read_are_an_error(folder: Path, file: str, content: Any, said: str) -> None:
    write(folder / file, content)
    with pytest.raises(ModelError, match=said):
        LocalEmbedder(folder)


def test_many_texts_on_all_cores_have_the_vectors_of_each_alone(folder: Path) -> None:
    embedder = LocalEmbedder(folder)
    texts = [" ".join(["ada", "wrote", "a", "program"][: 1 + i % 4] * (1 + i * 7 % 90)) for i in range(60)]
    for text, vector in zip(texts, embedder.embed(texts), strict=True):
        assert vector == pytest.approx(embedder.embed([text])[0], abs=1e-5)


def test_the_weights_are_read_once_for_all_cores(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # From Python 3.12 on a cached property has no lock.
    monkeypatch.setattr(BertEncoder.__dict__["weights"], "lock", nullcontext(), raising=False)
    read: list[Path] = []

    def slowly(file: Path) -> Any:
        read.append(file)
        time.sleep(0.1)
        return read_safetensors(file)

    monkeypatch.setattr("memorygraph.memory.local.encoders.read_safetensors", slowly)
    embedder = LocalEmbedder(folder)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: embedder.embed(["ada " * 300] * 60), range(4)))
    assert len(read) == 1


def rewrite_weights(folder: Path, dtype: str, change: Callable[[Any], Any]) -> None:
    """Write the weights of a model as numbers of another type."""
    weights = read_safetensors(folder / "model.safetensors")
    write_weights(folder, {name: change(values) for name, values in weights.items()}, dtype)


def test_weights_of_sixteen_bits_are_read(folder: Path) -> None:
    expected = LocalEmbedder(folder).embed(["Ada wrote a program"])[0]
    rewrite_weights(folder, "BF16", lambda values: (values.view("<u4") >> 16).astype("<u2"))
    assert LocalEmbedder(folder).embed(["Ada wrote a program"])[0] == pytest.approx(expected, abs=0.05)
    assert {str(values.dtype) for values in read_safetensors(folder / "model.safetensors").values()} == {"float32"}


def test_weights_of_an_unknown_type_are_named(folder: Path) -> None:
    rewrite_weights(folder, "F8_E4M3", lambda values: values.astype("<u1"))
    with pytest.raises(ModelError, match=r"model\.safetensors` has numbers of the type 'F8_E4M3'; expected one of F64"):
        LocalEmbedder(folder).embed(["ada"])


STATIC_TEXTS = ["Ada wrote a program", "violin", "ada nonsense wrote", "a " * 600]


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("more", ["nothing", "weights", "mapping"])
@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_a_static_model_has_the_vectors_of_model2vec(
    folder: Path, tmp_path: Path, normalize: bool, more: str, kind: str
) -> None:
    model2vec = pytest.importorskip("model2vec")
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    chance = numpy.random.default_rng(2)
    options: dict[str, Any] = {}
    if more == "weights":
        options["weights"] = chance.random(len(WORDS))
    if more == "mapping":
        options["token_mapping"] = numpy.array([0, 1, 2, 3, 0, 1, 2, 3, 3])
    rows = 4 if more == "mapping" else len(WORDS)
    model = model2vec.StaticModel(
        chance.normal(size=(rows, SIZE)).astype(kind), tokenizer, normalize=normalize, config={}, **options
    )
    model.save_pretrained(tmp_path / "static")
    embedder = LocalEmbedder(tmp_path / "static")
    assert embedder.dimensions == SIZE
    for found, expected in zip(embedder.embed(STATIC_TEXTS), model.encode(STATIC_TEXTS), strict=True):
        assert found == pytest.approx(expected.tolist(), abs=2e-3 if kind == "float16" else 1e-5)
    assert embedder.embed_questions(["nonsense"]) == [[0.0] * SIZE]
    assert embed_question(embedder, "nonsense") == []


@pytest.mark.parametrize("part", ["", "0_StaticEmbedding"])
def test_a_static_embedding_of_sentence_transformers_is_read(folder: Path, tmp_path: Path, part: str) -> None:
    place = tmp_path / "static" / part
    values = numpy.random.default_rng(3).normal(size=(len(WORDS), SIZE)).astype("<f4")
    write(
        tmp_path / "static" / "modules.json", [{"type": "sentence_transformers.models.StaticEmbedding", "path": part}]
    )
    place.mkdir(exist_ok=True)
    write_weights(place, {"embedding.weight": values})
    (place / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    [vector] = LocalEmbedder(tmp_path / "static").embed(["ada nonsense wrote"])
    assert vector == pytest.approx(values[[4, 1, 5]].mean(axis=0).tolist(), abs=1e-6)  # unknown words count, too


def onnx_model(*, pooled: bool) -> bytes:
    """A model that gives each token its row of a matrix, or the sum of the rows of a text."""
    onnx = pytest.importorskip("onnx")
    helper, floats, whole = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    rows = numpy.random.default_rng(4).normal(size=(len(WORDS), SIZE)).astype(numpy.float32)
    nodes = [helper.make_node("Gather", ["rows", "input_ids"], ["last_hidden_state"])]
    shape: list[Any] = ["batch", "length", SIZE]
    if pooled:
        nodes.append(helper.make_node("ReduceSum", ["last_hidden_state", "axes"], ["sentence"], keepdims=0))
        shape = ["batch", SIZE]
    answer = helper.make_tensor_value_info("sentence" if pooled else "last_hidden_state", floats, shape)
    given = [
        helper.make_tensor_value_info(name, whole, ["batch", "length"]) for name in ("input_ids", "attention_mask")
    ]
    constants = [onnx.numpy_helper.from_array(rows, "rows"), onnx.numpy_helper.from_array(numpy.array([1]), "axes")]
    graph = helper.make_graph(nodes, "tiny", given, [answer], constants[: 2 if pooled else 1])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("file", ["model.onnx", "onnx/model.onnx"])
def test_a_model_in_the_onnx_format_is_pooled_without_its_padding(folder: Path, file: str) -> None:
    pytest.importorskip("onnxruntime")
    (folder / "model.safetensors").unlink()
    write(folder / "config.json", {"model_type": "mpnet", "hidden_size": SIZE})
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_bytes(onnx_model(pooled=False))
    embedder = LocalEmbedder(folder)
    assert embedder.dimensions == SIZE
    rows = numpy.random.default_rng(4).normal(size=(len(WORDS), SIZE)).astype(numpy.float32)
    for tokens, vector in zip(
        ([2, 4, 3], [2, 4, 5, 6, 7, 3]), embedder.embed(["ada", "ada wrote a program"]), strict=True
    ):
        mean = rows[tokens].mean(axis=0)
        assert vector == pytest.approx((mean / numpy.linalg.norm(mean)).tolist(), abs=1e-5)


def test_a_model_in_the_onnx_format_may_pool_by_itself(folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    (folder / "model.safetensors").unlink()
    describe(folder, "Transformer", "Pooling", pooling_mode_cls_token=True)
    (folder / "model.onnx").write_bytes(onnx_model(pooled=True))
    rows = numpy.random.default_rng(4).normal(size=(len(WORDS), SIZE)).astype(numpy.float32)
    assert LocalEmbedder(folder).embed(["ada"])[0] == pytest.approx(rows[[2, 4, 3]].sum(axis=0).tolist(), abs=1e-5)


def test_a_broken_onnx_model_is_an_error(folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    (folder / "model.safetensors").unlink()
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ModelError, match="not a model in the ONNX format"):
        LocalEmbedder(folder).embed(["ada"])


class StoppedError(Exception):
    """The process ends half way."""


class Stopping:
    """An embedder that stops after some pages."""

    name = "stopping"
    dimensions = 2

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if len(self.texts) >= self.pages * 256:
            raise StoppedError
        self.texts += texts
        return [[1.0, 2.0] for _ in texts]


def test_embedding_an_archive_goes_on_where_it_stopped_and_says_how_far_it_is(graph: MemoryGraph) -> None:
    graph.load("\n".join(f'Node(node_id="n{i}", name="word {i}", data="");' for i in range(600)))
    stopped, resumed = Stopping(1), Stopping(9)
    heard: list[tuple[int, int]] = []
    with pytest.raises(StoppedError):
        embed_all(graph.scope, stopped, lambda done, total: heard.append((done, total)))
    assert heard == [(0, 600), (256, 600)]
    heard.clear()
    assert embed_all(graph.scope, resumed, lambda done, total: heard.append((done, total))) == 344
    assert heard == [(0, 344), (256, 344), (344, 344)]
    assert len({*stopped.texts, *resumed.texts}) == 600
