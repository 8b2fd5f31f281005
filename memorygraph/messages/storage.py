"""What a conversation is kept in: one small protocol, which a storage in memory and one in Neo4j fulfil.

One suite of tests runs over both, so that they cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

from memorygraph.messages.history import Attachment, Change, Entry, Version


class StoredMessage(NamedTuple):
    """A message as it is stored: what it says it is, its body, and what else was made readable of it.

    There is no `seal` where a message was stored by an earlier release.
    """

    id: str
    body: str
    readable: dict[str, Any]
    attachments: list[tuple[str, str]]
    sampled: bool = False
    seal: str | None = None


class Storage(Protocol):
    """One conversation. Safe to share between threads; every method is one transaction."""

    @property
    def name(self) -> str:
        """The name of the conversation."""

    def head(self) -> Version | None:
        """The version that was last written, or None while nothing was stored."""

    def versions(self) -> list[Version]:
        """Every version by its number; empty while nothing was stored."""

    def path(self, tip: str) -> list[Entry]:
        """The messages from the first to this one."""

    def apply(self, change: Change) -> tuple[Version, frozenset[str]]:
        """Change a version, and return it with the identities of the entries that count as sampled.

        Raises:
            ConflictError: the version was changed or replaced meanwhile; nothing was changed.
        """

    def branch(self, base: Version, tip: str, length: int) -> Version:
        """A new version that ends with a message of the version `base`, and replaces nothing."""

    def add_path(self, entries: Sequence[Entry], attachments: Sequence[Attachment] = ()) -> Version:
        """Put a whole conversation on the version that it fits, and never lose it.

        That is a version that holds it already, or else the longest that it continues; if there is none, it
        becomes a version of its own.
        """

    def attach(self, attachments: Sequence[Attachment]) -> None:
        """Keep these beside their stored messages, with the conversations of subagents inside them."""

    def attachments(self, ids: Collection[str]) -> list[Attachment]:
        """What is kept beside these messages, in their order, then in the order in which it was stored."""

    def audit(self, version: Version) -> list[StoredMessage]:
        """The messages of a version as they are stored, from its tip back to the first, nothing taken on trust."""


def conflict(name: str, version: Version, *, replaced: bool) -> str:
    """What a `ConflictError` says about a change that came too late."""
    what = "was replaced by a newer version" if replaced else "was changed by another writer"
    return (
        f"version {version.number} of conversation `{name}` {what} since it was read, and nothing was changed; "
        "look at the conversation again, and repeat the change where it still makes sense"
    )
