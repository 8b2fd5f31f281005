"""All that is stored of a namespace, to hold that a change was taken back as a whole."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from memorygraph import MemoryGraph

# One walk through the whole database, which holds what all tests have stored.
_ALL = """
MATCH (n {namespace: $namespace})
WHERE NOT n:Former AND NOT n:Load
RETURN labels(n) AS labels, n {.*, since: null} AS properties, COLLECT {
    MATCH (n)-[r]->(m)
    WHERE NOT m:Former
    RETURN {type: type(r), properties: r {.*, since: null}, source: n.id, target: m.id}
} AS relationships
"""


def everything(graph: MemoryGraph, without: Collection[str] = ()) -> list[Any]:
    """All that a namespace holds beside its history, whenever it was stored, but for properties of these names."""
    nodes = graph.query(_ALL)
    relationships = [relationship for row in nodes for relationship in row.pop("relationships")]
    for row in nodes:
        for name in without:
            row["properties"].pop(name, None)
    return [
        sorted(rows, key=lambda row: json.dumps(row, sort_keys=True, default=str)) for rows in (nodes, relationships)
    ]
