"""The end of the process on SIGTERM: what runs is cancelled, and what does not end by itself ends with the process.

Where something has to be put right first, however long that takes, SIGTERM interrupts as Ctrl-C does.
"""

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


class Terminated(KeyboardInterrupt):
    """SIGTERM interrupts what the process does."""


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
    with handling_sigterm(lambda number, _: begin_end(number, is_busy)):
        yield


@contextmanager
def interrupting_on_sigterm() -> Iterator[None]:
    """Have the first SIGTERM raise a `Terminated` in the block, if this is the main thread, which gets signals."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, lambda *_: None)  # `timeout` sends another one, which would cut off the clearing up
        raise Terminated

    with handling_sigterm(interrupt):
        yield


@contextmanager
def handling_sigterm(handle: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Handle SIGTERM in the block, if this is the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
