"""Neo4j Browser as a user sees it, in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memorygraph import MemoryGraph
from memorygraph.graph.connection import Connection
from memorygraph.library import NamedQuery
from memorygraph.query import Query
from memorygraph.server.browser import SavedQuery, connect_commands, saved_queries, style
from memorygraph.server.settings import Endpoints
from tests.conftest import EXAMPLES

if TYPE_CHECKING:
    from tests.browser.chromium import Neo4jBrowser

pytestmark = pytest.mark.slow

EVERYTHING = SavedQuery(
    NamedQuery("everything", "MATCH (node {namespace: $namespace}) RETURN node LIMIT 300", "", Path(), 1)
)
SETTINGS = "SHOW SETTINGS 'server.http.advertised_address', 'browser.post_connect_cmd' YIELD name, value"


@pytest.fixture(scope="module")
def browser(server: tuple[str, tuple[str, str] | None], connection: Connection) -> Iterator[Neo4jBrowser]:
    settings = {row["name"]: row["value"] for row in connection.read(Query(SETTINGS))}
    if settings["browser.post_connect_cmd"] != connect_commands():
        pytest.skip("NEO4J_URI is a Neo4j with settings of its own, and Browser on it has not our style")
    pytest.importorskip("selenium", reason="driving Chromium needs selenium")
    from tests.browser.chromium import CHROMEDRIVER, CHROMIUM, neo4j_browser

    if not (CHROMIUM and CHROMEDRIVER):
        pytest.skip("there is no Chromium with its driver here (on Debian: the package chromium-driver)")
    uri, auth = server
    assert auth
    bolt, http = (int(where.rpartition(":")[2]) for where in (uri, settings["server.http.advertised_address"]))
    url = Endpoints(bolt, http, "").browser_url
    with neo4j_browser(url, auth[1]) as browser:
        yield browser


def test_a_saved_query_draws_the_world_with_names_and_verbs(browser: Neo4jBrowser, graph: MemoryGraph) -> None:
    graph.load_file(EXAMPLES / "apollo11.ctx")
    browser.run(saved_queries()["world"], namespace=graph.namespace)
    nodes = browser.nodes()
    names = {row["name"] for row in graph.query("MATCH (n:Node {namespace: $namespace}) RETURN n.name AS name")}
    assert nodes.keys() == names
    assert len(names) == 22
    look = style()["node.Node"]
    assert set(nodes.values()) == {(look["color"], look["diameter"])}
    assert {"programmed", "walked-on", "guided"} <= set(browser.verbs())


def test_the_parts_of_the_project_are_told_apart_by_colour(browser: Neo4jBrowser, graph: MemoryGraph) -> None:
    graph.load('Node(node_id="a", name="A", data=""); Node(node_id="a", name="B");')
    graph.load("context lab(&a) { &a is that &a likes 3. }", "pete")
    graph.messages("talk").append({"role": "user", "content": "Hello"})
    graph.run("> node first\n > do\n  add(1 1)\n> nodeEnd\n> user\nHi\n> goto first\n", language="convo")
    browser.run(EVERYTHING, namespace=graph.namespace)
    labels = browser.labels()
    assert {"Node", "Context", "Entry", "Conversation", "Version", "Message", "Graph", "GraphNode", "Run"} <= set(
        labels
    )
    assert labels == {label: style()[f"node.{label}"]["color"] for label in labels}
    assert len(set(labels.values())) == len(labels)
    assert "user: Hello" in browser.nodes()


def test_a_value_with_characters_of_addresses_and_of_cypher_arrives_as_it_is(
    browser: Neo4jBrowser, graph: MemoryGraph
) -> None:
    name = 'R&D "#1" + 100% \\ ; é?'
    graph.query("CREATE (:Node {namespace: $namespace, id: 'a', name: $name})", {"name": name}, write=True)
    browser.run(saved_queries()["entity"], namespace=graph.namespace, name=name)
    assert list(browser.nodes()) == [name]
