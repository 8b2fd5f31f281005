"""Answers without a model, for trying programs: the smallest of the shape that is asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memorygraph.llm.completion import Completion, ToolCall

MODEL = "mock"


def mock_value(schema: Mapping[str, Any]) -> Any:
    """Return the smallest value of a JSON Schema: empty texts, 0, true, and one item in a list of a known type.

    >>> mock_value({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]})
    {'ok': True}
    """
    if "enum" in schema:
        return next(iter(schema["enum"]), None)
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: mock_value(properties.get(name, {})) for name in schema.get("required", ())}
    if kind == "array":
        return [mock_value(schema["items"])] if "items" in schema else []
    empty: dict[Any, Any] = {"string": "", "number": 0, "integer": 0, "boolean": True, "null": None}
    return empty.get(kind, {})


def mock_completion(schema: Mapping[str, Any] | None, parameters: Mapping[str, Any]) -> Completion:
    """Answer with the smallest JSON of a schema, or nothing; a call of a tool that is required is made.

    It is shaped as an endpoint's answer, so that it is recorded like one. `parameters` are those of the request.
    """
    answer = "" if schema is None else json.dumps(mock_value(schema), ensure_ascii=False)
    tool = required_tool(parameters.get("tools") or (), parameters.get("tool_choice"))
    calls = () if tool is None else (ToolCall(tool["name"], json.dumps(mock_value(tool["parameters"])), "call_mock"),)
    reason = "tool_calls" if calls else "stop"
    completion = Completion(
        None if calls else answer, calls, reason, model=MODEL, parameters={**parameters, "model": MODEL}
    )
    choice = {"index": 0, "message": completion.message(), "finish_reason": reason}
    return replace(completion, raw={"model": MODEL, "choices": [choice]})


def required_tool(
    tools: Sequence[Mapping[str, Any]], choice: str | Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """Find the function that the model has to call: the named one, or the first where any will do."""
    functions = {tool["function"]["name"]: tool["function"] for tool in tools}
    if isinstance(choice, Mapping):
        found: Mapping[str, Any] | None = functions.get(choice["function"]["name"])
        return found
    return next(iter(functions.values()), None) if choice == "required" else None
