"""What a model may call from its log: Python callables and tools. A failure is an answer: `{"error": …}`."""

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
from memorygraph.json_text import join_halves, parse_json
from memorygraph.languages.engine.findings import shorten
from memorygraph.languages.pete.reading import read_pete
from memorygraph.languages.pete.syntax import Command
from memorygraph.limits import Cancelled, require_running
from memorygraph.runtime.tools import ImportedTool, ToolMethod

MAX_ANSWER_CHARS = 20_000  # what is larger belongs into the graph, and not into a log
MAX_ERROR_CHARS = 2_000

Arguments = Mapping[str, Any] | list[Any] | None


class Faculty(Protocol):
    """Something that has procedures."""

    def has(self, procedure: str) -> bool:
        """Whether it may have this procedure."""

    def call(self, procedure: str, arguments: Arguments) -> Any:
        """Call a procedure; whatever it raises becomes the answer."""

    def describe(self) -> Iterable[str]:
        """Describe its procedures to a model, a line for each."""


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
        """Call the callable with the arguments, which are checked and converted before."""
        named = dict(arguments) if isinstance(arguments, Mapping) else {}
        listed = tuple(arguments) if isinstance(arguments, list) else ()
        return adapt(self.procedures[procedure]).validate_python(ArgsKwargs(listed, named))

    def describe(self) -> Iterable[str]:
        """Describe each procedure, with the names and types of what it takes."""
        for name, procedure in self.procedures.items():
            try:
                arguments = describe_arguments(adapt(procedure).json_schema())
            except Exception:  # noqa: BLE001 - an annotation that JSON has no schema for: it can still be called
                arguments = "{…}"
            yield describe_procedure(name, arguments, procedure.__doc__ or "")


@dataclass(frozen=True)
class ToolFaculty:
    """The methods of a tool, such as those of an MCP server. One that cannot tell its methods may have any."""

    tool: ImportedTool

    def has(self, procedure: str) -> bool:
        """Whether the tool has this method, as far as it can tell."""
        methods = self.known_methods
        return not methods or procedure in methods

    @cached_property
    def known_methods(self) -> Mapping[str, ToolMethod]:
        """The methods that the tool tells; none if it cannot tell."""
        try:
            return self.tool.methods()
        except MemoryGraphError as error:
            require_unfinished(error)
            return {}

    def call(self, procedure: str, arguments: Arguments) -> Any:
        """Call a method of the tool."""
        if arguments is None:
            return self.tool.call(procedure, []).value
        given = list(arguments) if isinstance(arguments, list) else [dict(arguments)]
        return self.tool.call(procedure, given).value

    def describe(self) -> Iterable[str]:
        """Describe each method with what it takes, or only where the tool leads."""
        for name, method in self.known_methods.items():
            arguments = describe_arguments(method.schema) if method.schema else "[…]"
            yield describe_procedure(name, arguments, method.description)
        if not self.known_methods:
            yield f"the tool {self.tool.uri}"


def to_log_data(value: Any) -> dict[str, Any] | list[Any]:
    """Convert a value to what a log can hold: an object or an array, of what JSON knows.

    >>> to_log_data(3), to_log_data({"at": (1, 2)})
    ({'result': 3}, {'at': [1, 2]})

    Raises:
        MemoryGraphError: the value is too large, or a log with it could not be read.
        ValueError: JSON has no form for it.
    """
    plain = to_jsonable_python(value)
    whole = plain if isinstance(plain, dict | list) else {"result": plain}
    text = join_halves(json.dumps(whole, ensure_ascii=False, allow_nan=False))
    if len(text) > MAX_ANSWER_CHARS:
        raise MemoryGraphError(f"this has {len(text):,} characters, and at most {MAX_ANSWER_CHARS:,} fit; ask for less")
    problems = read_pete(f"context log() {{ call >> {text}").problems
    if problems:
        raise MemoryGraphError(f"the log can't hold this: {problems[0].message}")
    data: dict[str, Any] | list[Any] = parse_json(text)
    return data


