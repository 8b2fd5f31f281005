"""What a real endpoint refuses is refused, in its shape, and what it accepts is not."""

from __future__ import annotations

from typing import Any

import pytest

from memorygraph.scripted.request_checks import (
    ChatRequest,
    EmbeddingsRequest,
    LimitedRequest,
    RefusedRequest,
    ResponsesRequest,
    check_request,
)

USER = {"role": "user", "content": "Hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "1"}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "S", "schema": {"type": "object"}, "strict": True}}


def _chat(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages) or [USER], **fields}


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({"messages": [USER]}, "model", "Missing required parameter: 'model'"),
        ({"model": "m"}, "messages", "Missing required parameter: 'messages'"),
        ({"model": "m", "messages": []}, "messages", "at least 1 item"),
        ({"model": 5, "messages": [USER]}, "model", "valid string"),
        (_chat({"role": "user"}), "messages[0].content", r"'messages\[0\].content'"),
        (_chat({"role": "robot", "content": "x"}), "messages[0].role", "'developer'"),
        (_chat({"role": "assistant"}), "messages[0]", "'content' or 'tool_calls'"),
        (_chat(USER, {"role": "user", "content": 5}), "messages[1].content", "valid string"),
        (_chat(RESULT), None, "must be a response to a preceding message"),
        (_chat(CALLING), None, "must be followed by tool messages responding to each 'tool_call_id'.*c1"),
        (_chat(CALLING, USER), None, "must be followed by tool messages"),
        (_chat(CALLING, RESULT, RESULT), None, "preceding message"),
        (_chat({**USER, "tool_calls": [{}]}, RESULT), None, "preceding message"),
        (_chat({"role": "tool", "content": "1"}), "messages[0].tool_call_id", r"Missing.*'messages\[0\].tool_call_id'"),
        (_chat(temperature=3), "temperature", "less than or equal to 2"),
        (_chat(temperature="hot"), "temperature", "valid number"),
        (_chat(n=0), "n", "greater than or equal to 1"),
        (_chat(max_tokens=0), "max_tokens", "greater than or equal to 1"),
        (_chat(stream="yes"), "stream", "valid boolean"),
        (_chat(stream_options={"include_usage": True}), None, "only allowed when 'stream'"),
        (_chat(tools=[{"type": "function", "function": {"name": "a b"}}]), "tools[0].function.name", "pattern"),
        (_chat(tools=[{"type": "function"}]), "tools[0].function", "Missing required parameter"),
        (_chat({"role": "user", "content": None}), "messages[0].content", "Missing required parameter"),
        (_chat({"content": "x"}), "messages[0].role", "Missing required parameter"),
        (_chat(response_format={"type": "xml"}), "response_format.type", "'text' or 'json_schema' or 'json_object'"),
        (_chat({"role": "user", "content": [{"type": "text"}]}), "messages[0].content[0].text", "Missing required"),
        (_chat({"role": "assistant", "tool_calls": []}), "messages[0].tool_calls", "at least 1 item"),
        (
            _chat(response_format={"type": "json_schema", "json_schema": {"name": "a b"}}),
            "response_format.json_schema.name",
            "pattern",
        ),
        (_chat(response_format={"type": "json_schema"}), "response_format.json_schema", "Missing required parameter"),
    ],
)
def test_a_wrong_chat_request_is_refused(body: Any, param: str | None, message: str) -> None:
    _refuses(ChatRequest, body, param, message)


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({"model": "m"}, "input", "Missing required parameter: 'input'"),
        ({"model": "m", "input": []}, "input", "at least 1 item"),
        ({"model": "m", "input": [{"content": "x"}]}, "input[0].role", "Missing required parameter"),
        (
            {"model": "m", "input": [{"type": "function_call_output", "call_id": "c1", "output": "1"}]},
            None,
            "No tool call found for function call output with call_id c1",
        ),
        (
            {"model": "m", "input": [{"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}]},
            None,
            "No tool output found for function call c1",
        ),
        (
            {"model": "m", "input": "x", "text": {"format": {"type": "json_schema"}}},
            "text.format.name",
            "Missing required parameter: 'text.format.name'",
        ),
        ({"model": "m", "input": "x", "max_output_tokens": 0}, "max_output_tokens", "greater"),
    ],
)
def test_a_wrong_request_for_a_response_is_refused(body: Any, param: str | None, message: str) -> None:
    _refuses(ResponsesRequest, body, param, message)


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({"model": "m"}, "input", "Missing required parameter"),
        ({"model": "m", "input": ""}, "input", "at least 1 character"),
        ({"model": "m", "input": []}, "input", "at least 1 item"),
        ({"model": "m", "input": ["a", ""]}, "input[1]", "at least 1 character"),
        ({"model": "m", "input": "a", "dimensions": 0}, "dimensions", "greater than or equal to 1"),
        ({"model": "m", "input": "a", "encoding_format": "hex"}, "encoding_format", "'float' or 'base64'"),
    ],
)
def test_a_wrong_request_for_embeddings_is_refused(body: Any, param: str, message: str) -> None:
    _refuses(EmbeddingsRequest, body, param, message)


def _refuses(kind: type[LimitedRequest], body: Any, param: str | None, message: str) -> None:
    with pytest.raises(RefusedRequest, match=message) as raised:
        check_request(kind, body)
    assert raised.value.status == 400
    assert raised.value.document()["error"]["type"] == "invalid_request_error"
    assert raised.value.document()["error"]["param"] == param


@pytest.mark.parametrize("body", [None, 5, [], "x"])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    with pytest.raises(RefusedRequest, match="JSON object"):
        check_request(ChatRequest, body)


@pytest.mark.parametrize(
    "body",
    [
        _chat(),
        _chat({"role": "developer", "content": [{"type": "text", "text": "x"}]}, USER),
        _chat(USER, CALLING, RESULT, USER),
        _chat(USER, CALLING | {"content": ""}, RESULT),
        _chat(USER, {"role": "assistant", "refusal": "no"}),
        _chat(response_format=SCHEMA, temperature=1, top_p=0.5, seed=1, grammar='root ::= "x"'),
        _chat(stream=True, stream_options={"include_usage": True}),
        _chat(temperature=None, tools=None, stop=["a"], n=2),
        _chat(
            USER,
            CALLING | {"audio": None, "refusal": None},
            RESULT,
            {"role": "assistant", "content": "x", "tool_calls": None},
        ),
        _chat(response_format={"type": "grammar", "grammar": 'root ::= "x"'}),
    ],
)
def test_a_right_chat_request_is_accepted(body: Any) -> None:
    assert check_request(ChatRequest, body).model == "m"


def test_the_call_of_a_result_may_stand_in_an_earlier_response() -> None:
    result = {"type": "function_call_output", "call_id": "c1", "output": "1"}
    assert check_request(ResponsesRequest, {"model": "m", "input": [result], "previous_response_id": "resp_1"})
