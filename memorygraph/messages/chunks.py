"""What a stream has said so far, as the document that a plain answer would have been.

Every choice is kept, and whatever else an endpoint sends; endpoints differ in what they leave out or repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# What a piece of a stream says again, or leaves empty, instead of continuing it.
_REPEATED = frozenset({"id", "index", "role", "type", "name"})
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


class Chunks:
    """Puts the chunks of a chat completion together; a choice that was cut has no `finish_reason`.

    The first choice is there before anything is said.

    >>> chunks = Chunks()
    >>> [chunks.add({"choices": [{"delta": {"content": piece}}]}) for piece in ("Hel", "lo")]
    ['Hel', 'lo']
    >>> chunks.document()["choices"][0]["message"]["content"], chunks.finish_reason
    ('Hello', None)
    """

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._choices = {0: _choice(0)}

    def add(self, chunk: Mapping[str, Any]) -> str:
        """Take one chunk; what it adds to the text of the first choice is returned."""
        self._head |= {key: value for key, value in chunk.items() if key != "choices" and value is not None}
        text = ""
        for piece in chunk.get("choices") or ():
            index, delta = piece.get("index") or 0, piece.get("delta") or {}
            choice = self._choices.setdefault(index, _choice(index))
            choice["message"] = _joined(choice["message"], delta)
            choice |= {key: value for key, value in piece.items() if key not in {"index", "delta"} and value}
            text += (delta.get("content") or "") if index == 0 else ""
        return text

    @property
    def finish_reason(self) -> str | None:
        """Why the first choice ended, or None while it has not."""
        reason: str | None = self._choices[0]["finish_reason"]
        return reason

    def document(self) -> dict[str, Any]:
        """The completion so far."""
        choices = [self._choices[index] for index in sorted(self._choices)]
        return self._head | {"object": "chat.completion", "choices": choices}


def _choice(index: int) -> dict[str, Any]:
    return {"index": index, "message": {}, "finish_reason": None}


def chat_document(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The chat completion that chunks make."""
    joined = Chunks()
    for chunk in chunks:
        joined.add(chunk)
    return joined.document()


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
        return old | {key: _continued(key, old.get(key), value) for key, value in new.items()}
    if isinstance(old, list) and isinstance(new, list):
        return _joined_lists(old, new)
    return old + new if isinstance(old, str) and isinstance(new, str) else new


def _continued(key: str, old: Any, new: Any) -> Any:
    return (old if new in (None, "") else new) if key in _REPEATED and old is not None else _joined(old, new)


def _joined_lists(old: list[Any], new: list[Any]) -> list[Any]:
    """Pieces of lists name their place by an `index`; what does not, and continues nothing, is added."""
    result = list(old)
    for item in new:
        place = _place(result, item)
        if place is None:
            result.append(item)
        else:
            result[place] = _joined(result[place], item)
    return result


def _place(known: list[Any], item: Any) -> int | None:
    """Where the item is that this one continues. A call without an index is the last one, unless it has an id."""
    if not isinstance(item, Mapping):
        return None
    index = item.get("index")
    if index is None:
        return len(known) - 1 if known and item.get("function") and not item.get("id") else None
    return next((i for i, other in enumerate(known) if isinstance(other, dict) and other.get("index") == index), None)
