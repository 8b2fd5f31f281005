"""Undo: a new load that takes back what an earlier one did.

It never takes along what others did: everything that the revision touched must be as the revision left it, and nothing
may depend on what would go. What was changed and changed back is as it was left, so revisions can be undone one by one,
the newest first. An undo can be undone too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from memorygraph.compiler import Stored
from memorygraph.errors import ConflictError, NotFoundError
from memorygraph.graph.aliases import MERGED_KEY, MergeLinks
from memorygraph.graph.history import find_record
from memorygraph.graph.loads import Loader, LoadReport, Provenance, WriteResult
from memorygraph.graph.namespace import Namespace, NamespaceTransaction, Rows
from memorygraph.graph.sizes import (
    CHANGED_EDGE_BYTES,
    CHANGED_NODE_BYTES,
    DELETED_EDGE_BYTES,
    DELETED_NODE_BYTES,
    NEW_EDGE_BYTES,
    NEW_NODE_BYTES,
    refuse_undo,
)
from memorygraph.graph.writes import run_counted

LANGUAGE = "undo"
MAX_NAMED = 20
_LINKED, _UNLINKED = MERGED_KEY, "parted"  # of the record of a load

# What an undo takes at least: to delete an element that was created, to change one back, to restore one.
NODE_SIZES = DELETED_NODE_BYTES, CHANGED_NODE_BYTES, NEW_NODE_BYTES
EDGE_SIZES = DELETED_EDGE_BYTES, CHANGED_EDGE_BYTES, NEW_EDGE_BYTES

# These have a history of their own, from which their records can't be taken out, or none.
_NOT_UNDONE = {
    "pete": "a thought only grows; delete its context, and undo that if need be",
    "agentscript": "`memorygraph{option} programs forget` takes a stored program away",
    "convo": "`memorygraph{option} programs forget` takes a stored node graph away",
    "forget": "what was forgotten is gone",
    "expire": "what has expired is gone",
}


class Key(NamedTuple):
    """An element: an id as that of a `node` or of an `edge`."""

    of: str
    id: str


@dataclass
class _Change:
    """What a revision did to one element: its values before and after, None where there was no such element."""

    before: Sequence[Any] | None = None
    after: Sequence[Any] | None = None
    untouched: bool = False  # by any later load; else it is `now` since the revision `since`
    now: Sequence[Any] | None = None
    since: int = 0
    whole: bool = False  # the node itself was deleted: what is there after it is another one
    log: bool = False  # it was a context of PETE, with its statements
    more: tuple[int, int] = (0, 0)  # how many other properties it had before and after

    @property
    def is_none(self) -> bool:
        """Whether nothing is left of it: an element was changed, or deleted and created, and is as it was."""
        return not self.whole and self.before is not None and self.before == self.after and self.more[0] == self.more[1]


class _Plan(NamedTuple):
    """The ids that an undo deletes, reverts and restores, each by the kind of the element.

    Those of nodes that were deleted and `exchanged` for new ones are not among the changed.
    """

    created: dict[str, list[str]]
    changed: dict[str, list[str]]
    deleted: dict[str, list[str]]
    exchanged: list[str]


def undo_revision(
    namespace: Namespace, revision: int, *, dry_run: bool = False, provenance: Provenance | None = None
) -> LoadReport:
    """Take back what a revision did, by a new load; a ConflictError says which later revisions need it."""

    def write(transaction: NamespaceTransaction, _stored: Stored) -> WriteResult:
        record = find_record(transaction, revision)
        refuse_for_good(record, namespace.option)
        linked, unlinked = (MergeLinks.parse(record.get(key)) for key in (_LINKED, _UNLINKED))
        undo = _Undo(transaction, revision, record, linked or unlinked)
        undo.check_merge()
        if linked is not None:
            linked.unlink(transaction, revision)
        counts = undo.run()
        if unlinked is not None:  # what undid a merge is undone
            unlinked.link(transaction)
        return WriteResult(counts, about={_UNLINKED: linked and linked.ids, _LINKED: unlinked and unlinked.ids})

    closing = (namespace.query("history/record-undo", revision=revision), namespace.query("load/forget-stops"))
    return Loader(namespace, LANGUAGE).store(write, dry_run=dry_run, closing=closing, provenance=provenance)


def refuse_for_good(record: Mapping[str, Any], option: str) -> None:
    """Refuse a revision that can never be undone, whatever else the namespace holds."""
    revision, language = record["revision"], record.get("language")
    if language in _NOT_UNDONE:
        reason = _NOT_UNDONE[language].format(option=option)
        raise ConflictError(f"revision {revision} is one of {language}, and can't be undone: {reason}")
    if record.get("forgotten"):
        raise ConflictError(f"revision {revision} can't be undone: some of what it did was forgotten since")


@dataclass(frozen=True)
class _Undo:
    """One undo, in its transaction, under the lock of the namespace."""

    transaction: NamespaceTransaction
    revision: int
    record: Mapping[str, Any]  # of the revision
    merge: MergeLinks | None = None  # what the revision merged, or parted again

    def check_merge(self) -> None:
        """Refuse where the entity is gone that another was merged into."""
        if self.merge is None:
            return
        [stored] = self.transaction.run("load/stored-elements", ids=[self.merge.into])
        if not stored["nodes"]:
            raise ConflictError(
                f"revision {self.revision} can't be undone: node `{self.merge.into}` has been deleted or merged since; "
                "undo that first"
            )

    def run(self) -> dict[str, int]:
        """Take the revision back, and return what was changed, by the names of the report."""
        [row] = self.transaction.run("history/reach")
        if self.revision <= row["first"]:
            raise NotFoundError(f"what was before revision {self.revision} was purged, so it can't be undone")
        changes = self.read_changes()
        plan = plan_undo(changes)
        if conflicts := [*self.find_later_changes(changes), *self.find_dependents(plan), *self.find_obstacles(plan)]:
            more = f"; and {len(conflicts) - MAX_NAMED} more" if len(conflicts) > MAX_NAMED else ""
            raise ConflictError(f"revision {self.revision} can't be undone: {'; '.join(conflicts[:MAX_NAMED])}{more}")
        self.refuse_too_large(plan)
        edges = [*plan.changed["edge"], *plan.deleted["edge"]]
        left = {end for key, change in changes.items() if key.of == "edge" for end in (change.after or ())[:2]}
        queries_of = self.transaction.namespace.queries
        queries = (
            *queries_of("contextscript/delete-edges", plan.created["edge"]),
            *queries_of("history/restore-nodes", plan.deleted["node"], until=self.revision),
            *queries_of("history/exchange-nodes", plan.exchanged, until=self.revision),
            *queries_of("history/revert-nodes", plan.changed["node"], until=self.revision),
            *queries_of("history/restore-edges", edges, until=self.revision),
            *queries_of("contextscript/delete-nodes", plan.created["node"]),
            *queries_of("contextscript/delete-unobserved", [*left]),
        )
        return run_counted(self.transaction, queries)

    def refuse_too_large(self, plan: _Plan) -> None:
        """Refuse what surely takes more than a transaction has, before anything is written."""
        nodes, edges = ([len(part[of]) for part in plan[:3]] for of in ("node", "edge"))
        created, former = nodes[0] + edges[0], sum(nodes[1:]) + sum(edges[1:])
        each = ((nodes, NODE_SIZES), (edges, EDGE_SIZES))
        size = sum(count * size for counts, sizes in each for count, size in zip(counts, sizes, strict=True))
        refuse_undo(self.transaction, self.revision, created, former, size)

    def read(self, name: str, ids: Sequence[str], **parameters: Any) -> Rows:
        """Return the rows of a query for all of the ids."""
        queries = self.transaction.namespace.queries(name, ids, **parameters)
        return [row for query in queries for row in self.transaction.run(query)]

    def read_changes(self) -> dict[Key, _Change]:
        """Read what the revision changed in the end, and what became of it."""
        changes: dict[Key, _Change] = defaultdict(_Change)
        # A record without counts does not say that nothing was created.
        created = {count: self.record.get(count) != 0 for count in ("nodes_created", "edges_created")}
        for row in self.transaction.run("history/changed-by", revision=self.revision, **created):
            change = changes[Key(row["of"], row["id"])]
            if row["until"] == self.revision:
                change.before, change.whole, change.log = row["values"], row["whole"], row["log"]
                change.more = row["more"], change.more[1]
            else:
                change.after, change.untouched = row["values"], row["until"] is None
                change.more = change.more[0], row["more"]
        for row in self.read("history/now", [key.id for key, change in changes.items() if not change.untouched]):
            if (key := Key(row["of"], row["id"])) in changes:
                change = changes[key]
                change.since = max(change.since, row["since"])
                change.now = row["values"] or change.now
        return {key: change for key, change in changes.items() if not change.is_none}

    def find_later_changes(self, changes: Mapping[Key, _Change]) -> Iterator[str]:
        """Yield what is no longer as the revision left it."""
        for key, change in changes.items():
            if not change.untouched and change.now != change.after:
                is_left = change.after is not None
                done = "deleted" if change.now is None else "changed" if is_left else "created again"
                yield f"{key.of} `{key.id}` was {done} by revision {change.since}"
        for key, change in changes.items():
            if change.log and change.after is not None:
                yield f"node `{key.id}` was a context of PETE, and is another node since revision {self.revision}"

    def find_dependents(self, plan: _Plan) -> Iterator[str]:
        """Yield what needs a node that would go."""
        going = {"node": {*plan.created["node"]}, "edge": {*plan.created["edge"], *plan.changed["edge"]}}
        hanging = self.read("history/hanging-on", plan.created["node"])
        said = self.read("history/said-of-new", plan.exchanged, until=self.revision)
        for row in [row for row in hanging if row["id"] not in going[row["of"]]] + said:
            yield f"{row['of']} `{row['id']}` of revision {row['since']} needs node `{row['node']}`"

    def find_obstacles(self, plan: _Plan) -> Iterator[str]:
        """Yield what keeps elements from coming back: their ids are taken, a node is in their way, or one is gone."""
        for of, other, article in (("node", "edge", "an"), ("edge", "node", "a")):
            restored = {*plan.deleted[of]} - {*plan.created[other]}
            for row in self.read("history/now", plan.deleted[of]):
                if row["of"] == other and row["values"] is not None and row["id"] in restored:
                    yield f"`{row['id']}` is the id of {article} {other} since revision {row['since']}"
        restored = {*plan.deleted["node"], *plan.exchanged}
        for row in self.read("history/in-the-way", sorted(restored), until=self.revision):
            if row["other"] not in restored:
                yield f"node `{row['other']}` (revision {row['since']}) stands in the way of node `{row['id']}`"
        edges = [*plan.changed["edge"], *plan.deleted["edge"]]
        for row in self.read("history/lost-ends", edges, until=self.revision):
            if row["end"] not in restored:
                yield f"edge `{row['id']}` needs node `{row['end']}`, deleted by revision {row['since']}"
        for row in self.read("history/lost-statements", plan.deleted["node"], until=self.revision):
            yield f"`{row['stated']}`, which node `{row['id']}` states, was deleted by revision {row['since']}"


def plan_undo(changes: Mapping[Key, _Change]) -> _Plan:
    """Sort the changed elements by what the revision did to them."""
    plan = _Plan(defaultdict(list), defaultdict(list), defaultdict(list), [])
    for key, change in sorted(changes.items()):
        if change.whole and change.after is not None:
            plan.exchanged.append(key.id)
            continue
        existing = plan.deleted if change.after is None else plan.changed
        done = plan.created if change.before is None else existing
        done[key.of].append(key.id)
    return plan
