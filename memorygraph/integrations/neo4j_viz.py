"""Pictures of neo4j-viz with names and verbs in them (extra `notebooks`)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from neo4j import Driver, EagerResult, Result
from neo4j.graph import Entity, Graph, Path

from memorygraph import MemoryGraph, MemoryGraphError
from memorygraph.graph.readonly import check_reads_only
from memorygraph.integrations import needing_extra
from memorygraph.query import Query
from memorygraph.server.browser import style

with needing_extra("notebooks"):
    from neo4j_viz import VisualizationGraph
    from neo4j_viz.neo4j import from_neo4j

MAX_CAPTION = 90
_PLACE = re.compile(r"\{(\w+)\}")


def draw_query(graph: MemoryGraph, cypher: str, parameters: Mapping[str, Any] | None = None) -> VisualizationGraph:
    """Make the picture of the nodes and relationships that a query of the namespace returns, as `draw_graph` does.

    Example::

        draw_query(mg, "MATCH (n:Node {namespace: $namespace})-[e:EDGE]->(m) RETURN n, e, m").render()

    Raises:
        MemoryGraphError: it returns no node.
        QueryError: it is wrong, or does not only read.
    """
    query = Query(cypher, {"namespace": graph.namespace, **(parameters or {})})
    check_reads_only(graph.connection, query)
    rows = list(graph.connection.stream(query, typed=True))
    entity = next((entity for row in rows for entity in _entities(list(row.values()))), None)
    if entity is None:
        raise MemoryGraphError(
            "the query returns no node to draw: return nodes, relationships or paths, as `RETURN n, e, m`"
        )
    return draw_graph(entity.graph)


def draw_graph(data: Graph | Result | EagerResult | Driver, row_limit: int = 10_000) -> VisualizationGraph:
    """Make the picture that neo4j-viz's `from_neo4j` makes, with the captions of Neo4j Browser.

    A node has its name, and a relationship its verb. What the style of Browser, `memorygraph.grass`, has no words for
    keeps its labels or its type. Colors are those of Browser too: of messages, one for each role, and for an off-policy
    one a pale one and the word. A node is the larger the more relationships it has here, and an edge the wider the more
    it weighs. The arguments are those of `from_neo4j`.

    Example::

        query = "MATCH (n:Node {namespace: $namespace})-[e:EDGE]->(m) RETURN n, e, m"
        draw_graph(driver.execute_query(query, namespace="people")).render()

    Raises:
        ValueError: the data has no nodes.
    """
    picture = from_neo4j(data, row_limit)
    rules = style()
    degrees = Counter(end for edge in picture.relationships for end in (edge.source, edge.target))
    for node in picture.nodes:
        selectors = {f"node.{label}" for label in node.properties["labels"]}
        # As in the file, the later label says more: an entity is a node, too.
        rule = next((rule for selector, rule in reversed(rules.items()) if selector in selectors), rules["node"])
        caption = _fill(rule.get("caption", ""), node.properties) or ":".join(node.properties["labels"])
        node.caption = caption if len(caption) <= MAX_CAPTION else f"{caption[: MAX_CAPTION - 1]}…"
        node.color = rule["color"]
        node.size = int(rule["diameter"].removesuffix("px")) / 2 + min(30, 3 * degrees[node.id])
    for relationship in picture.relationships:
        rule = rules.get(f"relationship.{relationship.properties['type']}", rules["relationship"])
        relationship.caption = _fill(rule["caption"], relationship.properties).strip() or relationship.caption
        if relationship.caption == "<type>":
            relationship.caption = relationship.properties["type"]
        relationship.width = 1
        weight = relationship.properties.get("weight")
        if isinstance(weight, int | float) and math.isfinite(weight):  # of another graph it may be anything
            relationship.width += 3 * min(1, max(0, weight))
    return picture


def _entities(values: list[Any]) -> Iterator[Entity]:
    """The nodes and relationships among values, those in lists and paths as well."""
    for value in values:
        if isinstance(value, Entity):
            yield value
        elif isinstance(value, Path):
            yield from value.nodes
        elif isinstance(value, list):
            yield from _entities(value)


def _fill(caption: str, properties: Mapping[str, Any]) -> str:
    """Put properties into a caption of Browser's style.

    >>> _fill("{role}: {content}", {"role": "user", "content": "Hello"})
    'user: Hello'
    """
    return _PLACE.sub(lambda place: str(properties.get(place[1], "")), caption)
