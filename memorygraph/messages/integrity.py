"""Whether a stored conversation is what its hashes say, and if not, the first message that is wrong."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from memorygraph.messages.history import Attachment, Version, seal
from memorygraph.messages.message import ROOT, Message, message_id
from memorygraph.messages.storage import Storage, StoredMessage


@dataclass(frozen=True)
class Fault:
    """The first message that is wrong: its id, its index in a version, and what is wrong with it."""

    version: int
    index: int
    message_id: str
    reason: str

    def __str__(self) -> str:
        return f"message {self.index} of version {self.version} ({self.message_id or 'none'}): {self.reason}"


@dataclass(frozen=True)
class Verification:
    """What was looked at, and the first fault, if there is one."""

    conversation: str
    versions: int
    messages: int
    fault: Fault | None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.fault is None

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {"ok": self.ok, **asdict(self)}


def verify(storage: Storage) -> Verification:
    """Recompute every hash of every version, oldest version and first message first."""
    versions = storage.versions()
    sound: dict[str, str] = {}
    for version in versions:
        fault = _fault(storage, version, sound)
        if fault is not None:
            return Verification(storage.name, len(versions), len(sound), fault)
    return Verification(storage.name, len(versions), len(sound), None)


def _fault(storage: Storage, version: Version, sound: dict[str, str]) -> Fault | None:
    messages = storage.audit(version)[::-1] if version.tip != ROOT else []
    parent = ROOT
    for index, stored in enumerate(messages):
        reason = None if sound.get(stored.id) == stored.body else _reason(stored, parent)
        if reason is not None:
            return Fault(version.number, index, stored.id, reason)
        sound[stored.id] = stored.body
        parent = stored.id
    if len(messages) != version.length:
        reason = f"the version has {version.length} messages, and {len(messages)} are linked to one another"
        return Fault(version.number, len(messages), parent, reason)
    return None


def _reason(stored: StoredMessage, parent: str) -> str | None:
    """What is wrong with a message that follows `parent`, or None."""
    try:
        message = Message.of(json.loads(stored.body))
    except (TypeError, ValueError):
        return "its body is no message any more"
    # The hash is that of the stored text: what is equal as JSON, but not byte by byte, is wrong too.
    if message_id(Message(stored.body), parent) != stored.id:
        return "its content, or the message before it, is not what its id is the hash of"
    readable = {"role": message.role, "content": message.text}
    wrong = [key for key, value in stored.readable.items() if value != readable[key]]
    if wrong:
        return f"its readable {wrong[0]} is not what its body says"
    if stored.seal not in (None, seal(stored.id, sampled=stored.sampled)):
        return "whether a model gave it is not what was stored with it"
    if any(Attachment(stored.id, **json.loads(body)).id != id_ for id_, body in stored.attachments):
        return "its metadata is not what its id is the hash of"
    return None
