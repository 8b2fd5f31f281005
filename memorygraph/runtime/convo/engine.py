"""The engine of node graphs: runs a conversation's graph, in one branch or several, and tells a listener of it.

The listener hears of each call of a model or a function when it is complete, and of each step when it is. From what it
heard, a run that was interrupted can be resumed without repeating any call. Source: seeds/convo-node-graphs.txt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event, Lock, RLock
from typing import Any, Literal, Protocol, TypedDict, get_args

from memorygraph.compiler.convo import NodeGraph, graph_of
from memorygraph.languages import convo
from memorygraph.limits import LimitExceeded, RunLimits, budget_of_run, call_apart, spend_on_keeping, unlimited
from memorygraph.llm.completion import Completion
from memorygraph.llm.mock import mock_completion
from memorygraph.llm.structured import without_thoughts
from memorygraph.runtime.convo.branch import Branch
from memorygraph.runtime.convo.prompts import summary_request
from memorygraph.runtime.convo.scene import Scene, Surroundings, Visit
from memorygraph.runtime.convo.steps import (
    CallPurpose,
    ConvoGraphResult,
    ConvoStep,
    GraphFailure,
    GraphStart,
    ModelCall,
    summary_messages,
)
from memorygraph.runtime.convo.transcript import TranscriptEntry, wire_messages
from memorygraph.runtime.convo.values import UNDEFINED, Undefined, render_value
from memorygraph.runtime.memories import GraphClient
from memorygraph.runtime.models import RunModels
from memorygraph.runtime.permissions import Permissions

MAX_STEPS = 100


class Asker(Protocol):
    """Calls models, also from several threads at once."""

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        response_format: Mapping[str, Any] | None = None,
        model: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Completion:
        """Ask a model: the run's own, unless `model` names another one. `extra` has what else the request says."""


class ModelAsker:
    """Asks the models that a run may ask, by their names or addresses such as `ollama://host:port/model`."""

    def __init__(self, model: str | None = None, permissions: Permissions = Permissions()) -> None:  # noqa: B008 - it is frozen
        self.models = RunModels(permissions, model)

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tool_choice: str | Mapping[str, Any] | None = None,
        model: str | None = None,
        extra: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Completion:
        """Ask a model; its connection is kept for the next call."""
        asked = self.models.find(model)
        sent = {**(extra or {}), **({"tool_choice": tool_choice} if tool_choice is not None else {})}
        if "max_tokens" in sent:  # whose name depends on the endpoint
            options["max_tokens"] = sent.pop("max_tokens")
        return call_apart(lambda: asked.complete(messages, extra=sent or None, **options))

    def close(self) -> None:
        """Close the connections."""
        self.models.close()


class RunListener:
    """Hears of the events of a run that it overrides, one at a time, in order. What it raises fails the run."""

    def started(self, graph: NodeGraph) -> None:
        """A run begins."""

    def conversation_read(self, messages: list[TranscriptEntry]) -> None:
        """The messages before the first step are known: those outside of the nodes, and the input."""

    def step_started(self, step: ConvoStep) -> None:
        """A step begins: its messages are known, and no model has been asked yet."""

    def called(self, step: ConvoStep, call: ModelCall) -> None:
        """A call of a model is complete. It is one of the step's `calls`."""

    def tool_called(self, step: ConvoStep, name: str, arguments: dict[str, Any], result: Any) -> None:
        """A function has given its result. It is the step's `tool`."""

    def step_completed(self, step: ConvoStep) -> None:
        """A step is done, and its route is chosen."""

    def interrupted(self) -> None:
        """The user has stopped the run, which can go on later."""

    def ended(self, result: ConvoGraphResult) -> None:
        """The run has ended, with success or not. A step that failed is the last of the result's steps."""


EventName = Literal[
    "started", "conversation_read", "step_started", "called", "tool_called", "step_completed", "interrupted", "ended"
]
EVENTS = get_args(EventName)


class ListenerGroup(RunListener):
    """Tells several listeners of each event, one after the other."""

    def __init__(self, *listeners: RunListener) -> None:
        self.listeners = list(listeners)
        for event in EVENTS:
            setattr(self, event, partial(self.tell, event))

    def tell(self, event: str, *about: Any) -> None:
        """Tell all of an event; one that is added meanwhile hears of the next."""
        for listener in list(self.listeners):
            getattr(listener, event)(*about)


class RunOptions(TypedDict, total=False):
    """The options of every way to run a graph."""

    model: str | None  # asked in place of MEMORYGRAPH_MODEL
    asker: Asker | None  # asked in place of an OpenAI-compatible endpoint
    input: Any  # added as a message of the user before the last `goto`
    listener: RunListener | None
    permissions: Permissions
    max_steps: int
    graph: GraphClient | None  # where the run is stored, as `MemoryGraph.run` stores it
    resume: Iterable[ConvoStep] | str  # the steps of an interrupted run, or the id of a stored one, or `last`
    summary: bool
    limits: RunLimits | None
    file: str | None  # the name of the source in errors
    folder: str | Path | None  # where imported files are; else that of `file`
    import_folder: str | Path | None  # a wider one, that they may lie anywhere in
    mock: bool  # no model is asked: every answer is the smallest of its shape


