"""The types of Convo-Lang: what they let through, what they make of it, and the JSON Schema that a model is told.

Types are values: `enum("a" "b")`, `array(Name)` and `map(a: string b?: number)` are calls that give them. Source:
specs/convo.md, sections 1.3 and 1.4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memorygraph.runtime.convo.values import UNDEFINED, Schematic, is_number, kind_of, render_value, shown, strict_equal
from memorygraph.runtime.values import ValueProblem

_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})([eE][-+]?[0-9]{1,3})?")
_NOTHING = object()


@dataclass(frozen=True)
class ConvoType(Schematic):
    """A type. `described` is how messages name it."""

    @property
    def described(self) -> str:
        """What a value of it is called."""
        raise NotImplementedError

    def read(self, value: Any, where: str) -> Any:
        """The value as one of this type.

        Raises:
            ValueProblem: it is none.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Basic(ConvoType):
    """`string`, `number`, `int`, `time`, `boolean`, `any`, `object` or `void`. A time is in milliseconds, as `now`."""

    name: str

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        return dict(_SCHEMAS[self.name])

    @property
    def described(self) -> str:
        """What a value of it is called."""
        return _DESCRIBED[self.name]

    def read(self, value: Any, where: str) -> Any:
        """The value as one of this type."""
        found = _READERS[self.name](value)
        if found is _NOTHING:
            raise _mismatch(self, value, where)
        return found


@dataclass(frozen=True)
class Enum(ConvoType):
    """One of some values; a literal type is one with a single value."""

    values: tuple[Any, ...]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        kinds = {_json_kind(value) for value in self.values}
        return {**({"type": kinds.pop()} if len(kinds) == 1 else {}), "enum": list(self.values)}

    @property
    def described(self) -> str:
        """What a value of it is called."""
        known = ", ".join(shown(value) for value in self.values[:20])
        return known if len(self.values) == 1 else f"one of {known}{', …' * (len(self.values) > 20)}"

    def read(self, value: Any, where: str) -> Any:
        """The value as one of this type."""
        for known in self.values:
            if strict_equal(known, value):
                return known
        for known in self.values:
            if _says_the_same(known, value):
                return known
        raise _mismatch(self, value, where)


@dataclass(frozen=True)
class ArrayOf(ConvoType):
    """A list of values of one type."""

    item: ConvoType

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        return {"type": "array", "items": self.item.schema}

    @property
    def described(self) -> str:
        """What a value of it is called."""
        return "a list"

    def read(self, value: Any, where: str) -> Any:
        """The value as one of this type."""
        if not isinstance(value, (list, tuple)):
            raise _mismatch(self, value, where)
        return [self.item.read(item, f"{where}[{index}]") for index, item in enumerate(value)]


