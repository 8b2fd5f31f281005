"""The input of a program: what the main function is called with."""

from __future__ import annotations

from typing import Any, cast

from memorygraph.context.origins import copy_value
from memorygraph.errors import MemoryGraphError, Problem, ScriptError, Source
from memorygraph.languages.agentscript.syntax import Field, Parameter
from memorygraph.runtime.values import FunctionValue, kind_of

_KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "boolean": bool,
    "list": list,
    "json": object,
}


def input_of(function: FunctionValue, given: Any, source: Source) -> list[Any]:
    """The arguments of the function that a run begins with.

    One parameter is given the whole input; several are given the fields of the input that are called like them.
    Without any input it is an empty object.

    Raises:
        ScriptError: the input does not have the shape that the function declares.
    """
    value = copy_value({} if given is None else given)
    parameters = function.function.parameters
    if len(parameters) <= 1:
        problems = [problem for parameter in parameters for problem in _misfits(parameter, value, source)]
        if problems:
            raise ScriptError(problems)
        return [value for _ in parameters]
    missing = [p.name for p in parameters if not isinstance(value, dict) or p.name not in value]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise MemoryGraphError(f"`{function.name}` needs an input object with {names}")
    return [value[parameter.name] for parameter in parameters]


def missing_fields(function: FunctionValue, given: Any) -> list[Field]:
    """The declared fields of the input that are not given: what a person can be asked for."""
    value = {} if given is None else given
    if not isinstance(value, dict):
        return []
    return [
        field
        for parameter in function.function.parameters
        if parameter.shape
        for field in parameter.shape.fields
        if field.name not in value
    ]


def _misfits(parameter: Parameter, value: Any, source: Source) -> list[Problem]:
    if parameter.shape is None:
        return []
    if not isinstance(value, dict):
        return [_problem(source, parameter, f"the input must be an object, and is {kind_of(value)}")]
    problems = []
    for field in parameter.shape.fields:
        if field.name not in value:
            problems.append(_problem(source, field, f"the input has no `{field.name}`; give it with --input"))
        elif not _fits(value[field.name], field.type, field.item):
            kind = kind_of(value[field.name])
            problems.append(_problem(source, field, f"`{field.name}` of the input must be {field.type}, and is {kind}"))
    return problems


def _fits(value: Any, kind: str, item: str | None) -> bool:
    if kind == "number" and isinstance(value, bool):
        return False
    if not isinstance(value, _KINDS[kind]):
        return False
    return item is None or all(_fits(part, item, None) for part in cast("list[Any]", value))


def _problem(source: Source, piece: Field | Parameter, message: str) -> Problem:
    return source.problem(message, "invalid-input", piece.span)
