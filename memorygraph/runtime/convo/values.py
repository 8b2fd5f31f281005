"""The values of Convo-Lang: JSON values, `undefined`, and types; how they are shown, compared and reached.

Source: specs/convo.md, section 1.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from memorygraph.context.rendering import compact, indented
from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.values import ValueProblem, describe_type

MAX_TEXT = 10_000_000
"""Characters of one text that an expression may give."""

MAX_ITEMS = 100_000
"""Items of one list, or keys of one map, that an expression may give."""


class Undefined:
    """What has no value. There is one of it, `UNDEFINED`."""

    _one: Undefined | None = None

    def __new__(cls) -> Undefined:
        """The one that there is, also where it is copied or unpickled."""
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "undefined"

    def __reduce__(self) -> tuple[type[Undefined], tuple[()]]:
        return Undefined, ()


UNDEFINED: Final = Undefined()


class Schematic:
    """A value that is shown as a JSON Schema: a type."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        raise NotImplementedError


def render_value(value: Any) -> str:
    """A value as it stands in a text.

    >>> render_value(UNDEFINED), render_value(None), render_value(True), render_value(1.50), render_value([])
    ('undefined', 'null', 'true', '1.5', '')
    >>> print(render_value(["a", 2]))
    - a
    - 2
    >>> print(render_value({"a": 1}))
    {
        "a": 1
    }

    Raises:
        ValueProblem: it is too large to be shown, or holds itself.
    """
    if isinstance(value, str):
        return value
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if isinstance(value, Schematic):
        return compact(value.schema)
    if isinstance(value, (list, tuple)) and not any(map(_holds_others, value)):
        return joined([f"- {render_value(item)}" for item in bounded(value)], "\n")
    return to_json(value)


def _holds_others(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple, Schematic))


def to_json(value: Any) -> str:
    """A value as JSON with an indentation of four.

    >>> to_json("a"), to_json(UNDEFINED)
    ('"a"', 'undefined')

    Raises:
        ValueProblem: it is too large to be shown, or holds itself.
    """
    if value is UNDEFINED:
        return "undefined"
    return re.sub(r"(?m)^ +", lambda blanks: blanks[0] * 2, indented(plain(value)))


def plain(value: Any) -> Any:
    """A value as JSON can say it: without what is undefined in a map, null for it in a list, schemas for types.

    >>> plain({"a": UNDEFINED, "b": [UNDEFINED, (1,)]})
    {'b': [None, [1]]}

    Raises:
        ValueProblem: it is too large to be shown, or holds itself.
    """
    result = [value]
    waiting: list[tuple[Any, Any, int]] = [(result, 0, 0)]
    size = 0
    while waiting:
        into, key, depth = waiting.pop()
        found = into[key]
        size += 4 * depth + (len(found) if isinstance(found, str) else 2)
        if size > MAX_TEXT:
            raise ValueProblem(
                f"a value is too large to be shown: it has more than {MAX_TEXT:,} characters, or holds itself",
                "value-too-large",
            )
        if found is UNDEFINED:
            into[key] = None
        elif isinstance(found, Schematic):
            into[key] = found.schema
        elif isinstance(found, Mapping):
            into[key] = inner = {name: held for name, held in found.items() if held is not UNDEFINED}
            waiting += [(inner, name, depth + 1) for name in inner]
        elif isinstance(found, (list, tuple)):
            into[key] = items = list(found)
            waiting += [(items, index, depth + 1) for index in range(len(items))]
    return result[0]


def copied(value: Any) -> Any:
    """A copy that shares no list and no map with the value, but keeps what is shared within it.

    >>> shared = [1]
    >>> copy = copied({"a": shared, "b": shared})
    >>> copy["a"] is copy["b"], copy["a"] is shared
    (True, False)
    """
    known: dict[int, Any] = {}
    result = [value]
    waiting: list[tuple[Any, Any]] = [(result, 0)]
    while waiting:
        into, key = waiting.pop()
        found = into[key]
        if not isinstance(found, (dict, list)):
            continue
        if id(found) not in known:
            # Kept with its copy, so that the id stays taken.
            known[id(found)] = (copy := found.copy(), found)
            waiting += [(copy, inner) for inner in (copy if isinstance(copy, dict) else range(len(copy)))]
        into[key] = known[id(found)][0]
    return result[0]


def truthy(value: Any) -> bool:
    """Whether a value counts as true: undefined, null, false, 0, NaN and "" do not; every list and map does.

    >>> truthy([]), truthy({}), truthy(""), truthy("0")
    (True, True, False, True)
    """
    if isinstance(value, float) and math.isnan(value):
        return False
    return _holds_others(value) or bool(value)


