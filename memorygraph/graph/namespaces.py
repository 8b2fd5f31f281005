"""Lists and drops namespaces."""

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
    """List every namespace, by name."""
    return [NamespaceInfo(**row) for row in connection.read(CYPHER["read/namespaces"](name=None))]


def drop_namespace(namespace: Namespace) -> NamespaceInfo:
    """Delete a namespace with its nodes, edges, loads and history, and return what it held.

    A large one takes several transactions; a drop that was interrupted is finished by dropping again.
    """
    found = namespace.connection.read(CYPHER["read/namespaces"](name=namespace.name))
    if not found:
        raise NotFoundError(f"no namespace `{namespace}`; `memorygraph namespaces list` shows them all")

    def work(transaction: NamespaceTransaction) -> int:
        elements = transaction.run("namespaces/drop-namespace-elements", limit=NODES_PER_TRANSACTION)
        deleted = sum(row["nodes_deleted"] for row in elements) or forget(transaction)
        if not deleted:  # the transaction holds the namespace's lock: nothing is left
            transaction.run("namespaces/drop-namespace-records")
        return deleted

    while namespace.write(work):
        pass
    return NamespaceInfo(**found[0])
