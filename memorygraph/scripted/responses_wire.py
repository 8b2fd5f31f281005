"""A reply in the format of /v1/responses: as one document, and as the events of a stream."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from typing import Any

from memorygraph.llm.completion import Usage
from memorygraph.scripted.replies import Reply, Request
from memorygraph.scripted.wire import Event, usage_of

# Why a response ended before its end, in the words of this format.
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
# What a response repeats of its request, and what it says where the request says nothing.
_REPEATED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


def document(request: Request, reply: Reply, number: int) -> dict[str, Any]:
    """The whole answer.

    >>> request = Request("POST", "/v1/responses", {}, b'{"model": "m", "input": "Hi"}')
    >>> document(request, Reply("Hello"), 1)["output"][0]["content"][0]["text"]
    'Hello'
    """
    incomplete = _INCOMPLETE.get(reply.reason)
    return _opening(request, reply, number) | {
        "status": "incomplete" if incomplete else "completed",
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "output": [_item(reply, number, position) for position in _positions(reply)],
        "usage": _usage(usage_of(request, reply)),
    }


def events(request: Request, reply: Reply, number: int) -> Iterator[Event]:
    """The events of a stream, numbered from 0."""
    sequence = count()
    for kind, content in _contents(request, reply, number):
        yield kind, {"type": kind, **content, "sequence_number": next(sequence)}


def _contents(request: Request, reply: Reply, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    opening = _opening(request, reply, number)
    yield "response.created", {"response": opening}
    yield "response.in_progress", {"response": opening}
    for position in _positions(reply):
        item = _item(reply, number, position)
        place = {"item_id": item["id"], "output_index": position}
        emptied: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        added = item | emptied | {"status": "in_progress"}
        yield "response.output_item.added", {"output_index": position, "item": added}
        if item["type"] == "message":
            yield from _text_events(reply, place, item["content"][0])
        else:
            yield from _call_events(reply, place, item)
        yield "response.output_item.done", {"output_index": position, "item": item}
    final = document(request, reply, number)
    yield f"response.{final['status']}", {"response": final}


def _text_events(reply: Reply, place: dict[str, Any], part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    place = {**place, "content_index": 0}
    yield "response.content_part.added", {**place, "part": part | {"text": ""}}
    for piece in reply.pieces(part["text"]):
        yield "response.output_text.delta", {**place, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**place, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**place, "part": part}


def _call_events(reply: Reply, place: dict[str, Any], item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for piece in reply.pieces(item["arguments"]):
        yield "response.function_call_arguments.delta", {**place, "delta": piece}
    yield (
        "response.function_call_arguments.done",
        {**place, "name": item["name"], "arguments": item["arguments"]},
    )


def _positions(reply: Reply) -> range:
    """The places of the output: the message, if there is one, before the calls."""
    return range((reply.content is not None) + len(reply.tool_calls))


def _item(reply: Reply, number: int, position: int) -> dict[str, Any]:
    status = "incomplete" if reply.reason in _INCOMPLETE else "completed"
    if reply.content is not None and position == 0:
        part = {"type": "output_text", "text": reply.content, "annotations": [], "logprobs": []}
        message = {"id": f"msg_{number:08}", "type": "message", "role": "assistant"}
        return message | {"status": status, "content": [part]}
    index = position - (reply.content is not None)
    call = reply.tool_calls[index]
    return {
        "id": f"fc_{number:08}_{index}",
        "type": "function_call",
        "status": status,
        "call_id": call.id or f"call_{number:08}_{index}",
        "name": call.name,
        "arguments": call.arguments,
    }


def _opening(request: Request, reply: Reply, number: int) -> dict[str, Any]:
    """The response before anything is said."""
    asked = {name: request.json[name] for name in _REPEATED if request.json.get(name) is not None}
    return {
        "id": f"resp_{number:08}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": reply.model or request.json["model"],
        "output": [],
        "service_tier": "default",
        "usage": None,
        **_REPEATED,
        **asked,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total_tokens,
    }
