"""What both formats of a reply share: the events of a stream, and what a call costs where the script does not say."""

from __future__ import annotations

import json
from typing import Any

from memorygraph.llm.completion import Usage
from memorygraph.scripted.replies import Reply, Request

CHARACTERS_PER_TOKEN = 4

# An event of a stream: its name, where the format names its events, and its data: a document, or the mark of the end.
Event = tuple[str | None, dict[str, Any] | str]


def tokens_of(text: str) -> int:
    """About how many tokens a text is.

    >>> tokens_of("Hello, world!")
    4
    """
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def usage_of(request: Request, reply: Reply) -> Usage:
    """The scripted usage, or an estimate that is the same for the same request and reply."""
    if reply.usage is not None:
        return reply.usage
    prompt = json.dumps(
        [request.json.get(name) for name in ("instructions", "messages", "input") if name in request.json]
    )
    choices = reply.choices(request.json.get("n") or 1)
    said = sum(
        tokens_of((choice.content or "") + "".join(c.arguments for c in choice.tool_calls)) for choice in choices
    )
    return Usage(tokens_of(prompt), said)
