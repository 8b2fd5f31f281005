"""What one step of a thought was: what the model wrote, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from memorygraph.errors import Problem
from memorygraph.runtime.pete.views import View


@dataclass(frozen=True)
class Step:
    """One step: `written` is all text that the log gained, `view` what the model saw.

    `command` is the command or question that ended it, `feedback` what the system answered. `problems` is what could
    not be read of the model's answers, try by try; `warnings` says what was taken differently than it was written.
    `stuck` says that its last answer could not be read either; `closed` that the outermost context is closed, so that
    the log has ended.
    """

    number: int
    context: str
    written: str
    view: View
    command: str | None = None
    feedback: Any = None
    problems: Sequence[Problem] = ()
    warnings: Sequence[str] = ()
    stuck: bool = False
    closed: bool = False

    @property
    def idle(self) -> bool:
        """Whether the model had nothing to say."""
        return not self.written

    def as_dict(self) -> dict[str, Any]:
        """The step as `--json` prints it."""
        return {
            "number": self.number,
            "context": self.context,
            "written": self.written,
            "command": self.command,
            "feedback": self.feedback,
            "problems": [problem.as_dict() for problem in self.problems],
            "warnings": list(self.warnings),
            "stuck": self.stuck,
            "closed": self.closed,
            "trace": self.view.as_dict(),
        }


@dataclass(frozen=True)
class Thinking:
    """What a run of several steps was; `ended` says why it did: `closed`, `idle`, `stuck` or `max_steps`.

    It is stuck where the model's text could not be read however often it was told what is wrong.
    """

    steps: tuple[Step, ...] = field(default=())
    ended: str = "max_steps"

    @property
    def written(self) -> str:
        """All text that the log gained."""
        return "".join(step.written for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """The run as `--json` prints it."""
        return {"ended": self.ended, "written": self.written, "steps": [step.as_dict() for step in self.steps]}
