"""What a model may call from its log: Python callables and tools, each one given to it on purpose.

A failure is an answer like another: it becomes `{"error": …}`, and the log goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import FunctionType, MethodType
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs, to_jsonable_python

from memorygraph.errors import MemoryGraphError
from memorygraph.languages.engine.findings import shorten
from memorygraph.languages.pete.reading import read_program
from memorygraph.languages.pete.syntax import Command
from memorygraph.runtime.pete.hearing import without_halves
from memorygraph.runtime.tools import ImportedTool, ToolMethod

MAX_ANSWER = 20_000  # characters of one answer; what is larger belongs into the graph, and not into a log
MAX_ERROR = 2_000

Arguments = Mapping[str, Any] | list[Any] | None


class Faculty(Protocol):
    """Something that has procedures."""

    def has(self, procedure: str) -> bool:
        """Whether it may have this procedure."""

    def call(self, procedure: str, arguments: Arguments) -> Any:
        """What a procedure answers; whatever it raises becomes the answer."""

    def described(self) -> Iterable[str]:
        """Its procedures, a line for each, as a model is told of them."""


@dataclass(frozen=True)
class PythonFaculty:
    """Procedures that are Python callables; their annotations say what they take.

    >>> PythonFaculty({"now": lambda zone="utc": {"zone": zone}}).call("now", {"zone": "cet"})
    {'zone': 'cet'}
    """

    procedures: Mapping[str, Callable[..., Any]]

    def has(self, procedure: str) -> bool:
        """Whether it has this procedure."""
        return procedure in self.procedures

    def call(self, procedure: str, arguments: Arguments) -> Any:
        """What the callable returns for the arguments, which are checked and converted before."""
        named = dict(arguments) if isinstance(arguments, Mapping) else {}
        listed = tuple(arguments) if isinstance(arguments, list) else ()
        return _adapter(self.procedures[procedure]).validate_python(ArgsKwargs(listed, named))

    def described(self) -> Iterable[str]:
        """Each procedure with the names and types of what it takes."""
        for name, procedure in self.procedures.items():
            document = (procedure.__doc__ or "").strip().partition("\n")[0]
            yield f"{name} {_schema(procedure)}{f'  // {document}' if document else ''}"


@dataclass(frozen=True)
class ToolFaculty:
    """The methods of a tool, such as those of an MCP server. One that cannot tell its methods may have any."""

    tool: ImportedTool

    def has(self, procedure: str) -> bool:
        """Whether the tool has this method, as far as it can tell."""
        methods = self._methods
        return not methods or procedure in methods

    @cached_property
    def _methods(self) -> Mapping[str, ToolMethod]:
        try:
            return self.tool.methods()
        except MemoryGraphError:
            return {}

    def call(self, procedure: str, arguments: Arguments) -> Any:
        """What the tool answers."""
        if arguments is None:
            return self.tool.call(procedure, []).value
        given = list(arguments) if isinstance(arguments, list) else [dict(arguments)]
        return self.tool.call(procedure, given).value

    def described(self) -> Iterable[str]:
        """Each of its methods with what it takes, or only where the tool leads."""
        for name, method in self._methods.items():
            arguments = _arguments(method.schema) if method.schema else "[…]"
            about = method.description.strip().partition("\n")[0]
            yield f"{name} {arguments}{f'  // {about}' if about else ''}"
        if not self._methods:
            yield f"the tool {self.tool.uri}"


def as_data(value: Any) -> dict[str, Any] | list[Any]:
    """A value as a log can hold it: an object or an array, of what JSON knows.

    >>> as_data(3), as_data({"at": (1, 2)})
    ({'result': 3}, {'at': [1, 2]})

    Raises:
        MemoryGraphError: it is too large, or a log with it could not be read.
        ValueError: JSON has nothing for it.
    """
    plain = to_jsonable_python(value)
    whole = plain if isinstance(plain, dict | list) else {"result": plain}
    text = without_halves(json.dumps(whole, ensure_ascii=False, allow_nan=False))
    if len(text) > MAX_ANSWER:
        raise MemoryGraphError(f"this has {len(text):,} characters, and at most {MAX_ANSWER:,} fit; ask for less")
    problems = read_program(f"context log() {{ call >> {text}").problems
    if problems:
        raise MemoryGraphError(f"the log can't hold this: {problems[0].message}")
    data: dict[str, Any] | list[Any] = json.loads(text)
    return data


def failed(error: BaseException | str) -> dict[str, str]:
    """What the log says of a failure.

    >>> failed(KeyError("fan"))
    {'error': "KeyError: 'fan'"}
    """
    try:
        shown = str(error) if isinstance(error, MemoryGraphError | str) else f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - a message may be made by any code
        shown = type(error).__name__
    return {"error": shorten(without_halves(shown), MAX_ERROR)}


def _adapter(procedure: Callable[..., Any]) -> TypeAdapter[Any]:
    """What checks the arguments of a callable, and calls it."""
    return TypeAdapter(_function(procedure))  # type: ignore[arg-type]  # pydantic takes callables, too


def _function(procedure: Callable[..., Any]) -> Callable[..., Any]:
    """A callable as a function, which pydantic knows: classes, builtins and objects take whatever they take."""
    if isinstance(procedure, FunctionType | MethodType | partial):
        return procedure
    called = getattr(procedure, "__call__", None)  # noqa: B004 - its method is wanted
    if isinstance(called, MethodType) and not isinstance(procedure, type):
        return called

    def call(*listed: Any, **named: Any) -> Any:
        return procedure(*listed, **named)

    return call


def _schema(procedure: Callable[..., Any]) -> str:
    """The arguments of a callable, as the JSON that it takes."""
    try:
        schema = _adapter(procedure).json_schema()
    except Exception:  # noqa: BLE001 - an annotation that JSON has no schema for: it can still be called
        return "{…}"
    return _arguments(schema)


def _arguments(schema: Mapping[str, Any]) -> str:
    """What a JSON schema of arguments names, each with its type."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    named = (
        f'"{name}"{"" if name in required else "?"}: {about.get("type", "any")}' for name, about in properties.items()
    )
    return "{" + ", ".join(named) + "}"


