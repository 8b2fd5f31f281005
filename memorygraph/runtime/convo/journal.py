"""The journal of a run: its steps in a file of this machine, until the database has them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from memorygraph.home import own_folder
from memorygraph.json_text import UnreadableRecord, parse_stored_json

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
        """Remove the file, and tell whether there was one."""
        there = self.path.is_file()
        self.close(remove=True)
        return there

    def close(self, *, remove: bool) -> None:
        """Close the file, and remove it once everything in it is stored."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if remove:
            with suppress(OSError):  # where it could not be written, it cannot be looked for either
                self.path.unlink(missing_ok=True)
