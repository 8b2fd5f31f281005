"""Values that remember where they come from: nodes of the graph, which a prompt names, or the answer of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from memorygraph.context.rendering import MAX_PIECES
from memorygraph.errors import MemoryGraphError
from memorygraph.limits import spend_on_parts

_LEAVES = (str, int, float, bool, type(None))


class StoredText(str):
    """A text from the graph; `origins` are the ids of its nodes.

    >>> text = StoredText("Ada", ["n1"])
    >>> text == "Ada", text.origins
    (True, ('n1',))
    """

    origins: tuple[str, ...]

    def __new__(cls, text: str = "", origins: Iterable[str] = ()) -> StoredText:
        """Create a text with the ids of its nodes."""
        stored_text = super().__new__(cls, text)
        stored_text.origins = tuple(origins)
        return stored_text


class GeneratedText(str):
    """A text of a model's answer: what obeys a text of a stranger may have written it."""

    __slots__ = ()


class StoredObject(dict[str, Any]):
    """An object from the graph; `origins` are the ids of its nodes.

    >>> StoredObject({"name": "Ada"}, ["n1"]).origins
    ('n1',)
    """

    def __init__(self, fields: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), origins: Iterable[str] = ()) -> None:
        super().__init__(fields)
        self.origins = tuple(origins)


def stored(record: Mapping[str, Any], ids: Iterable[str]) -> StoredObject:
    """Return a record from the graph in which every text and every object knows its nodes.

    >>> stored({"names": ["Ada"]}, ["n1"])["names"][0].origins
    ('n1',)
    """
    origins = tuple(ids)

    def wrap(value: Any) -> Any:
        if isinstance(value, str):
            return StoredText(value, origins)
        if isinstance(value, Mapping):
            return StoredObject({key: wrap(inner) for key, inner in value.items()}, origins)
        return [wrap(inner) for inner in value] if isinstance(value, (list, tuple)) else value

    return StoredObject({key: wrap(inner) for key, inner in record.items()}, origins)


def origins_of(value: Any) -> tuple[str, ...]:
    """List the nodes that a value comes from, in its order and each once; an empty part comes from none.

    >>> origins_of([StoredText("a", ["n2"]), {"x": StoredText("b", ["n1", "n2"])}, StoredText("", ["n3"])])
    ('n2', 'n1')
    """
    found: dict[str, None] = {}
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, (StoredObject, StoredText)) and inner:
            found.update(dict.fromkeys(inner.origins))
        if isinstance(inner, (Mapping, list, tuple)) and id(inner) not in seen:
            seen.add(id(inner))
            waiting.extend(reversed(list(inner.values()) if isinstance(inner, Mapping) else inner))
    return tuple(found)


def copy_value(value: Any, text: Callable[[str], str] = lambda inner: inner) -> Any:
    """Copy a value deeply, with its origins; AgentScript's `.summary`. `text` copies each text that is not a key.

    >>> original = [[1]]
    >>> copy = copy_value(original)
    >>> original[0].append(2)
    >>> copy
    [[1]]
    """
    waiting: list[tuple[Any, Any]] = []  # an empty copy and its original; when that is done, None and its id

    def begin_copy(inner: Any) -> Any:
        if isinstance(inner, str):
            return text(inner)
        if isinstance(inner, _LEAVES):  # JSON has no NaN and no infinity
            return None if isinstance(inner, float) and not math.isfinite(inner) else inner
        waiting.append((empty_like(inner), inner))
        return waiting[-1][0]

    result = begin_copy(value)
    inside: set[int] = set()
    pieces = 0
    while waiting:
        copied, original = waiting.pop()
        if copied is None:
            inside.remove(original)
            continue
        if id(original) in inside:
            raise MemoryGraphError("a value holds itself; it cannot be copied")
        inside.add(id(original))
        waiting.append((None, id(original)))
        pieces += len(original)
        spend_on_parts(len(original))
        if pieces > MAX_PIECES:
            raise MemoryGraphError(f"a value is too large to be copied: it has more than {MAX_PIECES} parts")
        if isinstance(original, Mapping):
            copied.update((field_name(key), begin_copy(inner)) for key, inner in original.items())
        else:
            copied.extend([begin_copy(inner) for inner in original])
    return result


def field_name(key: Any) -> str:
    """Refuse a key that JSON does not know."""
    if not isinstance(key, str):
        raise MemoryGraphError(f"a field's name is a text, and not {key!r}")
    return key


def empty_like(value: Any) -> Any:
    """Return an empty value of the same kind."""
    if isinstance(value, Mapping):
        return StoredObject((), value.origins) if isinstance(value, StoredObject) else {}
    if isinstance(value, (list, tuple)):
        return []
    raise MemoryGraphError(f"a value of the type {type(value).__name__} is not a JSON value; it cannot be copied")
