"""A copy of a graph without what Neo4j's files still hold of what was deleted.

Neo4j deletes by marking a place as free. The text stays in it, in the segments of full-text indexes, in the pages of
other indexes, and in the transaction logs, until something else is written there; `neo4j-admin database dump` copies
these files as they are. Neo4j Community has no `database copy`, and `database migrate` rewrites no store of its own
format. So a graph of which something was forgotten is copied into a new store, by another server, before it is dumped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from memorygraph.graph.bundle_imports import fit_batches
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import UNCOMPACTED
from memorygraph.library import CYPHER
from memorygraph.query import Query
from memorygraph.server.embedded import EmbeddedServer, ServerStatus, require_uri

ALL_SECONDS = 24 * 3600.0
INDEX_SECONDS = 3600
PIECE_BYTES = 1 << 24

TEXTS = Path("databases", "neo4j", "neostore.propertystore.db.strings")
"""Where Neo4j keeps texts of more than a few characters."""


def needs_compacting(data: Path) -> bool:
    """Tell whether something was forgotten in the graph of a stopped server, by its mark in their files."""
    mark, kept = UNCOMPACTED.encode(), b""
    try:
        with (data / TEXTS).open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                if mark in kept + piece:
                    return True
                kept = piece[-len(mark) :]
    except FileNotFoundError:
        return False
    return False


def copy_graph(source: EmbeddedServer, target: EmbeddedServer) -> None:
    """Copy the graph of one running server into another, empty one."""
    with ExitStack() as stack:
        read, write = (stack.enter_context(connect_running(server, server.up())) for server in (source, target))
        ends = copy_nodes(read, write)
        copy_relationships(read, write, ends)
        for name in ("compact/constraints", "compact/indexes"):
            for row in read.read(CYPHER[name]()):
                write.define(Query(row["statement"]))
        for _, commands in CYPHER.migrations():
            for command in commands:
                write.define(command)
        write.define(CYPHER["schema/await-indexes"](seconds=INDEX_SECONDS))


def connect_running(server: EmbeddedServer, status: ServerStatus) -> Connection:
    """Connect to a server, where its status says that it runs."""
    login = (status.username, server.password())
    return Connection(require_uri(status), login, certificate=status.certificate_file)


def copy_nodes(source: Connection, target: Connection) -> dict[str, str]:
    """Copy the nodes, and return what Neo4j calls each of them in the copy, by what it calls it here."""
    ends: dict[str, str] = {}
    with closing(source.stream(CYPHER["compact/nodes"](), seconds=ALL_SECONDS, typed=True)) as found:
        for rows in rows_per_transaction(found):
            query = CYPHER["compact/create-nodes"](
                rows=[
                    {"labels": row["labels"], "properties": properties_of(row), "times": row["times"]} for row in rows
                ]
            )
            created = create(target, query)
            ends.update(zip((row["element"] for row in rows), (row["element"] for row in created), strict=True))
    return ends


def copy_relationships(source: Connection, target: Connection, ends: Mapping[str, str]) -> None:
    """Copy the relationships between the nodes that were copied."""
    with closing(source.stream(CYPHER["compact/relationships"](), seconds=ALL_SECONDS, typed=True)) as found:
        for rows in rows_per_transaction(found):
            query = CYPHER["compact/create-relationships"](
                rows=[
                    {
                        "source": ends[row["source"]],
                        "target": ends[row["target"]],
                        "type": row["type"],
                        "properties": properties_of(row),
                        "times": row["times"],
                    }
                    for row in rows
                ]
            )
            create(target, query)


def create(target: Connection, query: Query) -> list[dict[str, Any]]:
    """Run a query that creates, once: after a commit without an answer nothing tells whether all of it is there."""
    return target.write(lambda transaction: transaction.run(query), repeatable=False)


def rows_per_transaction(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """The rows in pages that one transaction takes, however long their texts are."""
    return fit_batches(rows, lambda row: (value for _, value in row["properties"]))


def properties_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a row, except its times, without the mark of what was forgotten."""
    return {key: value for key, value in row["properties"] if value != UNCOMPACTED}
