"""The answer of a model as values: a completion, the tool calls in it, and its cost in tokens.

A `Completion` holds all that is known about one call, so that a record of it needs nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memorygraph.errors import ModelError

WireMessage = Mapping[str, Any]


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
        """Return the arguments by their names.

        Raises:
            ModelError: the model wrote something else than a JSON object.
        """
        try:
            values = json.loads(self.arguments or "{}")
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
    """One answer of a model, and how it came about.

    `model` is the one that the endpoint says it used, `parameters` the request without its messages, `latency_s` the
    time until the answer was complete, retries included, and `raw` the endpoint's own document. `refusal` is the text
    of a model that will not answer. `finish_reason` is `stop`, `tool_calls`, `length`, `content_filter`, or another
    word of the endpoint.

    >>> Completion("Hello", model="small").message()
    {'role': 'assistant', 'content': 'Hello'}
    """

    content: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = "stop"
    refusal: str | None = None
    model: str = ""
    usage: Usage | None = None
    latency_s: float = 0.0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict)

    def message(self) -> dict[str, Any]:
        """Return the answer as the assistant's message that continues the conversation."""
        message: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.tool_calls:
            message["tool_calls"] = [call.as_dict() for call in self.tool_calls]
        return message
