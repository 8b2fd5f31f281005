"""A namespace's nodes and edges as text: ContextScript, JSON lines, or GraphML; what they can't say is counted.

GraphML is written here element by element, as it is read: a library such as networkx holds the whole graph first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, TextIO, TypeVar
from xml.etree import ElementTree

from pydantic import ValidationError

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.bad_elements import naming_bad_elements
from memorygraph.graph.disk_sort import TextSet
from memorygraph.graph.elements import Edge, Node, as_text, name_bad
from memorygraph.graph.losses import MAX_EXAMPLES, Losses
from memorygraph.graph.namespace import Namespace
from memorygraph.languages.contextscript import EdgeDeclaration, NodeDeclaration, print_statement

MAX_TRIES = 5
ALL_SECONDS = 3600.0  # a whole graph may be large, and its reader slow
IMPORT_PREFIX = "bundle-"
"""How the program of a checkpoint begins that says how far an import of a bundle came."""
Result = TypeVar("Result")

_GRAPHML_KEYS = (
    ("node", "name", "string"),
    ("node", "data", "string"),
    ("edge", "verb", "string"),
    ("edge", "weight", "double"),
)


def export(namespace: Namespace, file: TextIO, form: str = "contextscript") -> Losses:
    """Write a namespace's nodes and edges into an empty file, as of one moment, in the order of the ids.

    Returns what the format could not say, and what else the namespace holds.
    """
    left_out = Losses()

    def write() -> None:
        query = "read/all-edges-for-a-script" if form == "contextscript" else "read/all-edges"

        def sayable(rows: Iterator[dict[str, Any]]) -> Iterator[Edge]:
            for row in rows:
                if reason := row.pop("unsayable", None):
                    left_out.add(reason, row["id"])
                else:
                    yield Edge(**row)

        with (
            closing(namespace.stream("read/all-nodes", seconds=ALL_SECONDS)) as nodes,
            closing(namespace.stream(query, seconds=ALL_SECONDS)) as edges,
        ):
            found = (Node(**row) for row in nodes), sayable(edges)
            file.writelines(format_elements(form, *found, left_out, others=OTHER_FORMATS))
        for row in namespace.read("read/beyond-nodes-and-edges", limit=MAX_EXAMPLES, seconds=ALL_SECONDS):
            left_out.add_counted(row["what"], row["count"], row["examples"])

    def empty() -> None:
        file.seek(0)
        file.truncate()
        left_out.clear()

    read_at_rest(namespace, write, empty)
    return left_out


def read_at_rest(namespace: Namespace, read: Callable[[], Result], reset: Callable[[], None] = lambda: None) -> Result:
    """Return what `read` returns; when a load or a part of a forgetting was committed meanwhile, `reset` and repeat."""
    for _ in range(MAX_TRIES):
        before = find_moment(namespace)
        result = read()
        if find_moment(namespace) == before:
            return result
        reset()
    raise MemoryGraphError(f"namespace `{namespace}` changed during each of {MAX_TRIES} exports; try again later")


def find_moment(namespace: Namespace) -> list[dict[str, Any]]:
    """Find what each change changes; an import of a bundle, which does so with its first batch only, is refused."""
    if any(str(row["program"]).startswith(IMPORT_PREFIX) for row in namespace.read("load/checkpoints")):
        raise unfinished_import(namespace)
    return namespace.read("read/moment")


def unfinished_import(namespace: Namespace) -> MemoryGraphError:
    """Say that a namespace has a part of a bundle only."""
    return MemoryGraphError(
        f"a bundle is being imported into namespace `{namespace}`, or its import was interrupted: run that again to go "
        "on, or drop the namespace"
    )


def format_elements(
    form: str, nodes: Iterator[Node], edges: Iterator[Edge], left_out: Losses, others: Sequence[str] = ()
) -> Iterator[str]:
    """Format nodes and edges, piece by piece; `left_out` is told what the format cannot say.

    Raises:
        NotFoundError: there is no such format; the error names the `others` too that the caller has.
    """
    if form not in FORMATS:
        raise NotFoundError(f"no export format {form!r}; there are {', '.join((*FORMATS, *others))}")
    return FORMATS[form](nodes, edges, left_out)


def _contextscript(nodes: Iterator[Node], edges: Iterator[Edge], left_out: Losses) -> Iterator[str]:
    with closing(TextSet()) as missing, naming_bad_elements() as check:
        for node in nodes:
            arguments: dict[str, Any] = {"node_id": node.id, "name": node.name or "", "data": node.data or ""}
            line, wrong = _declare(NodeDeclaration, arguments)
            if wrong is not None:
                missing.add(node.id)
                left_out.add(f"nodes whose {wrong} is none of ContextScript", node.id)
            else:
                check("node", node.id, name=node.name, data=node.data)  # what is missing is declared as empty
            yield line
        for edge in edges:
            arguments = {"edge_id": edge.id, "from_node": edge.from_node, "to_node": edge.to_node}
            line, wrong = _declare(EdgeDeclaration, {**arguments, "verb": edge.verb, "weight": edge.weight})
            # What is not given is no error of a declaration, but one of a new edge.
            wrong = wrong or next((name for name in ("verb", "weight") if getattr(edge, name) is None), None)
            if wrong is not None:
                value = f" ({getattr(edge, wrong)})" if wrong in ("verb", "weight") else ""
                left_out.add(f"edges whose {wrong} is none of ContextScript", f"{edge.id}{value}")
            elif edge.from_node in missing or edge.to_node in missing:
                left_out.add("edges at nodes that are left out", edge.id)
            else:
                yield line


def _declare(statement: type[NodeDeclaration | EdgeDeclaration], arguments: dict[str, Any]) -> tuple[str, str | None]:
    """Return the line that declares an element; or the argument of a value that ContextScript does not have."""
    try:
        return print_statement(statement.model_validate(arguments)) + "\n", None
    except ValidationError as error:
        return "", {"node_id": "id", "edge_id": "id"}.get(name := str(error.errors()[0]["loc"][0]), name)


def _jsonl(nodes: Iterator[Node], edges: Iterator[Edge], _left_out: Losses) -> Iterator[str]:
    for kind, elements in (("node", name_bad(nodes)), ("edge", name_bad(edges))):
        for element in elements:
            yield json.dumps({"type": kind, **element.as_dict()}, ensure_ascii=False, default=str) + "\n"


def _graphml(nodes: Iterator[Node], edges: Iterator[Edge], left_out: Losses) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for kind, name, type_ in _GRAPHML_KEYS:
        yield _xml("key", {"id": name, "for": kind, "attr.name": name, "attr.type": type_})
    yield '<graph edgedefault="directed">\n'
    for node in name_bad(nodes):
        yield _xml("node", {"id": node.id}, {"name": node.name, "data": node.data})
    for edge in name_bad(edges):
        if not all(isinstance(end, str) for end in (edge.from_node, edge.to_node)):
            left_out.add("edges at nodes whose id is no text", edge.id)
            continue
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
OTHER_FORMATS = ("bundle", "server-memory")  # of a whole namespace as it is now, which are written elsewhere
