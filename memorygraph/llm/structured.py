"""Structured output: asks a model for JSON of a shape, finds it in the answer, and tells the model what was wrong.

Source: specs/agentscript.md, sections 5 and 7.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memorygraph.context.rendering import compact, indented, render
from memorygraph.errors import MemoryGraphError, ModelError
from memorygraph.json_text import find_end, parse_json, parse_json_at

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?")
_BOOLEANS = {"true": True, "false": False}

_SCHEMAS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "json": {},
    "list": {"type": "array"},
}
_KINDS = {"string": "a string", "number": "a number", "boolean": "true or false", "list": "a list"}
_MAX_PROBLEMS = 10
_MAX_SHOWN_CHARACTERS = 60  # of a value, in a message
_MAX_DIGITS = 300

_FENCE = "```"
# Where a server writes the opening tag into the prompt, the reply has only the closing one, on a line of its own.
_THOUGHTS = re.compile(r"(?:\s*<think>.*?</think>)+|(?!\s*<think>).*?^</think>$", re.DOTALL | re.MULTILINE)
_LANGUAGE = re.compile(r"\s*[A-Za-z0-9_+-]*\s")
# A brace around plain words is of prose or of a formula; a list counts where objects are wanted and it has some.
_OBJECT = re.compile(r'\{(?!\s*[^][{}":=\s][^][{}":=]*\})|\[(?=\s*\{)')
_OBJECT_OR_LIST = re.compile(r"[{\[]")
_BLANKS = r"(?:[ \t\r\n]++|(?://|#)[^\n]*+|/\*(?:[^*]++|\*(?!/))*\*/)*"
_STRING = r'"(?:[^"\\]++|\\.)*"[ \t\r\n]*+'
# What begins as an object or a list, however it goes on: with a key, or a first item, in any quotes or in none.
_BEGUN = re.compile(
    rf'\{{{_BLANKS}(?:{_STRING}|[^][{{}}":=]*+)[:=}}]'
    rf'|\[{_BLANKS}(?:(?:{_STRING}|[^][{{}}",]*+)[],]|(?:{_STRING})?[{{\[])',
    re.DOTALL,
)

# An answer in prose has a few brackets; in a hostile one each of them could cost its whole length.
_MAX_BRACKETS = 200


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
    """Return the JSON Schema of an object with these fields, all of them required and no others."""
    return {
        "type": "object",
        "properties": {
            field.name: _SCHEMAS[field.type] | ({"items": dict(_SCHEMAS[field.item])} if field.item else {})
            for field in fields
        },
        "required": [field.name for field in fields],
        "additionalProperties": False,
    }


def fit_shape(value: Any, fields: Sequence[ShapeField]) -> dict[str, Any]:
    """Return a model's value as an object of the shape, in its order; numbers and booleans may be strings."""
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
        return isinstance(value, (int, float)) and not isinstance(value, bool) and -math.inf < value < math.inf
    types: dict[str, type] = {"string": str, "boolean": bool, "list": list, "json": object}
    return isinstance(value, types[kind])


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


def shorten_json(value: Any) -> str:
    """Show a value in a message: as JSON, on one line, cut."""
    try:
        text = compact(value)
    except MemoryGraphError:
        return "a value that cannot be shown"
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else text[:_MAX_SHOWN_CHARACTERS] + "…"


def without_thoughts(text: str) -> str:
    """Leave out what a model thinks between `<think>` and `</think>`, or before a line `</think>`, before it answers.

    >>> without_thoughts("<think>Maybe no?</think>yes")
    'yes'
    """
    thoughts = _THOUGHTS.match(text)
    return text[thoughts.end() :] if thoughts else text


def documents(text: str, *, lists: bool = False) -> Iterator[Any]:
    """Yield the values that a text holds as JSON, the likeliest first; lists in prose only where `lists` are wanted."""
    text = without_thoughts(text)
    candidates = [text]
    for part in text.split(_FENCE)[1::2]:
        # Without and with what may be the name of its language.
        if language := _LANGUAGE.match(part):
            candidates.append(part[language.end() :])
        candidates.append(part)
    for candidate in candidates:
        try:
            yield parse_json(candidate.strip("\ufeff \t\r\n"), strict=True)
        except ValueError:
            continue
    yield from documents_in_prose(text, lists=lists)


def documents_in_prose(text: str, *, lists: bool) -> Iterator[Any]:
    """Yield the values that stand as JSON between other words, but no part of one that breaks off or has an error."""
    bracket, place = _OBJECT_OR_LIST if lists else _OBJECT, 0
    for _ in range(_MAX_BRACKETS):
        if not (match := bracket.search(text, place)):
            return
        place = match.end()
        if not _BEGUN.match(text, match.start()):
            continue
        try:
            document = parse_json_at(text, match.start())
        except ValueError:
            # What it holds is no answer: it would stand for the whole.
            place = find_end(text, match.start())
        else:
            if lists or match[0] == "{":
                yield document


def schema_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field of a request that asks for JSON of a schema."""
    return {
        "type": "json_schema",
        "json_schema": {"name": "agentscript_generate", "strict": True, "schema": dict(schema)},
    }


def read_reply(text: str, fields: Sequence[ShapeField]) -> dict[str, Any]:
    """Read the object of a shape in a model's answer: all of it, or in a fence, or the first object in its prose."""
    for document in documents(text):
        return fit_shape(document, fields)
    raise UnparsableReply("the model's answer is not JSON")


def repair_input(original: Any, error: str, previous: Any = None) -> Any:
    """Return the input of the next attempt: the original one, and what was wrong with the latest answer.

    `previous` is that answer, where it was JSON.
    """
    parts = ["Previous generation failed."]
    if previous is not None:  # quoted, or the lines of a text could be read as parts of the prompt
        parts.append(f"Previous output:\n{indented(previous)}")
    parts += [f"Error:\n{error}", "Return corrected JSON matching the requested schema only."]
    repair = "\n\n".join(parts)
    if isinstance(original, Mapping):
        return {**original, "repair": repair}
    if isinstance(original, str):
        return f"{render(original)}\n\n{repair}"
    return {"input": original, "repair": repair}
