"""One line of steps through a graph: input, messages, model, output, route, and the next node.

A fork begins further branches, each in a thread of its own and with variables of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Thread, current_thread
from typing import TYPE_CHECKING, Any

from memorygraph.compiler.convo import GraphNode
from memorygraph.runtime.convo.inference import CodePrompts, Inference
from memorygraph.runtime.convo.routing import Crossing
from memorygraph.runtime.convo.scene import Scene, Visit
from memorygraph.runtime.convo.steps import (
    NO_FURTHER_NODE,
    ConvoGraphResult,
    ConvoStep,
    GraphFailure,
    ModelCall,
    TakenRoute,
    messages_of_steps,
)
from memorygraph.runtime.convo.transcript import TranscriptEntry
from memorygraph.runtime.convo.values import UNDEFINED, copy_deeply

if TYPE_CHECKING:
    from memorygraph.runtime.convo.engine import Engine


@dataclass
class Branch:
    """A run from one node on."""

    engine: Engine
    scene: Scene
    around: list[TranscriptEntry]  # the messages outside of the graph
    groups: list[list[TranscriptEntry]]  # those of each visit so far
    node: str | None  # of the next step; None after the last
    given: Any  # the input of the next step
    id: str = ""
    begins_at: str = ""  # the first node of a fork
    exited: bool = False
    steps: list[ConvoStep] = field(default_factory=list)
    forks: list[Branch] = field(default_factory=list)
    failure: Exception | None = None
    thread: Thread | None = None

    @property
    def messages(self) -> list[TranscriptEntry]:
        """What the branch added to the transcript; a fork begins with where it went."""
        entered = [TranscriptEntry("goto", self.begins_at)] if self.begins_at else []
        return [*entered, *messages_of_steps(self.steps)]

    def run(self) -> None:
        """Run until the graph exits."""
        while self.node is not None:
            self.take_step()

    def run_apart(self) -> None:
        """Run in a thread of its own; `failure` keeps what it raises for the result of the run."""
        try:
            self.run()
        except Exception as error:  # noqa: BLE001 - the result of the run says it
            self.failure = error

    def take_step(self) -> ConvoStep:
        """Visit the current node, and go on to the next."""
        with self.engine.budget.active():
            return self.visit_node()

    def visit_node(self) -> ConvoStep:
        """Take a step, which counts for the run."""
        if self.node is None:
            raise GraphFailure("the graph has been left", "no-goto")
        node = self.find_node(self.node)
        self.engine.count_step()
        index = len(self.groups)
        step = self.engine.known_steps.get((self.id, index))
        if step is None or step.node != node.id:
            step = ConvoStep(index, node.id, self.given, self.id)
            if not self.id and not self.steps:
                step.start = self.engine.start
        step.error = None
        self.steps.append(step)
        self.scene.enter(Visit(node.id, step.input))
        self.scene.environment.ask = CodePrompts(Inference(self, node, step))
        try:
            if step.completed:
                self.scene.restore(step)
            else:
                self.perform(node, step)
        except Exception as error:
            step.error = str(error)
            raise
        self.go_on(step)
        return step

    def find_node(self, id_: str) -> GraphNode:
        """Find a node to go to."""
        known = self.scene.graph.nodes
        if id_ not in known:
            there = ", ".join(f"`{name}`" for name in known) or "none"
            raise GraphFailure(f"there is no node `{id_}` to go to; there are: {there}", "missing-target")
        return known[id_]

    def perform(self, node: GraphNode, step: ConvoStep) -> None:
        """Do what is left of a step: its messages, its output, its route."""
        if step.begun:
            self.scene.restore(step)
        else:
            step.messages, step.system = self.scene.messages_of(node)
            self.scene.keep(step)
            step.begun = True
        self.engine.tell("step_started", step)
        if not step.answered:
            Inference(self, node, step).run()
            self.scene.keep(step)
            step.answered = True
        step.route = self.choose_route(node, step)
        step.calls.sort(key=call_order)
        self.scene.keep(step)
        step.completed = True
        self.engine.tell("step_completed", step)

    def choose_route(self, node: GraphNode, step: ConvoStep) -> TakenRoute:
        """Choose where a step leads; the branch takes the first way, and forks take the others."""
        with self.scene.output(step.output):
            ways = Crossing(self, node, step).ways()
        for _, target in ways:
            if target is not None:
                self.find_node(target)
        if not ways:
            return TakenRoute(None, "no route holds")
        (route, target), *others = ways
        ends = target is None and route.target is not None
        why = route.written + NO_FURTHER_NODE if ends else route.written
        return TakenRoute(target, why, tuple(other for _, other in others if other is not None))

    def go_on(self, step: ConvoStep) -> None:
        """Go where a completed step leads, and begin its forks."""
        route = step.route or TakenRoute(None, "")
        self.groups.append(step.messages)
        for number, target in enumerate(route.forks, start=1):
            id_ = f"{self.id}/{step.index}.{number}".lstrip("/")
            given = copy_deeply(step.output)
            fork = Branch(self.engine, self.scene.copy(), self.around, list(self.groups), target, given, id_, target)
            fork.thread = Thread(target=fork.run_apart, name=f"memorygraph-fork-{id_}", daemon=True)
            fork.thread.start()
            self.forks.append(fork)
        self.node, self.given, self.exited = route.target, step.output, route.target is None

    def join(self) -> None:
        """Wait until the branches that forked from here, and from those, have ended."""
        for fork in self.all_forks():
            if fork.thread is not None and fork.thread is not current_thread():
                fork.thread.join()

    def all_forks(self) -> Iterator[Branch]:
        """The branches that forked from here, and from those."""
        for fork in self.forks:
            yield fork
            yield from fork.all_forks()

    def result(self) -> ConvoGraphResult:
        """The result of this branch."""
        output = self.steps[-1].output if self.steps else None
        result = ConvoGraphResult(
            success=True,
            value=None if output is UNDEFINED else output,
            steps=self.steps,
            messages=self.messages,
            exited=self.exited,
            forks=[fork.result() for fork in self.forks],
        )
        if self.failure is not None:
            result.fail(self.failure)
        return result


def call_order(call: ModelCall) -> tuple[bool, str, int]:
    """The order of a step's calls: the same, whichever answer came first."""
    kind, _, number = call.key.partition(" ")
    return call.purpose != "inference", "" if kind == "route" else kind, int(number or 0)
