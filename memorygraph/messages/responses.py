"""The responses format: its items as messages, and the events of its streams as one document.

One turn of a model is one assistant message, as in the chat format: its calls are `tool_calls`, and the results
are `tool` messages. So a conversation that goes through both formats is one conversation. An item that the chat
format has no word for, such as reasoning or a web search, stays whole among the parts of the content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# What an endpoint gives to an item of its own, and a caller may send back or not.
_LABELS = frozenset({"id", "status", "type", "created_by"})
_NOTES_ON_TEXT = frozenset({"annotations", "logprobs", "parsed"})  # the response's own document keeps them
_OUTPUT_SUFFIX = "_output"
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


def messages_of_input(given: Any, instructions: Any = None) -> list[dict[str, Any]]:
    """The messages in the `instructions` and the `input` of a request.

    >>> messages_of_input("Hi", "Be brief")
    [{'role': 'system', 'content': 'Be brief'}, {'role': 'user', 'content': 'Hi'}]
    """
    if isinstance(instructions, str):
        instructions = [{"role": "system", "content": instructions}]
    first = messages_of_items(instructions) if isinstance(instructions, list) else []
    if isinstance(given, str):
        return [*first, {"role": "user", "content": given}]
    return [*first, *messages_of_items(given or ())]


def messages_of_items(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages in the items of an input or an output.

    >>> messages_of_items([
    ...     {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "See:"}]},
    ...     {"type": "function_call", "id": "f", "call_id": "c", "name": "clock", "arguments": "{}"},
    ...     {"type": "function_call_output", "call_id": "c", "output": "12:34"},
    ... ])  # doctest: +NORMALIZE_WHITESPACE
    [{'role': 'assistant', 'content': 'See:', 'tool_calls':
      [{'id': 'c', 'type': 'function', 'function': {'name': 'clock', 'arguments': '{}'}}]},
     {'role': 'tool', 'tool_call_id': 'c', 'content': '12:34'}]
    """
    messages: list[dict[str, Any]] = []
    turn = AssistantTurn()
    for item in items:
        kind = item.get("type") or "message"
        by_model = item.get("role") == "assistant" if kind == "message" else not kind.endswith(_OUTPUT_SUFFIX)
        # Two messages of a model in a row are two turns; its calls and reasoning belong to the message before.
        if not by_model or (kind == "message" and turn.has_message):
            messages += turn.messages()
            turn = AssistantTurn()
        if by_model:
            turn.add(kind, item)
        else:
            messages.append(without(item, _LABELS) if kind == "message" else tool_message(kind, item))
    return messages + turn.messages()


class AssistantTurn:
    """The items of a model between two messages of others, to become one message."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        self._calls: list[dict[str, Any]] = []
        self._others: dict[str, Any] = {}
        self.has_message = False

    def add(self, kind: str, item: Mapping[str, Any]) -> None:
        """Take one item of the turn."""
        if kind == "function_call":
            others = without(item, {*_LABELS, "call_id", "name", "arguments", "parsed_arguments"})
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            self._calls.append({"id": item.get("call_id"), "type": "function", "function": function, **others})
        elif kind == "message":
            self.has_message = True
            content = item.get("content")
            if isinstance(content, str):
                content = [{"type": "output_text", "text": content}]
            for part in content or ():
                is_text = part.get("type") == "output_text"
                self._parts.append(without(part, _NOTES_ON_TEXT) if is_text else dict(part))
            self._others |= without(item, {*_LABELS, "role", "content"})
        else:
            self._parts.append(without(item, {"status"}))

    def messages(self) -> list[dict[str, Any]]:
        """The message of the turn; empty without items."""
        message: dict[str, Any] = {"role": "assistant"}
        if len(self._parts) == 1 and self._parts[0].keys() == {"type", "text"}:
            message["content"] = self._parts[0]["text"]
        elif self._parts:
            message["content"] = self._parts
        if self._calls:
            message["tool_calls"] = self._calls
        return [message | self._others] if self._parts or self._calls or self.has_message else []


def tool_message(kind: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a function as a message; another tool's result stays whole as a part of the content."""
    content: Any = [without(item, {"status"})]
    others: dict[str, Any] = {}
    if kind == "function_call_output":
        content = item.get("output")
        others = without(item, {*_LABELS, "call_id", "output"})
    return {"role": "tool", "tool_call_id": item.get("call_id"), "content": content, **others}


def without(item: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """A copy without some keys, and without the keys that have no value."""
    return {key: value for key, value in item.items() if key not in keys and value is not None}


def response_document(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The response in the last event of a stream, or in the events before the stream was cut.

    >>> response_document([
    ...     {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
    ...     {"type": "response.output_text.delta", "output_index": 0, "delta": "Hel"},
    ... ])["partial_text"]
    'Hel'
    """
    document: dict[str, Any] = {}
    items: dict[int, dict[str, Any]] = {}
    texts: list[str] = []
    for event in events:
        kind = event.get("type") or ""
        if event.get("response"):
            document = dict(event["response"])
        if kind in _ENDS:
            return document
        if kind == "response.output_item.done":
            # A finished item repeats its text as a whole.
            items[event.get("output_index") or 0] = event["item"]
            texts.clear()
        elif kind.endswith(".delta") and isinstance(event.get("delta"), str):
            texts.append(event["delta"])
    return document | {"output": [items[index] for index in sorted(items)], "partial_text": "".join(texts)}
