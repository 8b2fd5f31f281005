"""A reply in the format of /v1/chat/completions: as one document, and as the chunks of a stream."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from memorygraph.llm.completion import ToolCall, Usage
from memorygraph.scripted.replies import Reply, Request
from memorygraph.scripted.wire import Event, usage_of


def document(request: Request, reply: Reply, number: int) -> dict[str, Any]:
    """The whole answer.

    >>> request = Request("POST", "/v1/chat/completions", {}, b'{"model": "m", "messages": []}')
    >>> document(request, Reply("Hi"), 1)["choices"][0]["message"]["content"]
    'Hi'
    """
    choices = [
        {
            "index": index,
            "message": _message(choice, number),
            "logprobs": None,
            "finish_reason": choice.reason,
        }
        for index, choice in enumerate(_choices(request, reply))
    ]
    return _head(request, reply, number, "chat.completion") | {
        "choices": choices,
        "usage": _usage(usage_of(request, reply)),
    }


def events(request: Request, reply: Reply, number: int) -> Iterator[Event]:
    """The chunks of a stream, those of several choices in turn, and the mark of its end."""
    head = _head(request, reply, number, "chat.completion.chunk")
    with_usage = (request.json.get("stream_options") or {}).get("include_usage")
    # With the option every chunk says that its usage is not known yet; without it none names usage at all.
    unknown = {"usage": None} if with_usage else {}
    choices = [_choice_chunks(index, choice, number) for index, choice in enumerate(_choices(request, reply))]
    for step in zip_longest(*choices):
        for chunk in step:
            if chunk is not None:
                yield None, head | {"choices": [chunk]} | unknown
    if with_usage:
        yield None, head | {"choices": [], "usage": _usage(usage_of(request, reply))}
    yield None, "[DONE]"


def _choice_chunks(index: int, reply: Reply, number: int) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}

    yield chunk({"role": "assistant", "content": None if reply.content is None else "", "refusal": None})
    for piece in reply.pieces(reply.content or ""):
        yield chunk({"content": piece})
    for position, call in enumerate(_calls(reply, number)):
        opening = call.as_dict() | {"function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [{"index": position, **opening}]})
        for piece in reply.pieces(call.arguments):
            yield chunk({"tool_calls": [{"index": position, "function": {"arguments": piece}}]})
    yield chunk({}, reply.reason)


def _choices(request: Request, reply: Reply) -> list[Reply]:
    return reply.choices(request.json.get("n") or 1)


def _head(request: Request, reply: Reply, number: int, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{number:08}",
        "object": kind,
        "created": int(time.time()),
        "model": reply.model or request.json["model"],
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
    }


def _message(reply: Reply, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content, "refusal": None, "annotations": []}
    if reply.tool_calls:
        message["tool_calls"] = [call.as_dict() for call in _calls(reply, number)]
    return message


def _calls(reply: Reply, number: int) -> list[ToolCall]:
    """The calls with their ids; those that the script leaves out are unique in this server."""
    return [
        ToolCall(call.name, call.arguments, call.id or f"call_{number:08}_{position}")
        for position, call in enumerate(reply.tool_calls)
    ]


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }
