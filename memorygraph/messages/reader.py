"""Reading a conversation: its versions, attachments and unanswered tool calls, and whether it is as it was stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from threading import RLock
from typing import Any, Self

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.elements import as_text
from memorygraph.json_text import UnreadableRecord, parse_stored_json
from memorygraph.messages.history import Attachment, Diff, MessageEntry, Version, difference, seal
from memorygraph.messages.message import ROOT, Message, message_id
from memorygraph.messages.storage import Storage, StoredMessage

LOST = "error: the tool gave no result, because the program that called it was interrupted"


@dataclass(frozen=True)
class UnansweredCall:
    """A tool call without a result: its id, the index of its message, and where the result belongs."""

    id: str
    index: int
    place: int

    def result(self, content: str = LOST) -> Message:
        """A message in place of the missing result."""
        return Message.of({"role": "tool", "tool_call_id": self.id, "content": content})


def find_unanswered(messages: Sequence[Message]) -> Iterator[UnansweredCall]:
    """The tool calls whose results are not among the `tool` messages right after them."""
    for index, message in enumerate(messages):
        if not message.is_assistant:
            continue
        place = index + 1
        answered = set()
        while place < len(messages) and messages[place].role == "tool":
            answered.add(messages[place].tool_call_id)
            place += 1
        for call in message.tool_calls:
            if call.get("id") is not None and call["id"] not in answered:
                yield UnansweredCall(str(call["id"]), index, place)


class ConversationReader:
    """One version of a conversation, read on first use and then kept."""

    def __init__(self, *, storage: Storage, version: Version | None = None, read_only: bool = False) -> None:
        self._storage = storage
        self._known = version
        self._entries: list[MessageEntry] | None = None
        self._read_only = read_only
        self._lock = RLock()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages as plain dicts that edit nothing."""
        return [entry.message.as_dict() for entry in self.entries()]

    @property
    def name(self) -> str:
        """The name of the conversation; a graph in memory has none."""
        return self._storage.name

    @property
    def version(self) -> Version:
        """The version that this list shows."""
        with self._lock:
            if self._known is None:
                self._known = self._storage.head() or Version()
            return self._known

    @property
    def stored(self) -> bool:
        """Whether the conversation exists: in Neo4j its first message creates it."""
        return self._storage.head() is not None

    def refresh(self) -> None:
        """Read the version anew, or the one that replaced it."""
        with self._lock:
            if self._known is not None and self._known.number == 0:
                return  # the path to a stored message: nothing changes it
            known, self._known, self._entries = self._known, None, None
            versions = self._storage.versions()
            current = next((version for version in versions if known and version.id == known.id), None)
            # Others may have replaced the version repeatedly since: show the last of them. While they do, one may be
            # said to be replaced whose successor is not there yet: it stays, until a change of it comes too late.
            successors = {version.replaces: version for version in versions}
            while current is not None and not self._read_only and current.number in successors:
                current = successors[current.number]
            self._known = current

    def versions(self) -> list[Version]:
        """Every version of the conversation, oldest first."""
        return self._storage.versions() or [self.version]

    @property
    def prev_graph(self) -> Self | None:
        """The version that this one replaced, read-only, or None."""
        replaces = self.version.replaces
        return self.checkout(replaces) if replaces is not None else None

    def checkout(self, version: int | Version) -> Self:
        """Another version as a list; one that was replaced can only be read and branched.

        Raises:
            NotFoundError: there is no such version.
        """
        number = version.number if isinstance(version, Version) else version
        found = next((known for known in self.versions() if known.number == number), None)
        if found is None:
            raise NotFoundError(f"conversation `{self.name}` has no version {number}")
        return type(self)(storage=self._storage, version=found, read_only=found.replaced)

    def diff(self, a: int | Version, b: int | Version) -> Diff:
        """How two versions differ, from `a` to `b`.

        Raises:
            NotFoundError: there is no such version.
        """
        return difference(self.checkout(a)._messages(), self.checkout(b)._messages())  # noqa: SLF001 - this class

    def verify(self) -> Verification:
        """Recompute the hash of every message of every version, and name the first that is wrong."""
        versions = self._storage.versions()
        sound: dict[str, str] = {}  # the bodies of the verified messages of all versions
        fault = next(filter(None, (find_fault(self._storage, version, sound) for version in versions)), None)
        return Verification(self.name, len(versions), len(sound), fault)

    def entry(self, index: int) -> MessageEntry:
        """The message at an index with its identity."""
        return self._loaded()[index]

    def entries(self) -> list[MessageEntry]:
        """All messages with their identities, and whether they were sampled."""
        return list(self._loaded())

    def off_policy(self, index: int) -> bool:
        """Whether an assistant message was not sampled from the messages before it."""
        return self.entry(index).off_policy

    def metadata(self, index: int) -> Mapping[str, Any]:
        """The metadata that was last attached to a message, or an empty mapping."""
        kept = self._storage.attachments([self.entry(index).id])
        return kept[-1].metadata if kept else {}

    def subgraph(self, index: int) -> Self | None:
        """The conversation of the subagent inside a tool response, read-only, or None."""
        kept = [each for each in self._storage.attachments([self.entry(index).id]) if each.subgraph]
        return self.conversation_at(kept[-1].subgraph or ROOT) if kept else None

    def conversation_at(self, tip: str) -> Self:
        """The messages up to a stored one, read-only: such as the `subgraph` of an attachment.

        Raises:
            NotFoundError: there is no such message.
        """
        entries = self._storage.path(tip)
        version = Version(number=0, tip=tip, length=len(entries))
        found = type(self)(storage=self._storage, version=version, read_only=True)
        found._entries = entries  # noqa: SLF001 - this class, and the path is read already
        return found

    def attachments(self, *, deep: bool = False) -> list[Attachment]:
        """The attachments of this version's messages; with `deep`, those inside the subagents' conversations too."""
        kept = self._storage.attachments([entry.id for entry in self._loaded()])
        return self._with_inner(kept) if deep else kept

    def attachments_of_last(self) -> list[Attachment]:
        """The attachments of the last message, in the order in which they were stored, without reading the others."""
        tip = self.version.tip
        return self._storage.attachments([tip]) if tip != ROOT else []

    def unanswered_tool_calls(self) -> list[UnansweredCall]:
        """The tool calls without a result, as a crash leaves them: no model accepts such a conversation."""
        return list(find_unanswered(self._messages()))

    def for_model(self) -> list[dict[str, Any]]:
        """The messages as plain dicts, ready for a model.

        Raises:
            MemoryGraphError: a tool call has no result, and no model accepts that.
        """
        if missing := self.unanswered_tool_calls():
            calls = ", ".join(f"`{call.id}` (message {call.index})" for call in missing)
            raise MemoryGraphError(
                f"tool calls without a result: {calls}; append their results, or let `mend_tool_calls()` say that "
                "they were interrupted"
            )
        return self.messages

    def _messages(self) -> list[Message]:
        return [entry.message for entry in self._loaded()]

    def _loaded(self) -> list[MessageEntry]:
        with self._lock:
            if self._entries is None:
                try:
                    self._entries = self._storage.path(self.version.tip)
                except NotFoundError as error:
                    told = f"conversation `{self.name}` was forgotten since this list was first read"
                    raise NotFoundError(f"{told}; `refresh()` reads what there is now") from error
                # A message that was appended while the version was read may count in its length, and not be at its tip.
                self._known = replace(self.version, length=len(self._entries))
            return self._entries

    def _writable(self) -> None:
        if self._read_only:
            raise MemoryGraphError(
                f"version {self.version.number} of conversation `{self.name}` stays as it is, because it was replaced "
                "or belongs to a subagent; `branch()` continues from it"
            )

    def _with_inner(self, attachments: Sequence[Attachment], around: tuple[str, ...] = ()) -> list[Attachment]:
        """Attachments with the conversations of their subagents, each after the attachments inside it.

        `around` are the conversations that they are inside of: one that holds a message equal to the one that it is
        beside, as where an agent calls itself with the same arguments, holds itself.
        """
        found: list[Attachment] = []
        for attachment in attachments:
            inner = tuple(self._storage.path(attachment.subgraph)) if attachment.subgraph else ()
            if inner and (tip := inner[-1].id) not in around:
                found += self._with_inner(self._storage.attachments([entry.id for entry in inner]), (*around, tip))
            found.append(replace(attachment, inner=inner))
        return found


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


