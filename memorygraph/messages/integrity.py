"""Verification of a stored conversation against its hashes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from memorygraph.messages.history import Attachment, Version, seal
from memorygraph.messages.message import ROOT, Message, message_id
from memorygraph.messages.storage import Storage, StoredMessage


@dataclass(frozen=True)
class Fault:
    """The first wrong message: its index in a version, its id, and the reason."""

    version: int
    index: int
    message_id: str
    reason: str

    def __str__(self) -> str:
        return f"message {self.index} of version {self.version} ({self.message_id or 'none'}): {self.reason}"


@dataclass(frozen=True)
class Verification:
    """The number of versions and messages that were verified, and the first fault, if there is one."""

    conversation: str
    versions: int
    messages: int
    fault: Fault | None

    @property
    def ok(self) -> bool:
        """Whether there is no fault."""
        return self.fault is None

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {"ok": self.ok, **asdict(self)}


def verify_conversation(storage: Storage) -> Verification:
    """Recompute every hash of every version, oldest version and first message first."""
    versions = storage.versions()
    sound: dict[str, str] = {}
    fault = next(filter(None, (find_fault(storage, version, sound) for version in versions)), None)
    return Verification(storage.name, len(versions), len(sound), fault)


def find_fault(storage: Storage, version: Version, sound: dict[str, str]) -> Fault | None:
    """The first fault of a version; `sound` collects the verified messages of all versions."""
    messages = storage.audit(version)[::-1] if version.tip != ROOT else []
    parent = ROOT
    for index, stored in enumerate(messages):
        reason = None if sound.get(stored.id) == stored.body else explain_fault(stored, parent)
        if reason is not None:
            return Fault(version.number, index, stored.id, reason)
        sound[stored.id] = stored.body
        parent = stored.id
    if len(messages) != version.length:
        reason = f"the version has {version.length} messages, and {len(messages)} are linked to one another"
        return Fault(version.number, len(messages), parent, reason)
    return None


def explain_fault(stored: StoredMessage, parent: str) -> str | None:
    """What is wrong with a message that follows `parent`, or None."""
    try:
        message = Message.of(json.loads(stored.body))
    except (TypeError, ValueError):
        return "its body is not a message any more"
    # The hash is that of the stored text: an equal JSON value in other bytes is wrong too.
    if message_id(Message(stored.body), parent) != stored.id:
        return "its content, or the message before it, is not what its id is the hash of"
    readable = {"role": message.role, "content": message.text}
    wrong = [key for key, value in stored.readable.items() if value != readable[key]]
    if wrong:
        return f"its readable {wrong[0]} is not what its body says"
    if stored.seal not in (None, seal(stored.id, sampled=stored.sampled)):
        return "its mark of a sampled answer was altered"
    if any(Attachment(stored.id, **json.loads(body)).id != id_ for id_, body in stored.attachments):
        return "its metadata is not what its id is the hash of"
    return None
