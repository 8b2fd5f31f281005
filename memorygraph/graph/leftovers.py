"""Leftovers: what belonged to a node alone that is gone: deleted by an earlier version, or in Neo4j Browser."""

from __future__ import annotations

from memorygraph.compiler import Stored
from memorygraph.graph.connection import WRITE_SECONDS
from memorygraph.graph.loads import Loader, LoadReport, WriteResult
from memorygraph.graph.namespace import Namespace, NamespaceTransaction, Rows
from memorygraph.graph.writes import run_counted

LANGUAGE = "leftovers"
NODES_PER_REVISION = 10_000


def find_leftovers(namespace: Namespace, *, after: str = "", limit: int = NODES_PER_REVISION) -> Rows:
    """Find the first observations of nothing and statements that lack what they speak of: `id`, `element`, `what`."""
    return namespace.read("history/first-leftovers", after=after, limit=limit, seconds=WRITE_SECONDS)


def remove_leftovers(namespace: Namespace, *, limit: int = NODES_PER_REVISION) -> list[LoadReport]:
    """Delete the leftovers, in revisions that can be undone, each of at most `limit` of them."""
    reports, after = list[LoadReport](), ""

    def write(transaction: NamespaceTransaction, _stored: Stored) -> WriteResult:
        ids = [row["id"] for row in transaction.run("history/first-leftovers", after=after, limit=limit)]
        return WriteResult(run_counted(transaction, namespace.queries("contextscript/delete-nodes", ids)))

    while found := find_leftovers(namespace, after=after, limit=limit):
        reports.append(Loader(namespace, LANGUAGE).store(write))
        after = found[-1]["id"]
    return reports