@dataclass(frozen=True)
class Field:
    """A key of a struct, or a parameter of a function."""

    name: str
    type: ConvoType
    optional: bool = False
    description: str | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value."""
        return {**self.type.schema, **({"description": self.description} if self.description else {})}


@dataclass(frozen=True)
class Struct(ConvoType):
    """A map with these keys. What a value has besides them is left out."""

    fields: tuple[Field, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        return {
            "type": "object",
            "properties": {field.name: field.schema for field in self.fields},
            "required": [field.name for field in self.fields if not field.optional],
            "additionalProperties": False,
        }

    @property
    def described(self) -> str:
        """What a value of it is called."""
        return "a map"

    def read(self, value: Any, where: str) -> Any:
        """The value as one of this type."""
        if not isinstance(value, Mapping):
            raise _mismatch(self, value, where)
        return {
            field.name: field.type.read(value[field.name], f"{where}.{field.name}")
            for field in self.fields
            if _is_given(field, value, where)
        }


def _is_given(field: Field, value: Mapping[str, Any], where: str) -> bool:
    """Whether the value of a field must be read. A model that has nothing to say for an optional one says null."""
    found = value.get(field.name, UNDEFINED)
    if field.optional and (found is UNDEFINED or (found is None and not _takes_null(field.type))):
        return False
    if found is UNDEFINED and field.type != VOID:
        raise ValueProblem(f"{where}.{field.name} is missing; it must be {field.type.described}", "type-mismatch")
    return field.name in value


def _takes_null(type_: ConvoType) -> bool:
    return type_ == ANY or (isinstance(type_, Enum) and None in type_.values)


def _mismatch(type_: ConvoType, value: Any, where: str) -> ValueProblem:
    said = kind_of(value) if value is UNDEFINED or value is None else f"{kind_of(value)}: {shown(value)}"
    return ValueProblem(f"{where} must be {type_.described}, and is {said}", "type-mismatch")


def _string(value: Any) -> Any:
    return render_value(value) if isinstance(value, (str, bool)) or is_number(value) else _NOTHING


def _number(value: Any) -> Any:
    if isinstance(value, str) and (match := _NUMBER.fullmatch(value.strip())):
        value = float(match[0]) if "." in match[0] or match[2] else int(match[0])
    return value if is_number(value) and _is_finite(value) else _NOTHING


def _is_finite(value: float) -> bool:
    """Whether a number is one that a float can hold; a model can write whole numbers that are larger."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _int(value: Any) -> Any:
    found = _number(value)
    if isinstance(found, float):
        return int(found) if found.is_integer() else _NOTHING
    return found


def _boolean(value: Any) -> Any:
    words = {"true": True, "false": False}
    found = words.get(value.strip().lower(), _NOTHING) if isinstance(value, str) else value
    return found if isinstance(found, bool) else _NOTHING


def _object(value: Any) -> Any:
    return value if isinstance(value, Mapping) else _NOTHING


def _void(value: Any) -> Any:
    return UNDEFINED if value is None or value is UNDEFINED else _NOTHING


_READERS: dict[str, Callable[[Any], Any]] = {
    "string": _string,
    "number": _number,
    "int": _int,
    "time": _int,
    "boolean": _boolean,
    "any": lambda value: value,
    "object": _object,
    "void": _void,
}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "int": {"type": "integer"},
    "time": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "any": {},
    "object": {"type": "object"},
    "void": {"type": "null"},
}
_DESCRIBED = {
    "string": "a text",
    "number": "a number",
    "int": "a whole number",
    "time": "a time in milliseconds",
    "boolean": "true or false",
    "any": "a value",
    "object": "a map",
    "void": "nothing",
}
BASIC: dict[str, ConvoType] = {name: Basic(name) for name in _READERS}
ANY, VOID = BASIC["any"], BASIC["void"]


def _json_kind(value: Any) -> str:
    kinds = {str: "string", bool: "boolean", type(None): "null"}
    return next((name for python, name in kinds.items() if isinstance(value, python)), "number")


def _says_the_same(known: Any, value: Any) -> bool:
    """Whether a value says a constant in another type: "5" for 5, 5 for "5", " happy " for "happy"."""
    simple = isinstance(value, (str, bool)) or is_number(value)
    return simple and render_value(value).strip() == render_value(known)


def schema_of(type_: ConvoType) -> dict[str, Any]:
    """The JSON Schema of a type.

    >>> schema_of(ArrayOf(Enum(("happy", "sad"))))
    {'type': 'array', 'items': {'type': 'string', 'enum': ['happy', 'sad']}}
    """
    return type_.schema


def coerce(value: Any, type_: ConvoType, where: str = "the value") -> Any:
    """A value as one of a type: `5` as a string is `"5"`, `"5"` as a number is 5.

    >>> coerce({"n": "5", "more": 1}, Struct((Field("n", BASIC["number"]),)))
    {'n': 5}
    >>> coerce("x", BASIC["int"], "`f.count`")
    Traceback (most recent call last):
    memorygraph.runtime.values.ValueProblem: `f.count` must be a whole number, and is a text: "x"

    Raises:
        ValueProblem: it is none; the message says where, what was expected, and what came.
    """
    return type_.read(value, where)


