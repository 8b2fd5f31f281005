"""History: who changed a node or an edge, when and from what, and the graph as it was.

A present element knows the revision that its values are of (`since`); what it was before lies beside the graph, each
former state with the revisions between which it was true. So creating something costs no more than it did without a
history, the present is read as if there were none, and any revision can be read without undoing what came later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from heapq import merge
from typing import Any, Literal, TextIO, TypeVar

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.elements import Edge, Node
from memorygraph.graph.exports import written
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.graph.writes import COUNTS

PAGE = 1000
FORMERS_PER_TRANSACTION = 10_000
ALL = 1 << 53

Action = Literal["created", "changed", "deleted", "known"]
Element = TypeVar("Element", Node, Edge)


@dataclass(frozen=True)
class Change:
    """What one revision did to a node or an edge: its values before and after, and whose load it was.

    `action` is `created`, `changed` or `deleted`, or `known` where what was before is not: it was purged, or the
    element is older than all history (revision 0).
    """

    id: str
    kind: Literal["node", "edge"]
    revision: int
    action: Action
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    at: datetime | None = None
    load: str | None = None
    language: str | None = None
    file: str | None = None
    by: str = ""
    model: str | None = None
    conversation: str | None = None
    message: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {**asdict(self), "at": self.at.isoformat() if self.at else None}


@dataclass(frozen=True)
class Revision:
    """One load of a namespace: what it was, what it changed, and who asked for it; `undoes` is another's number."""

    revision: int
    at: datetime
    load: str
    language: str
    file: str | None = None
    statements: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    by: str = ""
    model: str | None = None
    conversation: str | None = None
    message: str | None = None
    undoes: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {**asdict(self), "at": self.at.isoformat()}


def history_of(namespace: Namespace, identifier: str) -> list[Change]:
    """All that happened to an id, the oldest first; also of what is deleted.

    Raises:
        NotFoundError: nothing ever had this id, or its history was purged.
    """
    versions = namespace.read("history/versions", id=identifier)
    if not versions:
        raise NotFoundError(f"nothing in the history of namespace `{namespace}` has the id `{identifier}`")
    first, _ = reach(namespace)
    changes: list[Change] = []
    former: dict[str, Any] | None = None
    for version, later in zip(versions, [*versions[1:], None], strict=True):
        since, values = version["since"], _said(version["values"])
        unknown = former is None and since <= first
        action: Action = "changed" if former is not None else "known" if unknown else "created"
        changes.append(_change(identifier, version["of"], since, action, former, values, version["began"]))
        former = values if later is not None and later["since"] == version["until"] else None
        if version["until"] is not None and former is None:
            ended = version["ended"]
            changes.append(_change(identifier, version["of"], version["until"], "deleted", values, None, ended))
    return changes


def _change(
    identifier: str,
    kind: Literal["node", "edge"],
    revision: int,
    action: Action,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    record: dict[str, Any] | None,
) -> Change:
    return Change(identifier, kind, revision, action, before, after, **(_asked(record) if record else {}))


def _asked(record: dict[str, Any]) -> dict[str, Any]:
    """What the record of a load says of itself and of who asked for it."""
    named = {name: record.get(name) for name in ("language", "file", "model", "conversation", "message")}
    return {"at": record["at"].to_native(), "load": record["id"], "by": record.get("by") or "", **named}


def _said(values: dict[str, Any]) -> dict[str, Any]:
    """The values of an element in the order of its declaration; only the nodes of some have a kind."""
    names = ("name", "data", "kind", "from_node", "to_node", "verb", "weight")
    return {name: values[name] for name in names if name in values and (name != "kind" or values[name] is not None)}


def list_revisions(namespace: Namespace, limit: int) -> list[Revision]:
    """The loads of a namespace, the newest first."""
    rows = namespace.read("history/revisions", limit=limit)
    return [_revision(row["load"]) for row in rows]


def find_revision(namespace: Namespace, revision: int) -> Revision:
    """One load of a namespace.

    Raises:
        NotFoundError: there is no revision of this number.
    """
    rows = namespace.read("history/load", revision=revision)
    if not rows:
        raise NotFoundError(f"namespace `{namespace}` has no revision {revision}; `memorygraph revisions` lists them")
    return _revision(rows[0]["load"])


def _revision(record: dict[str, Any]) -> Revision:
    counts = {name: record.get(name) or 0 for name in COUNTS}
    asked = {**_asked(record), "language": record.get("language") or ""}
    return Revision(
        record["revision"],
        statements=record.get("statements") or 0,
        counts=counts,
        undoes=record.get("undoes"),
        **asked,
    )


def reach(namespace: Namespace) -> tuple[int, int]:
    """The first revision that the history of a namespace goes back to, and its last one."""
    rows = namespace.read("history/reach")
    return (rows[0]["first"], rows[0]["last"]) if rows else (0, 0)