@dataclass
class Faculties:
    """All faculties of a log, by name."""

    by_name: dict[str, Faculty] = field(default_factory=dict)

    def answer(self, command: Command) -> dict[str, Any] | list[Any]:
        """What the system writes behind a command: an object or an array, whatever happens.

        >>> Faculties().answer(Command("set", "fan"))
        {'error': 'there is no faculty `fan`; there is none at all'}
        """
        try:
            return as_data(self._called(command))
        except ValidationError as error:
            return failed("; ".join(f"{_place(found)}: {found['msg']}" for found in error.errors()))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a procedure may raise anything, and the log goes on
            return failed(error)

    def _called(self, command: Command) -> Any:
        faculty = self._faculty(command)
        return faculty.call(command.procedure, command.arguments.value if command.arguments else None)

    def _faculty(self, command: Command) -> Faculty:
        listed = ", ".join(f"`{name}`" for name in self.by_name)
        known = f"there are {listed}" if listed else "there is none at all"
        if command.faculty is not None:
            if command.faculty not in self.by_name:
                raise MemoryGraphError(f"there is no faculty `{command.faculty}`; {known}")
            faculty = self.by_name[command.faculty]
            if not faculty.has(command.procedure):
                has = "; ".join(faculty.described())
                raise MemoryGraphError(f"`{command.faculty}` has no procedure `{command.procedure}`; it has {has}")
            return faculty
        having = {name: faculty for name, faculty in self.by_name.items() if faculty.has(command.procedure)}
        if not having:
            raise MemoryGraphError(f"no faculty has a procedure `{command.procedure}`; {known}")
        if len(having) > 1:
            names = " or ".join(f"`@{name}, {command.procedure}`" for name in having)
            raise MemoryGraphError(f"several faculties have `{command.procedure}`: write {names}")
        return next(iter(having.values()))


def _place(found: Mapping[str, Any]) -> str:
    return ".".join(str(part) for part in found["loc"]) or "the arguments"
