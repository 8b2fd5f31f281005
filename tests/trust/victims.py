"""Clients that are killed: by themselves at their k-th call of a socket or a file, or from outside at any time.

Run as a program, it forks a client for each order that it reads from its standard input, so that a kill costs
milliseconds and no start of Python. It answers with how the client ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from neo4j._async_compat.network import _bolt_socket

from memorygraph import MemoryGraph
from tests.trust.rounds import statements, text_of

AUDITED = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "socket.connect"})


class Order(NamedTuple):
    """What a client does, and when it is killed: at a call, or so many seconds after its first acknowledged write."""

    task: str
    namespace: str
    round: int
    folder: str
    kill_at: int | None = None
    kill_after: float | None = None


class End(NamedTuple):
    """How a client ended, and how many writes it saw acknowledged. Its calls are known if it was not killed."""

    killed: bool
    acknowledged: int
    calls: int


def log_of(round_: int) -> str:
    """A PETE log of a round, with contexts within contexts."""
    return (
        f'context thought{round_}(&a) {{\n  !! thermometer {{"temperature": {round_}}}\n'
        "  context inner(&a) { &a is that &a likes 3 and &a likes 4. }\n}\n"
    )


def _load(graph: MemoryGraph, order: Order) -> None:
    graph.load(text_of(statements(order.round)))


def _load_batches(graph: MemoryGraph, order: Order) -> None:
    graph.load_file(Path(order.folder) / f"round{order.round}.ctx", batch=4)


def _load_log(graph: MemoryGraph, order: Order) -> None:
    graph.load(log_of(order.round), "pete")


def _append(graph: MemoryGraph, order: Order) -> None:
    graph.messages("talk").append({"role": "user", "content": f"message {order.round}"})


TASKS: dict[str, Callable[[MemoryGraph, Order], None]] = {
    "load": _load,
    "batches": _load_batches,
    "log": _load_log,
    "append": _append,
}


class Calls:
    """Counts calls, and kills this process at one of them."""

    def __init__(self, kill_at: int | None) -> None:
        self.count = 0
        self.kill_at = kill_at

    def tick(self) -> None:
        self.count += 1
        if self.count == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Count from now on: each file, each read of the driver's sockets, each half of each write."""
        wait = _bolt_socket.BoltSocketBase._wait_for_io

        def counted(socket: Any, name: str, timeout: Any, deadline: Any, convert: Any, call: Any, *given: Any) -> Any:
            self.tick()
            if name != "write":
                return wait(socket, name, timeout, deadline, convert, call, *given)
            [data] = given
            wait(socket, name, timeout, deadline, convert, call, data[: len(data) // 2])
            self.tick()
            return wait(socket, name, timeout, deadline, convert, call, data[len(data) // 2 :])

        _bolt_socket.BoltSocketBase._wait_for_io = counted  # type: ignore[assignment,method-assign]
        sys.addaudithook(lambda event, _: self.tick() if event in AUDITED else None)


def _live(order: Order, report: int) -> None:
    """The life of a client, in a process of its own."""
    calls = Calls(order.kill_at)
    calls.watch()
    with MemoryGraph.connect(namespace=order.namespace) as graph:
        while True:
            TASKS[order.task](graph, order)
            os.write(report, b"+")
            if order.kill_after is None:
                break
            order = order._replace(round=order.round + 1)
    os.write(report, b"=%d" % calls.count)


def _fork(order: Order) -> End:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            _live(order, writing)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as reports:
        report = reports.read(1)
        if order.kill_after is not None and report:
            time.sleep(order.kill_after)
            os.kill(child, signal.SIGKILL)
        report += reports.read()
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) not in {0, -signal.SIGKILL}:
        raise RuntimeError(f"a client failed by itself: {order}")
    acknowledged, _, calls = report.partition(b"=")
    return End(os.WIFSIGNALED(status), len(acknowledged), int(calls or 0))


def main() -> None:
    """Serve orders, one for each line, until there are no more."""
    MemoryGraph.check(text_of(statements(0)))
    MemoryGraph.check(log_of(0), "pete")
    for line in sys.stdin:
        print(json.dumps(_fork(Order(*json.loads(line)))), flush=True)


if __name__ == "__main__":
    main()
