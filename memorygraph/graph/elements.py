"""Nodes, edges, neighbours and search hits as values, and the reads that return them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from memorygraph.compiler import describe_ambiguity
from memorygraph.errors import ConflictError
from memorygraph.graph.bad_elements import naming_bad_elements
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.graph.search import fuzzy_query, lucene_query

OWNERS = 3  # names that are said of an observation


@dataclass(frozen=True)
class Node:
    """A concept of the graph."""

    id: str
    name: str
    data: str

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return asdict(self)


@dataclass(frozen=True)
class Edge:
    """A relation between two nodes; `weight` lies between 0.0 and 1.0."""

    id: str
    from_node: str
    to_node: str
    verb: str
    weight: float

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return asdict(self)


@dataclass(frozen=True)
class Neighbour(Node):
    """A node near another: `distance` edges away, reached by `edges` from nodes that are nearer."""

    distance: int
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Hit:
    """A node that a search found; `source` says how: `fulltext`. A higher score is a better match.

    An observation, which has no name, has the names of what it is `about`.
    """

    node: Node
    score: float
    source: str
    about: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the node."""
        return self.node.id

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        found = {**self.node.as_dict(), "score": self.score, "source": self.source}
        return {**found, "about": self.about} if self.about else found


def as_text(value: Any) -> str:
    """A stored name or text as text: raw Cypher can store a number or a list as well, or nothing.

    >>> as_text("tea"), as_text(None), as_text(["tea", 7])
    ('tea', '', '["tea", 7]')
    """
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


Element = TypeVar("Element", bound=Node | Edge)


def name_bad(elements: Iterable[Element]) -> Iterator[Element]:
    """Pass elements on, and name those with a value that none has, such as a weight of 7.5."""
    with naming_bad_elements() as check:
        for element in elements:
            if isinstance(element, Node):
                check("node", element.id, name=element.name, data=element.data)
            else:
                check("edge", element.id, verb=element.verb, weight=element.weight)
            yield element


def find_node(namespace: Namespace, identifier: str) -> Node | None:
    """Find the node with this id."""
    rows = namespace.read("read/node", id=identifier)
    return next(name_bad(Node(**row) for row in rows), None)


def find_edge(namespace: Namespace, identifier: str) -> Edge | None:
    """Find the edge with this id."""
    rows = namespace.read("read/edge", id=identifier)
    return next(name_bad(Edge(**row) for row in rows), None)


@contextmanager
def explaining_ambiguity(namespace: Namespace, identifiers: Iterable[str]) -> Iterator[None]:
    """Say of a conflict in the block that an id is that of a node and of an edge, where one of these is.

    Raw Cypher can make such an edge. If it is at the node, both would have the same former state.

    Raises:
        ConflictError: the block raises one.
    """
    try:
        yield
    except ConflictError:
        for identifier in identifiers:
            node, edge = find_node(namespace, identifier), find_edge(namespace, identifier)
            if node and edge:
                raise ambiguity_of(identifier, node, edge) from None
        raise


def ambiguity_of(identifier: str, node: Node, edge: Edge) -> ConflictError:
    """The error for an id that is that of a node and of an edge."""
    joined = f"`{edge.from_node}` {edge.verb} `{edge.to_node}`"
    return ConflictError(describe_ambiguity(identifier, f'"{node.name}"', joined))


def list_aliases(namespace: Namespace, identifier: str) -> list[str]:
    """List what a node is called beside its name, each once."""
    return list(dict.fromkeys(row["name"] for row in namespace.read("merges/aliases-of", ids=[identifier])))


def search(namespace: Namespace, text: str, limit: int, *, fuzzy: bool = False) -> list[Hit]:
    """Find the nodes whose name or data hold words of the text, best first; any text is a valid search."""
    return read_hits(namespace, (fuzzy_query if fuzzy else lucene_query)(text, namespace.name), limit)


def suggest(namespace: Namespace, words: str, limit: int) -> list[str]:
    """Find names spelled almost like words that no node has."""
    if read_hits(namespace, lucene_query(words, namespace.name), 1):
        return []
    alike = read_hits(namespace, fuzzy_query(words, namespace.name, {"name": 1}), limit)
    return list(dict.fromkeys(hit.node.name for hit in alike))


def read_hits(namespace: Namespace, terms: str | None, limit: int) -> list[Hit]:
    """Read the nodes that a Lucene query finds, best first; None finds nothing."""
    if terms is None:
        return []
    rows = namespace.read("read/search-nodes", terms=terms, limit=limit, owners=OWNERS)
    nodes = name_bad(Node(row["id"], row["name"], row["data"]) for row in rows)
    return [
        Hit(node, row["score"], "fulltext", tuple(map(as_text, row["owners"])))
        for node, row in zip(nodes, rows, strict=True)
    ]


def find_neighbours(namespace: Namespace, identifier: str, depth: int) -> list[Neighbour]:
    """Find the nodes at most `depth` edges away, in or out, nearest first."""

    def walk(transaction: NamespaceTransaction) -> list[Neighbour]:
        seen, level, found = set[str](), [identifier], list[Neighbour]()
        # One query for two levels, because most questions end there.
        near = transaction.run("read/edges-within-two", id=identifier) if depth > 1 else []
        for distance in range(1, depth + 1):
            if distance <= 2 <= depth:
                rows = [row for row in near if row["step"] == distance]
            else:
                rows = transaction.run("read/edges-of-nodes", ids=level)
            reached = _collect_level([row for row in rows if row["other_id"] != identifier], seen, distance)
            if not reached:
                break
            found += reached
            level = [neighbour.id for neighbour in reached]
        return found

    found = namespace.read_with(walk)
    with naming_bad_elements() as check:
        for near in found:
            check("node", near.id, name=near.name, data=near.data)
            for edge in near.edges:
                check("edge", edge.id, verb=edge.verb, weight=edge.weight)
    return found


def _collect_level(rows: list[dict[str, Any]], seen: set[str], distance: int) -> list[Neighbour]:
    # By Neo4j's own ids: raw Cypher can make nodes without an id.
    found: dict[str, Neighbour] = {}
    for row in rows:
        if (other := row["other_element"]) not in seen:
            edges = tuple(Edge(**edge) for edge in row["edges"])
            found[other] = Neighbour(row["other_id"], row["other_name"], row["other_data"], distance, edges)
    seen.update(found)
    return [found[other] for other in sorted(found, key=lambda other: (as_text(found[other].id), other))]
