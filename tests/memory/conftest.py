"""What tests of the memory share."""

from __future__ import annotations

import pytest

from memorygraph.memory import entities as entities_module
from memorygraph.memory.entities import MAX_PLANNED_ROWS
from tests.memory.endpoints import embedder, endpoint

__all__ = ["embedder", "endpoint"]


@pytest.fixture(params=[0, MAX_PLANNED_ROWS])
def planned(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write is planned before anything was read, or not."""
    monkeypatch.setattr(entities_module, "MAX_PLANNED_ROWS", request.param)
