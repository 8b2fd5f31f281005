"""The branch rule, and the values that versions consist of. Nothing here stores anything.

A version is a path through the message graph: the messages from a first one to its tip. Appending moves the tip. An
edit moves it too, unless it breaks the prefix of an assistant message: then a new version replaces the old one from
the index where the prefix broke. An assistant message is on-policy where it was sampled from exactly the messages
before it. These are part of its identity, so that versions and conversations that share a message agree about it.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile
from typing import Any

from memorygraph.graph.elements import as_text
from memorygraph.graph.forgetting import FRAMED_KEY
from memorygraph.json_text import UnreadableRecord, parse_stored_json
from memorygraph.messages.message import ROOT, Message, canonical_json, chain, digest

MAX_ALIGNED_BITS = 1 << 29  # 64 MiB: of two versions, each with 23,000 messages that the other has too

_METADATA_DOMAIN = b"memorygraph metadata 1"
_SEAL_DOMAIN = b"memorygraph sampled 1"


@dataclass(frozen=True, slots=True)
class MessageEntry:
    """A message at its place: `id` names it together with everything before it."""

    id: str
    message: Message
    sampled: bool = False  # whether a model answered exactly the messages before it with this one

    @property
    def off_policy(self) -> bool:
        """Whether it is an assistant message that was not sampled from the messages before it."""
        return self.message.is_assistant and not self.sampled


def seal(message_id: str, *, sampled: bool) -> str:
    """A hash to store beside `sampled`, which is no part of the identity, so that a change of it is noticed."""
    return digest(_SEAL_DOMAIN, message_id, str(sampled))[:16]


@dataclass(frozen=True)
class Attachment:
    """The metadata of a message, and the subagent's conversation inside a tool response.

    It is no part of the message's identity: a caller that sends a conversation back sends no attachments, and must
    land on the same message.
    """

    message_id: str
    metadata: Mapping[str, Any]
    subgraph: str | None = None  # the tip of the subagent's conversation
    at: str = ""  # when it was stored
    inner: tuple[MessageEntry, ...] = ()  # the subagent's conversation, until it is stored

    @classmethod
    def read(cls, message_id: str, body: Any, at: str = "") -> Attachment:
        """Read an attachment from its stored body.

        Raises:
            UnreadableRecord: the body was altered, and is none any more.
        """
        with suppress(UnreadableRecord):
            match parse_stored_json(as_text(body)):
                case {"metadata": dict(metadata), "subgraph": str() | None as subgraph, **others} if not others:
                    return cls(message_id, metadata, subgraph, at)
        raise UnreadableRecord(f"the metadata of message `{message_id}` was altered in the database")

    @property
    def body(self) -> str:
        """The canonical JSON."""
        return canonical_json({"metadata": self.metadata, "subgraph": self.subgraph})

    @property
    def id(self) -> str:
        """The identity: the hash of the message's identity and the body."""
        return digest(_METADATA_DOMAIN, self.message_id, self.body)


@dataclass(frozen=True)
class Version:
    """A version of a conversation: its number, its tip, and what it replaces.

    `replaces` is the number of the older version whose prefix was broken at the index `at`. A version that
    was `replaced` never changes again. One that is `framed` is written by an adapter of a framework, and recorded
    calls do not continue it.
    """

    id: str = field(default_factory=lambda: f"{secrets.randbits(63):016x}")
    number: int = 1
    tip: str = ROOT
    length: int = 0
    replaces: int | None = None
    at: int | None = None
    replaced: bool = False
    framed: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return asdict(self)


@dataclass(frozen=True)
class VersionChange:
    """A change of a version: `entries` follow the message `parent`, and the last of them is the new tip."""

    base: Version
    parent: str
    entries: tuple[MessageEntry, ...]
    length: int
    at: int | None = None  # where the prefix broke: a new version replaces the old one
    attachments: tuple[Attachment, ...] = ()
    # A storage remembers this number, so that no change is applied twice.
    operation: int = field(default_factory=lambda: secrets.randbits(63))

    @property
    def new_tip(self) -> str:
        """The tip after the change."""
        return self.entries[-1].id if self.entries else self.parent

    @property
    def appends_one(self) -> bool:
        """Whether it only puts one message after another."""
        return self.at is None and len(self.entries) == 1 and self.parent == self.base.tip != ROOT

    @property
    def version(self) -> str:
        """The id of the version after the change: that of the old one, or of the one that replaces it."""
        return self.base.id if self.at is None else f"{self.operation:016x}"

    def frames(self, name: str) -> bool:
        """Whether an adapter writes the version after the change, in the conversation of this name."""
        return self.base.framed or any(kept.metadata.get(FRAMED_KEY) == name for kept in self.attachments)

    def result(self, number: int, *, framed: bool = False) -> Version:
        """The version after the change; a new one has this number."""
        if self.at is None:
            return replace(self.base, tip=self.new_tip, length=self.length, framed=framed)
        return Version(self.version, number, self.new_tip, self.length, self.base.number, self.at, framed=framed)