@dataclass(frozen=True)
class Snapshot:
    """A namespace as it was at a revision. Later loads don't change it; a purge can take it away."""

    namespace: Namespace
    revision: int

    def element(self, identifier: str) -> Node | Edge:
        """The node or the edge that had this id.

        Raises:
            NotFoundError: nothing had it at this revision, or the history that far back was purged.
        """
        rows = self.namespace.read("history/element-at", id=identifier, revision=self.revision)
        self._check()
        if not rows:
            raise NotFoundError(f"nothing had the id `{identifier}` at revision {self.revision}")
        row = rows[0]
        if row["of"] == "node":
            return Node(identifier, row["name"], row["data"])
        return Edge(identifier, row["from_node"], row["to_node"], row["verb"], row["weight"])

    def node(self, identifier: str) -> Node:
        """The node that had this id.

        Raises:
            NotFoundError: no node had it at this revision, or the history that far back was purged.
        """
        found = self.element(identifier)
        if isinstance(found, Node):
            return found
        raise NotFoundError(f"`{identifier}` was the id of an edge at revision {self.revision}")

    def edge(self, identifier: str) -> Edge:
        """The edge that had this id.

        Raises:
            NotFoundError: no edge had it at this revision, or the history that far back was purged.
        """
        found = self.element(identifier)
        if isinstance(found, Edge):
            return found
        raise NotFoundError(f"`{identifier}` was the id of a node at revision {self.revision}")

    def nodes(self) -> Iterator[Node]:
        """Every node in the order of the ids, read page by page.

        Raises:
            NotFoundError: the history that far back was purged.
        """
        return self._elements(Node, "history/nodes-since", "history/former-nodes")

    def edges(self) -> Iterator[Edge]:
        """Every edge in the order of the ids, read page by page.

        Raises:
            NotFoundError: the history that far back was purged.
        """
        return self._elements(Edge, "history/edges-since", "history/former-edges")

    def export(self, format: str = "contextscript") -> str:  # noqa: A002 - the name users type
        """The whole namespace as it was, in any format of an export; as ContextScript it loads to the same graph.

        Raises:
            NotFoundError: there is no such format, or the history that far back was purged.
        """
        return "".join(written(format, self.nodes(), self.edges()))

    def export_to(self, file: TextIO, format: str = "contextscript") -> None:  # noqa: A002 - the name users type
        """Write the whole namespace as it was into a file, holding no more than a page of it in memory."""
        file.writelines(written(format, self.nodes(), self.edges()))

    def _elements(self, make: Callable[..., Element], present: str, former: str) -> Iterator[Element]:
        """What has not changed since and what has, as one, page by page.

        A load may change an element while this is read. So a page of the present is read before what of the past
        lies beside it: then nothing is missed, and what is found in both is the same.
        """
        after = ""
        last: str | None = ""
        while last is not None:
            rows = self._page(present, after=after)
            last = rows[-1]["id"] if len(rows) == PAGE else None
            found = {row["id"] for row in rows}
            for row in merge(rows, self._past(former, after, last, found), key=lambda row: row["id"]):
                yield make(**row)
            after = last or ""
        self._check()

    def _past(self, name: str, after: str, last: str | None, found: set[str]) -> Iterator[dict[str, Any]]:
        while rows := self._page(name, after=after, last=last):
            for row in rows:
                if row["id"] not in found:
                    found.add(row["id"])
                    yield row
            after = rows[-1]["id"]

    def _page(self, name: str, **bounds: Any) -> list[dict[str, Any]]:
        return self.namespace.read(name, revision=self.revision, limit=PAGE, **bounds)

    def _check(self) -> None:
        first, _ = reach(self.namespace)
        if self.revision < first:
            raise NotFoundError(
                f"the history of namespace `{self.namespace}` goes back to revision {first}, and not to "
                f"{self.revision}: it was purged"
            )


def snapshot(namespace: Namespace, revision: int | None, time: datetime | None) -> Snapshot:
    """The namespace as of a revision, or as of a time; a time without a zone is local.

    Raises:
        MemoryGraphError: there is neither a revision nor a time, or both.
        NotFoundError: there is no such revision yet, or the history that far back was purged.
    """
    if (revision is None) == (time is None):
        raise MemoryGraphError("the graph is read as of a revision or as of a time")
    if revision is None:
        assert time is not None  # noqa: S101 - one of the two is given
        [row] = namespace.read("history/revision-at", time=time.astimezone())
        revision = int(row["revision"])
    first, last = reach(namespace)
    if not first <= revision <= last:
        raise NotFoundError(
            f"namespace `{namespace}` can be read as of the revisions {first} to {last}, and not of {revision}"
        )
    return Snapshot(namespace, revision)


def purge(namespace: Namespace, before: int | None = None) -> int:
    """Forget what was before a revision, or all that is no longer true; returns how many former states went.

    A long history goes in several transactions; one that was interrupted is finished by purging again.

    Raises:
        MemoryGraphError: the revision is negative.
    """
    if before is not None and before < 0:
        raise MemoryGraphError(f"a revision is not negative, and this is {before}")
    forgotten = 0
    while part := namespace.write(lambda transaction: forget(transaction, before)):
        forgotten += part
    return forgotten


def forget(transaction: NamespaceTransaction, before: int | None = None) -> int:
    """Forget as much as one transaction takes well; returns how many former states went, 0 when none is left."""
    limits = {"before": ALL if before is None else before, "limit": FORMERS_PER_TRANSACTION}
    rows = transaction.run("history/forget", **limits)
    return int(rows[0]["forgotten"]) if rows else 0
