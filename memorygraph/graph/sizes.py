"""How much of a transaction's memory a load takes, told before anything is written.

Neo4j holds all that a transaction changes in memory, and ends one that passes its share: after minutes, of what could
have been known at once. Each element takes some kilobytes, indexes and history included: at these sizes, elements with
short texts pass the 600 MiB of the embedded server. A few less may pass them too, because Neo4j's tables grow in leaps;
those are left to Neo4j, so that nothing is refused which fits.
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from memorygraph.compiler import Stored
from memorygraph.errors import MemoryGraphError, TooLargeError
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import NamespaceTransaction, pages_of
from memorygraph.languages.contextscript import (
    ContextScriptProgram,
    Deletion,
    EdgeDeclaration,
    GraphStatement,
    NodeDeclaration,
)
from memorygraph.library import CYPHER

MIN_LARGE_STATEMENTS = 20_000  # fewer fit, unless their texts are very long: then Neo4j refuses them
MIN_LARGE_EDGES = 1_000  # at the nodes that a program deletes: fewer fit into any transaction
ROWS_PER_LOOK = 20_000
ROOM = 0.6  # of the memory is what a batch should take

NEW_NODE_BYTES = 3_500
NEW_EDGE_BYTES = 4_700
CHANGED_NODE_BYTES = 8_400
CHANGED_EDGE_BYTES = 8_400
MOVED_EDGE_BYTES = 12_600
DELETED_NODE_BYTES = 9_200
DELETED_EDGE_BYTES = 9_500  # 60,200 that go with their node fit into 600 MiB, and 66,000 do not

_SIZE = re.compile(r"(?P<number>[\d.]+)(?P<unit>[KMGT]?)i?B")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Changes(NamedTuple):
    """What a load writes: certain bytes, declarations of stored elements, which may change nothing, and deletions."""

    certain: int
    nodes: list[dict[str, object]]
    edges: list[dict[str, object]]
    deleted_nodes: list[str]
    deleted_edges: list[str]


class EdgesAt(NamedTuple):
    """A node, and how many edges it has."""

    id: str
    edges: int


def read_memory_limit(connection: Connection) -> int | None:
    """The bytes that one transaction may take; None where there is no limit, or nobody tells."""
    try:
        rows = connection.read(CYPHER["schema/memory-settings"]())
    except MemoryGraphError:  # a user who may not see settings
        return None
    limits = [parse_size(row["value"]) for row in rows]
    return min((limit for limit in limits if limit), default=None)


def parse_size(text: str | None) -> int:
    """The bytes of a size as Neo4j writes it; 0 is one without a limit.

    >>> parse_size("600.00MiB"), parse_size("0B"), parse_size(None)
    (629145600, 0, 0)
    """
    found = _SIZE.fullmatch(text or "")
    return int(float(found["number"]) * _UNITS[found["unit"]]) if found else 0


def refuse_too_large(
    transaction: NamespaceTransaction, program: ContextScriptProgram, stored: Stored, limit: int
) -> None:
    """Refuse a program that surely takes more than this limit, with the number of statements that a batch can have."""
    changes = find_changes(program, stored)
    edges, most = count_edges_at(transaction, changes.deleted_nodes)
    if find_most(changes, edges) <= limit:
        return
    # What is certain is looked for only here: most loads are small enough in any case.
    size = changes.certain
    if deleted := changes.deleted_nodes + changes.deleted_edges:
        [row] = transaction.run("load/count-deleted-edges", ids=deleted)
        size += row["edges"] * DELETED_EDGE_BYTES
    for query, rows, each in (
        ("load/count-changed-nodes", changes.nodes, CHANGED_NODE_BYTES),
        ("load/count-changed-edges", changes.edges, CHANGED_EDGE_BYTES),
    ):
        for page in pages_of(rows, ROWS_PER_LOOK):
            [row] = transaction.run(query, rows=page)
            size += row["changed"] * each
    if size <= limit:
        return
    room = f"more than one transaction has room for (some {size >> 20} MiB of {limit >> 20}), and nothing was changed"
    if most.edges * DELETED_EDGE_BYTES > limit:  # no batch of statements is small enough for this one
        batch = round_down(int(ROOM * limit / DELETED_EDGE_BYTES))
        raise TooLargeError(
            f"with `{most.id}` go its {most.edges} edges, which is {room}: `delete {shlex.quote(most.id)} --batch "
            f"{batch}` deletes it in parts"
        )
    count = len(program.statements)
    batch = round_down(int(count * ROOM * limit / size))
    raise TooLargeError(
        f"{'this statement changes' if count == 1 else f'these {count} statements change'} {room}: `load --batch "
        f"{batch}` stores them in parts"
    )


def count_edges_at(transaction: NamespaceTransaction, nodes: list[str]) -> tuple[int, EdgesAt]:
    """Count the edges at nodes, and at the node that has the most; those between two of the nodes count twice."""
    if nodes:
        [row] = transaction.run("load/count-edges-at", ids=nodes)
        if row["most"]:
            return row["edges"], EdgesAt(**row["most"])
    return 0, EdgesAt("", 0)


def find_most(changes: Changes, edges: int) -> int:
    """The most bytes that changes can take: where each changes something, and all these edges at deleted nodes go."""
    changed = len(changes.nodes) * CHANGED_NODE_BYTES + len(changes.edges) * CHANGED_EDGE_BYTES
    return changes.certain + changed + (len(changes.deleted_edges) + edges) * DELETED_EDGE_BYTES


def find_changes(program: ContextScriptProgram, stored: Stored) -> Changes:
    """Find what a program writes, given what is stored of its ids."""
    changes = Changes(0, [], [], [], [])
    certain = 0
    declared: set[str] = set()
    for statement in program.statements:
        match statement:
            case NodeDeclaration(node_id=identifier) | EdgeDeclaration(edge_id=identifier) if identifier in declared:
                continue
            case NodeDeclaration(node_id=node):
                declared.add(node)
                if node in stored.nodes:
                    changes.nodes.append(row_of(statement, node, "name", "data"))
                else:
                    certain += NEW_NODE_BYTES
            case EdgeDeclaration(edge_id=edge):
                declared.add(edge)
                ends = stored.edges.get(edge)
                if ends is not None and (statement.from_node or ends[0], statement.to_node or ends[1]) == ends:
                    changes.edges.append(row_of(statement, edge, "verb", "weight"))
                else:
                    certain += NEW_EDGE_BYTES if ends is None else MOVED_EDGE_BYTES
            case Deletion(id=identifier) if identifier in stored.edges:
                changes.deleted_edges.append(identifier)
            case Deletion(id=identifier) if identifier in stored.nodes:
                certain += DELETED_NODE_BYTES
                changes.deleted_nodes.append(identifier)
            case Deletion():
                pass
            case _:  # a kind of statement that is not known here counts as the smallest change
                certain += NEW_NODE_BYTES
    return changes._replace(certain=certain)


def row_of(statement: GraphStatement, identifier: str, *names: str) -> dict[str, object]:
    """The row of a declaration of a stored element, with the arguments of these names that it gives."""
    given = {name: value for name in names if (value := getattr(statement, name)) is not None}
    return {"id": identifier, "set": given}


def round_down(number: int) -> int:
    """A number with one digit that counts, at least 1.

    >>> round_down(57_321), round_down(12), round_down(0)
    (50000, 10, 1)
    """
    digits: int = 10 ** (len(str(number)) - 1)
    return max(1, number // digits * digits)
