"""What a piece of work takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable


def peak_memory(work: Callable[[], object]) -> int:
    """How many bytes a piece of work had allocated at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