def strict_equal(left: Any, right: Any) -> bool:
    """Whether two values are the same: texts, numbers and constants by what they say, lists and maps by identity.

    >>> strict_equal(1, 1.0), strict_equal(1, True), strict_equal("1", 1), strict_equal([], [])
    (True, False, False, False)
    """
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    if is_number(left) and is_number(right):
        return bool(left == right)
    return left is right


def deep_equal(left: Any, right: Any) -> bool:
    """Whether two values say the same, at any depth; the order of keys does not matter.

    >>> deep_equal({"a": [1], "b": 2}, {"b": 2.0, "a": [1]}), deep_equal([1], ["1"])
    (True, False)
    """
    waiting, seen = [(left, right)], set()
    while waiting:
        one, other = waiting.pop()
        if (id(one), id(other)) in seen or strict_equal(one, other):
            continue
        parts = _parts_side_by_side(one, other)
        if parts is None:
            return False
        seen.add((id(one), id(other)))
        waiting += parts
    return True


def _parts_side_by_side(one: Any, other: Any) -> list[tuple[Any, Any]] | None:
    """The parts of two lists or maps that must be equal; None where the two differ already."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [(one[key], other[key]) for key in one]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return list(zip(one, other, strict=True))
    if isinstance(one, Schematic) and isinstance(other, Schematic) and one == other:
        return []
    return None


def is_number(value: Any) -> bool:
    """Whether a value is a number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def member(value: Any, name: str) -> Any:
    """`value.name`: a key of a map, an item of a list by its number, or `length`; otherwise undefined.

    >>> member({"a": 1}, "a"), member(["x"], "0"), member(["x"], "length"), member(None, "a"), member("", "__class__")
    (1, 'x', 1, undefined, undefined)
    """
    if isinstance(value, Mapping):
        return value.get(name, UNDEFINED)
    if isinstance(value, (list, str)) and name == "length":
        return len(value)
    if isinstance(value, list):
        index = item_index(name)
        return value[index] if index is not None and index < len(value) else UNDEFINED
    return UNDEFINED


def item_index(name: str) -> int | None:
    """The number that a part of a path is, if it is one.

    >>> item_index("12"), item_index("-1"), item_index("01")
    (12, None, None)
    """
    return int(name) if re.fullmatch(r"0|[1-9][0-9]{0,8}", name) else None


def at_path(value: Any, path: Iterable[str]) -> Any:
    """What a path leads to in a value; undefined where it leads nowhere.

    >>> at_path({"a": [{"b": 1}]}, ["a", "0", "b"]), at_path({}, ["a", "b"])
    (1, undefined)
    """
    for name in path:
        value = member(value, name)
    return value


def set_member(value: Any, name: str, new: Any) -> None:
    """`value.name = new`.

    Raises:
        ValueProblem: it is no map, nor a list that has this item.
    """
    if isinstance(value, dict):
        value[name] = new
        bounded(value)
        return
    index = item_index(name) if isinstance(value, list) else None
    if index is None or index >= len(value):
        raise ValueProblem(f"{kind_of(value)} has no `{name}` that could be set", "invalid-assignment")
    value[index] = new


def kind_of(value: Any) -> str:
    """What a value is called in messages.

    >>> kind_of(UNDEFINED), kind_of(None), kind_of({}), kind_of(1)
    ('undefined', 'null', 'a map', 'a number')
    """
    if value is UNDEFINED or value is None:
        return "undefined" if value is UNDEFINED else "null"
    if isinstance(value, Schematic):
        return "a type"
    return "a map" if isinstance(value, Mapping) else describe_type(value)


def shown(value: Any, longest: int = 60) -> str:
    """A value in a message: on one line, and cut.

    >>> shown({"a": "x" * 100}, 12)
    '{"a":"xxxxxx…'
    """
    try:
        text = render_value(value) if value is UNDEFINED else compact(plain(value))
    except MemoryGraphError:
        return kind_of(value)
    return text if len(text) <= longest else text[:longest] + "…"


def joined(pieces: Iterable[str], between: str = "") -> str:
    """The pieces as one text.

    >>> joined(["a", "b"], ", ")
    'a, b'

    Raises:
        ValueProblem: it would be too long; nothing of it is made.
    """
    taken, length = [], 0
    for piece in pieces:
        length += len(piece) + len(between)
        if length > MAX_TEXT + len(between):
            raise _too_large(f"a text has more than {MAX_TEXT:,} characters")
        taken.append(piece)
    return between.join(taken)


def bounded(value: Any) -> Any:
    """The value itself, if it is not too large for an expression to give.

    Raises:
        ValueProblem: it is too large.
    """
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise _too_large(f"a text has more than {MAX_TEXT:,} characters")
    elif isinstance(value, (list, tuple, dict)) and len(value) > MAX_ITEMS:
        raise _too_large(f"{kind_of(value)} has more than {MAX_ITEMS:,} items")
    return value


def _too_large(message: str) -> ValueProblem:
    return ValueProblem(message, "value-too-large")
