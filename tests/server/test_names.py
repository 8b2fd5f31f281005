"""The names that the database of the tests has from the start are those that the package stores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memorygraph import EmbeddedServer, MemoryGraph
from tests.names import NAMES, stored_names

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_java")]


def test_every_name_that_is_stored_is_made_before_the_tests_and_no_other(tmp_path: Path, artifacts: Path) -> None:
    server = EmbeddedServer(tmp_path, artifacts)
    try:
        with MemoryGraph.connect(server=server) as graph:
            stored = stored_names(graph.connection)
    finally:
        server.down()
    assert stored == json.loads(NAMES.read_text("utf-8")), "after a change of what is stored: python -m tests.names"
