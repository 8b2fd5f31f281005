"""Namespaces: what there is, and how one goes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from memorygraph.errors import NotFoundError
from memorygraph.graph.connection import Connection, Transaction
from memorygraph.graph.history import forget
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


def drop_namespace(connection: Connection, name: str) -> NamespaceInfo:
    """Delete a namespace with its nodes, edges and loads, and all that is known of what it held before.

    Large namespaces go in several transactions; one that was interrupted is finished by dropping it again.
    The last one holds the namespace's lock, and so proves that nothing is left.

    Raises:
        NotFoundError: there is no such namespace.
    """
    found = connection.read(CYPHER["read/namespaces"](name=name))
    if not found:
        raise NotFoundError(f"no namespace `{name}`; `memorygraph namespaces list` shows them all")

    def work(transaction: Transaction) -> int:
        page = CYPHER["namespaces/drop-namespace-elements"](namespace=name, limit=NODES_PER_TRANSACTION)
        [row] = transaction.run(page) or [{"nodes_deleted": 0}]
        gone = int(row["nodes_deleted"]) or forget(transaction, name)
        if not gone:
            transaction.run(CYPHER["namespaces/drop-namespace-records"](namespace=name))
        return gone

    while connection.write(work):
        pass
    return NamespaceInfo(**found[0])