@dataclass
class Engine:
    """One run of the graph in a conversation."""

    program: convo.ConvoProgram
    model: str | None = None
    asker: Asker | None = None
    input: Any = None
    listener: RunListener | None = None
    permissions: Permissions = field(default_factory=Permissions)
    max_steps: int = MAX_STEPS
    resume: Iterable[ConvoStep] = ()
    summary: bool = False
    limits: RunLimits | None = None
    mock: bool = False
    run_id: str | None = None  # under which it is stored
    conversation: str | None = None

    def __post_init__(self) -> None:
        self.graph = graph_of(self.program.conversation)
        self.budget = budget_of_run(self.limits)
        self.surroundings = Surroundings(Scene(self.program, self.graph, self.permissions), self.input)
        self.begun = False  # the listener knows of the run: where it is stored, the database has it
        self.ended = False  # the listener knows of its end
        self.main: Branch | None = None
        self.start: GraphStart | Undefined = UNDEFINED
        self.result: ConvoGraphResult | None = None
        self.known_steps = {(step.branch, step.index): step for step in self.resume}
        self.steps_taken = 0
        self.own_asker = ModelAsker(self.model, self.permissions)
        self.stopping = Event()
        self.telling, self.counting = RLock(), Lock()

    def run(self) -> ConvoGraphResult:
        """Run the graph to its end. An error is part of the result, and not raised."""
        failure = None
        try:
            try:
                self.begin().run()
            except Exception as error:  # noqa: BLE001 - a run never raises: its result says what happened
                failure = error
            return self.end(failure)
        except BaseException:  # the user interrupts the program: the other branches end, too
            self.stop()
            self.own_asker.close()
            if self.begun and not self.ended:
                with suppress(GraphFailure):  # the interrupt is what the caller has to hear of
                    self.tell("interrupted")
            raise

    def begin(self) -> Branch:
        """Begin the first branch, which takes no step yet."""
        if self.main is None:
            self.tell("started", self.graph)
            self.begun = True
            told = self.surroundings
            with self.budget.active():
                first = self.find_first()
            self.tell("conversation_read", [*told.around, *(entry for group in told.groups for entry in group)])
            self.main = Branch(self, told.scene, told.around, told.groups, first.node, first.input)
        return self.main

    def find_first(self) -> Visit:
        """Find the first visit: in the conversation, or as it was before the run was interrupted."""
        told = self.surroundings
        for step in self.known_steps.values():
            if step.start is not UNDEFINED:
                self.start = step.start
                return told.reopen(step.start, step)
        first = told.find_start()
        self.start = told.record()
        return first

    def end(self, error: Exception | None = None) -> ConvoGraphResult:
        """End the run: wait for the other branches, make the summary, and give the result."""
        main = self.main
        if error is not None:
            self.stop()
        if main is not None:
            main.join()
        result = main.result() if main else ConvoGraphResult(success=True)
        if main is not None and error is None:
            try:
                if self.summary and main.steps and main.exited:
                    with self.budget.active():
                        self.summarize(main, result)
                error = next((fork.failure for fork in main.all_forks() if fork.failure), None)
            except Exception as failure:  # noqa: BLE001 - a run never raises: its result says what happened
                error = failure
        if error is not None:
            result.fail(error)
        result.run, result.conversation = self.run_id, self.conversation if result.conversed else None
        self.ended = True
        try:
            self.tell("ended", result)
        except GraphFailure as failure:
            result.fail(failure)
        finally:
            self.own_asker.close()
        self.result = result
        return result

    def summarize(self, main: Branch, result: ConvoGraphResult) -> None:
        """Ask the model to sum up the run; the request and the summary become messages of the run."""
        scene = self.surroundings.scene
        told = summary_request((step.node, scene.describe(step.node), render_value(step.output)) for step in main.steps)
        messages = wire_messages([*self.surroundings.around, *told])
        completion = self.ask(main.steps[-1], "summary", "summary", messages, {})
        result.summary = without_thoughts(completion.content or "")
        result.messages += summary_messages(told, result.summary)

    def stop(self) -> None:
        """Stop the run before its next call or step; safe from any thread."""
        self.stopping.set()

    def require_running(self) -> None:
        """Refuse to go on after `stop`."""
        if self.stopping.is_set():
            raise GraphFailure("the run was stopped", "stopped")
        self.budget.require_running()

    # For branches

    def count_step(self) -> None:
        """Count a step of any branch."""
        self.require_running()
        with self.counting:
            if self.steps_taken >= self.max_steps:
                how = "allow more with --max-steps (in Python: max_steps)"
                message = f"the graph has taken its {self.max_steps} steps without an end; {how}"
                raise LimitExceeded(message, "max-steps")
            self.steps_taken += 1

    def ask(
        self,
        step: ConvoStep,
        key: str,
        purpose: CallPurpose,
        messages: list[dict[str, Any]],
        options: dict[str, Any],
        schema: Mapping[str, Any] | None = None,
    ) -> Completion:
        """Ask a model; a call that a resumed step holds is not made again. A mock answers in JSON of the `schema`."""
        known = next((call for call in step.calls if call.key == key), None)
        if known is not None:
            return known.completion
        self.require_running()
        with self.budget.active():  # also in the threads that judge routes
            spend_on_keeping(messages)
            asker = self.asker or self.own_asker
            completion = mock_completion(schema, options) if self.mock else asker.complete(messages, **options)
            spend_on_keeping(completion.raw)
        call = ModelCall(key, purpose, messages, options, completion)
        self.tell("called", step, call, before=lambda: step.calls.append(call))
        return completion

    def tell(self, event: str, *about: Any, before: Callable[[], None] | None = None) -> None:
        """Record an event with `before`, and tell the listener of it; one event at a time."""
        with self.telling:
            if before is not None:
                before()
            if self.listener is None:
                return
            try:
                with unlimited():
                    getattr(self.listener, event)(*about)
            except GraphFailure:
                raise
            except Exception as error:
                raise GraphFailure(f"a listener failed: {type(error).__name__}: {error}", "listener") from error
