"""The answer of a model as values: a completion, the tool calls in it, and its cost in tokens.

A `Completion` holds all that is known about one call, so that a record of it needs nothing else. Endpoints differ in
what they leave out of an answer; only one without any message is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from memorygraph.errors import ModelError
from memorygraph.json_text import join_halves_within, parse_json
from memorygraph.messages.calls import CHAT, RecordedCall, find_exchange, plain_json
from memorygraph.messages.history import entries_of
from memorygraph.messages.message import ROOT

WireMessage = Mapping[str, Any]

MAX_ERROR_CHARACTERS = 500

_UNFINISHED = {
    "length": ("cut", "the answer was cut at its length limit; write less"),
    "content_filter": ("filtered", "the endpoint's content filter stopped the answer"),
}


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool, as the model wrote it: its arguments are a text that should be a JSON object.

    >>> ToolCall("weather", '{"city": "Paris"}', "call_1").values()
    {'city': 'Paris'}
    """

    name: str
    arguments: str = "{}"
    id: str = ""

    def values(self) -> dict[str, Any]:
        """Return the arguments by their names; a `ModelError` says that the model wrote something else."""
        try:
            values = parse_json(self.arguments or "{}")
        except ValueError as error:
            raise ModelError(f"the model called {self.name!r} with arguments that are not JSON: {error}") from error
        if not isinstance(values, dict):
            raise ModelError(f"the model called {self.name!r} with arguments that are not a JSON object")
        return values

    def as_dict(self) -> dict[str, Any]:
        """Return the call as a message of the chat format holds it."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True)
class Usage:
    """How many tokens a call read and wrote.

    >>> Usage(12, 30).total_tokens
    42
    """

    prompt_tokens: int
    completion_tokens: int

    @property
    def total_tokens(self) -> int:
        """The sum of both."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class Completion:
    """One answer of a model, and how it came about."""

    content: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    # `stop`, `tool_calls`, `length`, `content_filter`, or another word of the endpoint.
    finish_reason: str | None = "stop"
    refusal: str | None = None  # the text of a model that will not answer
    model: str = ""  # the one that the endpoint says it used
    usage: Usage | None = None
    latency_s: float = 0.0  # until the answer was complete, retries included
    parameters: Mapping[str, Any] = field(default_factory=dict)  # the request without its messages
    raw: Mapping[str, Any] = field(default_factory=dict)  # the endpoint's own document

    @property
    def was_cut(self) -> bool:
        """Whether the model had no room to end its answer."""
        return self.finish_reason == "length"

    @property
    def unfinished(self) -> tuple[str, str] | None:
        """The code and the words of why the answer is not whole; None if it is."""
        if self.refusal:
            return "refused", f"the model refused: {self.refusal}"
        return _UNFINISHED.get(str(self.finish_reason))  # an endpoint may give anything

    def message(self) -> dict[str, Any]:
        """Return the answer as the assistant's message that continues the conversation."""
        message: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.tool_calls:
            message["tool_calls"] = [call.as_dict() for call in self.tool_calls]
        return message


def parse_body(body: bytes) -> Any:
    """Read the JSON in the body of an answer; a `ModelError` says that it is none."""
    try:
        return parse_json(body)
    except ValueError as error:
        raise ModelError("the model endpoint's answer is not JSON; does its URL end in /v1?") from error


def read_document(body: bytes) -> dict[str, Any]:
    """Read the JSON object in the body of an answer; a `ModelError` says that it is none, or an error."""
    document = parse_body(body)
    if not isinstance(document, dict):
        raise ModelError("the model endpoint's answer is not a JSON object; does its URL end in /v1?")
    if told := document.get("error"):
        meaning = "the model endpoint failed"
        raise ModelError(f"{meaning}: {error_text(told)}", meaning)
    return document


def read_models(body: bytes) -> dict[str, str]:
    """Read the owner of each model that an endpoint lists; some leave out the object around the list, or owners."""
    listed = parse_body(body)
    models = listed if isinstance(listed, list) else read_document(body).get("data")
    if not isinstance(models, list) or not all(isinstance(model, dict) and model.get("id") for model in models):
        raise ModelError("the model endpoint's list of models is not one; does its URL end in /v1?")
    return {str(model["id"]): str(model.get("owned_by") or "") for model in models}


def error_text(error: Any) -> str:
    """Return the text of an error document, cut to a length that can be shown."""
    said = error.get("message") if isinstance(error, dict) else error
    text = " ".join(str(said or error).split())
    return text if len(text) <= MAX_ERROR_CHARACTERS else text[:MAX_ERROR_CHARACTERS] + "…"


def read_completion(document: Mapping[str, Any], latency_s: float, parameters: Mapping[str, Any]) -> Completion:
    """Read the completion in a document of the chat format."""
    document = join_halves_within(document)  # no database holds half a character
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
    tool_calls = []
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
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
    """Read the vectors of `count` texts, in their order: one for each text, all of one length."""
    try:
        items = sorted(document.get("data") or (), key=lambda item: item["index"])
        vectors = [[float(number) for number in item["embedding"]] for item in items]
        found = [item["index"] for item in items]
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        raise ModelError("the model endpoint's embeddings are not lists of numbers") from error
    if found != list(range(count)) or len(set(map(len, vectors))) > 1 or not all(vectors):
        raise ModelError(f"the model endpoint gave {len(vectors)} embeddings for {count} texts, or of several lengths")
    return vectors


def call_of(
    namespace: str, conversation: str, messages: Sequence[Mapping[str, Any]], completion: Completion, at: str
) -> RecordedCall:
    """Return a model call as the recorder keeps it."""
    return RecordedCall(
        id=uuid4().hex,
        namespace=namespace,
        conversation=conversation,
        api=CHAT,
        request=plain_json({**completion.parameters, "messages": list(messages)}),
        response=plain_json(completion.raw),
        complete=True,
        latency_s=round(completion.latency_s, 6),
        at=at,
        recalled=False,
    )


def answers_of(call: RecordedCall) -> list[str]:
    """List the ids of the messages that a call's answers are stored under; none where a part is not a message."""
    exchange = find_exchange(call)
    prompt = entries_of(exchange.prompt)
    parent = prompt[-1].id if prompt else ROOT
    said = [entries_of(answer.messages, parent) for answer in exchange.answers]
    return [entries[-1].id for entries in said if entries]
