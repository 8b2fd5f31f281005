"""Node graphs and their runs in Neo4j, written as they happen, so that a run that was killed can be resumed.

A thread of its own writes to the database; until it has, a journal on this machine holds what was done. So no complete
call of a model or a function is ever repeated, and no step waits for the database; where the journal cannot be written,
each one does.
"""

from __future__ import annotations

import json
import operator
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from memorygraph.compiler.convo import NodeGraph, compile_graph, graph_of
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
from memorygraph.runtime.runs import RunWriter, is_forgotten, status_of_failure, stored_properties, typed_property

MAX_MISSED_SHARE = 0.25  # how many calls the stored state of a step may miss, for each that it has
DONE = "done"
RUNNING = (
    "the run `{}` is still running; resume it when it has ended, or end it before (Ctrl-C, or `dispose` in Python)"
)

SaidInStep = tuple[str, str, int, Sequence[TranscriptEntry]]
"""The id of a step, its branch, its index, and its messages."""


@dataclass(frozen=True)
class KeptState:
    """What was last journaled of a step: how many calls, and everything else."""

    calls: int
    rest: list[Any]

    @classmethod
    def of(cls, step: ConvoStep) -> KeptState:
        """The state of a step as it is now."""
        return cls(len(step.calls), [value for name, value in vars(step).items() if name != "calls"])

    def misses_calls_only(self, step: ConvoStep) -> bool:
        """Whether a step has changed by calls only, and by few for those that it had."""
        now = KeptState.of(step)
        few = now.calls - self.calls <= self.calls * MAX_MISSED_SHARE
        return few and all(map(operator.is_, self.rest, now.rest))


