"""The recorder: writes calls of models into the message graph, and never stands in the way of a call.

A call goes into the spool, a folder of this machine, before anything else: so it survives the end of the process.
A thread of the recorder then writes it while the caller waits, but only for a moment: when the database does not
answer, the call stays in the spool, and the caller goes on. The spool is written before the next call, or by
`flush`. Writing a call twice changes nothing, so that a crash in between neither doubles nor loses one.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, ClassVar

from memorygraph.errors import ConflictError, ConnectionError, MemoryGraphError, QueryError
from memorygraph.graph.connection import fails_always
from memorygraph.graph.namespace import Namespace
from memorygraph.home import flush_folder, name_file, own_folder
from memorygraph.json_text import parse_stored_json
from memorygraph.library import CYPHER
from memorygraph.messages.calls import (
    CALLS_SUFFIX,
    NOT_A_MESSAGE,
    RESPONSES,
    Exchange,
    RecordedCall,
    exchange_of,
    messages_of_input,
)
from memorygraph.messages.history import Attachment, MessageEntry, entries_of
from memorygraph.messages.message import ROOT, Message
from memorygraph.messages.neo4j_storage import Neo4jStorage

PATIENCE_SECONDS = 3.0  # how long a caller waits without progress; other callers' records are progress
MAX_WAIT_SECONDS = 10.0
SECONDS_WHILE_FAILING = 0.05  # how long a caller waits after the database has failed, until it answers again
MAX_SENDING_SECONDS = 60.0  # after which nobody is taken to be writing a record any more

WAITS, SENDING = ".jsonl", ".sending"  # the names of records end like this
REASON = "refused_because"  # the field of a record that is set aside

_LOG = logging.getLogger("memorygraph")


class RecordWarning(UserWarning):
    """A call could not be recorded in the graph; the text says where its record is."""


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
    folder for user data). Several processes may share it.
    """

    def __init__(self, namespace: Namespace, conversation: str, folder: Path | None = None) -> None:
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
        self._database: str | None = None

    def spool_call(self, call: RecordedCall) -> Path | None:
        """Put a call into the spool, where it survives the end of the process; None where that cannot be written."""
        try:
            return self.spool.send(replace(call, database=self._database).as_dict())
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
            written = sum(self._flush_one(path) for path in self.spool.waiting())
        self._failing = False
        return written

    def forget_waiting(self) -> int:
        """Remove every record of the namespace that waits for this database or was refused, and return how many."""
        database = self.find_database()
        return self.spool.remove_all(lambda record: may_be_of_database(record, database))

    @property
    def waiting(self) -> int:
        """The number of records that wait to be written, those for other databases included."""
        return len(self.spool.waiting())

    def _flush_one(self, path: Path) -> bool:
        try:
            record = self.spool.read(path)
            if record is None:
                return False
            record.pop(REASON, None)  # somebody has put it back
            call = RecordedCall(**record)
            # A record of another database waits until that one is connected again.
            if call.database not in (None, self.find_database()):
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
                # Older calls first: the prompt of this one may continue an answer in the spool.
                if self.spool.waiting():
                    self.flush()
                self._write(job.call)
                recovered, self._failing, self._warned = self._failing, False, False
                job.done.set()
                if recovered:
                    self.flush()  # the calls that others have given up waiting for
            except Exception as error:  # noqa: BLE001 - the caller keeps the record after any error
                self._failing |= isinstance(error, ConnectionError)
                job.error = error
            job.done.set()

    def _keep(self, call: RecordedCall, spooled: Path | None, bad: BadRecordError | None = None) -> str:
        """Let a call that was not written wait in the spool, and return a sentence about its place."""
        path = None if spooled is None else self.spool.keep(spooled)
        if path is None:
            path = self.spool.add(replace(call, database=self._database).as_dict())
        if bad is None:
            return f"its record waits in {self.spool.folder} for the next call that can be written, or flush()"
        self.spool.refuse(path, str(bad))
        return f"its record is kept in {self.spool.refused_folder}, and is not tried again"

    def _warn(self, problem: Exception, consequence: str, *, lasting: bool = False) -> None:
        """Warn; of a lasting state only once, until a call is written again."""
        with self._lock:
            silent, self._warned = lasting and self._warned, lasting or self._warned
        if silent:
            return
        text = f"a model call could not be recorded ({problem}); {consequence}"
        try:
            warnings.warn(text, RecordWarning, stacklevel=3)
        except RecordWarning:
            _LOG.warning(text)  # where warnings are errors, this one would break the call

    def find_database(self) -> str:
        """Return what tells the database from others, so that no record is written into another one.

        Raises:
            ConnectionError: it cannot be reached.
        """
        if self._database is None:
            try:
                [row] = self.namespace.connection.read(CYPHER["records/database-id"]())
                self._database = str(row["id"])
            except QueryError:  # the user lacks the privilege; the address is the next best identity
                connection = self.namespace.connection
                self._database = f"{connection.uri}/{connection.database or ''}"
        return self._database

    def _write(self, call: RecordedCall) -> None:
        """Store a call; a second time changes nothing."""
        self.find_database()
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


