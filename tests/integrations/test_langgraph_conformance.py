"""The checkpointer passes LangGraph's own tests of checkpointers, the extended ones too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.checkpoint.conformance.report import CapabilityResult

from memorygraph import MemoryGraph
from memorygraph.graph.connection import Connection
from memorygraph.integrations.langgraph import MemoryGraphSaver
from tests.shared_neo4j import new_namespace

TESTS = {
    "put": 17,
    "put_writes": 10,
    "get_tuple": 10,
    "list": 16,
    "delete_thread": 5,
    "delete_for_runs": 7,
    "copy_thread": 8,
    "prune": 8,
}
"""How many tests of each capability there were when this was written: a newer package may have more."""


@pytest.mark.parametrize("capability", [capability.value for capability in Capability])
def test_every_test_of_a_capability_passes(connection: Connection, capability: str) -> None:
    @checkpointer_test(name="MemoryGraphSaver")
    async def checkpointer() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        yield MemoryGraphSaver(MemoryGraph(connection, new_namespace()))

    report = asyncio.run(validate(checkpointer, capabilities={capability}))
    result: CapabilityResult = report.results[capability]
    assert (result.detected, result.failures, result.tests_failed) == (True, [], 0)
    assert result.tests_passed >= TESTS[capability]
