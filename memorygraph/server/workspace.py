"""The folder of a home in which its database is worked on while the server is stopped.

A restore builds the new data there, and moves the former data there while the new one is tried. Whoever does this
holds the lock of the home, and may be killed at any moment: the next start of the server calls `recover` before it
begins and `clear` when it answers, so that there is always a graph in the home, and the former data is let go only
when Neo4j has come up with what took its place.
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
    """A server that nobody else can start, and what works on its files; `start` and `stop` may be called meanwhile."""

    ran: bool
    java: Path
    class_path: list[Path]
    start: Callable[[], None]
    stop: Callable[[], bool]


@contextmanager
def started_at_the_end(stopped: StoppedServer) -> Iterator[None]:
    """Start a server that ran before, when the block ends, however it ends."""
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
    """The folder of one home, whether it is there or not. Only who holds the lock of the home may change it."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "maintenance"
        self.new_data = self.folder / "data"
        self.former_data = self.folder / "former"
        self._refuse = home / "maintenance.done"
        self._home = home
        self._data = home / "data"

    @contextmanager
    def used(self) -> Iterator[None]:
        """Have it empty, and gone at the end. Only former data that nothing has replaced is never let go."""
        self.begin()
        try:
            yield
        finally:
            if not self.former_data.exists():
                self.clear()

    def begin(self) -> None:
        """Have it empty, whatever an earlier use of it has left."""
        self.recover()
        self.clear()
        self.folder.mkdir(mode=0o700)

    def recover(self) -> None:
        """Mend what a use that was killed has left: no tool works on, and the home has its data."""
        if not self.folder.exists():
            return
        admin_tool.end_all(self._home)
        if self.former_data.exists() and not self._data.exists():
            self.former_data.rename(self._data)

    def clear(self) -> None:
        """Let go of all that is in it, of the former data too: at once, whatever happens while it is removed."""
        shutil.rmtree(self._refuse, ignore_errors=True)
        if not self.folder.exists():
            return
        if self.former_data.exists() and hasattr(os, "sync"):
            os.sync()  # from here on the new data is the only one
        self.folder.rename(self._refuse)
        shutil.rmtree(self._refuse, ignore_errors=True)

    def swap(self) -> None:
        """Let the new data take the place of the former."""
        if self._data.exists():
            self._data.rename(self.former_data)
        self.new_data.rename(self._data)

    def swap_back(self) -> None:
        """Let the former data, if there was some, have its place again."""
        self._data.rename(self.new_data)
        if self.former_data.exists():
            self.former_data.rename(self._data)
