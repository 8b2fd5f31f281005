"""What a run of a program is asked for, whatever its language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memorygraph.languages.agentscript.syntax import Field
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.result import Listener


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
