"""A thought in a namespace of its own, and a model that says what it is told to say, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from memorygraph.graph.connection import Connection
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.runtime.pete.minds import Mind

EVERY_NAME = """
&a = /* a */ &b = memory:1
@[time: 12:30]
&a likes "b". &a doesn't like that &a likes &b and &b likes &a.
_x likes &a if _x likes &b.
context inner(&a) { tl;dr /* done */ }
context gone() = memory:1
_x likes &a?"""


@pytest.fixture(scope="session")
def _every_name_is_stored(connection: Connection, server: tuple[str, tuple[str, str] | None]) -> None:
    """Neo4j warns of names that it has never seen, which fails a test: so each is stored once before."""
    uri, auth = server
    with (
        Connection(uri, auth) as own,
        ScriptedModel([EVERY_NAME, "look\n", "}"]) as model,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("OPENAI_BASE_URL", model.base_url)
        patch.setenv("NO_PROXY", "127.0.0.1")
        graph = MemoryGraph(own, "names")
        if not graph.thoughts():
            thought = graph.pete("names", "any")
            thought.sense("thermometer", 30)
            thought.run(3)


@pytest.fixture
def mind(
    _every_name_is_stored: None, graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Mind]:
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path))  # where records wait that could not be written
    for name in ("OPENAI_API_KEY", "MEMORYGRAPH_MODEL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ExitStack() as stack:
        yield Mind(graph, stack, monkeypatch)
