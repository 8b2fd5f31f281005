"""What all tools share: their values, their one kind of failure, and tools whose methods are Python methods."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.methods import call_method
from memorygraph.runtime.permissions import Address, Permissions, Refused

MAX_BYTES = 10_000_000  # that go in or out of a tool at once


@dataclass(frozen=True)
class Result:
    """What a tool gave: a JSON value for the program, and for the trace what else is known of the call."""

    value: Any
    effects: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Method:
    """What is known of a method: what it does, and the JSON schema of what it takes, if there is one."""

    description: str = ""
    schema: Mapping[str, Any] | None = None


class ToolFailure(MemoryGraphError):  # noqa: N818 - the name says it
    """A tool did not do what it was asked."""


class Tool(Protocol):
    """A tool that a program has imported. Nothing is opened or started before its first call.

    `uri` is fit to be shown: what could be a secret in it is left out.
    """

    @property
    def name(self) -> str:
        """The name that the program gave to it."""

    @property
    def uri(self) -> str:
        """Where it leads."""

    @property
    def scheme(self) -> str:
        """The kind of tool, as `--allow-tool` takes it."""

    def call(self, method: str, arguments: list[Any]) -> Result:
        """Do what a method does.

        Raises:
            Refused: the user has not allowed it; nothing was done.
            ToolFailure: it failed.
        """

    def methods(self) -> Mapping[str, Method]:
        """Its methods by their names; it may start or reach what it leads to.

        Raises:
            Refused: the user has not allowed it; nothing was done.
            ToolFailure: it cannot tell.
        """

    def close(self) -> None:
        """End what the tool has started; it can be called more than once."""


class BaseTool:
    """A tool: it asks for permission before anything else, and gives every failure its name."""

    def __init__(self, name: str, uri: str, folder: Path, permissions: Permissions) -> None:
        self.name = name
        self.uri = shown(uri)
        self.scheme, _, self.rest = uri.partition("://")
        self.folder = folder
        self.permissions = permissions

    def call(self, method: str, arguments: list[Any]) -> Result:
        """Do what a method does.

        Raises:
            Refused: the user has not allowed it; nothing was done.
            ToolFailure: it failed.
        """
        self.permissions.require(self.scheme, f"the tool `{self.name}` ({self.uri})", self.address())
        try:
            return self.perform(method, arguments)
        except Refused:
            raise
        except (MemoryGraphError, OSError) as error:
            raise ToolFailure(f"Tool {self.name}.{method} ({self.uri}) failed: {_reason(error)}") from error

    def methods(self) -> Mapping[str, Method]:
        """Its methods by their names."""
        return {}

    def address(self) -> Address | None:
        """The host and port that the tool reaches, if it does."""
        return None

    def perform(self, method: str, arguments: list[Any]) -> Result:
        """Do what a method does; a MemoryGraphError or an OSError says why it could not."""
        raise NotImplementedError

    def close(self) -> None:
        """End what the tool has started."""


class MethodTool(BaseTool):
    """A tool whose methods are those Python methods that `METHODS` names."""

    METHODS: ClassVar[tuple[str, ...]] = ()

    def methods(self) -> Mapping[str, Method]:
        """Those that `METHODS` names."""
        named = ((name, getattr(self, name)) for name in self.METHODS)
        return {name: Method((method.__doc__ or "").partition("\n")[0]) for name, method in named}

    def perform(self, method: str, arguments: list[Any]) -> Result:
        """Call the Python method with the arguments, if they fit it."""
        result = call_method(self, self.METHODS, method, arguments)
        return result if isinstance(result, Result) else Result(result)


def shown(uri: str) -> str:
    """A URI without the parts that can hold a secret: the user and password, and values of a query.

    >>> shown("https://ada:secret@example.org/a?key=secret")
    'https://…@example.org/a?key=…'
    """
    uri = re.sub(r"(://)[^/?#\s]*@", r"\1…@", uri)
    return re.sub(r"([?&][^=&#\s]*=)[^&#\s]*", r"\1…", uri)


def _reason(error: Exception) -> str:
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error)
