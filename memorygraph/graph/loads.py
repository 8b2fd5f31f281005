"""Loads: a compiled program becomes one transaction, with its own id and its own revision.

A load begins by taking the write lock of its namespace. Under it the stored ids that the program mentions
are read, the program is compiled against them, and its batches are written; the load's record closes it.
So writers of one namespace take turns, an id can never become a node and an edge at once, revisions have no
gaps, and two loads can't deadlock. (Measured with 10,000 nodes and 20,000 edges on two cores: a registry node
for each id makes the same load take 1.4 times as long: tests/bench/unique_ids.py.)

If the acknowledgement of a commit is lost, the same load runs again, finds its own record, and returns what
that says.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple

from memorygraph.compiler import Compiled, Stored, compile_program, mentioned
from memorygraph.errors import Problem, ScriptError
from memorygraph.graph.connection import Abandon
from memorygraph.graph.foreseen import Case, foreseen, opening
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.languages.contextscript import Program
from memorygraph.library import CYPHER
from memorygraph.query import Query


@dataclass(frozen=True)
class LoadReport:
    """What a load changed. `updated` counts the elements whose stored values really changed.

    `revision` is the number of the load in its namespace, `load_id` its id; a batched load reports its last.
    `resumed_after` is the number of statements that an earlier, interrupted run had stored already.
    """

    file: str | None
    language: str
    statements: int
    nodes_created: int = 0
    nodes_updated: int = 0
    nodes_deleted: int = 0
    edges_created: int = 0
    edges_updated: int = 0
    edges_deleted: int = 0
    warnings: tuple[Problem, ...] = ()
    elapsed_s: float = 0.0
    namespace: str = "default"
    revision: int = 0
    load_id: str = ""
    resumed_after: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {**asdict(self), "warnings": [warning.as_dict() for warning in self.warnings]}


COUNTS = tuple(name for name in (f.name for f in fields(LoadReport)) if name.startswith(("nodes_", "edges_")))

NOTHING = dict.fromkeys(COUNTS, 0)


@dataclass(frozen=True)
class Provenance:
    """Who asked for a load: a user or a model, in a conversation, by the message of this id."""

    by: str = ""
    model: str | None = None
    conversation: str | None = None
    message: str | None = None


UNSAID = Provenance()


class Written(NamedTuple):
    """What a load changed, by the names of the report, and what it warns of.

    `last` is a query that it has still to run, which returns its counts: the record of the load goes with it.
    """

    counts: Mapping[str, int]
    warnings: tuple[Problem, ...] = ()
    last: Query | None = None


class Loaded(NamedTuple):
    """What a load stores: the file and the number of its statements, and what writes it in the transaction.

    `write` is given what is stored of the ids that were asked for. Where it raises, nothing is stored. Where that is
    one of the `cases`, the query of the case writes it, and `write` is not called. `progress` is told how many rows
    such a query, or the last one of `write`, has written.
    """

    file: str | None
    statements: int
    write: Callable[[NamespaceTransaction, Stored], Written]
    progress: Callable[[int], None] | None = None
    cases: Sequence[Case] = ()


@dataclass(frozen=True)
class Loader:
    """Writes programs into one namespace of a database."""

    namespace: Namespace
    language: str = "contextscript"

    def load(
        self,
        program: Program,
        *,
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,
        closing: tuple[Query, ...] = (),
        provenance: Provenance | None = None,
        check: Callable[[NamespaceTransaction], Sequence[Problem]] | None = None,
    ) -> LoadReport:
        """Store a program in one transaction, or, for a dry run, do all of it and roll back.

        `progress` is told the number of rows written, batch by batch; `closing` queries are part of the
        transaction. `check` is asked in it, before anything is written, for what else is wrong with the program.

        Raises:
            ScriptError: the program does not fit what is stored; nothing was changed.
            ConnectionError: the server cannot be reached.
        """
        ids = mentioned(program)
        found: list[Compiled] = []

        def write(transaction: NamespaceTransaction, stored: Stored) -> Written:
            compiled = self._compile(program, stored)
            if compiled.problems:
                found[:] = [compiled]
                raise ScriptError(list(compiled.problems))
            if check is not None and (problems := check(transaction)):
                raise ScriptError(list(problems))
            *queries, last = compiled.queries or (None,)
            return Written(run_counted(transaction, queries, progress), compiled.warnings, last)

        cases = [] if check else foreseen(program, partial(self._compile, program))
        script = Loaded(program.source.file, len(program.statements), write, progress, cases)
        try:
            return self.store(script, ids, dry_run=dry_run, closing=closing, provenance=provenance)
        except ScriptError as error:
            if not found:
                raise
            raise ScriptError(self._explained(program, ids, found[0])) from error

    def write(
        self,
        queries: Sequence[Query],
        *,
        file: str | None,
        statements: int,
        dry_run: bool = False,
        provenance: Provenance | None = None,
    ) -> LoadReport:
        """Store, in one transaction, what does not depend on what is stored already; each query reports its counts.

        Raises:
            ConnectionError: the server cannot be reached.
        """

        def write_all(transaction: NamespaceTransaction, _stored: Stored) -> Written:
            return Written(run_counted(transaction, queries[:-1]), last=queries[-1])

        return self.store(Loaded(file, statements, write_all), dry_run=dry_run, provenance=provenance)

    def store(
        self,
        script: Loaded,
        ids: Sequence[str] = (),
        *,
        dry_run: bool = False,
        closing: tuple[Query, ...] = (),
        provenance: Provenance | None = None,
    ) -> LoadReport:
        """Store whatever a load writes, in one transaction under the write lock of the namespace.

        Raises:
            ConnectionError: the server cannot be reached.
        """
        started = time.monotonic()
        load = uuid.uuid4().hex
        asked = provenance or UNSAID
        record = partial(self._record, script, load, asked)
        if asked.message is not None:
            joined = self.namespace.query("load/join-message", load=load, message=asked.message)
            closing = (*closing, joined)
        begin = self.namespace.query("load/begin-load", load=load, ids=list(ids))
        begin = opening(begin, script.cases, partial(record, NOTHING))

        def work(transaction: NamespaceTransaction) -> LoadReport:
            [opened] = transaction.run(begin)
            if opened["applied"]:
                raise Abandon(self._report(script, opened["applied"]))
            if opened.get("counts"):
                written, counts = Written(NOTHING, last=script.cases[0].query), opened["counts"]
            else:
                written = script.write(transaction, _stored(opened))
                [row] = transaction.run(record(written.counts, written.last))
                counts = row["counts"]
            if script.progress is not None and written.last is not None:
                script.progress(_rows_of(written.last))
            kept = {"id": load, "revision": opened["revision"], **_sum(written.counts, counts)}
            report = self._report(script, kept, written.warnings)
            if dry_run:
                raise Abandon(report)
            for query in closing:
                transaction.run(query)
            return report

        report: LoadReport = self.namespace.write(work)
        return replace(report, elapsed_s=round(time.monotonic() - started, 4))

    def queries(self, program: Program) -> list[Query]:
        """What `load` would run for a program, between opening and closing the load.

        Raises:
            ScriptError: the program does not fit what is stored.
        """
        ids = mentioned(program)
        compiled = self._compile(program, self._stored_now(ids))
        if compiled.problems:
            raise ScriptError(self._explained(program, ids, compiled))
        return list(compiled.queries)

    def _compile(self, program: Program, stored: Stored) -> Compiled:
        token = self.namespace.token
        return compile_program(program, stored, namespace=self.namespace.name, token=token)

    def _stored_now(self, ids: list[str]) -> Stored:
        [row] = self.namespace.read("load/stored-elements", ids=ids)
        return _stored(row)

    def _explained(self, program: Program, ids: list[str], compiled: Compiled) -> list[Problem]:
        """The problems, once more with the names of stored nodes at hand: an unknown id may be a name."""
        if not compiled.unknown:
            return list(compiled.problems)
        names = sorted(identifier.lower() for identifier in compiled.unknown)
        rows = self.namespace.read("load/nodes-named", names=names)
        stored = replace(self._stored_now(ids), names={row["wanted"]: tuple(row["found"]) for row in rows})
        again = self._compile(program, stored)
        return list(again.problems or compiled.problems)

    def _report(self, script: Loaded, record: dict[str, Any], warnings: tuple[Problem, ...] = ()) -> LoadReport:
        return LoadReport(
            file=script.file,
            language=self.language,
            statements=script.statements,
            warnings=warnings,
            namespace=self.namespace.name,
            revision=record["revision"],
            load_id=record["id"],
            **{name: record.get(name, 0) for name in COUNTS},
        )

    def _record(
        self, script: Loaded, load: str, provenance: Provenance, counts: Mapping[str, int], last: Query | None
    ) -> Query:
        """What closes a load, behind its last query if there is one."""
        kept = {"language": self.language, "file": script.file, "statements": script.statements}
        record = {**kept, **NOTHING, **counts, **asdict(provenance)}
        return CYPHER["load/record-load"].around(last, namespace=self.namespace.name, load=load, record=record)


def _stored(row: dict[str, Any]) -> Stored:
    edges = {edge: (from_node, to_node) for edge, from_node, to_node in row["edges"]}
    return Stored(frozenset(row["nodes"]), edges)


def run_counted(
    transaction: NamespaceTransaction, queries: Iterable[Query], progress: Callable[[int], None] | None = None
) -> dict[str, int]:
    """Run the queries of a load, and add up what they report."""
    counts = dict(NOTHING)
    for query in queries:
        [row] = transaction.run(query)
        counts = _sum(counts, row["counts"])
        if progress is not None:
            progress(_rows_of(query))
    return counts


def _sum(some: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    return {name: some.get(name, 0) + others.get(name, 0) for name in COUNTS}


def _rows_of(query: Query) -> int:
    return len(query.parameters.get("rows") or query.parameters["ids"])
