"""Many users of one server: what they get done, how long they wait, and whether anything is lost.

Each client asks again as soon as it is answered; four of five questions read (half of them one entity, half by words),
the fifth writes. Clients over the driver are threads of a few processes, each with a connection of its own; those over
HTTP are the SDK's, at one `memorygraph serve`. They share one namespace, so that each write waits for its lock; then
eight writers share one namespace, and have one each. All that was acknowledged is looked for at the end. The baseline
of the ratios is one client of the same kind in the same run.

    python -m tests.bench.many_clients [--clients N …] [--seconds S] [--minutes M] [--only driver|http]

NEO4J_URI names the server, NEO4J_USERNAME and NEO4J_PASSWORD who asks it. With `--minutes` 32 clients go on for so long
over each way, and the memory of both servers is told once a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import statistics
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import psutil

from memorygraph import MemoryGraph
from memorygraph.client import login
from memorygraph.memory.values import Entity
from tests.mcp_server.clients import call, over_http, serving_http

PROCESSES = 2
ENTITIES = 1000
WARM_S = 3.0
WRITERS = 8
LONG_CLIENTS = 32
READS, WRITES = "read", "write"


@dataclass
class Done:
    """What clients have got done: how long each question took, by its kind, and the names of what was written."""

    times: dict[str, list[float]] = field(default_factory=lambda: {READS: [], WRITES: []})
    written: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def add(self, other: Done) -> None:
        for kind, times in other.times.items():
            self.times[kind] += times
        self.written += other.written
        self.failed += other.failed

    @property
    def count(self) -> int:
        return sum(map(len, self.times.values()))


def questions(chance: random.Random, share: float) -> Iterator[tuple[str, str]]:
    """What a client asks: `open` and `search` read, `create` writes, which is so large a share."""
    while True:
        if chance.random() < share:
            yield "create", f"new {uuid.uuid4().hex}"
        else:
            yield chance.choice(("open", "search")), f"entity {chance.randrange(ENTITIES)}"


def fill(graph: MemoryGraph) -> None:
    """Store what is asked for."""
    graph.entities.create(
        [
            Entity(name=f"entity {n}", entity_type="thing", observations=[f"entity {n} is one of many"])
            for n in range(ENTITIES)
        ]
    )


def over_driver(clients: int, *, namespace: str, seconds: float, share: float) -> Done:
    """Clients in threads of this process, each with a connection of its own."""
    whole, lock = Done(), threading.Lock()

    def work(number: int) -> None:
        done = Done()
        with MemoryGraph.connect(namespace=namespace) as graph:
            until = time.monotonic() + seconds
            for what, name in questions(random.Random(f"{os.getpid()} {number}"), share):
                if (started := time.monotonic()) >= until:
                    break
                try:
                    ask_driver(graph, what, name)
                except Exception as error:  # noqa: BLE001 - it is told with the others
                    done.failed.append(f"{type(error).__name__}: {error}")
                    continue
                note(done, what, name, started)
        with lock:
            whole.add(done)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return whole


def ask_driver(graph: MemoryGraph, what: str, name: str) -> None:
    """Ask one question of the client."""
    if what == "create":
        graph.entities.create([Entity(name=name, entity_type="thing", observations=[])])
    elif what == "open":
        assert len(graph.entities.open([name]).entities) == 1
    else:
        assert graph.search(name, limit=5)


def note(done: Done, what: str, name: str, started: float) -> None:
    """Keep how long a question took."""
    done.times[WRITES if what == "create" else READS].append(time.monotonic() - started)
    if what == "create":
        done.written.append(name)


def over_mcp(clients: int, *, url: str, token: str, seconds: float, share: float) -> Done:
    """Clients of the SDK in tasks of this process, each with a session of its own."""
    whole = Done()

    async def work(number: int) -> None:
        async with over_http(url, token) as client:
            until = time.monotonic() + seconds
            for what, name in questions(random.Random(f"{os.getpid()} {number}"), share):
                if (started := time.monotonic()) >= until:
                    break
                try:
                    await ask_mcp(client, what, name)
                except Exception as error:  # noqa: BLE001 - it is told with the others
                    whole.failed.append(f"{type(error).__name__}: {error}")
                    continue
                note(whole, what, name, started)

    async def all_of_them() -> None:
        await asyncio.gather(*map(work, range(clients)))

    asyncio.run(all_of_them())
    return whole


async def ask_mcp(client: Any, what: str, name: str) -> None:
    """Ask one question of the memory server."""
    if what == "create":
        await call(client, "create_entities", entities=[{"name": name, "entityType": "thing", "observations": []}])
    elif what == "open":
        await call(client, "open_nodes", names=[name])
    else:
        await call(client, "recall", query=name, limit=5)


def together(ways: list[Callable[[int], Done]], clients: int) -> Done:
    """Let clients work at once in a few processes; each way takes the number of its clients."""
    whole = Done()
    shares = [clients // len(ways) + (n < clients % len(ways)) for n in range(len(ways))]
    with ProcessPoolExecutor(len(ways), mp_context=multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(way, share) for way, share in zip(ways, shares, strict=True) if share]
        for each in running:
            whole.add(each.result())
    return whole


def tell(name: str, done: Done, seconds: float, base: float | None) -> float:
    """Print a line, and return how many questions were answered in a second."""
    rate = done.count / seconds
    parts = []
    for kind, times in done.times.items():
        if times:
            centiles = statistics.quantiles(times, n=100) if len(times) > 1 else times * 99
            parts.append(f"{kind} p50 {1000 * statistics.median(times):.0f} p99 {1000 * centiles[98]:.0f} ms")
    ratio = f", {rate / base:.2f} of one client" if base else ""
    print(f"{name:<22} {rate:7.0f}/s{ratio}; {'; '.join(parts)}; failed {len(done.failed)}", flush=True)
    for failure in sorted(set(done.failed))[:3]:
        print(f"    {failure[:200]}")
    return rate


def look_for(namespace: str, written: list[str]) -> int:
    """Count what was acknowledged and is not there."""
    with MemoryGraph.connect(namespace=namespace) as graph:
        query = "UNWIND $names AS name MATCH (n:Node {namespace: $namespace, name: name}) RETURN count(*) AS found"
        pages = [written[place : place + 5000] for place in range(0, len(written), 5000)]
        return len(written) - sum(int(graph.query(query, {"names": page})[0]["found"]) for page in pages)


def find_java() -> int | None:
    """The process of the server, if it is on this machine."""
    port = int(os.environ["NEO4J_URI"].rpartition(":")[2])
    listening = (
        c.pid for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN and c.laddr.port == port
    )
    return next(listening, None)


def watch(processes: dict[str, int | None], stop: threading.Event) -> None:
    """Print the memory of processes once a minute."""
    minute = 0
    while True:
        sizes = [
            f"{name} {psutil.Process(pid).memory_info().rss / 2**20:.0f} MiB" for name, pid in processes.items() if pid
        ]
        print(f"    minute {minute}: {', '.join(sizes)}", flush=True)
        minute += 1
        if stop.wait(60):
            return


def measure(name: str, counts: list[int], way: Callable[..., Done], namespace: str, given: argparse.Namespace) -> None:
    """Let ever more clients ask over one way."""
    base: float | None = None
    together([partial(way, seconds=WARM_S, share=0.2)], 4)
    for clients in counts:
        ways: list[Callable[[int], Done]] = [partial(way, seconds=given.seconds, share=0.2)] * PROCESSES
        done = together(ways, clients)
        rate = tell(f"{name}, {clients} clients", done, given.seconds, base)
        base = base or rate
        print(f"    lost: {look_for(namespace, done.written)} of {len(done.written)} writes", flush=True)


def for_long(
    name: str, way: Callable[..., Done], namespace: str, minutes: float, processes: dict[str, int | None]
) -> None:
    """Let clients ask for minutes, and tell the memory meanwhile."""
    stop = threading.Event()
    watcher = threading.Thread(target=watch, args=(processes, stop))
    watcher.start()
    done = together([partial(way, seconds=60 * minutes, share=0.2)] * PROCESSES, LONG_CLIENTS)
    stop.set()
    watcher.join()
    tell(f"{name}, {minutes:g} min", done, 60 * minutes, None)
    print(f"    lost: {look_for(namespace, done.written)} of {len(done.written)} writes", flush=True)


def compare_writers(seconds: float) -> None:
    """Eight writers of one namespace, and of one each, beside one writer."""
    spaces = [f"many-clients-{uuid.uuid4().hex}" for _ in range(WRITERS)]
    with MemoryGraph.connect(namespace=spaces[0]) as graph:
        together([partial(over_driver, namespace=spaces[0], seconds=WARM_S, share=1.0)], 1)
        one = together([partial(over_driver, namespace=spaces[0], seconds=seconds, share=1.0)], 1)
        base = tell("one writer", one, seconds, None)
        shared = together([partial(over_driver, namespace=spaces[0], seconds=seconds, share=1.0)] * PROCESSES, WRITERS)
        tell(f"{WRITERS} of one namespace", shared, seconds, base)
        apart = together(
            [partial(over_driver, namespace=space, seconds=seconds, share=1.0) for space in spaces], WRITERS
        )
        tell(f"{WRITERS} of one each", apart, seconds, base)
        for space in spaces:
            graph.drop_namespace(space)


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--only", choices=["driver", "http"])
    given = parser.parse_args()
    if "NEO4J_URI" not in os.environ:
        parser.error("NEO4J_URI names the server that is asked, and is not set: the clients are processes of their own")
    namespace = f"many-clients-{uuid.uuid4().hex}"
    with MemoryGraph.connect(namespace=namespace) as graph:
        fill(graph)
        token = uuid.uuid4().hex + uuid.uuid4().hex
        with serving_http((os.environ["NEO4J_URI"], login()), namespace, f"{namespace}={token}") as served:
            processes = {"Neo4j": find_java(), "memorygraph serve": served.pid}
            for name, way in {
                "driver": partial(over_driver, namespace=namespace),
                "http": partial(over_mcp, url=served.url, token=token),
            }.items():
                if given.only in {None, name}:
                    measure(name, given.clients, way, namespace, given)
                    if given.minutes:
                        for_long(name, way, namespace, given.minutes, processes)
        compare_writers(given.seconds)
        graph.drop_namespace(namespace)


if __name__ == "__main__":
    main()
