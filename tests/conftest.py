"""Fixtures: one real Neo4j for the whole run, and a namespace of its own for each test."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from memorygraph import EmbeddedServer, MemoryGraph, NotFoundError, Provenance
from memorygraph.graph.connection import Connection, Transaction
from memorygraph.graph.schema import apply_schema
from memorygraph.library import CYPHER
from memorygraph.query import Query
from tests.memory.names import store_names

# A shell that starts the tests in its background has them ignore interrupts, and so would every process they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

EXAMPLES = Path(__file__).parent.parent / "examples"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to the whole check what takes many seconds, unless its folder or file is named."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if not named and "MEMORYGRAPH_TEST_LARGE" not in os.environ:
        reason = "slow: it runs in the whole check, with MEMORYGRAPH_TEST_LARGE=1, or where its file is named"
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """The address and the login of Neo4j: NEO4J_URI, or an embedded server with data of its own.

    The embedded server's program files are those of the developer's home: they are downloaded once.
    """
    if uri := os.environ.get("NEO4J_URI"):
        password = os.environ.get("NEO4J_PASSWORD")
        yield uri, (os.environ.get("NEO4J_USERNAME", "neo4j"), password) if password else None
        return
    embedded = EmbeddedServer(tmp_path_factory.mktemp("neo4j"), EmbeddedServer().artifacts)
    try:
        status = embedded.up()
        assert status.bolt_uri
        yield status.bolt_uri, (status.username, embedded.password())
    finally:
        embedded.down()


@pytest.fixture(scope="session")
def connection(server: tuple[str, tuple[str, str] | None]) -> Iterator[Connection]:
    """A connection to Neo4j with the schema applied; the server's warnings about our Cypher fail the test.

    It also warns about names that the database has never seen, so that every name is stored once before.
    """
    uri, auth = server
    with Connection(uri, auth) as connection:
        apply_schema(connection)
        _store_every_name(MemoryGraph(connection, "names"))
        _store_every_name_of_pete(MemoryGraph(connection, "names-of-pete"))
        _store_every_name_of_history(MemoryGraph(connection, "names-of-history"))
        store_names(MemoryGraph(connection, "names-of-memory"))
    options = {"notifications_min_severity": "WARNING", "warn_notification_severity": "WARNING"}
    with Connection(uri, auth, **options) as connection:
        yield connection


@contextmanager
def empty_namespace(connection: Connection) -> Iterator[MemoryGraph]:
    """An empty namespace, which is dropped in the end."""
    graph = MemoryGraph(connection, f"test-{uuid.uuid4().hex}")
    try:
        yield graph
    finally:
        drop(graph)


@pytest.fixture
def graph(connection: Connection) -> Iterator[MemoryGraph]:
    """An empty namespace."""
    with empty_namespace(connection) as graph:
        yield graph


@pytest.fixture
def twin(connection: Connection) -> Iterator[MemoryGraph]:
    """Another empty namespace, to compare the first with."""
    with empty_namespace(connection) as twin:
        yield twin


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Query]:
    """The queries that transactions run, as they do."""
    queries: list[Query] = []
    run = Transaction.run

    def noted(transaction: Transaction, query: Query) -> list[dict[str, object]]:
        queries.append(query)
        return run(transaction, query)

    monkeypatch.setattr(Transaction, "run", noted)
    return queries


def drop(graph: MemoryGraph) -> None:
    """Drop the namespace of a test, which need not have stored anything."""
    with suppress(NotFoundError):
        graph.drop_namespace(graph.namespace)


@pytest.fixture
def environment(server: tuple[str, tuple[str, str] | None], monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment of a command line that uses the test's Neo4j, and its own namespace, which is returned."""
    uri, auth = server
    namespace = f"test-{uuid.uuid4().hex}"
    monkeypatch.setenv("NEO4J_URI", uri)
    if auth:
        monkeypatch.setenv("NEO4J_USERNAME", auth[0])
        monkeypatch.setenv("NEO4J_PASSWORD", auth[1])
    monkeypatch.setenv("MEMORYGRAPH_NAMESPACE", namespace)
    return namespace


_PROGRAM = """
import llm M from "openai://m"
import memory Known from "neo4j://"
main agent A {
  model M role "r" description "d"
  main func(input) {
    use Known.query()
    return generate({ input: "Go" }) { return { ok boolean } }
  }
}
"""

_CONVO = "> node first\n > do\n  add(1 1)\n> nodeEnd\n> user\nHi\n> goto first\n"

_LOG = """
context names(&a) {
  @[time: 12:30]
  !! thermometer {"temperature": 30}
  @fan, set {"speed": 2} >> {"ok": true}
  context inner(&a) { &a is that &a likes 3 and &a likes 4. tl;dr /* done */ }
  _x is _y if _x likes _y.
  _x is _y?
  &b = memory:1
  context gone() = memory:3
"""


def _store_every_name(graph: MemoryGraph) -> None:
    program = 'Node(node_id="a", name="", data=""); Edge(edge_id="e", from_node="a", to_node="a", verb="v", weight=0);'
    graph.load(program)
    checkpoint = {"namespace": graph.namespace, "program": "p", "former": "", "statements": 0}
    graph.connection.write(lambda transaction: transaction.run(CYPHER["load/save-checkpoint"](**checkpoint)))
    history = graph.messages("names")
    history.append({"role": "user", "content": "u"})
    history.append({"role": "assistant", "content": "a"}, metadata={"model": "m"}, subgraph=[history[0]])
    history[0]["content"] = "v"
    graph.run(_PROGRAM, mock=True)
    graph.run(_CONVO, language="convo")
    graph.load("main agent { main func() { return 1 } }", "agentscript", file="one.as")
    graph.load(_CONVO, "convo", file="two.convo")


def _store_every_name_of_pete(graph: MemoryGraph) -> None:
    if graph.thoughts():
        return
    graph.load(_LOG, "pete")
    graph.messages("names").append({"role": "assistant", "content": "a"})
    [ends] = graph.query(
        "MATCH (context:Context {namespace: $namespace}), (message:Message {namespace: $namespace}) "
        "RETURN context.id AS id, collect(message.id) AS messages LIMIT 1"
    )
    joined = CYPHER["pete/join-message"](namespace=graph.namespace, **ends)
    graph.connection.write(lambda transaction: transaction.run(joined))


def _store_every_name_of_history(graph: MemoryGraph) -> None:
    if graph.revisions():
        return
    graph.messages("names").append({"role": "user", "content": "u"})
    [message] = graph.query("MATCH (message:Message {namespace: $namespace}) RETURN message.id AS id")
    program = 'Node(node_id="a", name="", data=""); Edge(edge_id="e", from_node="a", to_node="a", verb="v", weight=0);'
    graph.load(program, provenance=Provenance("b", "m", "c", message["id"]))
    graph.load('Node(node_id="a", name="b"); Edge(edge_id="e", weight=1);')
    graph.undo(2)
    graph.purge(before=1)
    graph.load(_LOG, "pete")
    for thought in graph.thoughts():
        graph.delete(f"memory-{thought.address}")
