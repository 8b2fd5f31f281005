"""What all tools share: their values, their one kind of failure, and the permission that each call needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.imports import CallResult, Imported
from memorygraph.runtime.permissions import Address, Permissions

MAX_BYTES = 10_000_000  # that go in or out of a tool at once


@dataclass(frozen=True)
class ToolResult(CallResult):
    """What a tool gave; `effects` are what else is known of the call."""

    effects: Mapping[str, Any] | None = None

    def noted(self) -> dict[str, Any]:
        """What else the trace says of the call."""
        return {"effects": self.effects}


@dataclass(frozen=True)
class ToolMethod:
    """What is known of a method: what it does, and the JSON schema of what it takes, if there is one."""

    description: str = ""
    schema: Mapping[str, Any] | None = None


class ToolFailure(MemoryGraphError):  # noqa: N818 - the name says it
    """A tool did not do what it was asked."""


class ImportedTool(Imported[ToolResult]):
    """A tool that a program has imported; it asks for permission before anything else."""

    kind = "tool"
    failure = ToolFailure
    address: Address | None = None  # the host and port that the tool reaches, if it does

    def __init__(self, name: str, uri: str, folder: Path, permissions: Permissions) -> None:
        super().__init__(name, uri)
        self.scheme, _, self.rest = uri.partition("://")
        self.folder = folder
        self.permissions = permissions

    def require_permission(self) -> None:
        """Raise Refused, unless the user has allowed what the tool would do."""
        self.permissions.require(self.scheme, f"the tool `{self.name}` ({self.uri})", self.address)

    def call(self, method: str, arguments: list[Any]) -> ToolResult:
        """Call a method, if the user has allowed it."""
        self.require_permission()
        return super().call(method, arguments)

    def describe_call(self, method: str) -> dict[str, Any]:
        """What the trace says of a call before it is made."""
        return {"tool": self.name, "method": method, "scheme": self.scheme, "uri": self.uri}

    def methods(self) -> Mapping[str, ToolMethod]:
        """Its methods by their names; one that cannot tell raises Refused or ToolFailure."""
        return {name: ToolMethod((getattr(self, name).__doc__ or "").partition("\n")[0]) for name in self.METHODS}

    def close(self) -> None:
        """End what the tool has started; it can be called more than once."""
