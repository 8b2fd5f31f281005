"""Runs a program from its source and its input to its result, and keeps the record of the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from memorygraph.compiler.identity import program_id
from memorygraph.context.origins import copy_value
from memorygraph.errors import MemoryGraphError, Problem, ProgramError, ScriptError, Source
from memorygraph.json_text import MAX_JSON_DEPTH, nests_deeper
from memorygraph.languages.agentscript.syntax import AgentScriptProgram, Field, FunctionParameter
from memorygraph.limits import budget_of_run
from memorygraph.llm.structured import is_of_kind, shorten_json
from memorygraph.runtime.agentscript.conversation import CONVERSED_KINDS
from memorygraph.runtime.agentscript.generation import STOPPED, Generation, GenerationRecord, Models
from memorygraph.runtime.agentscript.interpreter import Interpreter, find_function
from memorygraph.runtime.agentscript.store import AgentRunStore
from memorygraph.runtime.agentscript.units import Unit, UnitLoader
from memorygraph.runtime.agentscript.values import FunctionValue, describe_value, explain_broken_json, require_data
from memorygraph.runtime.memories import GraphClient
from memorygraph.runtime.runs import RunInterrupted, RunRequest, RunResult, Trace, status_of_failure, typed_property
from memorygraph.runtime.values import ValueProblem


def run_agentscript(graph: GraphClient, program: AgentScriptProgram, request: RunRequest) -> RunResult:
    """Run a program whose files lie in the folder of the request.

    Raises:
        ScriptError: the program is wrong, or its input is; nothing was done.
        ProgramError: something in it cannot be done; it is a ScriptError too.
        ModelError: a model endpoint failed.
    """
    if request.resume:
        raise MemoryGraphError("only the run of a node graph can be resumed")
    if request.summary:
        raise MemoryGraphError("only the run of a node graph ends with a summary; run it without --summary")
    folder, file = request.folder.resolve(), program.source.file
    loader, models = (
        UnitLoader(folder, request.permissions, graph, request.provenance),
        Models(request.permissions, request.model, mock=request.mock),
    )
    with closing(loader), closing(models):
        unit = loader.load(program, folder, (Path(file).resolve(),) if file else ())
        return run_unit(graph, unit, models, request)


def run_unit(graph: GraphClient, unit: Unit, models: Models, request: RunRequest) -> RunResult:
    """Call the entry function of a unit with the input, and store the record of the run."""
    function = find_entry(unit, request)
    trace = Trace(request.listener)
    given = complete_input(function, trace, request)
    arguments = bind_input(function, given, unit.source)
    store = AgentRunStore(graph.scope)
    store.begin(
        {
            "language": "agentscript",
            "file": unit.source.file,
            "program": unit.source.text,
            "program_hash": program_id(unit.source),
            "agent": function.agent.name,
            "function": function.name,
            **typed_property("input", given),
        }
    )
    steps: list[dict[str, Any]] = []

    def add(record: GenerationRecord) -> None:
        steps.append(record.as_step())
        store.add(record)

    budget = budget_of_run(request.limits)
    interpreter = Interpreter(Generation(models, trace, request.max_steps, add), budget, store.read)
    end: dict[str, Any] = {"status": "failed", "trace": trace.events}
    try:
        with budget.active():
            value = copy_result(interpreter.call(function, arguments), function)
        end = {"status": "done", **typed_property("value", value), "trace": trace.events}
    except ScriptError as error:
        end["error"] = str(error)
        raise ProgramError(error.problems, store.id) from error
    except MemoryGraphError as error:
        end |= {"status": status_of_failure(error), "error": str(error)}
        error.run = store.id
        raise
    except KeyboardInterrupt as error:
        budget.cancel(STOPPED)  # deep calls go on in threads of their own
        end |= {"status": "stopped", "error": STOPPED}
        done = sum(step["result"] is not None for step in steps)
        raise RunInterrupted(store.id, done, resumable=False) from error
    finally:
        store.end(end)
    said = any(event["kind"] in CONVERSED_KINDS for event in trace.events)
    return RunResult(value, trace.events, steps, store.conversation if said else None, store.id)


def find_entry(unit: Unit, request: RunRequest) -> FunctionValue:
    """Find the function that the run begins with."""
    agent, function = request.agent, request.function
    if agent is None:  # the main one, or the only one
        agents = list(unit.agents.values())
        return find_function(next((each for each in agents if each.agent.main), agents[0]), function)
    if agent not in unit.agents:
        known = ", ".join(f"`{name}`" for name in unit.agents)
        raise MemoryGraphError(f"the program has no agent `{agent}`; its agents: {known}")
    return find_function(unit.agents[agent], function)


def complete_input(function: FunctionValue, trace: Trace, request: RunRequest) -> Any:
    """Ask for each declared field that the input lacks."""
    given, ask = request.input, request.ask
    if ask is None or not isinstance(given, dict | None):
        return given
    completed = dict(given or {})
    for parameter in function.function.parameters:
        for wanted in parameter.shape.fields if parameter.shape else ():
            if wanted.name not in (given or {}):
                completed[wanted.name] = ask(wanted)
                trace.add("input", {"path": f"input.{wanted.name}", "value": completed[wanted.name]})
    return completed or given


def bind_input(function: FunctionValue, given: Any, source: Source) -> list[Any]:
    """Make the arguments of the entry function: the whole input, or for several parameters its fields."""
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
        raise MemoryGraphError(f"`{function.name}` needs an input object with {names}{explain_broken_json(value)}")
    return [value[parameter.name] for parameter in parameters]


def check_input(parameter: FunctionParameter, value: Any, source: Source) -> Iterator[Problem]:
    """Find what of an input does not have the shape that a parameter declares."""
    if parameter.shape is None:
        return
    if not isinstance(value, dict):
        message = f"the input must be an object, and is {describe_value(value)}{explain_broken_json(value)}"
        yield source.problem(message, "invalid-input", parameter.span)
        return
    for wanted in parameter.shape.fields:
        name = wanted.name
        if name not in value:
            message = f"the input has no `{name}`; give it with --input (in Python: input)"
            yield source.problem(message, "invalid-input", wanted.span)
        elif not fits_field(value[name], wanted):
            kind = f"{wanted.type}[{wanted.item}]" if wanted.item else wanted.type
            message = f"`{name}` of the input must be {kind}, and is {shorten_json(value[name])}"
            yield source.problem(message, "invalid-input", wanted.span)


def fits_field(value: Any, field: Field) -> bool:
    """Whether a value has a declared type, and its items have theirs."""
    return fits_type(value, field.type) and (field.item is None or all(fits_type(one, field.item) for one in value))


def fits_type(value: Any, kind: str) -> bool:
    """Whether a value has a type; other than in a model's answer, a whole number may be larger than a float."""
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_of_kind(value, kind)


def copy_result(returned: Any, function: FunctionValue) -> Any:
    """Copy what a program returned, as data of its own."""
    try:
        result = copy_value(require_data(returned, "be the result"))
        if not nests_deeper(result):
            return result
        raise ValueProblem(f"the result nests more than {MAX_JSON_DEPTH} levels deep", "value-too-large")
    except MemoryGraphError as error:
        source, span = function.agent.unit.source, function.function.span
        raise ScriptError([source.problem(str(error), getattr(error, "code", "invalid-result"), span)]) from error
