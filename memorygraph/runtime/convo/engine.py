"""The engine of node graphs: runs a conversation's graph, in one branch or several, and tells what happens.

What a run does is told to its listener as it happens: each call of a model or a function when it is complete, each
step when it is. From what was told, a run that broke off goes on without repeating any of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, RLock
from typing import Any, Protocol, TypedDict

from memorygraph.errors import ScriptError
from memorygraph.languages import convo, parse
from memorygraph.llm.completion import Completion
from memorygraph.runtime.convo.asker import ModelAsker
from memorygraph.runtime.convo.branch import Branch
from memorygraph.runtime.convo.entry import Entry, wire_messages
from memorygraph.runtime.convo.failure import GraphFailure, code_of
from memorygraph.runtime.convo.graph import Graph, graph_of
from memorygraph.runtime.convo.scene import Scene
from memorygraph.runtime.convo.steps import ConvoGraphResult, ModelCall, Purpose, Step
from memorygraph.runtime.convo.summary import summary_request
from memorygraph.runtime.convo.surroundings import Surroundings
from memorygraph.runtime.permissions import Permissions

MAX_STEPS = 100


class Asker(Protocol):
    """What calls models. It may be called from several threads at once."""

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        response_format: Mapping[str, Any] | None = None,
        model: str | None = None,
    ) -> Completion:
        """What a model answers; `model` is another one than the run's own."""


class RunListener:
    """Is told what happens in a run, one thing at a time, in order. What it raises fails the run.

    A listener overrides what it wants to hear.
    """

    def started(self, graph: Graph) -> None:
        """A run begins."""

    def step_started(self, step: Step) -> None:
        """A step begins: its messages stand, and nothing has been asked yet."""

    def called(self, step: Step, call: ModelCall) -> None:
        """A call of a model is complete. It is one of the step's `calls`."""

    def tool_called(self, step: Step, name: str, arguments: dict[str, Any], result: Any) -> None:
        """A function has given its result. It is the step's `tool`."""

    def step_completed(self, step: Step) -> None:
        """A step is done, and its route is chosen."""

    def ended(self, result: ConvoGraphResult) -> None:
        """The run is over, well or not. A step that failed is the last of the result's steps."""


class RunOptions(TypedDict, total=False):
    """How a graph is run; every way to run one takes these.

    `model` is asked in place of MEMORYGRAPH_MODEL, and `asker` in place of an OpenAI-compatible endpoint. `input` is
    added as a message of the user before the last `goto`. `resume` are the steps of a run that broke off. `file` is
    named by errors.
    """

    model: str | None
    asker: Asker | None
    input: Any
    listener: RunListener | None
    permissions: Permissions
    max_steps: int
    resume: Iterable[Step]
    summary: bool
    file: str | None


