"""What a model is shown of the memory, and which part of its program may therefore be loaded.

A model may change and delete only what was recalled to it for this message, once it has seen that whole and as it is
now. Texts are written by strangers, and a model may obey them: an id that it guesses, or learns from an error, is one
that it may put at the end of an edge, and no more. What it wants beyond that is proposed to the user.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from memorygraph.budget import Budget
from memorygraph.context.labels import one_line
from memorygraph.context.prompt import ContextItem
from memorygraph.errors import Problem
from memorygraph.graph.elements import Edge, Node, as_text
from memorygraph.graph.namespace import Namespace, NamespaceTransaction, RunQuery
from memorygraph.graph.search import fold_name, spellings_row
from memorygraph.languages.contextscript import (
    ContextScriptProgram,
    Deletion,
    EdgeDeclaration,
    GraphStatement,
    NodeDeclaration,
    print_statement,
)
from memorygraph.memory.prompt_texts import PromptText, fit_texts
from memorygraph.memory.recall import OBSERVED, RecallHit, recall_hits
from memorygraph.memory.vectors import Embedder, embed_missing
from memorygraph.sentences import count_of

Element: TypeAlias = Node | Edge

CORRECTION_BUDGET = Budget.parse("20k")  # for what is stored under the ids of a program that is sent back
MAX_EDGES_PER_NODE = 8
NOT_RECALLED, NOT_SEEN, SAME_NAME = "not-shown", "not-seen", "same-name"  # codes of problems
REFUSED = frozenset({NOT_RECALLED, SAME_NAME})
"""The codes of what a model may not do, and may propose."""


class Wish(NamedTuple):
    """What a statement wants of an id: to declare it, or to delete it.

    Where it would be a second node of a name, `called` is this name: another name is another wish.
    """

    id: str
    deletes: bool
    called: str = ""


class LostElements(NamedTuple):
    """What the deletion of a node takes along: the ids that were recalled, how many others, and the id of one."""

    recalled: Sequence[str] = ()
    others: int = 0
    example: str | None = None

    def describe_others(self) -> str:
        """Say how much else is lost, for a message."""
        example = f", such as `{self.example}`" if self.example else ""
        return f"{count_of(self.others, 'node')}, edges and statements{example}"


class RelatedEdge(NamedTuple):
    """An edge, and what the nodes at its ends are called; one that only says whose an observation is, is `observed`."""

    edge: Edge
    source: str
    target: str
    observed: bool

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> RelatedEdge:
        """Read a row of the query."""
        fields = dict(row)
        source, target = as_text(fields.pop("from_name")), as_text(fields.pop("to_name"))
        edge = Edge(**fields)
        observed = edge.verb == OBSERVED and not target and edge.weight == 1.0
        return cls(edge, source or as_text(edge.from_node), target or as_text(edge.to_node), observed)


@dataclass(frozen=True)
class StoredElements:
    """What is stored now of the ids of a program, and what its deletions take along, by the id of the node.

    `alike` are the nodes whose names new nodes have, in any case, by the ids of the new ones.
    """

    elements: Mapping[str, Element]
    lost: Mapping[str, LostElements]
    alike: Mapping[str, Node] = field(default_factory=dict)


@dataclass(frozen=True)
class SplitProgram:
    """The part of a program that is loaded, and the statements that are only proposed."""

    loaded: ContextScriptProgram
    proposed: tuple[GraphStatement, ...] = ()


@dataclass(frozen=True)
class ShownMemory:
    """The recalled part of the memory, as a model is shown it."""

    hits: tuple[RecallHit, ...] = ()
    items: tuple[ContextItem, ...] = ()
    recalled: frozenset[str] = frozenset()  # ids of the nodes and edges that a program may change or delete
    seen: Mapping[str, Element] = field(default_factory=dict)  # what was shown whole, as it was then
    refused: frozenset[Wish] = frozenset()  # what the model was told that it may not do

    def find_problems(self, program: ContextScriptProgram, stored: StoredElements) -> dict[Wish, Problem]:
        """Find the changes and deletions in a program that the model may not make, and why."""
        problems: dict[Wish, Problem] = {}
        for statement in program.statements:
            found = self._find_problem(statement, stored)
            if found is not None:
                text, code = found
                span = program.argument_span(statement, statement.id_argument())
                wish = wish_to_call(statement) if code == SAME_NAME else wish_of(statement)
                problems.setdefault(wish, program.source.problem(text, code, span))
        return problems

    def _find_problem(self, statement: GraphStatement, stored: StoredElements) -> tuple[str, str] | None:
        """Say what is wrong with a change or a deletion, and its code."""
        id_ = wish_of(statement).id
        element = stored.elements.get(id_)
        like = stored.alike.get(id_) if element is None and isinstance(statement, NodeDeclaration) else None
        if like is not None:
            return _explain_same_name(id_, like), SAME_NAME
        return None if element is None or repeats(statement, element) else self._find_refusal(statement, stored)

    def _find_refusal(self, statement: GraphStatement, stored: StoredElements) -> tuple[str, str] | None:
        """Say why the model may not change or delete what is stored, and the code."""
        id_ = wish_of(statement).id
        element = stored.elements[id_]
        kind = "a node" if isinstance(element, Node) else "an edge"
        if id_ not in self.recalled and isinstance(statement, Deletion):
            return (
                f"`{id_}` was not recalled for this, and only what was recalled can be deleted; {_BEYOND}",
                NOT_RECALLED,
            )
        if id_ not in self.recalled:
            text = f"`{id_}` is already the id of {kind} that was not recalled for this, so that you cannot change it"
            return f"{text}: edges may end at it, and something else needs another id; {_BEYOND}", NOT_RECALLED
        lost = stored.lost.get(id_, NOTHING_LOST) if isinstance(statement, Deletion) else NOTHING_LOST
        if lost.others:
            text = f"deleting `{id_}` would delete more that was not recalled for this ({lost.describe_others()})"
            return f"{text}; {_BEYOND}", NOT_RECALLED
        for each in (id_, *lost.recalled):
            if self.seen.get(each) != (now := stored.elements.get(each)):
                kind = "a node" if isinstance(now, Node) else "an edge"
                text = f"`{each}` is already the id of {kind} that you have not seen as it is now"
                return f"{text}; keep what it says if you mean the same, and otherwise choose another id", NOT_SEEN
        return None

    def own_ids(self, program: ContextScriptProgram, stored: StoredElements) -> tuple[str, ...]:
        """List the ids of a program that are new or were recalled; it may repeat others as they are."""
        ids = dict.fromkeys(wish_of(statement).id for statement in program.statements)
        return tuple(id_ for id_ in ids if id_ in self.recalled or id_ not in stored.elements)

    def refuse(self, wishes: Collection[Wish]) -> ShownMemory:
        """Count as refused what the model may not do: where it stands in a program, it is only proposed."""
        return replace(self, refused=self.refused | frozenset(wishes))

    def split(self, program: ContextScriptProgram) -> SplitProgram:
        """Keep apart what the model was told that it may not do, with the edges that end there: it is proposed."""
        beyond = {
            wish.id
            for statement in program.statements
            if {wish := wish_of(statement), wish_to_call(statement)} & self.refused
            and not repeats(statement, self.seen.get(wish.id))
        }
        # The end of such an edge may be meant as the program declares it, and not as it is stored.
        edges = (statement for statement in program.statements if isinstance(statement, EdgeDeclaration))
        beyond |= {edge.edge_id for edge in edges if {edge.from_node, edge.to_node} & beyond}
        parts: dict[bool, list[GraphStatement]] = {False: [], True: []}
        for statement in program.statements:
            parts[wish_of(statement).id in beyond].append(statement)
        return SplitProgram(replace(program, statements=tuple(parts[False])), tuple(parts[True]))

    def correct(self, program: ContextScriptProgram, refused: Collection[Wish], run: RunQuery) -> ShownMemory:
        """Show what is stored under the ids of a program that is sent back, if the model has not seen it as it is."""
        stored = read_stored(run, program, self.recalled)
        # What is not recalled, and the program only deletes, is not shown at all.
        declared = {wish_of(statement).id for statement in program.statements if not isinstance(statement, Deletion)}
        unseen = {
            id_: element
            for id_, element in stored.elements.items()
            if self.seen.get(id_) != element and id_ in declared | self.recalled
        }
        texts = [PromptText(id_, f"stored as {id_}", print_element(element)) for id_, element in unseen.items()]
        items = fit_texts(texts, CORRECTION_BUDGET)
        whole = {text.id for text, item in zip(texts, items, strict=False) if not item.clipped}
        seen = {**self.seen, **{id_: unseen[id_] for id_ in whole}}
        return replace(self.refuse(refused), items=items, seen=seen)


NOTHING_LOST = LostElements()
_BEYOND = "leave this statement out, or write it once more to propose it to the user"


def _explain_same_name(identifier: str, like: Node) -> str:
    text = f"`{identifier}` would be a second node called {like.name}, did you mean `{like.id}`?"
    return f"{text} Use that id, or a name that tells the two apart; {_BEYOND}"


def show_memory(
    namespace: Namespace,
    text: str,
    budget: Budget,
    *,
    embedder: Embedder | None = None,
    also: Sequence[str] = (),
    own: Collection[str] = (),
    accept: Callable[[RecallHit], bool] = lambda _: True,
) -> ShownMemory:
    """Recall by a text within a budget, and then show the nodes and edges with the ids `also`.

    Of these, those that are `own` count as recalled.
    """
    if embedder is not None:  # what was written since the last recall, most of it by these very calls
        embed_missing(namespace, embedder)
    found = recall_hits(namespace, text, embedder=embedder).hits
    hits = tuple(hit for hit in found if isinstance(hit.id, str) and accept(hit))  # raw Cypher can store other ids
    nodes = [hit.id for hit in hits if hit.kind == "node"]
    elements = read_elements(namespace.read, {*nodes, *also})
    edges = read_edges(namespace, nodes)
    texts: list[PromptText] = []
    held: list[list[Element]] = []
    for hit in hits:
        if hit.kind == "message":
            texts.append(PromptText(hit.id, hit.label, hit.content))
            held.append([])
        elif hit.id in elements:
            label = " of ".join([hit.label, *hit.about[:1]])
            texts.append(show_node(label, elements[hit.id], edges[hit.id]))
            held.append([elements[hit.id], *(each.edge for each in edges[hit.id])])
    by_text = len(texts)
    for element in (elements[id_] for id_ in also if id_ in elements and id_ not in nodes):
        kind = "node" if isinstance(element, Node) else "edge"
        texts.append(PromptText(element.id, f"{kind} {element.id}", print_element(element)))
        held.append([element])
    items = fit_texts(texts, budget)
    shown = list(zip(items, held, strict=False))  # the budget cuts off the last
    seen = {element.id: element for item, found in shown if not item.clipped for element in found}
    recalled = {element.id for _, found in shown[:by_text] for element in found}
    recalled |= {element.id for _, found in shown[by_text:] for element in found if element.id in own}
    return ShownMemory(hits, items, frozenset(recalled), seen)


def read_stored(run: RunQuery, program: ContextScriptProgram, recalled: Collection[str]) -> StoredElements:
    """Read what is stored of the ids of a program, and what its deletions take along."""
    wishes = [wish_of(statement) for statement in program.statements]
    deleted = sorted({wish.id for wish in wishes if wish.deletes})
    lost = {}
    for row in run("remember/lost-with", ids=deleted, recalled=sorted(recalled)) if deleted else ():
        lost[row["id"]] = LostElements(row["recalled"], row["others"], row["example"])
    ids = {wish.id for wish in wishes}.union(*(each.recalled for each in lost.values()))
    return StoredElements(read_elements(run, ids), lost)


def find_alike_nodes(
    transaction: NamespaceTransaction, program: ContextScriptProgram, elements: Mapping[str, Element]
) -> dict[str, Node]:
    """Find the nodes whose names the new nodes of a program have, in any case: stored, or declared before in it."""
    declared = [each for each in program.statements if isinstance(each, NodeDeclaration) and each.name]
    names = dict.fromkeys(str(each.name) for each in declared if each.node_id not in elements)
    deleted = {statement.id for statement in program.statements if isinstance(statement, Deletion)}
    called: dict[str, Node] = {}
    rows = [spellings_row(name, transaction.namespace.name) for name in names]
    for row in transaction.run("merges/nodes-called", rows=rows) if rows else ():
        if row["id"] not in deleted:
            called.setdefault(fold_name(row["name"]), Node(row["id"], row["name"], ""))
    alike: dict[str, Node] = {}
    for each in declared:
        node = called.setdefault(fold_name(str(each.name)), Node(each.node_id, str(each.name), ""))
        if node.id != each.node_id:
            alike[each.node_id] = node
    return alike


def read_elements(run: RunQuery, ids: Collection[str]) -> dict[str, Element]:
    """Read the nodes and edges with these ids."""
    elements: dict[str, Element] = {}
    for row in run("remember/elements", ids=sorted(ids)) if ids else ():
        if row["kind"] == "node":
            elements[row["id"]] = Node(row["id"], row["name"], row["data"])
        else:
            elements[row["id"]] = Edge(row["id"], row["from_node"], row["to_node"], row["verb"], row["weight"])
    return elements


def read_edges(namespace: Namespace, nodes: Sequence[str]) -> dict[str, list[RelatedEdge]]:
    """Read the edges at these nodes, each under the first of the nodes that it touches.

    One that says whose an observation is, is under the observation, and left out where that is not among the nodes.
    """
    found: dict[str, list[RelatedEdge]] = {node: [] for node in nodes}
    rows = namespace.read("remember/edges-at", ids=list(nodes), fan=MAX_EDGES_PER_NODE) if nodes else ()
    for related in map(RelatedEdge.of, rows):
        ends = {related.edge.to_node} if related.observed else {related.edge.from_node, related.edge.to_node}
        # An edge between two recalled nodes is shown once, beside the better hit. One just deleted may have no ends.
        for first in [node for node in nodes if node in ends][:1]:
            found[first].append(related)
    return found


def show_node(label: str, node: Element, edges: Sequence[RelatedEdge]) -> PromptText:
    """Show a node and the edges at it: an observation under its id, as whose it is and what it says."""
    owners = [one_line(each.source) for each in edges if each.observed]
    text = print_element(node)
    if isinstance(node, Node) and owners and not node.name:
        label, text = f"node {node.id}", f"{' and '.join(owners)}: {as_text(node.data)}"
    lines = [text, *(print_edge(each, node.id) for each in edges if not each.observed)]
    return PromptText(node.id, label, "\n".join(lines))


def print_edge(related: RelatedEdge, node: str) -> str:
    """An edge below a node: its id, its other end and its weight as ContextScript, and what it says as a sentence."""
    edge = related.edge
    from_node, to_node = (edge.from_node, None) if edge.to_node == node else (None, edge.to_node)
    statement = EdgeDeclaration.model_construct(
        edge_id=edge.id, from_node=from_node, to_node=to_node, weight=edge.weight
    )
    return f"{print_statement(statement)} # {one_line(f'{related.source} {edge.verb} {related.target}')}"


def print_element(element: Element) -> str:
    """A node or an edge as ContextScript declares it."""
    if isinstance(element, Node):  # not validated: a model reads it, and no parser
        name, data = as_text(element.name), as_text(element.data)
        return print_statement(NodeDeclaration.model_construct(node_id=element.id, name=name, data=data))
    fields = {name: getattr(element, name) for name in ("from_node", "to_node", "verb", "weight")}
    return print_statement(EdgeDeclaration.model_construct(edge_id=element.id, **fields))


def wish_of(statement: GraphStatement) -> Wish:
    """The id that a statement declares or deletes."""
    return Wish(getattr(statement, statement.id_argument()), isinstance(statement, Deletion))


def wish_to_call(statement: GraphStatement) -> Wish:
    """The wish to declare a node of this name, in any case; of anything else, the id that it declares or deletes."""
    name = statement.name if isinstance(statement, NodeDeclaration) else None
    return wish_of(statement)._replace(called=str(name or "").lower())


def repeats(statement: GraphStatement, element: Element | None) -> bool:
    """Tell whether a declaration says only what is stored, so that it changes nothing."""
    kinds: dict[type, type[Element]] = {NodeDeclaration: Node, EdgeDeclaration: Edge}
    if element is None or kinds.get(type(statement)) is not type(element):
        return False
    stored = element.as_dict()
    own_id = statement.id_argument()
    return all(stored[name] == value for name, value in statement.given().items() if name != own_id)
