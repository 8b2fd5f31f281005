"""What all tools share: their values, their one kind of failure, and tools whose methods are Python methods."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.permissions import Address, Permissions, Refused
from memorygraph.runtime.values import call_method

MAX_BYTES = 10_000_000  # that go in or out of a tool at once


@dataclass(frozen=True)
class ToolResult:
    """What a tool gave: a JSON value for the program, and for the trace what else is known of the call."""

    value: Any
    effects: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ToolMethod:
    """What is known of a method: what it does, and the JSON schema of what it takes, if there is one."""

    description: str = ""
    schema: Mapping[str, Any] | None = None


class ToolFailure(MemoryGraphError):  # noqa: N818 - the name says it
    """A tool did not do what it was asked."""


class ImportedTool:
    """A tool that a program has imported. Nothing is opened or started before its first call.

    It asks for permission before anything else, and every failure says whose it is. `uri` is fit to be shown: what
    could be a secret in it is left out.
    """

    def __init__(self, name: str, uri: str, folder: Path, permissions: Permissions) -> None:
        self.name = name
        self.uri = redact_uri(uri)
        self.scheme, _, self.rest = uri.partition("://")
        self.folder = folder
        self.permissions = permissions

    def require_permission(self) -> None:
        """Refuse the call that follows, unless the user has allowed it.

        Raises:
            Refused: the user has not allowed it.
        """
        self.permissions.require(self.scheme, f"the tool `{self.name}` ({self.uri})", self.address())

    def call(self, method: str, arguments: list[Any]) -> ToolResult:
        """Call a method.

        Raises:
            Refused: the user has not allowed it; nothing was done.
            ToolFailure: it failed.
        """
        self.require_permission()
        try:
            return self.perform(method, arguments)
        except Refused:
            raise
        except (MemoryGraphError, OSError) as error:
            reason = (error.strerror or type(error).__name__) if isinstance(error, OSError) else error
            raise ToolFailure(f"Tool {self.name}.{method} ({self.uri}) failed: {reason}") from error

    def methods(self) -> Mapping[str, ToolMethod]:
        """Its methods by their names; it may start or reach what it leads to.

        Raises:
            Refused: the user has not allowed it; nothing was done.
            ToolFailure: it cannot tell.
        """
        return {}

    def address(self) -> Address | None:
        """The host and port that the tool reaches, if it does."""
        return None

    def perform(self, method: str, arguments: list[Any]) -> ToolResult:
        """Do what a method does; a MemoryGraphError or an OSError says why it could not."""
        raise NotImplementedError

    def close(self) -> None:
        """End what the tool has started; it can be called more than once."""


class MethodTool(ImportedTool):
    """A tool whose methods are those Python methods that `METHODS` names."""

    METHODS: ClassVar[tuple[str, ...]] = ()

    def methods(self) -> Mapping[str, ToolMethod]:
        """Its methods by their names, each described by its docstring."""
        named = ((name, getattr(self, name)) for name in self.METHODS)
        return {name: ToolMethod((method.__doc__ or "").partition("\n")[0]) for name, method in named}

    def perform(self, method: str, arguments: list[Any]) -> ToolResult:
        """Call the Python method with the arguments, if they fit it."""
        result = call_method(self, self.METHODS, method, arguments)
        return result if isinstance(result, ToolResult) else ToolResult(result)


def redact_uri(uri: str) -> str:
    """Replace the parts of a URI that can hold a secret: the user and password, and values of a query.

    >>> redact_uri("https://ada:secret@example.org/a?key=secret")
    'https://…@example.org/a?key=…'
    """
    uri = re.sub(r"(://)[^/?#\s]*@", r"\1…@", uri)
    return re.sub(r"([?&][^=&#\s]*=)[^&#\s]*", r"\1…", uri)


def parse_json(text: str | bytes) -> Any:
    """Parse JSON without the constants that Python adds to it, such as NaN.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: it is nested too deep.
    """

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON number")

    return json.loads(text, parse_constant=refuse)
