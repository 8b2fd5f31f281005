"""Messages on their way into a list: not yet at a place, with what is to be kept beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from memorygraph.messages.history import Attachment, Entry
from memorygraph.messages.message import Message, as_mapping, canonical
from memorygraph.messages.view import plain


class Conversation(Protocol):
    """A list of messages with their identities, as a subagent leaves it."""

    def entries(self) -> list[Entry]:
        """The messages."""

    def attachments(self, *, deep: bool = False) -> list[Attachment]:
        """What is kept beside them."""


@dataclass(frozen=True)
class Draft:
    """A message without a place; `metadata` and the subagent's `subgraph` go beside it."""

    message: Message
    metadata: Mapping[str, Any] | None = None
    subgraph: Conversation | None = None

    def attachments(self, message_id: str) -> list[Attachment]:
        """What is to be kept beside the message once it has a place."""
        if self.subgraph is None:
            return [] if self.metadata is None else [Attachment(message_id, self.metadata)]
        inner = tuple(self.subgraph.entries())
        metadata = {**(self.metadata or {}), "length": len(inner)}
        tip = inner[-1].id if inner else None
        return [*self.subgraph.attachments(deep=True), Attachment(message_id, metadata, tip, inner=inner)]


Slot = Entry | Draft
"""What an edit moves about: messages that are stored, and messages that are new."""


def draft_of(
    value: Any,
    conversation: Callable[[Any], Conversation],
    *,
    metadata: Mapping[str, Any] | None = None,
    subgraph: Any = None,
) -> Draft:
    """A message with what is to be kept beside it, from arguments or from its own keys.

    `conversation` makes one of whatever was given as a subgraph.

    Raises:
        TypeError, ValueError: it is no message, or its metadata is nothing that JSON knows.
    """
    message = Message.of(value)
    keys: Mapping[str, Any] = {} if isinstance(value, Message) else as_mapping(value)
    metadata = keys.get("metadata") if metadata is None else metadata
    subgraph = keys.get("subgraph") if subgraph is None else subgraph
    if metadata is not None:
        if not isinstance(metadata, Mapping):
            raise TypeError(f"the metadata of a message is a dict, and this is {metadata!r}")
        metadata = plain(metadata)
        canonical(metadata)
    return Draft(message, metadata, None if subgraph is None else conversation(subgraph))


def attachments_of(slots: Iterable[Slot], ids: Sequence[str], carried: Iterable[Attachment]) -> tuple[Attachment, ...]:
    """What is to be kept beside messages at their places: what is new, and what `carried` over from old ones."""
    former: dict[str, list[Attachment]] = {}
    for attachment in carried:
        former.setdefault(attachment.message_id, []).append(attachment)
    found: list[Attachment] = []
    for slot, id_ in zip(slots, ids, strict=True):
        if isinstance(slot, Draft):
            found += slot.attachments(id_)
        elif slot.id != id_:
            found += [replace(attachment, message_id=id_) for attachment in former.get(slot.id, ())]
    return tuple(found)
