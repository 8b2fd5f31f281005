"""What keeping a conversation costs: ratios to raw writes and reads of the same driver in the same run.

With the packages langgraph-checkpoint-sqlite and langgraph-checkpoint-postgres installed, it also keeps the same
conversation with their checkpointers, as a graph that appends one message a step does; for the second, POSTGRES_URI
names a database.

    python tests/bench/messages.py [--length N] [--branches N] [--checkpoints N]
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
from functools import partial
from pathlib import Path
from typing import Any

from memorygraph import MemoryGraph
from memorygraph.query import Query

RAW_WRITE = "CREATE (m:BenchMessage {namespace: $namespace, id: $id, body: $body, role: 'user'})"
RAW_READ = """
MATCH (tip:Message {namespace: $namespace, id: $id})
MATCH path = (tip)<-[:NEXT*0..]-(first:Message)
WHERE NOT EXISTS { (first)<-[:NEXT]-(:Message) }
RETURN [message IN nodes(path) | message.body] AS messages
"""
BYTES = "a message of about one hundred characters, which is what people and models write to each other, number "


def message(i: int) -> dict[str, Any]:
    """The i-th message of the conversation."""
    return {"role": "assistant" if i % 2 else "user", "content": f"{BYTES}{i}"}


def seconds(work: Callable[[], Any]) -> float:
    """How long a piece of work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def appends(graph: MemoryGraph, length: int, pairs: int = 200) -> None:
    """The time of appending to conversations of three lengths, as a ratio to one raw write."""
    for start in sorted({1, length // 10, length}):
        history = graph.messages(f"append-{start}-{uuid.uuid4().hex}")
        history.extend(message(i) for i in range(start))
        ratios = []
        for i in range(pairs):
            values = {"namespace": graph.namespace, "id": uuid.uuid4().hex, "body": BYTES}
            raw = Query(RAW_WRITE, values)
            base = seconds(lambda raw=raw: graph.connection.write(lambda tx: tx.run(raw)))  # type: ignore[misc]
            ours = seconds(partial(history.append, message(i)))
            ratios.append(ours / base)
        print(f"append at {start} messages / one raw write = {statistics.median(ratios):.2f}")


def reads(graph: MemoryGraph, length: int, pairs: int = 7) -> None:
    """The time of reading a conversation, as a ratio to the raw query that returns it as one list."""
    name = f"read-{uuid.uuid4().hex}"
    graph.messages(name).extend(message(i) for i in range(length))
    tip = graph.messages(name).version.tip
    raw = Query(RAW_READ, {"namespace": graph.namespace, "id": tip})
    ratios = []
    for _ in range(pairs):
        base = seconds(lambda: graph.connection.read(raw))
        ratios.append(seconds(lambda: len(graph.messages(name).entries())) / base)
    print(f"read {length} messages / the raw query = {statistics.median(ratios):.2f}")


def branches(graph: MemoryGraph, length: int, count: int) -> None:
    """What many branches of one conversation store, and how long one takes."""
    history = graph.messages(f"branches-{uuid.uuid4().hex}")
    history.extend(message(i) for i in range(length))
    before = stored(graph)

    def branch() -> None:
        for i in range(count):
            history.branch(at=i % length).append(message(-i - 1))

    each = seconds(branch) / count * 1e3
    print(f"{count} branches of {length} messages: {stored(graph) - before} messages more, {each:.1f} ms each")


def stored(graph: MemoryGraph) -> int:
    """The number of stored messages."""
    rows = graph.query("MATCH (m:Message {namespace: $namespace}) WHERE m.id IS NOT NULL RETURN count(m) AS n")
    return int(rows[0]["n"])


@contextmanager
def checkpointers() -> Iterator[dict[str, tuple[Any, Callable[[], int]]]]:
    """LangGraph's checkpointers that can be had here, each with a function that tells the bytes it takes."""
    found: dict[str, tuple[Any, Callable[[], int]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            from langgraph.checkpoint.sqlite import SqliteSaver  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            print("langgraph-checkpoint-sqlite is not installed: not compared")
            yield found
            return
        with SqliteSaver.from_conn_string(f"{folder}/checkpoints.sqlite") as sqlite:
            found["sqlite"] = (sqlite, lambda: sum(file.stat().st_size for file in Path(folder).iterdir()))
            uri = os.environ.get("POSTGRES_URI")
            if not uri:
                print("POSTGRES_URI is not set: the Postgres checkpointer is not compared")
                yield found
                return
            from langgraph.checkpoint.postgres import PostgresSaver  # type: ignore[import-not-found, unused-ignore]

            with PostgresSaver.from_conn_string(uri) as postgres:
                postgres.setup()

                def size() -> int:
                    with postgres.conn.cursor() as cursor:
                        cursor.execute("SELECT pg_database_size(current_database()) AS size")
                        return int(cursor.fetchone()["size"])

                found["postgres"] = (postgres, size)
                yield found


def compared(graph: MemoryGraph, count: int) -> None:
    """The same conversation, one message a step, kept by memorygraph and by LangGraph's checkpointers."""
    history = graph.messages(f"compared-{uuid.uuid4().hex}")

    def append() -> None:
        for i in range(count):
            history.append(message(i))

    ours = seconds(append)
    print(f"memorygraph: {count} appends in {ours:.1f} s")
    with checkpointers() as found:
        for name, (saver, size) in found.items():
            before = size()
            took = seconds(lambda saver=saver: checkpoint(saver, count))  # type: ignore[misc]
            grown = (size() - before) / 2**20
            print(
                f"langgraph {name}: {count} checkpoints in {took:.1f} s, {took / ours:.1f} times ours, {grown:.0f} MiB"
            )


def checkpoint(saver: Any, count: int) -> None:
    """Append messages to a channel, and checkpoint after each, as LangGraph does."""
    from langgraph.checkpoint.base import empty_checkpoint  # type: ignore[import-not-found, unused-ignore]

    config = {"configurable": {"thread_id": uuid.uuid4().hex, "checkpoint_ns": ""}}
    messages: list[dict[str, Any]] = []
    for i in range(count):
        messages = [*messages, message(i)]
        state = empty_checkpoint()
        state["channel_values"] = {"messages": messages}
        state["channel_versions"] = {"messages": f"{i + 1:032}"}
        config = saver.put(config, state, {"source": "loop", "step": i}, state["channel_versions"])


def main() -> None:
    """Run all of it in a namespace of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=10_000, help="messages of the long conversation")
    parser.add_argument("--branches", type=int, default=1000, help="branches of a conversation of 1,000 messages")
    parser.add_argument("--checkpoints", type=int, default=1000, help="messages of the comparison")
    options = parser.parse_args()
    with MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex}") as graph:
        graph.load("")
        try:
            appends(graph, options.length)
            reads(graph, options.length)
            branches(graph, 1000, options.branches)
            compared(graph, options.checkpoints)
        finally:
            graph.query("MATCH (m:BenchMessage {namespace: $namespace}) DELETE m", write=True)
            graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    main()
