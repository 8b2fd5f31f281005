"""The journal of a run: its steps as a file of this machine, until all of them are in Neo4j.

A step is in the file before the run does anything else, and the database is written meanwhile: so a run that was
killed knows all that it had done, and no step waits for the database. (It survives the end of the process, not a
loss of power in the same moment: for that a step would have to wait for the disk.)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memorygraph.home import default_home


class Journal:
    """The steps of one run, each as far as it had come when it was last written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal("r1", Path(folder))
    ...     journal.append('{"index": 0, "output": null}')
    ...     journal.append('{"index": 0, "output": "done"}')
    ...     [state["output"] for state in journal.read()]
    [None, 'done']
    """

    def __init__(self, run: str, folder: Path | None = None) -> None:
        self.path = (folder or default_home() / "runs") / f"{run}.jsonl"
        self._descriptor: int | None = None

    def append(self, line: str) -> None:
        """Write a line of JSON, whole, behind the others.

        Raises:
            OSError: the folder cannot be written.
        """
        if self._descriptor is None:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        data = memoryview(line.encode("ascii") + b"\n")
        while data:
            data = data[os.write(self._descriptor, data) :]

    def read(self) -> Iterator[dict[str, Any]]:
        """What was written, in order; a line that was cut off by the end of the process is left out."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        for line in lines[:-1]:
            yield json.loads(line)

    def close(self, *, remove: bool) -> None:
        """End writing; the file goes when everything in it is stored."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if remove:
            self.path.unlink(missing_ok=True)
