"""`MessageGraph`: a conversation as a list that anyone can use, and that forgets nothing."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, SupportsIndex, overload

from memorygraph.errors import ConflictError, NotFoundError
from memorygraph.messages.calls import message_of
from memorygraph.messages.history import Attachment, MessageEntry, Version, VersionChange, change_of, entries_of
from memorygraph.messages.message import ROOT, Message, as_mapping, canonical_json, message_id
from memorygraph.messages.reader import LOST, ConversationReader
from memorygraph.messages.storage import InMemoryStorage, Storage, conflict_error
from memorygraph.messages.training import AnswerFilter, TrainingData, training_data
from memorygraph.messages.view import LiveMessages, MessageView, plain_copy


class MessageGraph(ConversationReader, MutableSequence[Any]):
    """A list of messages, each a dict, kept as an immutable graph: in memory, or in Neo4j (`mg.messages`).

    Editing it is editing a list, at any depth. An edit that breaks the prefix of an assistant message makes a
    new version, and the old one stays as it was (`prev_graph`, `versions`); every other edit makes none. The
    messages after an edit are kept, and their assistant messages are `off_policy`: no model sampled them from it.

    A graph of Neo4j shows what was stored when it was first read; `refresh` reads again, and so does a change
    that came too late, after its `ConflictError`. Safe to share between threads.

    >>> history = MessageGraph([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}])
    >>> history[0]["content"] = "Good morning"
    >>> [version.number for version in history.versions()], history.prev_graph[0]["content"]
    ([1, 2], 'Hi')
    >>> history[1].off_policy, history.prev_graph[1].off_policy
    (True, False)
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        messages: Iterable[Any] = (),
        *,
        storage: Storage | None = None,
        version: Version | None = None,
        read_only: bool = False,
    ) -> None:
        super().__init__(storage=storage or InMemoryStorage(), version=version, read_only=read_only)
        self._live: LiveMessages | None = None
        self.extend(messages)

    @property
    def messages(self) -> list[Any]:
        """The messages as a list that is this graph: what is done to it, or to a message in it, is done here.

        >>> history = MessageGraph([{"role": "user", "content": "Hi"}])
        >>> history.messages.append({"role": "assistant", "content": "Hello!"})
        >>> history.messages[0]["content"] = "Good morning"
        >>> len(history), history[0]["content"], history.prev_graph[0]["content"]
        (2, 'Good morning', 'Hi')
        """
        with self._lock:
            if self._live is None:
                self._live = LiveMessages(self)
                self._live.show()
            return self._live

    @messages.setter
    def messages(self, messages: Iterable[Any]) -> None:
        """Have the list hold these messages; also the last step of `history.messages += more`."""
        if messages is not self._live:  # it has been done to the list already
            self[:] = messages

    def refresh(self) -> None:
        """Read the version anew, or the one that replaced it."""
        with self._lock:
            super().refresh()
            self._show_live()

    def __len__(self) -> int:
        return self.version.length

    @overload
    def __getitem__(self, index: SupportsIndex) -> MessageView: ...
    @overload
    def __getitem__(self, index: slice) -> list[MessageView]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> MessageView | list[MessageView]:
        with self._lock:
            if isinstance(index, slice):
                return [MessageView(self, i) for i in range(*index.indices(len(self._loaded())))]
            return MessageView(self, self._place(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            with self._lock:
                # A message that is kept keeps its attachments, as after `del`.
                new: list[Slot] = [
                    (message.entry_in(self) if isinstance(message, MessageView) else None) or Draft.of(message)
                    for message in value
                ]
                self._edit(lambda slots: slots.__setitem__(index, new))
        else:
            draft = Draft.of(value)
            self._edit(lambda slots: slots.__setitem__(self._place(index), draft))

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        place = index if isinstance(index, slice) else self._place(index)
        self._edit(lambda slots: slots.__delitem__(place))

    def insert(self, index: int, value: Any) -> None:
        """Insert a message before the one at an index."""
        draft = Draft.of(value)
        self._edit(lambda slots: slots.insert(index, draft))

    def append(
        self, value: Any, *, sampled: bool = True, metadata: Mapping[str, Any] | None = None, subgraph: Any = None
    ) -> None:
        """Add a message after the last.

        An assistant message counts as sampled from the messages before it, unless `sampled` is false: an
        example that a person wrote is not an answer of a model. `metadata` and `subgraph` are kept beside it, and
        may also be keys of the message: how an answer came to be, and the conversation of the subagent that a
        tool ran, as a MessageGraph or a list. A subgraph adds its `length` to the metadata.

        Raises:
            TypeError, ValueError: the value is not a message.
            ConflictError: another writer has changed this version since it was read; nothing was changed.
        """
        draft = Draft.of(value, metadata=metadata, subgraph=subgraph)
        with self._lock:
            version = self.version
            [entry] = entries_of([draft.message], version.tip, sampled=sampled)
            attached = tuple(draft.attachments(entry.id))
            try:
                self._apply(VersionChange(version, version.tip, (entry,), version.length + 1, attachments=attached))
            except ConflictError:
                # A recorded client stores the answer itself, before its caller can append it.
                recorded = message_id(message_of(draft.message.as_dict()), version.tip)
                if not draft.message.is_assistant or self.version.tip != recorded:
                    raise
                if beside := draft.attachments(recorded):
                    self._storage.attach(beside)

    def extend(self, values: Iterable[Any], *, sampled: bool = True) -> None:
        """Add messages after the last, all of them or none."""
        drafts = [Draft.of(value) for value in values]
        if not drafts:
            return
        with self._lock:
            version = self.version
            entries = entries_of([draft.message for draft in drafts], version.tip, sampled=sampled)
            attached = attachments_of(drafts, [entry.id for entry in entries])
            length = version.length + len(entries)
            self._apply(VersionChange(version, version.tip, entries, length, attachments=attached))

    def pop(self, index: int = -1) -> dict[str, Any]:
        """Remove a message, and return it as a plain dict."""
        with self._lock:
            message = self.entry(self._place(index)).message
            del self[index]
            return message.as_dict()

    def clear(self) -> None:
        """Remove all messages in one change."""
        self[:] = []

    def sort(self, *, key: Callable[[dict[str, Any]], Any], reverse: bool = False) -> None:
        """Sort the messages by a key in one change."""
        self._edit(lambda slots: slots.sort(key=lambda slot: key(slot.message.as_dict()), reverse=reverse))

    def reverse(self) -> None:
        """Reverse the order in one change."""
        self._edit(lambda slots: slots.reverse())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (MessageGraph, list, tuple)):
            return NotImplemented
        try:
            theirs = other._messages() if isinstance(other, MessageGraph) else [Message.of(value) for value in other]
        except (TypeError, ValueError):
            return False
        return self._messages() == theirs

    def __repr__(self) -> str:
        if isinstance(self._storage, InMemoryStorage):
            return f"MessageGraph({self.messages!r})"
        return f"<MessageGraph {self._storage.name!r}, {self._known or 'not read yet'}>"

    def copy(self) -> MessageGraph:
        """An independent copy of this version in memory, with its attachments but without older versions."""
        copied = InMemoryStorage(self._storage.name)
        if entries := self.entries():
            copied.add_path(entries, self.attachments(deep=True))
        return MessageGraph(storage=copied)

    __copy__ = copy

    def __deepcopy__(self, _: dict[int, Any]) -> MessageGraph:
        return self.copy()

    def branch(self, at: int | None = None) -> MessageGraph:
        """A new version that begins with the first `at` messages of this one, all of them by default.

        This list stays on its own version. Nothing is copied: the versions share what they have in common.

        >>> history = MessageGraph([{"role": "user", "content": text} for text in "abc"])
        >>> other = history.branch(at=1)
        >>> other.append({"role": "user", "content": "x"})
        >>> len(history), [message["content"] for message in other]
        (3, ['a', 'x'])

        Raises:
            IndexError: there are not so many messages.
            ConflictError: the conversation was forgotten since it was read; nothing was changed.
        """
        base = self.version
        try:
            length = len(self._loaded())
            place = length if at is None else at + length if at < 0 else at
            if not 0 <= place <= length:
                raise IndexError(f"a branch begins after one of {length} messages, and this is {at}")
            tip = ROOT if place == 0 else self.entry(place - 1).id
            version = self._storage.branch(self.version, tip, place)
        except (ConflictError, NotFoundError):
            self.refresh()
            raise conflict_error(self.name, base, replaced=False) from None
        return MessageGraph(storage=self._storage, version=version)

    def attach(self, index: int, metadata: Mapping[str, Any] | None = None, subgraph: Any = None) -> None:
        """Keep metadata, or the conversation of a subagent, beside a stored message."""
        entry = self.entry(index)
        draft = Draft.of(entry.message, metadata=metadata, subgraph=subgraph)
        self._storage.attach(draft.attachments(entry.id))

    def training_data(
        self, *, model: str | None = None, since: datetime | None = None, until: datetime | None = None
    ) -> TrainingData:
        """Every sampled answer of all versions once, after exactly its prompt; those of subagents too.

        `model`, `since` and `until` select answers by their model, and by when they were stored; `until` is excluded,
        and a time without a zone is one of UTC.

        >>> history = MessageGraph([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}])
        >>> history[0]["content"] = "Good morning"
        >>> data = history.training_data()
        >>> data.answers, data.left_out
        (1, {'off-policy': 1})
        """
        return training_data(self._storage, AnswerFilter(model, since, until))

    def add_path(
        self,
        messages: Iterable[Any],
        *,
        sampled: Iterable[int] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Version:
        """Put a whole list of messages on the version that it fits, and return that version. Never a conflict.

        That is a version that holds the list already, or else the longest that it continues, or a new one. Versions
        that an adapter of a framework writes are not continued.
        `sampled` are the indexes of the messages that a model answered, by default the last if it is an
        assistant message; `metadata` is kept beside the last.
        """
        drafts = [Draft.of(value) for value in messages]
        if not drafts:
            raise ValueError("a conversation that is recorded has at least one message")
        chosen = {len(drafts) - 1} if sampled is None else set(sampled)
        entries = [
            MessageEntry(entry.id, entry.message, i in chosen and entry.message.is_assistant)
            for i, entry in enumerate(entries_of([draft.message for draft in drafts]))
        ]
        attached = attachments_of(drafts, [entry.id for entry in entries])
        if metadata is not None:
            attached += tuple(Draft.of(entries[-1].message, metadata=metadata).attachments(entries[-1].id))
        with self._lock:
            version = self._storage.add_path(entries, attached)
            # The list follows its own version only; one that has shown nothing yet takes the first.
            if self._known is None or self._known.length == 0 or version.id == self._known.id:
                self._known, self._entries = version, None
                self._show_live()
            return version

    def mend_tool_calls(self, content: str = LOST) -> int:
        """Give each tool call without a result one with this content, in one change; returns how many."""
        with self._lock:
            missing = self.unanswered_tool_calls()

            def mend(slots: list[Slot]) -> None:
                # From the end, so that no insertion shifts a place that is still to come.
                for call in reversed(missing):
                    slots.insert(call.place, Draft(call.result(content)))

            self._edit(mend)
            return len(missing)

    def replace(self, index: int, value: Mapping[str, Any]) -> MessageEntry:
        """Replace a message, and return the new one as it is kept."""
        with self._lock:
            self[index] = value
            return self.entry(index)

    def _place(self, index: SupportsIndex) -> int:
        """An index, counted from the front."""
        length, place = len(self._loaded()), operator.index(index)
        if not -length <= place < length:
            raise IndexError(f"there is no message {place} among {length}")
        return place % length

    def _edit(self, edit: Callable[[list[Slot]], None]) -> None:
        """Run any edit of the list; the branch rule says whether it makes a new version."""
        with self._lock:
            old = self._loaded()
            slots: list[Slot] = list(old)
            edit(slots)
            change = change_of(self.version, old, [slot.message for slot in slots])
            if change is None:
                # The same messages, but an equal draft may have brought attachments.
                if attached := attachments_of(slots, [entry.id for entry in old]):
                    self._writable()
                    self._storage.attach(attached)
                return
            # After an edit the same messages have other ids, and their attachments move along.
            kept = old[: len(slots) - len(change.entries)]
            ids = [entry.id for entry in (*kept, *change.entries)]
            placed = zip(slots, ids, strict=True)
            moved = [slot.id for slot, id_ in placed if isinstance(slot, MessageEntry) and slot.id != id_]
            carried = self._storage.attachments(moved) if moved else ()
            self._apply(replace(change, attachments=attachments_of(slots, ids, carried)))

    def _apply(self, change: VersionChange) -> None:
        self._writable()
        try:
            version, sampled = self._storage.apply(change)
        except ConflictError:
            self.refresh()
            raise
        # A message that another conversation knows as sampled counts as sampled here, too.
        entries = [MessageEntry(entry.id, entry.message, entry.id in sampled) for entry in change.entries]
        if self._entries is not None:
            self._entries[change.length - len(entries) :] = entries
        self._known = version
        self._show_live(change.length - len(entries))

    def _show_live(self, start: int = 0) -> None:
        if self._live is not None:
            self._live.show(start)


@dataclass(frozen=True)
class Draft:
    """A message that has no place in the list yet; `metadata` and the subagent's `subgraph` are kept beside it."""

    message: Message
    metadata: Mapping[str, Any] | None = None
    subgraph: MessageGraph | None = None

    @classmethod
    def of(cls, value: Any, *, metadata: Mapping[str, Any] | None = None, subgraph: Any = None) -> Draft:
        """A message with its attachments, from arguments or from its own keys."""
        message = Message.of(value)
        keys: Mapping[str, Any] = {} if isinstance(value, Message) else as_mapping(value)
        metadata = keys.get("metadata") if metadata is None else metadata
        subgraph = keys.get("subgraph") if subgraph is None else subgraph
        if metadata is not None:
            if not isinstance(metadata, Mapping):
                raise TypeError(f"the metadata of a message is a dict, and this is {metadata!r}")
            metadata = plain_copy(metadata)
            canonical_json(metadata)  # refuse what JSON cannot hold before anything is stored
        if subgraph is not None and not isinstance(subgraph, MessageGraph):
            subgraph = MessageGraph(subgraph)
        return cls(message, metadata, subgraph)

    def attachments(self, message_id: str) -> list[Attachment]:
        """The attachments of the message under its id."""
        if self.subgraph is None:
            return [] if self.metadata is None else [Attachment(message_id, self.metadata)]
        inner = tuple(self.subgraph.entries())
        metadata = {**(self.metadata or {}), "length": len(inner)}
        tip = inner[-1].id if inner else None
        return [*self.subgraph.attachments(deep=True), Attachment(message_id, metadata, tip, inner=inner)]


Slot = MessageEntry | Draft  # an item of the list during an edit: a stored message, or a new one


def attachments_of(
    slots: Iterable[Slot], ids: Sequence[str], carried: Iterable[Attachment] = ()
) -> tuple[Attachment, ...]:
    """The attachments of messages under their new ids: those of drafts, and those `carried` over from old ids."""
    former: defaultdict[str, list[Attachment]] = defaultdict(list)
    for attachment in carried:
        former[attachment.message_id].append(attachment)
    found: list[Attachment] = []
    for slot, id_ in zip(slots, ids, strict=True):
        if isinstance(slot, Draft):
            found += slot.attachments(id_)
        elif slot.id != id_:
            found += [replace(attachment, message_id=id_) for attachment in former[slot.id]]
    return tuple(found)
