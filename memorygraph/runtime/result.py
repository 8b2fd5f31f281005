"""What a run gave, in whichever language its program is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from memorygraph.runtime.trace import Event


@dataclass(frozen=True)
class RunResult:
    """What a run gave.

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
