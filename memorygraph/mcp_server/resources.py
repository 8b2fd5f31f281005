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
class GraphResource:
    """A part of the graph that has a URI, in which `{name}` stands for a parameter, and the function that reads it."""

    uri: str
    name: str
    title: str
    description: str
    read: Callable[..., str]
    mime_type: str = "application/json"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of its URIs."""
        return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/?#]+)", re.escape(self.uri)))

    def match(self, uri: str) -> dict[str, str] | None:
        """The parameters in a URI of this resource, or None."""
        match = self.pattern.fullmatch(uri)
        return {name: unquote(part) for name, part in match.groupdict().items()} if match else None

    @property
    def is_template(self) -> bool:
        """Whether the URI has a parameter."""
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


RESOURCES: list[GraphResource] = []
"""What a client can read, in the order in which it is listed; `@resource` adds each."""


def resource(
    uri: str, title: str, description: str, mime_type: str = "application/json"
) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Let clients read what a function returns; `{name}` in the URI is a parameter of it."""

    def register(read: Callable[..., str]) -> Callable[..., str]:
        name = uri.removeprefix("memory://").partition("/")[0]
        RESOURCES.append(GraphResource(uri, name, title, description, read, mime_type))
        return read

    return register


@resource(GRAPH_URI, "Knowledge Graph", "The knowledge graph with all entities and relations")
def read_knowledge_graph(graph: MemoryGraph) -> str:
    """Read all entities and relations, as far as they fit one answer."""
    return as_json(graph.entities.read_graph(max_tokens=GRAPH_TOKENS).as_dict())


@resource("memory://overview", "Overview", "The names and types of all entities")
def read_overview(graph: MemoryGraph) -> str:
    """Read the names and types of all entities."""
    return as_json(graph.entities.read_graph(max_tokens=DEFAULT_TOKENS, names_only=True).as_dict())


@resource(
    "memory://contextscript",
    "ContextScript",
    "How nodes and edges are written, for load_contextscript",
    "text/markdown",
)
def read_language(_: MemoryGraph) -> str:
    """Read how ContextScript is written."""
    return _LANGUAGE


@resource("memory://entity/{name}", "Entity", "An entity by its name, with its observations and relations")
def read_entity(graph: MemoryGraph, name: str) -> str:
    """Read one entity."""
    return as_json(graph.entities.open([name], max_tokens=DEFAULT_TOKENS).as_dict())


@resource("memory://node/{id}", "Node", "A node by its id")
def read_node(graph: MemoryGraph, id: str) -> str:  # noqa: A002 - the part of the URI
    """Read one node."""
    return as_json(graph.node(id).as_dict())


@resource("memory://conversation/{name}", "Conversation", "The messages of a conversation")
def read_conversation(graph: MemoryGraph, name: str) -> str:
    """Read the last messages of a conversation."""
    return show_conversation.run(graph, ShowConversationArguments(name=name)).text


def find(uri: str) -> tuple[GraphResource, dict[str, Any]] | None:
    """Find the resource of a URI, with the parameters in it, or None."""
    for each in RESOURCES:
        parts = each.match(uri)
        if parts is not None:
            return each, parts
    return None
