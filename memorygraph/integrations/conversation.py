"""A conversation of a framework: beside each message the value of the framework that it was made of."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Any, TypeVar

from memorygraph.client import MemoryGraph
from memorygraph.errors import ConflictError
from memorygraph.graph.forgetting import FRAMED_KEY
from memorygraph.json_text import join_halves_within
from memorygraph.messages.calls import message_of
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.history import Attachment

MAX_CONFLICTS = 20  # of one change: more means that other writers never let it through

Result = TypeVar("Result")


@dataclass(frozen=True)
class ValueForm:
    """How a framework writes messages: values of JSON, from which a message is made, and which are made from one."""

    key: str
    to_message: Callable[[Any], Mapping[str, Any]]
    from_message: Callable[[Mapping[str, Any]], Any]


class FrameworkConversation:
    """One version of a conversation, whose messages keep beside them the values that the framework gave.

    A message says less than the value of the framework, such as its ids. So the values come back as they were given,
    until a message is edited. Changes are made to what is stored at that time. Safe to share between threads.

    `sampled` says whether a model answered with the assistant messages that are added. Without a `version` it is the
    last one that an adapter wrote: recorded calls (`mg.record`) in the same conversation are versions of their own.

    Raises:
        MemoryGraphError: the name is empty.
        NotFoundError: there is no such version.
    """

    def __init__(self, mg: MemoryGraph, name: str, form: ValueForm, *, version: int | None, sampled: bool) -> None:
        graph = mg.messages(name)
        self.name = name
        self._mg = mg
        self._form = form
        self._sampled = sampled
        self._lock = RLock()
        self._graph: MessageGraph | None = None if version is None else graph.checkout(version)
        self._chosen = version is not None

    @property
    def graph(self) -> MessageGraph:
        """The conversation at this version, as a list of messages."""
        with self._lock:
            if self._graph is None:
                self._graph = self._open()
            return self._graph

    def read(self) -> list[Any]:
        """The values of the messages as they are stored now."""
        with self._lock:
            return list(self._values(self._refreshed()))

    def add(self, values: Iterable[Any]) -> None:
        """Add messages after the last, all of them or none, in one transaction."""
        drafts = list(map(self._draft, values))
        if drafts:
            self._change(lambda graph: graph.extend(drafts, sampled=self._sampled))

    def replace_last(self, make: Callable[[Any], tuple[list[Any], Result]]) -> Result | None:
        """Put what `make` gives for the last message in its place, and return the result; None where there is none."""

        def replace(graph: MessageGraph) -> Result | None:
            if not len(graph):
                return None
            values, result = make(list(self._values(graph))[-1])
            graph[-1:] = list(map(self._draft, values))
            return result

        return self._change(replace)

    def clear(self) -> None:
        """Remove all messages in one change; the version with them stays where a model has answered."""
        self._change(MessageGraph.clear)

    def branch(self, at: int | None) -> FrameworkConversation:
        """A new version that begins with the first `at` messages, or with all; this one stays as it is."""
        with self._lock:
            branch = FrameworkConversation(self._mg, self.name, self._form, version=None, sampled=self._sampled)
            branch._graph = self._refreshed().branch(at)
            branch._chosen = True
            return branch

    def _change(self, change: Callable[[MessageGraph], Result]) -> Result:
        """Change what is stored now; where another writer came in between, change what that has left."""
        with self._lock:
            for _ in range(MAX_CONFLICTS):
                try:
                    return change(self._refreshed())
                except ConflictError as error:
                    conflict = error
            raise conflict

    def _refreshed(self) -> MessageGraph:
        """The conversation as it is stored now."""
        graph = self.graph
        graph.refresh()
        if not self._chosen and not may_be_framed(graph):
            # A recorder that had seen this version empty has put a call there.
            self._graph = graph = self._open()
        return graph

    def _open(self) -> MessageGraph:
        """The last version that an adapter wrote, or a new one beside those of recorded calls."""
        graph = self._mg.messages(self.name)
        if graph.version.framed:
            return graph
        others = [version for version in reversed(graph.versions()) if not version.replaced]
        framed = next((version for version in others if version.framed), None)
        if framed is not None:
            return graph.checkout(framed)
        found = next(filter(may_be_framed, itertools.chain([graph], map(graph.checkout, others))), None)
        return graph.branch(at=0) if found is None else found

    def _values(self, graph: MessageGraph) -> Iterator[Any]:
        """The values that were last kept beside the messages for this conversation, or those of the messages."""
        kept: dict[str, Attachment] = {}
        for each in graph.attachments():
            if each.metadata.get(FRAMED_KEY) == self.name and self._form.key in each.metadata:
                kept[each.message_id] = each
        for entry in graph.entries():
            if entry.id in kept:
                value = kept[entry.id].metadata[self._form.key]
                # An edit of the message may have carried along what was beside it.
                if message_of(self._form.to_message(value)) == entry.message:
                    yield value
                    continue
            yield self._form.from_message(entry.message.as_dict())

    def _draft(self, value: Any) -> dict[str, Any]:
        """The message of a value, with the value beside it; half a character, which nothing can hold, is replaced."""
        value = join_halves_within(value)
        # Equal messages are one: no two attachments are equal, so that the value that was added last counts.
        beside = {FRAMED_KEY: self.name, self._form.key: value, "added": uuid.uuid4().hex}
        return {**message_of(self._form.to_message(value)).as_dict(), "metadata": beside}


def may_be_framed(graph: MessageGraph) -> bool:
    """Whether an adapter may write a version: one does already, or did in an earlier release, or no call ends it."""
    if graph.version.framed:
        return True
    beside = graph.attachments_of_last()
    return any(FRAMED_KEY in kept.metadata for kept in beside) or not any("call" in kept.metadata for kept in beside)
