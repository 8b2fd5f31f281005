"""Writes behind a run's back: a thread that does one piece of work after the other, while the run goes on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

from memorygraph.messages.recorder import RecordWarning

Work = Callable[[], object]


class Writer:
    """Does what it is given, in order. What fails never breaks the run: `close` warns of the first of it.

    >>> done = []
    >>> writer = Writer("the run 1")
    >>> writer.put(lambda: done.append("written"))
    >>> writer.close()
    >>> done
    ['written']
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._problem: Exception | None = None
        self._thread = Thread(target=self._write, name="memorygraph-writer", daemon=True)
        self._thread.start()

    def put(self, work: Work) -> None:
        """Have something done."""
        self._work.put(work)

    @property
    def failed(self) -> bool:
        """Whether something could not be written."""
        return self._problem is not None

    def close(self) -> None:
        """Wait until everything is done."""
        self._work.put(None)
        self._thread.join()
        if self._problem is not None:
            message = f"{self._what} could not be stored whole ({self._problem})"
            warnings.warn(message, RecordWarning, stacklevel=3)

    def _write(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on, and its end says it
                self._problem = self._problem or error
