"""Reads what an endpoint answers, whole or in the chunks of a stream, into a `Completion`.

Endpoints differ in what they leave out; only an answer without any message is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memorygraph.errors import ModelError
from memorygraph.llm.completion import Completion, ToolCall, Usage


def read_document(body: bytes) -> dict[str, Any]:
    """The document in the body of an answer.

    >>> read_document(b"<html>")
    Traceback (most recent call last):
    memorygraph.errors.ModelError: the model endpoint's answer is not JSON; does its URL end in /v1?

    Raises:
        ModelError: it is not a JSON object, or it is one that tells an error.
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
    """What an error document says, cut to a length that can be shown.

    >>> error_text({"message": "no such model"})
    'no such model'
    """
    said = error.get("message") if isinstance(error, dict) else error
    text = " ".join(str(said or error).split())
    return text if len(text) <= 500 else text[:500] + "…"


def read_completion(document: Mapping[str, Any], latency_s: float, parameters: Mapping[str, Any]) -> Completion:
    """The completion in a document of the chat format.

    >>> read_completion({"choices": [{"message": {"content": "Hi"}}]}, 0.1, {"model": "m"}).content
    'Hi'

    Raises:
        ModelError: there is no message in it.
    """
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ModelError("the model endpoint gave an answer without a message")
    return Completion(
        content=_text(message.get("content")),
        tool_calls=_tool_calls(message.get("tool_calls")),
        finish_reason=choice.get("finish_reason"),
        refusal=message.get("refusal"),
        model=str(document.get("model") or parameters.get("model") or ""),
        usage=_usage(document.get("usage")),
        latency_s=latency_s,
        parameters=parameters,
        raw=document,
    )


def _text(content: Any) -> str | None:
    """Some endpoints give the text in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return None if content is None else str(content)


def _tool_calls(calls: Any) -> tuple[ToolCall, ...]:
    """The calls; an id that is left out is given, because the result of the call has to name it."""
    if not isinstance(calls, list):
        return ()
    made = []
    for index, call in enumerate(calls):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise ModelError("the model endpoint gave a tool call without a name")
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        made.append(ToolCall(function["name"], text, str(call.get("id") or f"call_{index}")))
    return tuple(made)


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return Usage(read, written or 0) if isinstance(read, int) and isinstance(written, int | None) else None


def read_vectors(document: Mapping[str, Any], count: int) -> list[list[float]]:
    """The vectors of so many texts, in their order.

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


class Chunks:
    """Puts the chunks of a stream together to the document that a plain answer would have been.

    >>> chunks = Chunks()
    >>> [chunks.add({"choices": [{"delta": {"content": piece}}]}) for piece in ("Hel", "lo")]
    ['Hel', 'lo']
    >>> chunks.document()["choices"][0]["message"]["content"]
    'Hello'
    """

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self._head: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, dict[str, Any]] = {}

    def add(self, chunk: Mapping[str, Any]) -> str:
        """Take one chunk; what it adds to the text is returned."""
        self._head |= {key: value for key, value in chunk.items() if key != "choices" and value is not None}
        choice = (chunk.get("choices") or [{}])[0]
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        delta = choice.get("delta") or {}
        for name in ("content", "refusal"):
            if delta.get(name) is not None:
                self._texts.setdefault(name, []).append(delta[name])
        for position, call in enumerate(delta.get("tool_calls") or ()):
            self._add_call(call, position)
        return delta.get("content") or ""

    def _add_call(self, piece: Mapping[str, Any], position: int) -> None:
        index = piece.get("index")
        call = self._calls.setdefault(position if index is None else index, {"function": {"arguments": ""}})
        call |= {key: value for key, value in piece.items() if key != "function" and value is not None}
        function = piece.get("function") or {}
        call["function"]["arguments"] += function.get("arguments") or ""
        if function.get("name"):
            call["function"]["name"] = function["name"]

    def document(self) -> dict[str, Any]:
        """The answer so far."""
        message: dict[str, Any] = {"role": "assistant", "content": None}
        message |= {name: "".join(texts) for name, texts in self._texts.items()}
        if self._calls:
            message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        return self._head | {"object": "chat.completion", "choices": [choice]}
