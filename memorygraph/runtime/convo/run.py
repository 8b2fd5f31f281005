"""Runs a node graph and stores its run: from the beginning, or from where an interrupted run ended."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from memorygraph.compiler.identity import program_id
from memorygraph.errors import ConflictError, MemoryGraphError, ProgramError, ScriptError
from memorygraph.languages.convo.syntax import ConvoProgram
from memorygraph.runtime.convo.engine import MAX_STEPS, Engine
from memorygraph.runtime.convo.steps import ConvoGraphResult, ConvoStep
from memorygraph.runtime.convo.store import (
    ConvoRunStore,
    StoredConvoRun,
    find_interrupted_run,
    find_run,
)
from memorygraph.runtime.convo.values import to_plain
from memorygraph.runtime.memories import GraphClient
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.runs import Event, Listener, RunRequest, RunResult

LAST = "last"


@dataclass
class ConvoRun:
    """How a node graph is run.

    `listener` hears of each step that is complete; `resume` is the id of a run to go on with, or `last` for the
    latest interrupted run of the program.
    """

    graph: GraphClient
    permissions: Permissions = field(default_factory=Permissions)
    model: str | None = None
    max_steps: int = MAX_STEPS
    listener: Listener | None = None
    resume: str | None = None

    def __call__(self, program: ConvoProgram, given: Any = None) -> RunResult:
        """Run the graph of a conversation; the input is added to it as a message of the user."""
        if program.problems:
            raise ScriptError(list(program.problems))
        stored = self.find_stored(program)
        store = self.open_store(program, given, stored)
        engine = Engine(
            program,
            model=self.model,
            input=stored.input if stored else given,
            listener=store,
            permissions=self.permissions,
            max_steps=self.max_steps,
            resume=store.resumed,
        )
        result = engine.run()
        failure = result.failure
        if failure is not None:
            raise (ProgramError(failure.problems) if isinstance(failure, ScriptError) else failure) from failure
        steps = all_steps(result)
        events, summaries = [step_event(step) for step in steps], [step_summary(step) for step in steps]
        return RunResult(to_plain(result.value), events, summaries, store.conversation, store.id)

    def find_stored(self, program: ConvoProgram) -> StoredConvoRun | None:
        """Find the run to go on with, if there is to be one."""
        if self.resume is None:
            return None
        namespace = self.graph.scope
        id_ = find_interrupted_run(namespace, program.source) if self.resume == LAST else self.resume
        stored = find_run(namespace, id_)
        if stored.program_hash != program_id(program.source):
            raise ConflictError(f"the run `{stored.id}` is one of another program, or of an earlier state of this one")
        if stored.status == "done":
            raise ConflictError(f"the run `{stored.id}` is done; there is nothing to go on with")
        return stored

    def open_store(self, program: ConvoProgram, given: Any, stored: StoredConvoRun | None) -> ConvoRunStore:
        """Open the store of a new run, or of the one to go on with."""
        properties = {
            "language": "convo",
            "file": program.source.file,
            "program": program.source.text,
            "program_hash": program_id(program.source),
            "input": json.dumps(given, ensure_ascii=False) if given is not None else None,
            "model": self.model,
        }

        def tell(step: ConvoStep) -> None:
            if self.listener is not None:
                self.listener(step_event(step), 0)

        if stored is None:
            return ConvoRunStore(self.graph.scope, program, properties, tell)
        return ConvoRunStore(self.graph.scope, program, properties, tell, stored.id, stored.steps)


def run_graph(graph: GraphClient, program: ConvoProgram, request: RunRequest) -> RunResult:
    """Run a node graph as the caller asked."""
    if request.mock or request.agent or request.function:
        raise MemoryGraphError("a node graph is run without --mock, --agent and --function")
    run = ConvoRun(graph, request.permissions, request.model, request.max_steps, request.listener, request.resume)
    return run(program, request.input)


def all_steps(result: ConvoGraphResult) -> list[ConvoStep]:
    """The steps of the first branch, and then of the forks."""
    return [*result.steps, *(step for fork in result.forks for step in all_steps(fork))]


def step_event(step: ConvoStep) -> Event:
    """A step as an event of the trace."""
    return {"kind": "step", "data": to_plain(step.as_dict())}


def step_summary(step: ConvoStep) -> dict[str, Any]:
    """The main facts of a step, as the result of a run lists them."""
    route = step.route
    facts = {"index": step.index, "branch": step.branch, "node": step.node, "input": step.input, "output": step.output}
    summary: dict[str, Any] = to_plain(
        {**facts, "route": route.target if route else None, "why": route.why if route else None}
    )
    return summary
