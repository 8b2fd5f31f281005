"""What the wire formats of an answer share: its document, the events of its stream, and what it costs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memorygraph.llm.completion import ToolCall, Usage
from memorygraph.scripted.replies import Reply, Request

CHARACTERS_PER_TOKEN = 4
DIMENSIONS = 256
OWNER = "memorygraph"

# An event of a stream: a document, or the mark of the end.
StreamEvent = dict[str, Any] | str


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text is.

    >>> estimate_tokens("Hello, world!")
    4
    """
    return -(-len(text) // CHARACTERS_PER_TOKEN)


class WireAnswer:
    """An answer in the format of one path of the API."""

    def document(self) -> dict[str, Any]:
        """Return the whole answer."""
        raise NotImplementedError

    def events(self) -> Iterator[StreamEvent]:
        """Yield the events of its stream; an answer that has no stream is one event."""
        yield self.document()


@dataclass(frozen=True)
class ModelAnswer(WireAnswer):
    """A reply of the script to one request; `number` tells apart the ids of different answers."""

    request: Request
    reply: Reply
    number: int
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def model(self) -> str:
        """The model that answers."""
        return self.reply.model or str(self.request.json["model"])

    @property
    def choices(self) -> list[Reply]:
        """The replies of all choices that the request asks for."""
        return self.reply.choices(self.request.json.get("n") or 1)

    @property
    def usage(self) -> Usage:
        """The scripted usage, or an estimate that is the same for the same request and reply."""
        if self.reply.usage is not None:
            return self.reply.usage
        asked = self.request.json
        prompt = json.dumps([asked[name] for name in ("instructions", "messages", "input") if name in asked])
        written = [
            (choice.content or "") + "".join(call.arguments for call in choice.tool_calls) for choice in self.choices
        ]
        return Usage(estimate_tokens(prompt), sum(map(estimate_tokens, written)))

    def calls(self, reply: Reply) -> list[ToolCall]:
        """List the tool calls of a reply; ids that the script leaves out are unique in this server."""
        return [
            ToolCall(call.name, call.arguments, call.id or f"call_{self.number:08}_{position}")
            for position, call in enumerate(reply.tool_calls)
        ]
