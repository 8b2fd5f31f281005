"""The conversation around a graph: its definitions, what was said before the graph, and where it begins.

A conversation may already hold visits of nodes, as a transcript does: they count as steps, and the run begins at the
last `goto`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memorygraph.compiler.convo.graph import OUTSIDE, id_in, message_role
from memorygraph.languages.convo import syntax
from memorygraph.runtime.convo.branch import Branch
from memorygraph.runtime.convo.failure import GraphFailure
from memorygraph.runtime.convo.scene import Scene, Visit
from memorygraph.runtime.convo.transcript import SPEAKERS, TranscriptEntry
from memorygraph.runtime.convo.values import UNDEFINED

if TYPE_CHECKING:
    from memorygraph.runtime.convo.engine import Engine


@dataclass
class Surroundings:
    """Reads the messages outside of the nodes, in order; `given` is the input that the caller adds.

    `around` is what was said outside of the graph, `groups` what each visit so far has said. `visit` is the visit
    that the messages are in, and `heard` the last thing that was said: the input of the next visit.
    """

    scene: Scene
    given: Any = None
    around: list[TranscriptEntry] = field(default_factory=list)
    groups: list[list[TranscriptEntry]] = field(default_factory=list)
    heard: Any = UNDEFINED
    visit: Visit | None = None

    def begin(self, engine: Engine, *, resumed: bool) -> Branch:
        """Begin a branch at the last `goto`. A resumed run does not execute `do` again.

        Raises:
            MemoryGraphError: there is no `goto`, or a statement fails.
        """
        messages = self.scene.graph.outside
        last = max((i for i, message in enumerate(messages) if message_role(message) == "goto"), default=None)
        for index, message in enumerate(messages):
            if index == last and self.given is not None:
                self.end_visit()
                text = self.given if isinstance(self.given, str) else json.dumps(self.given, ensure_ascii=False)
                self.hear(TranscriptEntry("user", text), self.given)
            if self.scene.is_enabled(message):
                self.read(message, resumed=resumed)
        if self.visit is None:
            raise GraphFailure("there are no node results: no `> goto` says where the graph begins", "no-goto")
        self.around += self.groups.pop()
        return Branch(engine, self.scene, self.around, self.groups, self.visit.node, self.visit.input)

    def read(self, message: syntax.Message, *, resumed: bool) -> None:
        """Read a message, and execute the code in it."""
        if isinstance(message, syntax.FunctionMessage):
            if message.modifier == "call":
                self.hear(self.scene.recorded_call(message))
        elif isinstance(message, syntax.CodeMessage):
            if message.role == "result":
                entry = self.scene.recorded_result(message)
                self.hear(entry, entry.value)
            elif message.role == "define" or (message.role == "do" and not resumed):
                self.scene.evaluator.statements(message.statements)
        elif message.role == "goto":
            self.end_visit()
            # A `goto` without an id leads out of the graph.
            if (id_ := id_in(message.head)) != OUTSIDE or OUTSIDE in self.scene.graph.nodes:
                self.visit = Visit(id_, self.heard)
                self.groups.append([])
        elif message.role == "exitGraph":
            self.end_visit()
        elif message.role in SPEAKERS:
            entry = self.scene.speech(message)
            self.hear(entry, entry.content)

    def hear(self, entry: TranscriptEntry, value: Any = None) -> None:
        """Add what is said to the transcript; it may be the input of a node."""
        (self.around if self.visit is None else self.groups[-1]).append(entry)
        if entry.spoken and entry.role in {"user", "assistant", "result"}:
            self.heard = value

    def end_visit(self) -> None:
        """End the visit that is open, if there is one: it is one of the steps before this run."""
        if self.visit is not None:
            self.scene.add_visit(self.visit)
            self.visit = None
