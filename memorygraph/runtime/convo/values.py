"""The values of Convo-Lang: JSON values, `undefined`, and types; how they are shown, compared and reached.

Source: specs/convo.md, section 1.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final

from memorygraph.context.rendering import compact, indented
from memorygraph.errors import MemoryGraphError
from memorygraph.limits import spend, spend_on_parts
from memorygraph.runtime.values import ValueProblem, describe_type

# The largest values that an expression may give.
MAX_TEXT_CHARACTERS = 10_000_000
MAX_ITEMS = 100_000  # of one list, or keys of one map

MAX_EXCERPT_CHARACTERS = 60  # of a value in a message


class Undefined(Enum):
    """The type of `UNDEFINED`, its only instance, also as a copy or a pickle: what has no value."""

    UNDEFINED = "undefined"

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "undefined"

    __str__ = __repr__


UNDEFINED: Final = Undefined.UNDEFINED


class ConvoType:
    """A type of Convo-Lang, which is a value too: `types.py` has the kinds of them."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema that a model is told."""
        raise NotImplementedError

    @property
    def described(self) -> str:
        """What messages call a value of it."""
        raise NotImplementedError

    def coerce(self, value: Any, where: str = "the value") -> Any:
        """Convert a value to this type: `5` as a string is `"5"`, and `"5"` as a number is 5."""
        raise NotImplementedError

    def accepts(self, value: Any) -> bool:
        """Whether a value has this type without a conversion."""
        raise NotImplementedError


COMPOUND = (Mapping, list, tuple, ConvoType)  # the Python types of values that consist of other values


def render_value(value: Any) -> str:
    """Render a value as text, as an insertion in a template does."""
    if isinstance(value, str):
        return value
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if isinstance(value, ConvoType):
        return compact(value.schema)
    if isinstance(value, (list, tuple)) and not any(isinstance(item, COMPOUND) for item in value):
        items = (render_value(item).replace("\n", "\n  ") for item in require_bounded(value))
        numbered = all(item is None for item in value)
        return join_texts([f"{at}. {item}" if numbered else f"- {item}" for at, item in enumerate(items, 1)], "\n")
    return render_json(value)


def render_json(value: Any) -> str:
    """Render a value as JSON with an indentation of four."""
    if value is UNDEFINED:
        return "undefined"
    return re.sub(r"(?m)^ +", lambda blanks: blanks[0] * 2, indented(to_plain(value)))


def to_plain(value: Any) -> Any:
    """Convert a value to JSON data: a type to its schema, undefined in a list to null, and in a map to nothing.

    JSON has no infinite numbers and no NaN: they become null.
    """
    result = [value]
    waiting: list[tuple[Any, Any, int]] = [(result, 0, 0)]
    size = 0
    while waiting:
        into, key, depth = waiting.pop()
        found = into[key]
        size += 4 * depth + (len(found) if isinstance(found, str) else 2)
        if size > MAX_TEXT_CHARACTERS:
            raise ValueProblem(
                f"a value is too large to be shown: it has more than {MAX_TEXT_CHARACTERS:,} characters, "
                "or holds itself",
                "value-too-large",
            )
        if found is UNDEFINED:
            into[key] = None
        elif isinstance(found, ConvoType):
            into[key] = found.schema
        elif isinstance(found, float) and not math.isfinite(found):
            into[key] = None
        elif isinstance(found, Mapping):
            spend_on_parts(len(found))
            into[key] = inner = {name: held for name, held in found.items() if held is not UNDEFINED}
            waiting += [(inner, name, depth + 1) for name in inner]
        elif isinstance(found, (list, tuple)):
            spend_on_parts(len(found))
            into[key] = items = list(found)
            waiting += [(items, index, depth + 1) for index in range(len(items))]
    return result[0]


def copy_deeply(value: Any) -> Any:
    """Copy a value with its lists and maps; what is shared within the value is shared within the copy."""
    # `copy.deepcopy` recurses, and so cannot copy what a program nests thousands of levels deep.
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
            spend_on_parts(len(found))
            waiting += [(copy, inner) for inner in (copy if isinstance(copy, dict) else range(len(copy)))]
        into[key] = known[id(found)][0]
    return result[0]


