"""The types of Convo-Lang: what they accept, what they convert, and the JSON Schema that a model is told.

Types are values: `enum("a" "b")`, `array(Name)` and `map(a: string b?: number)` are calls that give them. Source:
specs/convo.md, sections 1.3 and 1.4.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memorygraph.json_text import MAX_JSON_DEPTH
from memorygraph.limits import BYTES_PER_PART, spend
from memorygraph.runtime.convo.values import (
    UNDEFINED,
    ConvoType,
    excerpt,
    is_number,
    name_kind,
    render_value,
    strict_equal,
)
from memorygraph.runtime.values import ValueProblem

# The repetitions are bounded, so that no text makes `int` or `float` read thousands of digits.
NUMBER = re.compile(r"[-+]?(?:[0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})([eE][-+]?[0-9]{1,3})?")

# What a conversion gives for a value that cannot be converted; None and UNDEFINED are values.
MISMATCH: Any = object()

MAX_SHOWN_VALUES = 20
MAX_WRITTEN_PARTS = 10_000  # of a variable with types in it that is kept for a run that is resumed


@dataclass(frozen=True)
class Basic(ConvoType):
    """`string`, `number`, `int`, `time` in milliseconds, `boolean`, `any`, `object` or `void`."""

    name: str
    words: str = dataclasses.field(compare=False, repr=False)
    json_schema: dict[str, Any] = dataclasses.field(compare=False, repr=False)
    convert: Callable[[Any], Any] = dataclasses.field(compare=False, repr=False)  # gives the value, or MISMATCH

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        return dict(self.json_schema)

    @property
    def described(self) -> str:
        """What messages call a value of it."""
        return self.words

    def coerce(self, value: Any, where: str = "the value") -> Any:
        """Convert a value to this type."""
        found = self.convert(value)
        if found is MISMATCH:
            raise mismatch(self, value, where)
        return found

    def accepts(self, value: Any) -> bool:
        """Whether a value has this type without a conversion."""
        found = self.convert(value)
        return found is not MISMATCH and (self in {ANY, VOID} or strict_equal(found, value))


@dataclass(frozen=True)
class Enum(ConvoType):
    """One of some values; a literal type is an enum with a single value."""

    values: tuple[Any, ...]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        names = {str: "string", bool: "boolean", type(None): "null"}
        kinds = {names.get(type(value), "number") for value in self.values}
        return {**({"type": kinds.pop()} if len(kinds) == 1 else {}), "enum": list(self.values)}

    @property
    def described(self) -> str:
        """What messages call a value of it."""
        known = ", ".join(excerpt(value) for value in self.values[:MAX_SHOWN_VALUES])
        return known if len(self.values) == 1 else f"one of {known}{', …' * (len(self.values) > MAX_SHOWN_VALUES)}"

    def coerce(self, value: Any, where: str = "the value") -> Any:
        """Find the constant that a value is, or is as text: "5" for 5, 5 for "5", " happy " for "happy"."""
        for known in self.values:
            if strict_equal(known, value):
                return known
        if isinstance(value, (str, bool)) or is_number(value):
            said = render_value(value).strip()
            for known in self.values:
                if said == render_value(known):
                    return known
        raise mismatch(self, value, where)

    def accepts(self, value: Any) -> bool:
        """Whether a value has this type without a conversion."""
        return any(strict_equal(known, value) for known in self.values)


@dataclass(frozen=True)
class ArrayOf(ConvoType):
    """A list of values of one type."""

    item: ConvoType
    described = "a list"

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        return {"type": "array", "items": self.item.schema}

    def coerce(self, value: Any, where: str = "the value") -> Any:
        """Convert a list to this type."""
        if not isinstance(value, (list, tuple)):
            raise mismatch(self, value, where)
        spend(len(value), len(value) * BYTES_PER_PART)
        return [self.item.coerce(item, f"{where}[{index}]") for index, item in enumerate(value)]

    def accepts(self, value: Any) -> bool:
        """Whether a value has this type without a conversion."""
        if not isinstance(value, (list, tuple)):
            return False
        spend(len(value))
        return all(self.item.accepts(item) for item in value)


@dataclass(frozen=True)
class StructField:
    """A key of a struct, or a parameter of a function."""

    name: str
    type: ConvoType
    optional: bool = False
    description: str | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value."""
        return {**self.type.schema, **({"description": self.description} if self.description else {})}

    @property
    def takes_null(self) -> bool:
        """Whether null is a value of the field, and not only a model's way to leave it out."""
        return self.type == ANY or (isinstance(self.type, Enum) and None in self.type.values)


