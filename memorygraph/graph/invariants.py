"""Invariants: what holds of every stored graph, found where raw Cypher or an earlier version has broken it.

The rules themselves are queries (`cypher/queries/invariants.cypher`). Community Edition has no constraints for them;
what it has one for is not examined.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from memorygraph.errors import printable
from memorygraph.graph.connection import Connection
from memorygraph.graph.leftovers import remove_leftovers
from memorygraph.graph.loads import LoadReport
from memorygraph.graph.namespace import Namespace
from memorygraph.library import CYPHER

MAX_EXAMPLES = 10
MAX_VALUE_CHARACTERS = 60
CHECK_SECONDS = 600.0
NODES_PER_TRANSACTION = 10_000

SET_BY_LOAD = "load a statement that says what is right, such as `{statement}`, or `memorygraph delete` it"


@dataclass(frozen=True)
class Invariant:
    """A rule, the query that finds what breaks it, and how that is mended."""

    name: str
    rule: str
    mend: str

    @property
    def query(self) -> str:
        """The name of the query."""
        return f"invariants/{self.name}"


@dataclass(frozen=True)
class Violation:
    """One thing that breaks a rule: what it is, where, and the values that are wrong.

    `element` is Neo4j's own id of it, for what has no other.
    """

    kind: str
    namespace: Any
    id: Any
    element: str | None
    found: Mapping[str, Any]

    def __str__(self) -> str:
        place = f"{self.kind} {_show(self.id)} of namespace {_show(self.namespace)}"
        if not (isinstance(self.id, str) and isinstance(self.namespace, str)):
            place += f" (elementId {self.element})"
        return f"{place}: {', '.join(f'{name} = {_show(value)}' for name, value in self.found.items())}"

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            "kind": self.kind,
            "namespace": self.namespace,
            "id": self.id,
            "element": self.element,
            "found": dict(self.found),
        }


@dataclass(frozen=True)
class BrokenInvariant:
    """A rule that does not hold: how many things break it, the first of them, and how they are mended."""

    name: str
    rule: str
    mend: str
    count: int
    examples: tuple[Violation, ...]

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            "code": self.name,
            "rule": self.rule,
            "count": self.count,
            "mend": self.mend,
            "examples": [example.as_dict() for example in self.examples],
        }


@dataclass(frozen=True)
class Mended:
    """What was mended: the loads that removed leftovers, which can be undone, and how many nodes were indexed."""

    removed: tuple[LoadReport, ...]
    indexed: int

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {"removed": [report.as_dict() for report in self.removed], "indexed": self.indexed}


def by_hand(query: str) -> str:
    """Say which Cypher mends something by hand, with the names of its parameters."""
    return (
        f"run in Neo4j Browser, with its elementId as $element: {' '.join(CYPHER[f'invariants/{query}'].text.split())}"
    )


def list_invariants() -> tuple[Invariant, ...]:
    """List the invariants, in the order in which they are examined."""
    node, edge = 'Node(node_id="a", name="A", data="");', 'Edge(edge_id="e", verb="likes", weight=1.0);'
    remove = by_hand("remove-record")
    return (
        Invariant("node-key", "a node has a namespace and an id, both text", by_hand("set-node-id")),
        Invariant("node-values", "the name and the data of a node are text", SET_BY_LOAD.format(statement=node)),
        Invariant("node-search", "a search finds a node: its index has it in its namespace", "run it with --fix"),
        Invariant("edge-key", "an edge has a namespace and an id, both text", by_hand("set-edge-id")),
        Invariant("edge-verb", "the verb of an edge is text", SET_BY_LOAD.format(statement=edge)),
        Invariant(
            "edge-weight", "the weight of an edge is a number from 0.0 to 1.0", SET_BY_LOAD.format(statement=edge)
        ),
        Invariant("edge-ends", "both ends of an edge are nodes of its namespace", by_hand("remove-edge")),
        Invariant("shared-id", "an id belongs to a node or to an edge", by_hand("set-edge-id")),
        Invariant(
            "unknown-namespace",
            "a namespace that holds nodes has a record, by which it is listed and locked",
            "load anything into it, such as an empty script: that makes the record",
        ),
        Invariant("leftovers", "what belongs to a node alone is gone with it", "run it with --fix"),
        Invariant(
            "future", "no element is of a revision that its namespace has not reached", by_hand("reach-revision")
        ),
        Invariant("history", "a former state is one of a node or an edge, from a revision to a later one", remove),
        Invariant("entries", "a statement of a log stands in a context", remove),
        Invariant("messages", "a message has an id and a body, and follows at most one other", remove),
        Invariant(
            "passages",
            "a passage is a part of one message, which has as many as it says",
            f"{by_hand('divide-anew')}; then `memorygraph messages index`. Or, for a passage, {remove}",
        ),
        Invariant("versions", "a version is of one conversation, and leads to one message where it has any", remove),
        Invariant("conversations", "a conversation has a name, and one last version that is its own", remove),
    )


def find_broken(
    connection: Connection, namespace: str | None = None, *, examples: int = MAX_EXAMPLES
) -> Iterator[BrokenInvariant]:
    """Find the invariants that do not hold in a namespace, or anywhere in the database: each is counted completely.

    What has no namespace is only found in the whole database.
    """
    scopes = list_scopes(connection, namespace)
    for invariant in list_invariants():
        count, first = 0, list[Violation]()
        for violation in find_violations(connection, namespace, scopes, invariant):
            count += 1
            if len(first) < examples:
                first.append(violation)
        if count:
            yield BrokenInvariant(invariant.name, invariant.rule, invariant.mend, count, tuple(first))


def find_violations(
    connection: Connection, namespace: str | None, scopes: Iterable[Namespace], invariant: Invariant
) -> Iterator[Violation]:
    """Find what breaks an invariant, one after the other."""
    if invariant.name == "leftovers":
        for scope in scopes:
            with closing(scope.stream("history/leftovers", seconds=CHECK_SECONDS)) as rows:
                for row in rows:
                    yield Violation("node", scope.name, row["id"], row["element"], {"what": row["what"]})
        return
    query = CYPHER[invariant.query]
    tokens = {"tokens": {scope.name: scope.token for scope in scopes}}
    parameters = tokens if "tokens" in query.parameters else {}
    with closing(connection.stream(query(namespace=namespace, **parameters), seconds=CHECK_SECONDS)) as rows:
        yield from (Violation(**row) for row in rows)


def mend(connection: Connection, namespace: str | None = None) -> Mended:
    """Remove the leftovers, by a revision of each namespace that can be undone, and have searches find all nodes."""
    scopes = list_scopes(connection, namespace)
    reports = (remove_leftovers(scope) for scope in scopes)
    return Mended(tuple(report for report in reports if report is not None), sum(map(_index_nodes, scopes)))


def _index_nodes(scope: Namespace) -> int:
    indexed, more = 0, True
    while more:
        [row] = scope.write(
            lambda transaction: transaction.run(
                "invariants/index-nodes", namespace_token=scope.token, limit=NODES_PER_TRANSACTION
            )
        )
        indexed, more = indexed + row["indexed"], row["indexed"] == NODES_PER_TRANSACTION
    return indexed


def list_scopes(connection: Connection, namespace: str | None) -> list[Namespace]:
    """List the namespaces to examine: the named one, or all."""
    rows = connection.read(CYPHER["invariants/namespace-names"]())
    names = [row["name"] for row in rows] if namespace is None else [namespace]
    return [Namespace(connection, name) for name in names]


def _show(value: Any) -> str:
    text = "missing" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return printable(text if len(text) <= MAX_VALUE_CHARACTERS else text[: MAX_VALUE_CHARACTERS - 1] + "…")
