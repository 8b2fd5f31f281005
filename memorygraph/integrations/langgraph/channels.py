"""The values of LangGraph's channels as the graph keeps them: once each, and a list of messages by its elements.

What is known of a state that was just stored or read makes the next one cheap: only what is new in it is serialized.
"""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from memorygraph.messages.threads import (
    ListElement,
    ListPart,
    NewValues,
    StateKey,
    StoredPart,
    Threads,
    ThreadState,
)

MAX_KNOWN_STATES = 64
MAX_COMPARED = 32
"""How many of the last messages of a list are compared by what they hold; those before them, as lists are compared."""
MAX_INLINE = 64
"""Characters of a value that is kept with its state: it has no node of its own."""

Version = str | int | float


class KnownList:
    """Messages that are stored, with their values; it is only added to, so that the states of a thread share it.

    What a state has of it is as long as its `KnownValue` says. Safe to share between threads of Python.
    """

    def __init__(self, messages: Iterable[BaseMessage] = (), parts: Iterable[ListPart] = ()) -> None:
        self.messages, self.parts = list(messages), list(parts)
        self._lock = threading.Lock()

    def count_same(self, length: int, items: Sequence[Any]) -> int:
        """Count the items that are the messages at the beginning, of which there are `length`."""
        shorter = min(length, len(items))
        known = self.messages if len(self.messages) == shorter else self.messages[:shorter]
        with suppress(Exception):  # what a message holds may not be made to be compared
            # As whole lists: items that are the same objects then cost a tenth of what `is` takes for each.
            if known == items[:shorter]:
                return shorter
        return next((place for place in range(shorter) if known[place] is not items[place]), shorter)

    def grow(self, length: int, messages: Sequence[BaseMessage], parts: Sequence[ListPart]) -> KnownList:
        """Add to the first `length` messages: to this list, or where it went on already to a copy of its beginning."""
        with self._lock:
            if length == len(self.messages):
                self.messages += messages
                self.parts += parts
                return self
        return KnownList([*self.messages[:length], *messages], [*self.parts[:length], *parts])


@dataclass(frozen=True)
class KnownValue:
    """A value that is stored. Of a list: how much of which, and what the last of its messages held then."""

    version: Version | None
    id: str
    messages: KnownList | None = None
    length: int = 0
    last: Sequence[bytes] = ()


@dataclass
class PlannedValues:
    """What a state keeps itself, what it refers to, and what of that has to be stored."""

    new: NewValues
    inline: dict[str, Any] = field(default_factory=dict)
    known: dict[str, KnownValue] = field(default_factory=dict)

    @property
    def holds(self) -> dict[str, str]:
        """The id of the value of each channel."""
        return {channel: value.id for channel, value in self.known.items()}


@dataclass(frozen=True)
class LoadedState:
    """A state that was read, as LangGraph has it."""

    state: ThreadState
    checkpoint: Any
    metadata: Any
    known: Mapping[str, KnownValue]


