"""Merge: two entities that are one become one, in one load that can be undone.

Nothing that was said is lost: edges and observations move, with their ids; of two edges that say the same the stronger
weight stays, and of two observations one. What only one of them has, its data or its type, the other gets. What the
merged entity was called, its id and its address lead to the other from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from memorygraph.compiler import Stored
from memorygraph.errors import ConflictError, NotFoundError
from memorygraph.graph.aliases import MERGED_KEY, MergeLinks, NamedEntity, find_named
from memorygraph.graph.elements import as_text, explaining_ambiguity
from memorygraph.graph.loads import Loader, LoadReport, Provenance, WriteResult
from memorygraph.graph.namespace import IDS_PER_QUERY, Namespace, NamespaceTransaction
from memorygraph.graph.sizes import refuse_merge
from memorygraph.graph.writes import run_counted
from memorygraph.memory.writes import observation_ids
from memorygraph.query import Query
from memorygraph.sentences import Sentence
from memorygraph.word_parts import parts_of_properties

LANGUAGE = "merge"
MAX_CANDIDATE_IDS = 20


@dataclass(frozen=True, kw_only=True)
class MergeCounts:
    """How much of each kind a merge moved, joined or removed.

    `edges_joined` are those that said what another edge says already, `loops_removed` those between the two.
    """

    edges_moved: int
    edges_joined: int
    loops_removed: int
    observations_moved: int
    observations_joined: int
    messages: int


@dataclass(frozen=True)
class MergeReport(MergeCounts, Sentence):
    """What a merge did: `merged` is gone, and what it had is `into`'s; the report is that of the load.

    `aliases` are all names that lead to `into` now.
    """

    merged: NamedEntity
    into: NamedEntity
    report: LoadReport
    aliases: tuple[str, ...]

    def __str__(self) -> str:
        if self.report.dry_run:
            return f"{self.merged.label} would be {self.into.label}: {self.report.place}"
        return f"{self.merged.label} is {self.into.label} now: {self.report.place}"

    @property
    def counts(self) -> dict[str, int]:
        """The counts by their names."""
        return {count.name: getattr(self, count.name) for count in fields(MergeCounts)}

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return {
            "merged": {"id": self.merged.id, "name": self.merged.name},
            "into": {"id": self.into.id, "name": self.into.name},
            **self.counts,
            "aliases": list(self.aliases),
            "revision": self.report.revision,
            "namespace": self.report.namespace,
            "load_id": self.report.load_id,
            "dry_run": self.report.dry_run,
        }


def merge_into(
    namespace: Namespace, merged: str, into: str, *, dry_run: bool = False, provenance: Provenance | None = None
) -> MergeReport:
    """Merge an entity into another one, each named by its id, its name or an alias.

    Raises:
        NotFoundError: there is no such entity.
        ConflictError: both are the same entity, a name is that of several, or it is no entity.
    """
    done: list[tuple[MergePlan, Mapping[str, int]]] = []
    going: list[str] = []

    def write(transaction: NamespaceTransaction, _stored: Stored) -> WriteResult:
        plan = plan_merge(transaction, merged, into)
        going[:] = [plan.merged.id]
        counts = run_counted(transaction, plan.queries(transaction.namespace))
        links = MergeLinks([(plan.merged.id, plan.into.id), *plan.twins])
        linked = links.link(transaction)
        done[:] = [(plan, linked)]
        plan.aliases += sorted({row["name"] for row in transaction.run("merges/aliases-of", ids=[plan.into.id])})
        return WriteResult(counts, about={MERGED_KEY: links.ids})

    with explaining_ambiguity(namespace, going):
        report = Loader(namespace, LANGUAGE).store(write, statements=1, dry_run=dry_run, provenance=provenance)
    [(plan, linked)] = done
    return plan.report(report, linked["messages"])


@dataclass
class MergePlan:
    """What a merge is going to do to the edges and observations of an entity."""

    merged: NamedEntity
    into: NamedEntity
    moved: list[dict[str, Any]] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)  # of the edges that others are joined with
    twins: list[tuple[str, str]] = field(default_factory=list)  # observations that the other entity has too
    changed: dict[str, str] = field(default_factory=dict)
    observation: dict[str, str] | None = None  # what the merged entity's data becomes
    joined: int = 0
    loops: int = 0
    observations: int = 0
    aliases: list[str] = field(default_factory=list)

    def queries(self, namespace: Namespace) -> Iterator[Query]:
        """The queries that write it; what is left at the merged node then goes with that."""
        for start in range(0, len(self.moved), IDS_PER_QUERY):
            yield namespace.query("contextscript/move-edges", rows=self.moved[start : start + IDS_PER_QUERY])
        if self.weights:
            rows = [{"id": edge, "set": {"weight": weight}} for edge, weight in self.weights.items()]
            yield namespace.query("contextscript/change-edges", rows=rows)
        if self.changed:
            change = {"id": self.into.id, "set": self.changed, "parts": parts_of_properties(self.changed)}
            yield namespace.query("contextscript/change-nodes", rows=[change])
        if self.observation:
            row = {**self.observation, **parts_of_properties({"data": self.observation["data"]})}
            yield namespace.query("merges/observe", namespace_token=namespace.token, rows=[row])
        yield namespace.query("contextscript/delete-nodes", ids=[self.merged.id])

    def report(self, report: LoadReport, messages: int) -> MergeReport:
        """Report what it did."""
        return MergeReport(
            self.merged,
            self.into,
            report,
            edges_moved=len(self.moved) - self.observations,
            edges_joined=self.joined,
            loops_removed=self.loops,
            observations_moved=self.observations + (self.observation is not None),
            observations_joined=len(self.twins),
            messages=messages,
            aliases=tuple(self.aliases),
        )


def plan_merge(transaction: NamespaceTransaction, merged: str, into: str) -> MergePlan:
    """Plan a merge, under the lock of the namespace."""
    named = find_named(transaction.run, [merged, into])
    plan = MergePlan(find_entity(named, merged), find_entity(named, into))
    if plan.merged.id == plan.into.id:
        told = f"`{merged}` and `{into}` are one entity already: `{plan.into.id}` ({plan.into.label})"
        raise ConflictError(f"{told}; name two different ones")
    refuse_merge(transaction, plan.merged.id)
    texts = transaction.run("merges/observed-texts", id=plan.into.id)
    said = {as_text(row["data"]): row["id"] for row in texts if row["data"]}
    for edge in transaction.rows("merges/edges-to-merge", **{"from": plan.merged.id, "into": plan.into.id}):
        add_edge(plan, edge, said)
    data = plan.merged.data
    if data and not plan.into.data and data not in said:
        plan.changed["data"] = data
    elif data and data not in said:
        plan.observation = plan_observation(transaction, plan.into.id, data)
    if plan.merged.kind and not plan.into.kind:
        plan.changed["kind"] = plan.merged.kind
    return plan


def find_entity(named: Mapping[str, NamedEntity], text: str) -> NamedEntity:
    """Find the entity that a text names, among those that were found."""
    found = named.get(text)
    if found is None:
        raise NotFoundError(f"no entity `{text}`; `search` finds ids by text")
    if found.other_than_entity:
        raise ConflictError(f"`{text}` is {found.other_than_entity}, and only entities can be merged")
    return found


def add_edge(plan: MergePlan, edge: Mapping[str, Any], said: Mapping[str, str]) -> None:
    """Plan what becomes of one edge at the merged node; `said` are the observations of the other, by their texts."""
    if edge["between"]:
        plan.loops += 1
    elif edge["twin"] is not None:
        plan.joined += 1
        known = (edge["weight"], edge["twin_weight"], plan.weights.get(edge["twin"]))
        weights = [weight for weight in known if isinstance(weight, (int, float))]  # another program may give none
        if weights and max(weights) != edge["twin_weight"]:
            plan.weights[edge["twin"]] = max(weights)
    elif (twin := said.get(as_text(edge["observed"]))) is not None and edge["alone"]:
        plan.twins.append((edge["target"], twin))
    else:
        plan.observations += edge["observed"] is not None
        plan.moved.append({"id": edge["id"], "from_node": edge["from_node"], "to_node": edge["to_node"], "set": {}})


def plan_observation(transaction: NamespaceTransaction, entity: str, data: str) -> dict[str, str]:
    """Find free ids for an observation of an entity, the first of them those that an observation of this text has."""
    for number in range(MAX_CANDIDATE_IDS):
        ids = observation_ids(entity, data, number)
        if not transaction.run("pete/taken-ids", ids=list(ids.values())):
            return {**ids, "entity": entity, "data": data}
    raise ConflictError(f"the ids that an observation of `{entity}` can have belong to others; rename those")
