"""The recorder: calls of models into the message graph, without ever standing in the way of a call.

A call is written by a thread of the recorder while the caller waits, but only a moment: when the database does
not answer, the call goes into the spool, and the caller goes on. What waits there is written before the next
call is, or by `flush`. Writing a call twice changes nothing, so that no crash in between can double or lose one.
"""

from __future__ import annotations

import json
import logging
import time
import warnings
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock, Thread

from memorygraph.errors import ConflictError, ConnectionError, MemoryGraphError, QueryError
from memorygraph.graph.namespace import Namespace
from memorygraph.library import CYPHER
from memorygraph.messages.calls import RESPONSES, Exchange, RecordedAnswer, RecordedCall, exchange_of
from memorygraph.messages.history import Attachment, MessageEntry, entries_of
from memorygraph.messages.message import ROOT, Message
from memorygraph.messages.responses import messages_of_input
from memorygraph.messages.spool import Spool
from memorygraph.messages.store import Store

PATIENCE_SECONDS = 3.0
"""How long a caller waits while nothing is being written; other callers' records are progress."""

MAX_WAIT_SECONDS = 10.0
SECONDS_WHILE_FAILING = 0.05
"""How long a caller waits after the database did not answer, until it does again."""

_LOG = logging.getLogger("memorygraph")


class RecordWarning(UserWarning):
    """A call could not be recorded in the graph; what became of its record is said."""


class BadRecordError(MemoryGraphError):
    """A call can never be recorded, because something in it is no message."""


@dataclass(eq=False)
class _Job:
    """A call on its way into the graph."""

    call: RecordedCall
    done: Event = field(default_factory=Event)
    error: Exception | None = None


