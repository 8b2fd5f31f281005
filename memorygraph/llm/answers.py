"""Reads the answer of an endpoint into a `Completion`; `messages/chunks.py` makes a whole answer of a stream.

Endpoints differ in what they leave out; only an answer without any message is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memorygraph.errors import ModelError
from memorygraph.llm.completion import Completion, ToolCall, Usage

MAX_ERROR_CHARACTERS = 500


def read_document(body: bytes) -> dict[str, Any]:
    """Read the document in the body of an answer.

    >>> read_document(b"<html>")
    Traceback (most recent call last):
    memorygraph.errors.ModelError: the model endpoint's answer is not JSON; does its URL end in /v1?

    Raises:
        ModelError: it is not a JSON object, or the object is an error.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ModelError("the model endpoint's answer is not JSON; does its URL end in /v1?") from error
    if not isinstance(document, dict):
        raise ModelError("the model endpoint's answer is not a JSON object; does its URL end in /v1?")
    if told := document.get("error"):
        raise ModelError(f"the model endpoint failed: {error_text(told)}")
    return document


def error_text(error: Any) -> str:
    """Return the text of an error document, cut to a length that can be shown.

    >>> error_text({"message": "no such model"})
    'no such model'
    """
    said = error.get("message") if isinstance(error, dict) else error
    text = " ".join(str(said or error).split())
    return text if len(text) <= MAX_ERROR_CHARACTERS else text[:MAX_ERROR_CHARACTERS] + "…"


def read_completion(document: Mapping[str, Any], latency_s: float, parameters: Mapping[str, Any]) -> Completion:
    """Read the completion in a document of the chat format.

    >>> read_completion({"choices": [{"message": {"content": "Hi"}}]}, 0.1, {"model": "m"}).content
    'Hi'

    Raises:
        ModelError: the document holds no message.
    """
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ModelError("the model endpoint gave an answer without a message")
    content = message.get("content")
    if isinstance(content, list):  # some endpoints give the text in parts
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return Completion(
        content=None if content is None else str(content),
        tool_calls=read_tool_calls(message.get("tool_calls")),
        finish_reason=choice.get("finish_reason"),
        refusal=message.get("refusal"),
        model=str(document.get("model") or parameters.get("model") or ""),
        usage=read_usage(document.get("usage")),
        latency_s=latency_s,
        parameters=parameters,
        raw=document,
    )


def read_tool_calls(calls: Any) -> tuple[ToolCall, ...]:
    """Read the tool calls of a message; an id that is left out is made up, because the call's result has to name it."""
    if not isinstance(calls, list):
        return ()
    tool_calls = []
    for index, call in enumerate(calls):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ModelError("the model endpoint gave a tool call without a name")
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        tool_calls.append(ToolCall(function["name"], text, str(call.get("id") or f"call_{index}")))
    return tuple(tool_calls)


def read_usage(usage: Any) -> Usage | None:
    """Read what a call cost; None where the endpoint does not tell."""
    if not isinstance(usage, dict):
        return None
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return Usage(read, written or 0) if isinstance(read, int) and isinstance(written, int | None) else None


def read_vectors(document: Mapping[str, Any], count: int) -> list[list[float]]:
    """Read the vectors of `count` texts, in their order.

    >>> read_vectors({"data": [{"index": 1, "embedding": [2]}, {"index": 0, "embedding": [1]}]}, 2)
    [[1.0], [2.0]]

    Raises:
        ModelError: there is not exactly one vector for each text, or they differ in length.
    """
    data = document.get("data")
    try:
        items = sorted(data or (), key=lambda item: item["index"])
        vectors = [[float(number) for number in item["embedding"]] for item in items]
        found = [item["index"] for item in items]
    except (TypeError, KeyError, ValueError) as error:
        raise ModelError("the model endpoint's embeddings are not lists of numbers") from error
    if found != list(range(count)) or len(set(map(len, vectors))) > 1 or not all(vectors):
        raise ModelError(f"the model endpoint gave {len(vectors)} embeddings for {count} texts, or of several lengths")
    return vectors
