"""The folder of a home for work on its database while the server is stopped.

A restore builds the new data there, and keeps the former data there until Neo4j runs with the new. Its process holds
the lock of the home, and may be killed at any moment: the next start of the server calls `recover` before it begins,
and `clear` when the server answers. So there is always a graph in the home.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memorygraph.errors import ConnectionError
from memorygraph.server import admin_tool

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class StoppedServer:
    """A server that no other process can start. The holder may `start` and `stop` it."""

    ran: bool
    java: Path
    class_path: list[Path]
    start: Callable[[], None]
    stop: Callable[[], bool]


@contextmanager
def started_at_the_end(stopped: StoppedServer) -> Iterator[None]:
    """Start a server that ran before, however the block ends."""
    try:
        yield
    except BaseException as error:
        try:
            if stopped.ran:
                stopped.start()
        except ConnectionError as another:
            raise ConnectionError(f"{error} And then Neo4j could not be started again: {another}") from error
        raise
    if stopped.ran:
        stopped.start()


class Workspace:
    """The folder of one home, whether it exists or not. Changing it takes the lock of the home."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "maintenance"
        self.new_data = self.folder / "data"
        self.former_data = self.folder / "former"
        self._refuse = home / "maintenance.done"
        self._home = home
        self._data = home / "data"

    @contextmanager
    def used(self) -> Iterator[None]:
        """Begin with an empty folder, and remove it at the end, unless it holds former data that nothing replaced."""
        self.begin()
        try:
            yield
        finally:
            if not self.former_data.exists():
                self.clear()

    def begin(self) -> None:
        """Make an empty folder, whatever an earlier use has left."""
        self.recover()
        self.clear()
        self.folder.mkdir(mode=0o700)

    def recover(self) -> None:
        """Repair what a killed use has left: end its tools, and give the home its data back."""
        if not self.folder.exists():
            return
        admin_tool.end_all(self._home)
        if self.former_data.exists() and not self._data.exists():
            self.former_data.rename(self._data)

    def clear(self) -> None:
        """Discard the folder and the former data in it, in one step: a removal that is cut short does not matter."""
        shutil.rmtree(self._refuse, ignore_errors=True)
        if not self.folder.exists():
            return
        if self.former_data.exists() and hasattr(os, "sync"):
            os.sync()  # from here on the new data is the only one
        self.folder.rename(self._refuse)
        shutil.rmtree(self._refuse, ignore_errors=True)

    def swap(self) -> None:
        """Put the new data in the place of the former."""
        if self._data.exists():
            self._data.rename(self.former_data)
        self.new_data.rename(self._data)

    def swap_back(self) -> None:
        """Put the former data, if there was any, back in its place."""
        self._data.rename(self.new_data)
        if self.former_data.exists():
            self.former_data.rename(self._data)
