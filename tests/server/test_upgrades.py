"""A database of an earlier version: the first client that connects brings its data up to date, and undo knows how."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING

import pytest

from memorygraph import MemoryGraph
from memorygraph.client import connect_embedded
from memorygraph.library import CYPHER
from memorygraph.memory.values import Entity
from memorygraph.query import Query

if TYPE_CHECKING:
    from collections.abc import Callable

    from memorygraph.graph.connection import Connection
    from memorygraph.server.embedded import EmbeddedServer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_java")]

FIRST_OF_DATA = "0016_lemmas"
LOG = """context main(&anna, &bread, &carl) {
  &carl says that &anna likes &bread.
  &anna uses &carl.
"""
STORED = """
MATCH (o:Observation {namespace: $namespace}) RETURN o.data AS said
UNION MATCH (s:Statement {namespace: $namespace}) RETURN s.name AS said
UNION MATCH ({namespace: $namespace})-[e:EDGE {verb: 'uses'}]->() RETURN 'uses is ' + e.lemma AS said
UNION MATCH (m:Metadata {namespace: $namespace}) WHERE m.input_tokens > 0 RETURN m.input_tokens + ' tokens in' AS said
"""


def apply_earlier(connection: Connection) -> None:
    """Set up a database as a version did that had no migration of data yet."""
    for name, commands in CYPHER.migrations():
        if name < FIRST_OF_DATA:
            for command in commands:
                connection.define(command)
            connection.write(methodcaller("run", CYPHER["schema/record-migrations"](names=[name])))


def write(graph: MemoryGraph, text: str) -> None:
    """Run Cypher that a version of today does not."""
    graph.connection.write(methodcaller("run", Query(text, {"namespace": graph.namespace})))


def make_former(graph: MemoryGraph) -> None:
    """Store what versions before those migrations stored, and delete as they did."""
    graph.entities.create(
        [Entity(name=name, entity_type="person", observations=[f"{name} reads"]) for name in ("Ada", "Bob")],
        distinguish_case=True,  # no index of aliases is there yet
    )
    graph.load(LOG, "pete")
    graph.messages("talk").append({"role": "user", "content": "Hi"})
    graph.messages("talk").append({"role": "assistant", "content": "Ho"}, metadata={"usage": {"input_tokens": 9}})
    write(graph, "MATCH ({namespace: $namespace})-[e:EDGE {verb: 'uses'}]->() SET e.lemma = 'us'")
    write(graph, "MATCH (m:Metadata {namespace: $namespace}) REMOVE m.input_tokens")
    write(graph, "MATCH (n:Node {namespace: $namespace}) WHERE n.name IN ['Ada', 'bread'] DETACH DELETE n")


def said(graph: MemoryGraph) -> set[str]:
    """What is stored of what the migrations change."""
    return {row["said"] for row in graph.query(STORED)}


FORMER = {"Ada reads", "Bob reads", "that anna likes bread", "uses is us"}
CURRENT = {"Bob reads", "uses is use", "9 tokens in"}


def test_a_database_of_an_earlier_version_is_brought_up_to_date_in_every_namespace(
    make_server: Callable[[], EmbeddedServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"):
        monkeypatch.delenv(name, raising=False)  # they go before the server of its own
    server = make_server()
    server.up()
    with connect_embedded(server, None, None) as connection:
        apply_earlier(connection)
        for name in ("one", "two"):
            make_former(MemoryGraph(connection, name))
            assert said(MemoryGraph(connection, name)) == FORMER
    with MemoryGraph.connect(server=server, namespace="one") as graph:
        for migrated in (graph, MemoryGraph(graph.connection, "two")):
            assert said(migrated) == CURRENT
            assert migrated.broken_invariants() == []
            [removal] = migrated.revisions(1)
            assert removal.language == "leftovers"
            migrated.undo(removal.revision)
            assert said(migrated) == (FORMER | CURRENT) - {"uses is us"}
    with MemoryGraph.connect(server=server, namespace="one") as graph:
        assert "Ada reads" in said(graph)  # a migration runs once: what was undone stays so
