"""Recording in the background: the spools of the namespaces, and the one thread that writes them to Neo4j."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from memorygraph.errors import MemoryGraphError
from memorygraph.messages.recorder import Recorder
from memorygraph.messages.spool import Spool
from memorygraph.sentences import count_of

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph
    from memorygraph.messages.calls import RecordedCall

RETRY_S = 5.0
LAST_ATTEMPT_S = 10.0

OpenGraph = Callable[[], "AbstractContextManager[MemoryGraph]"]


class BackgroundRecording:
    """Keeps calls on the disk at once, and writes them to the graph as soon as that can be.

    `open_graph` connects to Neo4j, again where that was lost. What waits at the end is written by the next one, or by
    the next recorded call of any client of this machine. `say` is told what people should know.
    """

    def __init__(
        self,
        open_graph: OpenGraph,
        namespaces: Iterable[str],
        say: Callable[[str], None],
        *,
        folder: Path | None = None,
        retry: float = RETRY_S,
    ) -> None:
        self._open_graph = open_graph
        self._folder = folder
        self._spools = {name: Spool(name, folder) for name in namespaces}
        self._say = say
        self._retry = retry
        self._connected = ExitStack()
        self._recorders: Sequence[Recorder] = ()
        self._own: set[Path] = set()  # the calls that this process has kept, and that wait
        self._database: str | None = None  # so that what waits for it is not written into another one
        self._failing = False
        self._kept_for_others = 0
        self._closing = False
        self._wake = Event()
        self._wake.set()  # what an earlier one has left is written first
        self._thread = Thread(target=self._work, name="memorygraph-proxy-recording", daemon=True)
        self._thread.start()

    def keep(self, call: RecordedCall) -> None:
        """Keep a call on the disk: once this returns, it survives the end of the process.

        Raises:
            OSError: the disk cannot take it.
        """
        self._own.add(self._spools[call.namespace].add(replace(call, database=self._database).as_dict()))
        self._wake.set()

    @property
    def waiting(self) -> int:
        """The number of calls that are on the disk only."""
        return sum(len(spool.waiting()) for spool in self._spools.values())

    def close(self, seconds: float = LAST_ATTEMPT_S) -> None:
        """Write what waits, for `seconds` at most, and end."""
        self._closing = True
        self._wake.set()
        self._thread.join(seconds)

    def _work(self) -> None:
        while not self._closing:
            self._wake.wait(self._retry if self._failing else None)
            self._wake.clear()
            self._write()
        if not self._failing:
            self._write()  # what was kept while the last was written
        self._connected.close()

    def _write(self) -> None:
        """Write all that waits; a failure is said once, until it is over."""
        try:
            if not self.waiting:
                return
            if not self._recorders:
                self._connect()
            self._database = self._recorders[0].namespace.connection.find_database()
            for recorder in self._recorders:
                recorder.flush()
        except Exception as error:  # noqa: BLE001 - the thread goes on, whatever the database or the disk does
            self._recorders = ()
            with suppress(MemoryGraphError, OSError):
                self._connected.close()
            if not self._failing:
                self._say(f"recording waits, and calls are forwarded and kept in {self._places}: {error}")
            self._failing = True
        else:
            self._say_written(sum(recorder.kept_for_others for recorder in self._recorders))
            self._failing = False

    @property
    def _places(self) -> str:
        return ", ".join(str(spool.folder) for spool in self._spools.values())

    def _say_written(self, kept_for_others: int) -> None:
        """Say that a failure is over, and once that calls stay where they are."""
        left = (
            f"{count_of(kept_for_others, 'call')} of another database, kept for that one in {self._places} (a backup "
            "made after something was forgotten is restored as another)"
        )
        if self._failing:
            self._say("recording goes on: what waited is written" + f", but for {left}" * bool(kept_for_others))
        elif kept_for_others > self._kept_for_others:
            self._say(f"not written: {left}")
        self._kept_for_others = kept_for_others

    def _connect(self) -> None:
        graph = self._connected.enter_context(self._open_graph())
        scopes = [replace(graph.scope, name=name) for name in self._spools]
        self._recorders = [Recorder(scope, "", self._folder, self._own) for scope in scopes]