class Recorder:
    """Records calls in a namespace, by default in one conversation. Safe to share between threads.

    `folder` is where records wait while they cannot be written (default: in MEMORYGRAPH_HOME, else the
    platform's folder for user data). Several processes may share it.
    """

    def __init__(self, namespace: Namespace, conversation: str, folder: Path | None = None) -> None:
        self.namespace = namespace
        self.conversation = conversation
        self.spool = Spool(namespace.name, folder)
        self._jobs: deque[_Job] = deque()
        self._lock = Lock()
        self._flushing = Lock()
        self._working = False
        self._progress = 0.0
        self._failing = False
        self._warned = False
        self._database: str | None = None

    def record(self, call: RecordedCall) -> None:
        """Write a call, or keep it until it can be written. Nothing is raised, and nothing waits for long."""
        try:
            problem = self._written(call)
        except BaseException:
            # An interrupt while waiting: the caller goes, its record stays.
            with suppress(Exception):
                self._keep(call)
            raise
        if problem is None:
            return
        try:
            outcome = self._keep(call, bad=isinstance(problem, BadRecordError))
        except Exception as error:  # noqa: BLE001 - a disk that is full, for example: it must not break the call
            self._warn(problem, f"its record is lost, because {self.spool.folder} cannot be written ({error})")
        else:
            self._warn(problem, outcome, lasting=isinstance(problem, (ConnectionError, ConflictError)))

    def give_up(self, problem: Exception) -> None:
        """Say that a call could not even be made a record."""
        self._warn(problem, "there is no record of it")

    def flush(self) -> int:
        """Write what waits, and return how many calls that were. Each is written once, whoever else flushes.

        Raises:
            ConnectionError: the database cannot be reached; what is not yet written goes on waiting.
            ConflictError: the database is too busy.
        """
        with self._flushing:
            written = 0
            for path in self.spool.waiting():
                written += self._flush_one(path)
        self._failing = False
        return written

    @property
    def waiting(self) -> int:
        """How many records wait to be written, those for other databases included."""
        return len(self.spool.waiting())

    def _flush_one(self, path: Path) -> bool:
        try:
            record = self.spool.read(path)
            if record is None:
                return False
            call = RecordedCall(**record)
            if call.database not in (None, self._database_id()):
                return False
            self._write(call)
        except (ConnectionError, ConflictError):
            raise
        except (BadRecordError, TypeError, ValueError):
            self.spool.refuse(path)
            return False
        except MemoryGraphError as error:
            _LOG.warning("the record %s could not be written, and goes on waiting: %s", path.name, error)
            return False
        self.spool.remove(path)
        self._progress = time.monotonic()
        return True

    def _written(self, call: RecordedCall) -> Exception | None:
        """Let the thread write a call, and return why that did not happen, or None when it did."""
        job = _Job(call)
        started = time.monotonic()
        try:
            self._submit(job)
        except RuntimeError as error:  # no thread can be started while the program ends
            return error
        while not job.done.wait(self._rest(started)):
            if self._rest(started) <= 0:
                self._withdraw(job)
                return ConnectionError("Neo4j does not answer in time")
        return job.error

    def _rest(self, started: float) -> float:
        """How much longer a caller waits that began to wait then."""
        now = time.monotonic()
        patience = SECONDS_WHILE_FAILING if self._failing else PATIENCE_SECONDS
        return max(0.0, min(max(started, self._progress) + patience, started + MAX_WAIT_SECONDS) - now)

    def _submit(self, job: _Job) -> None:
        with self._lock:
            self._jobs.append(job)
            if not self._working:
                Thread(target=self._work, name="memorygraph-recorder", daemon=True).start()
                self._working = True

    def _withdraw(self, job: _Job) -> None:
        """Its caller does not wait any longer; if it is being written now, that may still succeed."""
        self._failing = True
        with self._lock:
            if job in self._jobs:
                self._jobs.remove(job)

    def _work(self) -> None:
        """Write one call after the other until there is none; the thread lives no longer than that."""
        while True:
            with self._lock:
                if not self._jobs:
                    self._working = False
                    return
                job = self._jobs.popleft()
            self._progress = time.monotonic()
            try:
                self._catch_up()
                self._write(job.call)
                behind, self._failing, self._warned = self._failing, False, False
                job.done.set()
                if behind:
                    self._catch_up()  # what other callers have given up waiting for meanwhile
            except Exception as error:  # noqa: BLE001 - whatever it is, the caller keeps the record
                self._failing |= isinstance(error, ConnectionError)
                job.error = error
            job.done.set()

    def _catch_up(self) -> None:
        if self.spool.waiting():
            self.flush()

    def _keep(self, call: RecordedCall, *, bad: bool = False) -> str:
        """Put a call that was not written into the spool, and say what became of it."""
        path = self.spool.add(replace(call, database=self._database).as_dict())
        if not bad:
            return f"its record waits in {self.spool.folder} for the next call that can be written, or flush()"
        self.spool.refuse(path)
        return f"its record is kept in {self.spool.refused_folder}, and is not tried again"

    def _warn(self, problem: Exception, outcome: str, *, lasting: bool = False) -> None:
        """Warn; of a state that lasts only once until something is written again."""
        with self._lock:
            silent, self._warned = lasting and self._warned, lasting or self._warned
        if silent:
            return
        text = f"a model call could not be recorded ({problem}); {outcome}"
        try:
            warnings.warn(text, RecordWarning, stacklevel=3)
        except RecordWarning:
            _LOG.warning(text)  # where warnings are errors, this one would break the call

    def _database_id(self) -> str:
        if self._database is None:
            try:
                [row] = self.namespace.connection.read(CYPHER["records/database-id"]())
                self._database = str(row["id"])
            except QueryError:  # a user without the right to ask; the address is the next best identity
                connection = self.namespace.connection
                self._database = f"{connection.uri}/{connection.database or ''}"
        return self._database

    def _write(self, call: RecordedCall) -> None:
        """Store a call; again, it changes nothing."""
        self._database_id()
        store = Store(replace(self.namespace, name=call.namespace), call.conversation, recalled=call.recalled)
        try:
            exchange = exchange_of(call)
            prompt, whole = self._prompt(store, exchange)
            entries = entries_of(prompt)
            paths = [self._path(entries, answer, whole=whole) for answer in exchange.answers]
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise BadRecordError(f"it holds what is no message: {error}") from error
        for path, attachment in paths:
            if attachment is None:
                continue
            response = (attachment.metadata["response_id"] or None) if call.api == RESPONSES else None
            store.add_path(path, [attachment], response=response)

    def _prompt(self, store: Store, exchange: Exchange) -> tuple[list[Message], bool]:
        """What the model saw, and whether that is all of it."""
        given = list(exchange.prompt)
        if exchange.previous is None:
            return given, exchange.whole
        found = self.namespace.read("records/find-response", response=exchange.previous)
        if not found:
            return given, False
        kept = json.loads(found[0]["body"])["metadata"]
        before = [entry.message for entry in store.path(found[0]["message"])]
        # The endpoint carries everything over but the instructions, which each call gives anew.
        old = len(messages_of_input(None, kept["parameters"].get("instructions")))
        new = exchange.instructions
        return [*given[:new], *before[old:], *given[new:]], exchange.whole and kept["prompt_known"] and kept["finished"]

    @staticmethod
    def _path(
        prompt: tuple[MessageEntry, ...], answer: RecordedAnswer, *, whole: bool
    ) -> tuple[list[MessageEntry], Attachment | None]:
        """The messages up to an answer, and what is kept beside the last of them."""
        said = entries_of(answer.messages, prompt[-1].id if prompt else ROOT, sampled=whole)
        path = [*prompt, *said]
        metadata = {**answer.metadata, "prompt_known": whole}
        return path, Attachment(path[-1].id, metadata) if path else None
