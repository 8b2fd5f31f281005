"""Functions of a conversation as tools of a model: what the model is told of them, and what it says to call them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memorygraph.languages.convo.syntax import FunctionMessage
from memorygraph.llm.shapes import ReplyError
from memorygraph.runtime.convo.evaluator import Evaluator
from memorygraph.runtime.convo.types import Struct, coerce, schema_of
from memorygraph.runtime.convo.values import kind_of, shown
from memorygraph.runtime.values import ValueProblem


def tool_schema(function: FunctionMessage, evaluator: Evaluator) -> dict[str, Any]:
    """A function in the format that OpenAI's API calls `tools`; comments on it and its parameters are descriptions.

    >>> from memorygraph.errors import Source
    >>> from memorygraph.runtime.convo.scope import Environment
    >>> evaluator = Evaluator(Environment(), Source(""))
    >>> tool_schema(FunctionMessage(None, "stop", description="End it."), evaluator)["function"]["description"]
    'End it.'

    Raises:
        ScriptError: a type in its head is none.
    """
    described = {"description": function.description} if function.description else {}
    parameters = schema_of(evaluator.signature(function))
    return {"type": "function", "function": {"name": function.name, **described, "parameters": parameters}}


def function_named(name: str, functions: Mapping[str, FunctionMessage]) -> FunctionMessage:
    """The function that a model calls.

    Raises:
        ReplyError: it was offered none of that name.
    """
    if name not in functions:
        known = ", ".join(f"`{known}`" for known in functions) or "none"
        raise ReplyError(f"the model called the function {shown(name)}, which it was not offered; it has {known}")
    return functions[name]


def arguments_of(given: str | Mapping[str, Any], function: FunctionMessage, evaluator: Evaluator) -> dict[str, Any]:
    """The arguments that a model gives to a function, as JSON or as a map, as values of its parameters' types.

    What the function has no parameter for is left out.

    Raises:
        ReplyError: they are no JSON object, or not what the function takes.
        ScriptError: a type in the head of the function is none.
    """
    signature = evaluator.signature(function)
    value = _read(given, function.name) if isinstance(given, str) else given
    if not isinstance(value, Mapping):
        raise ReplyError(f"the arguments for `{function.name}` must be a JSON object, and are {kind_of(value)}")
    return _fitted(value, signature, function.name)


def _read(text: str, name: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ReplyError(f"the arguments for `{name}` are no JSON: {error}: {shown(text)}") from error


def _fitted(value: Mapping[str, Any], signature: Struct, name: str) -> dict[str, Any]:
    try:
        fitted: dict[str, Any] = coerce(value, signature, f"`{name}`")
    except ValueProblem as error:
        raise ReplyError(f"the model's arguments do not fit: {error}") from error
    return fitted


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")