def require_unfinished(error: BaseException) -> None:
    """Let a failure end the run that it is the end of: it is no answer, and what was called is called again later.

    A limit that only the called procedure has used up, such as that of a run it began, is an answer.

    Raises:
        Cancelled: the run has been cancelled, or the process was told to end.
        LimitExceeded: the run has taken its time.
    """
    if isinstance(error, Cancelled):
        raise error
    require_running()


def describe_failure(error: BaseException | str) -> dict[str, str]:
    """Describe a failure for the log.

    >>> describe_failure(KeyError("fan"))
    {'error': "KeyError: 'fan'"}
    """
    try:
        shown = str(error) if isinstance(error, MemoryGraphError | str) else f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - a message may be made by any code
        shown = type(error).__name__
    return {"error": shorten(join_halves(shown), MAX_ERROR_CHARS)}


def adapt(procedure: Callable[..., Any]) -> TypeAdapter[Any]:
    """Make what checks the arguments of a callable, and calls it."""
    # pydantic knows functions. Classes, builtins and objects take whatever they take, unless `__call__` says more.
    function = procedure
    if not isinstance(procedure, FunctionType | MethodType | partial):
        method = getattr(procedure, "__call__", None)  # noqa: B004 - its method is wanted
        if isinstance(method, MethodType) and not isinstance(procedure, type):
            function = method
        else:

            def function(*listed: Any, **named: Any) -> Any:
                return procedure(*listed, **named)

    return TypeAdapter(function)  # type: ignore[arg-type]  # pydantic takes callables, too


def describe_procedure(name: str, arguments: str, document: str) -> str:
    """Describe a procedure with its arguments and the first line of its documentation."""
    about = document.strip().partition("\n")[0]
    return f"{name} {arguments}{f'  // {about}' if about else ''}"


def describe_arguments(schema: Mapping[str, Any]) -> str:
    """Describe the arguments of a JSON schema, each with its type.

    >>> describe_arguments({"properties": {"speed": {"type": "number"}, "note": True}, "required": ["speed"]})
    '{"speed": number, "note"?: any}'
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    named = []
    for name, about in properties.items():
        kind = about.get("type", "any") if isinstance(about, Mapping) else "any"  # a schema may also be `true`
        named.append(f'"{name}"{"" if name in required else "?"}: {kind}')
    return "{" + ", ".join(named) + "}"


@dataclass
class Faculties:
    """All faculties of a log, by name."""

    by_name: dict[str, Faculty] = field(default_factory=dict)

    def answer(self, command: Command) -> dict[str, Any] | list[Any]:
        """Answer a command with an object or an array, whatever happens but the end of the run.

        >>> Faculties().answer(Command("set", "fan"))
        {'error': 'there is no faculty `fan`; no faculty is registered'}
        """
        try:
            faculty = self.find(command)
            return to_log_data(faculty.call(command.procedure, command.arguments.value if command.arguments else None))
        except ValidationError as error:
            return describe_failure(
                "; ".join(
                    f"{'.'.join(map(str, found['loc'])) or 'the arguments'}: {found['msg']}" for found in error.errors()
                )
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a procedure may raise anything, and the log goes on
            require_unfinished(error)
            return describe_failure(error)

    def find(self, command: Command) -> Faculty:
        """Find the only faculty that a command can mean."""
        listed = ", ".join(f"`{name}`" for name in self.by_name)
        known = f"there are {listed}" if listed else "no faculty is registered"
        if command.faculty is not None:
            if command.faculty not in self.by_name:
                raise MemoryGraphError(f"there is no faculty `{command.faculty}`; {known}")
            faculty = self.by_name[command.faculty]
            if not faculty.has(command.procedure):
                has = "; ".join(faculty.describe())
                raise MemoryGraphError(f"`{command.faculty}` has no procedure `{command.procedure}`; it has {has}")
            return faculty
        having = {name: faculty for name, faculty in self.by_name.items() if faculty.has(command.procedure)}
        if not having:
            raise MemoryGraphError(f"no faculty has a procedure `{command.procedure}`; {known}")
        if len(having) > 1:
            names = " or ".join(f"`@{name}, {command.procedure}`" for name in having)
            raise MemoryGraphError(f"several faculties have `{command.procedure}`: write {names}")
        return next(iter(having.values()))
