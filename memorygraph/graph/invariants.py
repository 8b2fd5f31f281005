"""Invariants: what holds of every stored graph, found where raw Cypher or an earlier version has broken it.

The rules themselves are queries (`cypher/queries/invariants.cypher`). Community Edition has no constraints for them;
what it has one for is not examined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from memorygraph.graph.bad_elements import show_stored_value
from memorygraph.graph.leftovers import find_leftovers, remove_leftovers
from memorygraph.graph.loads import LoadReport
from memorygraph.graph.namespace import Namespace, list_namespace_names, work_through
from memorygraph.library import CYPHER

MAX_EXAMPLES = 10
CHECK_SECONDS = 600.0
NODES_PER_TRANSACTION = 10_000

SET_BY_LOAD = "load a statement that says what is right, such as `{statement}`, or `memorygraph delete` it"


@dataclass(frozen=True)
class Invariant:
    """A rule, by the name of the query that finds what breaks it, and how that is mended."""

    name: str
    rule: str
    mend: str


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
        place = f"{self.kind} {show_stored_value(self.id)} of namespace {show_stored_value(self.namespace)}"
        if not (isinstance(self.id, str) and isinstance(self.namespace, str)):
            place += f" (elementId {self.element})"
        return f"{place}: {', '.join(f'{name} = {show_stored_value(value)}' for name, value in self.found.items())}"

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
    block = CYPHER[f"invariants/{query}"]
    given = "its elementId as $element" if "element" in block.parameters else "its namespace as $namespace"
    return f"run in Neo4j Browser, with {given}: {' '.join(block.text.split())}"


def list_invariants() -> tuple[Invariant, ...]:
    """List the invariants, in the order in which they are examined and mended: a load needs ids of one thing."""
    node, edge = 'Node(node_id="a", name="A", data="");', 'Edge(edge_id="e", verb="likes", weight=1.0);'
    remove = by_hand("remove-record")
    return (
        Invariant("node-key", "a node has a namespace and an id, both text", by_hand("set-node-id")),
        Invariant("edge-key", "an edge has a namespace and an id, both text", by_hand("set-edge-id")),
        Invariant("shared-id", "an id belongs to a node or to an edge", by_hand("set-edge-id")),
        Invariant("node-values", "the name and the data of a node are text", SET_BY_LOAD.format(statement=node)),
        Invariant("node-search", "a search finds a node: its index has it in its namespace", "run it with --fix"),
        Invariant("edge-verb", "the verb of an edge is text", SET_BY_LOAD.format(statement=edge)),
        Invariant(
            "edge-weight", "the weight of an edge is a number from 0.0 to 1.0", SET_BY_LOAD.format(statement=edge)
        ),
        Invariant("edge-ends", "both ends of an edge are nodes of its namespace", by_hand("remove-edge")),
        Invariant(
            "unknown-namespace",
            "a namespace that holds nodes has a record, by which it is listed and locked",
            by_hand("reach-revision"),
        ),
        Invariant("leftovers", "what belongs to a node alone is gone with it", "run it with --fix"),
        Invariant(
            "future",
            "no element and no load is of a revision that its namespace has not reached",
            by_hand("reach-revision"),
        ),
        Invariant("history", "a former state is one of a node or an edge, from a revision to a later one", remove),
        Invariant("aliases", "an alias has a name, and stands for a node, which may be deleted", remove),
        Invariant("entries", "a statement of a log stands in a context", remove),
        Invariant(
            "records", "a load has a revision and a time, a run a status, a program a source, an entry a text", remove
        ),
        Invariant("messages", "a message has an id and a body, and follows at most one other", remove),
        Invariant(
            "passages",
            "a passage is a part of one message, which has as many as it says",
            f"{by_hand('divide-anew')}; then `memorygraph messages index`. Or, for a passage, {remove}",
        ),
        Invariant("versions", "a version is of one conversation, and leads to one message where it has any", remove),
        Invariant("forgetting", "what was begun to be forgotten is forgotten", "forget it again: that goes on with it"),
        Invariant("threads", "a state is of a thread, and what it holds or has pending is whole", remove),
        Invariant("conversations", "a conversation has a name, and one last version that is its own", remove),
    )


@dataclass(frozen=True)
class Examination:
    """An examination of a namespace, or of all that is in its database (`everywhere`).

    What has no namespace is only found everywhere.
    """

    namespace: Namespace
    everywhere: bool = False

    @property
    def name(self) -> str | None:
        """The name of the one namespace that is examined."""
        return None if self.everywhere else self.namespace.name

    @cached_property
    def scopes(self) -> list[Namespace]:
        """The namespaces to examine, as they are when they are first asked for."""
        if not self.everywhere:
            return [self.namespace]
        connection = self.namespace.connection
        return [Namespace(connection, name) for name in list_namespace_names(connection)]

    @property
    def tokens(self) -> dict[str, str]:
        """The words of the namespaces in the indexes, by their names."""
        return {scope.name: scope.token for scope in self.scopes}

    def find_broken(self) -> Iterator[BrokenInvariant]:
        """Find the invariants that do not hold: each is counted completely, and the first by their ids are named."""
        for invariant in list_invariants():
            look = self.find_leftovers if invariant.name == "leftovers" else self.find_violations
            count, first = look(invariant, MAX_EXAMPLES)
            if count:
                yield BrokenInvariant(invariant.name, invariant.rule, invariant.mend, count, tuple(first))

    def find_violations(self, invariant: Invariant, limit: int) -> tuple[int, list[Violation]]:
        """Count what breaks an invariant, and find the first of it."""
        tokens = self.tokens if invariant.name == "node-search" else {}
        asked = {"invariant": invariant.name, "namespace": self.name, "tokens": tokens}
        read = partial(self.namespace.connection.read, seconds=CHECK_SECONDS)
        [row] = read(CYPHER["invariants/count"](**asked))
        rows = read(CYPHER["invariants/first"](**asked, limit=limit)) if row["count"] else []
        return row["count"], [Violation(**row) for row in rows]

    def find_leftovers(self, _invariant: Invariant, limit: int) -> tuple[int, list[Violation]]:
        """Count the leftovers in each namespace, and find the first of them."""
        count, first = 0, list[Violation]()
        for scope in self.scopes:
            [row] = scope.read("history/count-leftovers", after="", seconds=CHECK_SECONDS)
            if row["count"] and len(first) < limit:
                first += (
                    Violation("node", scope.name, row["id"], row["element"], {"what": row["what"]})
                    for row in find_leftovers(scope, limit=limit - len(first))
                )
            count += row["count"]
        return count, first

    def mend(self) -> Mended:
        """Remove the leftovers, by revisions that can be undone, and have searches find all nodes.

        Each transaction is bounded, however much there is to mend; what was interrupted goes on when it is run again.
        """
        removed = tuple(report for scope in self.scopes for report in remove_leftovers(scope))
        return Mended(removed, sum(map(index_nodes, self.scopes)) + self.index_strangers())

    def index_strangers(self) -> int:
        """Have searches find the nodes without an id that is text, and return how many they did not find."""

        def step(limit: int) -> int:
            query = CYPHER["invariants/index-strangers"](tokens=self.tokens, limit=limit)
            [row] = self.namespace.write_query(query)
            return int(row["indexed"])

        return work_through(step, NODES_PER_TRANSACTION)


def index_nodes(scope: Namespace) -> int:
    """Have searches find the nodes of a namespace by their ids, in small transactions; return how many they did not."""
    token, limit = scope.token, NODES_PER_TRANSACTION
    last: str | None = ""
    indexed = 0
    while last is not None:
        [row] = scope.write_query("invariants/index-page", after=last, namespace_token=token, limit=limit)
        indexed, last = indexed + row["indexed"], row["last"]
    return indexed
