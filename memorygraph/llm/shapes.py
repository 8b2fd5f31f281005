"""The shape of an answer: its fields, their JSON Schema, and the check of an answer against them.

Source: specs/agentscript.md, sections 5 and 7.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memorygraph.context.rendering import compact
from memorygraph.errors import MemoryGraphError, ModelError

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?")
_BOOLEANS = {"true": True, "false": False}

_SCHEMAS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "json": {},
    "list": {"type": "array"},
}
SHAPE_TYPES = tuple(_SCHEMAS)
_KINDS = {"string": "a string", "number": "a number", "boolean": "true or false", "list": "a list"}
_MAX_PROBLEMS = 10
_MAX_DIGITS = 300


@dataclass(frozen=True)
class ShapeField:
    """A field of an answer. `type` is string, number, boolean, json or list; `item` is that of a list's items."""

    name: str
    type: str
    item: str | None = None


class ReplyError(ModelError):
    """A model's answer is not of the shape that was asked for; asking again can help."""


class UnparsableReply(ReplyError):  # noqa: N818 - the name says what is wrong
    """There is no JSON in a model's answer."""


class ShapeMismatch(ReplyError):  # noqa: N818 - the name says what is wrong
    """The JSON in a model's answer has another shape. `value` is that JSON."""

    def __init__(self, value: Any, message: str) -> None:
        super().__init__(message)
        self.value = value


def schema_of(fields: Sequence[ShapeField]) -> dict[str, Any]:
    """Return the JSON Schema of an object with these fields, all of them required and no others.

    >>> schema_of([ShapeField("tags", "list", "string")])["properties"]
    {'tags': {'type': 'array', 'items': {'type': 'string'}}}
    """
    return {
        "type": "object",
        "properties": {
            field.name: _SCHEMAS[field.type] | ({"items": dict(_SCHEMAS[field.item])} if field.item else {})
            for field in fields
        },
        "required": [field.name for field in fields],
        "additionalProperties": False,
    }


def mock_reply(fields: Sequence[ShapeField]) -> dict[str, Any]:
    """Return an answer of the shape without a model: empty values, and one of them in a list of a known type.

    >>> mock_reply([ShapeField("text", "string"), ShapeField("scores", "list", "number")])
    {'text': '', 'scores': [0]}
    """

    def mock(kind: str) -> Any:
        empty: dict[str, Any] = {"string": "", "number": 0, "boolean": True, "json": {}, "list": []}
        return empty[kind]

    return {field.name: mock(field.type) if field.item is None else [mock(field.item)] for field in fields}


def fit_shape(value: Any, fields: Sequence[ShapeField]) -> dict[str, Any]:
    """Return a model's value as an object of the shape, in the order of the shape.

    Numbers and booleans in strings are read as such.

    >>> fit_shape({"n": " 2.5 "}, [ShapeField("n", "number")])
    {'n': 2.5}

    Raises:
        ShapeMismatch: it has another shape; the message names each field, what it must be, and what it is.
    """
    if not isinstance(value, dict):
        raise ShapeMismatch(value, f"the answer must be a JSON object, and is {shorten_json(value)}")
    named = {field.name for field in fields}
    fitted: dict[str, Any] = {}
    for field in fields:
        if field.name in value:
            inner = value[field.name]
            if field.item is not None and isinstance(inner, list):
                fitted[field.name] = [read_as(item, field.item) for item in inner]
            else:
                fitted[field.name] = read_as(inner, field.type)
    problems = [field_problem(field, fitted) for field in fields]
    problems += [f"the field {shorten_json(name)} was not asked for" for name in value if name not in named]
    found = [problem for problem in problems if problem]
    if found:
        more = f"; and {len(found) - _MAX_PROBLEMS} more problems" if len(found) > _MAX_PROBLEMS else ""
        raise ShapeMismatch(value, "; ".join(found[:_MAX_PROBLEMS]) + more)
    return fitted


def field_problem(field: ShapeField, fitted: dict[str, Any]) -> str | None:
    """Say what is wrong with one field, if anything is."""
    name = f"the field {shorten_json(field.name)}"
    if field.name not in fitted:
        return f"{name} is missing"
    value = fitted[field.name]
    if not is_of_kind(value, field.type):
        return f"{name} must be {_KINDS[field.type]}, and is {shorten_json(value)}"
    if field.item is not None:
        for index, item in enumerate(value):
            if not is_of_kind(item, field.item):
                return f"item {index} of {name} must be {_KINDS[field.item]}, and is {shorten_json(item)}"
    return None


def is_of_kind(value: Any, kind: str) -> bool:
    """Tell whether a value is of a type of shapes; numbers are finite."""
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    types: dict[str, type] = {"string": str, "boolean": bool, "list": list}
    return kind == "json" or isinstance(value, types[kind])


def read_as(value: Any, kind: str) -> Any:
    """Read a number or a boolean that a model gave as a string."""
    if not isinstance(value, str):
        return value
    if kind == "boolean":
        return _BOOLEANS.get(value.strip().lower(), value)
    number = _NUMBER.fullmatch(value.strip()) if kind == "number" else None
    # A float has room for some 300 digits, and Python refuses to read thousands.
    if number is None or len(number[0]) > _MAX_DIGITS:
        return value
    return float(number[0]) if number[1] else int(number[0])


def shorten_json(value: Any, limit: int = 60) -> str:
    """Show a value in a message: as JSON, on one line, cut."""
    try:
        text = compact(value)
    except MemoryGraphError:
        return "a value that cannot be shown"
    return text if len(text) <= limit else text[:limit] + "…"
