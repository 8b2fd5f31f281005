"""Programs that replace the whole content of a namespace round by round, and what is stored after each statement.

Every round changes every element, so that no mixture of two rounds can be taken for one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from memorygraph import MemoryGraph

World = dict[str, tuple[Any, ...]]
"""What is stored under each id: name and data of a node, or ends, verb and weight of an edge."""

NODES = 12


class Statement(NamedTuple):
    """A statement of ContextScript, and what it leaves under its id: nothing where it deletes."""

    text: str
    id: str
    value: tuple[Any, ...] | None


def statements(round_: int, nodes: int = NODES) -> list[Statement]:
    """The program of a round: it updates nodes and edges, deletes what the round before added, and adds that anew."""
    program = [_node(f"n{i}", f"round {round_}") for i in range(nodes)]
    program += [_edge(f"e{i}", f"n{i}", f"n{(i + round_) % nodes}", round_ % 10 / 10) for i in range(nodes)]
    if round_:
        program.append(Statement(f'del(id="extra{round_ - 1}");', f"extra{round_ - 1}", None))
    return [*program, _node(f"extra{round_}", f"round {round_}")]


def text_of(program: Sequence[Statement]) -> str:
    return "\n".join(statement.text for statement in program) + "\n"


def after(world: World, program: Sequence[Statement]) -> World:
    """What is stored when a program was run on a world."""
    changed = dict(world)
    for statement in program:
        if statement.value is None:
            del changed[statement.id]
        else:
            changed[statement.id] = statement.value
    return changed


def stored(graph: MemoryGraph) -> World:
    """What is stored in a namespace, read in one query."""
    [row] = graph.query(
        "CALL () { MATCH (n:Node {namespace: $namespace}) WHERE n.id IS NOT NULL "
        "RETURN collect([n.id, n.name, n.data]) AS nodes } "
        "CALL () { MATCH (a:Node)-[e:EDGE {namespace: $namespace}]->(b:Node) "
        "RETURN collect([e.id, a.id, b.id, e.verb, e.weight]) AS edges } RETURN nodes + edges AS elements"
    )
    world = {id_: tuple(value) for id_, *value in row["elements"]}
    assert len(world) == len(row["elements"]), "an id has two owners"
    return world


def loads(graph: MemoryGraph) -> int:
    """The number of loads of a namespace, whose revisions have no gaps, and of which none is there twice."""
    [row] = graph.query(
        "OPTIONAL MATCH (s:Namespace {name: $namespace}) OPTIONAL MATCH (l:Load {namespace: $namespace}) "
        "RETURN coalesce(s.revision, 0) AS last, count(l) AS loads, count(DISTINCT l.revision) AS revisions, "
        "count(DISTINCT l.id) AS ids"
    )
    assert row["last"] == row["loads"] == row["revisions"] == row["ids"], f"revisions have gaps: {row}"
    return int(row["loads"])


def _node(id_: str, data: str) -> Statement:
    return Statement(f'Node(node_id="{id_}", name="N", data="{data}");', id_, ("N", data))


def _edge(id_: str, from_node: str, to_node: str, weight: float) -> Statement:
    text = f'Edge(edge_id="{id_}", from_node="{from_node}", to_node="{to_node}", verb="v", weight={weight});'
    return Statement(text, id_, (from_node, to_node, "v", weight))
