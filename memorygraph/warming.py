"""Has a server plan what is asked first, behind its start: `python -m memorygraph.warming HOME`.

Java has just begun, and plans a query for seconds that it plans in milliseconds later: the first load waited for some
two of them, the first recall for three. `server/launch.py` starts this where a start had its cache. It begins when the
server has had nothing to do for a moment, looks again before each step, and leaves nothing in the database. Where the
server is stopped meanwhile, it ends too, and starts none. A memory server whose client may wait for five seconds only
has what that asks first planned at once: `plan_calls`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any

import psutil

from memorygraph.client import MemoryGraph
from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.connection import Connection
from memorygraph.memory.recall import Recaller
from memorygraph.memory.values import Observations
from memorygraph.server import process as server_process
from memorygraph.server.aot_cache import is_switched_on
from memorygraph.server.compacting import connect_running
from memorygraph.server.embedded import EmbeddedServer
from memorygraph.server.launch import WARMING

NAMESPACE = "memorygraph warming"
MAX_IDLE_PERCENT = 30.0  # of one processor
SAMPLE_S = 0.5
IDLE_SAMPLES = 3  # before the first step: between two commands of a script there are fewer
MAX_WAIT_S = 60.0

_PROGRAM = """
Node(node_id="a", name="a", data="b");
Edge(edge_id="e", from_node="a", to_node="a", verb="v", weight=1);
"""

Step = Callable[[MemoryGraph], Any]


def observe_nobody(graph: MemoryGraph) -> None:
    """Write what is given up, as there is no such entity: its query is that of every small write of entities."""
    graph.entities.observe([Observations(entity_name="anybody", contents=["anything"])])


def search_entities(graph: MemoryGraph) -> None:
    """Search entities as a model does."""
    graph.entities.search("anything")


def recall_anything(graph: MemoryGraph, **filters: str) -> None:
    """Recall by words alone, without the embedding model: the query is the same with a vector."""
    recall = Recaller(graph.scope)
    recall.embedder = None
    recall("anything", budget=None, at=None, **filters)


STEPS: tuple[Step, ...] = (
    lambda graph: graph.load(_PROGRAM, dry_run=True),
    recall_anything,
    lambda graph: graph.neighbours("a"),
    lambda graph: graph.search("anything"),
    search_entities,
    observe_nobody,
    lambda graph: recall_anything(graph, role="user"),
)
"""What people do first, in this order; none of it stores anything."""

CALLS: tuple[Step, ...] = (recall_anything, observe_nobody, search_entities)
"""What clients of a memory server call first."""


def warm(home: Path) -> int:
    """Take the steps on the running server of a home, and return how many were taken.

    Example::

        warm(Path("~/.local/share/memorygraph").expanduser())
    """
    process = server_process.find_server(home)
    if process is None:
        return 0
    taken = 0
    server = EmbeddedServer(home)
    with connect_running(server, server.find()) as connection:
        graph = MemoryGraph(connection, NAMESPACE)
        for step in STEPS:
            if not await_idle(process, 1 if taken else IDLE_SAMPLES):
                break
            take(step, graph)
            taken += 1
    return taken


def take(step: Step, graph: MemoryGraph) -> None:
    """Take a step in a namespace that has nothing in it."""
    with suppress(NotFoundError):
        step(graph)


def plan_calls(connection: Connection) -> None:
    """Have a server plan what clients of a memory server call first, on two processors."""
    if not is_switched_on(WARMING):
        return
    graph = MemoryGraph(connection, NAMESPACE)
    with ThreadPoolExecutor(2) as threads, suppress(MemoryGraphError):  # the client's call says what is wrong
        for _ in threads.map(take, CALLS, repeat(graph)):
            pass


def await_idle(process: psutil.Process, samples: int) -> bool:
    """Wait until a process has had nothing to do for so many samples; False where it has ended, or is busy for long."""
    until = time.monotonic() + MAX_WAIT_S
    quiet = 0
    while quiet < samples and time.monotonic() < until:
        try:
            quiet = quiet + 1 if process.cpu_percent(SAMPLE_S) < MAX_IDLE_PERCENT else 0
        except psutil.Error:
            return False
    return quiet >= samples


if __name__ == "__main__":
    with suppress(MemoryGraphError):  # the server was stopped
        warm(Path(sys.argv[1]))
