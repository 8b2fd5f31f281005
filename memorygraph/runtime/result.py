"""The result of a run, in whichever language its program is, and its trace: what happened, in order, as plain JSON.

Source: seeds/agentscript.txt (trace requirements) and specs/agentscript.md, section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

Event = dict[str, Any]
Listener = Callable[[Event, int], None]
"""Told an event and how many agents it is inside, as soon as it is complete."""


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
    """Events in the order of execution; those of a called agent are inside its own event.

    >>> trace = Trace()
    >>> with trace.inside("agent", {"agent": "Worker"}) as event:
    ...     trace.add("use", {"source": "question"})
    ...     event["result"] = 1
    >>> [(event["kind"], event["data"]["trace"]) for event in trace.events]
    [('agent', [{'kind': 'use', 'data': {'source': 'question'}}])]
    """

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
