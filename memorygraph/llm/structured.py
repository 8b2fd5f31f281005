"""Structured output: asks a model for JSON of a shape, finds it in the answer, and tells the model what was wrong.

Source: specs/agentscript.md, sections 5 and 7.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from memorygraph.context.rendering import indented, render
from memorygraph.llm.shapes import ShapeField, ShapeMismatch, UnparsableReply, fit_shape

_FENCE = "```"
_LANGUAGE = re.compile(r"\s*[A-Za-z0-9_+-]*\s")
_OBJECT = re.compile(r'\{(?=[ \t\r\n]*["}])')
_OBJECT_OR_LIST = re.compile(r"[{\[]")

# An answer in prose has a few brackets; in a hostile one each of them could cost its whole length.
_MAX_BRACKETS = 200


def refuse_non_json(name: str) -> NoReturn:
    """Refuse `NaN` and `Infinity`, which Python reads and JSON does not have."""
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=refuse_non_json)


def documents(text: str, *, lists: bool = False) -> Iterator[Any]:
    r"""Yield the values that a text holds as JSON, the likeliest first; lists in prose only where `lists` are wanted.

    >>> next(documents('Sure:\n```json\n{"ok": true}\n```'))
    {'ok': True}
    >>> list(documents("I cannot"))
    []
    """
    candidates = [text]
    for part in text.split(_FENCE)[1::2]:
        # Without and with what may be the name of its language.
        if language := _LANGUAGE.match(part):
            candidates.append(part[language.end() :])
        candidates.append(part)
    for candidate in candidates:
        try:
            yield _DECODER.decode(candidate.strip("\ufeff \t\r\n"))
        except (ValueError, RecursionError):
            continue
    brackets = (_OBJECT_OR_LIST if lists else _OBJECT).finditer(text)
    for match, _ in zip(brackets, range(_MAX_BRACKETS), strict=False):
        try:
            yield _DECODER.raw_decode(text, match.start())[0]
        except (ValueError, RecursionError):
            continue


def schema_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field of a request that asks for JSON of a schema.

    >>> schema_format({"type": "object"})["json_schema"]["name"]
    'agentscript_generate'
    """
    return {
        "type": "json_schema",
        "json_schema": {"name": "agentscript_generate", "strict": True, "schema": dict(schema)},
    }


def read_reply(text: str, fields: Sequence[ShapeField]) -> dict[str, Any]:
    """Read the object of a shape in a model's answer: all of it, or in a fence, or the first object in its prose.

    >>> read_reply('Sure! {"ok": "true"}', [ShapeField("ok", "boolean")])
    {'ok': True}

    Raises:
        UnparsableReply: there is no JSON in it.
        ShapeMismatch: the JSON in it has another shape.
    """
    for document in documents(text):
        return fit_shape(document, fields)
    raise UnparsableReply("the model's answer is not JSON")


def repair_input(original: Any, error: object, previous: Any = None) -> Any:
    r"""Return the input of the next attempt: the original one, and what was wrong with the latest answer.

    `previous` is the model's answer, where it was JSON; a `ShapeMismatch` holds it already.

    >>> print(repair_input("Count.", 'the field "n" is missing at 1:5', {}))
    Count.
    <BLANKLINE>
    Previous generation failed.
    <BLANKLINE>
    Previous output:
    {}
    <BLANKLINE>
    Error:
    the field "n" is missing at 1:5
    <BLANKLINE>
    Return corrected JSON matching the requested schema only.
    """
    said = isinstance(error, ShapeMismatch) or previous is not None
    if isinstance(error, ShapeMismatch) and previous is None:
        previous = error.value
    # Quoted, or the lines of a text could be read as parts of the prompt.
    output = [f"Previous output:\n{indented(previous)}"] if said else []
    repair = "\n\n".join(
        [
            "Previous generation failed.",
            *output,
            f"Error:\n{error}",
            "Return corrected JSON matching the requested schema only.",
        ]
    )
    if isinstance(original, Mapping):
        return {**original, "repair": repair}
    if isinstance(original, str):
        return f"{render(original)}\n\n{repair}"
    return {"input": original, "repair": repair}
