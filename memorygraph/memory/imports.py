"""The memories of others that can be imported or adopted, by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.loads import LoadReport
from memorygraph.graph.namespace import Namespace
from memorygraph.memory.graphiti import adopt_graphiti
from memorygraph.memory.notes import import_notes
from memorygraph.memory.store_imports import import_mem0, import_store
from memorygraph.memory.transfer import adopt_neo4j_memory, import_server_memory

NEO4J_MEMORY, GRAPHITI = "mcp-neo4j-memory", "graphiti"

FORMATS: Mapping[str, Callable[[Namespace, str | Path], LoadReport]] = {
    "server-memory": import_server_memory,
    "mem0": import_mem0,
    "langgraph-store": import_store,
    "basic-memory": import_notes,
}


def import_foreign(namespace: Namespace, path: str | Path, format_: str) -> LoadReport:
    """Read the memory of another into a namespace.

    Raises:
        MemoryGraphError: no format has this name.
    """
    if format_ not in FORMATS:
        raise MemoryGraphError(f"there is no format `{format_}` to import; there are: {', '.join(FORMATS)}")
    return FORMATS[format_](namespace, path)


def adopt_foreign(namespace: Namespace, source: str, groups: Sequence[str]) -> LoadReport:
    """Read the graph of another memory in the same database into a namespace.

    Raises:
        MemoryGraphError: no source has this name, or it has no groups.
    """
    if source == GRAPHITI:
        return adopt_graphiti(namespace, groups)
    if source != NEO4J_MEMORY:
        raise MemoryGraphError(f"there is no `{source}` to adopt from; there are: {NEO4J_MEMORY}, {GRAPHITI}")
    if groups:
        raise MemoryGraphError(f"groups are of {GRAPHITI}, and {NEO4J_MEMORY} has none")
    return adopt_neo4j_memory(namespace)
