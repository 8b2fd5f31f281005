"""A thought in a namespace of its own, and a model that says what it is told to say, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from tests.runtime.pete.minds import Mind


@pytest.fixture
def mind(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Mind]:
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path))  # where records wait that could not be written
    for name in ("OPENAI_API_KEY", "MEMORYGRAPH_MODEL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ExitStack() as stack:
        yield Mind(graph, stack, monkeypatch)
