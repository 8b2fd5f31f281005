"""A command that the user stops with Ctrl-C: it says what was done by then, and how to go on."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memorygraph.ending import ENDED_BY_SIGNAL, Terminated
from memorygraph.errors import MemoryGraphError, find_interrupt
from memorygraph.scripts import storable_path

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph

AGAIN = "run the same command again"
STOPPED_AT_QUESTION = f"stopped at a question: nothing was done, and nothing has changed; {AGAIN} to be asked again"
NOTHING_DONE = f"nothing was done, and nothing has changed; {AGAIN}"
MAX_NEWER_LOADS = 100  # those of other writers, while a command stored something
NOTHING_PRINTED = f"nothing was printed, and nothing has changed; {AGAIN}"
STORED_STAYS = "what was stored by then stays"  # of a change that was under way nobody knows whether it was committed


class Interrupted(MemoryGraphError):  # noqa: N818 - the name says it
    """The user has stopped a command; the message says what it had done."""

    exit_code = ENDED_BY_SIGNAL + signal.SIGINT


@contextmanager
def explaining_stop(explain: Callable[[KeyboardInterrupt], str]) -> Iterator[None]:
    """Have Ctrl-C, or a SIGTERM that interrupts, end the command with an explanation of what was done in the block."""
    try:
        yield
    except Interrupted:
        raise
    except (Exception, KeyboardInterrupt) as error:
        stop = find_interrupt(error)
        if stop is None:
            raise
        interrupted = Interrupted(f"stopped: {explain(stop)}")
        interrupted.run = getattr(stop, "run", None)
        if isinstance(stop, Terminated):
            interrupted.exit_code = ENDED_BY_SIGNAL + signal.SIGTERM
        raise interrupted from stop


def newest_revision(graph: MemoryGraph) -> int:
    """The revision of the namespace's last load; 0 before the first."""
    return max((newest.revision for newest in graph.revisions(1)), default=0)


def is_stored(graph: MemoryGraph, file: str, before: int | None) -> bool:
    """Tell whether a whole file was stored after a revision: of a write that was stopped only its record says so.

    Where `before` is None, the write had not begun.
    """
    recorded = storable_path(file)
    return before is not None and any(
        newer.revision > before and newer.file == recorded for newer in graph.revisions(MAX_NEWER_LOADS)
    )
