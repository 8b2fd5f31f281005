"""The unit of work of every write that has a revision: loads, entities, logs and undo go through it.

1. Begin: one query locks the namespace until the commit, counts its next revision, and reads what the write asks for.
2. Plan and write, in the same transaction.
3. Record: the write leaves a `Load` with its id, and with what it changed. A retry after a lost acknowledgement finds
   this record of its own id when it begins: `OpenWrite.applied`.

A small write often knows what it will find. Then one query begins, compares and writes, in one round trip
(`load/load-node`, `entities/begin-and-write`). Where it finds something else, it has only begun, as any other.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from memorygraph.errors import ConnectionError
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.query import Query

Result = TypeVar("Result")

COUNTS = ("nodes_created", "nodes_updated", "nodes_deleted", "edges_created", "edges_updated", "edges_deleted")
NOTHING = dict.fromkeys(COUNTS, 0)


@dataclass(frozen=True)
class OpenWrite:
    """A write that has begun: it holds the lock of its namespace. `found` is the row of the query that began it."""

    transaction: NamespaceTransaction
    load: str
    found: Mapping[str, Any]

    @property
    def revision(self) -> int:
        """The revision that this write makes."""
        return int(self.found["revision"])

    @property
    def applied(self) -> Mapping[str, Any] | None:
        """The record of this write, if an earlier run of it was committed and its acknowledgement lost."""
        applied: Mapping[str, Any] | None = self.found["applied"]
        return applied

    def record(self, record: Mapping[str, Any]) -> None:
        """Store the record of the write."""
        self.transaction.run("load/record-load", load=self.load, record=record)


def write_revision(namespace: Namespace, work: Callable[[OpenWrite], Result], begin: str, **parameters: Any) -> Result:
    """Run a unit of work that makes a revision and begins with this query, again after a transient failure.

    Raises:
        ConnectionError: Neo4j cannot be reached, or failed; with `outcome_unknown` the write may have been kept, and is
            then the load `load_id`.
    """
    load = uuid.uuid4().hex
    first = namespace.query(begin, load=load, **parameters)

    def run(transaction: NamespaceTransaction) -> Result:
        [found] = transaction.run(first)
        return work(OpenWrite(transaction, load, found))

    try:
        return namespace.write(run)
    except ConnectionError as error:
        if not error.outcome_unknown:
            raise
        option = namespace.option
        look = f"once Neo4j works again, `memorygraph{option} revisions --json` lists the load {load} if it was kept"
        raise type(error)(f"{error}; {look}", outcome_unknown=True, load_id=load) from error.__cause__


def run_counted(
    transaction: NamespaceTransaction, queries: Iterable[Query], progress: Callable[[int], None] | None = None
) -> dict[str, int]:
    """Run queries that report counts, and add up these; `progress` is told the number of rows of each."""
    counts = dict(NOTHING)
    for query, [row] in transaction.run_each(queries):
        counts = {name: count + row["counts"].get(name, 0) for name, count in counts.items()}
        if progress is not None:
            progress(len(query.parameters.get("rows") or query.parameters["ids"]))
    return counts
