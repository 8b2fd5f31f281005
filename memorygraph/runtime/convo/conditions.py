"""How people read a route: where it can lead, of what kind its condition is, and how the source writes that."""

from __future__ import annotations

from memorygraph.errors import Source
from memorygraph.runtime.convo.graph import AUTO, NEXT, Always, Asked, Graph, Node, Route

EXIT = "exit"
"""What the way out of a graph is called."""


def targets_of(graph: Graph, node: Node, route: Route) -> list[str]:
    """The nodes to which a route can lead, or the exit."""
    if route.target is None:
        return [EXIT]
    if route.target == AUTO:
        return [id_ for id_ in (route.candidates or graph.nodes) if id_ != node.id]
    return [graph.following(node.id) or EXIT] if route.target == NEXT else [route.target]


def kind_of(route: Route) -> str:
    """`always`, `auto`, `natural language` or `code`."""
    if route.target == AUTO:
        return "auto"
    if isinstance(route.condition, Always):
        return "always"
    return "natural language" if isinstance(route.condition, Asked) else "code"


def condition_of(route: Route, source: Source) -> str:
    """The condition on one line; empty where there is none."""
    if isinstance(route.condition, Always):
        return ""
    written = source.text[route.span.start : route.span.end]
    if isinstance(route.condition, Asked):
        parts = (part if isinstance(part, str) else "{{…}}" for part in route.condition.text.parts)
        written = "".join(parts)
    elif written.lstrip().startswith("@"):
        written = written.partition("=")[2]
    else:
        written = written.partition("\n")[2]
    return " ".join(written.split())
