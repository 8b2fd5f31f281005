"""A namespace as text: ContextScript, which loads back to the same graph, JSON lines, or GraphML."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import TextIO, TypeVar
from xml.etree import ElementTree

from pydantic import ValidationError

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.elements import Edge, Node, as_text
from memorygraph.graph.namespace import Namespace
from memorygraph.languages.contextscript import EdgeDeclaration, NodeDeclaration, print_statement

MAX_TRIES = 5
ALL_SECONDS = 3600.0  # a whole graph may be large, and its reader slow
Result = TypeVar("Result")

_GRAPHML_KEYS = (
    ("node", "name", "string"),
    ("node", "data", "string"),
    ("edge", "verb", "string"),
    ("edge", "weight", "double"),
)


def export(namespace: Namespace, file: TextIO, form: str = "contextscript") -> None:
    """Write a namespace into an empty file, as of one moment, in the order of the ids."""

    def write() -> None:
        with (
            closing(namespace.stream("read/all-nodes", seconds=ALL_SECONDS)) as nodes,
            closing(namespace.stream("read/all-edges", seconds=ALL_SECONDS)) as edges,
        ):
            file.writelines(format_elements(form, (Node(**row) for row in nodes), (Edge(**row) for row in edges)))

    def empty() -> None:
        file.seek(0)
        file.truncate()

    read_at_rest(namespace, write, empty)


def read_at_rest(namespace: Namespace, read: Callable[[], Result], reset: Callable[[], None] = lambda: None) -> Result:
    """Return what `read` returns; when a load was committed meanwhile, `reset` and read again."""
    for _ in range(MAX_TRIES):
        before = namespace.read("read/revision")
        result = read()
        if namespace.read("read/revision") == before:
            return result
        reset()
    raise MemoryGraphError(f"namespace `{namespace}` changed during each of {MAX_TRIES} exports; try again later")


def format_elements(form: str, nodes: Iterator[Node], edges: Iterator[Edge]) -> Iterator[str]:
    """Format nodes and edges, piece by piece."""
    if form not in FORMATS:
        raise NotFoundError(f"no export format {form!r}; there are {', '.join(FORMATS)}")
    return FORMATS[form](nodes, edges)


def _contextscript(nodes: Iterator[Node], edges: Iterator[Edge]) -> Iterator[str]:
    for node in nodes:
        yield _declare(NodeDeclaration, node, node_id=node.id, name=node.name or "", data=node.data or "")
    for edge in edges:
        ends = {"from_node": edge.from_node, "to_node": edge.to_node}
        yield _declare(EdgeDeclaration, edge, edge_id=edge.id, **ends, verb=edge.verb, weight=edge.weight)


def _declare(statement: type[NodeDeclaration | EdgeDeclaration], element: Node | Edge, **arguments: str | float) -> str:
    try:
        return print_statement(statement.model_validate(arguments)) + "\n"
    except ValidationError as error:
        argument = str(error.errors()[0]["loc"][0])
        raise MemoryGraphError(
            f"`{element.id}` has the {argument} {arguments[argument]!r}, which cannot be said in ContextScript; "
            "export it with --format jsonl"
        ) from None


def _jsonl(nodes: Iterator[Node], edges: Iterator[Edge]) -> Iterator[str]:
    for kind, elements in (("node", nodes), ("edge", edges)):
        for element in elements:
            yield json.dumps({"type": kind, **element.as_dict()}, ensure_ascii=False, default=str) + "\n"


def _graphml(nodes: Iterator[Node], edges: Iterator[Edge]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for kind, name, type_ in _GRAPHML_KEYS:
        yield _xml("key", {"id": name, "for": kind, "attr.name": name, "attr.type": type_})
    yield '<graph edgedefault="directed">\n'
    for node in nodes:
        yield _xml("node", {"id": node.id}, {"name": node.name, "data": node.data})
    for edge in edges:
        ends = {"id": edge.id, "source": edge.from_node, "target": edge.to_node}
        yield _xml("edge", ends, {"verb": edge.verb, "weight": str(edge.weight)})
    yield "</graph>\n</graphml>\n"


def _xml(kind: str, attributes: dict[str, str], data: Mapping[str, str] | None = None) -> str:
    element = ElementTree.Element(kind, attributes)
    for name, stored in (data or {}).items():
        value = as_text(stored)
        # XML 1.0 has no other control characters; a carriage return would come back as a line feed.
        if not all(c in "\t\n" or (c >= " " and c not in "\ufffe\uffff") for c in value):
            raise MemoryGraphError(
                f"`{attributes['id']}` holds a character that XML cannot; export it with --format jsonl"
            )
        ElementTree.SubElement(element, "data", {"key": name}).text = value
    return ElementTree.tostring(element, encoding="unicode") + "\n"


FORMATS = {"contextscript": _contextscript, "jsonl": _jsonl, "graphml": _graphml}