@dataclass(eq=False)
class ConvoRunStore(RunListener):
    """Writes one run of a graph into a namespace."""

    namespace: Namespace
    program: ConvoProgram
    properties: dict[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: uuid4().hex)
    resumed: list[ConvoStep] | None = None  # the steps of a run that was interrupted; None for a new run

    def __post_init__(self) -> None:
        self.conversation = f"run-{self.id}"
        self.graph = program_id(self.program.source)
        self._exit_name = graph_of(self.program.conversation).exit_name
        self._journal = Journal(self.id)
        self._writer = RunWriter(f"the run {self.id}")
        self._recorder = Recorder(self.namespace, self.conversation)
        self._said = RunConversation(self.namespace, self.id, self.conversation)
        self._orders = {(step.branch, step.index): order for order, step in enumerate(self.resumed or ())}
        self._answers: dict[tuple[str, int], list[str]] = {}
        self._latest: dict[tuple[str, int], Query] = {}
        self._unsaid: deque[SaidInStep] = deque()
        self._kept: dict[tuple[str, int], KeptState] = {}
        self._behind: dict[tuple[str, int], ConvoStep] = {}  # of some calls the database does not know yet
        self._begun = False  # the run is ours to write

    def started(self, graph: NodeGraph) -> None:  # noqa: ARG002
        """Write the definition and the run, before anything of it happens.

        Raises:
            GraphFailure: the run lives elsewhere, or has gone on there.
        """
        self.take()
        begin = self.namespace.query("runs/begin-run", id=self.id, properties=stored_properties(self.properties))
        join = self.namespace.query("convo/join-graph", run=self.id, graph=self.graph)
        self.write(compile_graph(self.program, self.namespace.name), begin, join)
        for step in self.resumed or ():
            self.keep(step)

    def take(self) -> None:
        """Take the run for this process; one that is resumed must be as it was read."""
        if not self._journal.lock():
            raise GraphFailure(RUNNING.format(self.id), "running")
        if self.resumed is not None:
            now = find_run(self.namespace, self.id)
            if now.status == DONE or [*map(write_state, now.steps)] != [*map(write_state, self.resumed)]:
                message = (
                    f"the run `{self.id}` has gone on elsewhere since it was read; resume it again if it is not done"
                )
                raise GraphFailure(message, "running")
        self._begun = True

    def conversation_read(self, messages: list[TranscriptEntry]) -> None:
        """Store what was said before the first step, and in the steps before the run was interrupted."""
        self._said.begin(messages)
        for step in self.resumed or ():
            if step.completed:
                self.keep_messages(step)

    def step_started(self, step: ConvoStep) -> None:
        """Store a step whose code was executed, so that a resumed run does not execute it again."""
        self.keep(step)

    def called(self, step: ConvoStep, call: ModelCall) -> None:
        """Store a step with a call of a model, and record the call."""
        at = datetime.now(UTC).isoformat()
        record = call_of(self.namespace.name, self.conversation, call.messages, call.completion, at)
        self._answers.setdefault((step.branch, step.index), []).extend(answers_of(record))
        spooled = self._recorder.spool_call(record)  # the writer may come to it late
        self._writer.put(lambda: self.record(record, spooled), instead=lambda: self._recorder.leave(spooled))
        if not self.journal_call(step, call):
            self.keep(step)

    def tool_called(self, step: ConvoStep, name: str, arguments: dict[str, Any], result: Any) -> None:  # noqa: ARG002
        """Store a step with the result of a function."""
        self.keep(step)

    def step_completed(self, step: ConvoStep) -> None:
        """Store a complete step, with its route."""
        self.keep(step)
        self.keep_messages(step)

    def ended(self, result: ConvoGraphResult) -> None:
        """Write how the run ended, wait until everything is written, and let others have the run."""
        whole = False
        try:
            whole = self._begun and self.write_end(result)
        finally:
            self._journal.close(remove=whole)

    def write_end(self, result: ConvoGraphResult) -> bool:
        """Write how the run ended, with the steps at which it failed, and tell whether everything is written."""
        for branch in () if result.success else result.branches():
            for step in branch.steps[-1:]:
                with suppress(GraphFailure):  # a step that cannot be written is why the run failed
                    self.keep(step)
                    if not step.completed:
                        self.keep_messages(step)
        self.catch_up()
        # After those of the steps come the messages of the summary.
        summed_up = result.messages[len(messages_of_steps(result.steps)) :]

        def end_conversation() -> None:
            self.write_messages()
            self._said.end(summed_up)

        self.say(end_conversation)
        end = {
            "status": DONE if result.success else status_of_failure(result.failure),
            **typed_property("value", to_plain(result.value)),
            "summary": result.summary,
            "error": result.error,
            "code": result.code,
        }
        query = self.namespace.query("runs/end-run", id=self.id, properties=stored_properties(end))
        self._writer.put(lambda: self.write(query))
        self._writer.close()
        return not self._writer.failed

    def interrupted(self) -> None:
        """Write that the user has stopped the run, and all that has happened so far; then others may have the run."""
        self.catch_up()
        query = self.namespace.query("runs/end-run", id=self.id, properties={"status": "stopped"})
        self._writer.put(lambda: self.write(query))
        self._writer.wait()
        self._journal.close(remove=False)

    def keep(self, step: ConvoStep) -> None:
        """Store the state of a step: in the journal now, and in Neo4j soon, where the latest state counts."""
        key = (step.branch, step.index)
        state = write_state(step)
        journaled = self._journal.append(state)
        self._kept[key] = KeptState.of(step)
        self._behind.pop(key, None)
        query = self._latest[key] = self.step_query(step, state)

        def write_latest() -> None:
            # A later state has a turn of its own, after the calls of models that it is joined to.
            if self._latest.get(key) is query:
                del self._latest[key]
                self.write(query)

        self._writer.put(write_latest)
        if not journaled:
            self._writer.wait()

    def journal_call(self, step: ConvoStep, call: ModelCall) -> bool:
        """Journal a call by itself, and tell whether: a step of many would be written with all of them at each."""
        key = (step.branch, step.index)
        if key not in self._kept or not self._kept[key].misses_calls_only(step):
            return False
        line = write_line({"branch": step.branch, "index": step.index, "call": to_plain(call.as_dict())}, step.node)
        journaled = self._journal.append(line)
        if journaled:
            self._behind[key] = step
        return journaled

    def catch_up(self) -> None:
        """Store the steps of whose latest calls the database does not know yet."""
        for step in [*self._behind.values()]:
            with suppress(GraphFailure):
                self.keep(step)

    def keep_messages(self, step: ConvoStep) -> None:
        """Store what was said in a step, as a part of the one conversation of the run."""
        said = (self.step_id(step.branch, step.index), step.branch, step.index, step.said)
        self._unsaid.append(said)
        self.say(lambda: self.write_messages(said))

    def write_messages(self, last: SaidInStep | None = None) -> None:
        """Write what was said in steps, up to the last one given; what was dropped before goes first."""
        while self._unsaid:
            said = self._unsaid.popleft()
            self._said.add(*said)
            if said is last:  # the steps after it are not stored yet
                return

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
            "route": (route.target or self._exit_name) if route else None,
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
    states = choose_states(map(parse_stored_json, row["states"]), merge_states(Journal(id_).read()))
    steps = [ConvoStep.from_dict(state) for state in states]
    given = parse_stored_json(row["input"]) if row["input"] is not None else None
    return StoredConvoRun(id_, row["status"], row["program_hash"], given, steps)


