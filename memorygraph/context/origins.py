"""Values that come from the graph remember from which nodes, so that a prompt can say where its text is from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from memorygraph.context.rendering import MAX_PIECES
from memorygraph.errors import MemoryGraphError

_LEAVES = (str, int, float, bool, type(None))


class StoredText(str):
    """A text that was stored; `origins` are the ids of the nodes that it is from.

    >>> text = StoredText("Ada", ["n1"])
    >>> text == "Ada", text.origins
    (True, ('n1',))
    """

    origins: tuple[str, ...]

    def __new__(cls, text: str = "", origins: Iterable[str] = ()) -> StoredText:
        """A text and the ids of its nodes."""
        made = super().__new__(cls, text)
        made.origins = tuple(origins)
        return made


class Stored(dict[str, Any]):
    """An object that was stored; `origins` are the ids of the nodes that it is from.

    >>> Stored({"name": "Ada"}, ["n1"]).origins
    ('n1',)
    """

    def __init__(self, fields: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), origins: Iterable[str] = ()) -> None:
        super().__init__(fields)
        self.origins = tuple(origins)


def stored(record: Mapping[str, Any], ids: Iterable[str]) -> Stored:
    """A record from the graph, in which every text and every object knows the nodes.

    >>> stored({"names": ["Ada"]}, ["n1"])["names"][0].origins
    ('n1',)
    """
    origins = tuple(ids)

    def wrap(value: Any) -> Any:
        if isinstance(value, str):
            return StoredText(value, origins)
        if isinstance(value, Mapping):
            return Stored({key: wrap(inner) for key, inner in value.items()}, origins)
        return [wrap(inner) for inner in value] if isinstance(value, (list, tuple)) else value

    return Stored({key: wrap(inner) for key, inner in record.items()}, origins)


def origins_of(value: Any) -> tuple[str, ...]:
    """The nodes that a value comes from, in its order and each once; what is empty shows nothing of its nodes.

    >>> origins_of([StoredText("a", ["n2"]), {"x": StoredText("b", ["n1", "n2"])}, StoredText("", ["n3"])])
    ('n2', 'n1')
    """
    found: dict[str, None] = {}
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, (Stored, StoredText)) and inner:
            found.update(dict.fromkeys(inner.origins))
        if isinstance(inner, (Mapping, list, tuple)) and id(inner) not in seen:
            seen.add(id(inner))
            waiting.extend(reversed(list(inner.values()) if isinstance(inner, Mapping) else inner))
    return tuple(found)


def copy_value(value: Any) -> Any:
    """A copy that shares nothing that can change with the value, and keeps the origins; AgentScript's `.summary`.

    >>> original = [[1]]
    >>> copy = copy_value(original)
    >>> original[0].append(2)
    >>> copy
    [[1]]

    Raises:
        MemoryGraphError: something in it is no JSON, or it holds itself.
    """
    if isinstance(value, _LEAVES):
        return _leaf(value)
    result = _empty(value)
    waiting: list[tuple[Any, Any]] = [(result, value)]
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
        if pieces > MAX_PIECES:
            raise MemoryGraphError(f"a value is too large to be copied: it has more than {MAX_PIECES} parts")
        _fill(copied, original, waiting)
    return result


def _fill(copied: Any, original: Any, waiting: list[tuple[Any, Any]]) -> None:
    """Copy what a value holds; what of it holds others is still empty, and waits."""

    def begun(inner: Any) -> Any:
        if isinstance(inner, _LEAVES):
            return _leaf(inner)
        empty = _empty(inner)
        waiting.append((empty, inner))
        return empty

    if isinstance(original, Mapping):
        for key, inner in original.items():
            if not isinstance(key, str):
                raise MemoryGraphError(f"a field's name is a text, and not {key!r}")
            copied[key] = begun(inner)
    else:
        copied.extend([begun(inner) for inner in original])


def _leaf(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _empty(value: Any) -> Any:
    """An empty value of the same kind."""
    if isinstance(value, Mapping):
        return Stored((), value.origins) if isinstance(value, Stored) else {}
    if isinstance(value, (list, tuple)):
        return []
    raise MemoryGraphError(f"a value of the type {type(value).__name__} is no JSON value; it cannot be copied")
