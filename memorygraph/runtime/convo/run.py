"""Runs a node graph and keeps its run: from the beginning, or on from where an earlier run was broken off."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from memorygraph.errors import ConflictError, MemoryGraphError, ProgramError, ScriptError
from memorygraph.languages.convo.syntax import Program
from memorygraph.runtime.convo.engine import MAX_STEPS, Engine
from memorygraph.runtime.convo.steps import ConvoGraphResult, Step
from memorygraph.runtime.convo.store import ConvoRunStore, KeptRun, broken_run, find_run, graph_identity
from memorygraph.runtime.convo.values import to_plain
from memorygraph.runtime.memories import GraphClient
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.runs import Event, Listener, RunRequest, RunResult

LAST = "last"


@dataclass
class ConvoRun:
    """How a node graph is run.

    `listener` hears of each step that is done; `resume` is the id of a run to go on with, or `last` for the latest
    run of the program that was broken off.
    """

    graph: GraphClient
    permissions: Permissions = field(default_factory=Permissions)
    model: str | None = None
    max_steps: int = MAX_STEPS
    listener: Listener | None = None
    resume: str | None = None

    def __call__(self, program: Program, given: Any = None) -> RunResult:
        """Run the graph of a conversation; the input is added to it as a message of the user.

        Raises:
            ScriptError: the conversation is wrong, or a statement in it cannot be executed.
            ModelError: the model endpoint failed.
            ConflictError: the run to go on with is one of another conversation, or is over.
        """
        if program.problems:
            raise ScriptError(list(program.problems))
        kept = self._kept(program)
        store = self._store(program, given, kept)
        engine = Engine(
            program,
            model=self.model,
            input=kept.input if kept else given,
            listener=store,
            permissions=self.permissions,
            max_steps=self.max_steps,
            resume=store.resumed,
        )
        result = engine.run()
        if result.failure is not None:
            raise _raised(result.failure) from result.failure
        events = [_event(step) for step in _all_steps(result)]
        steps = [_short(step) for step in _all_steps(result)]
        return RunResult(to_plain(result.value), events, steps, store.conversation, store.id)

    def _kept(self, program: Program) -> KeptRun | None:
        if self.resume is None:
            return None
        namespace = self.graph.scope
        wanted = broken_run(namespace, program.source) if self.resume == LAST else self.resume
        kept = find_run(namespace, wanted)
        if kept.program_hash != graph_identity(program.source):
            raise ConflictError(f"the run `{kept.id}` is one of another program, or of an earlier state of this one")
        if kept.status == "done":
            raise ConflictError(f"the run `{kept.id}` is done; there is nothing to go on with")
        return kept

    def _store(self, program: Program, given: Any, kept: KeptRun | None) -> ConvoRunStore:
        properties = {
            "language": "convo",
            "file": program.source.file,
            "program": program.source.text,
            "program_hash": graph_identity(program.source),
            "input": json.dumps(given, ensure_ascii=False) if given is not None else None,
            "model": self.model,
        }
        told = _tell(self.listener)
        namespace = self.graph.scope
        if kept is None:
            return ConvoRunStore(namespace, program, properties, told)
        return ConvoRunStore(namespace, program, properties, told, kept.id, kept.steps)


def run_graph(graph: GraphClient, program: Program, request: RunRequest) -> RunResult:
    """Run a node graph as the caller asked."""
    if request.mock or request.agent or request.function:
        raise MemoryGraphError("a node graph is run without --mock, --agent and --function")
    run = ConvoRun(graph, request.permissions, request.model, request.max_steps, request.listener, request.resume)
    return run(program, request.input)


def _tell(listener: Listener | None) -> Callable[[Step], None]:
    return lambda step: listener(_event(step), 0) if listener else None


def _raised(failure: Exception) -> Exception:
    return ProgramError(failure.problems) if isinstance(failure, ScriptError) else failure


def _all_steps(result: ConvoGraphResult) -> list[Step]:
    """The steps of the first branch, and then of those that forked off."""
    return [*result.steps, *(step for fork in result.forks for step in _all_steps(fork))]


def _event(step: Step) -> Event:
    kept: dict[str, Any] = to_plain(step.as_dict())
    return {"kind": "step", "data": kept}


def _short(step: Step) -> dict[str, Any]:
    route = step.route
    shown = {"index": step.index, "branch": step.branch, "node": step.node, "input": step.input, "output": step.output}
    kept: dict[str, Any] = to_plain(
        {**shown, "route": route.target if route else None, "why": route.why if route else None}
    )
    return kept