def merge_states(states: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge what was journaled, in order: of each step the latest state, with the calls that came after it.

    >>> call = {"branch": "", "index": 0, "call": {"key": "prompt 0"}}
    >>> merge_states([{"branch": "", "index": 0, "calls": []}, call])
    [{'branch': '', 'index': 0, 'calls': [{'key': 'prompt 0'}]}]
    """
    latest: dict[tuple[str, int], dict[str, Any]] = {}
    for state in states:
        key = (state["branch"], state["index"])
        if "call" not in state:
            latest[key] = state
        elif key in latest:
            latest[key].setdefault("calls", []).append(state["call"])
    return [*latest.values()]


def choose_states(stored: Iterable[dict[str, Any]], journaled: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Choose between the states in the database and in the journal: of each step the one that is further along.

    The database is ahead where the journal could not be written any more, or where the run went on elsewhere.
    """
    chosen = {(state["branch"], state["index"]): state for state in stored}
    for state in journaled:
        known = chosen.get((state["branch"], state["index"]), state)
        if known["node"] != state["node"] or measure_progress(state) >= measure_progress(known):
            chosen[state["branch"], state["index"]] = state
    return [*chosen.values()]


def measure_progress(state: Mapping[str, Any]) -> tuple[int, ...]:
    """Measure how far a step has come; what is done last counts first."""
    done = [bool(state.get(name)) for name in ("completed", "answered", "tool", "begun")]
    return (*done, len(state.get("calls") or ()))


def write_state(step: ConvoStep) -> str:
    """Write a step as JSON, as deep as it can be read again."""
    return write_line(step.as_plain(), step.node)


def write_line(plain: dict[str, Any], node: str) -> str:
    """Write a part of the record of a run as JSON; the node is named where it nests too deep to be read again."""
    try:
        text = json.dumps(plain)
        check_json_depth(text, MAX_STORED_JSON_DEPTH)
    except (json.JSONDecodeError, RecursionError) as error:
        message = f"a value of the step at `{node}` nests more than {MAX_JSON_DEPTH} levels deep; make it flatter"
        raise GraphFailure(message, "value-too-large") from error
    return text


def find_interrupted_run(namespace: Namespace, source: Source) -> str:
    """Find the latest run of a program that was interrupted, and that nobody runs on this machine; give its id."""
    running: list[str] = []
    while rows := namespace.read("convo/broken-run", graph=program_id(source), running=running):
        id_ = str(rows[0]["id"])
        if not Journal(id_).is_locked():
            return id_
        running.append(id_)
    hint = f"; `{running[0]}` is still running" if running else explain_edited(namespace, source)
    raise NotFoundError(f"no run of this program in namespace `{namespace}` was interrupted{hint}")


def explain_edited(namespace: Namespace, source: Source) -> str:
    """Explain that a run was broken off in another version of a file; empty where none was."""
    rows = namespace.read("convo/broken-run-of-file", file=source.file)
    if not rows or Journal(rows[0]["id"]).is_locked():
        return ""
    edited = f"run `{rows[0]['id']}` was broken off in another version of {source.file}"
    return f"; {edited}: take its changes back to go on with that run, or begin a new one"


def find_latest_run(namespace: Namespace, source: Source) -> str:
    """Find the latest run of a program; give its id."""
    rows = namespace.read("convo/latest-run", graph=program_id(source))
    if not rows:
        raise NotFoundError(f"no run of this program, as it is now, is stored in namespace `{namespace}`")
    return str(rows[0]["id"])
