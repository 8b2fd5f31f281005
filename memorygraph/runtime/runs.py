"""What the runs of all languages share: their request, their result with its trace, and how they are recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from queue import SimpleQueue
from threading import Event as ThreadEvent
from threading import Thread
from typing import Any

from memorygraph.context.origins import copy_value
from memorygraph.context.rendering import compact
from memorygraph.errors import ConnectionError, CopyableError, MemoryGraphError
from memorygraph.graph.loads import Provenance
from memorygraph.graph.namespace import Namespace
from memorygraph.json_text import MAX_JSON_DEPTH, nests_deeper
from memorygraph.languages.agentscript.syntax import Field
from memorygraph.limits import Cancelled, RunLimits, spend_on_keeping
from memorygraph.messages.recorder import warn_of_record
from memorygraph.runtime.permissions import Permissions
from memorygraph.sentences import Sentence, count_of

LAST = "last"
"""In place of the id of a run: the latest; of a program, its latest; to go on with, the latest that was interrupted."""

Work = Callable[[], object]
Event = dict[str, Any]
Listener = Callable[[Event, int], None]
"""Told an event and how many agents it is inside, as soon as it is complete."""


@dataclass(frozen=True)
class RunRequest:
    """The input of a run, and how it is run; `MemoryGraph.run` says what each option means."""

    input: Any = None
    model: str | None = None
    folder: Path = Path()
    import_folder: Path | None = None
    agent: str | None = None
    function: str | None = None
    permissions: Permissions = field(default_factory=Permissions)
    max_steps: int = 100
    mock: bool = False
    listener: Listener | None = None
    ask: Callable[[Field], Any] | None = None
    resume: str | None = None
    limits: RunLimits | None = None
    summary: bool = False
    provenance: Provenance | None = None

    def __post_init__(self) -> None:
        if nests_deeper(self.input):
            raise MemoryGraphError(f"the input nests more than {MAX_JSON_DEPTH} levels deep; give it flatter")


@dataclass(frozen=True)
class RunResult(Sentence):
    """The value that a run returned, and the record of how it came about.

    `steps` are its generations, or the nodes that it visited, in short; `conversation` keeps the messages of all of
    them, and is None where nothing was said; `run` is the id under which the record of the run is stored. `summary` is
    that of a node graph, for which the run was asked.
    """

    value: Any
    trace: list[Event]
    steps: list[dict[str, Any]]
    conversation: str | None
    run: str
    summary: str | None = None

    def __str__(self) -> str:
        value = self.value if isinstance(self.value, str) else compact(self.value)
        return f"{value}\n{count_of(len(self.steps), 'step')}; {self.place}"

    @property
    def place(self) -> str:
        """Under which id the run is stored, and where what was said in it is, if anything was."""
        return f"run {self.run}, conversation {self.conversation}" if self.conversation else f"run {self.run}"

    def as_dict(self) -> dict[str, Any]:
        """The result as `--json` prints it."""
        return {each.name: copy_value(getattr(self, each.name)) for each in fields(self)}


class RunInterrupted(CopyableError, KeyboardInterrupt):  # noqa: N818 - no error: the user wanted it
    """The user has stopped a run. Its record is stored: `run` is its id, and `done` says how much of it that holds.

    A `resumable` run goes on with `resume=run`.
    """

    def __init__(self, run: str, done: int, *, resumable: bool) -> None:
        super().__init__(f"the run {run} was stopped")
        self.run = run
        self.done = done
        self.resumable = resumable


@dataclass(frozen=True)
class RunInfo:
    """A stored run: its id, its language and program, when it began and ended, and how.

    It is `done`, `failed`, or was `stopped` by its user, or with its process or request; one that is `running` still
    runs, or was killed. `program` is the name of its file, or the first characters of the hash of its source.
    """

    id: str
    language: str
    program: str
    status: str
    at: str
    ended_at: str | None
    conversation: str | None

    def as_dict(self) -> dict[str, Any]:
        """The run as `--json` prints it."""
        return {each.name: copy_value(getattr(self, each.name)) for each in fields(self)}


@dataclass(frozen=True)
class RunDetails:
    """What the language of a run makes of its record: its steps, its trace, and its transcript as text."""

    steps: list[dict[str, Any]]
    trace: list[Event]
    transcript: str


@dataclass(frozen=True)
class StoredRun(RunInfo):
    """A stored run with all that is known of it; `steps` and `trace` are as in its `RunResult`."""

    input: Any
    value: Any
    error: str | None
    model: str | None
    summary: str | None
    steps: list[dict[str, Any]]
    trace: list[Event]
    transcript: str


class Trace:
    """Events in the order of execution; those of a called agent are inside its own event."""

    def __init__(self, listener: Listener | None = None) -> None:
        self.events: list[Event] = []
        self._current = self.events
        self._depth = 0
        self._listener = listener

    def add(self, kind: str, data: dict[str, Any]) -> None:
        """Note an event, and tell it to the listener."""
        spend_on_keeping(data)
        self._add(kind, data)

    def _add(self, kind: str, data: dict[str, Any]) -> None:
        event = {"kind": kind, "data": data}
        self._current.append(event)
        if self._listener is not None:
            self._listener(event, self._depth)

    @contextmanager
    def inside(self, kind: str, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Note an event that holds those of the block, also when the block fails."""
        spend_on_keeping(data)
        around, inner = self._current, []  # type: tuple[list[Event], list[Event]]
        self._current = inner
        self._depth += 1
        try:
            yield data
        finally:
            self._current = around
            self._depth -= 1
            self._add(kind, {**data, "trace": inner})


