"""Fixtures: a checkpointer of an empty namespace."""

from __future__ import annotations

import pytest

from memorygraph import MemoryGraph
from memorygraph.integrations.langgraph import MemoryGraphSaver


@pytest.fixture
def saver(graph: MemoryGraph) -> MemoryGraphSaver:
    """A checkpointer of an empty namespace."""
    return MemoryGraphSaver(graph)
