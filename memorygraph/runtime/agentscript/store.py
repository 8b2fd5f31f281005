"""The record of a run of AgentScript in Neo4j: its generations, what each of them saw, and their messages.

It is written while the run goes on, so that it is there also when the run is killed; a failure to write only warns.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from memorygraph.context.prompt import ContextItem
from memorygraph.graph.namespace import IDS_PER_QUERY, Namespace, pages_of
from memorygraph.llm.completion import answers_of, call_of
from memorygraph.messages.calls import Exchange, RecordedCall, find_exchange
from memorygraph.messages.neo4j_storage import Neo4jStorage
from memorygraph.messages.recorder import Recorder
from memorygraph.runtime.agentscript.conversation import build_conversation
from memorygraph.runtime.agentscript.generation import GenerationRecord
from memorygraph.runtime.runs import Event, RunWriter, is_forgotten, stored_properties


@dataclass(eq=False)
class AgentRunStore:
    """Writes one run into a namespace. `conversation` is the one that keeps its messages, if there are any."""

    namespace: Namespace
    id: str = field(default_factory=lambda: uuid4().hex)

    def __post_init__(self) -> None:
        self.conversation = f"run-{self.id}"
        self._recorder = Recorder(self.namespace, self.conversation)
        self._writer = RunWriter(f"the run {self.id}")
        self._order = 0
        self._written: set[str] = set()
        self._read: set[str] = set()
        self._generations: list[list[Exchange]] = []

    def begin(self, properties: dict[str, Any]) -> None:
        """Write that the run begins, before anything of it happens."""
        self.namespace.write_query("runs/begin-run", id=self.id, properties=stored_properties(properties))

    def add(self, record: GenerationRecord) -> None:
        """Have a generation written."""
        order, self._order = self._order, self._order + 1
        calls = [
            call_of(self.namespace.name, self.conversation, attempt.messages, attempt.completion, attempt.at)
            for attempt in record.attempts
        ]
        self._generations.append([find_exchange(call) for call in calls])
        spooled = [(call, self._recorder.spool_call(call)) for call in calls]  # the writer may come to them late
        self._writer.put(
            lambda: self.write_generation(order, record, spooled),
            instead=lambda: self._recorder.leave(*(path for _, path in spooled)),
        )

    def read(self, ids: Iterable[str]) -> None:
        """Have it written that a memory gave the run these nodes: what forgets one of them forgets the run."""
        for page in pages_of([id_ for id_ in dict.fromkeys(ids) if id_ not in self._read], IDS_PER_QUERY):
            self._read.update(page)
            self._writer.put(partial(self.namespace.write_query, "runs/record-read", run=self.id, ids=page))

    def end(self, properties: dict[str, Any]) -> None:
        """Have the end written, and wait until everything is."""
        events = properties["trace"]
        self._writer.put(lambda: self.write_conversation(events))
        stored = stored_properties(properties)
        self._writer.put(partial(self.namespace.write_query, "runs/end-run", id=self.id, properties=stored))
        self._writer.close()

    def write_conversation(self, events: list[Event]) -> None:
        """Write what the first agent said, with the conversations of the agents that it called inside their calls."""
        conversation = build_conversation(events, iter(self._generations))
        if (entries := conversation.entries()) and not is_forgotten(self.namespace, self.id):
            storage = Neo4jStorage(self.namespace, self.conversation, recalled=False)
            storage.add_path(entries, conversation.attachments(deep=True))

    def write_generation(
        self, order: int, record: GenerationRecord, calls: list[tuple[RecordedCall, Path | None]]
    ) -> None:
        """Write a generation, the context that it saw, and the messages of its calls."""
        if is_forgotten(self.namespace, self.id):
            for _, spooled in calls:
                self._recorder.drop(spooled)
            return
        items = [item_row(item) for item in record.prompt.items]
        new = [row if row["id"] not in self._written else {**row, "properties": {}} for row in items]
        for call, spooled in calls:
            self._recorder.record(call, spooled)
        self.namespace.write_query(
            "runs/record-generation",
            run=self.id,
            order=order,
            id=record.id,
            properties=stored_properties(generation_properties(record)),
            conversation=self.conversation,
            items=new,
            messages=[id_ for call, _ in calls for id_ in answers_of(call)],
        )
        self._written.update(row["id"] for row in items)


def generation_properties(record: GenerationRecord) -> dict[str, Any]:
    """The properties that a generation is stored with."""
    last = record.attempts[-1].completion if record.attempts else None
    used = [attempt.completion.usage for attempt in record.attempts if attempt.completion.usage]
    return {
        "agent": record.agent,
        "function": record.function,
        "model": (last.model if last else "") or record.model.name,
        "uri": record.model.shown_uri,
        "system": record.prompt.system,
        "instruction": record.instruction,
        "schema": record.prompt.schema,
        "unused": [unused.as_dict() for unused in record.unused] or None,
        "attempts": record.tried,
        "errors": record.errors or None,
        "ok": record.error is None,
        "error": record.error,
        "result": record.result,
        "prompt_tokens": sum(usage.prompt_tokens for usage in used) if used else None,
        "completion_tokens": sum(usage.completion_tokens for usage in used) if used else None,
        "at": record.at,
        "seconds": round(record.seconds, 6),
    }


def item_row(item: ContextItem) -> dict[str, Any]:
    """A context item as it is stored, under the hash of its properties: prompts share their items."""
    properties = {
        "source": item.source,
        "text": item.text,
        "budget": str(item.budget) if item.budget else None,
        "clipped": item.clipped,
        "original_size": item.original_size,
        "clipped_size": item.clipped_size,
        "strategy": item.strategy,
        "origins": list(item.origins),
        **({"view": item.view} if item.view else {}),
    }
    text = json.dumps(properties, sort_keys=True)
    identity = hashlib.sha256(text.encode()).hexdigest()
    return {
        "id": identity,
        "index": item.index,
        "origins": list(item.origins),
        "properties": stored_properties(properties),
    }
