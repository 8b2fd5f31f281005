"""What a piece of work takes."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path


def peak_memory(work: Callable[[], object]) -> int:
    """How many bytes a piece of work had allocated at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def most_memory() -> float:
    """How many mebibytes this process has held at most, as Linux counts it."""
    # Not `ru_maxrss`, which begins with what the process had that started this one.
    found = re.search(r"VmHWM:\s+([0-9]+)", Path("/proc/self/status").read_text("utf-8"))
    assert found
    return int(found[1]) / 1024