@dataclass(frozen=True)
class Diff:
    """How two versions differ: the messages before `at` are the same, then these were removed and added.

    Each is the index in its version and the message.
    """

    at: int
    removed: tuple[tuple[int, Message], ...]
    added: tuple[tuple[int, Message], ...]

    def __bool__(self) -> bool:
        return bool(self.removed or self.added)

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        removed, added = (
            [{"index": index, "message": message.as_dict()} for index, message in lines]
            for lines in (self.removed, self.added)
        )
        return {"at": self.at, "removed": removed, "added": added}


def entries_of(messages: Sequence[Message], parent: str = ROOT, *, sampled: bool = False) -> tuple[MessageEntry, ...]:
    """Messages that follow `parent`, with their ids; `sampled` applies to the assistant messages."""
    ids = chain(messages, parent)
    return tuple(
        MessageEntry(id_, message, sampled and message.is_assistant) for id_, message in zip(ids, messages, strict=True)
    )


def first_difference(old: Sequence[Message], new: Sequence[Message]) -> int:
    """The number of messages that two lists have in common from their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def break_of(old: Sequence[Message], new: Sequence[Message]) -> int | None:
    """The branch rule: where the prefix of an assistant message breaks when `old` becomes `new`, or None.

    It breaks at the first message that differs, if `old` has an assistant message there or after it.
    """
    at = first_difference(old, new)
    return at if any(message.is_assistant for message in old[at:]) else None


def change_of(version: Version, old: Sequence[MessageEntry], new: Sequence[Message]) -> VersionChange | None:
    """The change that turns a version into a list of messages, or None without a difference."""
    messages = [entry.message for entry in old]
    at = first_difference(messages, new)
    # Equal messages after equal messages have equal ids: there is nothing to change.
    if at == len(old) == len(new):
        return None
    parent = old[at - 1].id if at else ROOT
    # Messages that are only appended count as sampled; after an edit none do.
    entries = entries_of(new[at:], parent, sampled=at == len(old))
    return VersionChange(version, parent, entries, len(new), break_of(messages, new))


def difference(old: Sequence[Message], new: Sequence[Message]) -> Diff:
    """The messages that were removed from the old list, and those that were added in the new one: as few as can be.

    Of so many that repeat that aligning them would take too much memory, all are removed and added.
    """
    at = first_difference(old, new)
    # What is the same at the end need not be aligned.
    same = first_difference(old[at:][::-1], new[at:][::-1])
    before, after = old[at : len(old) - same], new[at : len(new) - same]
    kept_before, kept_after = align_messages(before, after)
    removed = [(at + n, message) for n, message in enumerate(before) if n not in kept_before]
    added = [(at + n, message) for n, message in enumerate(after) if n not in kept_after]
    return Diff(at, tuple(removed), tuple(added))


def align_messages(old: Sequence[Message], new: Sequence[Message]) -> tuple[set[int], set[int]]:
    """Find the longest list of messages that both have in this order: their indexes in each.

    `difflib` takes the cube of the length where messages repeat one by one, such as "ok", and with `autojunk` takes
    these for noise. Here a row of the table of lengths is one number, of a bit for each message of `new`, which is 0
    where the length grows: Hyyrö, "Bit-parallel LCS-length computation revisited" (2004).
    """
    shared = {*old} & {*new}
    left = [n for n, message in enumerate(old) if message in shared]
    right = [n for n, message in enumerate(new) if message in shared]
    if len(left) * len(right) > MAX_ALIGNED_BITS:
        return set(), set()
    places: dict[Message, int] = defaultdict(int)
    for bit, n in enumerate(right):
        places[new[n]] |= 1 << bit
    row = full = (1 << len(right)) - 1
    rows = [row]
    for n in left:
        matching = row & places[old[n]]
        row = ((row + matching) | (row - matching)) & full
        rows.append(row)
    kept: tuple[set[int], set[int]] = set(), set()
    i, k = len(left), len(right)
    while i and k:
        if rows[i] >> (k - 1) & 1:
            k -= 1
            continue
        i -= 1
        if rows[i] >> (k - 1) & 1:
            k -= 1
            kept[0].add(left[i])
            kept[1].add(right[k])
    return kept
