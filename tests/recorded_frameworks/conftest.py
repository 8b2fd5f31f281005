"""A scripted endpoint, and clients of it that are recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import openai
import pytest

from memorygraph import MemoryGraph
from memorygraph.scripted.replies import Request
from memorygraph.scripted.scripted_model import ScriptedModel

Result = TypeVar("Result")
RECORDED = "talk"


class Recording:
    """An endpoint that answers `re ` and the prompt, or JSON where that is asked for; its clients, and what is kept."""

    def __init__(self, graph: MemoryGraph, model: ScriptedModel) -> None:
        self.graph = graph
        self.model = model
        self.base_url = model.base_url

    def client(self) -> openai.OpenAI:
        """Return a recorded client."""
        return self.graph.record(openai.OpenAI(base_url=self.base_url, api_key="k", max_retries=0), RECORDED)

    def async_client(self) -> openai.AsyncOpenAI:
        """Return a recorded client for asyncio."""
        return self.graph.record(openai.AsyncOpenAI(base_url=self.base_url, api_key="k", max_retries=0), RECORDED)

    def kept(self) -> list[tuple[str, str]]:
        """Return the last question and the answer of each version, in the order of the calls."""
        history = self.graph.messages(RECORDED)
        versions = [history.checkout(version) for version in history.versions() if version.length]
        return [(str(v[-2]["content"]), str(v[-1].get("content"))) for v in versions]


@pytest.fixture(autouse=True)
def _no_default_client_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the Agents SDK forget the client that a test makes its default; it has no function for that."""
    with suppress(ImportError):
        from agents.models import _openai_shared

        monkeypatch.setattr(_openai_shared, "_default_openai_client", None)


def answer(request: Request) -> str:
    shape = request.json.get("response_format") or request.json.get("text")
    return '{"name": "Ada"}' if shape or "json" in str(request.json).lower() else f"re {request.prompt}"


@pytest.fixture
def recording(graph: MemoryGraph) -> Iterator[Recording]:
    with ScriptedModel(answer) as model:
        yield Recording(graph, model)


def run(work: Coroutine[Any, Any, Result], client: openai.AsyncOpenAI) -> Result:
    """Run a coroutine, and close the client in the loop that its connections belong to."""

    async def closing() -> Result:
        async with client:
            return await work

    return asyncio.run(closing())
