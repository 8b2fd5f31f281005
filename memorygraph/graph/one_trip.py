"""A load of one declaration in one round trip.

What may be stored under its id is known beforehand: nothing, or an element of its kind, an edge with the same ends.
`load/load-node` and `load/load-edge` begin the load, and write what fits the one case or the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from memorygraph.compiler import Compiled, Stored
from memorygraph.languages.contextscript import ContextScriptProgram, EdgeDeclaration, NodeDeclaration


class OneTrip(NamedTuple):
    """The query that begins and writes a load, with its parameters beside those of the load itself."""

    query: str
    parameters: dict[str, Any]


def plan_one_trip(
    program: ContextScriptProgram, compile_on: Callable[[Stored], Compiled], token: str
) -> OneTrip | None:
    """Plan a load for one round trip, or return None where the program has more than one declaration.

    `compile_on` compiles the program as if this were stored.
    """
    match program.statements:
        case [NodeDeclaration(node_id=node)]:
            query, more = "load/load-node", {"namespace_token": token}
            absent, present = Stored(), Stored(frozenset((node,)))
        case [EdgeDeclaration(edge_id=edge, from_node=str(source), to_node=str(target))]:
            nodes = frozenset((source, target))
            query, more = "load/load-edge", {}
            absent, present = Stored(nodes), Stored(nodes, {edge: (source, target)})
        case _:
            return None
    cases: dict[str, dict[str, Any] | None] = {"absent": None, "present": None}
    row: dict[str, Any] = {}  # one for both cases: each reads the keys that it knows
    for name, stored in (("absent", absent), ("present", present)):
        compiled = compile_on(stored)
        if not compiled.problems and len(compiled.queries) == 1:
            edges = [[edge, *ends] for edge, ends in stored.edges.items()]
            cases[name] = {"nodes": sorted(stored.nodes), "edges": edges}
            row |= compiled.queries[0].parameters["rows"][0]
    return OneTrip(query, {**more, **cases, "rows": [row]}) if row else None
