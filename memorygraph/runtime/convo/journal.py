"""The journal of a run: its steps in a file of this machine, until the database has them.

A lock beside the file keeps a run that lives from being resumed by anybody else on this machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from memorygraph.home import own_folder
from memorygraph.json_text import UnreadableRecord, parse_stored_json

LOCK_WAIT_S = 1.0  # longer than another process takes to see whether the run is locked

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


class Journal:
    """The steps of one run as a file of this machine, until all of them are in Neo4j.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal("r1", Path(folder))
    ...     written = [journal.append(f'{{"index": 0, "output": {output}}}') for output in ("null", '"done"')]
    ...     written, [state["output"] for state in journal.read()]
    ([True, True], [None, 'done'])
    """

    def __init__(self, run: str, folder: Path | None = None) -> None:
        # Our ids are plain. One that came with a bundle may be any text, and must not lead to another folder.
        name = run if _PLAIN_NAME.fullmatch(run) else sha256(run.encode("utf-8", "surrogatepass")).hexdigest()
        self.path = (folder or own_folder("runs")) / f"{name}.jsonl"
        self._descriptor: int | None = None
        self._writable = True
        # A run may begin in one thread, and end in another.
        self._lock = FileLock(self.lock_path, thread_local=False)

    @property
    def lock_path(self) -> Path:
        """The file that is locked while the run lives."""
        return self.path.with_name(f".{self.path.name}.lock")

    def lock(self, wait_s: float = LOCK_WAIT_S) -> bool:
        """Keep the run for this process until `close`, or until the process ends; False where the run is kept already.

        Where the folder cannot be written there is no lock, and this returns True.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.acquire(timeout=wait_s)
        except Timeout:
            return False
        except (OSError, NotImplementedError):  # a home that is read-only, or a file system without locks
            pass
        return True

    def is_locked(self) -> bool:
        """Whether the run lives: in another process of this machine, or in this one."""
        try:
            if not self.lock_path.exists():
                return False
        except OSError:  # a home that cannot be read has no lock either
            return False
        free = not self._lock.is_locked and self.lock(wait_s=0)
        if free:
            self._lock.release()
        return not free

    def append(self, line: str) -> bool:
        """Append a line of JSON; False where the folder or the disk does not take it, nor any line after it.

        It is in the file when this returns True, though a loss of power can still take it.
        """
        if not self._writable:
            return False
        text = line.encode("ascii") + b"\n"
        try:
            if self._descriptor is None:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
                # After a line that the end of a process cut off, ours is a line of its own.
                if os.lseek(self._descriptor, 0, os.SEEK_END):
                    os.lseek(self._descriptor, -1, os.SEEK_END)
                    text = text if os.read(self._descriptor, 1) == b"\n" else b"\n" + text
            data = memoryview(text)
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:  # a home that is read-only, or a disk that is full
            self._writable = False
        return self._writable

    def read(self) -> Iterator[dict[str, Any]]:
        """Read what was written, in order, without the lines that the end of a process cut off."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return
        for line in lines[:-1]:
            with suppress(UnreadableRecord):
                yield parse_stored_json(line)

    def forget(self) -> bool:
        """Remove the file, with the lock that a killed process left, and tell whether there was one."""
        there = self.path.is_file()
        if there:
            self.lock(wait_s=0)
        self.close(remove=True)
        return there

    def close(self, *, remove: bool) -> None:
        """Close the file, and remove it once everything in it is stored; others may have the run from here on."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if remove:
            with suppress(OSError):  # where it could not be written, it cannot be looked for either
                self.path.unlink(missing_ok=True)
        if self._lock.is_locked:
            if os.name == "posix":  # elsewhere a file that is open cannot be deleted
                with suppress(OSError):
                    self.lock_path.unlink(missing_ok=True)
            self._lock.release(force=True)
