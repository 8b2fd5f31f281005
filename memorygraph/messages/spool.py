"""The spool: records that wait to be written, as files on this machine.

Each record is a file with one line of JSON, written under a temporary name, synced, and then renamed. So any
number of processes add records without a lock, and a crash leaves a whole record or none. File names begin with
the time, so that their order is the order of the calls.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from memorygraph.home import default_home, flush_folder


class Spool:
    """The waiting records of one namespace; only their owner can read them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     spool = Spool("default", Path(folder))
    ...     path = spool.add({"id": 1})
    ...     spool.read(path), spool.waiting() == [path], spool.remove(path), spool.waiting()
    ({'id': 1}, True, None, [])
    """

    def __init__(self, namespace: str, folder: Path | None = None) -> None:
        # Beside the embedded server's data, whether that server is used or not.
        folder = folder or default_home() / "records"
        # A namespace may hold any character and be long, and a file name may not.
        self.folder = folder / sha256(namespace.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def refused_folder(self) -> Path:
        """The folder of records that can never be written, such as a message without a role."""
        return self.folder / "refused"

    def add(self, record: Mapping[str, Any]) -> Path:
        """Keep a record; once this returns, it survives a crash of the machine.

        Raises:
            OSError: the folder cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = f"{time.time_ns():020}-{uuid.uuid4().hex}"
        draft, path = self.folder / f"{name}.part", self.folder / f"{name}.jsonl"
        # ASCII only: a model can say half of a surrogate pair, which UTF-8 cannot.
        line = json.dumps(record, default=str).encode("ascii") + b"\n"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(line)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
        flush_folder(self.folder)
        return path

    def waiting(self) -> list[Path]:
        """The files of the records that wait, oldest first."""
        try:
            return sorted(path for path in self.folder.iterdir() if path.suffix == ".jsonl")
        except FileNotFoundError:
            return []

    @staticmethod
    def read(path: Path) -> dict[str, Any] | None:
        """The record in a file, or None where another process has written and removed it.

        Raises:
            ValueError: the file does not hold a record.
        """
        try:
            return dict(json.loads(path.read_bytes()))
        except FileNotFoundError:
            return None
        except TypeError as error:
            raise ValueError(f"{path} does not hold a record") from error

    @staticmethod
    def remove(path: Path) -> None:
        """Delete a record that was written."""
        path.unlink(missing_ok=True)

    def refuse(self, path: Path) -> None:
        """Set a record aside that can never be written: it is kept, and not tried again."""
        self.refused_folder.mkdir(exist_ok=True, mode=0o700)
        try:
            path.replace(self.refused_folder / path.name)
        except FileNotFoundError:
            return
