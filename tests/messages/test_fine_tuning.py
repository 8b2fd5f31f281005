"""Every recorded shape becomes lines that fine-tuning takes, or is left out, counted and named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.messages.calls import exchange_of
from memorygraph.messages.fine_tuning import NoFormError, form_of_message, form_of_tools
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.message import Message
from tests.messages.fine_tuning_rules import faults_of_lines
from tests.messages.test_recorder import call_of

HI: Any = {"role": "user", "content": "Hi"}
HELLO: Any = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}
PICTURE = "https://example.org/a.png"
CALL = {"id": "c", "type": "function", "function": {"name": "clock", "arguments": '{"zone":"utc"}'}}
THOUGHT = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]}
FLAT_TOOL = {"type": "function", "name": "clock", "parameters": {"type": "object"}, "strict": None}
FLAT_CALL = {"type": "function_call", "id": "f", "call_id": "c", "name": "clock", "arguments": '{"zone": "utc"}'}
FLAT_RESULT = {"type": "function_call_output", "call_id": "c", "output": "12:34"}


def history_of(api: str, request: dict[str, Any], answer: Any) -> MessageGraph:
    """The conversation that a recorded call leaves."""
    response = {"choices": [{"message": answer}]} if api == "chat" else {"status": "completed", "output": answer}
    call = call_of("n", api=api, request={"model": "m", **request}, response=response)
    exchange = exchange_of(call)
    history = MessageGraph()
    [given] = exchange.answers
    history.add_path([*exchange.prompt, *given.messages], metadata=given.metadata)
    return history


VALID: dict[str, tuple[str, dict[str, Any], Any]] = {
    "chat": ("chat", {"messages": [HI]}, {"content": "Hello"}),
    "developer": ("chat", {"messages": [{"role": "developer", "content": "Be brief"}, HI]}, {"content": "Hello"}),
    "parsed": ("chat", {"messages": [HI]}, {"content": "{}", "parsed": {}, "annotations": []}),
    "tool call": ("chat", {"messages": [HI], "tools": form_of_tools([FLAT_TOOL])}, {"tool_calls": [CALL]}),
    "refusal": ("chat", {"messages": [HI]}, {"content": None, "refusal": "No."}),
    "reasoning": ("chat", {"messages": [HI]}, {"content": "Hello", "reasoning_content": "hm"}),
    "picture": (
        "chat",
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": PICTURE}}]}]},
        {"content": "a cat"},
    ),
    "responses": ("responses", {"input": "Hi", "instructions": "Be brief"}, [HELLO]),
    "responses tools": (
        "responses",
        {"input": [HI, THOUGHT, FLAT_CALL, FLAT_RESULT], "tools": [FLAT_TOOL]},
        [THOUGHT, HELLO],
    ),
    "responses tool call": ("responses", {"input": "Hi", "tools": [FLAT_TOOL]}, [THOUGHT, FLAT_CALL]),
    "responses picture": (
        "responses",
        {
            "input": [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "What is it?"},
                        {"type": "input_image", "image_url": PICTURE, "detail": "low"},
                    ],
                }
            ]
        },
        [HELLO],
    ),
    "responses refusal": (
        "responses",
        {"input": "Hi"},
        [{"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}],
    ),
}


@pytest.mark.parametrize("shape", VALID)
def test_every_recorded_shape_exports_to_valid_lines(shape: str) -> None:
    data = history_of(*VALID[shape]).training_data()
    assert data.answers == 1
    assert set(data.left_out) <= {"off-policy"}  # an answer that came with the request
    assert faults_of_lines(data.jsonl()) == []
    assert ("reasoning" in data.omitted) == (shape in {"responses tools", "responses tool call"})


def test_tools_pictures_and_reasoning_of_the_responses_format_have_the_form_of_the_chat_format() -> None:
    [line] = history_of(*VALID["responses picture"]).training_data()
    assert line["messages"][0]["content"] == [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
    ]
    [line] = history_of(*VALID["responses tools"]).training_data()
    function = {"name": "clock", "parameters": {"type": "object"}}
    assert line["tools"] == [{"type": "function", "function": function}]
    assert line["messages"][1:] == [
        {"role": "assistant", "tool_calls": [CALL], "weight": 0},
        {"role": "tool", "tool_call_id": "c", "content": "12:34"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello"}], "weight": 1},
    ]


INVALID: dict[str, tuple[str, dict[str, Any], Any]] = {
    "part `input_file`": (
        "responses",
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]},
        [HELLO],
    ),
    "picture without an address": (
        "responses",
        {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]},
        [HELLO],
    ),
    "part `web_search_call`": ("responses", {"input": "Hi"}, [{"type": "web_search_call", "id": "w"}, HELLO]),
    "tool `web_search`": ("responses", {"input": "Hi", "tools": [{"type": "web_search"}]}, [HELLO]),
    "answer without a text": ("responses", {"input": "Hi"}, [THOUGHT]),
    "message without a content": ("chat", {"messages": [{"role": "system", "content": ""}, HI]}, {"content": "a"}),
    "audio": ("chat", {"messages": [HI]}, {"audio": {"id": "a"}}),
    "tool result without its call": ("responses", {"input": [HI, FLAT_RESULT]}, [HELLO]),
    "tool call without a result": ("responses", {"input": [FLAT_CALL, HI]}, [HELLO]),
    "role `function`": ("chat", {"messages": [{"role": "function", "name": "f", "content": "1"}]}, {"content": "a"}),
    "text beside a refusal": ("chat", {"messages": [HI]}, {"content": "Well", "refusal": "No."}),
    "more than 10 pictures": (
        "chat",
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": PICTURE}}] * 11}]},
        {"content": "cats"},
    ),
}


@pytest.mark.parametrize("reason", INVALID)
def test_what_has_no_valid_form_is_left_out_counted_and_named(reason: str) -> None:
    data = history_of(*INVALID[reason]).training_data()
    assert (data.answers, data.left_out[reason], data.jsonl()) == (0, 1, "")


ODD_KIND: Any = {"type": ["text"], "text": "Hi"}
ODD: dict[str, tuple[str, Any, Any]] = {
    "part `['text']` of a user": ("part `['text']`", [ODD_KIND], "Hello"),
    "part `['text']` of a model": ("part `['text']`", "Hi", [ODD_KIND]),
    "part `None`": ("part `None`", "Hi", [{"text": "Hi"}]),
}


@pytest.mark.parametrize("name", ODD)
def test_parts_of_no_known_kind_are_left_out_whatever_their_kind_is(name: str) -> None:
    reason, question, answer = ODD[name]
    history = MessageGraph([{"role": "user", "content": question}, {"role": "assistant", "content": answer}])
    assert history.training_data().left_out == {reason: 1}


def test_a_detail_of_a_picture_that_there_is_not_is_left_out() -> None:
    picture = {"type": "image_url", "image_url": {"url": PICTURE, "detail": ["low"]}}
    form = form_of_message(Message.of({"role": "user", "content": [picture]}))
    assert form["content"] == [{"type": "image_url", "image_url": {"url": PICTURE}}]


@pytest.mark.parametrize("tool", [{"function": "clock"}, {"type": "function", "function": ["clock"]}])
def test_a_tool_whose_function_is_none_has_no_form(tool: Any) -> None:
    history = MessageGraph([HI])
    history.append({"role": "assistant", "content": "a"}, metadata={"parameters": {"tools": [tool]}})
    assert history.training_data().left_out == {f"tool `{tool['function']}`": 1}


TEXTS = st.sampled_from(["", " ", "Hi"])
PARTS = st.one_of(
    st.builds(lambda kind, text: {"type": kind, "text": text}, st.sampled_from(["text", "input_text"]), TEXTS),
    st.builds(lambda text: {"type": "output_text", "text": text, "annotations": []}, TEXTS),
    st.builds(lambda text: {"type": "refusal", "refusal": text}, TEXTS),
    st.sampled_from([PICTURE, "file-1", ""]).map(lambda url: {"type": "image_url", "image_url": {"url": url}}),
    st.just(THOUGHT),
)
CONTENTS = st.one_of(st.none(), TEXTS, st.lists(PARTS, max_size=3))
CALLS = st.builds(
    lambda id_, name, arguments: {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}},
    st.sampled_from(["c", "d", ""]),
    st.sampled_from(["clock", "a b"]),
    st.sampled_from(["{}", "", "{"]),
)
ANSWERS = st.fixed_dictionaries(
    {"content": CONTENTS}, optional={"tool_calls": st.lists(CALLS, max_size=2), "refusal": st.one_of(st.none(), TEXTS)}
)
MESSAGES = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "developer", "user", "function"]), "content": CONTENTS}),
    st.fixed_dictionaries(
        {"role": st.just("tool"), "content": CONTENTS}, optional={"tool_call_id": st.sampled_from(["c", "d", ""])}
    ),
    ANSWERS.map(lambda answer: {"role": "assistant", **answer}),
)


@given(
    st.lists(MESSAGES, min_size=1, max_size=4), ANSWERS, st.sampled_from([{}, {"tools": []}, {"tools": [FLAT_TOOL]}])
)
def test_whatever_is_recorded_exports_to_valid_lines_or_is_left_out(
    messages: list[Any], answer: dict[str, Any], tools: dict[str, Any]
) -> None:
    data = history_of("chat", {"messages": messages, **tools}, answer).training_data()
    assert faults_of_lines(data.jsonl()) == []
    assert data.answers == 1 or sum(data.left_out.values()) > 0


def test_the_answers_before_a_message_without_a_form_are_trained_on() -> None:
    history = MessageGraph([HI, {"role": "assistant", "content": "Hello"}])
    history.append({"role": "user", "content": [{"type": "input_file", "file_id": "f"}]})
    history.append({"role": "assistant", "content": "a file"})
    data = history.training_data()
    assert (data.answers, data.left_out) == (1, {"part `input_file`": 1})
    assert faults_of_lines(data.jsonl()) == []


def test_the_validator_finds_what_earlier_exports_had() -> None:
    flat = {"messages": [HI, {"role": "assistant", "content": [THOUGHT]}], "tools": [FLAT_TOOL]}
    assert len(faults_of_lines(json.dumps(flat))) == 3


def test_arguments_that_differ_in_white_space_only_are_the_same_message() -> None:
    def called(arguments: str) -> Message:
        return Message.of({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]})

    assert called('{"a": [1, 2],\n "b": "x  \\" y"}') == called('{"a":[1,2],"b":"x  \\" y"}')
    assert called('{"b":1,"a":2}') != called('{"a":2,"b":1}')
    assert called('{"a": "x y"}') != called('{"a": "xy"}')
    assert called('{"a": ') != called('{"a":')

    history = MessageGraph([HI, {"role": "assistant", "tool_calls": [CALL]}])
    spaced = {**CALL, "function": {"name": "clock", "arguments": '{"zone": "utc"}'}}
    history[1] = {"role": "assistant", "tool_calls": [spaced]}
    assert (len(history.versions()), history.training_data().left_out) == (1, {})


def test_a_tool_name_that_the_api_refuses_is_named() -> None:
    with pytest.raises(NoFormError, match=r"tool name `a b`"):
        form_of_tools([{"type": "function", "name": "a b"}])
    with pytest.raises(NoFormError, match="part `thing`"):
        form_of_message(Message.of({"role": "system", "content": [{"type": "thing"}]}))
