"""Python's search for cycles, which many new objects at once set off again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Make many objects that hold no cycles without a search for any, which would take as long as making them."""
    # Of threads that do so at once, the first to end allows it again: it is never off for longer than one of them.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
