"""The storage of a conversation: its protocol, and the implementation without a database.

One suite of tests runs over this implementation and the one in Neo4j, so that they cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from threading import RLock
from typing import Any, NamedTuple, Protocol

from memorygraph.errors import ConflictError
from memorygraph.messages.history import Attachment, MessageEntry, Version, VersionChange
from memorygraph.messages.message import ROOT


class StoredMessage(NamedTuple):
    """A message as it is stored: its id, its body, and the properties that repeat a part of the body."""

    id: str
    body: str
    readable: dict[str, Any]
    attachments: list[tuple[str, str]]
    sampled: bool = False
    seal: str | None = None  # missing where an earlier release stored it


class Storage(Protocol):
    """One conversation. Safe to share between threads; every method is one transaction."""

    @property
    def name(self) -> str:
        """The name of the conversation."""

    def head(self) -> Version | None:
        """The version that was last written, or None while nothing was stored."""

    def versions(self) -> list[Version]:
        """Every version by its number; empty while nothing was stored."""

    def path(self, tip: str) -> list[MessageEntry]:
        """The messages from the first to the one with this id."""

    def apply(self, change: VersionChange) -> tuple[Version, frozenset[str]]:
        """Change a version, and return it with the ids of the entries that count as sampled.

        A `ConflictError` says that the version was changed or replaced meanwhile, and that nothing was changed.
        """

    def branch(self, base: Version, tip: str, length: int) -> Version:
        """A new version that ends with a message of the version `base`, and replaces nothing."""

    def add_path(self, entries: Sequence[MessageEntry], attachments: Sequence[Attachment] = ()) -> Version:
        """Put a whole conversation on a version, and return that version.

        It is one that holds the conversation already, or else the longest that it continues and no adapter writes, or
        a new one.
        """

    def attach(self, attachments: Sequence[Attachment]) -> None:
        """Keep attachments of stored messages, as the last ones, with the conversations of subagents inside them."""

    def attachments(self, ids: Collection[str]) -> list[Attachment]:
        """The attachments of these messages, in their order, then in the order in which they were stored."""

    def times(self, ids: Collection[str]) -> dict[str, str]:
        """When these messages were stored, as far as that is known."""

    def audit(self, version: Version) -> list[StoredMessage]:
        """The messages of a version as they are stored, unverified, from its tip back to the first."""


def conflict_error(name: str, version: Version, *, replaced: bool) -> ConflictError:
    """The error of a change that came too late."""
    what = "was replaced by a newer version" if replaced else "was changed by another writer"
    return ConflictError(
        f"version {version.number} of conversation `{name}` {what} since it was read, and nothing was changed; "
        "look at the conversation again, and repeat the change where it still makes sense"
    )


class InMemoryStorage:
    """One conversation in dicts, with one lock."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._entries: dict[str, MessageEntry] = {}
        self._parents: dict[str, str] = {}
        self._times: dict[str, str] = {}
        self._attachments: dict[str, dict[str, Attachment]] = {}
        self._versions: dict[str, Version] = {}
        self._operations: dict[int, Version] = {}
        self._head = ""
        self._lock = RLock()
        self._keep(Version())

    def head(self) -> Version | None:
        """The version that was last written."""
        return self._versions.get(self._head)

    def versions(self) -> list[Version]:
        """Every version by its number."""
        with self._lock:
            return sorted(self._versions.values(), key=lambda version: version.number)

    def path(self, tip: str) -> list[MessageEntry]:
        """The messages from the first to the one with this id."""
        with self._lock:
            found = []
            while tip != ROOT:
                found.append(self._entries[tip])
                tip = self._parents[tip]
        return found[::-1]

    def apply(self, change: VersionChange) -> tuple[Version, frozenset[str]]:
        """Change a version."""
        with self._lock:
            if change.operation not in self._operations:
                version = self._versions.get(change.base.id)
                if version is None or version.tip != change.base.tip or version.replaced:
                    raise conflict_error(self.name, change.base, replaced=bool(version and version.replaced))
                self._put(change.parent, change.entries, change.attachments, again=True)
                if change.at is not None:
                    self._keep(replace(version, replaced=True))
                result = change.result(len(self._versions) + 1, framed=change.frames(self.name))
                self._operations[change.operation] = self._keep(result)
            sampled = frozenset(entry.id for entry in change.entries if self._entries[entry.id].sampled)
            return self._operations[change.operation], sampled

    def branch(self, base: Version, tip: str, length: int) -> Version:
        """A new version that ends with a message of the version `base`."""
        with self._lock:
            return self._keep(Version(number=len(self._versions) + 1, tip=tip, length=length, framed=base.framed))

    def add_path(self, entries: Sequence[MessageEntry], attachments: Sequence[Attachment] = ()) -> Version:
        """Put a whole conversation on a version."""
        with self._lock:
            self._put(ROOT, entries, attachments)
            tip = entries[-1].id
            # The three cases, as in Neo4j: a version that holds the path, one that it continues, or a new one.
            holding = [v for v in self._versions.values() if any(entry.id == tip for entry in self.path(v.tip))]
            if holding:
                return holding[0]
            prefix = {ROOT, *(entry.id for entry in entries)}
            continued = [v for v in self._versions.values() if v.tip in prefix and not (v.replaced or v.framed)]
            if not continued:
                return self.branch(Version(), tip, len(entries))
            longest = max(continued, key=lambda version: version.length)
            return self._keep(replace(longest, tip=tip, length=len(entries)))

    def attach(self, attachments: Sequence[Attachment]) -> None:
        """Keep attachments of stored messages, as the last ones."""
        with self._lock:
            self._put(ROOT, (), attachments, again=True)

    def attachments(self, ids: Collection[str]) -> list[Attachment]:
        """The attachments of these messages."""
        with self._lock:
            return [kept for id_ in ids for kept in self._attachments.get(id_, {}).values()]

    def times(self, ids: Collection[str]) -> dict[str, str]:
        """When these messages were stored."""
        with self._lock:
            return {id_: self._times[id_] for id_ in ids}

    def audit(self, version: Version) -> list[StoredMessage]:
        """The messages of a version from its tip back to the first."""
        stored = []
        for entry in reversed(self.path(version.tip)):
            attachments = [(kept.id, kept.body) for kept in self.attachments([entry.id])]
            stored.append(StoredMessage(entry.id, entry.message.body, {}, attachments))
        return stored

    def _put(
        self, parent: str, entries: Sequence[MessageEntry], attachments: Sequence[Attachment], *, again: bool = False
    ) -> None:
        now = datetime.now(UTC).isoformat()
        for entry in entries:
            # Once sampled, a message stays sampled: a copy that comes back says less than the original.
            known = self._entries.get(entry.id, entry)
            self._entries[entry.id] = known if known.sampled else entry
            self._parents[entry.id] = parent
            self._times.setdefault(entry.id, now)
            parent = entry.id
        for attachment in attachments:
            self._put(ROOT, attachment.inner, ())
            kept = self._attachments.setdefault(attachment.message_id, {})
            if again:
                kept.pop(attachment.id, None)
            kept.setdefault(attachment.id, replace(attachment, at=now, inner=()))

    def _keep(self, version: Version) -> Version:
        self._versions[version.id] = version
        self._head = version.id
        return version
