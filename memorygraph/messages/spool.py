"""The spool: the records of calls that wait on the disk of this machine until they are in the graph."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from memorygraph.drafts import clear_drafts, lock_draft
from memorygraph.home import flush_folder, name_file, own_folder
from memorygraph.json_text import parse_stored_json
from memorygraph.messages.calls import CALLS_SUFFIX

MAX_SENDING_SECONDS = 60.0  # after which nobody is taken to be writing a record any more

WAITS, SENDING = ".jsonl", ".sending"  # the names of records end like this
REASON = "refused_because"  # the field of a record that is set aside


class Spool:
    """The waiting records of one namespace, as files on this machine that only their owner can read.

    A record is written under a temporary name, and then renamed: any number of processes add records without a lock,
    and the end of one leaves a whole record or none. One that waits is synced, so that it survives a crash of the
    machine. The name of one that is just being sent to the database says which process does it: when that ends, the
    record waits like the others.
    """

    # What this process is sending, whichever recorder does it.
    _sending: ClassVar[set[Path]] = set()

    def __init__(self, namespace: str, folder: Path | None = None) -> None:
        # Beside the embedded server's data, whether that server is used or not.
        folder = folder or own_folder("records")
        self.folder = folder / name_file(namespace)
        self._is_cleared = False

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

    def forget(self, conversations: Collection[str], database: str) -> int:
        """Remove the records of conversations, as `remove_all` does: those for a database, or of none that is known."""
        return self.remove_all(
            lambda record: names_conversation(record, conversations) and may_be_of_database(record, database)
        )

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
        if not self._is_cleared:
            self._is_cleared = True
            clear_drafts(self.folder.glob("*.part"))
        draft = self.folder / f"{name}.part"
        # ASCII only: a model can say half of a surrogate pair, which UTF-8 cannot.
        line = json.dumps(record, default=str).encode("ascii") + b"\n"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                lock_draft(descriptor)
                stream.write(line)
                stream.flush()
                if durable:
                    os.fsync(stream.fileno())
        except BaseException:  # a full disk, above all
            draft.unlink(missing_ok=True)
            raise
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
