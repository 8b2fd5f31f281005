"""Namespaces: what there is, and how one goes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from memorygraph.errors import NotFoundError
from memorygraph.graph.connection import Connection
from memorygraph.graph.history import forget
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.library import CYPHER

NODES_PER_TRANSACTION = 10_000


@dataclass(frozen=True)
class NamespaceInfo:
    """A namespace: the number of its last load, and how much it holds."""

    name: str
    revision: int
    nodes: int
    edges: int

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return asdict(self)


def list_namespaces(connection: Connection) -> list[NamespaceInfo]:
    """Every namespace, by name."""
    return [NamespaceInfo(**row) for row in connection.read(CYPHER["read/namespaces"](name=None))]


def drop_namespace(namespace: Namespace) -> NamespaceInfo:
    """Delete a namespace with its nodes, edges and loads, and all that is known of what it held before.

    Large namespaces go in several transactions; one that was interrupted is finished by dropping it again.
    The last one holds the namespace's lock, and so proves that nothing is left.

    Raises:
        NotFoundError: there is no such namespace.
    """
    found = namespace.connection.read(CYPHER["read/namespaces"](name=namespace.name))
    if not found:
        raise NotFoundError(f"no namespace `{namespace}`; `memorygraph namespaces list` shows them all")

    def work(transaction: NamespaceTransaction) -> int:
        elements = transaction.run("namespaces/drop-namespace-elements", limit=NODES_PER_TRANSACTION)
        gone = sum(row["nodes_deleted"] for row in elements) or forget(transaction)
        if not gone:
            transaction.run("namespaces/drop-namespace-records")
        return gone

    while namespace.write(work):
        pass
    return NamespaceInfo(**found[0])
