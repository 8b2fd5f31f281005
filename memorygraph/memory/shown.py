"""The part of the memory that a model is shown before it writes, and the check that it only changes what it has seen.

Nodes and edges are shown in ContextScript. A stored text is quoted there, so that a statement inside it is only text;
the context engine guards the labels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memorygraph.budget import Budget
from memorygraph.context.prompt import ContextItem, ContextSource, build_items
from memorygraph.errors import Problem
from memorygraph.graph.elements import Edge, Node
from memorygraph.graph.namespace import Namespace, RunQuery
from memorygraph.languages.contextscript import (
    ContextScriptProgram,
    Deletion,
    EdgeDeclaration,
    GraphStatement,
    NodeDeclaration,
    print_statement,
)
from memorygraph.memory.recall import Passage, RecallHit, fit_passages, recall_hits
from memorygraph.memory.vectors import Embedder

Element = Node | Edge
MAX_EDGES_PER_NODE = 8


@dataclass(frozen=True)
class ShownMemory:
    """The recalled part of the memory, as a model is shown it."""

    hits: tuple[RecallHit, ...] = ()
    items: tuple[ContextItem, ...] = ()
    elements: Mapping[str, Element] = field(default_factory=dict)  # that it has seen whole, as they were then
    deletable: frozenset[str] = frozenset()  # recalled, and not only shown because a program had an id of theirs

    def read_unseen(self, namespace: Namespace, program: ContextScriptProgram) -> dict[str, Element]:
        """What is stored under the ids that a program declares, if the model has not seen it as it is now."""
        # Not ids that the program only deletes: showing them would make them deletable without a recall.
        ids = {
            id_
            for id_, _, statement in touched_ids(program)
            if not isinstance(statement, Deletion) or id_ in self.deletable
        }
        stored = read_elements(namespace.read, ids) if ids else {}
        return {id_: element for id_, element in stored.items() if self.elements.get(id_) != element}

    def check(self, program: ContextScriptProgram, stored: Mapping[str, Element]) -> list[Problem]:
        """The changes and deletions in a program of elements that the model has not seen as they are `stored`."""
        problems: dict[str, Problem] = {}
        for id_, argument, statement in touched_ids(program):
            element = stored.get(id_)
            if element is None or id_ in problems:
                continue
            if isinstance(statement, Deletion) and id_ not in self.deletable:
                text = f"`{id_}` was not recalled for this, and only what was recalled can be deleted; leave it out"
                code = "not-shown"
            elif self.elements.get(id_) != element:
                kind = "a node" if isinstance(element, Node) else "an edge"
                text = (
                    f"`{id_}` is already the id of {kind} that you have not seen as it is now; keep what it says if "
                    "you mean the same, and otherwise choose another id"
                )
                code = "not-seen"
            else:
                continue
            problems[id_] = program.source.problem(text, code, program.argument_span(statement, argument))
        return list(problems.values())


def show_memory(
    namespace: Namespace,
    text: str,
    budget: Budget,
    *,
    embedder: Embedder | None = None,
    also: Sequence[str] = (),
    accept: Callable[[RecallHit], bool] = lambda _: True,
) -> ShownMemory:
    """Recall by a text within a budget, and then show the nodes and edges with the ids `also`."""
    hits = tuple(filter(accept, recall_hits(namespace, text, embedder=embedder).hits))
    nodes = [hit.id for hit in hits if hit.kind == "node"]
    elements = read_elements(namespace.read, {*nodes, *also})
    edges = read_edges(namespace, nodes)
    passages: list[tuple[Passage, list[Element]]] = []
    for hit in hits:
        held = [elements[hit.id], *edges[hit.id]] if hit.kind == "node" and hit.id in elements else []
        content = "\n".join(map(print_element, held)) if hit.kind == "node" else hit.content
        passages.append((Passage(hit.id, hit.label, content), held))
    for element in [elements[id_] for id_ in also if id_ in elements and id_ not in nodes]:
        kind = "node" if isinstance(element, Node) else "edge"
        passages.append((Passage(element.id, f"{kind} {element.id}", print_element(element)), [element]))
    items = fit_passages((passage for passage, _ in passages if passage.text), budget)
    whole = {item.origins[0] for item in items if item.origins and not item.clipped}
    shown = {element.id: element for passage, held in passages if passage.id in whole for element in held}
    recalled = {origin for item in items for origin in item.origins} & elements.keys()
    return ShownMemory(hits, items, shown, frozenset({*recalled, *shown}))


def read_elements(run: RunQuery, ids: Collection[str]) -> dict[str, Element]:
    """The nodes and edges with these ids."""
    elements: dict[str, Element] = {}
    for row in run("remember/elements", ids=sorted(ids)):
        if row["kind"] == "node":
            elements[row["id"]] = Node(row["id"], row["name"], row["data"])
        else:
            elements[row["id"]] = Edge(row["id"], row["from_node"], row["to_node"], row["verb"], row["weight"])
    return elements


def read_edges(namespace: Namespace, nodes: Sequence[str]) -> dict[str, list[Edge]]:
    """The edges at these nodes, each under the first of the nodes that it touches."""
    found: dict[str, list[Edge]] = {node: [] for node in nodes}
    rows = namespace.read("remember/edges-at", ids=list(nodes), fan=MAX_EDGES_PER_NODE) if nodes else ()
    for row in rows:
        edge = Edge(**row)
        # An edge between two recalled nodes is shown once, beside the better hit.
        first = next(node for node in nodes if node in {edge.from_node, edge.to_node})
        found[first].append(edge)
    return found


def print_element(element: Element) -> str:
    r"""A node or an edge as ContextScript declares it.

    >>> print_element(Node("ada", "Ada", 'Said "no".'))
    'Node(node_id="ada", name="Ada", data="Said \\"no\\".");'
    """
    if isinstance(element, Node):  # not validated: a model reads it, and no parser
        name, data = element.name or "", element.data or ""
        return print_statement(NodeDeclaration.model_construct(node_id=element.id, name=name, data=data))
    fields = {name: getattr(element, name) for name in ("from_node", "to_node", "verb", "weight")}
    return print_statement(EdgeDeclaration.model_construct(edge_id=element.id, **fields))


def number_items(sources: Iterable[ContextSource], start: int) -> tuple[ContextItem, ...]:
    """Items of a prompt, numbered from `start`."""
    return tuple(replace(item, index=start + item.index) for item in build_items(sources))


def touched_ids(program: ContextScriptProgram) -> Iterator[tuple[str, str, GraphStatement]]:
    """The ids that a program declares or deletes, each with its argument and its statement."""
    for statement in program.statements:
        match statement:
            case NodeDeclaration():
                yield statement.node_id, "node_id", statement
            case EdgeDeclaration():
                yield statement.edge_id, "edge_id", statement
            case Deletion():
                yield statement.id, "id", statement
