"""No test of an adapter sees a model or a database that the developer has configured; and a checkpointer to test."""

from __future__ import annotations

import pytest
from agents import set_tracing_disabled

from memorygraph import MemoryGraph
from memorygraph.integrations.langgraph import MemoryGraphSaver, MemoryGraphStore
from tests.scripted.conftest import no_model_is_configured

set_tracing_disabled(True)  # the Agents SDK sends what it did to its maker otherwise

__all__ = ["no_model_is_configured"]


@pytest.fixture
def saver(graph: MemoryGraph) -> MemoryGraphSaver:
    """A checkpointer of an empty namespace."""
    return MemoryGraphSaver(graph)


@pytest.fixture
def store(graph: MemoryGraph) -> MemoryGraphStore:
    """A store of an empty namespace."""
    return MemoryGraphStore(graph)
