"""What a server plans behind its start: it leaves nothing, and starts nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memorygraph import EmbeddedServer, MemoryGraph, warming
from memorygraph.library import CYPHER
from memorygraph.query import Query
from memorygraph.server.launch import WARMING, Launch
from memorygraph.server.server_home import ServerHome
from tests.examples import every_nth
from tests.shared_neo4j import GiveSchema

_ALL = "MATCH (node) RETURN count(node) AS nodes, COUNT { ()-->() } AS edges"


@pytest.mark.slow
@pytest.mark.usefixtures("quick_java")
def test_each_step_is_taken_and_nothing_is_stored(
    make_server: Callable[[], EmbeddedServer], give_schema: GiveSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NEO4J_URI", raising=False)
    server = give_schema(make_server())
    with MemoryGraph.connect(server=server) as graph:
        graph.load('Node(node_id="a", name="anything", data="b");')
        before = graph.query(_ALL), graph.namespaces()
        assert warming.warm(server.home) == len(warming.STEPS)
        assert (graph.query(_ALL), graph.namespaces()) == before
    server.down()
    assert warming.warm(server.home) == 0
    assert not server.find().running


@pytest.mark.parametrize(("switch", "plans"), [("", True), ("off", False)])
def test_the_first_calls_of_a_client_are_planned_unless_that_is_switched_off_and_nothing_is_stored(
    graph: MemoryGraph, ran: list[Query], monkeypatch: pytest.MonkeyPatch, switch: str, plans: bool
) -> None:
    monkeypatch.setenv(WARMING, switch)
    warming.plan_calls(graph.connection)
    written = CYPHER["entities/begin-and-write"].text
    assert (written in [query.text for query in ran]) is plans
    stored = "MATCH (any) WHERE any.namespace = $namespace OR any.name = $namespace RETURN any"
    assert MemoryGraph(graph.connection, warming.NAMESPACE).query(stored) == []


def test_no_step_asks_the_embedding_model(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has asked for what is sent there, and one that fails would end the steps that follow."""
    monkeypatch.setenv("MEMORYGRAPH_EMBEDDING_MODEL", "vectors")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
    graph.load('Node(node_id="a", name="anything", data="b");')
    for step in warming.STEPS:
        warming.take(step, graph)


@pytest.mark.parametrize(("switch", "begins"), every_nth([("", True), ("on", True), ("off", False)], 2))
def test_it_works_behind_a_start_unless_it_is_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: str, begins: bool
) -> None:
    monkeypatch.setenv(WARMING, switch)
    files = ServerHome(tmp_path)
    files.logs.mkdir()
    process = Launch(files, tmp_path, tmp_path).warm_later()
    assert (process is not None) is begins
    if process is not None:
        process.wait(60)
        assert (files.logs / "warming.log").read_text("utf-8") == ""  # no server, so nothing to do, and no traceback