@dataclass(frozen=True)
class Struct(ConvoType):
    """A map with these keys. Other keys of a value are left out."""

    fields: tuple[StructField, ...] = ()
    described = "a map"

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        return {
            "type": "object",
            "properties": {field.name: field.schema for field in self.fields},
            "required": [field.name for field in self.fields if not field.optional],
            "additionalProperties": False,
        }

    def coerce(self, value: Any, where: str = "the value") -> Any:
        """Convert a map to this type."""
        if not isinstance(value, Mapping):
            raise mismatch(self, value, where)
        result = {}
        spend(len(self.fields), len(self.fields) * BYTES_PER_PART)
        for field in self.fields:
            found = value.get(field.name, UNDEFINED)
            # A model that has nothing to say for an optional key says null.
            if field.optional and (found is UNDEFINED or (found is None and not field.takes_null)):
                continue
            if found is UNDEFINED and field.type != VOID:
                missing = f"{where}.{field.name} is missing; it must be {field.type.described}"
                raise ValueProblem(missing, "type-mismatch")
            if field.name in value:
                result[field.name] = field.type.coerce(found, f"{where}.{field.name}")
        return result

    def accepts(self, value: Any) -> bool:
        """Whether a value has this type without a conversion."""
        if not isinstance(value, Mapping):
            return False
        spend(len(self.fields))
        return all(
            field.type.accepts(value[field.name])
            if value.get(field.name, UNDEFINED) is not UNDEFINED
            else field.optional
            for field in self.fields
        )


def mismatch(type_: ConvoType, value: Any, where: str) -> ValueProblem:
    """Describe a value that cannot be converted to a type."""
    said = name_kind(value) if value is UNDEFINED or value is None else f"{name_kind(value)}: {excerpt(value)}"
    return ValueProblem(f"{where} must be {type_.described}, and is {said}", "type-mismatch")


def to_string(value: Any) -> Any:
    """Convert texts, numbers and booleans to a text."""
    return render_value(value) if isinstance(value, (str, bool)) or is_number(value) else MISMATCH


def to_number(value: Any) -> Any:
    """Convert a text that is a number; the number must be one that a float can hold."""
    if isinstance(value, str) and (match := NUMBER.fullmatch(value.strip())):
        value = float(match[0]) if "." in match[0] or match[2] else int(match[0])
    try:
        return value if is_number(value) and math.isfinite(value) else MISMATCH
    except OverflowError:  # a model can write whole numbers that are larger
        return MISMATCH


def to_integer(value: Any) -> Any:
    """Convert a number without a fraction to a whole number."""
    found = to_number(value)
    if isinstance(found, float):
        return int(found) if found.is_integer() else MISMATCH
    return found


