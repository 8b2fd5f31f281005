"""The real client of OpenAI against the scripted endpoint, over real HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import openai
import pytest

from memorygraph.scripted.scripted_model import ScriptedModel

Connect = Callable[..., openai.OpenAI]

HI: Any = [{"role": "user", "content": "Hi"}]


@pytest.fixture(autouse=True)
def no_model_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MEMORYGRAPH_MODEL", "MEMORYGRAPH_EMBEDDING_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Make clients of a scripted model, which are closed at the end."""
    with ExitStack() as stack:

        def client(model: ScriptedModel, **options: Any) -> openai.OpenAI:
            options = {"api_key": "sk-test", "max_retries": 0, **options}
            return stack.enter_context(openai.OpenAI(base_url=model.base_url, **options))

        yield client


@pytest.fixture
def connect_async() -> Callable[..., openai.AsyncOpenAI]:
    """Make asynchronous clients, which their users close."""

    def client(model: ScriptedModel, **options: Any) -> openai.AsyncOpenAI:
        options = {"api_key": "sk-test", "max_retries": 0, **options}
        return openai.AsyncOpenAI(base_url=model.base_url, **options)

    return client
