"""A query that could go on for years ends when its time is up, and with the client that asked it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, LiteralString, cast

import neo4j
import pytest

from memorygraph import ConnectionError, MemoryGraph, QueryError, aio
from memorygraph.graph.connection import READ_SECONDS, Connection
from memorygraph.mcp_server import choose_tools
from memorygraph.query import Query

NODES = 40
"""Each joined to each: more ways of 50 edges lead through them than anybody can count."""
HOPS = (  # both ends are of the test: a server that other tests have used knows other nodes of these ids
    "MATCH p = (a {id: 'n0', namespace: $namespace})-[*50..50]-(b {id: 'n1', namespace: $namespace}) "
    "RETURN count(p) AS ways"
)
RUNNING = Query(
    "SHOW TRANSACTIONS YIELD currentQuery AS text, status WHERE text CONTAINS $hops AND NOT text STARTS WITH 'SHOW' "
    "AND NOT text STARTS WITH 'EXPLAIN' RETURN count(*) AS running",
    {"hops": "[*50..50]"},
)
PATIENCE_S = 60.0


@pytest.fixture
def dense(graph: MemoryGraph) -> MemoryGraph:
    """A graph whose nodes are all joined to each other."""
    nodes = [f'Node(node_id="n{n}", name="N", data="");' for n in range(NODES)]
    edges = [
        f'Edge(edge_id="e{a}-{b}", from_node="n{a}", to_node="n{b}", verb="v", weight=0.5);'
        for a in range(NODES)
        for b in range(a)
    ]
    graph.load("\n".join([*nodes, *edges]))
    return graph


def await_state(connection: Connection, *, running: bool) -> None:
    """Wait until the query runs in the server, or runs no more."""
    until = time.monotonic() + PATIENCE_S
    while bool(connection.read(RUNNING)[0]["running"]) != running:
        assert time.monotonic() < until, "it does not begin" if running else "it goes on in the server"
        time.sleep(0.05)


def test_a_pattern_of_fifty_edges_ends_with_its_time(dense: MemoryGraph, connection: Connection) -> None:
    query = Query(HOPS, {"namespace": dense.namespace})
    with pytest.raises(QueryError, match=r"timeout|timed out|terminated"):
        connection.read(query, seconds=2.0, repeatable=False)
    await_state(connection, running=False)
    assert dense.node("n0").id == "n0"


@pytest.mark.slow
def test_a_read_of_ours_whose_time_was_up_is_asked_once_more(dense: MemoryGraph, connection: Connection) -> None:
    """As the first read after a restart is on a busy machine, where planning it alone can take half a minute."""
    query = Query(HOPS, {"namespace": dense.namespace})
    dense.delete(f"n{NODES - 1}")  # planned now, so that the other node is gone before the time is up
    with ThreadPoolExecutor(1) as another:
        answer = another.submit(connection.read, query, seconds=10.0)
        await_state(connection, running=True)
        for end in ("n0", "n1"):  # so that the second time there is nothing to count, from whichever end it is planned
            dense.delete(end)
        assert answer.result() == [{"ways": 0}]


@pytest.mark.slow
def test_a_read_of_ours_that_never_gets_an_answer_blames_the_server_and_not_the_query(
    dense: MemoryGraph, connection: Connection
) -> None:
    with pytest.raises(ConnectionError, match="has too much to do"):
        connection.read(Query(HOPS, {"namespace": dense.namespace}), seconds=1.0)
    await_state(connection, running=False)


@pytest.mark.slow
def test_a_users_query_has_half_a_minute(dense: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float | None] = []

    class Shortened(neo4j.Query):
        """A query whose limit is noted, and ends sooner: nobody waits half a minute for what two seconds show."""

        def __init__(self, text: LiteralString, metadata: dict[str, Any] | None = None, timeout: float | None = None):
            if text == HOPS:
                told.append(timeout)
            super().__init__(text, metadata, 2.0 if text == HOPS else timeout)

    monkeypatch.setattr(neo4j, "Query", Shortened)
    with pytest.raises(QueryError, match=r"timeout|timed out|terminated"):
        dense.query(HOPS)
    assert told == [READ_SECONDS] == [30.0]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize("end", [subprocess.Popen.kill, lambda process: process.send_signal(signal.SIGINT)])
def test_a_query_ends_in_the_server_with_the_client_that_asked(
    dense: MemoryGraph, connection: Connection, environment: str, end: Callable[[subprocess.Popen[str]], None]
) -> None:
    command = [sys.executable, "-m", "memorygraph", "-n", dense.namespace, "query", HOPS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            await_state(connection, running=True)
            end(process)
            await_state(connection, running=False)
        finally:
            process.kill()


STOPPED = """
import signal
import sys

from memorygraph import MemoryGraph
from memorygraph.query import Query

signal.signal(signal.SIGINT, signal.default_int_handler)
with MemoryGraph.connect() as graph:
    graph.connection.read(Query(sys.argv[1], {"namespace": sys.argv[2]}), seconds=600.0)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("environment")
@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
def test_ctrl_c_does_not_wait_for_the_query_of_a_read(dense: MemoryGraph, connection: Connection) -> None:
    command = [sys.executable, "-c", STOPPED, HOPS, dense.namespace]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            await_state(connection, running=True)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=PATIENCE_S)
            assert told.splitlines()[-1] == "KeyboardInterrupt"
            await_state(connection, running=False)
        finally:
            process.kill()


ASK: dict[str, Callable[[Any, Query], Awaitable[object]]] = {
    "read": lambda client, query: client.read(query, seconds=600.0),
    "read_with": lambda client, query: client.read_with(lambda transaction: transaction.run(query), seconds=600.0),
    "stream": lambda client, query: anext(client.stream(query, seconds=600.0)),
    "write": lambda client, query: client.write(lambda transaction: transaction.run(query), seconds=600.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("method", ASK)
def test_a_query_whose_task_is_cancelled_ends_and_leaves_its_thread_to_others(
    dense: MemoryGraph, connection: Connection, method: str
) -> None:
    async def give_up() -> list[dict[str, Any]]:
        client = cast(Any, aio).Offloaded(connection, ThreadPoolExecutor(1), set())
        asking = asyncio.ensure_future(ASK[method](client, Query(HOPS, {"namespace": dense.namespace})))
        await asyncio.to_thread(await_state, connection, running=True)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        async with asyncio.timeout(PATIENCE_S):
            return cast("list[dict[str, Any]]", await client.read(Query("RETURN 1 AS one")))

    assert asyncio.run(give_up()) == [{"one": 1}]
    await_state(connection, running=False)


def test_no_tool_of_the_memory_server_takes_cypher() -> None:
    shown = {name: tool.described.model_dump_json().lower() for name, tool in choose_tools().items()}
    assert "recall" in shown
    assert [name for name, text in shown.items() if "cypher" in text] == []
