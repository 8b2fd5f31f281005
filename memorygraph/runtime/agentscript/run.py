"""Runs a program from its source and its input to its result, and keeps the record of the run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from memorygraph.context.origins import copy_value
from memorygraph.errors import MemoryGraphError, Problem, ProgramError, ScriptError, Source
from memorygraph.languages.agentscript import Field, Parameter, Program
from memorygraph.runtime.agentscript.generation import Generation, GenerationRecord, Models
from memorygraph.runtime.agentscript.interpreter import Interpreter, find_function
from memorygraph.runtime.agentscript.units import Unit, UnitLoader
from memorygraph.runtime.agentscript.values import FunctionValue, describe_value, require_data
from memorygraph.runtime.depth import deep_calls
from memorygraph.runtime.memories import Graph
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.result import Listener, RunResult, Trace
from memorygraph.runtime.runs import RunStore

MAX_GENERATIONS = 100

FIELD_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "number": (int, float),
    "boolean": bool,
    "list": list,
    "json": object,
}


@dataclass
class AgentRun:
    """How a program is run.

    `model` is asked in place of the models that the program names; with `mock` none is asked. `listener` hears
    every event of the trace as it happens. `agent` and `function` say where to begin; `ask` is asked for each
    declared field that the input lacks.
    """

    graph: Graph
    permissions: Permissions = field(default_factory=Permissions)
    model: str | None = None
    mock: bool = False
    max_steps: int = MAX_GENERATIONS
    agent: str | None = None
    function: str | None = None
    listener: Listener | None = None
    ask: Callable[[Field], Any] | None = None

    def __call__(self, program: Program, folder: Path, given: Any = None) -> RunResult:
        """Run a program whose files lie in a folder.

        Raises:
            ScriptError: the program is wrong, or its input is; nothing was done.
            ProgramError: something in it cannot be done; it is a ScriptError too.
            ModelError: a model endpoint failed.
        """
        folder = folder.resolve()
        loader = UnitLoader(folder, self.permissions, self.graph)
        models = Models(self.model, mock=self.mock)
        file = program.source.file
        try:
            unit = loader.load(program, folder, (Path(file).resolve(),) if file else ())
            return self.run_unit(unit, models, given)
        finally:
            models.close()
            loader.close()

    def run_unit(self, unit: Unit, models: Models, given: Any) -> RunResult:
        """Call the entry function of a unit with the input, and store the record of the run."""
        function = self.find_entry(unit)
        trace = Trace(self.listener)
        given = self.complete_input(function, given, trace)
        arguments = bind_input(function, given, unit.source)
        text = unit.source.text
        store = RunStore(self.graph.connection, self.graph.namespace)
        store.begin(
            {
                "language": "agentscript",
                "file": unit.source.file,
                "program": text,
                "program_hash": hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(),
                "agent": function.agent.name,
                "function": function.name,
                "input": given,
            }
        )
        steps: list[dict[str, Any]] = []

        def add(record: GenerationRecord) -> None:
            steps.append(record.as_step())
            store.add(record)

        interpreter = Interpreter(Generation(models, trace, self.max_steps, add))
        end: dict[str, Any] = {"status": "failed", "trace": trace.events}
        try:
            with deep_calls():
                value = copy_result(interpreter.call(function, arguments), function)
            end = {"status": "done", "value": value, "trace": trace.events}
        except ScriptError as error:
            end["error"] = str(error)
            raise ProgramError(error.problems) from error
        except MemoryGraphError as error:
            end["error"] = str(error)
            raise
        finally:
            store.end(end)
        return RunResult(value, trace.events, steps, store.conversation, store.id)

    def find_entry(self, unit: Unit) -> FunctionValue:
        """Find the function that the run begins with."""
        if self.agent is None:
            return find_function(unit.main, self.function)
        if self.agent not in unit.agents:
            known = ", ".join(f"`{name}`" for name in unit.agents)
            raise MemoryGraphError(f"the program has no agent `{self.agent}`; its agents: {known}")
        return find_function(unit.agents[self.agent], self.function)

    def complete_input(self, function: FunctionValue, given: Any, trace: Trace) -> Any:
        """Ask for each declared field that the input lacks."""
        if self.ask is None or not isinstance(given, dict | None):
            return given
        completed = dict(given or {})
        for parameter in function.function.parameters:
            for wanted in parameter.shape.fields if parameter.shape else ():
                if wanted.name not in (given or {}):
                    completed[wanted.name] = self.ask(wanted)
                    trace.add("input", {"path": f"input.{wanted.name}", "value": completed[wanted.name]})
        return completed or given


def bind_input(function: FunctionValue, given: Any, source: Source) -> list[Any]:
    """Make the arguments of the function that a run begins with.

    One parameter is given the whole input; several are given the fields of the input that are called like them.
    Without any input it is an empty object.

    Raises:
        ScriptError: the input does not have the shape that the function declares.
    """
    value = copy_value({} if given is None else given)
    parameters = function.function.parameters
    if len(parameters) <= 1:
        problems = [problem for parameter in parameters for problem in check_input(parameter, value, source)]
        if problems:
            raise ScriptError(problems)
        return [value for _ in parameters]
    missing = [p.name for p in parameters if not isinstance(value, dict) or p.name not in value]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise MemoryGraphError(f"`{function.name}` needs an input object with {names}")
    return [value[parameter.name] for parameter in parameters]


def check_input(parameter: Parameter, value: Any, source: Source) -> Iterator[Problem]:
    """Find what of an input does not have the shape that a parameter declares."""
    if parameter.shape is None:
        return
    if not isinstance(value, dict):
        message = f"the input must be an object, and is {describe_value(value)}"
        yield source.problem(message, "invalid-input", parameter.span)
        return
    for wanted in parameter.shape.fields:
        name = wanted.name
        if name not in value:
            message = f"the input has no `{name}`; give it with --input"
            yield source.problem(message, "invalid-input", wanted.span)
        elif not fits_type(value[name], wanted.type, wanted.item):
            message = f"`{name}` of the input must be {wanted.type}, and is {describe_value(value[name])}"
            yield source.problem(message, "invalid-input", wanted.span)


def fits_type(value: Any, kind: str, item: str | None) -> bool:
    """Whether a value has a declared type, and its items have theirs."""
    if kind == "number" and isinstance(value, bool):
        return False
    if not isinstance(value, FIELD_TYPES[kind]):
        return False
    return item is None or all(fits_type(part, item, None) for part in cast("list[Any]", value))


def copy_result(returned: Any, function: FunctionValue) -> Any:
    """Copy what a program returned, as data of its own.

    Raises:
        ScriptError: a capability is in it.
    """
    try:
        return copy_value(require_data(returned, "be the result"))
    except MemoryGraphError as error:
        source, span = function.agent.unit.source, function.function.span
        raise ScriptError([source.problem(str(error), getattr(error, "code", "invalid-result"), span)]) from error
