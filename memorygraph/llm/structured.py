"""Structured output: asks a model for JSON of a shape, reads what it says, and says what was wrong with it.

Source: specs/agentscript.md, sections 5 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memorygraph.context.rendering import indented, render
from memorygraph.llm.documents import documents
from memorygraph.llm.shapes import (
    ReplyError,
    ShapeField,
    ShapeMismatch,
    UnparsableReply,
    fit,
    mock_reply,
    schema_of,
)

__all__ = [
    "ReplyError",
    "ShapeField",
    "ShapeMismatch",
    "UnparsableReply",
    "mock_reply",
    "read_reply",
    "repair_input",
    "response_format",
    "schema_of",
]


def response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a request says to get JSON of a schema.

    >>> response_format({"type": "object"})["json_schema"]["name"]
    'agentscript_generate'
    """
    return {
        "type": "json_schema",
        "json_schema": {"name": "agentscript_generate", "strict": True, "schema": dict(schema)},
    }


def read_reply(text: str, fields: Sequence[ShapeField]) -> dict[str, Any]:
    """The object of the shape in a model's answer: all of it, or in a fence, or the first object in its prose.

    >>> read_reply('Sure! {"ok": "true"}', [ShapeField("ok", "boolean")])
    {'ok': True}

    Raises:
        UnparsableReply: there is no JSON in it.
        ShapeMismatch: the JSON in it has another shape.
    """
    for document in documents(text):
        return fit(document, fields)
    raise UnparsableReply("the model's answer is not JSON")


def repair_input(original: Any, error: object, previous: Any = None) -> Any:
    r"""The input of the next try: the original one, and what was wrong with the latest answer.

    `previous` is what the model said, where it was JSON; a `ShapeMismatch` knows it itself.

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
    # A text that the model said is quoted, or its lines could be read as parts of the prompt.
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
