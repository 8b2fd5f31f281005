"""The items of the responses format as messages; whatever an item says is kept.

One turn of a model is one assistant message, as in the chat format: its calls are `tool_calls`, and the results
are `tool` messages. So a conversation that goes through both formats is one conversation. What the chat format
has no word for, such as reasoning or a web search, stays among the parts of the content as the item that it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# What an endpoint gives to an item of its own, and a caller may send back or not.
_LABELS = frozenset({"id", "status", "type", "created_by"})
_OUTPUT_SUFFIX = "_output"


def messages_of_input(given: Any, instructions: Any = None) -> list[dict[str, Any]]:
    """The messages that `instructions` and `input` of a request say.

    >>> messages_of_input("Hi", "Be brief")
    [{'role': 'system', 'content': 'Be brief'}, {'role': 'user', 'content': 'Hi'}]
    """
    first = messages_of_items([{"role": "system", "content": instructions}]) if isinstance(instructions, str) else []
    if isinstance(instructions, list):
        first = messages_of_items(instructions)
    if given is None:
        return first
    if isinstance(given, str):
        return [*first, {"role": "user", "content": given}]
    return [*first, *messages_of_items(given)]


def messages_of_items(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages that items are, those of an input and those of an output alike.

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
    turn = _Turn()
    for item in items:
        kind = item.get("type") or "message"
        spoken = kind == "message"
        if not spoken and not kind.endswith(_OUTPUT_SUFFIX):
            turn.add(kind, item)
            continue
        if spoken and item.get("role") == "assistant":
            if turn.speaks:
                messages += turn.messages()
                turn = _Turn()
            turn.add(kind, item)
            continue
        messages += [*turn.messages(), _message(item) if spoken else _result(kind, item)]
        turn = _Turn()
    return messages + turn.messages()


class _Turn:
    """What a model says between two messages of others."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        self._calls: list[dict[str, Any]] = []
        self._others: dict[str, Any] = {}
        self.speaks = False

    def add(self, kind: str, item: Mapping[str, Any]) -> None:
        """Take one item of the turn."""
        if kind == "function_call":
            self._calls.append(_call(item))
        elif kind == "message":
            self.speaks = True
            self._parts += _parts(item.get("content"))
            self._others |= _without(item, {*_LABELS, "role", "content"})
        else:
            self._parts.append(_without(item, {"status"}))

    def messages(self) -> list[dict[str, Any]]:
        """The message of the turn, if anything was said."""
        message: dict[str, Any] = {"role": "assistant"}
        if len(self._parts) == 1 and self._parts[0].keys() == {"type", "text"}:
            message["content"] = self._parts[0]["text"]
        elif self._parts:
            message["content"] = self._parts
        if self._calls:
            message["tool_calls"] = self._calls
        return [message | self._others] if self._parts or self._calls or self.speaks else []


def _call(item: Mapping[str, Any]) -> dict[str, Any]:
    others = _without(item, {*_LABELS, "call_id", "name", "arguments", "parsed_arguments"})
    function = {"name": item.get("name"), "arguments": item.get("arguments")}
    return {"id": item.get("call_id"), "type": "function", "function": function, **others}


def _parts(content: Any) -> list[dict[str, Any]]:
    """The parts of an answer without what an endpoint notes about them, which its document keeps."""
    if isinstance(content, str):
        return [{"type": "output_text", "text": content}]
    return [
        _without(part, {"annotations", "logprobs", "parsed"}) if part.get("type") == "output_text" else dict(part)
        for part in content or ()
    ]


def _message(item: Mapping[str, Any]) -> dict[str, Any]:
    return _without(item, _LABELS)


def _result(kind: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a call; that of a call which is no function's is kept as the item that it is."""
    if kind == "function_call_output":
        others = _without(item, {*_LABELS, "call_id", "output"})
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output"), **others}
    return {"role": "tool", "tool_call_id": item.get("call_id"), "content": [_without(item, {"status"})]}


def _without(item: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in set(keys) and value is not None}
