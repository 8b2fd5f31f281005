"""Room for deep calls: a program may nest its calls deeper than Python lets Python code nest."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

MAX_FRAMES = 100_000
"""Python frames that the deepest calls of a program take: a thousand calls, each out of some blocks."""

# Python's recursion limit is one for all threads: the first run raises it, the last one puts it back.
_lock = Lock()
_former_limits: list[int] = []


@contextmanager
def deep_calls() -> Iterator[None]:
    """Let Python code of the block nest its calls as deep as a program may."""
    with _lock:
        _former_limits.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(_former_limits[0], MAX_FRAMES))
    try:
        yield
    finally:
        with _lock:
            if len(_former_limits) == 1:
                sys.setrecursionlimit(_former_limits[0])
            _former_limits.pop()