class ChannelValues:
    """The values of the channels of all threads. Safe to share between threads of Python."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self.serde = serde
        # What another serializer encrypts is not told to the message graph.
        self.is_plain = type(serde) is JsonPlusSerializer
        self._known: OrderedDict[StateKey, Mapping[str, KnownValue]] = OrderedDict()
        self._lock = threading.Lock()

    def remember(self, key: StateKey, known: Mapping[str, KnownValue]) -> None:
        """Keep what is known of a state."""
        with self._lock:
            self._known[key] = known
            self._known.move_to_end(key)
            while len(self._known) > MAX_KNOWN_STATES:
                self._known.popitem(last=False)

    def forget(self) -> None:
        """Forget what is known: something was deleted."""
        with self._lock:
            self._known.clear()

    def plan(
        self, key: StateKey, parent: str | None, values: Mapping[str, Any], versions: Mapping[str, Version]
    ) -> PlannedValues:
        """Plan what a state with these values keeps, which came from another state of its thread."""
        before: Mapping[str, KnownValue] = {}
        if parent:
            with self._lock:
                before = self._known.get(StateKey(key.thread, key.graph, parent), before)
        planned = PlannedValues(NewValues(key.thread))
        for channel, value in values.items():
            if is_small(value):
                planned.inline[channel] = value
                continue
            known, version = before.get(channel), versions.get(channel)
            items = value if isinstance(value, list) else []
            same = self._count_same(known, items) if known else 0
            if items and all(isinstance(item, BaseMessage) for item in items[same:]):
                planned.known[channel] = self._plan_list(planned.new, items, known, version, same)
            elif known is not None and known.messages is None and version is not None and known.version == version:
                planned.known[channel] = known
            else:
                planned.known[channel] = KnownValue(version, planned.new.add(*self.serde.dumps_typed(value)))
        return planned

    def _plan_list(
        self, new: NewValues, messages: list[BaseMessage], known: KnownValue | None, version: Version | None, same: int
    ) -> KnownValue:
        before = known.messages if known and known.messages else KnownList()
        seen = known.last[: max(0, same - known.length + len(known.last))] if known else ()
        added = messages[same:]
        elements = [ListElement(*self.serde.dumps_typed(message), self._say(message)) for message in added]
        parts = new.extend(same, before.parts[same - 1] if same else None, elements)
        last = [*seen, *self._look_at_last(added)][-MAX_COMPARED:]
        whole = before.grow(same, added, parts)
        return KnownValue(version, whole.parts[len(messages) - 1].id, whole, len(messages), last)

    def _count_same(self, known: KnownValue, items: Sequence[Any]) -> int:
        """Count the items at the beginning of a list that are messages stored already."""
        same = known.messages.count_same(known.length, items) if known.messages else 0
        first = known.length - len(known.last)
        for place in range(first, same):
            if self._look_at(items[place]) != known.last[place - first]:
                return place
        return same

    def _look_at_last(self, messages: Sequence[BaseMessage]) -> list[bytes]:
        return [self._look_at(message) for message in messages[-MAX_COMPARED:]]

    def _look_at(self, message: BaseMessage) -> bytes:
        """What a message holds now, as a pickle: the serializer takes four times as long to say it."""
        try:
            return pickle.dumps((message.__dict__, message.__pydantic_extra__), pickle.HIGHEST_PROTOCOL)
        except Exception:  # noqa: BLE001 - a tool's artifact may be anything, and raise anything when it is pickled
            # What is encrypted looks different each time, and is stored once more.
            return self.serde.dumps_typed(message)[1]

    def _say(self, message: BaseMessage) -> Mapping[str, Any] | None:
        if not self.is_plain:
            return None
        try:
            said = convert_to_openai_messages(message)
        except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError):  # of content of other forms
            return None
        return said if isinstance(said, dict) else None

    def load(self, threads: Threads, states: Sequence[ThreadState]) -> list[LoadedState]:
        """Load states: each with its body and the values of its channels.

        Messages that several of them have are the same objects.
        """
        tips = {value.id: value.length for state in states for value in state.values.values() if value.length}
        lists = threads.read_lists(tips)
        messages: dict[str, Any] = {}
        for parts in lists.values():
            for part in parts:
                if part.id not in messages:
                    messages[part.id] = self.serde.loads_typed((part.type, part.data))
        return [self._load(state, lists, messages) for state in states]

    def _load(
        self, state: ThreadState, lists: Mapping[str, Sequence[StoredPart]], messages: Mapping[str, Any]
    ) -> LoadedState:
        checkpoint, metadata = self.serde.loads_typed((state.type, state.body))
        values, known = dict(checkpoint.get("channel_values", {})), {}
        for channel, value in state.values.items():
            version = checkpoint["channel_versions"].get(channel)
            if value.length is None:
                values[channel] = self.serde.loads_typed((value.type, value.data or b""))
                known[channel] = KnownValue(version, value.id)
            else:
                parts = lists[value.id]
                values[channel] = [messages[part.id] for part in parts]
                last = self._look_at_last(values[channel])
                whole = KnownList(values[channel], (ListPart(part.id, part.message) for part in parts))
                known[channel] = KnownValue(version, value.id, whole, len(parts), last)
        return LoadedState(state, {**checkpoint, "channel_values": values}, metadata, known)


def is_small(value: Any) -> bool:
    """Whether a value is kept with its state."""
    return (
        value is None or isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) < MAX_INLINE)
    )
