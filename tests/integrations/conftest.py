"""No test of an adapter sees a model or a database that the developer has configured; and a checkpointer to test."""

from __future__ import annotations

from collections.abc import Iterator

import neo4j
import pytest
from agents import set_tracing_disabled

from memorygraph import MemoryGraph
from memorygraph.integrations.langgraph import MemoryGraphSaver, MemoryGraphStore
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.scripted.conftest import no_model_is_configured
from tests.shared_neo4j import Address

set_tracing_disabled(True)  # the Agents SDK sends what it did to its maker otherwise

__all__ = ["no_model_is_configured"]

WORLD = """
Node(node_id="ada", name="Ada Lovelace", data="wrote the first program");
Node(node_id="tea", name="Tea", data="is a drink");
Edge(edge_id="e", from_node="ada", to_node="tea", verb="drank", weight=1.0);
"""


@pytest.fixture
def saver(graph: MemoryGraph) -> MemoryGraphSaver:
    """A checkpointer of an empty namespace."""
    return MemoryGraphSaver(graph)


@pytest.fixture
def store(graph: MemoryGraph) -> MemoryGraphStore:
    """A store of an empty namespace."""
    return MemoryGraphStore(graph)


@pytest.fixture
def by_meaning(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Texts have vectors of a model over HTTP."""
    with ScriptedModel() as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("MEMORYGRAPH_EMBEDDING_MODEL", f"scripted-{graph.namespace}")
        yield


@pytest.fixture
def driver(server: Address) -> Iterator[neo4j.Driver]:
    """A driver as a user of packages for Neo4j makes it."""
    uri, auth = server
    with neo4j.GraphDatabase.driver(uri, auth=auth) as driver:
        yield driver


@pytest.fixture
def world(graph: MemoryGraph) -> MemoryGraph:
    """Two nodes with an edge, and a conversation of one message."""
    graph.load(WORLD)
    graph.messages("talk").append({"role": "user", "content": "I like the first program."})
    return graph
