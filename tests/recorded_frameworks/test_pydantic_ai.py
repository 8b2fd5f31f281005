"""pydantic-ai: recorded by the client of its provider."""

from __future__ import annotations

import pytest

from tests.recorded_frameworks.conftest import Recording, run

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: tests/recorded_frameworks/run")

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the framework


@pytest.mark.parametrize("kind", [OpenAIChatModel, OpenAIResponsesModel])
def test_an_agent_with_a_recorded_client_is_recorded(
    recording: Recording, kind: type[OpenAIChatModel | OpenAIResponsesModel]
) -> None:
    client = recording.async_client()
    agent = Agent(kind("m", provider=OpenAIProvider(openai_client=client)))

    async def ask() -> list[str]:
        first = (await agent.run("whole")).output
        async with agent.run_stream("stream") as streamed:
            return [first, await streamed.get_output()]

    assert run(ask(), client) == ["re whole", "re stream"]
    assert recording.kept() == [("whole", "re whole"), ("stream", "re stream")]
