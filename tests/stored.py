"""All that is stored of a namespace, to hold that a change was taken back as a whole."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from memorygraph import MemoryGraph

_NODES = """
MATCH (n {namespace: $namespace})
WHERE NOT n:Former AND NOT n:Load
RETURN labels(n) AS labels, n {.*, since: null} AS properties
"""

_RELATIONSHIPS = """
MATCH (n {namespace: $namespace})-[r]->(m)
WHERE NOT n:Former AND NOT m:Former AND NOT n:Load
RETURN type(r) AS type, r {.*, since: null} AS properties, n.id AS source, m.id AS target
"""


def everything(graph: MemoryGraph, without: Collection[str] = ()) -> list[Any]:
    """All that a namespace holds beside its history, whenever it was stored, but for properties of these names."""
    nodes, relationships = graph.query(_NODES), graph.query(_RELATIONSHIPS)
    for row in nodes:
        for name in without:
            row["properties"].pop(name, None)
    return [
        sorted(rows, key=lambda row: json.dumps(row, sort_keys=True, default=str)) for rows in (nodes, relationships)
    ]
