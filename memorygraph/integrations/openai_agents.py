"""A session of the OpenAI Agents SDK on the message graph (extra `openai-agents`)."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from memorygraph.client import MemoryGraph
from memorygraph.integrations.conversation import FrameworkConversation, ValueForm
from memorygraph.messages.calls import items_of_message, plain_json, turns_of_items
from memorygraph.messages.graph import MessageGraph

if TYPE_CHECKING:
    from agents import SessionSettings, TResponseInputItem

# The items of one message: what others said is one, and what a model said in one turn may be several.
ITEMS = ValueForm("items", lambda items: turns_of_items(items)[0].message, items_of_message)

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
        self.session_id = name
        self.session_settings = session_settings
        self._conversation = FrameworkConversation(mg, name, ITEMS, version=version, sampled=sampled)

    @property
    def messages(self) -> MessageGraph:
        """The conversation at the version of this session, as a list of messages."""
        return self._conversation.graph

    def branch(self, at: int | None = None) -> Self:
        """A session on a new version that begins with the first `at` items of this one, all of them by default.

        This session stays on its own version, and nothing is copied.

        Raises:
            IndexError: there are fewer items.
            ValueError: the items before `at` end within a turn of the model, which is one message.
        """
        ends = [0, *itertools.accumulate(map(len, self._conversation.read()))]
        place = ends[-1] if at is None else at
        if not 0 <= place <= ends[-1]:
            raise IndexError(f"a branch begins after one of {ends[-1]} items, and this is {at}")
        if place not in ends:
            raise ValueError(f"item {place} is within a turn of the model: a branch begins after one of {ends}")
        session = copy.copy(self)
        session._conversation = self._conversation.branch(ends.index(place))  # noqa: SLF001 - this class
        return session

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items of the session, oldest first; with a `limit`, so many of the latest.

        Without one, that of `session_settings` holds.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        turns = await in_thread(self._conversation.read)
        items = cast("list[TResponseInputItem]", list(itertools.chain.from_iterable(turns)))
        return items if limit is None else items[-limit:] if limit > 0 else []

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items after the last, all of them or none, in one transaction.

        Raises:
            ConflictError: other writers changed the session too often meanwhile; nothing was stored.
        """
        turns = turns_of_items([plain_json(item) for item in items])
        await in_thread(lambda: self._conversation.add(list(turn.items) for turn in turns))

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item and return it; None where there is none.

        The version with it stays where a model said it; what nothing has answered is in no version any more.
        """

        def pop(items: list[Any]) -> tuple[list[list[Any]], Any]:
            *rest, item = items
            # What is left of a turn is a message of its own.
            return ([rest] if rest else []), item

        return cast("TResponseInputItem | None", await in_thread(lambda: self._conversation.replace_last(pop)))

    async def clear_session(self) -> None:
        """Remove all items. Where a model has answered, the version with all of them stays; otherwise they are gone.

        `mg.forget_conversation` removes the conversation with all its versions.
        """
        await in_thread(self._conversation.clear)


async def in_thread(work: Callable[[], Result]) -> Result:
    """Run `work` in a thread; a task that is cancelled waits for it, so that what follows sees what it did."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():  # it may be cancelled more than once
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        raise
