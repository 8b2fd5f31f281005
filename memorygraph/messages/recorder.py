"""The recorder: writes calls of models into the message graph, and never stands in the way of a call.

A call goes into the spool, a folder of this machine, before anything else: so it survives the end of the process.
A thread of the recorder then writes it while the caller waits, but only for a moment: when the database does not
answer, the call stays in the spool, and the caller goes on. The spool is written before the next call, or by
`flush`. Writing a call twice changes nothing, so that a crash in between neither doubles nor loses one.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from memorygraph.errors import ConflictError, ConnectionError, MemoryGraphError, QueryError
from memorygraph.graph.driver_errors import fails_always
from memorygraph.graph.namespace import Namespace
from memorygraph.json_text import parse_stored_json
from memorygraph.messages.calls import NOT_A_MESSAGE, RESPONSES, Exchange, RecordedCall, exchange_of, messages_of_input
from memorygraph.messages.history import Attachment, MessageEntry, entries_of
from memorygraph.messages.message import ROOT, Message
from memorygraph.messages.neo4j_storage import Neo4jStorage, check_conversation_name
from memorygraph.messages.spool import REASON, Spool, may_be_of_database

PATIENCE_SECONDS = 3.0  # how long a caller waits without progress; other callers' records are progress
MAX_WAIT_SECONDS = 10.0
SECONDS_WHILE_FAILING = 0.05  # how long a caller waits after the database has failed, until it answers again

_LOG = logging.getLogger("memorygraph")


class RecordWarning(UserWarning):
    """A call could not be recorded in the graph; the text says where its record is."""


def warn_of_record(text: str) -> None:
    """Warn of what is not recorded; where warnings are errors, it is logged, for it would break what is recorded."""
    try:
        warnings.warn(text, RecordWarning, stacklevel=4)
    except RecordWarning:
        _LOG.warning(text)


class BadRecordError(MemoryGraphError):
    """A call can never be recorded: a part of it is not a message, or no database can hold it."""


@dataclass(eq=False)
class WriteJob:
    """A call for the thread to write."""

    call: RecordedCall
    done: Event = field(default_factory=Event)
    error: Exception | None = None


class Recorder:
    """Records calls in a namespace, by default in one conversation. Safe to share between threads.

    Records wait in `folder` while they cannot be written (default: in MEMORYGRAPH_HOME, else the platform's
    folder for user data). Several processes may share it. `own` are those of the waiting records that this process
    wrote for the address of the namespace: they are written to whatever database a restore has put there.
    """

    def __init__(
        self, namespace: Namespace, conversation: str, folder: Path | None = None, own: set[Path] | None = None
    ) -> None:
        self.namespace = namespace
        self.conversation = conversation
        self.spool = Spool(namespace.name, folder)
        self._jobs: deque[WriteJob] = deque()
        self._lock = Lock()
        self._flushing = Lock()
        self._working = False
        self._progress = 0.0
        self._failing = False
        self._warned = False
        self._own = set() if own is None else own
        self._databases: dict[Path, str] = {}  # of waiting records: one of another database is not read at each call
        self.kept_for_others = 0
        """How many waiting records the last `flush` left, as they are of another database than the one connected."""

    def spool_call(self, call: RecordedCall) -> Path | None:
        """Put a call into the spool, where it survives the end of the process; None where that cannot be written."""
        try:
            return self.spool.send(replace(call, database=self.namespace.connection.known_database).as_dict())
        except Exception as error:  # noqa: BLE001 - a disk that is full, for example: the database may still take it
            _LOG.info("a model call could not be put into %s: %s", self.spool.folder, error)
            return None

    def record(self, call: RecordedCall, spooled: Path | None = None) -> None:
        """Write a call, or keep it until it can be written. It raises nothing, and waits at most 10 seconds.

        `spooled` is its place in the spool, where it is there already.
        """
        spooled = spooled or self.spool_call(call)
        try:
            problem = self._try_writing(call)
        except BaseException:
            # An interrupt while waiting: the caller goes, its record stays.
            with suppress(Exception):
                self._keep(call, spooled)
            raise
        if problem is None:
            self.drop(spooled)
            return
        try:
            place = self._keep(call, spooled, problem if isinstance(problem, BadRecordError) else None)
        except Exception as error:  # noqa: BLE001 - a disk that is full, for example: it must not break the call
            self._warn(problem, f"its record is lost, because {self.spool.folder} cannot be written ({error})")
        else:
            self._warn(problem, place, lasting=isinstance(problem, (ConnectionError, ConflictError)))

    def drop(self, spooled: Path | None) -> None:
        """Remove a call from the spool: it is recorded, or must not be, as what it is of was forgotten meanwhile."""
        if spooled is not None:
            self.spool.remove(spooled)

    def leave(self, *spooled: Path | None) -> None:
        """Leave calls in the spool that are not recorded now: they wait for the next one, or `flush`."""
        for path in spooled:
            if path is not None:
                with suppress(OSError):  # it waits all the same, but may not survive a crash of the machine
                    self.spool.keep(path)

    def give_up(self, problem: Exception) -> None:
        """Warn that there could be no record of a call."""
        self._warn(problem, "there is no record of it")

    def flush(self) -> int:
        """Write the waiting records, and return how many; each is written once, even by several processes.

        Raises:
            ConnectionError: the database cannot be reached; the rest goes on waiting.
            ConflictError: the database is too busy.
        """
        with self._flushing:
            self.kept_for_others = 0
            waiting = self.spool.waiting()
            self._databases = {path: self._databases[path] for path in waiting if path in self._databases}
            written = sum(self._flush_one(path) for path in waiting)
            self._own.difference_update([path for path in self._own.copy() if not path.exists()])
        self._failing = False
        return written

    def forget_waiting(self) -> int:
        """Remove every record of the namespace that waits for this database or was refused, and return how many."""
        database = self.namespace.connection.find_database()
        return self.spool.remove_all(lambda record: may_be_of_database(record, database))

    @property
    def waiting(self) -> int:
        """The number of records that wait to be written, those for other databases included."""
        return len(self.spool.waiting())

    def _flush_one(self, path: Path) -> bool:
        try:
            return self._flush_record(path)
        except OSError as error:
            # One that cannot be read, or be set aside on a full disk, must not hold up the others.
            _LOG.warning("the record %s cannot be used, and goes on waiting: %s", path.name, error)
            return False

    def _flush_record(self, path: Path) -> bool:
        try:
            if self._is_of_another(path):
                return False
            record = self.spool.read(path)
            if record is None:
                return False
            record.pop(REASON, None)  # somebody has put it back
            call = RecordedCall(**record)
            if call.database is not None:
                self._databases[path] = call.database
                if self._is_of_another(path):
                    return False
            self._write(call)
        except (ConnectionError, ConflictError):
            raise
        except (BadRecordError, TypeError, ValueError) as error:
            # It would fail every time, and must not hold up the others.
            reason = str(error) if isinstance(error, BadRecordError) else f"it is no record: {error}"
            self.spool.refuse(path, reason)
            _LOG.warning("a record can never be written, and is kept in %s: %s", self.spool.refused_folder, reason)
            return False
        except MemoryGraphError as error:
            _LOG.warning("the record %s could not be written, and goes on waiting: %s", path.name, error)
            return False
        self.spool.remove(path)
        self._progress = time.monotonic()
        return True

    def _is_of_another(self, path: Path) -> bool:
        """Tell whether a record that was read is of another database: it waits until that one is connected again."""
        database = self._databases.get(path)
        if database is None or path in self._own or database == self.namespace.connection.find_database():
            return False
        self.kept_for_others += 1
        return True

    def _try_writing(self, call: RecordedCall) -> Exception | None:
        """Let the thread write a call, and return the error if that failed."""
        job = WriteJob(call)
        started = time.monotonic()
        try:
            with self._lock:
                self._jobs.append(job)
                if not self._working:
                    Thread(target=self._work, name="memorygraph-recorder", daemon=True).start()
                    self._working = True
        except RuntimeError as error:  # no thread can be started while the program ends
            return error
        while not job.done.wait(self._seconds_left(started)):
            if self._seconds_left(started) <= 0:
                self._failing = True
                with self._lock, suppress(ValueError):  # the thread has it, and may still succeed
                    self._jobs.remove(job)
                return ConnectionError("Neo4j does not answer in time")
        return job.error

    def _seconds_left(self, started: float) -> float:
        """How much longer a caller waits who began to wait at this time."""
        now = time.monotonic()
        patience = SECONDS_WHILE_FAILING if self._failing else PATIENCE_SECONDS
        return max(0.0, min(max(started, self._progress) + patience, started + MAX_WAIT_SECONDS) - now)

    def _work(self) -> None:
        """Write one call after the other; the thread ends with the last."""
        while True:
            with self._lock:
                if not self._jobs:
                    self._working = False
                    return
                job = self._jobs.popleft()
            self._progress = time.monotonic()
            try:
                self._flush_older()
                self._write(job.call)
                recovered, self._failing, self._warned = self._failing, False, False
                job.done.set()
                if recovered:
                    self._flush_older()  # the calls that others have given up waiting for
            except Exception as error:  # noqa: BLE001 - the caller keeps the record after any error
                self._failing |= isinstance(error, ConnectionError)
                job.error = error
            job.done.set()

    def _flush_older(self) -> None:
        """Write the waiting calls first: the prompt of the next one may continue an answer in the spool."""
        try:
            if self.spool.waiting():
                self.flush()
        except OSError as error:  # a folder that cannot be read: the database may still take the next call
            _LOG.info("the calls in %s cannot be written: %s", self.spool.folder, error)

    def _keep(self, call: RecordedCall, spooled: Path | None, bad: BadRecordError | None = None) -> str:
        """Let a call that was not written wait in the spool, and return a sentence about its place."""
        path = None if spooled is None else self.spool.keep(spooled)
        if path is None:
            path = self.spool.add(replace(call, database=self.namespace.connection.known_database).as_dict())
        if bad is None:
            self._own.add(path)
            return f"its record waits in {self.spool.folder} for the next call that can be written"
        self.spool.refuse(path, str(bad))
        return f"its record is kept in {self.spool.refused_folder}, and is not tried again"

    def _warn(self, problem: Exception, consequence: str, *, lasting: bool = False) -> None:
        """Warn; of a lasting state only once, until a call is written again."""
        with self._lock:
            silent, self._warned = lasting and self._warned, lasting or self._warned
        if silent:
            return
        warn_of_record(f"a model call could not be recorded ({problem}); {consequence}")

    def _write(self, call: RecordedCall) -> None:
        """Store a call; a second time changes nothing."""
        self.namespace.connection.find_database()
        namespace = replace(self.namespace, name=call.namespace)
        storage = Neo4jStorage(namespace, call.conversation, recalled=call.recalled)
        try:
            exchange = exchange_of(call)
            messages, whole = self._prompt(storage, exchange)
            prompt = entries_of(messages)
            tip = prompt[-1].id if prompt else ROOT
            paths = [[*prompt, *entries_of(answer.messages, tip, sampled=whole)] for answer in exchange.answers]
        except NOT_A_MESSAGE as error:
            raise BadRecordError(f"a part of it is not a message: {error}") from error
        if not call.conversation:
            name = find_continued(namespace, prompt) or call.new_conversation
            storage = Neo4jStorage(namespace, name, recalled=call.recalled)
        try:
            check_conversation_name(storage.name)
        except MemoryGraphError as error:
            raise BadRecordError(str(error)) from error
        try:
            self._write_paths(storage, call, exchange, paths, whole=whole)
        except QueryError as error:
            if fails_always(error):
                raise BadRecordError(f"no database can hold it: {error}") from error
            raise

    def _write_paths(
        self, storage: Neo4jStorage, call: RecordedCall, exchange: Exchange, paths: list[list[Any]], *, whole: bool
    ) -> None:
        for path, answer in zip(paths, exchange.answers, strict=True):
            if path:
                attachment = Attachment(path[-1].id, {**answer.metadata, "prompt_known": whole})
                response = (answer.metadata["response_id"] or None) if call.api == RESPONSES else None
                storage.add_path(path, [attachment], response=response)

    def _prompt(self, storage: Neo4jStorage, exchange: Exchange) -> tuple[list[Message], bool]:
        """The messages that the model saw, and whether those are all of them."""
        given = list(exchange.prompt)
        if exchange.previous is None:
            return given, exchange.whole
        found = self.namespace.read("records/find-response", response=exchange.previous)
        if not found:
            return given, False
        kept = parse_stored_json(found[0]["body"])["metadata"]
        before = [entry.message for entry in storage.path(found[0]["message"])]
        # The endpoint carries everything over except the instructions, which each call repeats.
        old = len(messages_of_input(None, kept["parameters"].get("instructions")))
        new = exchange.instructions
        return [*given[:new], *before[old:], *given[new:]], exchange.whole and kept["prompt_known"] and kept["finished"]


def find_continued(namespace: Namespace, prompt: Sequence[MessageEntry]) -> str | None:
    """Find the conversation that a prompt continues: that of the last answer in it which was recorded.

    What two conversations have in common before the first answer, such as a system prompt, does not make them one.
    """
    ids = [entry.id for entry in reversed(prompt) if entry.message.is_assistant]
    found = namespace.read("records/find-conversation", ids=ids) if ids else []
    return str(found[0]["conversation"]) if found else None