def to_boolean(value: Any) -> Any:
    """Convert the texts `true` and `false`, in any case of letters."""
    found = {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else value
    return found if isinstance(found, bool) else MISMATCH


BASIC: dict[str, ConvoType] = {
    type_.name: type_
    for type_ in (
        Basic("string", "a text", {"type": "string"}, to_string),
        Basic("number", "a number", {"type": "number"}, to_number),
        Basic("int", "a whole number", {"type": "integer"}, to_integer),
        Basic("time", "a time in milliseconds", {"type": "integer"}, to_integer),
        Basic("boolean", "true or false", {"type": "boolean"}, to_boolean),
        Basic("any", "a value", {}, lambda value: value),
        Basic("object", "a map", {"type": "object"}, lambda value: value if isinstance(value, Mapping) else MISMATCH),
        Basic("void", "nothing", {"type": "null"}, lambda value: UNDEFINED if value in (None, UNDEFINED) else MISMATCH),
    )
}
ANY, VOID = BASIC["any"], BASIC["void"]


def type_of(value: Any) -> ConvoType:
    """Read a value as a type: a map is a struct, `[type]` a list, and a constant a literal type."""
    if isinstance(value, ConvoType):
        return value
    if isinstance(value, Mapping):
        return Struct(tuple(StructField(name, type_of(inner)) for name, inner in value.items()))
    if isinstance(value, list) and len(value) == 1:
        return ArrayOf(type_of(value[0]))
    if value is UNDEFINED or isinstance(value, list):
        raise ValueProblem(f"expected a type, not {name_kind(value)}; is its name that of its `define`?", "no-type")
    return Enum((value,))


# Types as JSON, for a run that is resumed


def can_write_types(value: Any) -> bool:
    """Whether JSON can hold a value when its types are written; not one that is very large, or holds itself."""
    waiting, count = [(value, 0)], 0  # each part with the levels around it
    while waiting:
        found, depth = waiting.pop()
        inner: Iterable[Any] = ()
        match found:
            case Struct():
                inner = (field.type for field in found.fields)
            case ArrayOf():
                inner = (found.item,)
            case Enum():
                inner = found.values
            case dict():
                inner = found.values()
            case list():
                inner = found
            case _ if found is UNDEFINED:
                return False
        waiting += [(part, depth + 2) for part in inner]
        count += 1
        if count + len(waiting) > MAX_WRITTEN_PARTS or depth > MAX_JSON_DEPTH:
            return False
    return True


def write_types(value: Any) -> Any:
    """Write a value that may have types in it as JSON: a type as its schema.

    >>> write_types([{"a": BASIC["int"]}, 5])
    {'list': [{'map': {'a': {'type': {'type': 'integer'}}}}, 5]}
    """
    if isinstance(value, ConvoType):
        return {"type": value.schema}
    if isinstance(value, dict):
        return {"map": {name: write_types(held) for name, held in value.items()}}
    return {"list": [write_types(item) for item in value]} if isinstance(value, list) else value


def read_types(written: Any) -> Any:
    """Read a value that `write_types` wrote; a `time` is an `int` then, which accepts the same."""
    if not isinstance(written, dict):
        return written
    [(kind, held)] = written.items()
    if kind == "type":
        return type_of_schema(held)
    return {n: read_types(v) for n, v in held.items()} if kind == "map" else [read_types(item) for item in held]


def type_of_schema(schema: Mapping[str, Any]) -> ConvoType:
    """Read the type that a type's schema stands for.

    >>> type_ = Struct((StructField("a", ArrayOf(Enum((1, "x")))), StructField("b", BASIC["any"], True, "said")))
    >>> type_of_schema(type_.schema) == type_
    True
    """
    if "enum" in schema:
        return Enum(tuple(schema["enum"]))
    if "items" in schema:
        return ArrayOf(type_of_schema(schema["items"]))
    if "properties" in schema:
        return Struct(
            tuple(
                StructField(name, type_of_schema(inner), name not in schema["required"], inner.get("description"))
                for name, inner in schema["properties"].items()
            )
        )
    return next(basic for basic in BASIC.values() if basic.schema.get("type") == schema.get("type"))


@dataclass(frozen=True)
class LabelledValue:
    """One argument of a call, or one entry of a map, with its value."""

    value: Any
    label: str | None = None
    optional: bool = False
    description: str | None = None

    @property
    def key(self) -> str:
        """The label, where one is required."""
        if self.label is None:
            shown = excerpt(self.value)
            raise ValueProblem(f"a map has names: write `name: value` in place of {shown}", "no-label")
        return self.label


def make_enum(entries: Sequence[LabelledValue]) -> ConvoType:
    """Evaluate `enum(…)`."""
    if not entries:
        raise ValueProblem("`enum` takes at least one value", "invalid-arguments")
    for entry in entries:
        if entry.value is UNDEFINED or isinstance(entry.value, (list, Mapping, ConvoType)):
            found = name_kind(entry.value)
            raise ValueProblem(f"`enum` takes texts, numbers and constants, and this is {found}", "invalid-arguments")
    return Enum(tuple(entry.value for entry in entries))


def make_array(entries: Sequence[LabelledValue]) -> Any:
    """Evaluate `array(…)` or `[…]`: a type for a single type, otherwise a list."""
    values = [entry.value for entry in entries]
    return ArrayOf(values[0]) if len(values) == 1 and isinstance(values[0], ConvoType) else values


def make_map(entries: Sequence[LabelledValue]) -> Any:
    """Evaluate `map(…)` or `{…}`: a type where one of its values is a type or optional, otherwise a map."""
    if any(entry.optional or isinstance(entry.value, ConvoType) for entry in entries):
        return make_struct(entries)
    return {entry.key: entry.value for entry in entries}


def make_struct(entries: Sequence[LabelledValue]) -> ConvoType:
    """Evaluate `struct(…)`: always a type."""
    fields = {
        entry.key: StructField(entry.key, type_of(entry.value), entry.optional, entry.description) for entry in entries
    }
    return Struct(tuple(fields.values()))


CONSTRUCTORS: dict[str, Callable[[Sequence[LabelledValue]], Any]] = {
    "enum": make_enum,
    "array": make_array,
    "map": make_map,
    "struct": make_struct,
}
