"""Chat completions: what the client of OpenAI makes of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from memorygraph.llm.completion import ToolCall, Usage
from memorygraph.scripted.replies import Reply
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.scripted.conftest import HI, Connect

WEATHER: Any = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


class City(BaseModel):
    name: str


def test_a_reply_is_a_whole_completion(connect: Connect) -> None:
    reply = Reply("Hello", usage=Usage(3, 5), model="other")
    with ScriptedModel([reply]) as model:
        completion = connect(model).chat.completions.create(model="any", messages=HI)
    assert completion.choices[0].message.content == "Hello"
    assert completion.choices[0].finish_reason == "stop"
    type(completion).model_validate(completion.to_dict())
    assert completion.model == "other"
    assert completion.usage is not None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (3, 5)
    assert completion.usage.total_tokens == 8


def test_replies_come_in_their_order_and_a_single_one_always(connect: Connect) -> None:
    def ask(model: ScriptedModel) -> str | None:
        return connect(model).chat.completions.create(model="any", messages=HI).choices[0].message.content

    with ScriptedModel(["one", Reply("two")]) as model:
        assert [ask(model), ask(model)] == ["one", "two"]
    with ScriptedModel("always") as model:
        assert [ask(model), ask(model)] == ["always", "always"]
    with ScriptedModel(lambda request: request.prompt + "!") as model:
        assert ask(model) == "Hi!"


def test_several_choices(connect: Connect) -> None:
    with ScriptedModel(Reply("a", alternatives=("b",))) as model:
        client = connect(model)
        completion = client.chat.completions.create(model="any", messages=HI, n=3)
        assert [choice.message.content for choice in completion.choices] == ["a", "b", "a"]
        said = ["", "", ""]
        for chunk in client.chat.completions.create(model="any", messages=HI, n=3, stream=True):
            said[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
        assert said == ["a", "b", "a"]


def test_a_stream_comes_in_pieces(connect: Connect) -> None:
    with ScriptedModel(Reply("Hello, world", piece_length=5)) as model:
        chunks = list(connect(model).chat.completions.create(model="any", messages=HI, stream=True))
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert [delta.content for delta in deltas if delta.content] == ["Hello", ", wor", "ld"]
    assert deltas[0].role == "assistant"
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert len({chunk.id for chunk in chunks}) == 1
    for chunk in chunks:
        type(chunk).model_validate(chunk.to_dict())
    assert all(chunk.usage is None for chunk in chunks)


def test_a_stream_tells_its_usage_when_asked(connect: Connect) -> None:
    options: Any = {"include_usage": True}
    with ScriptedModel(Reply("Hello", usage=Usage(3, 5))) as model:
        client = connect(model)
        chunks = list(client.chat.completions.create(model="any", messages=HI, stream=True, stream_options=options))
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 8
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_tool_calls(connect: Connect) -> None:
    calls = (ToolCall("weather", '{"city": "Paris"}', "call_p"), ToolCall("weather", '{"city": "Oslo"}'))
    with ScriptedModel([Reply(tool_calls=calls), "Sunny."]) as model:
        client = connect(model)
        first = client.chat.completions.create(model="any", messages=HI, tools=WEATHER).choices[0]
        assert first.finish_reason == "tool_calls"
        assert first.message.tool_calls is not None
        results: Any = [
            {"role": "tool", "tool_call_id": call.id, "content": "sun"} for call in first.message.tool_calls
        ]
        said: Any = first.message.to_dict()
        second = client.chat.completions.create(model="any", messages=[*HI, said, *results], tools=WEATHER)
    assert said["tool_calls"][0]["id"] == "call_p"
    assert said["tool_calls"][1]["id"]
    assert second.choices[0].message.content == "Sunny."


def test_tool_calls_are_streamed_in_pieces(connect: Connect) -> None:
    calls = (ToolCall("weather", '{"city": "Paris"}'), ToolCall("weather", '{"city": "Oslo"}'))
    with (
        ScriptedModel(Reply("Let me see.", calls)) as model,
        connect(model).chat.completions.stream(model="any", messages=HI, tools=WEATHER) as stream,
    ):
        pieces = [event for event in stream if event.type == "tool_calls.function.arguments.delta"]
        message = stream.get_final_completion().choices[0].message
    assert len(pieces) > 4
    assert message.content == "Let me see."
    assert message.tool_calls is not None
    cities = [json.loads(call.function.arguments)["city"] for call in message.tool_calls]
    assert cities == ["Paris", "Oslo"]
    assert len({call.id for call in message.tool_calls}) == 2


def test_structured_output_is_parsed(connect: Connect) -> None:
    with ScriptedModel('{"name": "Paris"}') as model:
        parsed = connect(model).chat.completions.parse(model="any", messages=HI, response_format=City)
        schema = model.requests[0].json["response_format"]["json_schema"]
    assert parsed.choices[0].message.parsed == City(name="Paris")
    assert schema["name"] == "City"


def test_what_the_model_did_not_finish(connect: Connect) -> None:
    with ScriptedModel(Reply('{"na', finish_reason="length")) as model:
        client = connect(model)
        assert client.chat.completions.create(model="any", messages=HI).choices[0].finish_reason == "length"
        with pytest.raises(openai.LengthFinishReasonError):
            client.chat.completions.parse(model="any", messages=HI, response_format=City)


def test_any_text_survives(connect: Connect) -> None:
    text = 'ünï "quoted"\n\r\n\u2028 data: [DONE]\n\n \x00 😀 </s>'
    with ScriptedModel(Reply(text, piece_length=1)) as model:
        client = connect(model)
        assert client.chat.completions.create(model="any", messages=HI).choices[0].message.content == text
        chunks = client.chat.completions.create(model="any", messages=HI, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text


def test_asynchronously(connect_async: Callable[..., openai.AsyncOpenAI]) -> None:
    async def talk(model: ScriptedModel) -> tuple[str | None, str]:
        async with connect_async(model) as client:
            plain = await client.chat.completions.create(model="any", messages=HI)
            stream = await client.chat.completions.create(model="any", messages=HI, stream=True)
            pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
            return plain.choices[0].message.content, "".join(pieces)

    with ScriptedModel(["Hello", "again and again"]) as model:
        assert asyncio.run(talk(model)) == ("Hello", "again and again")


@pytest.mark.parametrize("length", [0, -1])
def test_a_reply_in_pieces_of_no_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"piece_length is {length}; expected 1 or more"):
        Reply("Hello", piece_length=length)
