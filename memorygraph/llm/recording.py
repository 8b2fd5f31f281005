"""A model call as the message graph keeps it, and where its answers are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from memorygraph.llm.completion import Completion
from memorygraph.messages.calls import CHAT, RecordedCall, exchange_of
from memorygraph.messages.history import entries_of
from memorygraph.messages.message import ROOT


def call_of(
    namespace: str, conversation: str, messages: Sequence[Mapping[str, Any]], completion: Completion, at: str
) -> RecordedCall:
    """Return a model call as the recorder keeps it."""
    return RecordedCall(
        id=uuid4().hex,
        namespace=namespace,
        conversation=conversation,
        api=CHAT,
        request={**completion.parameters, "messages": list(messages)},
        response=completion.raw,
        complete=True,
        latency_s=round(completion.latency_s, 6),
        at=at,
        recalled=False,
    )


def answers_of(call: RecordedCall) -> list[str]:
    """List the ids of the messages that a call's answers are stored under."""
    exchange = exchange_of(call)
    prompt = entries_of(exchange.prompt)
    parent = prompt[-1].id if prompt else ROOT
    said = [entries_of(answer.messages, parent) for answer in exchange.answers]
    return [entries[-1].id for entries in said if entries]
