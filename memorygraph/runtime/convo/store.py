"""Node graphs and their runs in Neo4j, written as they happen, so that a run that was killed can be resumed.

A thread of its own writes to the database; until it has, a journal on this machine holds what was done. So no complete
call of a model or a function is ever repeated, and no step waits for the database; where the journal cannot be written,
each one does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
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
from memorygraph.home import own_folder
from memorygraph.json_text import (
    MAX_JSON_DEPTH,
    MAX_STORED_JSON_DEPTH,
    UnreadableRecord,
    check_json_depth,
    parse_stored_json,
)
from memorygraph.languages.convo.syntax import ConvoProgram
from memorygraph.llm.completion import answers_of, call_of
from memorygraph.messages.recorder import Recorder
from memorygraph.query import Query
from memorygraph.runtime.convo.engine import RunListener
from memorygraph.runtime.convo.steps import ConvoGraphResult, ConvoStep, GraphFailure, ModelCall
from memorygraph.runtime.convo.values import to_plain
from memorygraph.runtime.runs import RunWriter, stored_properties

DELETED_AT_ONCE = 5000


class Journal:
    """The steps of one run as a file of this machine, until all of them are in Neo4j.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal("r1", Path(folder))
    ...     written = [journal.append(f'{{"index": 0, "output": {output}}}') for output in ("null", '"done"')]
    ...     written, [state["output"] for state in journal.read()]
    ([True, True], [None, 'done'])
    """

    def __init__(self, run: str, folder: Path | None = None) -> None:
        self.path = (folder or own_folder("runs")) / f"{run}.jsonl"
        self._descriptor: int | None = None
        self._writable = True

    def append(self, line: str) -> bool:
        """Append a line of JSON; False where the folder or the disk does not take it, nor any line after it.

        It is in the file when this returns True, though a loss of power can still take it.
        """
        if not self._writable:
            return False
        text = line.encode("ascii") + b"\n"
        try:
            if self._descriptor is None:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
                # After a line that the end of a process cut off, ours is a line of its own.
                if os.lseek(self._descriptor, 0, os.SEEK_END):
                    os.lseek(self._descriptor, -1, os.SEEK_END)
                    text = text if os.read(self._descriptor, 1) == b"\n" else b"\n" + text
            data = memoryview(text)
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:  # a home that is read-only, or a disk that is full
            self._writable = False
        return self._writable

    def read(self) -> Iterator[dict[str, Any]]:
        """Read what was written, in order, without the lines that the end of a process cut off."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return
        for line in lines[:-1]:
            with suppress(UnreadableRecord):
                yield parse_stored_json(line)

    def close(self, *, remove: bool) -> None:
        """Close the file, and remove it once everything in it is stored."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if remove:
            with suppress(OSError):  # where it could not be written, it cannot be looked for either
                self.path.unlink(missing_ok=True)


@dataclass(eq=False)
class ConvoRunStore(RunListener):
    """Writes one run of a graph into a namespace."""

    namespace: Namespace
    program: ConvoProgram
    properties: dict[str, Any] = field(default_factory=dict)
    told: Callable[[ConvoStep], None] = lambda _step: None  # called with each step that is complete
    id: str = field(default_factory=lambda: uuid4().hex)
    resumed: list[ConvoStep] = field(default_factory=list)  # the steps of the run before it was interrupted

    def __post_init__(self) -> None:
        self.conversation = f"run-{self.id}"
        self.graph = program_id(self.program.source)
        self._journal = Journal(self.id)
        self._writer = RunWriter(f"the run {self.id}")
        self._recorder = Recorder(self.namespace, self.conversation)
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

    def called(self, step: ConvoStep, call: ModelCall) -> None:
        """Store a step with a call of a model, and record the call."""
        at = datetime.now(UTC).isoformat()
        record = call_of(self.namespace.name, self.conversation, call.messages, call.completion, at)
        self._answers.setdefault((step.branch, step.index), []).extend(answers_of(record))
        spooled = self._recorder.spool_call(record)  # the writer may come to it late
        self._writer.put(lambda: self._recorder.record(record, spooled))
        self.keep(step)

    def tool_called(self, step: ConvoStep, name: str, arguments: dict[str, Any], result: Any) -> None:  # noqa: ARG002
        """Store a step with the result of a function."""
        self.keep(step)

    def step_completed(self, step: ConvoStep) -> None:
        """Store a complete step, with its route."""
        self.keep(step)
        self.told(step)

    def ended(self, result: ConvoGraphResult) -> None:
        """Write how the run ended, and wait until everything is written."""
        if not result.success and result.steps:
            with suppress(GraphFailure):  # a step that cannot be written is why the run failed
                self.keep(result.steps[-1])
        end = {
            "status": "done" if result.success else "failed",
            "value": to_plain(result.value),
            "error": result.error,
            "code": result.code,
        }
        query = self.namespace.query("runs/end-run", id=self.id, properties=stored_properties(end))
        self._writer.put(lambda: self.write(query))
        self._writer.close()
        self._journal.close(remove=not self._writer.failed)

    def flush(self) -> None:
        """Wait until everything is written that has happened so far."""
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

    def write(self, *queries: Query) -> None:
        """Run queries in one transaction."""
        self.namespace.write(lambda transaction: [transaction.run(query) for query in queries])

    def step_query(self, step: ConvoStep, state: str) -> Query:
        """Compile the state of a step to the query that stores it, after the step before it."""
        key = (step.branch, step.index)
        order = self._orders.setdefault(key, len(self._orders))
        route = step.route
        # The first step of a fork follows one of the branch it left; the fork's id is `PARENT/INDEX.NUMBER`.
        parent, _, fork = step.branch.rpartition("/")
        branch_before = parent if fork and int(fork.partition(".")[0]) == step.index - 1 else step.branch
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


def drop_graphs(namespace: Namespace) -> None:
    """Delete every graph and every step of a namespace, in several transactions."""
    page = namespace.query("convo/drop-graphs", limit=DELETED_AT_ONCE)
    while namespace.write(lambda transaction: int(transaction.run(page)[0]["deleted"])):
        pass
