"""A bundle of one server is imported into another: the namespace is the same there, under another name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memorygraph import MemoryGraph
from memorygraph.memory.values import Entity
from tests.graph.test_bundles import elements, without_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memorygraph.server.embedded import EmbeddedServer
    from tests.shared_neo4j import GiveSchema

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_java")]


def test_a_bundle_gives_another_server_the_same_namespace_element_by_element(
    graph: MemoryGraph,
    make_server: Callable[[], EmbeddedServer],
    give_schema: GiveSchema,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"):
        monkeypatch.delenv(name, raising=False)  # they go before the server of its own
    graph.load('Node(node_id="a", name="A", data="tea"); Node(node_id="b", name="B", data="");')
    graph.load(
        'Edge(edge_id="e", from_node="a", to_node="b", verb="likes", weight=0.5); Node(node_id="a", data="milk");'
    )
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["likes tea"])])
    graph.load("context main(&anna, &bread) {\n  &anna likes &bread.\n}", "pete")
    graph.messages("talk").append({"role": "user", "content": "tea"})
    graph.export_bundle(tmp_path / "bundle")
    with MemoryGraph.connect(server=give_schema(make_server()), namespace="moved") as other:
        other.import_bundle(tmp_path / "bundle")
        found = elements(other)
        assert found == elements(graph)
        assert {"Former", "Entry", "Message", "Version", "Load"} <= {text.split("'")[3] for text in found}
        assert [hit.id for hit in other.search("milk")] == [hit.id for hit in graph.search("milk")] == ["a"]
        assert without_name(other.export("bundle")) == without_name((tmp_path / "bundle").read_text("utf-8"))
