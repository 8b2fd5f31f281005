"""The models of a run: opened when they are first called, one for each address, and closed with the run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from memorygraph.llm.completion import Completion, Message
from memorygraph.llm.model import OpenAIModel
from memorygraph.llm.structured import ShapeField, mock_reply, response_format, schema_of
from memorygraph.llm.uris import model_of
from memorygraph.runtime.values import ModelValue


class Models:
    """Calls the model that a program names, or another one that its user has chosen.

    `chosen` is a name for the endpoint of OPENAI_BASE_URL, or an address such as `ollama://host:port/model`. With
    `mock` no model is called: every answer is the smallest object of the wanted shape.
    """

    def __init__(self, chosen: str | None = None, *, mock: bool = False) -> None:
        self._chosen = chosen if chosen is None or "://" in chosen else f"openai://{chosen}"
        self._mock = mock
        self._open: dict[str, OpenAIModel] = {}

    def complete(
        self, model: ModelValue, messages: Sequence[Message], fields: Sequence[ShapeField], max_tokens: int | None
    ) -> Completion:
        """What a model answers that is asked for an object with these fields.

        Raises:
            MemoryGraphError: its address is wrong.
            ModelError: its endpoint failed.
        """
        wanted = response_format(schema_of(fields))
        if self._mock:
            return _mocked(json.dumps(mock_reply(fields)), {"model": "mock", "response_format": wanted})
        uri = self._chosen or model.uri
        if uri not in self._open:
            self._open[uri] = model_of(uri)
        return self._open[uri].complete(messages, response_format=wanted, max_tokens=max_tokens)

    def close(self) -> None:
        """Close the connections."""
        for model in self._open.values():
            model.close()


def _mocked(answer: str, parameters: Mapping[str, Any]) -> Completion:
    """The mock's answer as a model's, so that it is recorded like one."""
    message = {"role": "assistant", "content": answer}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return Completion(answer, model="mock", parameters=parameters, raw={"model": "mock", "choices": [choice]})
