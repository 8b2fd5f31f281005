"""The options that stand before the command, and the graph that they name."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from memorygraph.cli import output

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph


class Seconds(click.FloatRange):
    """A number of seconds in a range, which `nan` is in none of."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number that was given."""
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return seconds


class Time(click.ParamType[datetime]):
    """A day or a time in ISO 8601, with a zone or without."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The time that was given."""
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time such as 2024-05-01 or 2024-05-01T13:30:00+02:00", param, ctx)


class Settings(NamedTuple):
    """Where and as whom to connect; what is None comes from the environment."""

    uri: str | None = None
    user: str | None = None
    password: str | None = None
    database: str | None = None
    namespace: str | None = None

    @property
    def named_uri(self) -> str | None:
        """The server that is named, if any: by the option or by the environment."""
        return self.uri or os.environ.get("NEO4J_URI") or None

    @property
    def named_database(self) -> str | None:
        """The database that is named, if any: by the option or by the environment."""
        return self.database or os.environ.get("NEO4J_DATABASE") or None

    @property
    def embedded(self) -> bool:
        """Whether no server is named, so that it is the embedded one."""
        return self.named_uri is None

    def find_process(self) -> object:
        """Find the process of the embedded server; None where it does not run, or another server is meant."""
        if not self.embedded:
            return None
        from memorygraph.cli.server import embedded_server

        return embedded_server().find_process()

    def is_gone(self) -> bool:
        """Tell whether the embedded server is meant, and does not run; one that is named is somebody else's."""
        return self.embedded and self.find_process() is None

    @contextmanager
    def connect(self, *, start: bool = True) -> Iterator[MemoryGraph]:
        """The client, connected; the embedded server is started first where it is not running, or else refused."""
        from memorygraph.client import MemoryGraph, login

        server = None
        if self.embedded and start:
            from memorygraph.cli.server import start_embedded

            start_embedded()
        elif self.embedded:
            from memorygraph.server.embedded import RunningServer

            server = RunningServer()
        if "+ssc" in (self.named_uri or ""):
            output.say("warning: a +ssc address encrypts, but does not check whom it talks to; use +s where you can")
        # The environment's password is that of NEO4J_URI; the embedded server knows its own.
        auth = None if self.embedded and self.password is None else login(self.user, self.password)
        with MemoryGraph.connect(self.uri, auth, self.database, self.namespace, server=server) as graph:
            yield graph


class OpenedServer:
    """The server of these settings as it was when a graph of it was opened.

    An embedded one that was started again since then is another: it may be at another port, or have other data.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: object = None

    @contextmanager
    def connect(self) -> Iterator[MemoryGraph]:
        """The client, connected as the settings say, to a server that has planned what is called first."""
        from memorygraph.warming import plan_calls

        with self._settings.connect() as graph:
            self._process = self._settings.find_process()
            if self._settings.embedded:
                plan_calls(graph.connection)
            yield graph

    def is_gone(self) -> bool:
        """Tell whether it was the embedded server, and that has ended or is another now."""
        found = self._settings.find_process()
        return self._settings.embedded and (found is None or found != self._process)


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def combine(*decorators: Decorator) -> Decorator:
    """Make one decorator of several, in the order in which they would stand above a command."""
    return lambda command: reduce(lambda decorated, decorate: decorate(decorated), reversed(decorators), command)


def pass_graph(command: Callable[..., None]) -> Callable[..., None]:
    """Connect to the graph while a command runs, and give it the client."""

    @click.pass_context
    @wraps(command)
    def connected(ctx: click.Context, /, *arguments: Any, **options: Any) -> None:
        command(ctx.with_resource(ctx.obj.connect()), *arguments, **options)

    return connected


# A command that works on the graph and prints a report also takes --json.
report_from_graph = combine(output.json_option, pass_graph)
