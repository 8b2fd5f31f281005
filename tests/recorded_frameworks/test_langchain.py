"""LangChain's ChatOpenAI: recorded whichever of its clients is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from memorygraph import MemoryGraphError
from tests.recorded_frameworks.conftest import RECORDED, Recording, run

pytest.importorskip("langchain_openai", reason="LangChain is not installed: tests/recorded_frameworks/run")

from langchain_openai import ChatOpenAI

from memorygraph.integrations.langchain import record_langchain

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the framework


class Person(BaseModel):
    """A person."""

    name: str


class Models:
    """Makes models whose clients are closed at the end of the test; an asynchronous one is closed in its own loop."""

    def __init__(self, recording: Recording) -> None:
        self._base_url = recording.base_url
        self.made: list[ChatOpenAI] = []

    def __call__(self, **options: Any) -> ChatOpenAI:
        model = ChatOpenAI(model="m", base_url=self._base_url, api_key=SecretStr("k"), max_retries=0, **options)
        self.made.append(model)
        return model


@pytest.fixture
def chat(recording: Recording) -> Iterator[Models]:
    models = Models(recording)
    yield models
    for model in models.made:
        model.root_client.close()


def test_every_way_to_ask_is_recorded(recording: Recording, chat: Models) -> None:
    model = record_langchain(recording.graph, chat(), RECORDED)
    assert model.invoke("sync").content == "re sync"
    assert "".join(str(piece.content) for piece in model.stream("stream")) == "re stream"

    async def ask() -> list[Any]:
        whole = (await model.ainvoke("async")).content
        return [whole, "".join([str(piece.content) async for piece in model.astream("astream")])]

    assert run(ask(), model.root_async_client) == ["re async", "re astream"]
    assert [answered for _, answered in recording.kept()] == ["re sync", "re stream", "re async", "re astream"]


def test_structured_answers_and_the_responses_format_are_recorded(recording: Recording, chat: Models) -> None:
    model = record_langchain(recording.graph, chat(), RECORDED)
    assert model.with_structured_output(Person).invoke("who?") == Person(name="Ada")
    responses = record_langchain(recording.graph, chat(use_responses_api=True), RECORDED)
    assert responses.invoke("format").text == "re format"
    assert [answered for _, answered in recording.kept()] == ['{"name": "Ada"}', "re format"]


def test_a_model_with_tools_that_is_made_from_a_recorded_one_is_recorded(recording: Recording, chat: Models) -> None:
    record_langchain(recording.graph, chat(), RECORDED).bind_tools([Person]).invoke("tools")
    assert recording.kept() == [("tools", "re tools")]


def test_the_model_itself_stays_unrecorded(recording: Recording, chat: Models) -> None:
    model = chat()
    record_langchain(recording.graph, model, RECORDED)
    assert model.invoke("Hi").content == "re Hi"
    assert recording.kept() == []


def test_what_cannot_be_recorded_is_refused_in_words(recording: Recording, chat: Models) -> None:
    model = chat()
    with pytest.raises(TypeError, match=r"and not a ChatOpenAI: record the client that it is made from"):
        recording.graph.record(model)
    with pytest.raises(TypeError, match="recorded already"):
        record_langchain(recording.graph, record_langchain(recording.graph, model))
    with pytest.raises(MemoryGraphError, match="this is empty"):
        record_langchain(recording.graph, model, "")
