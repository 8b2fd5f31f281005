"""Embeddings and the list of models."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

import openai
import pytest

from memorygraph.scripted.replies import Failure, Request
from memorygraph.scripted.scripted_model import ScriptedModel
from memorygraph.scripted.wire import estimate_tokens, vector_of
from tests.scripted.conftest import Connect


def test_vectors_depend_on_the_text_alone(connect: Connect) -> None:
    def vectors(*texts: str) -> list[list[float]]:
        with ScriptedModel() as model:
            data = connect(model).embeddings.create(model="any", input=list(texts)).data
            return [item.embedding for item in data]

    first, second = vectors("a cat", "a dog")
    assert vectors("a dog") == [second]
    assert first != second
    assert len(first) == 256
    assert math.hypot(*first) == pytest.approx(1.0, abs=1e-6)


def test_both_encodings_say_the_same(connect: Connect) -> None:
    with ScriptedModel() as model:
        client = connect(model)
        floats = client.embeddings.create(model="any", input="a cat", encoding_format="float")
        packed = client.embeddings.create(model="any", input="a cat")
        assert [request.json["encoding_format"] for request in model.requests] == ["float", "base64"]
    assert floats.data[0].embedding == pytest.approx(packed.data[0].embedding, abs=0)


def test_dimensions(connect: Connect) -> None:
    with ScriptedModel(dimensions=8) as model:
        client = connect(model)
        assert len(client.embeddings.create(model="any", input="x").data[0].embedding) == 8
        assert len(client.embeddings.create(model="any", input="x", dimensions=1536).data[0].embedding) == 1536


@pytest.mark.parametrize("text", ["…", " ", "\n", "\x00", "漢字"])
def test_a_text_without_words_has_a_vector_too(text: str, connect: Connect) -> None:
    with ScriptedModel() as model:
        vector = connect(model).embeddings.create(model="any", input=text).data[0].embedding
    assert math.hypot(*vector) == pytest.approx(1.0, abs=1e-6)


def test_tokens_in_place_of_text(connect: Connect) -> None:
    with ScriptedModel() as model:
        client = connect(model)
        one = client.embeddings.create(model="any", input=[1, 2, 3]).data
        several = client.embeddings.create(model="any", input=[[1, 2, 3], [4]]).data
    assert one[0].embedding == several[0].embedding
    assert [item.index for item in several] == [0, 1]


def test_embeddings_do_not_use_up_the_script(connect: Connect) -> None:
    with ScriptedModel([], embedding_failures=[Failure(400, "no")], strict=True) as model:
        client = connect(model)
        with pytest.raises(openai.BadRequestError):
            client.embeddings.create(model="any", input="x")
        assert client.embeddings.create(model="any", input="x").data


def test_models_are_listed(connect: Connect) -> None:
    with ScriptedModel(models=["small", "org/large"]) as model:
        client = connect(model)
        assert [item.id for item in client.models.list()] == ["small", "org/large"]
        assert client.models.retrieve("small").id == "small"
        assert client.models.retrieve("org/large").id == "org/large"
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("none")
        with pytest.raises(openai.NotFoundError, match="'none' does not exist"):
            client.embeddings.create(model="none", input="x")


def test_asynchronously(connect_async: Callable[..., openai.AsyncOpenAI]) -> None:
    async def ask(model: ScriptedModel) -> tuple[int, list[str]]:
        async with connect_async(model) as client:
            data = (await client.embeddings.create(model="any", input=["x", "y"])).data
            return len(data), [item.id async for item in client.models.list()]

    with ScriptedModel() as model:
        assert asyncio.run(ask(model)) == (2, ["scripted"])


def test_texts_that_share_words_are_near_each_other() -> None:
    def nearness(a: str, b: str) -> float:
        return sum(x * y for x, y in zip(vector_of(a), vector_of(b), strict=True))

    assert nearness("a grey cat", "a black cat") > nearness("a grey cat", "two ships") + 0.3


def test_about_four_characters_are_a_token() -> None:
    assert estimate_tokens("Hello, world!") == 4


def test_a_script_of_failures_that_raises_is_shown_to_its_author(connect: Connect) -> None:
    def broken(_request: Request) -> Failure:
        raise LookupError("no such row")

    model = ScriptedModel(embedding_failures=broken).start()
    with pytest.raises(openai.BadRequestError, match="The script failed: LookupError"):
        connect(model).embeddings.create(model="any", input="x")
    with pytest.raises(LookupError, match="no such row"):
        model.__exit__(None, None, None)
