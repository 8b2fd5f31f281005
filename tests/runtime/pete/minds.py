"""What the tests of the loop share."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from memorygraph import MemoryGraph
from memorygraph.languages.pete.reading import read_pete
from memorygraph.runtime.pete.thought import Thought
from memorygraph.scripted.replies import Replies, Reply, Request
from memorygraph.scripted.scripted_model import ScriptedModel

BEGUN = "context main() {"


@dataclass
class Mind:
    """Makes thoughts, and the models that continue them."""

    graph: MemoryGraph
    stack: ExitStack
    monkeypatch: pytest.MonkeyPatch
    models: list[ScriptedModel] = field(default_factory=list)

    def thinks(self, *replies: Any, **options: Any) -> Thought:
        """The thought `main`, with a model that gives these answers."""
        self.model(list(replies), **options)
        return self.graph.pete("main", "any")

    def model(self, replies: Replies, **options: Any) -> ScriptedModel:
        model = self.stack.enter_context(ScriptedModel(replies, **options))
        self.monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        self.models.append(model)
        return model

    def loads(self, text: str) -> Thought:
        self.graph.load(text, language="pete")
        return self.graph.pete("main", "any")

    @property
    def asked(self) -> list[Request]:
        """The requests for an answer."""
        return [request for model in self.models for request in model.requests if request.method == "POST"]

    def query(self, text: str, **parameters: Any) -> list[dict[str, Any]]:
        return self.graph.query(text, parameters)


def at_once(text: str, **options: Any) -> Reply:
    """An answer that comes as one piece."""
    return Reply(text, piece_length=max(1, len(text)), **options)


def letter_by_letter(text: str) -> Reply:
    return Reply(text, piece_length=1)


def require_log(thought: Thought) -> str:
    """The text of a thought, which must be a log, though of a living one nobody has to know all handles."""
    text = thought.text
    assert [problem for problem in read_pete(text).problems if problem.code != "unknown-ref"] == [], text
    return text


def lines(*texts: str) -> str:
    return "\n".join(texts)


def seen_by(requests: Sequence[Request]) -> list[str]:
    """What the model saw of the log, request by request."""
    return [request.prompt[request.prompt.index("context ") :] for request in requests]
