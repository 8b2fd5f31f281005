"""Random programs against a model in memory: the stored graph is what the language's rulings say.

The model is a plain dict and knows nothing of batches or Cypher. A program that the model refuses must be
refused by the database too, and change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorygraph import MemoryGraph, Problem, ScriptError
from memorygraph.graph.connection import Connection
from memorygraph.languages.contextscript import (
    Deletion,
    EdgeDeclaration,
    GraphStatement,
    NodeDeclaration,
    print_contextscript,
)
from tests.examples import FEWEST_GRAPHS, examples
from tests.shared_neo4j import new_namespace

IDS = st.sampled_from(["a", "b", "c", "d", "e"])
TEXTS = st.one_of(st.sampled_from(["", "A", "x y"]), st.text(max_size=5))
STRICT_TEXTS = st.text("abcXYZ019-_,.' ", max_size=8)


ENDS = st.sampled_from("abc")
EDGE_IDS = st.sampled_from("ef")
EDGES = st.builds(
    EdgeDeclaration, edge_id=EDGE_IDS, from_node=ENDS, to_node=ENDS, verb=st.just("w"), weight=st.just(0.5)
)
ALTERNATING = st.one_of(
    st.builds(Deletion, id=EDGE_IDS),
    st.builds(Deletion, id=EDGE_IDS),
    EDGES,
    EDGES,
    st.builds(EdgeDeclaration, edge_id=EDGE_IDS, to_node=ENDS),
    st.builds(NodeDeclaration, node_id=ENDS, name=st.just("N"), data=st.sampled_from(["", "new"])),
    st.builds(Deletion, id=ENDS),
)
"""Deletions of what is stored, most of them of edges, with declarations of the same ids in between."""


class RefusedError(Exception):
    """The model refuses a program."""


@dataclass
class Model:
    """A graph as two dicts."""

    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self, program: list[GraphStatement]) -> Model | None:
        """The graph after a program, or None if that is refused; this one stays as it is."""
        after = Model({k: dict(v) for k, v in self.nodes.items()}, {k: dict(v) for k, v in self.edges.items()})
        known = {*self.nodes, *self.edges}
        try:
            for statement in program:
                after._run(statement, known)
        except RefusedError:
            return None
        return after

    def _run(self, statement: GraphStatement, known: set[str]) -> None:
        given = statement.given()
        match statement:
            case NodeDeclaration():
                self._declare(self.nodes, self.edges, given.pop("node_id"), given, ("name", "data"), known)
            case EdgeDeclaration():
                ends = [given[end] for end in ("from_node", "to_node") if end in given]
                if any(end not in self.nodes for end in ends):
                    raise RefusedError
                needed = ("from_node", "to_node", "verb", "weight")
                self._declare(self.edges, self.nodes, given.pop("edge_id"), given, needed, known)
            case Deletion():
                if statement.id not in known:
                    raise RefusedError
                self.nodes.pop(statement.id, None)
                self.edges.pop(statement.id, None)
                gone = [e for e, edge in self.edges.items() if statement.id in (edge["from_node"], edge["to_node"])]
                for edge in gone:
                    del self.edges[edge]

    @staticmethod
    def _declare(
        own: dict[str, Any], other: dict[str, Any], identifier: str, given: dict[str, Any], needed: Any, known: set[str]
    ) -> None:
        if identifier in other or (identifier not in own and any(name not in given for name in needed)):
            raise RefusedError
        own.setdefault(identifier, {}).update(given)
        known.add(identifier)


def statements(texts: st.SearchStrategy[str]) -> st.SearchStrategy[GraphStatement]:
    maybe = st.none
    nodes = st.builds(
        NodeDeclaration, node_id=IDS, name=st.one_of(texts, texts, maybe()), data=st.one_of(texts, maybe())
    )
    weights = st.one_of(st.floats(0, 1), maybe())
    verbs = st.sampled_from(["likes", "v-1", None])
    ends = st.one_of(IDS, IDS, maybe())
    edges = st.builds(EdgeDeclaration, edge_id=IDS, from_node=ends, to_node=ends, verb=verbs, weight=weights)
    full = st.builds(NodeDeclaration, node_id=IDS, name=texts, data=texts)
    whole = st.builds(
        EdgeDeclaration, edge_id=IDS, from_node=IDS, to_node=IDS, verb=st.just("v"), weight=st.floats(0, 1)
    )
    return st.one_of(full, full, whole, whole, nodes, edges, st.builds(Deletion, id=IDS))


def expected(model: Model) -> str:
    """What an export of the graph says."""
    nodes = [NodeDeclaration(node_id=k, **v) for k, v in sorted(model.nodes.items())]
    edges = [EdgeDeclaration(edge_id=k, **v) for k, v in sorted(model.edges.items())]
    return print_contextscript([*nodes, *edges])


def _load(graph: MemoryGraph, text: str, *, strict: bool) -> list[Problem]:
    try:
        graph.load(text, strict=strict)
    except ScriptError as error:
        return error.problems
    return []


def _check(connection: Connection, programs: list[list[GraphStatement]], *, strict: bool) -> None:
    graph = MemoryGraph(connection, new_namespace())
    model = Model()
    for program in programs:
        after = model.run(program)
        problems = _load(graph, print_contextscript(program), strict=strict)
        assert (after is None) == bool(problems), problems
        model = after or model
        assert graph.export() == expected(model)


_SETTINGS = settings(
    max_examples=examples(60, FEWEST_GRAPHS),
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@_SETTINGS
@given(st.lists(st.lists(statements(TEXTS), max_size=12), min_size=1, max_size=3))
def test_the_stored_graph_is_that_of_the_model(connection: Connection, programs: list[list[GraphStatement]]) -> None:
    _check(connection, programs, strict=False)


@_SETTINGS
@given(st.lists(st.lists(statements(STRICT_TEXTS), max_size=12), min_size=1, max_size=3))
def test_so_it_is_in_the_strict_dialect(connection: Connection, programs: list[list[GraphStatement]]) -> None:
    _check(connection, programs, strict=True)


@_SETTINGS
@given(st.lists(ALTERNATING, min_size=20, max_size=40))
def test_a_program_stores_what_its_statements_store_one_after_the_other_and_is_undone_as_a_whole(
    connection: Connection, drawn: list[GraphStatement]
) -> None:
    base: list[GraphStatement] = [NodeDeclaration(node_id=node, name="N", data="") for node in "abc"]
    for edge, target in zip("ef", "bc", strict=True):
        base.append(EdgeDeclaration(edge_id=edge, from_node="a", to_node=target, verb="v", weight=1.0))
    model = Model().run(base) or Model()
    program: list[GraphStatement] = []
    for statement in drawn:
        if after := model.run([statement]):
            program.append(statement)
            model = after
    graph = MemoryGraph(connection, new_namespace())
    graph.load(print_contextscript(base))
    before = graph.export()
    graph.load(print_contextscript(program))
    assert graph.export() == expected(model)
    graph.undo(2)
    assert graph.export() == before