class Spool:
    """The waiting records of one namespace, as files on this machine that only their owner can read.

    A record is written under a temporary name, synced, and then renamed: any number of processes add records without
    a lock, and a crash leaves a whole record or none. The name of one that is just being sent to the database says
    which process does it: when that ends, the record waits like the others.
    """

    # What this process is sending, whichever recorder does it.
    _sending: ClassVar[set[Path]] = set()

    def __init__(self, namespace: str, folder: Path | None = None) -> None:
        # Beside the embedded server's data, whether that server is used or not.
        folder = folder or own_folder("records")
        self.folder = folder / name_file(namespace)

    @property
    def refused_folder(self) -> Path:
        """The folder of records that can never be written, such as a message without a role."""
        return self.folder / "refused"

    def add(self, record: Mapping[str, Any]) -> Path:
        """Keep a record; once this returns, it survives a crash of the machine."""
        name = new_name()
        draft = self._write_draft(name, record, durable=True)
        path = draft.replace(self.folder / f"{name}{WAITS}")
        flush_folder(self.folder)
        return path

    def send(self, record: Mapping[str, Any]) -> Path:
        """Keep a record that is about to be written: once this returns, it survives the end of this process."""
        name = new_name()
        path = self.folder / f"{name}.{os.getpid()}{SENDING}"
        self._sending.add(path)
        try:
            self._write_draft(name, record, durable=False).replace(path)
        except BaseException:
            self._sending.discard(path)
            raise
        return path

    def keep(self, path: Path) -> Path | None:
        """Let a record wait that was being sent, so that it survives a crash of the machine; None if it is gone."""
        try:
            with path.open("rb+") as stream:
                os.fsync(stream.fileno())
            kept = path.replace(path.with_name(path.name.partition(".")[0] + WAITS))
        except FileNotFoundError:
            return None
        finally:
            self._sending.discard(path)
        flush_folder(self.folder)
        return kept

    def remove(self, path: Path) -> None:
        """Remove a record that is written."""
        with suppress(OSError):  # it would be written once more, which changes nothing
            path.unlink(missing_ok=True)
        self._sending.discard(path)

    def forget(self, conversations: Collection[str]) -> int:
        """Remove the records of conversations, as `remove_all` does."""
        return self.remove_all(lambda record: names_conversation(record, conversations))

    def remove_all(self, wanted: Callable[[bytes], bool]) -> int:
        """Remove the wanted records, also those that were refused, and return how many these were.

        What another process is sending just now, it will store.
        """
        removed = 0
        for path in [*self.folder.glob("*"), *self.refused_folder.glob("*")]:
            if path.suffix in (WAITS, ".part") or (path.suffix == SENDING and self._is_left(path)):
                with suppress(FileNotFoundError):
                    if wanted(path.read_bytes()):
                        path.unlink()
                        removed += 1
        return removed

    def _write_draft(self, name: str, record: Mapping[str, Any], *, durable: bool) -> Path:
        """Write a record under a temporary name."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self.folder / f"{name}.part"
        # ASCII only: a model can say half of a surrogate pair, which UTF-8 cannot.
        line = json.dumps(record, default=str).encode("ascii") + b"\n"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(line)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        return draft

    def waiting(self) -> list[Path]:
        """The files of the records that wait, oldest first."""
        with suppress(FileNotFoundError):  # any other error is told: `glob` would find nothing
            return sorted(path for path in self.folder.iterdir() if path.suffix == WAITS or self._is_left(path))
        return []

    def _is_left(self, path: Path) -> bool:
        """Whether a record was being sent by a process that does so no more."""
        if path.suffix != SENDING or path in self._sending:
            return False
        at, _, sender = path.stem.partition("-")
        process = sender.partition(".")[2]
        age_s = time.time() - int(at) / 1e9 if at.isdecimal() else math.inf
        return not (0 <= age_s <= MAX_SENDING_SECONDS and process.isdecimal() and is_another_process(int(process)))

    @staticmethod
    def read(path: Path) -> dict[str, Any] | None:
        """The record in a file, or None where another process has written and removed it."""
        try:
            return dict(parse_stored_json(path.read_bytes()))
        except FileNotFoundError:
            return None
        except TypeError as error:
            raise ValueError(f"{path} does not hold a record") from error

    def refuse(self, path: Path, reason: str) -> None:
        """Set a record aside that can never be written: it is kept with the reason, and not tried again."""
        self.refused_folder.mkdir(exist_ok=True, mode=0o700)
        with suppress(FileNotFoundError):
            content = path.read_bytes()
            try:
                record = {**parse_stored_json(content), REASON: reason}
            except (ValueError, TypeError):
                record = {"content": content.decode("utf-8", "backslashreplace"), REASON: reason}
            apart = self.refused_folder / (path.name.partition(".")[0] + WAITS)
            try:
                self._write_draft(new_name(), record, durable=True).replace(apart)
            except OSError:  # a full disk: it is set aside without the reason
                path.replace(apart)
            path.unlink(missing_ok=True)
        self._sending.discard(path)


def names_conversation(record: bytes, conversations: Collection[str]) -> bool:
    """Tell whether a record, or what the end of a process has left of one, is of one of these conversations.

    The prompts of a chat are of its conversation, too.

    >>> names_conversation(b'{"conversation": "talk", "mess', ["talk"])
    True
    >>> names_conversation(b'{"conversation": "talk-calls", "recalled": false}', ["talk"])
    True
    """
    try:
        call = parse_stored_json(record)
        name = call.get("conversation")
        names = {name} if call.get("recalled", True) else {name, name.removesuffix(CALLS_SUFFIX)}
        return not names.isdisjoint(conversations)
    except (ValueError, TypeError, AttributeError):
        known = [name + suffix for name in conversations for suffix in ("", CALLS_SUFFIX)]
        return any(f'"conversation": {json.dumps(name)}'.encode() in record for name in known)


def may_be_of_database(record: bytes, database: str) -> bool:
    """Tell whether a record waits for this database, or does not say for which one.

    >>> may_be_of_database(b'{"database": "another"}', "this"), may_be_of_database(b'{"database": "thi', "this")
    (False, True)
    """
    try:
        return parse_stored_json(record).get("database") in (None, database)
    except (ValueError, TypeError, AttributeError):
        return True


def new_name() -> str:
    """Name a file: sorted by name, the files are in the order of the calls."""
    return f"{time.time_ns():020}-{uuid.uuid4().hex}"


def is_another_process(number: int) -> bool:
    """Whether another process of this number runs; where that cannot be told, it is taken to."""
    if number == os.getpid():
        return False
    if sys.platform == "win32":  # a signal would end it
        return True
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
