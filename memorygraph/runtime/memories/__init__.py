"""The memories that a program can import, one module for each kind.

| URI | where the records are | methods |
|---|---|---|
| `file://facts.jsonl` | a file, one line of JSON for each | `add(record)` `query(filter?)` |
| `sqlite://facts.db#topic` | a table in an SQLite file | `add(record)` `query(filter?)` |
| `neo4j://NAMESPACE` | nodes of the knowledge graph | these, and `recall(text, limit?)` |

`add` gives the record in its envelope, `{id, created_at, updated_at, record}`; `query` gives a list of envelopes,
newest first; a filter is `{kind, text, where, limit}`, 10 records unless `limit` says otherwise.
"""

from __future__ import annotations

from pathlib import Path

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.loads import Provenance
from memorygraph.runtime.imports import redact_uri
from memorygraph.runtime.memories.graph import GraphClient, GraphMemory
from memorygraph.runtime.memories.jsonl import JsonlMemory
from memorygraph.runtime.memories.memory import ImportedMemory, MemoryFailure
from memorygraph.runtime.memories.sqlite import SqliteMemory
from memorygraph.runtime.permissions import Permissions, Refused

__all__ = ["GraphClient", "ImportedMemory", "MemoryFailure", "open_memory"]


def open_memory(
    name: str,
    uri: str,
    folder: Path,
    graph: GraphClient | None,
    permissions: Permissions = Permissions(),  # noqa: B008 - it is frozen
    provenance: Provenance | None = None,
) -> ImportedMemory:
    """Make the memory that a URI names; `folder` is that of the script. Nothing is opened before its first call.

    `provenance` says who asks for what is written to the graph.
    """
    permissions.require_memory(name, uri)
    scheme, separator, rest = uri.partition("://")
    try:
        if separator and scheme == "file":
            return JsonlMemory(name, uri, rest, folder, permissions)
        if separator and scheme == "sqlite":
            return SqliteMemory(name, uri, rest, folder, permissions)
        if separator and scheme == "neo4j":
            return GraphMemory(name, uri, rest, graph, permissions, provenance)
    except Refused:
        raise
    except MemoryGraphError as error:
        raise MemoryGraphError(f"the memory `{name}` cannot be at `{redact_uri(uri)}`: {error}") from None
    raise MemoryGraphError(
        f"the memory `{name}` cannot be at `{redact_uri(uri)}`; write `neo4j://NAMESPACE`, `file://NAME.jsonl` "
        "or `sqlite://NAME.db#TOPIC`"
    )
