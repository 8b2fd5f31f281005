"""A session of the OpenAI Agents SDK on the message graph (extra `openai-agents`)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from memorygraph.client import MemoryGraph
from memorygraph.errors import ConflictError
from memorygraph.messages.calls import ItemTurn, items_of_message, message_of, plain_json, turns_of_items
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.history import Attachment, MessageEntry

if TYPE_CHECKING:
    from agents import SessionSettings, TResponseInputItem

MAX_CONFLICTS = 20  # of one change: more means that other writers never let it through

Result = TypeVar("Result")


class MemoryGraphSession:
    """A `Session` of the Agents SDK: the items of a run are the messages of a conversation in Neo4j.

    It is the conversation `mg.messages(name)`: an item that is taken back makes a version, older ones stay, and recall
    finds what was said. Items come back exactly as they were added, ids included. All items of one `add_items` are
    stored in one transaction, and several processes may add to one session.

    `version` opens another version than the last one. Answers count as `sampled` from the items before them; the
    instructions of an agent are no items, though, so that training data of the session alone has no system message.
    Where `mg.record(client, name)` keeps the calls with instructions and tools, pass `sampled=False`: each answer is
    then trained on once, after exactly what the model was sent.

    Example::

        session = MemoryGraphSession(mg, "support-42")
        result = await Runner.run(agent, "What city is the Golden Gate Bridge in?", session=session)
        draft = session.branch(at=1)    # the same question, answered anew
        mg.messages("support-42").training_data()

    Raises:
        MemoryGraphError: the name is empty.
        NotFoundError: there is no such version.
    """

    def __init__(
        self,
        mg: MemoryGraph,
        name: str,
        *,
        version: int | None = None,
        sampled: bool = True,
        session_settings: SessionSettings | None = None,
    ) -> None:
        graph = mg.messages(name)
        self.session_id = name
        self.session_settings = session_settings
        self._mg = mg
        self._sampled = sampled
        self._lock = RLock()
        self._graph: MessageGraph | None = None if version is None else graph.checkout(version)
        self._chosen = version is not None

    @property
    def messages(self) -> MessageGraph:
        """The conversation at the version of this session, as a list of messages."""
        with self._lock:
            if self._graph is None:
                self._graph = self._open()
            return self._graph

    def branch(self, at: int | None = None) -> MemoryGraphSession:
        """A session on a new version that begins with the first `at` items of this one, all of them by default.

        This session stays on its own version, and nothing is copied.

        Raises:
            IndexError: there are fewer items.
            ValueError: the items before `at` end within a turn of the model, which is one message.
        """
        with self._lock:
            graph = self._read()
            ends = [0]
            for items in self._items(graph):
                ends.append(ends[-1] + len(items))
            place = ends[-1] if at is None else at
            if not 0 <= place <= ends[-1]:
                raise IndexError(f"a branch begins after one of {ends[-1]} items, and this is {at}")
            if place not in ends:
                raise ValueError(f"item {place} is within a turn of the model: a branch begins after one of {ends}")
            session = MemoryGraphSession(self._mg, self.session_id, sampled=self._sampled)
            session.session_settings = self.session_settings
            session._graph = graph.branch(ends.index(place))
            return session

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items of the session, oldest first; with a `limit`, so many of the latest.

        Without one, that of `session_settings` holds.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return cast("list[TResponseInputItem]", await in_thread(lambda: self._get(limit)))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items after the last, all of them or none, in one transaction.

        Raises:
            ConflictError: other writers changed the session too often meanwhile; nothing was stored.
        """
        plain = [plain_json(item) for item in items]
        if plain:
            await in_thread(lambda: self._add(plain))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item and return it; None where there is none. The version with it stays."""
        return cast("TResponseInputItem | None", await in_thread(self._pop))

    async def clear_session(self) -> None:
        """Remove all items. The version with them stays, until `mg.forget_conversation` removes the conversation."""
        await in_thread(lambda: self._change(MessageGraph.clear))

    def _get(self, limit: int | None) -> list[dict[str, Any]]:
        with self._lock:
            items = [item for turn in self._items(self._read()) for item in turn]
            return items if limit is None else items[-limit:] if limit > 0 else []

    def _add(self, items: list[dict[str, Any]]) -> None:
        drafts = [self._draft(turn) for turn in turns_of_items(items)]
        self._change(lambda graph: graph.extend(drafts, sampled=self._sampled))

    def _pop(self) -> dict[str, Any] | None:
        def pop(graph: MessageGraph) -> dict[str, Any] | None:
            if not len(graph):
                return None
            *rest, item = list(self._items(graph))[-1]
            # What is left of a turn is a message of its own, in the place of the whole.
            graph[-1:] = [self._draft(turn) for turn in turns_of_items(rest)]
            return item

        return self._change(pop)

    def _change(self, change: Callable[[MessageGraph], Result]) -> Result:
        """Change what is stored now; where another writer came in between, change what that has left."""
        with self._lock:
            for _ in range(MAX_CONFLICTS):
                try:
                    return change(self._read())
                except ConflictError as error:
                    conflict = error
            raise conflict

    def _read(self) -> MessageGraph:
        """The session as it is stored now."""
        graph = self.messages
        graph.refresh()
        if not self._chosen and not self._is_mine(graph):
            # A recorder that had seen an empty version of this session has put a call there.
            self._graph = graph = self._open()
        return graph

    def _open(self) -> MessageGraph:
        """The last version that a session wrote, or a new one beside those of recorded calls."""
        graph = self._mg.messages(self.session_id)
        if self._is_mine(graph):
            return graph
        others = [graph.checkout(version) for version in reversed(graph.versions()) if not version.replaced]
        mine = next(filter(self._is_mine, others), None)
        return graph.branch(at=0) if mine is None else mine

    def _is_mine(self, graph: MessageGraph) -> bool:
        """Whether a version is one that sessions write, and not that of a recorded call."""
        beside = graph.attachments_of_last()
        return any(map(self._holds_items, beside)) or not any("call" in kept.metadata for kept in beside)

    def _holds_items(self, attachment: Attachment) -> bool:
        return attachment.metadata.get("session") == self.session_id and "items" in attachment.metadata

    def _items(self, graph: MessageGraph) -> Iterator[list[dict[str, Any]]]:
        """The items of each message, as they were added, or as the message says."""
        kept = {each.message_id: each for each in graph.attachments() if self._holds_items(each)}
        for entry in graph.entries():
            yield items_of_entry(entry, kept.get(entry.id))

    def _draft(self, turn: ItemTurn) -> dict[str, Any]:
        """A message with its items beside it, which have more to them than the message."""
        # Messages that are equal are one; so that the items that were added last count, no two attachments are equal.
        beside = {"session": self.session_id, "items": list(turn.items), "added": uuid.uuid4().hex}
        return {**message_of(turn.message).as_dict(), "metadata": beside}


def items_of_entry(entry: MessageEntry, kept: Attachment | None) -> list[dict[str, Any]]:
    """The items of a message: those `kept` beside it, unless the message was edited since."""
    if kept is not None:
        items: Iterable[Mapping[str, Any]] = kept.metadata["items"]
        if [message_of(turn.message) for turn in turns_of_items(items)] == [entry.message]:
            return [dict(item) for item in items]
    return items_of_message(entry.message.as_dict())


async def in_thread(work: Callable[[], Result]) -> Result:
    """Run `work` in a thread; a task that is cancelled waits for it, so that what follows sees what it did."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
