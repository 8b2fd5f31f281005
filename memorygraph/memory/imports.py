"""The memories of others that can be imported, by the names of their formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.loads import LoadReport
from memorygraph.graph.namespace import Namespace
from memorygraph.memory.notes import import_notes
from memorygraph.memory.store_imports import import_mem0, import_store
from memorygraph.memory.transfer import import_server_memory

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
