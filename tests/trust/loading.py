"""Clients in processes of their own that write one numbered program after another, whatever happens.

Run as a program, a client says on its standard output how each write ended, as a JSON list: its number, its error, and
whether it may have been kept all the same. It ends when its standard input does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from memorygraph import ConnectionError, EmbeddedServer, MemoryGraph, MemoryGraphError
from tests.trust.rounds import loads, stored

NODES = 20


def program(name: str, number: int) -> str:
    """A program of nodes and edges that belong together."""
    nodes = [f'Node(node_id="{name}-{number}-{i}", name="N", data="{number}");' for i in range(NODES)]
    edges = [
        f'Edge(edge_id="e{name}-{number}-{i}", from_node="{name}-{number}-{i}", to_node="{name}-{number}-0", '
        'verb="v", weight=0.5);'
        for i in range(NODES)
    ]
    return "".join(nodes + edges)


class Client:
    """A client that loads; its numbers are known by what it says."""

    def __init__(self, name: str, server: EmbeddedServer, namespace: str, environment: Mapping[str, str]) -> None:
        self.name = name
        self.acknowledged: list[int] = []
        self.unknown: list[int] = []
        self.failed: list[int] = []
        """Not kept, or so their errors say."""
        self.errors: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(server.home), str(server.artifacts), namespace, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, **environment},
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            number, error, is_unknown = json.loads(line)
            outcome = self.failed if error is not None else self.acknowledged
            (self.unknown if is_unknown else outcome).append(number)
            if error is not None:
                self.errors.append(error)

    def await_progress(self, seconds: float) -> None:
        """Wait until a write that begins now is acknowledged."""
        until = time.monotonic() + seconds
        known = len(self.acknowledged) + 1  # one may have been under way
        while len(self.acknowledged) <= known:
            assert self.process.poll() is None, f"client {self.name} has ended"
            assert time.monotonic() < until, f"client {self.name} does not go on: {self.errors[-3:]}"
            time.sleep(0.01)

    def end(self, seconds: float) -> None:
        """Let it finish its last write."""
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(seconds) == 0, f"client {self.name} failed"
        self._listener.join(seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe
            pipe.close()


def check(graph: MemoryGraph, clients: list[Client]) -> str:
    """What clients that have ended left in their namespace: whole programs, and all that were acknowledged."""
    parts: dict[tuple[str, int], int] = {}
    for id_, value in stored(graph).items():
        name, number, _ = id_.removeprefix("e").split("-")
        parts[name, int(number)] = parts.get((name, int(number)), 0) + 1
        assert value in {("N", number), (id_[1:], f"{name}-{number}-0", "v", 0.5)}
    assert set(parts.values()) <= {2 * NODES}, "a part of a program"
    assert loads(graph) == len(parts), "a load is there twice, or without its program"
    for client in clients:
        found = {number for name, number in parts if name == client.name}
        assert set(client.acknowledged) <= found, "what was acknowledged is lost"
        assert not found & set(client.failed), "what is there was said to have failed"
        assert found <= {*client.acknowledged, *client.unknown}, "nobody wrote this"
    acknowledged = sum(len(client.acknowledged) for client in clients)
    unknown, failed = (sum(map(len, ends)) for ends in zip(*((c.unknown, c.failed) for c in clients), strict=True))
    kept = len(parts) - acknowledged
    return (
        f"{acknowledged} loads acknowledged: 0 lost, 0 partial; {failed} failed, and none of them is there; "
        f"{unknown} said that they may have been kept, and {kept} were"
    )


def main(home: str, artifacts: str, namespace: str, name: str) -> None:
    """Load until the standard input ends."""
    over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    with MemoryGraph.connect(server=EmbeddedServer(Path(home), Path(artifacts)), namespace=namespace) as graph:
        number = 0
        while not over.is_set():
            error, is_unknown = None, False
            try:
                graph.load(program(name, number))
            except MemoryGraphError as caught:
                error = f"{type(caught).__name__}: {caught}"
                is_unknown = isinstance(caught, ConnectionError) and caught.outcome_unknown
            print(json.dumps([number, error, is_unknown]), flush=True)
            number += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