def truthy(value: Any) -> bool:
    """Whether a value counts as true: all but undefined, null, false, 0, NaN and ""."""
    if isinstance(value, float) and math.isnan(value):
        return False
    return isinstance(value, COMPOUND) or bool(value)


def strict_equal(left: Any, right: Any) -> bool:
    """Whether two values are the same: texts, numbers and constants by value, lists and maps by identity."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    if is_number(left) and is_number(right):
        return bool(left == right)
    return left is right


def deep_equal(left: Any, right: Any) -> bool:
    """Whether two values are equal at any depth; the order of keys does not matter."""
    waiting, seen = [(left, right)], set()
    while waiting:
        one, other = waiting.pop()
        if (id(one), id(other)) in seen or strict_equal(one, other):
            continue
        seen.add((id(one), id(other)))
        spend()
        if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
            waiting += [(one[key], other[key]) for key in one]
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            waiting += zip(one, other, strict=True)
        elif not (isinstance(one, ConvoType) and one == other):
            return False
    return True


def is_number(value: Any) -> bool:
    """Whether a value is a number; true and false are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def item_index(name: str) -> int | None:
    """The index that a part of a path is, or None."""
    return int(name) if re.fullmatch(r"0|[1-9][0-9]{0,8}", name) else None


def read_at_path(value: Any, path: Iterable[str]) -> Any:
    """Read what a path of keys, indexes and `length` leads to in a value; undefined where it leads nowhere."""
    for name in path:
        if isinstance(value, Mapping):
            value = value.get(name, UNDEFINED)
        elif isinstance(value, (list, str)) and name == "length":
            value = len(value)
        else:
            index = item_index(name) if isinstance(value, list) else None
            value = value[index] if index is not None and index < len(value) else UNDEFINED
    return value


def set_member(value: Any, name: str, new: Any) -> None:
    """Assign `value.name = new`."""
    if isinstance(value, dict):
        value[name] = new
        require_bounded(value)
        return
    index = item_index(name) if isinstance(value, list) else None
    if index is None or index >= len(value):
        raise ValueProblem(f"{name_kind(value)} has no `{name}` that could be set", "invalid-assignment")
    value[index] = new


def name_kind(value: Any) -> str:
    """What messages call a value."""
    kinds: dict[type, str] = {Undefined: "undefined", type(None): "null", ConvoType: "a type", Mapping: "a map"}
    return next((kind for type_, kind in kinds.items() if isinstance(value, type_)), None) or describe_type(value)


def excerpt(value: Any) -> str:
    """Show a value in a message: on one line, and cut."""
    try:
        text = render_value(value) if value is UNDEFINED else compact(to_plain(value))
    except MemoryGraphError:
        return name_kind(value)
    return text if len(text) <= MAX_EXCERPT_CHARACTERS else text[:MAX_EXCERPT_CHARACTERS] + "…"


def join_texts(pieces: Iterable[str], separator: str = "") -> str:
    """Join pieces into one text."""
    taken, length = [], 0
    for piece in pieces:
        length += len(piece) + len(separator)
        if length > MAX_TEXT_CHARACTERS + len(separator):
            raise ValueProblem(f"a text has more than {MAX_TEXT_CHARACTERS:,} characters", "value-too-large")
        taken.append(piece)
    return separator.join(taken)


def require_bounded(value: Any) -> Any:
    """Return the value itself, unless it is larger than an expression may give."""
    if isinstance(value, str):
        if len(value) > MAX_TEXT_CHARACTERS:
            raise ValueProblem(f"a text has more than {MAX_TEXT_CHARACTERS:,} characters", "value-too-large")
    elif isinstance(value, (list, tuple, dict)) and len(value) > MAX_ITEMS:
        raise ValueProblem(f"{name_kind(value)} has more than {MAX_ITEMS:,} items", "value-too-large")
    return value
