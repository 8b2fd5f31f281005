"""What keeping a conversation costs: ratios to raw writes and reads of the same driver in the same run.

With the packages langgraph-checkpoint-sqlite and langgraph-checkpoint-postgres installed, it also keeps the same
conversation with their checkpointers, as a graph that appends one message a step does; for the second, POSTGRES_URI
names a database. Their work grows with the square of the length: 10,000 checkpoints take many minutes and
gigabytes.

    python tests/bench/messages.py [PART …] [--length N] [--branches N] [--checkpoints N …]
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

import pytest

from memorygraph import EmbeddedServer, MemoryGraph
from memorygraph.messages import indexing
from memorygraph.messages.calls import CHAT, RecordedCall
from memorygraph.messages.recorder import Recorder
from memorygraph.query import Query

RAW_WRITE = "CREATE (m:BenchMessage {namespace: $namespace, id: $id, body: $body, role: 'user'})"
RAW_READ = """
MATCH (tip:Message {namespace: $namespace, id: $id})
MATCH path = (tip)<-[:NEXT*0..]-(first:Message)
WHERE NOT EXISTS { (first)<-[:NEXT]-(:Message) }
RETURN [message IN nodes(path) | message.body] AS messages
"""
SENTENCE = "One thing follows from another, as it does in each of the long answers that people get. "
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
            base = raw_write(graph)
            ratios.append(seconds(partial(history.append, message(i))) / base)
        print(f"append at {start} messages / one raw write = {statistics.median(ratios):.2f}")


def passages(graph: MemoryGraph, pairs: int = 200) -> None:
    """What passages add to an append and to the store, for a short message and for long ones.

    The two ways take turns, and each pair is one ratio: as it is, and with the text of the whole message in the index.
    """
    for characters in (100, 1000, 4000, 16_000):
        text = (SENTENCE * (characters // len(SENTENCE) + 1))[:characters]
        histories = [graph.messages(f"passages-{way}-{uuid.uuid4().hex}") for way in ("divided", "whole")]
        times: list[list[float]] = [[], []]
        for i in range(pairs + 10):
            for way in (i % 2, 1 - i % 2):
                with pytest.MonkeyPatch.context() as patch:
                    if way:
                        patch.setattr(indexing, "find_passages", lambda _text: [])
                    # Two conversations that begin alike share their messages: the second way would store nothing.
                    said = {"role": "user", "content": f"{text} {i} {way}"}
                    times[way].append(seconds(partial(histories[way].append, said)))
        ratio = statistics.median(ours / whole for ours, whole in zip(times[0][10:], times[1][10:], strict=True))
        parts = graph.query(
            "MATCH (:Message {namespace: $namespace, id: $id})-[:PASSAGE]->(passage) RETURN count(passage) AS n",
            {"id": histories[0].version.tip},
        )
        print(
            f"append of {characters} characters in {parts[0]['n']} passages / in one text = {ratio:.2f} "
            f"({statistics.median(times[0][10:]) * 1e3:.1f} ms)"
        )


def raw_write(graph: MemoryGraph) -> float:
    """The time of one raw write of the driver."""
    raw = Query(RAW_WRITE, {"namespace": graph.namespace, "id": uuid.uuid4().hex, "body": BYTES})
    return seconds(lambda: graph.connection.write(lambda transaction: transaction.run(raw)))


def records(graph: MemoryGraph, pairs: int = 100) -> None:
    """The time of recording a call, as a ratio to one raw write: new conversations, and two that go on."""
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(graph.scope, "warm", Path(folder))
        recorder.record(call(graph, "warm", [message(0)], 0))
        for start in (0, 10, 1000):
            name, prompt = f"record-{start}-{uuid.uuid4().hex}", [message(i) for i in range(start)]
            graph.messages(name).extend(prompt)
            times, ratios = [], []
            for i in range(pairs):
                prompt = [*prompt, message(2 * i)] if start else [message(2 * i)]
                recorded = call(graph, name if start else f"{name}-{i}", prompt, i)
                base = raw_write(graph)
                times.append(seconds(partial(recorder.record, recorded)))
                ratios.append(times[-1] / base)
                prompt = [*prompt, answer(i)]
            milliseconds, ratio = statistics.median(times) * 1e3, statistics.median(ratios)
            print(f"a recorded call behind {start} messages / one raw write = {ratio:.2f} ({milliseconds:.1f} ms)")


def answer(i: int) -> dict[str, Any]:
    """What a model said."""
    return {"role": "assistant", "content": f"{BYTES}{i}"}


def call(graph: MemoryGraph, conversation: str, prompt: list[dict[str, Any]], i: int) -> RecordedCall:
    """A call as a recorded client hands it on."""
    choice = {"index": 0, "finish_reason": "stop", "message": answer(i)}
    return RecordedCall(
        id=uuid.uuid4().hex,
        namespace=graph.namespace,
        conversation=conversation,
        api=CHAT,
        request={"model": "m", "messages": prompt},
        response={"id": f"c{i}", "model": "m", "choices": [choice]},
        complete=True,
        latency_s=0.1,
        at="2026-01-01T00:00:00+00:00",
    )


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
            found["sqlite"] = (sqlite, lambda: bytes_of(Path(folder)))
            uri = os.environ.get("POSTGRES_URI")
            if not uri:
                print("POSTGRES_URI is not set: the Postgres checkpointer is not compared")
                yield found
                return
            from langgraph.checkpoint.postgres import PostgresSaver  # type: ignore[import-not-found, unused-ignore]

            with PostgresSaver.from_conn_string(uri) as postgres:
                postgres.setup()

                def size() -> int:
                    connection: Any = postgres.conn  # of one string it is a connection, and no pool
                    with connection.cursor() as cursor:
                        cursor.execute("SELECT pg_database_size(current_database()) AS size")
                        return int(cursor.fetchone()["size"])

                found["postgres"] = (postgres, size)
                yield found


def compared(graph: MemoryGraph, counts: list[int]) -> None:
    """The same conversations, one message a step, kept by memorygraph and by LangGraph's checkpointers."""
    for count in counts:
        compare(graph, count)


