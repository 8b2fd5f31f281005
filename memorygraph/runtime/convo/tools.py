"""Functions of a conversation as tools of a model: what the model is told of them, and how its calls are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memorygraph.languages.convo import syntax
from memorygraph.llm.structured import ReplyError
from memorygraph.runtime.convo.evaluator import Evaluator
from memorygraph.runtime.convo.values import excerpt, name_kind
from memorygraph.runtime.values import ValueProblem


def tool_schema(function: syntax.FunctionMessage, evaluator: Evaluator) -> dict[str, Any]:
    """Describe a function as OpenAI's API describes `tools`; comments in its head are descriptions.

    >>> from memorygraph.errors import Source
    >>> from memorygraph.runtime.convo.scope import Environment
    >>> evaluator = Evaluator(Environment(), Source(""))
    >>> tool_schema(syntax.FunctionMessage(None, "stop", description="End it."), evaluator)["function"]["description"]
    'End it.'

    Raises:
        ScriptError: a type in its head is invalid.
    """
    described = {"description": function.description} if function.description else {}
    parameters = evaluator.signature(function).schema
    return {"type": "function", "function": {"name": function.name, **described, "parameters": parameters}}


def read_arguments(
    given: str | Mapping[str, Any], function: syntax.FunctionMessage, evaluator: Evaluator
) -> dict[str, Any]:
    """Read the arguments that a model gives to a function, and convert them to the parameters' types.

    What the function has no parameter for is left out.

    Raises:
        ReplyError: they are not a JSON object, or do not fit the function.
        ScriptError: a type in the head of the function is invalid.
    """
    signature = evaluator.signature(function)
    value: Any = given
    if isinstance(given, str):
        try:
            value = json.loads(given, parse_constant=refuse_constant) if given.strip() else {}
        except (ValueError, RecursionError) as error:
            shown = excerpt(given)
            raise ReplyError(f"the arguments for `{function.name}` are not JSON: {error}: {shown}") from error
    if not isinstance(value, Mapping):
        raise ReplyError(f"the arguments for `{function.name}` must be a JSON object, and are {name_kind(value)}")
    try:
        arguments: dict[str, Any] = signature.coerce(value, f"`{function.name}`")
    except ValueProblem as error:
        raise ReplyError(f"the model's arguments do not fit: {error}") from error
    return arguments


def refuse_constant(text: str) -> None:
    """Refuse NaN and Infinity, which Python's `json` reads though JSON has no such numbers."""
    raise ValueError(f"{text} is not a JSON number")
