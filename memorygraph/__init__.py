"""A knowledge-graph memory server: scripts and conversations, compiled to Cypher, kept in Neo4j.

The names below are the public surface. Most are imported when they are first used, so that
`memorygraph --help` loads neither the Neo4j driver nor a parser.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memorygraph.errors import (
    ConflictError,
    ConnectionError,
    DownloadError,
    MemoryGraphError,
    ModelError,
    NotFoundError,
    Problem,
    ProgramError,
    QueryError,
    ScriptError,
)

if TYPE_CHECKING:
    from memorygraph.aio import AsyncMemoryGraph
    from memorygraph.client import MemoryGraph
    from memorygraph.graph.bad_elements import BadElementWarning
    from memorygraph.graph.connection import UnencryptedWarning
    from memorygraph.graph.elements import Edge, Hit, Neighbour, Node
    from memorygraph.graph.history import Change, Revision, Snapshot
    from memorygraph.graph.loads import LoadReport, Provenance
    from memorygraph.graph.schema import NewerSchemaWarning
    from memorygraph.limits import RunLimits
    from memorygraph.memory.recall import IndexingWarning, VectorWarning
    from memorygraph.messages.graph import MessageGraph
    from memorygraph.messages.message import Message
    from memorygraph.messages.record import Recorded
    from memorygraph.messages.recorder import RecordWarning
    from memorygraph.query import Query
    from memorygraph.runtime.convo.controller import (
        Conversation,
        ConvoGraphController,
        convo_graph,
        execute_convo_graph,
    )
    from memorygraph.runtime.runs import RunResult
    from memorygraph.server.embedded import EmbeddedServer

__all__ = [
    "AsyncMemoryGraph",
    "BadElementWarning",
    "Change",
    "ConflictError",
    "ConnectionError",
    "Conversation",
    "ConvoGraphController",
    "DownloadError",
    "Edge",
    "EmbeddedServer",
    "Hit",
    "IndexingWarning",
    "LoadReport",
    "MemoryGraph",
    "MemoryGraphError",
    "Message",
    "MessageGraph",
    "ModelError",
    "Neighbour",
    "NewerSchemaWarning",
    "Node",
    "NotFoundError",
    "Problem",
    "ProgramError",
    "Provenance",
    "Query",
    "QueryError",
    "RecordWarning",
    "Recorded",
    "Revision",
    "RunLimits",
    "RunResult",
    "ScriptError",
    "Snapshot",
    "UnencryptedWarning",
    "VectorWarning",
    "convo_graph",
    "execute_convo_graph",
]

_HOMES = {
    "memorygraph.aio": ("AsyncMemoryGraph",),
    "memorygraph.client": ("MemoryGraph",),
    "memorygraph.graph.elements": ("Edge", "Hit", "Neighbour", "Node"),
    "memorygraph.server.embedded": ("EmbeddedServer",),
    "memorygraph.graph.bad_elements": ("BadElementWarning",),
    "memorygraph.graph.connection": ("UnencryptedWarning",),
    "memorygraph.graph.history": ("Change", "Revision", "Snapshot"),
    "memorygraph.graph.loads": ("LoadReport", "Provenance"),
    "memorygraph.graph.schema": ("NewerSchemaWarning",),
    "memorygraph.limits": ("RunLimits",),
    "memorygraph.memory.recall": ("IndexingWarning", "VectorWarning"),
    "memorygraph.messages.graph": ("MessageGraph",),
    "memorygraph.messages.message": ("Message",),
    "memorygraph.messages.record": ("Recorded",),
    "memorygraph.messages.recorder": ("RecordWarning",),
    "memorygraph.query": ("Query",),
    "memorygraph.runtime.convo.controller": (
        "Conversation",
        "ConvoGraphController",
        "convo_graph",
        "execute_convo_graph",
    ),
    "memorygraph.runtime.runs": ("RunResult",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # a type checker would take it that there is every name

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
