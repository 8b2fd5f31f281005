"""Lists and maps: what is in them, and new ones made of them. A list is never changed, but by `aryRemoveMatch`."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from itertools import chain
from typing import Any

from memorygraph.runtime.convo.builtins.builtin import Table, registrar
from memorygraph.runtime.convo.types import Struct, coerce, type_of
from memorygraph.runtime.convo.values import UNDEFINED, joined, kind_of, render_value, strict_equal
from memorygraph.runtime.values import ValueProblem

LISTS: Table = {}
_builtin = registrar(LISTS)


@_builtin("contains", 2, 2)
def contains(holder: Any, value: Any) -> bool:
    """Whether a text has a part, a list an item, or a map a key; where only the value is a list, the other way round.

    >>> contains("hello", "ell"), contains([1, 2], 2), contains(2, [1, 2]), contains({"a": 1}, "a")
    (True, True, True, True)
    """
    if isinstance(value, list) and not isinstance(holder, list):
        holder, value = value, holder
    if isinstance(holder, str):
        return isinstance(value, str) and value in holder
    if isinstance(holder, Mapping):
        return isinstance(value, str) and value in holder
    return isinstance(holder, list) and any(strict_equal(item, value) for item in holder)


@_builtin("isIn", 2, 2)
def _is_in(value: Any, holder: Any) -> bool:
    return contains(holder, value)


@_builtin("merge")
def _merge(*values: Any) -> dict[str, Any]:
    """One map of all keys; the last value wins that is not undefined."""
    items = chain.from_iterable(value.items() for value in values if isinstance(value, Mapping))
    return {key: value for key, value in items if value is not UNDEFINED}


@_builtin("getObjKeys", 1, 1)
def _get_obj_keys(value: Any) -> list[str]:
    return list(value) if isinstance(value, Mapping) else []


@_builtin("new", 1, 2)
def _new(type_: Any, values: Any = UNDEFINED) -> Any:
    """A map of a type."""
    found = type_of(type_)
    if not isinstance(found, Struct):
        raise ValueProblem(f"`new` makes a map of a type with names, and this is {kind_of(type_)}", "no-type")
    return coerce({} if values is UNDEFINED else values, found, "`new`")


def _list(name: str, value: Any) -> list[Any]:
    """The list that a function takes; undefined stands for an empty one."""
    if value is UNDEFINED:
        return []
    if not isinstance(value, list):
        raise ValueProblem(f"`{name}` takes a list, and this is {kind_of(value)}", "not-a-list")
    return value


@_builtin("aryAdd", 1)
def _ary_add(items: Any, *values: Any) -> list[Any]:
    return [*_list("aryAdd", items), *values]


@_builtin("aryRemove", 1)
def _ary_remove(items: Any, *values: Any) -> list[Any]:
    """The list without what is one of the values."""
    return [item for item in _list("aryRemove", items) if not any(strict_equal(item, value) for value in values)]


@_builtin("aryConcat")
def _ary_concat(*values: Any) -> list[Any]:
    """The items of all lists; what is no list is an item, and what is undefined is none."""
    parts = (value if isinstance(value, list) else [value] for value in values if value is not UNDEFINED)
    return [*chain.from_iterable(parts)]


@_builtin("aryDistinct")
def _ary_distinct(*values: Any) -> list[Any]:
    """As `aryConcat`, each item once."""
    found: dict[Any, Any] = {}
    for item in _ary_concat(*values):
        found.setdefault(_identity(item), item)
    return [*found.values()]


def _identity(value: Any) -> Any:
    """Equal for values that are strictly equal, and fit for a dictionary."""
    if isinstance(value, str) or value is None:
        return value
    return ("number", value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ("id", id(value))


@_builtin("aryJoin", 1, 2)
def _ary_join(items: Any, between: Any = UNDEFINED) -> str:
    separator = ", " if between is UNDEFINED else render_value(between)
    return joined((render_value(item) for item in _list("aryJoin", items)), separator)


@_builtin("aryRandomize", 1, 1, pure=False)
def _ary_randomize(items: Any) -> list[Any]:
    found = [*_list("aryRandomize", items)]
    secrets.SystemRandom().shuffle(found)
    return found


@_builtin("aryFindMatch", 2, 2)
def _ary_find_match(items: Any, match: Any) -> Any:
    """The first item that is the value, or a map with the same keys and values."""
    return next((item for item in _list("aryFindMatch", items) if _matches(item, match)), UNDEFINED)


@_builtin("aryRemoveMatch", 2, 2)
def _ary_remove_match(items: Any, match: Any) -> bool:
    """Take the first such item out of the list itself."""
    found = _list("aryRemoveMatch", items)
    index = next((index for index, item in enumerate(found) if _matches(item, match)), None)
    if index is not None:
        del found[index]
    return index is not None


def _matches(item: Any, match: Any) -> bool:
    if isinstance(item, dict) and isinstance(match, dict):
        return item.keys() == match.keys() and all(strict_equal(item[key], match[key]) for key in item)
    return strict_equal(item, match)
