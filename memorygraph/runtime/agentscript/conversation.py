"""The conversation of a run of AgentScript: what its first agent said, with those of called agents inside their calls.

A call of an agent is a call of a tool and its result; beside the result stands the conversation of the called agent,
with its length. Source: seeds/message-graph.txt.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memorygraph.context.rendering import render
from memorygraph.languages.agentscript.reading import MAIN_FUNCTION
from memorygraph.messages.calls import Exchange
from memorygraph.messages.graph import MessageGraph
from memorygraph.runtime.runs import Event, stored_properties, stored_property

CONVERSED_KINDS = frozenset({"generate", "agent"})
"""The kinds of events of which a conversation has messages."""


def build_conversation(events: Iterable[Event], generations: Iterator[Sequence[Exchange]]) -> MessageGraph:
    """Build the conversation of an agent from its part of a trace; `generations` are the calls of each `generate`.

    >>> called = {"kind": "agent", "data": {"agent": "A", "function": "ask", "args": [1], "result": "2", "trace": []}}
    >>> conversation = build_conversation([called], iter(()))
    >>> [(message["role"], message.get("content")) for message in conversation]
    [('assistant', None), ('tool', '2')]
    >>> conversation.attachments()[0].metadata["length"]
    0
    """
    chat = MessageGraph()
    said: set[str] = set()  # the system messages, which each generation repeats
    for event in events:
        if event["kind"] == "generate":
            for exchange in next(generations, ()):
                prompt = [
                    message for message in exchange.prompt if message.role != "system" or message.body not in said
                ]
                said.update(message.body for message in prompt if message.role == "system")
                answers = [message for answer in exchange.answers for message in answer.messages]
                chat.extend([*prompt, *answers], sampled=False)
        elif event["kind"] == "agent":
            data = event["data"]
            add_call(chat, data, build_conversation(data["trace"], generations))
    return chat


def add_call(chat: MessageGraph, data: dict[str, Any], inside: MessageGraph) -> None:
    """Add a call of an agent, which no model made, and its result with the conversation inside it."""
    id_ = f"call_{len(chat)}"
    function = {"name": function_name(data, "_"), "arguments": json.dumps({"args": data["args"]})}
    call = {"id": id_, "type": "function", "function": function}
    chat.append({"role": "assistant", "tool_calls": [call]}, sampled=False)
    result = {"role": "tool", "tool_call_id": id_, "content": stored_property(render(data["result"]))}
    about = {name: data[name] for name in ("agent", "function", "args")}
    chat.append(result, metadata=stored_properties(about), subgraph=inside)


def function_name(data: dict[str, Any], between: str) -> str:
    """The name of a called function with that of its agent; that of the agent alone, where it has no other.

    >>> function_name({"agent": "Planner", "function": "plan"}, ".")
    'Planner.plan'
    """
    agent, function = str(data["agent"]), str(data["function"])
    return agent if function == MAIN_FUNCTION else f"{agent}{between}{function}"
