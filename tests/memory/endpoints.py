"""Scripted endpoints of this machine, and what is said to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

import pytest

from memorygraph.llm.model import OpenAIModel
from memorygraph.memory.vectors import Embedder, ModelEmbedder
from memorygraph.scripted.scripted_model import ScriptedModel

Endpoint: TypeAlias = Callable[..., AbstractContextManager[ScriptedModel]]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    """What starts an endpoint with these replies, which the environment names as long as its context is open."""

    @contextmanager
    def start(*replies: Any, **options: Any) -> Iterator[ScriptedModel]:
        given = replies[0] if len(replies) == 1 and callable(replies[0]) else list(replies)
        with ScriptedModel(given, **options) as model:
            monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
            monkeypatch.setenv("MEMORYGRAPH_MODEL", "small")
            yield model

    return start


@pytest.fixture
def embedder() -> Iterator[Embedder]:
    """Vectors of words."""
    with ScriptedModel(dimensions=64) as server, OpenAIModel("m", server.base_url, "", embedding_name="words") as model:
        yield ModelEmbedder(model)


def asked(model: ScriptedModel, number: int = -1) -> list[dict[str, str]]:
    """The messages of a request."""
    messages: list[dict[str, str]] = model.requests[number].json["messages"]
    return messages


def fenced(program: str, text: str = "") -> str:
    """An answer as the model is told to give it."""
    return f"{text}\n```contextscript\n{program}\n```"
