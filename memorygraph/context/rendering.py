"""Renders values as JavaScript's JSON.stringify does, because AgentScript defines its prompts and equality by it.

Source: specs/agentscript.md, section 5. Two deviations: whole numbers keep all their digits, as those that Neo4j
stores do; and the line breaks that JSON leaves as they are (U+0085, U+2028, U+2029) are escaped, so that no text in
a rendered value can begin a line of its prompt.
"""

from __future__ import annotations

import json.encoder
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from memorygraph.errors import MemoryGraphError
from memorygraph.limits import spend

# A few values that hold each other many times can mean more text than any memory holds.
MAX_PIECES = 10_000_000
CHARACTERS_PER_WORK = 100  # that are written
CHARACTERS_PER_COUNT = 10_000  # that are written between two looks at the limits of the run

_INDEX = re.compile("0|[1-9][0-9]{0,9}")
_MAX_INDEX = 2**32 - 2
_UNSAFE = re.compile("[\x85\u2028\u2029\ud800-\udfff]")
_quote_plainly = json.encoder.encode_basestring


def render(value: Any) -> str:
    """Render a value as a prompt holds it: a text as it is, anything else as indented JSON.

    >>> render("plain"), render(1.0), render([])
    ('plain', '1', '[]')
    >>> print(render({"b": [True, None], "2": "x"}))
    {
      "2": "x",
      "b": [
        true,
        null
      ]
    }

    Raises:
        MemoryGraphError: a part of it is not JSON, or it holds itself.
    """
    return str(value) if isinstance(value, str) else indented(value)


def indented(value: Any, level: int = 0) -> str:
    """Render a value as JSON with an indentation of two, as part of a text at a level of indentation."""
    return write_json(value, "\n" + "  " * level)


def compact(value: Any) -> str:
    """Render a value as JSON without blanks; two values of AgentScript are equal when these texts are.

    >>> compact({"a": [1.5, 1e21, -0.0], "1": "é"})
    '{"1":"é","a":[1.5,1e+21,0]}'
    """
    return write_json(value, "")


def quoted(text: str) -> str:
    r"""Render a text as a string of JSON, on one line.

    >>> print(quoted("a\nb\u2028"))
    "a\nb\u2028"
    """
    plain = _quote_plainly(text)
    return plain if plain.isascii() else _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", plain)


def fields_of(value: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    """List the fields in JavaScript's order: keys that are array indexes first, ascending, and then the others.

    >>> fields_of({"b": 1, "10": 2, "9": 3, "01": 4})
    [('9', 3), ('10', 2), ('b', 1), ('01', 4)]
    """
    fields = list(value.items())
    try:
        indexed = any(map(str.isdigit, value))
    except TypeError as error:
        raise MemoryGraphError("a field's name is a text, and not a value of another type") from error
    if indexed:
        fields.sort(key=lambda field: int(field[0]) if is_index(field[0]) else _MAX_INDEX + 1)
    return fields


def is_index(key: str) -> bool:
    """Tell whether JavaScript takes a key for an index of an array."""
    return _INDEX.fullmatch(key) is not None and int(key) <= _MAX_INDEX


def render_float(value: float) -> str:
    """Write a float as JavaScript does: the same shortest digits as Python's, in another layout."""
    if not math.isfinite(value):
        return "null"
    shown = float.__repr__(value)
    if "e" not in shown:
        return shown.removesuffix(".0") if value else "0"
    mantissa, _, exponent = shown.partition("e")
    power = int(exponent)
    if not -6 <= power < 21:
        return f"{mantissa}e{power:+d}"
    sign, digits = ("-" if value < 0 else ""), mantissa.lstrip("-").replace(".", "")
    return f"{sign}0.{'0' * (-power - 1)}{digits}" if power < 0 else sign + digits.ljust(power + 1, "0")


def render_int(value: int) -> str:
    """Write an integer with all its digits."""
    try:
        return int.__repr__(value)
    except ValueError as error:  # Python refuses numbers of several thousand digits
        raise MemoryGraphError(f"a number is too long to be shown: {error}") from error


_LEAVES: dict[type, Callable[[Any], str]] = {
    str: quoted,
    bool: lambda value: "true" if value else "false",
    int: render_int,
    float: render_float,
    type(None): lambda _: "null",
}


def leaf_writer(value: Any) -> Callable[[Any], str] | None:
    """Return the function that writes a value without parts; None for a value with parts."""
    if isinstance(value, (dict, list, tuple, Mapping)):
        return None
    for kind, write in _LEAVES.items():
        if isinstance(value, kind):
            return write
    raise MemoryGraphError(f"a value of the type {type(value).__name__} is not a JSON value; it cannot be rendered")


def iterate_entries(value: Any, line: str) -> Iterator[tuple[str, Any]]:
    """Yield each part of a value after the text that precedes it."""
    lead = line
    if isinstance(value, Mapping):
        colon = ": " if line else ":"
        for key, inner in fields_of(value):
            yield f"{lead}{quoted(key)}{colon}", inner
            lead = "," + line
    else:
        for inner in value:
            yield lead, inner
            lead = "," + line


def write_json(value: Any, line: str) -> str:
    """Write a value as JSON. `line` begins each of its lines; the empty one makes it compact."""
    # Not recursive: a program can nest its values deeper than Python can nest its calls.
    write = _LEAVES.get(type(value)) or leaf_writer(value)
    if write is not None:
        return write(value)
    pieces: list[str] = []
    uncounted = 0
    step = "  " if line else ""
    open_ids: set[int] = set()
    stack: list[tuple[Iterator[tuple[str, Any]], Any, str]] = []

    def open_value(inner: Any) -> None:
        if id(inner) in open_ids:
            raise MemoryGraphError("a value holds itself; it cannot be rendered")
        if len(pieces) > MAX_PIECES:
            raise MemoryGraphError(f"a value is too large to be rendered: it has more than {MAX_PIECES} parts")
        around = line + step * len(stack)
        pieces.append("{" if isinstance(inner, Mapping) else "[")
        open_ids.add(id(inner))
        stack.append((iterate_entries(inner, around + step), inner, around))

    open_value(value)
    while stack:
        entries, container, around = stack[-1]
        for lead, inner in entries:
            pieces.append(lead)
            write = _LEAVES.get(type(inner)) or leaf_writer(inner)
            uncounted += len(lead) + 2 + len(stack)
            if write is not None:
                pieces.append(write(inner))
                uncounted += len(pieces[-1])
            if uncounted > CHARACTERS_PER_COUNT:
                spend(uncounted // CHARACTERS_PER_WORK, uncounted)
                uncounted = 0
            if write is None:
                open_value(inner)
                break
        else:
            stack.pop()
            open_ids.remove(id(container))
            pieces.append((around if container else "") + ("}" if isinstance(container, Mapping) else "]"))
    return "".join(pieces)
