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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from memorygraph.compiler import Compiled, Stored, compile_program, mentioned
from memorygraph.errors import Problem, ScriptError
from memorygraph.graph.connection import Abandon
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.graph.one_trip import OneTrip, plan_one_trip
from memorygraph.graph.writes import COUNTS, NOTHING, OpenWrite, run_counted, write_revision
from memorygraph.languages.contextscript import ContextScriptProgram
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


@dataclass(frozen=True)
class Provenance:
    """Who asked for a load: a user or a model, in a conversation, by the message of this id."""

    by: str = ""
    model: str | None = None
    conversation: str | None = None
    message: str | None = None


def build_load_record(
    language: str, provenance: Provenance | None, *, file: str | None = None, statements: int = 0
) -> dict[str, Any]:
    """The record of a write that has changed nothing yet: what it was, and who asked for it."""
    asked = asdict(provenance or Provenance())
    return {"language": language, "file": file, "statements": statements, **NOTHING, **asked}


class Written(NamedTuple):
    """What a load changed, by the names of the report, and what it warns of."""

    counts: Mapping[str, int]
    warnings: tuple[Problem, ...] = ()


class Loaded(NamedTuple):
    """What a load stores: the file and the number of its statements, and the function that writes it.

    `write` is given what is stored of the ids that were asked for. Where it raises, nothing is stored.
    """

    file: str | None
    statements: int
    write: Callable[[NamespaceTransaction, Stored], Written]


@dataclass(frozen=True)
class Loader:
    """Writes programs into one namespace of a database."""

    namespace: Namespace
    language: str = "contextscript"

    def load(
        self,
        program: ContextScriptProgram,
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
        wrong: list[Compiled] = []

        def write(transaction: NamespaceTransaction, stored: Stored) -> Written:
            compiled = self.compile(program, stored)
            if compiled.problems:
                wrong[:] = [compiled]
                raise ScriptError(list(compiled.problems))
            if check is not None and (problems := check(transaction)):
                raise ScriptError(list(problems))
            return Written(run_counted(transaction, compiled.queries, progress), compiled.warnings)

        one_trip = None if check else plan_one_trip(program, partial(self.compile, program), self.namespace.token)
        script = Loaded(program.source.file, len(program.statements), write)
        try:
            return self.store(
                script,
                ids,
                dry_run=dry_run,
                closing=closing,
                provenance=provenance,
                one_trip=one_trip,
                progress=progress,
            )
        except ScriptError as error:
            if not wrong:
                raise
            raise ScriptError(self.explain(program, ids, wrong[0])) from error

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
            return Written(run_counted(transaction, queries))

        return self.store(Loaded(file, statements, write_all), dry_run=dry_run, provenance=provenance)

    def store(
        self,
        script: Loaded,
        ids: Sequence[str] = (),
        *,
        dry_run: bool = False,
        closing: tuple[Query, ...] = (),
        provenance: Provenance | None = None,
        one_trip: OneTrip | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> LoadReport:
        """Store whatever a load writes, in one transaction under the write lock of the namespace.

        Where `one_trip` finds what it was planned for, it has written the load, and `script.write` is not called.

        Raises:
            ConnectionError: the server cannot be reached.
        """
        started = time.monotonic()
        record = build_load_record(self.language, provenance, file=script.file, statements=script.statements)

        def work(write: OpenWrite) -> LoadReport:
            if write.applied:
                raise Abandon(self.report(script, write.applied))
            counts: Mapping[str, int] | None = write.found.get("counts")
            warnings: tuple[Problem, ...] = ()
            if counts is None:
                counts, warnings = script.write(write.transaction, find_stored(write.found))
                write.record({**record, **counts})
            elif progress is not None:
                progress(1)
            report = self.report(script, {"id": write.load, "revision": write.revision, **counts}, warnings)
            if dry_run:
                raise Abandon(report)
            for query in closing:
                write.transaction.run(query)
            if record["message"] is not None:
                write.transaction.run("load/join-message", load=write.load, message=record["message"])
            return report

        query, parameters = "load/begin-load", dict[str, Any]()
        if one_trip is not None:
            query, parameters = one_trip.query, {**one_trip.parameters, "record": record}
        report = write_revision(self.namespace, work, query, ids=list(ids), **parameters)
        return replace(report, elapsed_s=round(time.monotonic() - started, 4))

    def queries(self, program: ContextScriptProgram) -> list[Query]:
        """What `load` would run for a program, between the queries that begin and end the load.

        Raises:
            ScriptError: the program does not fit what is stored.
        """
        ids = mentioned(program)
        compiled = self.compile(program, self.stored_now(ids))
        if compiled.problems:
            raise ScriptError(self.explain(program, ids, compiled))
        return list(compiled.queries)

    def compile(self, program: ContextScriptProgram, stored: Stored) -> Compiled:
        """Compile a program for this namespace, on what is stored of its ids."""
        return compile_program(program, stored, namespace=self.namespace.name, token=self.namespace.token)

    def stored_now(self, ids: list[str]) -> Stored:
        """What is stored of these ids, read without a lock."""
        [row] = self.namespace.read("load/stored-elements", ids=ids)
        return find_stored(row)

    def explain(self, program: ContextScriptProgram, ids: list[str], compiled: Compiled) -> list[Problem]:
        """The problems, once more with the names of stored nodes at hand: an unknown id may be a name."""
        if not compiled.unknown:
            return list(compiled.problems)
        names = sorted(identifier.lower() for identifier in compiled.unknown)
        rows = self.namespace.read("load/nodes-named", names=names)
        stored = replace(self.stored_now(ids), names={row["wanted"]: tuple(row["found"]) for row in rows})
        again = self.compile(program, stored)
        return list(again.problems or compiled.problems)

    def report(self, script: Loaded, record: Mapping[str, Any], warnings: tuple[Problem, ...] = ()) -> LoadReport:
        """The report of a load with this record."""
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


def find_stored(row: Mapping[str, Any]) -> Stored:
    """The stored elements among the ids that a load has asked for, from the row of its query."""
    edges = {edge: (from_node, to_node) for edge, from_node, to_node in row["edges"]}
    return Stored(frozenset(row["nodes"]), edges)
