"""Leftovers: what belonged to a node alone that is gone: deleted by an earlier version, or in Neo4j Browser."""

from __future__ import annotations

from memorygraph.compiler import Stored
from memorygraph.graph.loads import Loader, LoadReport, WriteResult
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.graph.writes import run_counted

LANGUAGE = "leftovers"


def find_leftovers(namespace: Namespace) -> list[str]:
    """Find observations of nothing, and statements that lack what they speak of, by their ids."""
    return [row["id"] for row in namespace.read("history/leftovers")]


def remove_leftovers(namespace: Namespace) -> LoadReport | None:
    """Delete the leftovers, in a revision that can be undone; None where there are none."""
    if not find_leftovers(namespace):
        return None

    def write(transaction: NamespaceTransaction, _stored: Stored) -> WriteResult:
        ids = [row["id"] for row in transaction.run("history/leftovers")]
        return WriteResult(run_counted(transaction, namespace.queries("contextscript/delete-nodes", ids)))

    return Loader(namespace, LANGUAGE).store(write)
