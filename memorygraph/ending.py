"""The end of the process on SIGTERM: what runs is cancelled, and what does not end by itself ends with the process."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from memorygraph.limits import PROCESS

GRACE_S = 4.0
POLL_S = 0.05
ENDED_BY_SIGNAL = 128  # plus its number: the exit code of a process that a signal has ended


def begin_end(number: int, is_busy: Callable[[], bool] = lambda: True) -> None:
    """Cancel what runs, and end the process as soon as it is not busy, or in GRACE_S seconds."""
    PROCESS.cancel("the process was told to end")

    def end() -> None:
        deadline = time.monotonic() + GRACE_S
        while is_busy() and time.monotonic() < deadline:
            time.sleep(POLL_S)
        os._exit(ENDED_BY_SIGNAL + number)

    threading.Thread(target=end, name="memorygraph-end", daemon=True).start()


@contextmanager
def ending_on_sigterm(is_busy: Callable[[], bool] = lambda: True) -> Iterator[None]:
    """Have SIGTERM begin the end of the process during the block, if this is the main thread, which gets signals."""

    def handle(number: int, _frame: FrameType | None) -> None:
        begin_end(number, is_busy)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
