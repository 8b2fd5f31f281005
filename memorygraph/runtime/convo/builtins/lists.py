"""Lists and maps: what is in them, and new ones from them. Only `aryRemoveMatch` changes the list that it is given."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from itertools import chain
from typing import Any

from memorygraph.runtime.convo.builtins.registry import builtin
from memorygraph.runtime.convo.types import Struct, type_of
from memorygraph.runtime.convo.values import UNDEFINED, join_texts, name_kind, render_value, strict_equal
from memorygraph.runtime.values import ValueProblem


@builtin("contains")
def contains(holder: Any, value: Any) -> bool:
    """Whether a text has a part, a list an item, or a map a key; in either order where only one is a list."""
    if isinstance(value, list) and not isinstance(holder, list):
        holder, value = value, holder
    if isinstance(holder, (str, Mapping)):
        return isinstance(value, str) and value in holder
    return isinstance(holder, list) and any(strict_equal(item, value) for item in holder)


builtin("isIn")(lambda value, holder: contains(holder, value))
builtin("getObjKeys")(lambda value: list(value) if isinstance(value, Mapping) else [])


@builtin("merge")
def merge_maps(*values: Any) -> dict[str, Any]:
    """Merge maps into one; for a key of several, the last value wins that is not undefined."""
    items = chain.from_iterable(value.items() for value in values if isinstance(value, Mapping))
    return {key: value for key, value in items if value is not UNDEFINED}


@builtin("new")
def make_typed_map(type_: Any, values: Any = UNDEFINED) -> Any:
    """Make a map of a type."""
    struct = type_of(type_)
    if not isinstance(struct, Struct):
        raise ValueProblem(f"`new` makes a map of a type with names, and this is {name_kind(type_)}", "no-type")
    return struct.coerce({} if values is UNDEFINED else values, "`new`")


def require_list(name: str, value: Any) -> list[Any]:
    """Return the list that a function is given; undefined stands for an empty list."""
    if value is UNDEFINED:
        return []
    if not isinstance(value, list):
        raise ValueProblem(f"`{name}` takes a list, and this is {name_kind(value)}", "not-a-list")
    return value


builtin("aryAdd")(lambda items, *values: [*require_list("aryAdd", items), *values])


@builtin("aryRemove")
def remove_items(items: Any, *values: Any) -> list[Any]:
    """Copy a list without the items that are one of the values."""
    return [item for item in require_list("aryRemove", items) if not any(strict_equal(item, value) for value in values)]


@builtin("aryConcat")
def concatenate(*values: Any) -> list[Any]:
    """Concatenate lists; a value that is not a list is an item, and undefined is left out."""
    parts = (value if isinstance(value, list) else [value] for value in values if value is not UNDEFINED)
    return [*chain.from_iterable(parts)]


@builtin("aryDistinct")
def distinct_items(*values: Any) -> list[Any]:
    """As `aryConcat`, each item once."""
    found: dict[Any, Any] = {}
    for item in concatenate(*values):
        # The keys are equal where the items are strictly equal: 1 and 1.0, but not 1 and true.
        if isinstance(item, str) or item is None:
            key: Any = item
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            key = ("number", item)
        else:
            key = ("id", id(item))
        found.setdefault(key, item)
    return [*found.values()]


@builtin("aryJoin")
def join_items(items: Any, separator: Any = UNDEFINED) -> str:
    """Join the items of a list as text, with a comma unless a separator is given."""
    between = ", " if separator is UNDEFINED else render_value(separator)
    return join_texts((render_value(item) for item in require_list("aryJoin", items)), between)


@builtin("aryRandomize", pure=False)
def shuffle_items(items: Any) -> list[Any]:
    """Copy a list in a random order."""
    shuffled = [*require_list("aryRandomize", items)]
    secrets.SystemRandom().shuffle(shuffled)
    return shuffled


def matches(item: Any, match: Any) -> bool:
    """Whether an item is the value to match, or a map with the same keys and values."""
    if isinstance(item, dict) and isinstance(match, dict):
        return item.keys() == match.keys() and all(strict_equal(item[key], match[key]) for key in item)
    return strict_equal(item, match)


@builtin("aryFindMatch")
def find_match(items: Any, match: Any) -> Any:
    """Find the first item that matches; undefined without one."""
    return next((item for item in require_list("aryFindMatch", items) if matches(item, match)), UNDEFINED)


@builtin("aryRemoveMatch")
def remove_match(items: Any, match: Any) -> bool:
    """Remove the first item that matches from the list itself, and say whether there was one."""
    found = require_list("aryRemoveMatch", items)
    for index, item in enumerate(found):
        if matches(item, match):
            del found[index]
            return True
    return False
