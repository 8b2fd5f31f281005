"""Lists and maps: what is in them, and new ones from them. Only `aryRemoveMatch` changes the list that it is given."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from memorygraph.runtime.convo.builtins.registry import builtin
from memorygraph.runtime.convo.types import MISMATCH, Struct, to_integer, type_of
from memorygraph.runtime.convo.values import UNDEFINED, join_texts, name_kind, read_at_path, render_value, strict_equal
from memorygraph.runtime.values import ValueProblem

if TYPE_CHECKING:
    from memorygraph.runtime.convo.scope import ConvoScope


@builtin("contains")
def contains(value: Any, holder: Any) -> bool:
    """Whether a text is part of a second one, a list has an item, or a map a key: the list or map in either place."""
    if isinstance(value, (list, Mapping)) and not isinstance(holder, (list, Mapping)):
        holder, value = value, holder
    if isinstance(holder, (str, Mapping)):
        return isinstance(value, str) and value in holder
    return isinstance(holder, list) and any(strict_equal(item, value) for item in holder)


builtin("isIn")(lambda holder, value: contains(value, holder))  # of two texts, the first holds the second


def keyed_items(value: Any) -> dict[str, Any]:
    """The items of a map by its keys, or of a list by its indexes; anything else has none."""
    if isinstance(value, list):
        return {str(index): item for index, item in enumerate(value)}
    return dict(value) if isinstance(value, Mapping) else {}


builtin("getObjKeys")(lambda value: list(keyed_items(value)))
builtin("getObjKeyValues")(lambda value: list(keyed_items(value).values()))
builtin("getObjKeyCount")(lambda value: len(keyed_items(value)))


@builtin("idx")
def read_item(scope: ConvoScope, value: Any, *keys: Any) -> Any:
    """Read an item by its index, or by the key that a variable holds: `idx(list 'i')`; other names are keys."""
    for key in keys:
        held = scope.look_up(key.split(".")) if isinstance(key, str) else key
        value = read_at_path(value, [render_value(key if held is UNDEFINED else held)])
    return value


@builtin("setObjDefaults", pure=False)
def set_defaults_of_map(scope: ConvoScope, target: Any, defaults: Any) -> Any:
    """Add the keys that a map lacks to it; a text names the variable that holds the map."""
    if isinstance(target, str):
        path = target.split(".")
        target = scope.look_up(path)
        if target is UNDEFINED:
            scope.assign(path, target := {}, shared=True)
    if isinstance(target, dict) and isinstance(defaults, Mapping):
        for key, value in defaults.items():
            if target.get(key, UNDEFINED) is UNDEFINED and value is not UNDEFINED:
                target[key] = value
    return target


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
def join_items(items: Any, *separators: Any) -> str:
    """Join the items of a list as text, with a comma unless separators are given, which take turns.

    What is undefined or null is left empty.
    """
    found = require_list("aryJoin", items)
    between = [render_value(one) for one in separators if one is not UNDEFINED] or [", "]
    texts = ["" if item is UNDEFINED or item is None else render_value(item) for item in found]
    if len(between) == 1:
        return join_texts(texts, between[0])
    last = len(texts) - 1
    return join_texts(
        text + (between[index % len(between)] if index < last else "") for index, text in enumerate(texts)
    )


@builtin("aryRandomize", pure=False)
def shuffle_items(items: Any) -> list[Any]:
    """Copy a list in a random order."""
    shuffled = [*require_list("aryRandomize", items)]
    secrets.SystemRandom().shuffle(shuffled)
    return shuffled


def matches(item: Any, match: Any) -> bool:
    """Whether an item is the value to match, or holds the same values under the keys to match; others do not count."""
    if isinstance(match, (dict, list)) and isinstance(item, type(match)):
        held = keyed_items(item)
        return all(key in held and strict_equal(held[key], value) for key, value in keyed_items(match).items())
    return strict_equal(item, match)


@builtin("aryFindMatch")
def find_match(items: Any, match: Any) -> Any:
    """Find the first item that matches; undefined without one."""
    return next((item for item in require_list("aryFindMatch", items) if matches(item, match)), UNDEFINED)


@builtin("aryFindIndex")
def find_index(items: Any, match: Any) -> int:
    """Find the index of the first item that matches; -1 without one."""
    found = require_list("aryFindIndex", items)
    return next((index for index, item in enumerate(found) if matches(item, match)), -1)


@builtin("aryInsert")
def insert_items(items: Any, index: Any, *values: Any) -> list[Any]:
    """Copy a list with values after the item of an index."""
    copied = [*require_list("aryInsert", items)]
    at = to_integer(index)
    if at is MISMATCH:
        raise ValueProblem(f"`aryInsert` takes an index, and this is {name_kind(index)}", "not-a-number")
    return [*copied[: at + 1], *values, *copied[at + 1 :]] if at >= -1 else [*copied[:at], *values, *copied[at:]]


@builtin("aryRemoveMatch")
def remove_match(items: Any, match: Any) -> bool:
    """Remove the first item that matches from the list itself, and say whether there was one."""
    found = require_list("aryRemoveMatch", items)
    for index, item in enumerate(found):
        if matches(item, match):
            del found[index]
            return True
    return False
