"""What a stream has said so far, as the document that a plain answer would have been.

Unlike a reader that wants one text, a record keeps every choice, and whatever else an endpoint sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# What each piece of a stream repeats instead of continuing it.
_REPEATED = frozenset({"id", "index", "role", "type"})
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


def chat_document(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The chat completion that chunks make; a choice that was cut has no `finish_reason`.

    >>> document = chat_document([
    ...     {"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]},
    ...     {"id": "c", "choices": [{"index": 0, "delta": {"content": "lo"}}]},
    ...     {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ... ])
    >>> document["choices"][0]["message"], document["choices"][0]["finish_reason"]
    ({'role': 'assistant', 'content': 'Hello'}, 'stop')
    """
    head: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        head |= {key: value for key, value in chunk.items() if key != "choices" and value is not None}
        for piece in chunk.get("choices") or ():
            index = piece.get("index") or 0
            choice = choices.setdefault(index, {"index": index, "message": {}, "finish_reason": None})
            choice["message"] = _joined(choice["message"], piece.get("delta") or {})
            choice |= {key: value for key, value in piece.items() if key not in {"index", "delta"} and value}
    return head | {"object": "chat.completion", "choices": [choices[index] for index in sorted(choices)]}


def response_document(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The response that events make: what the last event says it is, or as far as a cut stream came.

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
            items[event.get("output_index") or 0] = event["item"]
            texts.clear()
        elif kind.endswith(".delta") and isinstance(event.get("delta"), str):
            texts.append(event["delta"])
    return document | {"output": [items[index] for index in sorted(items)], "partial_text": "".join(texts)}


def _joined(old: Any, new: Any) -> Any:
    """A value continued by the next piece of it."""
    if old is None or new is None:
        return old if new is None else new
    if isinstance(old, dict) and isinstance(new, Mapping):
        kept = {key: value for key, value in new.items() if key in _REPEATED or key not in old}
        return {**old, **kept, **{key: _joined(old[key], new[key]) for key in new if key not in kept}}
    if isinstance(old, list) and isinstance(new, list):
        return _joined_lists(old, new)
    return old + new if isinstance(old, str) and isinstance(new, str) else new


def _joined_lists(old: list[Any], new: list[Any]) -> list[Any]:
    """Pieces of lists name their place by an `index`; those that do not are added."""
    result = list(old)
    for item in new:
        index = item.get("index") if isinstance(item, Mapping) else None
        place = next(
            (i for i, known in enumerate(result) if isinstance(known, dict) and known.get("index") == index), None
        )
        if index is None or place is None:
            result.append(item)
        else:
            result[place] = _joined(result[place], item)
    return result
