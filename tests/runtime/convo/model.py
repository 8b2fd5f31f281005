"""What the tests of the engine share: a scripted model that the environment names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memorygraph.llm.completion import ToolCall
from memorygraph.scripted.replies import Replies, Reply
from memorygraph.scripted.scripted_model import ScriptedModel


def tool(name: str, id_: str = "call_1", **arguments: Any) -> Reply:
    """A reply that calls a function."""
    return Reply(tool_calls=(ToolCall(name, json.dumps(arguments), id_),))


@contextmanager
def scripted(replies: Replies) -> Iterator[ScriptedModel]:
    """A model that answers by a script, and that runs ask where nothing else is named."""
    with ScriptedModel(replies) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "k")
        patch.setenv("MEMORYGRAPH_MODEL", "m")
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield server


def sent(server: ScriptedModel) -> list[list[dict[str, Any]]]:
    """The messages of each request."""
    return [request.json["messages"] for request in server.requests]
