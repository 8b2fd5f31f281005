"""What a namespace knows about a text, as a model is shown it: nodes and edges in ContextScript, and messages.

In ContextScript a stored text is a text in quotes, so that a statement inside it is none; labels are guarded by the
context engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memorygraph.budget import Budget
from memorygraph.context.items import ContextItem, Source, build_items
from memorygraph.graph.elements import Edge, Node
from memorygraph.graph.namespace import Namespace
from memorygraph.languages.contextscript import EdgeDeclaration, NodeDeclaration, print_statement
from memorygraph.memory.fitting import Found, fit
from memorygraph.memory.recall import RecallHit, recall
from memorygraph.memory.vectors import Embedder
from memorygraph.query import Query

Element = Node | Edge
FAN = 8
"""At most so many edges of a node are shown."""


@dataclass(frozen=True)
class Known:
    """What a model is shown of the memory.

    `shown` are the nodes and edges that it has seen whole, as they were then; `deletable` are the ids of those that
    were recalled, whole or not, and did not come only because a program had an id of theirs.
    """

    hits: tuple[RecallHit, ...] = ()
    items: tuple[ContextItem, ...] = ()
    shown: Mapping[str, Element] = field(default_factory=dict)
    deletable: frozenset[str] = frozenset()

    def seen(self, elements: Mapping[str, Element]) -> Known:
        """The same, when these are shown too."""
        return replace(self, shown={**self.shown, **elements})


def known_about(
    namespace: Namespace,
    text: str,
    budget: Budget,
    *,
    embedder: Embedder | None = None,
    also: Sequence[str] = (),
    fits: Callable[[RecallHit], bool] = lambda _: True,
) -> Known:
    """What is known about a text, within a budget, and then the nodes and edges with the ids `also`.

    Raises:
        ModelError: the embedder failed.
        ConnectionError: the server cannot be reached.
    """
    hits = tuple(hit for hit in recall(namespace, text, embedder=embedder).hits if fits(hit))
    nodes = [hit.id for hit in hits if hit.kind == "node"]
    elements = elements_of(namespace.read(elements_query(namespace, {*nodes, *also})))
    edges = _edges_at(namespace, nodes)
    places = [_Place.of_hit(hit, elements, edges) for hit in hits]
    places += [_Place.of_element(elements[id_]) for id_ in also if id_ in elements and id_ not in nodes]
    items = fit((place.found for place in places if place.found.text), budget)
    shown = _shown_whole(places, items)
    recalled = {origin for item in items for origin in item.origins} & elements.keys()
    return Known(hits, items, shown, frozenset({*recalled, *shown}))


def elements_query(namespace: Namespace, ids: Collection[str]) -> Query:
    """What reads the nodes and edges with these ids."""
    return namespace.query("remember/elements", ids=sorted(ids))


def elements_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Element]:
    """The nodes and edges that were read, by their ids."""
    return {row["id"]: _element(row) for row in rows}


def items_of(sources: Iterable[Source], start: int) -> tuple[ContextItem, ...]:
    """Items of a prompt that stand behind others."""
    return tuple(replace(item, index=start + item.index) for item in build_items(sources))


def statement_of(element: Element) -> str:
    r"""A node or an edge as ContextScript declares it.

    What ContextScript could not say is printed all the same: it is read by a model, and by no parser.

    >>> statement_of(Node("ada", "Ada", 'Said "no".'))
    'Node(node_id="ada", name="Ada", data="Said \\"no\\".");'
    """
    if isinstance(element, Node):
        name, data = element.name or "", element.data or ""
        return print_statement(NodeDeclaration.model_construct(node_id=element.id, name=name, data=data))
    return print_statement(
        EdgeDeclaration.model_construct(
            edge_id=element.id,
            from_node=element.from_node,
            to_node=element.to_node,
            verb=element.verb,
            weight=element.weight,
        )
    )


def _element(row: Mapping[str, Any]) -> Element:
    if row["kind"] == "node":
        return Node(row["id"], row["name"], row["data"])
    return Edge(row["id"], row["from_node"], row["to_node"], row["verb"], row["weight"])


def _edges_at(namespace: Namespace, nodes: Sequence[str]) -> dict[str, list[Edge]]:
    """The edges at these nodes, each under the first of the nodes that it touches."""
    found: dict[str, list[Edge]] = {node: [] for node in nodes}
    if not nodes:
        return found
    for row in namespace.read("remember/edges-at", ids=list(nodes), fan=FAN):
        edge = Edge(**row)
        first = next(node for node in nodes if node in {edge.from_node, edge.to_node})
        found[first].append(edge)
    return found


@dataclass(frozen=True)
class _Place:
    """Something that shall be shown, and the nodes and edges that stand in it."""

    found: Found
    elements: tuple[Element, ...] = ()

    @classmethod
    def of_hit(cls, hit: RecallHit, elements: Mapping[str, Element], edges: Mapping[str, list[Edge]]) -> _Place:
        if hit.kind != "node":
            return cls(Found(hit.id, hit.label, hit.content))
        held = [elements[hit.id], *edges[hit.id]] if hit.id in elements else []
        return cls(Found(hit.id, hit.label, "\n".join(map(statement_of, held))), tuple(held))

    @classmethod
    def of_element(cls, element: Element) -> _Place:
        kind = "node" if isinstance(element, Node) else "edge"
        return cls(Found(element.id, f"{kind} {element.id}", statement_of(element)), (element,))


def _shown_whole(places: Iterable[_Place], items: Sequence[ContextItem]) -> dict[str, Element]:
    whole = {item.origins[0] for item in items if item.origins and not item.clipped}
    return {element.id: element for place in places if place.found.id in whole for element in place.elements}
