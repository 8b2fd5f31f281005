"""Undo: a new load that takes back what an earlier one did.

What a revision created is deleted, what it changed or deleted becomes what it was, and the edges that went with a
deleted node come back too. An undo is a revision like any other, so it can be undone as well.

It never takes along what somebody else did: everything that the revision touched must still be as the revision left
it, and nothing may hang on what would go. What was changed and changed back is as it was left; so revisions can be
undone one after the other, the newest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memorygraph.compiler import Stored
from memorygraph.errors import ConflictError, NotFoundError
from memorygraph.graph.history import find_revision
from memorygraph.graph.loads import Loaded, Loader, LoadReport, Provenance, Written
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.graph.writes import run_counted
from memorygraph.query import Query

LANGUAGE = "undo"
IDS_PER_QUERY = 10_000
MAX_NAMED = 20

# What has a history of its own, which its records can't be taken out of.
_ELSEWHERE = {
    "pete": "a thought only grows; delete its context, and undo that if need be",
    "convo": "a node graph is never changed, and each of its versions stays",
}

Rows = list[dict[str, Any]]


class Key(NamedTuple):
    """An element: an id as that of a node or of an edge."""

    of: str
    id: str


@dataclass
class _Change:
    """What a revision did to one element: its values before and after, None where there was no such element.

    `untouched` is what no later load has written to; of the rest `now` is what became of it, and `since` the revision
    that did. `log` was a context of PETE, with its statements.
    """

    before: Sequence[Any] | None = None
    after: Sequence[Any] | None = None
    now: Sequence[Any] | None = None
    since: int = 0
    untouched: bool = False
    log: bool = False

    @property
    def real(self) -> bool:
        """Whether the values differ: a revision can also delete something and create it again."""
        return self.before is None or self.before != self.after

    @property
    def left(self) -> bool:
        """Whether the revision left such an element."""
        return self.after is not None


@dataclass
class _Plan:
    """The ids that an undo deletes, restores and changes, each by kind."""

    created: dict[str, list[str]] = field(default_factory=lambda: {"node": [], "edge": []})
    changed: dict[str, list[str]] = field(default_factory=lambda: {"node": [], "edge": []})
    deleted: dict[str, list[str]] = field(default_factory=lambda: {"node": [], "edge": []})


def undo_revision(
    namespace: Namespace,
    revision: int,
    *,
    dry_run: bool = False,
    provenance: Provenance | None = None,
) -> LoadReport:
    """Take back what a revision did, by a new load.

    Raises:
        NotFoundError: there is no such revision, or what was before it was purged.
        ConflictError: a later revision has changed what this one did, or needs it; nothing was changed.
    """

    def write(transaction: NamespaceTransaction, _stored: Stored) -> Written:
        return Written(_Undo(transaction, revision).run())

    _check(namespace, revision)
    closing = (namespace.query("history/record-undo", revision=revision),)
    loader = Loader(namespace, LANGUAGE)
    return loader.store(Loaded(None, 0, write), dry_run=dry_run, closing=closing, provenance=provenance)


def _check(namespace: Namespace, revision: int) -> None:
    language = find_revision(namespace, revision).language
    if language in _ELSEWHERE:
        raise ConflictError(f"revision {revision} is one of {language}, and can't be undone: {_ELSEWHERE[language]}")


@dataclass(frozen=True)
class _Undo:
    """One undo, in its transaction, under the lock of the namespace."""

    transaction: NamespaceTransaction
    revision: int

    def run(self) -> dict[str, int]:
        """Take the revision back; returns what was changed, by the names of the report."""
        [row] = self._ask("history/reach")
        if self.revision <= row["first"]:
            raise NotFoundError(f"what was before revision {self.revision} was purged, so it can't be undone")
        changes = self._changes()
        plan = _plan(changes)
        conflicts = [*_changed_later(changes), *self._in_the_way(plan, changes)]
        if conflicts:
            raise ConflictError(_refusal(self.revision, conflicts))
        return run_counted(self.transaction, self._queries(plan))

    def _changes(self) -> dict[Key, _Change]:
        """All that the revision changed in the end, and what became of it."""
        changes: dict[Key, _Change] = {}
        for row in self._ask("history/changed-by", revision=self.revision):
            change = changes.setdefault(Key(row["of"], row["id"]), _Change())
            if row["until"] == self.revision:
                change.before, change.log = row["values"], row["log"]
            else:
                change.after, change.untouched = row["values"], row["until"] is None
        for row in self._ask_of("history/now", [key.id for key, change in changes.items() if not change.untouched]):
            now = changes.get(Key(row["of"], row["id"]), _Change())  # or of the other kind, which is not looked at
            now.since = max(now.since, row["since"])
            now.now = row["values"] or now.now
        return {key: change for key, change in changes.items() if change.log or change.real}

    def _in_the_way(self, plan: _Plan, changes: Mapping[Key, _Change]) -> Iterator[str]:
        for key, change in changes.items():
            if change.log and change.left:
                yield f"node `{key.id}` was a context of PETE, and is another node since revision {self.revision}"
        yield from self._hanging_on(plan)
        yield from self._taken(plan)
        yield from self._missing_ends(plan)

    def _hanging_on(self, plan: _Plan) -> Iterator[str]:
        """What would have to go with the nodes that the revision created."""
        goes = {"node": {*plan.created["node"]}, "edge": {*plan.created["edge"], *plan.changed["edge"]}}
        for row in self._ask_of("history/hanging-on", plan.created["node"]):
            if row["id"] not in goes[row["of"]]:
                yield f"{row['of']} `{row['id']}` of revision {row['since']} needs node `{row['node']}`"

    def _taken(self, plan: _Plan) -> Iterator[str]:
        """Ids of deleted elements that are now those of the other kind, and what else stands in their way."""
        for of, other in (("node", "edge"), ("edge", "node")):
            mine, goes = {*plan.deleted[of]}, {*plan.created[other]}
            for row in self._ask_of("history/now", plan.deleted[of]):
                if row["of"] == other and row["values"] is not None and row["id"] in mine - goes:
                    yield f"`{row['id']}` is the id of {'an edge' if of == 'node' else 'a node'} since revision " + str(
                        row["since"]
                    )
        back = {*plan.deleted["node"]}
        for row in self._ask_of("history/in-the-way", plan.deleted["node"], until=self.revision):
            if row["other"] not in back:
                yield f"node `{row['other']}` (revision {row['since']}) stands in the way of node `{row['id']}`"

    def _missing_ends(self, plan: _Plan) -> Iterator[str]:
        """Edges that can't come back because a node at their end is gone."""
        back = [*plan.changed["edge"], *plan.deleted["edge"]]
        there = {*plan.deleted["node"]}
        for row in self._ask_of("history/lost-ends", back, until=self.revision):
            if row["end"] not in there:
                yield f"edge `{row['id']}` needs node `{row['end']}`, deleted by revision {row['since']}"

    def _queries(self, plan: _Plan) -> Iterator[Query]:
        edges = [*plan.changed["edge"], *plan.deleted["edge"]]
        yield from self._writes("contextscript/delete-edges", plan.created["edge"])
        yield from self._writes("history/restore-nodes", plan.deleted["node"], until=self.revision)
        yield from self._writes("history/revert-nodes", plan.changed["node"], until=self.revision)
        yield from self._writes("history/restore-edges", edges, until=self.revision)
        yield from self._writes("contextscript/delete-nodes", plan.created["node"])

    def _ask(self, name: str, **parameters: Any) -> Rows:
        return self.transaction.run(name, **parameters)

    def _ask_of(self, name: str, ids: Sequence[str], **parameters: Any) -> Rows:
        return [row for query in self._writes(name, ids, **parameters) for row in self.transaction.run(query)]

    def _writes(self, name: str, ids: Sequence[str], **parameters: Any) -> Iterator[Query]:
        for start in range(0, len(ids), IDS_PER_QUERY):
            part = ids[start : start + IDS_PER_QUERY]
            yield self.transaction.namespace.query(name, ids=part, **parameters)


def _plan(changes: Mapping[Key, _Change]) -> _Plan:
    plan = _Plan()
    for key, change in sorted(changes.items()):
        if change.before is None:
            plan.created[key.of].append(key.id)
        elif change.left:
            plan.changed[key.of].append(key.id)
        else:
            plan.deleted[key.of].append(key.id)
    return plan


def _changed_later(changes: Mapping[Key, _Change]) -> Iterator[str]:
    """What is no longer as the revision left it."""
    for key, change in changes.items():
        if not change.untouched and change.now != change.after:
            done = "deleted" if change.now is None else "changed" if change.left else "created again"
            yield f"{key.of} `{key.id}` was {done} by revision {change.since}"


def _refusal(revision: int, conflicts: Iterable[str]) -> str:
    named = list(conflicts)
    more = f"; and {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
    return f"revision {revision} can't be undone: {'; '.join(named[:MAX_NAMED])}{more}"
