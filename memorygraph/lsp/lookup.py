"""What the graph knows of an id, where a server is there and answers quickly; typing starts none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from memorygraph.errors import ConnectionError as NoConnectionError
from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.languages.engine.findings import shorten
from memorygraph.limits import begin_apart

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph
    from memorygraph.graph.history import Change

MAX_WAIT_SECONDS = 0.5  # for an answer of the graph; a hover shows without it
RETRY_SECONDS = 30.0  # after a server that could not be reached
MAX_COMPLETED_IDS = 100  # that are offered at once; the editor asks again when more is written
MAX_IDS = 1000  # with one beginning, among which the likeliest are looked for
MAX_SIMILAR = 3  # names that are offered for an unknown one
MAX_CHARACTERS = 300  # of a text of the graph

Answer = TypeVar("Answer")
Connect: TypeAlias = Callable[[], "AbstractContextManager[MemoryGraph] | None"]


class LookedUp(NamedTuple):
    """What the graph says of an id: lines in Markdown, none where it has no such id; and ids that resemble it."""

    lines: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()


class CompletedIds(NamedTuple):
    """Ids of nodes that begin with a text, and whether there may be more than these."""

    ids: list[str]
    may_be_more: bool


def likeliest(name: str, known: list[str]) -> list[str]:
    """The names that were likely meant by an unknown one, the likeliest first.

    >>> likeliest("lovelase", ["babbage", "lovelace", "Lovelace-2", "ada"])
    ['lovelace', 'Lovelace-2']
    """
    by_lower: dict[str, str] = {}
    for one in known:
        by_lower.setdefault(one.lower(), one)
    near = get_close_matches(name[:64].lower(), list(by_lower), n=MAX_SIMILAR, cutoff=0.5)
    return [by_lower[each] for each in near]


class GraphLookup:
    """Asks the graph, in a thread; `connect` gives None where no server is there."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._stack = ExitStack()
        self._graph: MemoryGraph | None = None
        self._retry_at = 0.0
        self._busy: asyncio.Future[Any] | None = None

    async def look_up(self, identifier: str, *, similar: bool = False) -> LookedUp | None:
        """What the graph says of an id; None where it does not say it in time. `similar` asks for ids like it too."""
        return await self._ask(lambda graph: find_described(graph, identifier, similar=similar))

    async def ids(self, beginning: str) -> CompletedIds:
        """The ids of nodes that begin with a text; none where the graph does not say it in time."""
        found = await self._ask(lambda graph: graph.ids(beginning, MAX_COMPLETED_IDS))
        return CompletedIds(found or [], found is None or len(found) == MAX_COMPLETED_IDS)

    async def _ask(self, question: Callable[[MemoryGraph], Answer]) -> Answer | None:
        if self._busy is not None and not self._busy.done():
            return None  # a server that is slow is not asked more
        # The end of the program does not wait for a server that may not answer for long.
        self._busy = future = asyncio.wrap_future(begin_apart(lambda: self._answer(question)))
        done, _ = await asyncio.wait({future}, timeout=MAX_WAIT_SECONDS)
        return future.result() if done else None

    def _answer(self, question: Callable[[MemoryGraph], Answer]) -> Answer | None:
        try:
            graph = self._connected()
            return question(graph) if graph is not None else None
        except NoConnectionError:
            self._stack.close()
            self._graph, self._retry_at = None, time.monotonic() + RETRY_SECONDS
        except MemoryGraphError:
            pass  # what the graph cannot say is not shown
        return None

    def _connected(self) -> MemoryGraph | None:
        if self._graph is None and time.monotonic() >= self._retry_at:
            connecting = self._connect()
            self._graph = self._stack.enter_context(connecting) if connecting is not None else None
        return self._graph

    def close(self) -> None:
        """Close the connection, without a wait for an answer."""
        if self._busy is None or self._busy.done():
            self._stack.close()


def find_described(graph: MemoryGraph, identifier: str, *, similar: bool) -> LookedUp:
    """What the graph says of an id, and, where it has none of it, which resemble it."""
    try:
        lines = describe_element(graph, identifier)
    except NotFoundError:
        lines = ()
    if lines or not similar:
        return LookedUp(lines)
    return LookedUp(
        (), tuple(graph.ids(identifier[:1], MAX_IDS)) + tuple(hit.node.id for hit in graph.search(identifier))
    )


def describe_element(graph: MemoryGraph, identifier: str) -> tuple[str, ...]:
    """What a node or an edge is, and its last change."""
    from memorygraph.graph.elements import Node

    element = graph.element(identifier)
    if isinstance(element, Node):
        what = f"**in the graph**: node `{element.id}`, {quote(element.name)}"
        data = [quote(element.data)] if element.data else []
    else:
        what = f"**in the graph**: edge `{element.id}`, `{element.from_node}` {element.verb} `{element.to_node}`"
        data = [f"weight {element.weight}"]
    try:
        changed = [describe_change(graph.history(element.id)[-1])]
    except NotFoundError:  # it was deleted meanwhile
        changed = []
    return (what, *data, *changed)


def describe_change(change: Change) -> str:
    """The last change of a node or an edge, in a line."""
    said = f"{change.action} in revision {change.revision}"
    if change.at is not None:
        said += f", {change.at:%Y-%m-%d %H:%M}"
    said += f" by {quote(change.by)}" if change.by else ""
    return said + (f", from {quote(change.file)}" if change.file else "")


def quote(text: str) -> str:
    """A text of the graph as Markdown shows it: on one line, and without effect."""
    return "".join(f"\\{sign}" if sign in r"\`*_{}[]<>()#+-.!|~" else sign for sign in shorten(text, MAX_CHARACTERS))
