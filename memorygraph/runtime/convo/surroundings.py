"""The conversation around a graph: its definitions, what was said before the graph, and where it begins.

A conversation may already hold visits of nodes, as a transcript does: they count as steps, and the run begins at the
last `goto`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memorygraph.languages.convo.syntax import CodeMessage, FunctionMessage, Message
from memorygraph.runtime.convo.branch import Branch
from memorygraph.runtime.convo.entry import SPEAKERS, Entry
from memorygraph.runtime.convo.failure import GraphFailure
from memorygraph.runtime.convo.graph import OUTSIDE, Graph, id_in, role_of
from memorygraph.runtime.convo.scene import Scene, Visit
from memorygraph.runtime.convo.values import UNDEFINED

if TYPE_CHECKING:
    from memorygraph.runtime.convo.engine import Engine


@dataclass
class Surroundings:
    """Reads what stands outside of the nodes, in order. `given` is what the user of the program adds to it.

    `around` is what was said outside of the graph, `groups` what each visit so far has said.
    """

    scene: Scene
    graph: Graph
    given: Any = None
    around: list[Entry] = field(default_factory=list)
    groups: list[list[Entry]] = field(default_factory=list)
    _heard: Any = UNDEFINED
    _visit: Visit | None = None

    def begin(self, engine: Engine, *, resumed: bool) -> Branch:
        """The branch that begins at the last `goto`. A run that goes on does not execute `do` again.

        Raises:
            MemoryGraphError: nothing says where the graph begins, or something in it fails.
        """
        messages = self.graph.outside
        last = max((i for i, message in enumerate(messages) if role_of(message) == "goto"), default=None)
        for index, message in enumerate(messages):
            if index == last and self.given is not None:
                self._leave()
                self._hear(Entry("user", _as_text(self.given)), self.given)
            if self.scene.enabled(message):
                self._read(message, resumed=resumed)
        if self._visit is None:
            raise GraphFailure("there are no node results: no `> goto` says where the graph begins", "no-goto")
        self.around += self.groups.pop()
        return Branch(engine, self.scene, self.around, self.groups, self._visit.node, self._visit.input)

    def _read(self, message: Message, *, resumed: bool) -> None:
        if isinstance(message, FunctionMessage):
            if message.modifier == "call":
                self._hear(self.scene.recorded_call(message))
        elif isinstance(message, CodeMessage):
            self._execute(message, resumed=resumed)
        elif message.role == "goto":
            self._go(id_in(message.head))
        elif message.role == "exitGraph":
            self._leave()
        elif message.role in SPEAKERS:
            entry = self.scene.entry(message)
            self._hear(entry, entry.content)

    def _execute(self, message: CodeMessage, *, resumed: bool) -> None:
        if message.role == "result":
            entry = self.scene.recorded_result(message)
            self._hear(entry, entry.value)
        elif message.role == "define" or (message.role == "do" and not resumed):
            self.scene.run(message.statements)

    def _hear(self, entry: Entry, value: Any = None) -> None:
        """Note what is said; it may be the input of a node."""
        (self.around if self._visit is None else self.groups[-1]).append(entry)
        if entry.spoken and entry.role in {"user", "assistant", "result"}:
            self._heard = value

    def _go(self, id_: str) -> None:
        """Begin the visit of a node; a `goto` without an id leads out of the graph."""
        self._leave()
        if id_ != OUTSIDE or OUTSIDE in self.graph.nodes:
            self._visit = Visit(id_, self._heard)
            self.groups.append([])

    def _leave(self) -> None:
        """End the visit that is open: it is one of the steps before this run."""
        if self._visit is not None:
            self.scene.visited(self._visit)
            self._visit = None


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