def compare(graph: MemoryGraph, count: int) -> None:
    """A conversation of so many messages."""
    ours = append_all(graph, count)
    text = sum(len(message(i)["content"]) for i in range(count)) / 2**20
    print(f"{count} messages of together {text:.1f} MiB, one at a time:")
    print(f"  memorygraph: {told(ours)}; {space(count)}")
    with checkpointers() as found:
        for name, (saver, size) in found.items():
            before = size()
            theirs = checkpoint_all(saver, count)
            total, last = sum(theirs) / sum(ours), at_the_end(theirs) / at_the_end(ours)
            print(f"  langgraph {name}: {told(theirs)}; {mebibytes(size() - before)} more")
            print(f"    = {total:.1f} times ours, and {last:.1f} times at the end")


def told(times: list[float]) -> str:
    """What the steps of a conversation took."""
    return f"{sum(times):.1f} s, a step {at_the_end(times) * 1e3:.1f} ms at the end"


def at_the_end(times: list[float]) -> float:
    """How long a step takes at last."""
    return statistics.median(times[-100:])


def space(count: int) -> str:
    """What so many appends add to the files of the database.

    This is measured with an embedded server of its own, which has no free space from what was deleted; it
    writes everything to its files when it is stopped.
    """
    if "NEO4J_URI" in os.environ:
        return "space not measured, because NEO4J_URI is not the embedded server"
    with tempfile.TemporaryDirectory() as folder:
        server, sizes = EmbeddedServer(Path(folder), EmbeddedServer().artifacts), []
        try:
            for work in (1, count):
                with MemoryGraph.connect(namespace="bench", server=server) as fresh:
                    append_all(fresh, work)
                server.down()
                sizes.append(bytes_of(Path(folder, "data", "databases", "neo4j")))
        finally:
            server.down()
    return f"{mebibytes(sizes[1] - sizes[0])} more in the store files of a fresh server, its log not counted"


def append_all(graph: MemoryGraph, count: int) -> list[float]:
    """Append so many messages to a new conversation, and tell how long each takes."""
    history = graph.messages(f"compared-{uuid.uuid4().hex}")
    return [seconds(partial(history.append, message(i))) for i in range(count)]


def bytes_of(folder: Path) -> int:
    """The size of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def mebibytes(size: int) -> str:
    """A size to be read."""
    return f"{size / 2**20:.1f} MiB"


def checkpoint_all(saver: Any, count: int) -> list[float]:
    """Append messages to a channel, and checkpoint after each, as LangGraph does; tells how long each takes."""
    from langgraph.checkpoint.base import empty_checkpoint  # type: ignore[import-not-found, unused-ignore]

    config = {"configurable": {"thread_id": uuid.uuid4().hex, "checkpoint_ns": ""}}
    messages: list[dict[str, Any]] = []
    times = []
    for i in range(count):
        started = time.perf_counter()
        messages = [*messages, message(i)]
        state = empty_checkpoint()
        state["channel_values"] = {"messages": messages}
        state["channel_versions"] = {"messages": f"{i + 1:032}"}
        config = saver.put(config, state, {"source": "loop", "step": i}, state["channel_versions"])
        times.append(time.perf_counter() - started)
    return times


PARTS = ("appends", "passages", "records", "reads", "branches", "compared")


def main() -> None:
    """Run all of it, or some parts, in a namespace of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"all by default: {', '.join(PARTS)}")
    parser.add_argument("--length", type=int, default=10_000, help="messages of the long conversation")
    parser.add_argument("--branches", type=int, default=1000, help="branches of a conversation of 1,000 messages")
    parser.add_argument("--checkpoints", type=int, nargs="+", default=[1000], help="messages of the comparisons")
    options = parser.parse_args()
    parts: dict[str, Callable[[MemoryGraph], Any]] = {
        "appends": partial(appends, length=options.length),
        "passages": passages,
        "records": records,
        "reads": partial(reads, length=options.length),
        "branches": partial(branches, length=1000, count=options.branches),
        "compared": partial(compared, counts=options.checkpoints),
    }
    with MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex}") as graph:
        graph.load("")
        try:
            for part in options.parts or PARTS:
                parts[part](graph)
        finally:
            graph.query("MATCH (m:BenchMessage {namespace: $namespace}) DELETE m", write=True)
            graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    main()
