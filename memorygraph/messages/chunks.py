"""The chunks of a streamed chat completion as the document that a plain answer would have been.

Every choice is kept, and every key that an endpoint adds; endpoints differ in what they leave out or repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import StringIO
from typing import Any

# The keys that a chunk repeats, or leaves empty, instead of continuing them.
_REPEATED = frozenset({"id", "index", "role", "type", "name"})
_CONTINUED_PARTS = frozenset({"text", "thinking"})  # of a content that is a list


class Chunks:
    """Joins the chunks of a chat completion; a choice that was cut has no `finish_reason`."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {0: {"index": 0, "message": {}, "finish_reason": None}}

    def add(self, chunk: Mapping[str, Any]) -> str:
        """Take one chunk, and return what it adds to the text of the first choice."""
        self._head |= {key: value for key, value in chunk.items() if key != "choices" and value is not None}
        text = ""
        for piece in chunk.get("choices") or ():
            index, delta = piece.get("index") or 0, piece.get("delta") or {}
            choice = self._choices.setdefault(index, {"index": index, "message": {}, "finish_reason": None})
            choice["message"] = join_value(choice["message"], delta)
            added = {key: value for key, value in piece.items() if key not in {"index", "delta"} and value}
            if "logprobs" in added:  # those of its own words only
                added["logprobs"] = join_value(choice.get("logprobs"), added["logprobs"])
            choice |= added
            text += content_text(delta.get("content")) if index == 0 else ""
        return text

    @property
    def finish_reason(self) -> str | None:
        """Why the first choice ended, or None while it has not."""
        reason: str | None = self._choices[0]["finish_reason"]
        return reason

    def document(self) -> dict[str, Any]:
        """The completion so far."""
        choices = [self._choices[index] for index in sorted(self._choices)]
        return self._head | {"object": "chat.completion", "choices": finish_value(choices)}


def chat_document(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The chat completion in these chunks."""
    joined = Chunks()
    for chunk in chunks:
        joined.add(chunk)
    return joined.document()


def join_value(old: Any, new: Any) -> Any:
    """A value continued by its next piece, in place where it can be: a stream may have a hundred thousand of them.

    A text of several pieces is a `StringIO`, until `finish_value` makes a text of it. What `new` holds stays as it is.
    """
    if new is None:
        return old
    if isinstance(new, Mapping) and (old is None or isinstance(old, dict)):
        return continue_fields(old or {}, new)
    if isinstance(new, str) and isinstance(old, str | StringIO):
        return continue_text(old, new)
    # A model that thinks in parts may say the rest as a text.
    if isinstance(old, list) and isinstance(new, str):
        new = parts_of_content(new)
    elif isinstance(old, str | StringIO) and isinstance(new, list):
        old = parts_of_content(finish_value(old))
    if isinstance(new, list) and (old is None or isinstance(old, list)):
        return continue_items(old, new)
    return new


def continue_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object continued by those of its next piece."""
    joined = dict(old)
    for key, value in new.items():
        known = old.get(key)
        if key not in _REPEATED or known is None:
            joined[key] = join_value(known, value)
        elif value not in (None, ""):
            joined[key] = value
    return joined


def continue_items(old: list[Any] | None, new: list[Any]) -> list[Any]:
    """A list continued by the items of its next piece: each continues an item, or is added."""
    joined = [] if old is None else old
    for item in new:
        place = None if old is None else index_of_continued(joined, item)
        if place is None:
            joined.append(join_value(None, item))
        else:
            joined[place] = join_value(joined[place], item)
    return joined


def continue_text(old: str | StringIO, new: str) -> StringIO:
    """A text continued by its next piece."""
    if isinstance(old, str):
        begun = StringIO()
        begun.write(old)
        old = begun
    old.write(new)
    return old


def finish_value(value: Any) -> Any:
    """A copy of a joined value, with its texts as such."""
    if isinstance(value, dict):
        return {key: finish_value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return list(map(finish_value, value))
    return value.getvalue() if isinstance(value, StringIO) else value


def content_text(content: Any) -> str:
    """The text in the content of a message, which is a text or a list of parts.

    >>> content_text([{"type": "thinking", "thinking": []}, {"type": "text", "text": "Hi"}])
    'Hi'
    """
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def parts_of_content(content: str | list[Any]) -> list[Any]:
    """The parts of a content, which is a text or a list of them."""
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def index_of_continued(known: list[Any], item: Any) -> int | None:
    """The index of the item that this one continues.

    That is the last call, for a call with neither index nor id, and the last part, for a part of the same kind.
    """
    if not isinstance(item, Mapping):
        return None
    if item.get("type") in _CONTINUED_PARTS and known and isinstance(known[-1], Mapping):
        return len(known) - 1 if known[-1].get("type") == item["type"] else None
    index = item.get("index")
    if index is None:
        return len(known) - 1 if known and item.get("function") and not item.get("id") else None
    return next((i for i, other in enumerate(known) if isinstance(other, dict) and other.get("index") == index), None)
