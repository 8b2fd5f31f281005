"""One line of steps through a graph: input, children, model, output, route, and the next node.

A fork makes further branches, each in a thread of its own and with variables of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Thread, current_thread
from typing import TYPE_CHECKING, Any

from memorygraph.runtime.convo.context import depth_of
from memorygraph.runtime.convo.entry import Entry
from memorygraph.runtime.convo.failure import GraphFailure, code_of
from memorygraph.runtime.convo.graph import Asked, Computed, Node
from memorygraph.runtime.convo.inference import Inference
from memorygraph.runtime.convo.json_output import JSON_MODE
from memorygraph.runtime.convo.routing import Crossing
from memorygraph.runtime.convo.scene import Scene, Visit
from memorygraph.runtime.convo.steps import ConvoGraphResult, ModelCall, Step, Taken
from memorygraph.runtime.convo.values import UNDEFINED, copy_deeply

if TYPE_CHECKING:
    from memorygraph.runtime.convo.engine import Engine


@dataclass
class Branch:
    """A run from one node on. `around` are the messages outside of the graph, `groups` those of each visit so far.

    `node` is the node of the next step, None behind the last; `given` is its input.
    """

    engine: Engine
    scene: Scene
    around: list[Entry]
    groups: list[list[Entry]]
    node: str | None
    given: Any
    id: str = ""
    exited: bool = False
    steps: list[Step] = field(default_factory=list)
    messages: list[Entry] = field(default_factory=list)
    forks: list[Branch] = field(default_factory=list)
    failure: Exception | None = None
    _thread: Thread | None = None

    def run(self) -> None:
        """Take steps until the graph is left.

        Raises:
            MemoryGraphError: it cannot go on.
        """
        while self.node is not None:
            self.step()

    def step(self) -> Step:
        """Visit the current node, and go on to the next.

        Raises:
            MemoryGraphError: it cannot go on. The step that failed is the last of the steps.
        """
        node = self._current()
        self.engine.count_step()
        index = len(self.groups)
        step = self.engine.known_step(self.id, index)
        if step is None or step.node != node.id:
            step = Step(index, node.id, self.given, self.id)
        step.error = None
        self.steps.append(step)
        self.scene.enter(Visit(node.id, step.input))
        try:
            if step.completed:
                self.scene.restore(step.variables)
            else:
                self._perform(node, step)
        except Exception as error:
            step.error = str(error)
            self.messages += step.messages
            raise
        self._go_on(step)
        return step

    def join(self) -> None:
        """Wait for the branches that forked from here to come to their ends."""
        for fork in self.forks:
            if fork._thread not in {None, current_thread()}:  # noqa: SLF001 - a branch of ours
                fork._thread.join()  # noqa: SLF001
            fork.join()

    def all_forks(self) -> Iterator[Branch]:
        """The branches that forked from here, and from those."""
        for fork in self.forks:
            yield fork
            yield from fork.all_forks()

    def result(self, error: Exception | None = None) -> ConvoGraphResult:
        """What came of this branch."""
        return ConvoGraphResult(
            success=error is None,
            value=_last_output(self.steps) if error is None else None,
            error=str(error) if error else None,
            code=code_of(error) if error else None,
            steps=self.steps,
            messages=list(self.messages),
            exited=self.exited,
            forks=[fork.result(fork.failure) for fork in self.forks],
            failure=error,
        )

    # One step

    def _current(self) -> Node:
        if self.node is None:
            raise GraphFailure("the graph has been left", "no-goto")
        return self._node(self.node)

    def _node(self, id_: str) -> Node:
        known = self.engine.graph.nodes
        if id_ not in known:
            there = ", ".join(f"`{name}`" for name in known) or "none"
            raise GraphFailure(f"there is no node `{id_}` to go to; there are: {there}", "missing-target")
        return known[id_]

    def _perform(self, node: Node, step: Step) -> None:
        if step.begun:
            self.scene.restore(step.variables)
        else:
            step.messages, step.system = self.scene.children(node)
            step.variables, step.begun = self.scene.variables(), True
        self.engine.tell("step_started", step)
        depth = depth_of(node.tag("contextDepth") or self.scene.default_depth())
        if not step.answered:
            Inference(self.engine, self.scene, node, step).run(self.around, self.groups, depth)
            step.answered = True
        step.route = self._route(node, step)
        step.calls.sort(key=_order)
        step.variables = self.scene.variables()
        step.completed = True
        self.engine.tell("step_completed", step)

    def _route(self, node: Node, step: Step) -> Taken:
        written = self.scene.written
        crossing = Crossing(self.engine.graph, node.id, written(step.input), written(step.output), self.scene.describe)
        fork = node.tag("fork") is not None
        with self.scene.output(step.output):
            ways = crossing.ways(_Judge(self.engine, self.scene, step), fork=fork)
        for way in ways:
            if way.target is not None:
                self._node(way.target)
        if not ways:
            return Taken(None, "no route holds")
        others = tuple(way.target for way in ways[1:] if way.target is not None)
        why = ways[0].route.written
        if ways[0].target is None and ways[0].route.target is not None:
            why += " (there is no further node)"
        return Taken(ways[0].target, why, others)

    def _go_on(self, step: Step) -> None:
        """Make what a completed step led to the state of this branch."""
        route = step.route or Taken(None, "")
        self.groups.append(step.messages)
        self.messages += step.messages
        self.forks += [self._fork(step, number, target) for number, target in enumerate(route.forks, start=1)]
        self.node, self.given, self.exited = route.target, step.output, route.target is None
        self.messages.append(Entry("exitGraph") if self.exited else Entry("goto", str(route.target)))

    def _fork(self, step: Step, number: int, target: str) -> Branch:
        """Another branch, which has begun to run."""
        id_ = f"{self.id}/{step.index}.{number}".lstrip("/")
        fork = Branch(
            self.engine, self.scene.copy(), self.around, list(self.groups), target, copy_deeply(step.output), id_
        )
        fork.messages = [Entry("goto", target)]
        fork._thread = Thread(target=fork._run_apart, name=f"memorygraph-fork-{id_}", daemon=True)
        fork._thread.start()
        return fork

    def _run_apart(self) -> None:
        try:
            self.run()
        except Exception as error:  # noqa: BLE001 - the result of the run says it
            self.failure = error


@dataclass(frozen=True)
class _Judge:
    """What routing needs of a run, at one step of it."""

    engine: Engine
    scene: Scene
    step: Step

    def compute(self, condition: Computed) -> bool:
        return self.scene.holds(condition.statements)

    def words(self, condition: Asked) -> str:
        return self.scene.text(condition.text)

    def ask(self, key: str, prompt: str, model: str | None) -> str:
        options: dict[str, Any] = {"response_format": JSON_MODE}
        if model:
            options["model"] = model
        messages = [{"role": "user", "content": prompt}]
        return self.engine.ask(self.step, key, "routing", messages, options).content or ""


def _last_output(steps: list[Step]) -> Any:
    output = steps[-1].output if steps else None
    return None if output is UNDEFINED else output


def _order(call: ModelCall) -> tuple[bool, str, int]:
    """The order of a step's calls that does not depend on which answer came first."""
    kind, _, number = call.key.partition(" ")
    return call.purpose != "inference", "" if kind == "route" else kind, int(number or 0)