def accepts(type_: ConvoType, value: Any) -> bool:
    """Whether a value is one of a type as it is.

    >>> accepts(BASIC["number"], 5), accepts(BASIC["number"], "5")
    (True, False)
    """
    match type_:
        case Enum():
            return any(strict_equal(known, value) for known in type_.values)
        case ArrayOf():
            return isinstance(value, (list, tuple)) and all(accepts(type_.item, item) for item in value)
        case Struct():
            return isinstance(value, Mapping) and all(_field_accepts(field, value) for field in type_.fields)
        case _:
            found = _READERS[type_.name](value) if isinstance(type_, Basic) else _NOTHING
            return found is not _NOTHING and (type_ in {ANY, VOID} or strict_equal(found, value))


def _field_accepts(field: Field, value: Mapping[str, Any]) -> bool:
    found = value.get(field.name, UNDEFINED)
    return field.optional if found is UNDEFINED else accepts(field.type, found)


def type_of(value: Any) -> ConvoType:
    """The type that a value is in the place of a type: a map is a struct, a list with one item is a list of it.

    >>> type_of({"kind": "a", "n": BASIC["int"]}).fields[0].type
    Enum(values=('a',))

    Raises:
        ValueProblem: it is none.
    """
    if isinstance(value, ConvoType):
        return value
    if isinstance(value, Mapping):
        return Struct(tuple(Field(name, type_of(inner)) for name, inner in value.items()))
    if isinstance(value, list) and len(value) == 1:
        return ArrayOf(type_of(value[0]))
    if value is UNDEFINED or isinstance(value, list):
        raise ValueProblem(f"this is no type, but {kind_of(value)}; is its name written as in its `define`?", "no-type")
    return Enum((value,))


@dataclass(frozen=True)
class Entry:
    """One argument of a call, or one entry of a map, with its value."""

    value: Any
    label: str | None = None
    optional: bool = False
    description: str | None = None


def from_call(name: str, entries: Sequence[Entry]) -> Any:
    """What `enum`, `array`, `map` or `struct` gives: a type where a type is in it, and otherwise a list or a map.

    >>> from_call("array", [Entry(BASIC["string"])])
    ArrayOf(item=Basic(name='string'))
    >>> from_call("map", [Entry(1, "a")])
    {'a': 1}

    Raises:
        ValueProblem: the arguments make neither.
    """
    return _CONSTRUCTORS[name](entries)


def _enum(entries: Sequence[Entry]) -> ConvoType:
    if not entries:
        raise ValueProblem("`enum` takes at least one value", "invalid-arguments")
    for entry in entries:
        if entry.value is UNDEFINED or isinstance(entry.value, (list, Mapping, ConvoType)):
            found = kind_of(entry.value)
            raise ValueProblem(f"`enum` takes texts, numbers and constants, and this is {found}", "invalid-arguments")
    return Enum(tuple(entry.value for entry in entries))


def _array(entries: Sequence[Entry]) -> Any:
    values = [entry.value for entry in entries]
    return ArrayOf(values[0]) if len(values) == 1 and isinstance(values[0], ConvoType) else values


def _map(entries: Sequence[Entry]) -> Any:
    is_type = any(entry.optional or isinstance(entry.value, ConvoType) for entry in entries)
    return _struct(entries) if is_type else {_label(entry): entry.value for entry in entries}


def _struct(entries: Sequence[Entry]) -> ConvoType:
    fields = {
        _label(entry): Field(_label(entry), type_of(entry.value), entry.optional, entry.description)
        for entry in entries
    }
    return Struct(tuple(fields.values()))


def _label(entry: Entry) -> str:
    if entry.label is None:
        raise ValueProblem(f"a map has names: write `name: value` in place of {shown(entry.value)}", "no-label")
    return entry.label


_CONSTRUCTORS: dict[str, Callable[[Sequence[Entry]], Any]] = {
    "enum": _enum,
    "array": _array,
    "map": _map,
    "struct": _struct,
}
