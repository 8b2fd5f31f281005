"""Room for deep calls: a program may nest its calls deeper than Python lets Python code nest."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

FRAMES = 100_000
"""Python frames that the deepest calls of a program take: a thousand calls, each out of some blocks."""


class _Limit:
    """Python's recursion limit, which all threads share: raised while any run needs it, then as it was."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._before = 0

    def enter(self) -> None:
        with self._lock:
            if self._users == 0:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._before, FRAMES))
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                sys.setrecursionlimit(self._before)


_LIMIT = _Limit()


@contextmanager
def deep_calls() -> Iterator[None]:
    """Python code of the block may nest its calls as deep as a program may."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()
