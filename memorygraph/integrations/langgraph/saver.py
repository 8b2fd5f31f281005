"""A checkpointer for LangGraph in the graph: threads whose states, forks and messages can be asked for in Cypher."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from memorygraph.client import MemoryGraph
from memorygraph.errors import MemoryGraphError
from memorygraph.integrations.langgraph.channels import ChannelValues, LoadedState
from memorygraph.messages.threads import StateKey, ThreadState, ThreadWrite

LIST_PAGE = 100  # states
SHOWN = ("source", "step")
"""What of the metadata is a property of the state, with `run_id`: so that Cypher can ask for it."""


class MemoryGraphSaver(BaseCheckpointSaver[Any]):
    """Keeps the checkpoints of LangGraph's threads in a namespace of a graph. Safe to share between threads of Python.

    Each `put` is one transaction. The states of a thread and its forks share what they have in common; of a channel
    with a list of messages only what is new is stored, however long it is, and its messages are those of the message
    graph. Have a node return the messages that it changes, as LangGraph asks for: a change in place is seen in the
    last 32 messages only.

    Example::

        graph = builder.compile(checkpointer=MemoryGraphSaver(mg))
        graph.invoke({"messages": [("user", "Hi")]}, {"configurable": {"thread_id": "support-42"}})
    """

    def __init__(self, graph: MemoryGraph, *, serde: SerializerProtocol | None = None) -> None:
        """Take the client of the namespace, and a serializer other than LangGraph's own, such as one that encrypts."""
        super().__init__(serde=serde or JsonPlusSerializer())
        self.graph = graph
        self.threads = graph.threads

    @property
    def serde(self) -> SerializerProtocol:
        """LangGraph's serializer of values."""
        return self.values.serde

    @serde.setter
    def serde(self, serde: SerializerProtocol) -> None:
        # LangGraph sets one of its own in a copy, which then knows its own values.
        self.values = ChannelValues(serde)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002 - what is new is seen by its hash
    ) -> RunnableConfig:
        """Store a checkpoint, which came from the one that the configuration names.

        Raises:
            ConnectionError: the server cannot be reached, or failed.
        """
        key, parent = _key_of(config, checkpoint["id"]), get_checkpoint_id(config)
        kept: Mapping[str, Any] = get_serializable_checkpoint_metadata(config, metadata)
        properties = {name: kept.get(name) for name in SHOWN} | {"run": kept.get("run_id")}
        while True:
            planned = self.values.plan(key, parent, checkpoint["channel_values"], checkpoint["channel_versions"])
            body = {**checkpoint, "channel_values": planned.inline}
            type_, data = self.serde.dumps_typed((body, kept))
            given = {**properties, "type": type_, "body": data}
            if self.threads.put(key, given, parent=parent, values=planned.new, holds=planned.holds):
                break
            self.values.forget()  # what it was known to have has been deleted meanwhile
        self.values.remember(key, planned.known)
        return _config_of(key)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote after a checkpoint, until the next one has it."""
        kept = []
        for place, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, place)
            type_, data = self.serde.dumps_typed(value)
            kept.append(ThreadWrite(task_id, task_path, index, channel, type_, data, replaced=index < 0))
        self.threads.put_writes(_key_of(config, str(get_checkpoint_id(config))), kept)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Fetch a checkpoint: the one that the configuration names, or the last one of its thread."""
        key = _key_of(config, "")
        state = self.threads.state(key.thread, key.graph, get_checkpoint_id(config))
        if state is None:
            return None
        loaded = next(iter(self._load([state])), None)
        if loaded is None:
            return self.get_tuple(config)  # another may be the last one now
        self.values.remember(state.key, loaded.known)
        return self._tuple_of(loaded)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints: of one graph of a thread, the newest first; of several, one graph after another.

        Messages that several of them have are the same objects. `filter` has values that the metadata have.
        """
        asked: Mapping[str, Any] = config["configurable"] if config else {}
        thread, graph, only = asked.get("thread_id"), asked.get("checkpoint_ns"), asked.get("checkpoint_id")
        end = get_checkpoint_id(before) if before else None
        # With an end that is one of any graph, the states are looked through.
        indexed = end if thread is not None and graph is not None else None
        looked_through = limit is None or filter or only is not None or end != indexed
        page_size = LIST_PAGE if looked_through else max(1, min(LIST_PAGE, limit or 1))
        states = self.threads.states(None if thread is None else str(thread), graph, before=indexed, limit=page_size)
        fitting = (
            state
            for state in states
            if (only is None or state.key.checkpoint == only) and (end is None or state.key.checkpoint < end)
        )
        return islice(self._load_fitting(fitting, page_size, filter or {}), limit)

    def _load_fitting(
        self, states: Iterator[ThreadState], page_size: int, wanted: Mapping[str, Any]
    ) -> Iterator[CheckpointTuple]:
        while page := list(islice(states, page_size)):
            for loaded in self._load(page):
                if all(loaded.metadata.get(name) == value for name, value in wanted.items()):
                    yield self._tuple_of(loaded)

    def _load(self, states: Sequence[ThreadState]) -> Sequence[LoadedState]:
        """Load states, but those that are deleted meanwhile: their lists are read after them."""
        try:
            return self.values.load(self.threads, states)
        except MemoryGraphError:
            keys = [state.key for state in states]
            again = [self.threads.state(key.thread, key.graph, key.checkpoint) for key in keys]
            left = [state for state in again if state is not None]
            if left == states:
                raise
            return self._load(left)

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread: its checkpoints, its pending writes, and of its messages those that nothing else has."""
        self.threads.delete(str(thread_id))
        self.values.forget()

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made.

        LangGraph's own description says what that means for a `DeltaChannel`.
        """
        self.threads.delete_runs(run_ids)
        self.values.forget()

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread to another, in one transaction: the two share their values."""
        self.threads.copy(str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints of threads but the last of each graph in them, or (`delete`) all.

        Of a graph with a `DeltaChannel` those before the last stay, back to the one that holds its value.

        Raises:
            ValueError: there is no such strategy.
        """
        if strategy not in {"keep_latest", "delete"}:
            raise ValueError(f"the strategy of a prune is keep_latest or delete, and this is {strategy!r}")
        for thread in map(str, thread_ids):
            if strategy == "delete":
                self.threads.delete(thread)
            else:
                found = self.threads.keys(thread)
                states = {key: parent for key, parent in found if parent is not None}
                last = {key.graph: key for key in states}
                kept = {key for latest in last.values() for key in self._needed_for(latest, states)}
                self.threads.delete_states(key for key, _ in found if key not in kept)
        self.values.forget()

    def _needed_for(self, latest: StateKey, states: Mapping[StateKey, str]) -> Iterator[StateKey]:
        """Yield the states by which one can be restored: itself, and where it has delta channels those before it."""
        key = latest
        waiting: set[str] | None = None
        while key in states:
            yield key
            if (state := self.threads.state(key.thread, key.graph, key.checkpoint)) is None:
                return
            loaded = next(iter(self._load([state])), None)
            if loaded is None:
                return
            if waiting is None:
                waiting = set(loaded.metadata.get("counters_since_delta_snapshot") or ())
            waiting -= set(loaded.checkpoint["channel_values"])
            if not waiting:
                return
            key = StateKey(key.thread, key.graph, states[key])

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Generate the next version: a number, or a text where another saver began the thread with texts."""
        if isinstance(current, str):
            return f"{int(current.partition('.')[0]) + 1:032}.{random.random():016}"  # noqa: S311
        return super().get_next_version(current, channel)

    def _tuple_of(self, loaded: LoadedState) -> CheckpointTuple:
        state = loaded.state
        parent = StateKey(state.key.thread, state.key.graph, state.parent)
        writes = [
            (write.task, write.channel, self.serde.loads_typed((write.type, write.data))) for write in state.writes
        ]
        parent_config = _config_of(parent) if state.parent else None
        return CheckpointTuple(_config_of(state.key), loaded.checkpoint, loaded.metadata, parent_config, writes)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """`put` for asyncio, as the methods below are those of their names: each runs in a thread."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """`put_writes` for asyncio."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`get_tuple` for asyncio."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """`list` for asyncio."""
        tuples = self.list(config, filter=filter, before=before, limit=limit)
        while page := await asyncio.to_thread(lambda: list(islice(tuples, LIST_PAGE))):
            for found in page:
                yield found

    async def adelete_thread(self, thread_id: str) -> None:
        """`delete_thread` for asyncio."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`delete_for_runs` for asyncio."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`copy_thread` for asyncio."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`prune` for asyncio."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)

    async def aget_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, Any]:
        """`get_delta_channel_history` for asyncio."""
        return await asyncio.to_thread(lambda: self.get_delta_channel_history(config=config, channels=channels))


def _key_of(config: RunnableConfig, checkpoint: str) -> StateKey:
    configurable = config["configurable"]
    return StateKey(str(configurable["thread_id"]), configurable.get("checkpoint_ns", ""), checkpoint)


def _config_of(key: StateKey) -> RunnableConfig:
    return {"configurable": {"thread_id": key.thread, "checkpoint_ns": key.graph, "checkpoint_id": key.checkpoint}}
