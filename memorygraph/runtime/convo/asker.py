"""Calls models behind OpenAI-compatible endpoints: the run's own, and those that the source names for routing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any

from memorygraph.llm.completion import Completion
from memorygraph.llm.model import OpenAIModel
from memorygraph.llm.uris import model_of


class ModelAsker:
    """Asks the model of a name, or of an address such as `ollama://host:port/model`; by default MEMORYGRAPH_MODEL."""

    def __init__(self, model: str | None = None) -> None:
        self._default = model
        self._open: dict[str | None, OpenAIModel] = {}
        self._lock = Lock()

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        response_format: Mapping[str, Any] | None = None,
        model: str | None = None,
    ) -> Completion:
        """What a model answers.

        Raises:
            ModelError: none is configured, or its endpoint failed.
        """
        extra = {"tool_choice": tool_choice} if tool_choice is not None else None
        return self._model(model or self._default).complete(
            messages, tools=tools, response_format=response_format, extra=extra
        )

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            models, self._open = list(self._open.values()), {}
        for model in models:
            model.close()

    def _model(self, name: str | None) -> OpenAIModel:
        with self._lock:
            if name not in self._open:
                self._open[name] = model_of(name) if name and "://" in name else OpenAIModel(name)
            return self._open[name]
