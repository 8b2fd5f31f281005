"""Responses: what the client of OpenAI makes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import openai
from openai.types.responses import Response
from pydantic import BaseModel

from memorygraph.llm.completion import ToolCall, Usage
from memorygraph.scripted.replies import Reply
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.scripted.conftest import Connect

WEATHER: Any = [{"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}]


class City(BaseModel):
    name: str


def test_a_reply_is_a_whole_response(connect: Connect) -> None:
    with ScriptedModel(Reply("Hello", usage=Usage(3, 5))) as model:
        response = connect(model).responses.create(model="any", input="Hi", instructions="Be kind.", temperature=0.5)
    assert response.output_text == "Hello"
    assert response.status == "completed"
    assert (response.instructions, response.temperature) == ("Be kind.", 0.5)
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 5)
    # The client builds its values without a check; this checks that the document is all that the format wants.
    Response.model_validate(response.to_dict())


def test_tool_calls_and_their_results(connect: Connect) -> None:
    with ScriptedModel([Reply(tool_calls=(ToolCall("weather", '{"city": "Oslo"}'),)), "Rain."]) as model:
        client = connect(model)
        first = client.responses.create(model="any", input="Hi", tools=WEATHER)
        call = first.output[0]
        assert call.type == "function_call"
        assert call.arguments == '{"city": "Oslo"}'
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
        said: Any = [{"role": "user", "content": "Hi"}, call.to_dict(), result]
        assert client.responses.create(model="any", input=said).output_text == "Rain."
        assert model.requests[1].prompt == "rain"


def test_a_plain_stream(connect: Connect) -> None:
    with ScriptedModel(Reply("Hello, world", (ToolCall("weather", '{"city": "Oslo"}'),))) as model:
        events = list(connect(model).responses.create(model="any", input="Hi", stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "Hello, world"
    kinds = [event.type for event in events]
    assert kinds[:3] == ["response.created", "response.in_progress", "response.output_item.added"]
    assert kinds[-1] == "response.completed"
    for event in events:
        type(event).model_validate(event.to_dict())


def test_the_stream_helper(connect: Connect) -> None:
    calls = (ToolCall("weather", '{"city": "Oslo"}'), ToolCall("weather", '{"city": "Rome"}'))
    with (
        ScriptedModel(Reply("Hello, world", calls)) as model,
        connect(model).responses.stream(model="any", input="Hi", tools=WEATHER) as stream,
    ):
        snapshots = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert snapshots[-1] == "Hello, world"
    assert final.output_text == "Hello, world"
    assert [item.type for item in final.output] == ["message", "function_call", "function_call"]


def test_structured_output_is_parsed(connect: Connect) -> None:
    with ScriptedModel('{"name": "Paris"}') as model:
        client = connect(model)
        assert client.responses.parse(model="any", input="Hi", text_format=City).output_parsed == City(name="Paris")
        with client.responses.stream(model="any", input="Hi", text_format=City) as stream:
            assert stream.get_final_response().output_parsed == City(name="Paris")


def test_what_the_model_did_not_finish(connect: Connect) -> None:
    with ScriptedModel(Reply("Once upon", finish_reason="length")) as model:
        client = connect(model)
        response = client.responses.create(model="any", input="Hi")
        *_, last = client.responses.create(model="any", input="Hi", stream=True)
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
    assert last.type == "response.incomplete"


def test_asynchronously(connect_async: Callable[..., openai.AsyncOpenAI]) -> None:
    async def talk(model: ScriptedModel) -> list[str]:
        async with connect_async(model) as client:
            plain = await client.responses.create(model="any", input="Hi")
            events = await client.responses.create(model="any", input="Hi", stream=True)
            pieces = [event.delta async for event in events if event.type == "response.output_text.delta"]
            async with client.responses.stream(model="any", input="Hi") as stream:
                final = await stream.get_final_response()
            return [plain.output_text, "".join(pieces), final.output_text]

    with ScriptedModel(["one", "two and", "three"]) as model:
        assert asyncio.run(talk(model)) == ["one", "two and", "three"]
