"""Pictures of neo4j-viz with names and verbs in them (extra `notebooks`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from neo4j import Driver, EagerResult, Result
from neo4j.graph import Graph
from neo4j_viz import VisualizationGraph
from neo4j_viz.neo4j import from_neo4j

from memorygraph.server.browser import style

_PLACE = re.compile(r"\{(\w+)\}")


def draw_graph(data: Graph | Result | EagerResult | Driver, row_limit: int = 10_000) -> VisualizationGraph:
    """Make the picture that neo4j-viz's `from_neo4j` makes, with the captions of Neo4j Browser.

    A node has its name, and a relationship its verb. What the style of Browser, `memorygraph.grass`, has no words for
    keeps its labels or its type. The arguments are those of `from_neo4j`; colors go by labels, as there.

    Example::

        query = "MATCH (n:Node {namespace: $namespace})-[e:EDGE]->(m) RETURN n, e, m"
        draw_graph(driver.execute_query(query, namespace="people")).render()

    Raises:
        ValueError: the data has no nodes.
    """
    picture = from_neo4j(data, row_limit)
    captions = {selector: rule["caption"] for selector, rule in style().items() if "caption" in rule}
    for node in picture.nodes:
        selectors = {f"node.{label}" for label in node.properties["labels"]}
        # As in the file, the later label says more: an entity is a node, too.
        found = [caption for selector, caption in captions.items() if selector in selectors]
        node.caption = _fill(found[-1], node.properties) if found else node.caption
        node.caption = node.caption or ":".join(node.properties["labels"])
    for relationship in picture.relationships:
        of_type = captions.get(f"relationship.{relationship.properties['type']}", "")
        relationship.caption = _fill(of_type, relationship.properties) or relationship.caption
    return picture


def _fill(caption: str, properties: Mapping[str, Any]) -> str:
    """Put properties into a caption of Browser's style.

    >>> _fill("{role}: {content}", {"role": "user", "content": "Hello"})
    'user: Hello'
    """
    return _PLACE.sub(lambda place: str(properties.get(place[1], "")), caption)
