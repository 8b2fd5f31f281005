"""What a client can read without a tool: the graph, an overview of it, a node, a conversation, and the language."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mcp_types import Resource, ResourceTemplate

from memorygraph.mcp_server.graph_tools import ShowConversationArguments, show_conversation
from memorygraph.mcp_server.tools import DEFAULT_TOKENS
from memorygraph.memory.entities import Entities
from memorygraph.memory.pages import as_json

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph

GRAPH_URI = "memory://knowledge-graph"
GRAPH_TOKENS = 4 * DEFAULT_TOKENS

_LANGUAGE = """\
ContextScript declares the nodes and edges of a graph. A program is stored whole, or not at all.

    Node(node_id="ada", name="Ada Lovelace", data="She wrote the first program.");
    Node(node_id="engine", name="Analytical Engine", data="");
    Edge(edge_id="ada-engine", from_node="ada", to_node="engine", verb="programmed", weight=0.9);
    del(id="ada-engine");

- An id is made of letters, digits, `_` and `-`. It belongs to one node or one edge. Edges name ids, not names.
- A node is declared before the edges at it. A new one needs all three arguments, an edge all five.
- To declare an id again is to update it: what is left out stays. A weight lies between 0.0 and 1.0.
- In a string `"` is `\\"`, a backslash is `\\\\`, and a line break may be `\\n`. `#` begins a comment.
- `del` of a node deletes its edges too.
"""


@dataclass(frozen=True)
class Readable:
    """Something to be read: its URI, in which `{name}` stands for a part, and what reads it."""

    uri: str
    name: str
    title: str
    description: str
    read: Callable[..., str]
    mime_type: str = "application/json"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What the URIs of this look like."""
        return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/?#]+)", re.escape(self.uri)))

    def match(self, uri: str) -> dict[str, str] | None:
        """The parts of a URI of this, or None."""
        match = self.pattern.fullmatch(uri)
        return {name: unquote(part) for name, part in match.groupdict().items()} if match else None

    @property
    def is_template(self) -> bool:
        """Whether it stands for many."""
        return "{" in self.uri

    def described(self) -> Resource:
        """The resource as a client lists it."""
        return Resource(
            uri=self.uri,
            name=self.name,
            title=self.title,
            description=self.description,
            mime_type=self.mime_type,
        )

    def described_template(self) -> ResourceTemplate:
        """The template as a client lists it."""
        return ResourceTemplate(
            uri_template=self.uri,
            name=self.name,
            title=self.title,
            description=self.description,
            mime_type=self.mime_type,
        )


def _graph(graph: MemoryGraph) -> str:
    return as_json(Entities(graph.scope).read_graph(max_tokens=GRAPH_TOKENS).as_dict())


def _overview(graph: MemoryGraph) -> str:
    return as_json(Entities(graph.scope).read_graph(max_tokens=DEFAULT_TOKENS, names_only=True).as_dict())


def _entity(graph: MemoryGraph, name: str) -> str:
    return as_json(Entities(graph.scope).open([name], max_tokens=DEFAULT_TOKENS).as_dict())


def _node(graph: MemoryGraph, id: str) -> str:  # noqa: A002 - the part of the URI
    return as_json(graph.node(id).as_dict())


def _conversation(graph: MemoryGraph, name: str) -> str:
    return show_conversation(graph, ShowConversationArguments(name=name)).text


def _language(_: MemoryGraph) -> str:
    return _LANGUAGE


RESOURCES = (
    Readable(
        GRAPH_URI, "knowledge-graph", "Knowledge Graph", "The knowledge graph with all entities and relations", _graph
    ),
    Readable("memory://overview", "overview", "Overview", "The names and types of all entities", _overview),
    Readable(
        "memory://contextscript",
        "contextscript",
        "ContextScript",
        "How nodes and edges are written, for load_contextscript",
        _language,
        "text/markdown",
    ),
    Readable(
        "memory://entity/{name}",
        "entity",
        "Entity",
        "An entity by its name, with its observations and relations",
        _entity,
    ),
    Readable("memory://node/{id}", "node", "Node", "A node by its id", _node),
    Readable(
        "memory://conversation/{name}", "conversation", "Conversation", "The messages of a conversation", _conversation
    ),
)


def find(uri: str) -> tuple[Readable, dict[str, Any]] | None:
    """What a URI means, with the parts that it names, or None."""
    for each in RESOURCES:
        parts = each.match(uri)
        if parts is not None:
            return each, parts
    return None
