"""The OpenAI Agents SDK: recorded by the client of its model, or of all of its models."""

from __future__ import annotations

import pytest

from tests.recorded_frameworks.conftest import Recording, run

pytest.importorskip("agents", reason="the Agents SDK is not installed: tests/recorded_frameworks/run")

import agents

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the framework


@pytest.fixture(autouse=True)
def without_tracing() -> None:
    agents.set_tracing_disabled(disabled=True)  # it would be sent to OpenAI


@pytest.mark.parametrize("kind", [agents.OpenAIChatCompletionsModel, agents.OpenAIResponsesModel])
def test_an_agent_with_a_recorded_client_is_recorded(
    recording: Recording, kind: type[agents.OpenAIChatCompletionsModel | agents.OpenAIResponsesModel]
) -> None:
    client = recording.async_client()
    agent = agents.Agent("assistant", model=kind("m", openai_client=client))

    async def ask() -> list[str]:
        whole = (await agents.Runner.run(agent, "whole")).final_output
        streamed = agents.Runner.run_streamed(agent, "stream")
        async for _ in streamed.stream_events():
            pass
        return [whole, streamed.final_output]

    assert run(ask(), client) == ["re whole", "re stream"]
    assert [answered for _, answered in recording.kept()] == ["re whole", "re stream"]


def test_the_default_client_records_agents_that_have_no_model_of_their_own(recording: Recording) -> None:
    client = recording.async_client()
    agents.set_default_openai_client(client, use_for_tracing=False)
    assert run(agents.Runner.run(agents.Agent("assistant", model="m"), "Hi"), client).final_output == "re Hi"
    assert [answered for _, answered in recording.kept()] == ["re Hi"]
