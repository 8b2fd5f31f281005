"""Node graphs and their runs in Neo4j, written as they happen, so that a run that was killed can be resumed.

A thread of its own writes to the database; until it has, a journal on this machine holds what was done. So no complete
call of a model or a function is ever repeated, and no step waits for the database; where the journal cannot be written,
each one does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from memorygraph.compiler.convo import EXIT, NodeGraph, compile_graph
from memorygraph.compiler.identity import program_id
from memorygraph.errors import MemoryGraphError, NotFoundError, Source
from memorygraph.graph.namespace import Namespace
from memorygraph.json_text import (
    MAX_JSON_DEPTH,
    MAX_STORED_JSON_DEPTH,
    check_json_depth,
    parse_stored_json,
)
from memorygraph.languages.convo.syntax import ConvoProgram
from memorygraph.llm.completion import answers_of, call_of
from memorygraph.messages.calls import RecordedCall
from memorygraph.messages.recorder import Recorder
from memorygraph.query import Query
from memorygraph.runtime.convo.conversation import RunConversation
from memorygraph.runtime.convo.engine import RunListener
from memorygraph.runtime.convo.journal import Journal
from memorygraph.runtime.convo.steps import (
    ConvoGraphResult,
    ConvoStep,
    GraphFailure,
    ModelCall,
    fork_of,
    messages_of_steps,
)
from memorygraph.runtime.convo.transcript import TranscriptEntry
from memorygraph.runtime.convo.values import to_plain
from memorygraph.runtime.runs import RunWriter, is_forgotten, stored_properties, typed_property

DELETED_AT_ONCE = 5000


@dataclass(eq=False)
class ConvoRunStore(RunListener):
    """Writes one run of a graph into a namespace."""

    namespace: Namespace
    program: ConvoProgram
    properties: dict[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: uuid4().hex)
    resumed: list[ConvoStep] = field(default_factory=list)  # the steps of the run before it was interrupted

    def __post_init__(self) -> None:
        self.conversation = f"run-{self.id}"
        self.graph = program_id(self.program.source)
        self._journal = Journal(self.id)
        self._writer = RunWriter(f"the run {self.id}")
        self._recorder = Recorder(self.namespace, self.conversation)
        self._said = RunConversation(self.namespace, self.id, self.conversation)
        self._orders = {(step.branch, step.index): order for order, step in enumerate(self.resumed)}
        self._answers: dict[tuple[str, int], list[str]] = {}
        self._latest: dict[tuple[str, int], Query] = {}

    def started(self, graph: NodeGraph) -> None:  # noqa: ARG002
        """Write the definition and the run, before anything of it happens."""
        begin = self.namespace.query("runs/begin-run", id=self.id, properties=stored_properties(self.properties))
        join = self.namespace.query("convo/join-graph", run=self.id, graph=self.graph)
        self.write(compile_graph(self.program, self.namespace.name), begin, join)
        for step in self.resumed:
            self.keep(step)

    def conversation_read(self, messages: list[TranscriptEntry]) -> None:
        """Store what was said before the first step, and in the steps before the run was interrupted."""
        self._said.begin(messages)
        for step in self.resumed:
            if step.completed:
                self.keep_messages(step)

    def called(self, step: ConvoStep, call: ModelCall) -> None:
        """Store a step with a call of a model, and record the call."""
        at = datetime.now(UTC).isoformat()
        record = call_of(self.namespace.name, self.conversation, call.messages, call.completion, at)
        self._answers.setdefault((step.branch, step.index), []).extend(answers_of(record))
        spooled = self._recorder.spool_call(record)  # the writer may come to it late
        self._writer.put(lambda: self.record(record, spooled))
        self.keep(step)

    def tool_called(self, step: ConvoStep, name: str, arguments: dict[str, Any], result: Any) -> None:  # noqa: ARG002
        """Store a step with the result of a function."""
        self.keep(step)

    def step_completed(self, step: ConvoStep) -> None:
        """Store a complete step, with its route."""
        self.keep(step)
        self.keep_messages(step)

    def ended(self, result: ConvoGraphResult) -> None:
        """Write how the run ended, and wait until everything is written."""
        if not result.success and result.steps:
            with suppress(GraphFailure):  # a step that cannot be written is why the run failed
                self.keep(result.steps[-1])
                if not result.steps[-1].completed:
                    self.keep_messages(result.steps[-1])
        # After those of the steps come the messages of the summary.
        summed_up = result.messages[len(messages_of_steps(result.steps)) :]
        self.say(lambda: self._said.end(summed_up))
        end = {
            "status": "done" if result.success else "failed",
            **typed_property("value", to_plain(result.value)),
            "summary": result.summary,
            "error": result.error,
            "code": result.code,
        }
        query = self.namespace.query("runs/end-run", id=self.id, properties=stored_properties(end))
        self._writer.put(lambda: self.write(query))
        self._writer.close()
        self._journal.close(remove=not self._writer.failed)

    def interrupted(self) -> None:
        """Write that the user has stopped the run, and wait until everything is written that has happened so far."""
        query = self.namespace.query("runs/end-run", id=self.id, properties={"status": "stopped"})
        self._writer.put(lambda: self.write(query))
        self._writer.wait()

    def keep(self, step: ConvoStep) -> None:
        """Store the state of a step: in the journal now, and in Neo4j soon, where the latest state counts."""
        key = (step.branch, step.index)
        state = write_state(step)
        journaled = self._journal.append(state)
        self._latest[key] = self.step_query(step, state)

        def write_latest() -> None:
            query = self._latest.pop(key, None)
            if query is not None:
                self.write(query)

        self._writer.put(write_latest)
        if not journaled:
            self._writer.wait()

    def keep_messages(self, step: ConvoStep) -> None:
        """Store what was said in a step, as a part of the one conversation of the run."""
        id_, branch, index, messages = self.step_id(step.branch, step.index), step.branch, step.index, step.messages
        self.say(lambda: self._said.add(id_, branch, index, messages))

    def say(self, add: Callable[[], None]) -> None:
        """Have messages stored, unless the run is forgotten meanwhile."""

        def add_messages() -> None:
            if not is_forgotten(self.namespace, self.id):
                add()

        self._writer.put(add_messages)

    def record(self, call: RecordedCall, spooled: Path | None) -> None:
        """Record a call of a model, unless the run was forgotten while the model wrote."""
        if is_forgotten(self.namespace, self.id):
            self._recorder.drop(spooled)
        else:
            self._recorder.record(call, spooled)

    def write(self, *queries: Query) -> None:
        """Run queries in one transaction."""
        self.namespace.write(lambda transaction: [transaction.run(query) for query in queries])

    def step_query(self, step: ConvoStep, state: str) -> Query:
        """Compile the state of a step to the query that stores it, after the step before it."""
        key = (step.branch, step.index)
        order = self._orders.setdefault(key, len(self._orders))
        route = step.route
        # The first step of a fork follows one of the branch it left.
        fork = fork_of(step.branch)
        branch_before = fork.parent if fork and fork.index == step.index - 1 else step.branch
        properties = {
            "node": step.node,
            "branch": step.branch,
            "input": to_plain(step.input),
            "output": to_plain(step.output),
            "route": (route.target or EXIT) if route else None,
            "why": route.why if route else None,
            "error": step.error,
            "completed": step.completed,
            "state": state,
        }
        return self.namespace.query(
            "convo/write-step",
            run=self.id,
            id=self.step_id(step.branch, step.index),
            order=order,
            before=self.step_id(branch_before, step.index - 1),
            node=f"{self.graph}/{step.node}",
            properties=stored_properties(properties),
            messages=list(self._answers.get(key, ())),
            conversation=self.conversation,
        )

    def step_id(self, branch: str, index: int) -> str:
        """The id of a step in the database."""
        return f"{self.id}/{branch or 'main'}/{index}"


@dataclass(frozen=True)
class StoredConvoRun:
    """A stored run: its status, its steps, and its input."""

    id: str
    status: str
    program_hash: str
    input: Any
    steps: list[ConvoStep]


def find_run(namespace: Namespace, id_: str) -> StoredConvoRun:
    """Find a run of a graph, with its steps from the database and from the journal."""
    rows = namespace.read("convo/find-run", id=id_)
    if not rows:
        raise NotFoundError(f"no run `{id_}` in namespace `{namespace}`")
    [row] = rows
    if row["language"] != "convo":
        raise MemoryGraphError(f"the run `{id_}` is one of {row['language']}, and cannot be resumed")
    states = [*(parse_stored_json(state) for state in row["states"]), *Journal(id_).read()]
    latest = {(state["branch"], state["index"]): state for state in states}
    steps = [ConvoStep.from_dict(state) for state in latest.values()]
    given = parse_stored_json(row["input"]) if row["input"] is not None else None
    return StoredConvoRun(id_, row["status"], row["program_hash"], given, steps)


def write_state(step: ConvoStep) -> str:
    """Write a step as JSON, as deep as it can be read again."""
    try:
        state = json.dumps(to_plain(step.as_dict()))
        check_json_depth(state, MAX_STORED_JSON_DEPTH)
    except (json.JSONDecodeError, RecursionError) as error:
        message = f"a value of the step at `{step.node}` nests more than {MAX_JSON_DEPTH} levels deep; make it flatter"
        raise GraphFailure(message, "value-too-large") from error
    return state


def find_interrupted_run(namespace: Namespace, source: Source) -> str:
    """Find the latest run of a program that has not ended; give its id."""
    rows = namespace.read("convo/broken-run", graph=program_id(source))
    if not rows:
        raise NotFoundError(f"no run of this program in namespace `{namespace}` was interrupted")
    return str(rows[0]["id"])


def find_latest_run(namespace: Namespace, source: Source) -> str:
    """Find the latest run of a program; give its id."""
    rows = namespace.read("convo/latest-run", graph=program_id(source))
    if not rows:
        raise NotFoundError(f"no run of this program, as it is now, is stored in namespace `{namespace}`")
    return str(rows[0]["id"])


def drop_graphs(namespace: Namespace) -> None:
    """Delete every graph and every step of a namespace, in several transactions."""
    page = namespace.query("convo/drop-graphs", limit=DELETED_AT_ONCE)
    while namespace.write(lambda transaction: int(transaction.run(page)[0]["deleted"])):
        pass
