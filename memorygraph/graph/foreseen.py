"""Loads in one round trip: of a program with one declaration, what may be stored can be foreseen.

Either nothing has the declared id yet, or what has it is of its kind, and an edge has the ends that it is given. What
the load would write in each case goes to the server with the opening of the load, and the server takes what fits. Where
neither does, the load is only open, and goes on as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from memorygraph.compiler import Compiled, Stored
from memorygraph.languages.contextscript import EdgeDeclaration, NodeDeclaration, Program
from memorygraph.library import CYPHER
from memorygraph.query import Query


@dataclass(frozen=True)
class Case:
    """What may be stored, and the one query that writes the program then."""

    stored: Stored
    query: Query


def foreseen(program: Program, compiled: Callable[[Stored], Compiled]) -> list[Case]:
    """The cases of a program that takes a single query in each; `compiled` is the program as it is in one."""
    found = ((stored, compiled(stored)) for stored in _possible(program))
    return [Case(stored, made.queries[0]) for stored, made in found if len(made.queries) == 1 and not made.problems]


def _possible(program: Program) -> Iterator[Stored]:
    """What may be stored of the ids of a program that can be written whatever it is: absent, or there to be changed."""
    match program.statements:
        case [NodeDeclaration(node_id=node)]:
            yield Stored()
            yield Stored(frozenset((node,)))
        case [EdgeDeclaration(edge_id=edge, from_node=str(source), to_node=str(target))]:
            nodes = frozenset((source, target))
            yield Stored(nodes)
            yield Stored(nodes, {edge: (source, target)})


def opening(begin: Query, cases: Sequence[Case], with_record: Callable[[Query], Query]) -> Query:
    """The query that opens a load and writes it, if it is one of at most two cases, with its record.

    The queries of the cases share their parameters, so the rows say for each element what either has to know.
    """
    if not cases:
        return begin
    parts = [case.query.parameters["rows"] for case in cases]
    rows = [{name: value for row in same for name, value in row.items()} for same in zip(*parts, strict=True)]
    queries = [with_record(replace(case.query, parameters={**case.query.parameters, "rows": rows})) for case in cases]
    first, second = [*map(_as_found, cases), None][:2]
    return CYPHER["load/foreseen-load"].around(begin, *queries, *[None] * (2 - len(cases)), first=first, second=second)


def _as_found(case: Case) -> dict[str, list[object]]:
    edges: list[object] = [[edge, *ends] for edge, ends in case.stored.edges.items()]
    return {"nodes": [*sorted(case.stored.nodes)], "edges": edges}