class RunWriter:
    """A thread that does one piece of work after the other, so that a run does not wait for the database.

    Work that meets a ConnectionError has been tried for as long as a write is. What waits by then is dropped, so that
    the end of a run waits once for a database that is gone, and not for each piece; what comes later is tried again.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._work: SimpleQueue[tuple[Work, Work] | None] = SimpleQueue()
        self._problem: Exception | None = None
        self._thread = Thread(target=self.work, name="memorygraph-writer", daemon=True)
        self._begun = False

    def put(self, work: Work, instead: Work = lambda: None) -> None:
        """Have a piece of work done after those before it, or `instead` where it is dropped."""
        self._work.put((work, instead))
        if not self._begun:  # a run that is prepared may never begin
            self._begun = True
            self._thread.start()

    def wait(self) -> None:
        """Wait until everything is done that was put here before, or is dropped."""
        done = ThreadEvent()
        self.put(done.set, instead=done.set)
        done.wait()

    @property
    def failed(self) -> bool:
        """Whether something could not be written."""
        return self._problem is not None

    def close(self) -> None:
        """Wait until everything is done, and warn of the first failure, which never breaks the run."""
        self._work.put(None)
        if self._begun:
            self._thread.join()
        if self._problem is not None:
            warn_of_record(f"{self._what} could not be stored whole ({self._problem})")

    def work(self) -> None:
        """Do the work that comes, until the writer is closed."""
        while (waiting := self._work.get()) is not None:
            work, _ = waiting
            try:
                work()
            except Exception as error:  # noqa: BLE001 - the run goes on, and its end warns of it
                self._problem = self._problem or error
                if isinstance(error, ConnectionError):
                    self.drop_waiting()

    def drop_waiting(self) -> None:
        """Drop the work that waits now; the end of the writer stays its end."""
        for _ in range(self._work.qsize()):  # only this thread takes from it
            waiting = self._work.get()
            if waiting is None:
                self._work.put(None)
            else:
                _, instead = waiting
                instead()


def status_of_failure(error: BaseException | None) -> str:
    """What a run that has not come to its end is recorded as."""
    return "stopped" if isinstance(error, Cancelled) else "failed"


def is_forgotten(namespace: Namespace, run: str) -> bool:
    """Whether a run that has begun is not stored any more: nothing else of it is to be stored either."""
    try:
        return not namespace.read("runs/stored", id=run)
    except MemoryGraphError:  # what is recorded waits until the database answers
        return False


def stored_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """Properties as Neo4j keeps them: what it has no type for becomes JSON text, and half characters are replaced."""
    return {name: stored_property(value) for name, value in properties.items()}


def typed_property(name: str, value: Any) -> dict[str, Any]:
    """A property with a second one, `NAME_json`: whether it is JSON text, which a text could look like."""
    return {name: value, f"{name}_json": not (isinstance(value, str) or is_plain(value))}


def stored_property(value: Any) -> Any:
    """A value as Neo4j keeps it."""
    if is_plain(value):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [item.encode("utf-8", "replace").decode("utf-8") for item in value]
    text = value if isinstance(value, str) else compact(value)
    return text.encode("utf-8", "replace").decode("utf-8")


def is_plain(value: Any) -> bool:
    """Whether Neo4j has a type for a value that is no text: its whole numbers have 64 bits."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return value is None or isinstance(value, float)