def find_fault(storage: Storage, version: Version, sound: dict[str, str]) -> Fault | None:
    """The first fault of a version, of messages that are not `sound` yet."""
    messages = storage.audit(version)[::-1] if version.tip != ROOT else []
    parent = ROOT
    for index, stored in enumerate(messages):
        known = stored.id in sound and sound[stored.id] == stored.body
        reason = None if known else explain_fault(stored, parent)
        if reason is not None:
            return Fault(version.number, index, stored.id, reason)
        sound[stored.id] = stored.body
        parent = stored.id
    if len(messages) != version.length:
        current = next((known for known in storage.versions() if known.id == version.id), None)
        if current != version:  # written to, or forgotten, while it was read
            return find_fault(storage, current, sound) if current else None
        reason = f"the version has {version.length} messages, and {len(messages)} are linked to one another"
        return Fault(version.number, len(messages), parent, reason)
    return None


def explain_fault(stored: StoredMessage, parent: str) -> str | None:
    """What is wrong with a message that follows `parent`, or None."""
    try:
        message = Message.of(parse_stored_json(as_text(stored.body)))
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
    try:
        altered = any(Attachment.read(stored.id, body).id != id_ for id_, body in stored.attachments)
    except UnreadableRecord:
        altered = True
    return "its metadata is not what its id is the hash of" if altered else None
