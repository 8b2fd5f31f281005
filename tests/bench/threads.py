"""What a checkpoint of LangGraph costs here, in its SQLite saver, and in its Postgres saver, in one run.

A thread grows by one message a step. Each step is a `put` of the state and a `put_writes` of what came of it, as
LangGraph does both; the times are those of `put`, the bytes of both (ours with those of the steps that warm Java up).
The raw write is one node in one transaction of the same driver, and the ratio that of a put to the raw write after it.
SQLite and Postgres write each list whole, 15 GB for 10,000 steps: `--others N` limits their steps. POSTGRES_URI names
an empty database.

    python tests/bench/threads.py [--steps N …] [--others N]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from memorygraph import EmbeddedServer, MemoryGraph
from memorygraph.integrations.langgraph import MemoryGraphSaver
from tests.bench.messages import BYTES, bytes_of, mebibytes, raw_write

READS = 5
EDGE = 100  # steps at the beginning and at the end that are told
WARM_STEPS = 1500  # of another thread, after the start: until then Java compiles


def message(step: int) -> AnyMessage:
    """The message of a step."""
    return (AIMessage if step % 2 else HumanMessage)(f"{BYTES}{step}", id=str(uuid.uuid4()))


def run(saver: Any, steps: int) -> tuple[list[float], dict[int, float], RunnableConfig]:
    """Take the steps of a thread: how long each put took, how long a raw write after some, and the last state."""
    config: RunnableConfig = {"configurable": {"thread_id": str(uuid.uuid4()), "checkpoint_ns": ""}}
    raw = saver.graph if isinstance(saver, MemoryGraphSaver) else None
    messages: list[AnyMessage] = []
    times: list[float] = []
    raws: dict[int, float] = {}
    version: Any = None
    for step in range(steps):
        messages = [*messages, message(step)]
        version = saver.get_next_version(version, None)
        checkpoint = {**empty_checkpoint(), "id": str(uuid6(clock_seq=step))}
        checkpoint["channel_values"] = {"messages": messages}
        checkpoint["channel_versions"] = {"__start__": version, "messages": version, "branch:to:answer": version}
        checkpoint["versions_seen"] = {"__input__": {}, "answer": {"branch:to:answer": version}}
        started = time.perf_counter()
        config = saver.put(config, checkpoint, {"source": "loop", "step": step, "parents": {}}, {"messages": version})
        times.append(time.perf_counter() - started)
        saver.put_writes(config, [("messages", messages[-1])], str(uuid.uuid4()))
        if raw is not None and (step < EDGE or step >= steps - EDGE or step % 10 == 0):
            raws[step] = raw_write(raw)
    return times, raws, config


def tell(name: str, times: list[float], raws: dict[int, float], read: float, size: int) -> None:
    """Print what the steps of one saver took."""
    first, last = (statistics.median(part) * 1e3 for part in (times[:EDGE], times[-EDGE:]))
    whole = f"put median {statistics.median(times) * 1e3:.2f} ms, first {first:.2f}, last {last:.2f}"
    if raws:
        ratios = [times[step] / raw for step, raw in raws.items()]
        whole += f", raw write {statistics.median(raws.values()) * 1e3:.2f} ms"
        whole += f", ratio {statistics.median(ratios):.2f}, last {statistics.median(ratios[-EDGE:]):.2f}"
    each = f"{mebibytes(size)} ({size / len(times):.0f} bytes a step)"
    print(f"{name}, {len(times)} steps: {whole}; cold read {read * 1e3:.0f} ms; {each}", flush=True)


def read_cold(open_saver: Callable[[], Any], config: RunnableConfig) -> float:
    """How long a saver that knows nothing takes to read a state."""
    times = []
    for _ in range(READS):
        saver = open_saver()
        started = time.perf_counter()
        saver.get_tuple(config)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def ours(steps: int) -> None:
    """Measure on a server of its own, whose store files are weighed when it has stopped."""
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedServer(Path(folder), EmbeddedServer().artifacts)
        store = Path(folder, "data", "databases", "neo4j")
        try:
            with MemoryGraph.connect(namespace="warm", server=server) as graph:
                run(MemoryGraphSaver(graph), 300)
            server.down()
            before = bytes_of(store)
            with MemoryGraph.connect(namespace="bench", server=server) as graph:
                run(MemoryGraphSaver(MemoryGraph(graph.connection, "warm")), WARM_STEPS)
                times, raws, config = run(MemoryGraphSaver(graph), steps)
                read = read_cold(lambda: MemoryGraphSaver(graph), config)
            server.down()
            tell("memorygraph", times, raws, read, bytes_of(store) - before)
        finally:
            server.down()


@contextmanager
def others() -> Iterator[dict[str, tuple[Any, Callable[[], int]]]]:
    """The savers to compare, each with what its data takes."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    with tempfile.TemporaryDirectory() as folder, SqliteSaver.from_conn_string(f"{folder}/c.sqlite") as sqlite:
        found: dict[str, tuple[Any, Callable[[], int]]] = {"sqlite": (sqlite, lambda: bytes_of(Path(folder)))}
        if uri := os.environ.get("POSTGRES_URI"):
            from langgraph.checkpoint.postgres import PostgresSaver  # type: ignore[import-not-found, unused-ignore]

            with PostgresSaver.from_conn_string(uri) as postgres:
                postgres.setup()
                connection: Any = postgres.conn

                def size() -> int:
                    row = connection.execute("SELECT pg_database_size(current_database()) AS size").fetchone()
                    return int(row["size"])

                found["postgres"] = (postgres, size)
                yield found
        else:
            print("POSTGRES_URI is not set: the Postgres saver is not compared")
            yield found


def main() -> None:
    """Compare the savers on threads of some lengths."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--others", type=int, default=10_000, help="the most steps that the other savers take")
    given = parser.parse_args()
    for steps in given.steps:
        ours(steps)
        with others() as found:
            for name, (saver, size) in found.items():
                before = size()
                times, raws, config = run(saver, min(steps, given.others))
                tell(f"langgraph {name}", times, raws, read_cold(lambda saver=saver: saver, config), size() - before)  # type: ignore[misc]


if __name__ == "__main__":
    main()
