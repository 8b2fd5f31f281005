"""What the runs of all languages share: their request, their result with its trace, and how they are recorded."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from memorygraph.context.rendering import compact
from memorygraph.graph.namespace import Namespace
from memorygraph.languages.agentscript.syntax import Field
from memorygraph.messages.recorder import RecordWarning
from memorygraph.runtime.permissions import Permissions

RUNS_PER_TRANSACTION = 5000
MAX_FRAMES = 100_000  # that the deepest calls of a program take: a thousand calls, each out of some blocks

# Python's recursion limit is one for all threads: the first run raises it, the last one puts it back.
_lock = Lock()
_former_limits: list[int] = []

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
    agent: str | None = None
    function: str | None = None
    permissions: Permissions = field(default_factory=Permissions)
    max_steps: int = 100
    mock: bool = False
    listener: Listener | None = None
    ask: Callable[[Field], Any] | None = None
    resume: str | None = None


@dataclass(frozen=True)
class RunResult:
    """The value that a run returned, and the record of how it came about.

    `steps` are its generations, or the nodes that it visited, in short; `conversation` keeps the messages of all of
    them, and `run` is the id under which the record of the run is stored.
    """

    value: Any
    trace: list[Event]
    steps: list[dict[str, Any]]
    conversation: str
    run: str

    def as_dict(self) -> dict[str, Any]:
        """The result as `--json` prints it."""
        return asdict(self)


class Trace:
    """Events in the order of execution; those of a called agent are inside its own event."""

    def __init__(self, listener: Listener | None = None) -> None:
        self.events: list[Event] = []
        self._current = self.events
        self._depth = 0
        self._listener = listener

    def add(self, kind: str, data: dict[str, Any]) -> None:
        """Note an event, and tell it to the listener."""
        event = {"kind": kind, "data": data}
        self._current.append(event)
        if self._listener is not None:
            self._listener(event, self._depth)

    @contextmanager
    def inside(self, kind: str, data: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Note an event that holds those of the block, also when the block fails."""
        around, inner = self._current, []  # type: tuple[list[Event], list[Event]]
        self._current = inner
        self._depth += 1
        try:
            yield data
        finally:
            self._current = around
            self._depth -= 1
            self.add(kind, {**data, "trace": inner})


class RunWriter:
    """A thread that does one piece of work after the other, so that a run does not wait for the database."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._problem: Exception | None = None
        self._thread = Thread(target=self.work, name="memorygraph-writer", daemon=True)
        self._thread.start()

    def put(self, work: Work) -> None:
        """Have a piece of work done after those before it."""
        self._work.put(work)

    @property
    def failed(self) -> bool:
        """Whether something could not be written."""
        return self._problem is not None

    def close(self) -> None:
        """Wait until everything is done."""
        self._work.put(None)
        self._thread.join()
        if self._problem is not None:
            message = f"{self._what} could not be stored whole ({self._problem})"
            warnings.warn(message, RecordWarning, stacklevel=3)

    def work(self) -> None:
        """Do the work that comes, until the writer is closed."""
        while (work := self._work.get()) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - the run goes on, and its end warns of it
                self._problem = self._problem or error


@contextmanager
def deep_calls() -> Iterator[None]:
    """Let Python code of the block nest its calls as deep as a program may."""
    with _lock:
        _former_limits.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(_former_limits[0], MAX_FRAMES))
    try:
        yield
    finally:
        with _lock:
            if len(_former_limits) == 1:
                sys.setrecursionlimit(_former_limits[0])
            _former_limits.pop()


def drop_runs(namespace: Namespace) -> None:
    """Delete every run of a namespace, in several transactions."""
    page = namespace.query("runs/drop-runs", limit=RUNS_PER_TRANSACTION)
    while namespace.write(lambda transaction: int(transaction.run(page)[0]["deleted"])):
        pass


def stored_properties(properties: dict[str, Any]) -> dict[str, Any]:
    """Properties as Neo4j keeps them: what it has no type for becomes JSON text, and half characters are replaced."""
    return {name: stored_property(value) for name, value in properties.items()}


def stored_property(value: Any) -> Any:
    """A value as Neo4j keeps it."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [item.encode("utf-8", "replace").decode("utf-8") for item in value]
    text = value if isinstance(value, str) else compact(value)
    return text.encode("utf-8", "replace").decode("utf-8")