@dataclass
class Engine:
    """One run of the graph in a conversation.

    Raises:
        ScriptError: the conversation is wrong.
    """

    program: convo.Program
    model: str | None = None
    asker: Asker | None = None
    input: Any = None
    listener: RunListener | None = None
    permissions: Permissions = field(default_factory=Permissions)
    max_steps: int = MAX_STEPS
    resume: Iterable[Step] = ()
    summary: bool = False
    file: str | None = None

    def __post_init__(self) -> None:
        if self.program.problems:
            raise ScriptError(list(self.program.problems))
        self.graph = graph_of(self.program.conversation)
        self._own = ModelAsker(self.model)
        self._asker: Asker = self.asker or self._own
        self._telling = RLock()
        self._counting = Lock()
        self._steps = 0
        self._stop = Event()
        self._said: list[Entry] = []
        self._summary: str | None = None
        self._known = {(step.branch, step.index): step for step in self.resume}
        self._surroundings = Surroundings(Scene(self.program, self.graph, self.permissions), self.graph, self.input)
        self.main: Branch | None = None

    @classmethod
    def of(cls, source: str, **options: Any) -> Engine:
        """A run of the graph in a source.

        Raises:
            ScriptError: the source is wrong.
        """
        return cls(parse(source, "convo", file=options.get("file")), **options)

    def run(self) -> ConvoGraphResult:
        """Run the graph to its end. What fails is told by the result, and not raised."""
        try:
            self.begin().run()
        except Exception as error:  # noqa: BLE001 - a run never raises: its result says what happened
            return self.end(error)
        except BaseException:  # somebody breaks the program off: the other branches end, too
            self.stop()
            raise
        return self.end()

    def begin(self) -> Branch:
        """The first branch, which has not taken a step yet.

        Raises:
            GraphFailure: nothing says where the graph begins.
        """
        if self.main is None:
            self.tell("started", self.graph)
            self.main = self._surroundings.begin(self, resumed=bool(self._known))
        return self.main

    def end(self, error: Exception | None = None) -> ConvoGraphResult:
        """The result, after the other branches have come to their ends, and the summary is made."""
        error = error or self._finish()
        if error is not None:
            self._break_off()
        result = self._result(error)
        try:
            self.tell("ended", result)
        except GraphFailure as failure:
            result = self._result(failure)
        self._own.close()
        return result

    def stop(self) -> None:
        """Stop the run before its next call or step; safe from any thread."""
        self._stop.set()

    # For branches

    def known_step(self, branch: str, index: int) -> Step | None:
        """A step of the run that goes on here."""
        return self._known.get((branch, index))

    def count_step(self) -> None:
        """Take one of the steps that the graph may take, in all its branches together.

        Raises:
            GraphFailure: there is none left, or the run was stopped.
        """
        self._require_running()
        with self._counting:
            if self._steps >= self.max_steps:
                raise GraphFailure(
                    f"the graph has taken its {self.max_steps} steps without an end; allow more with --max-steps",
                    "max-steps",
                )
            self._steps += 1

    def ask(
        self, step: Step, key: str, purpose: Purpose, messages: list[dict[str, Any]], options: dict[str, Any]
    ) -> Completion:
        """What a model answers; a call that is known to be complete is not made again.

        Raises:
            ModelError: its endpoint failed.
        """
        known = step.call(key)
        if known is not None:
            return known.completion
        self._require_running()
        completion = self._asker.complete(messages, **options)
        call = ModelCall(key, purpose, messages, options, completion)
        self.tell("called", step, call, before=lambda: step.calls.append(call))
        return completion

    def tell(self, event: str, *about: Any, before: Callable[[], None] | None = None) -> None:
        """Note something, and tell the listener of it; one thing at a time.

        Raises:
            GraphFailure: the listener raised.
        """
        with self._telling:
            if before is not None:
                before()
            if self.listener is None:
                return
            try:
                getattr(self.listener, event)(*about)
            except Exception as error:
                raise GraphFailure(f"a listener failed: {type(error).__name__}: {error}", "listener") from error

    # The end

    def _finish(self) -> Exception | None:
        """Wait for the other branches and make the summary; what went wrong there, if anything did."""
        main = self.main
        if main is None:
            return None
        try:
            main.join()
            if self.summary and main.steps and main.exited:
                self._summarize(main)
        except Exception as error:  # noqa: BLE001 - a run never raises: its result says what happened
            return error
        return next((fork.failure for fork in main.all_forks() if fork.failure), None)

    def _break_off(self) -> None:
        """Stop the branches that still run, because one of them failed."""
        self.stop()
        if self.main is not None:
            self.main.join()

    def _summarize(self, main: Branch) -> None:
        actions = [
            (step.node, self._surroundings.scene.describe(step.node), main.scene.written(step.output))
            for step in main.steps
        ]
        told = summary_request(actions)
        messages = wire_messages([*self._surroundings.around, *told])
        completion = self.ask(main.steps[-1], "summary", "summary", messages, {})
        self._summary = completion.content or ""
        self._said = [*told, Entry("assistant", self._summary), Entry("user")]

    def _result(self, error: Exception | None) -> ConvoGraphResult:
        main = self.main
        result = main.result(error) if main else ConvoGraphResult(success=error is None)
        if error is not None:
            result.success, result.value = False, None
            result.error, result.code, result.failure = str(error), code_of(error), error
        result.summary = self._summary
        result.messages = [*result.messages, *self._said]
        return result

    def _require_running(self) -> None:
        if self._stop.is_set():
            raise GraphFailure("the run was stopped", "stopped")
