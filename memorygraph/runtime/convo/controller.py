"""Runs a graph from its source to its result: as a function, and with the events of its life."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Barrier, BrokenBarrierError, Thread
from types import TracebackType
from typing import Any, Literal, Self, Unpack

from memorygraph.errors import MemoryGraphError
from memorygraph.languages import parse
from memorygraph.runtime.convo.engine import Engine, RunListener, RunOptions
from memorygraph.runtime.convo.graph import Graph
from memorygraph.runtime.convo.placeholders import filled
from memorygraph.runtime.convo.steps import ConvoGraphResult, ModelCall, Step

State = Literal["ready", "running", "stopped"]
EventName = Literal["started", "step_started", "called", "tool_called", "step_completed", "ended"]
EVENTS = ("started", "step_started", "called", "tool_called", "step_completed", "ended")


def convo_graph(source: str, options: RunOptions | None = None, /, **values: Any) -> Any:
    r"""The output of the graph in a source, or None where it failed. `${name}` in the source stands for a value.

    A value is data wherever it stands: nothing in it is read as Convo.

    >>> convo_graph("> user\n${text}\n> node a\n  > f(x: string) -> (add(x '!'))\n> goto a", text="Hi")
    'Hi!'

    Raises:
        ScriptError: the source is wrong, or has a placeholder without a value.
    """
    given = options or {}
    return Engine(filled(parse(source, "convo", file=given.get("file")), values), **given).run().value


def execute_convo_graph(source: str, **options: Unpack[RunOptions]) -> ConvoGraphResult:
    r"""Run the graph in a source. What fails is told by the result.

    >>> execute_convo_graph("> user\n3\n> node a\n  > double(x: number) -> (mul(x 2))\n> goto a").value
    6

    Raises:
        ScriptError: the source is wrong.
    """
    return Engine.of(source, **options).run()


class ConvoGraphController:
    r"""Runs a graph, and tells what happens to any number of listeners, in their order.

    Its state is `ready`, then `running`, then `stopped`. A listener that raises fails the run; `dispose` ends it
    before its next call.

    >>> visited = []
    >>> controller = ConvoGraphController("> user\n3\n> node a\n  > double(x: number) -> (mul(x 2))\n> goto a")
    >>> controller.on("step_completed", lambda step: visited.append(step.node))
    >>> controller.run().value, controller.state, visited
    (6, 'stopped', ['a'])

    Raises:
        ScriptError: the source is wrong.
    """

    def __init__(self, source: str, **options: Unpack[RunOptions]) -> None:
        given = options.get("listener")
        self._listeners: list[RunListener] = [given] if given else []
        self._engine = Engine.of(source, **{**options, "listener": _Relay(self)})
        self.state: State = "ready"
        self.result: ConvoGraphResult | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.dispose()

    @property
    def step_index(self) -> int:
        """The index of the latest step; -1 before the first."""
        main = self._engine.main
        return main.steps[-1].index if main and main.steps else -1

    def subscribe(self, listener: RunListener) -> None:
        """Tell a listener what happens, after those that came before it."""
        self._listeners.append(listener)

    def on(self, event: EventName, callback: Callable[..., None]) -> None:
        """Call a function at each event of a name.

        Raises:
            MemoryGraphError: there is no such event.
        """
        if event not in EVENTS:
            raise MemoryGraphError(f"there is no event `{event}`; there are {', '.join(EVENTS)}")
        listener = RunListener()
        setattr(listener, event, callback)
        self._listeners.append(listener)

    def run(self) -> ConvoGraphResult:
        """Run the graph to its end; the same result again where it has run.

        Raises:
            MemoryGraphError: it is running.
        """
        if self.result is None:
            self._require_idle()
            self.state = "running"
            self.result = self._engine.run()
            self.state = "stopped"
        return self.result

    def steps(self) -> Iterator[Step]:
        """Run the graph, and give each step when it is completed. The graph goes on when the next is asked for.

        Leaving the loop ends the run.

        Raises:
            MemoryGraphError: it is running.
        """
        self._require_idle()
        completed: SimpleQueue[Step | None] = SimpleQueue()
        asked = Barrier(2)

        def give(step: Step) -> None:
            completed.put(step)
            with suppress(BrokenBarrierError):  # nobody asks any more
                asked.wait()

        def run() -> None:
            try:
                self.run()
            finally:
                completed.put(None)

        self.on("step_completed", give)
        runner = Thread(target=run, name="memorygraph-graph", daemon=True)
        runner.start()
        try:
            while (step := completed.get()) is not None:
                yield step
                asked.wait()
        finally:
            self._engine.stop()
            asked.abort()
            runner.join()

    def _require_idle(self) -> None:
        if self.state == "running":
            raise MemoryGraphError("this graph is running already")

    def dispose(self) -> None:
        """End the run before its next call or step; from any thread, also from a listener."""
        self._engine.stop()
        if self.state == "ready":
            self.run()

    def tell(self, event: str, *about: Any) -> None:
        """Tell the listeners of an event."""
        for listener in list(self._listeners):
            getattr(listener, event)(*about)


@dataclass
class _Relay(RunListener):
    """Passes on what an engine tells."""

    controller: ConvoGraphController

    def started(self, graph: Graph) -> None:
        self.controller.tell("started", graph)

    def step_started(self, step: Step) -> None:
        self.controller.tell("step_started", step)

    def called(self, step: Step, call: ModelCall) -> None:
        self.controller.tell("called", step, call)

    def tool_called(self, step: Step, name: str, arguments: dict[str, Any], result: Any) -> None:
        self.controller.tell("tool_called", step, name, arguments, result)

    def step_completed(self, step: Step) -> None:
        self.controller.tell("step_completed", step)

    def ended(self, result: ConvoGraphResult) -> None:
        self.controller.tell("ended", result)
