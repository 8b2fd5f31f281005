"""Runs a program from its source to its result, and keeps the record of the run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memorygraph.context.origins import copy_value
from memorygraph.errors import MemoryGraphError, ProgramError, ScriptError
from memorygraph.languages.agentscript import Field, Program
from memorygraph.runtime.agentscript.generation import Generation, Record
from memorygraph.runtime.agentscript.inputs import input_of, missing_fields
from memorygraph.runtime.agentscript.interpreter import Interpreter, function_of
from memorygraph.runtime.agentscript.units import Loader, Unit
from memorygraph.runtime.depth import deep_calls
from memorygraph.runtime.memories import Graph
from memorygraph.runtime.models import Models
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.request import RunRequest
from memorygraph.runtime.result import RunResult
from memorygraph.runtime.runs import RunStore
from memorygraph.runtime.trace import Listener, Trace
from memorygraph.runtime.values import FunctionValue, data_only

MAX_GENERATIONS = 100


@dataclass
class Run:
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
    steps: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, program: Program, folder: Path, given: Any = None) -> RunResult:
        """Run a program whose files lie in a folder.

        Raises:
            ScriptError: it is wrong, or its input is; nothing was done.
            ProgramError: something in it cannot be done; it is a ScriptError too.
            ModelError: a model endpoint failed.
        """
        folder = folder.resolve()
        loader = Loader(folder, self.permissions, self.graph)
        models = Models(self.model, mock=self.mock)
        try:
            unit = loader.load(program, folder, _own_path(program))
            return self._run(unit, models, given)
        finally:
            models.close()
            loader.close()

    def _run(self, unit: Unit, models: Models, given: Any) -> RunResult:
        function = self._entry(unit)
        trace = Trace(self.listener)
        given = self._filled(function, given, trace)
        arguments = input_of(function, given, unit.source)
        store = RunStore(self.graph.scope)
        store.begin(_beginning(unit, function, given))

        def add(record: Record) -> None:
            self.steps.append(_step(record))
            store.add(record)

        interpreter = Interpreter(trace, Generation(models, trace, self.max_steps, add))
        end: dict[str, Any] = {"status": "failed", "trace": trace.events}
        try:
            with deep_calls():
                value = _value(interpreter.call(function, arguments), function)
            end = {"status": "done", "value": value, "trace": trace.events}
        except ScriptError as error:
            end["error"] = str(error)
            raise ProgramError(error.problems) from error
        except MemoryGraphError as error:
            end["error"] = str(error)
            raise
        finally:
            store.end(end)
        return RunResult(value, trace.events, self.steps, store.conversation, store.id)

    def _filled(self, function: FunctionValue, given: Any, trace: Trace) -> Any:
        """The input, with what it lacks asked for."""
        missing = missing_fields(function, given) if self.ask else []
        if not self.ask or not missing:
            return given
        filled = dict(given or {})
        for wanted in missing:
            filled[wanted.name] = self.ask(wanted)
            trace.add("input", {"path": f"input.{wanted.name}", "value": filled[wanted.name]})
        return filled

    def _entry(self, unit: Unit) -> FunctionValue:
        if self.agent is None:
            return function_of(unit.main, self.function)
        if self.agent not in unit.agents:
            known = ", ".join(f"`{name}`" for name in unit.agents)
            raise MemoryGraphError(f"the program has no agent `{self.agent}`; its agents: {known}")
        return function_of(unit.agents[self.agent], self.function)


def run_program(graph: Graph, program: Program, request: RunRequest) -> RunResult:
    """Run a program as the caller asked."""
    if request.resume:
        raise MemoryGraphError("only the run of a node graph can be resumed")
    run = Run(
        graph,
        request.permissions,
        request.model,
        request.mock,
        request.max_steps,
        request.agent,
        request.function,
        request.listener,
        request.ask,
    )
    return run(program, request.folder, request.input)


def _value(returned: Any, function: FunctionValue) -> Any:
    """What a program returned, as data of its own."""
    try:
        return copy_value(data_only(returned, "be the result"))
    except MemoryGraphError as error:
        source, span = function.agent.unit.source, function.function.span
        raise ScriptError([source.problem(str(error), getattr(error, "code", "invalid-result"), span)]) from error


def _own_path(program: Program) -> tuple[Path, ...]:
    file = program.source.file
    return (Path(file).resolve(),) if file else ()


def _beginning(unit: Unit, function: FunctionValue, given: Any) -> dict[str, Any]:
    text = unit.source.text
    return {
        "language": "agentscript",
        "file": unit.source.file,
        "program": text,
        "program_hash": hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(),
        "agent": function.agent.name,
        "function": function.name,
        "input": given,
    }


def _step(record: Record) -> dict[str, Any]:
    return {
        "agent": record.agent,
        "function": record.function,
        "instruction": record.instruction,
        "sources": [item.source for item in record.prompt.items],
        "attempts": record.tried,
        "ok": record.error is None,
        "result": record.result,
    }
