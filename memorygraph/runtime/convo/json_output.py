"""Typed outputs: how a model is asked for JSON of a schema, and how its reply is read.

An endpoint in JSON mode answers with an object, so that any other value is asked for inside of one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from memorygraph.errors import MemoryGraphError
from memorygraph.llm.structured import documents
from memorygraph.runtime.convo.failure import GraphFailure

JSON_MODE = {"type": "json_object"}
INSIDE = "value"

_SHOWN = 200

Coerce = Callable[[Any], Any]
"""Makes a value one of the wanted type, or raises a `MemoryGraphError`."""


def asked_for_json(messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages, with the schema of the reply at the end of the last one of the user."""
    asked = [dict(message) for message in messages]
    last = next((i for i in reversed(range(len(asked))) if asked[i]["role"] == "user"), None)
    if last is None:
        return [*asked, {"role": "user", "content": response_format(schema)}]
    asked[last]["content"] = f"{asked[last]['content']}\n\n{response_format(schema)}"
    return asked


def response_format(schema: Mapping[str, Any]) -> str:
    """What a request says about the reply that it wants.

    >>> print(response_format({"type": "object"}))
    <response-format>
    Reply only with JSON that conforms to this JSON Schema:
    {
        "type": "object"
    }
    </response-format>
    """
    wanted = json.dumps(wrapped(schema), indent=4, ensure_ascii=False)
    return f"<response-format>\nReply only with JSON that conforms to this JSON Schema:\n{wanted}\n</response-format>"


def wrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object: this one, or one that holds a value of this one."""
    if not schema or schema.get("type") == "object":
        return dict(schema)
    return {"type": "object", "properties": {INSIDE: dict(schema)}, "required": [INSIDE]}


def read_output(reply: str, schema: Mapping[str, Any], coerce: Coerce) -> Any:
    """The value in a reply: as JSON, in a fence or in prose, in the object that was asked for, or as a bare word.

    >>> read_output('{"value": "sad"}', {"enum": ["sad"]}, lambda value: value)
    'sad'

    Raises:
        GraphFailure: it is no value of the type.
    """
    problem: Exception | None = None
    for value in _values(reply, schema):
        try:
            return coerce(value)
        except MemoryGraphError as error:
            problem = problem or error
    shown = reply.strip()
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
    raise GraphFailure(
        f"the model's reply is no value of the wanted type: {problem or 'it is not JSON'} ({shown!r})", "json-output"
    )


def _values(reply: str, schema: Mapping[str, Any]) -> Iterator[Any]:
    """What a reply can mean, the likeliest first."""
    found = False
    for value in documents(reply, lists=True):
        found = True
        if isinstance(value, dict) and len(value) == 1 and schema and schema.get("type") != "object":
            yield next(iter(value.values()))
        yield value
        break
    if not found or schema.get("type") == "string" or "enum" in schema:
        yield reply.strip()


def read_object(reply: str) -> dict[str, Any]:
    r"""The object in a reply; an empty one where there is none.

    >>> read_object('```json\n{"isTrue": true}\n```'), read_object("yes")
    ({'isTrue': True}, {})
    """
    value = next(documents(reply, lists=True), None)
    return value if isinstance(value, dict) else {}
