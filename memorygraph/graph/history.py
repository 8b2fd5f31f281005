"""History: who changed a node or an edge, when and from what, and the graph as it was.

A present element knows the revision of its values (`since`). Its former states lie beside the graph, each with the
revisions between which it was true: so the present is read, and created, as if there were no history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from heapq import merge
from itertools import groupby
from operator import index, itemgetter
from typing import Any, Literal, TextIO, TypeVar

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.elements import Edge, Node, name_bad
from memorygraph.graph.exports import format_elements
from memorygraph.graph.losses import Losses
from memorygraph.graph.namespace import Namespace, NamespaceTransaction, forget_former, work_through
from memorygraph.graph.writes import COUNTS

PAGE = 1000
FORMERS_PER_TRANSACTION = 10_000

Element = TypeVar("Element", Node, Edge)


@dataclass(frozen=True)
class Change:
    """What one revision did to a node or an edge: its values before and after, and whose load it was.

    `action` is `known` where the values before are not: they were purged, or the element is older than all history
    (revision 0).
    """

    id: str
    kind: Literal["node", "edge"]
    revision: int
    action: Literal["created", "changed", "deleted", "known"]
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
    """One load of a namespace: what it was, what it changed, and who asked for it; `undoes` is another revision.

    Of a `forgotten` one, some or all of what it did was forgotten since. One that forgot has how much of each kind
    `went`, and nothing more.
    """

    revision: int
    at: datetime | None  # None where raw Cypher has changed it to what is none
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
    forgotten: bool = False
    went: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {**asdict(self), "at": self.at.isoformat() if self.at else None}


def history_of(namespace: Namespace, identifier: str) -> list[Change]:
    """List all that happened to an id, the oldest first; also where it is deleted."""
    versions = namespace.read("history/versions", id=identifier)
    if not versions:
        raise NotFoundError(f"nothing in the history of namespace `{namespace}` has the id `{identifier}`")
    first, _ = reach(namespace)
    changes: list[Change] = []
    former: dict[str, Any] | None = None
    for version, later in zip(versions, [*versions[1:], None], strict=True):
        kind, until, values = version["of"], version["until"], _in_order(version["values"])
        since = version["since"] if isinstance(version["since"], int) else 0
        if former is not None:
            action: Literal["created", "changed", "known"] = "changed"
        else:
            action = "known" if since <= first else "created"
        changes.append(Change(identifier, kind, since, action, former, values, **_provenance(version["began"])))
        former = values if later is not None and later["since"] == until else None
        if until is not None and former is None:
            changes.append(Change(identifier, kind, until, "deleted", values, None, **_provenance(version["ended"])))
    return changes


def _provenance(record: dict[str, Any] | None) -> dict[str, Any]:
    """Return what the record of a load says of itself and of who asked for it; nothing without a record."""
    if not record:
        return {}
    named = {name: record.get(name) for name in ("language", "file", "model", "conversation", "message")}
    at = record["at"].to_native() if hasattr(record.get("at"), "to_native") else None
    return {"at": at, "load": record["id"], "by": record.get("by") or "", **named}


def _in_order(values: dict[str, Any]) -> dict[str, Any]:
    """Order the values of an element as its declaration does; only some nodes have a kind, and only items a value."""
    names = ("name", "data", "kind", "value", "from_node", "to_node", "verb", "weight")
    given = {name: values[name] for name in names if name in values}
    return {name: value for name, value in given.items() if value is not None or name not in ("kind", "value")}


def list_revisions(namespace: Namespace, limit: int) -> list[Revision]:
    """List the loads of a namespace, the newest first."""
    rows = namespace.read("history/revisions", limit=limit)
    return [_revision(row["load"]) for row in rows]


def find_record(transaction: NamespaceTransaction, revision: int) -> dict[str, Any]:
    """Find the record of one load of a namespace."""
    rows = transaction.run("history/load", revision=index(revision))
    if not rows:
        namespace = transaction.namespace
        revisions = f"`memorygraph{namespace.option} revisions` lists them"
        raise NotFoundError(f"namespace `{namespace}` has no revision {revision}; {revisions}")
    record: dict[str, Any] = rows[0]["load"]
    return record


def _revision(record: dict[str, Any]) -> Revision:
    return Revision(
        revision=record["revision"],
        statements=record.get("statements") or 0,
        counts={name: record.get(name) or 0 for name in COUNTS},
        undoes=record.get("undoes"),
        forgotten=bool(record.get("forgotten")),
        went=tuple(record.get("went") or ()),
        **(_provenance(record) | {"language": record.get("language") or ""}),
    )


def reach(namespace: Namespace) -> tuple[int, int]:
    """Return the first revision that the history of a namespace goes back to, and its last one."""
    rows = namespace.read("history/reach")
    return (rows[0]["first"], rows[0]["last"]) if rows else (0, 0)


@dataclass(frozen=True)
class Snapshot:
    """A namespace as it was at a revision. Later loads don't change it.

    What is forgotten or expires is not in it either, and a purge can take it away.
    """

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
        found = (
            Node(identifier, row["name"], row["data"])
            if row["of"] == "node"
            else Edge(identifier, row["from_node"], row["to_node"], row["verb"], row["weight"])
        )
        return next(name_bad([found]))

    def node(self, identifier: str) -> Node:
        """The node that had this id.

        Raises:
            NotFoundError: no node had it at this revision, or the history that far back was purged.
        """
        return self._element_of(Node, identifier, "an edge")

    def edge(self, identifier: str) -> Edge:
        """The edge that had this id.

        Raises:
            NotFoundError: no edge had it at this revision, or the history that far back was purged.
        """
        return self._element_of(Edge, identifier, "a node")

    def nodes(self) -> Iterator[Node]:
        """Every node in the order of the ids, read page by page.

        Raises:
            NotFoundError: the history that far back was purged.
        """
        return name_bad(self._nodes())

    def edges(self) -> Iterator[Edge]:
        """Every edge in the order of the ids, read page by page.

        Raises:
            NotFoundError: the history that far back was purged.
        """
        return name_bad(self._edges())

    def export(self, format: str = "contextscript") -> str:  # noqa: A002 - the name users type
        """The nodes and edges as they were, as `contextscript`, `jsonl` or `graphml`.

        Raises:
            NotFoundError: there is no such format, or the history that far back was purged.
        """
        return "".join(format_elements(format, self._nodes(), self._edges(), Losses()))

    def export_to(self, file: TextIO, format: str = "contextscript") -> Losses:  # noqa: A002 - the name users type
        """Write the nodes and edges as they were into a file, holding no more than a page of them in memory.

        Returns which of them the format could not say.
        """
        left_out = Losses()
        file.writelines(format_elements(format, self._nodes(), self._edges(), left_out))
        return left_out

    def _nodes(self) -> Iterator[Node]:
        return self._elements(Node, "history/nodes-since", "history/former-nodes")

    def _edges(self) -> Iterator[Edge]:
        return self._elements(Edge, "history/edges-since", "history/former-edges")

    def _element_of(self, kind: type[Element], identifier: str, other: str) -> Element:
        found = self.element(identifier)
        if isinstance(found, kind):
            return found
        raise NotFoundError(f"`{identifier}` was the id of {other} at revision {self.revision}")

    def _elements(self, make: Callable[..., Element], present: str, former: str) -> Iterator[Element]:
        """Merge what has not changed since with what has, page by page."""
        after = ""
        last: str | None = ""
        while last is not None:
            # The present before the past: what a load changes in between is then found twice, and never missed. The
            # past is right then: a present one that is read while a load commits can have its new values already.
            rows = self._page(present, after=after)
            last = rows[-1]["id"] if len(rows) == PAGE else None
            by_id = itemgetter("id")
            for _, found in groupby(merge(self._former_rows(former, after, last), rows, key=by_id), by_id):
                yield make(**next(found))
            after = last or ""
        self._check()

    def _former_rows(self, name: str, after: str, last: str | None) -> Iterator[dict[str, Any]]:
        while rows := self._page(name, after=after, last=last):
            yield from rows
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
    """Return the namespace as of a revision, or as of a time; a time without a zone is local."""
    if (revision is None) == (time is None):
        raise MemoryGraphError("the graph is read as of a revision or as of a time")
    if revision is None:
        assert time is not None  # noqa: S101 - one of the two is given
        try:
            local = time.astimezone()
        except (OverflowError, ValueError) as error:
            raise MemoryGraphError(f"a graph is read as of a year from 1 to 9999 of UTC, and not of {time}") from error
        [row] = namespace.read("history/revision-at", time=local)
        revision = int(row["revision"])
    first, last = reach(namespace)
    if not first <= revision <= last:
        raise NotFoundError(
            f"namespace `{namespace}` can be read as of the revisions {first} to {last}, and not of {revision}"
        )
    return Snapshot(namespace, revision)


def purge(namespace: Namespace, before: int | None = None) -> int:
    """Forget the former states before a revision, or all of them, and return how many these were."""
    if before is not None and before < 0:
        raise MemoryGraphError(f"a revision is not negative, and this is {before}")

    def step(limit: int) -> int:
        return namespace.write(partial(forget_former, before=before, limit=limit))

    return work_through(step, FORMERS_PER_TRANSACTION)
