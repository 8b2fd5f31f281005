"""Turns of the workers: most tests run side by side, and some while no other test runs.

Two locked files make it fair: who waits for all others to end their tests holds the door, so that none begins another.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl


class Turns:
    """The turns of one run, kept in its folder. On Windows, where these locks are not, tests do not wait."""

    def __init__(self, folder: Path) -> None:
        self._door = folder / "door"
        self._room = folder / "room"

    @contextmanager
    def take(self, *, alone: bool) -> Iterator[None]:
        """Wait until this test may run, and let no other begin meanwhile where it runs alone."""
        if sys.platform == "win32":
            yield
            return
        with self._room.open("w") as room:
            with self._door.open("w") as door:
                fcntl.flock(door, fcntl.LOCK_EX)
                fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            yield
