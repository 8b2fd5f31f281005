"""Loads: a compiled program becomes one transaction, with its own id and its own revision.

A load holds the write lock of its namespace while it reads the stored ids that the program mentions and writes what was
compiled against them. So an id can never become a node and an edge at once, revisions have no gaps, and loads can't
deadlock. A long program is compiled before the lock is taken, against what is stored then, and again only where that
has changed since; what was meant by its unknown ids is looked for after the lock is given back. A very long one that
declares each id once is compiled along with its writing: the server works on one part while the next is compiled.
(A registry node for each id instead makes 30,000 elements take 1.4 times as long: tests/bench/unique_ids.py.)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from memorygraph.compiler import (
    Compiled,
    NewElements,
    Stored,
    compile_in_parts,
    compile_new,
    compile_program,
    declares_each_once,
    mentioned,
)
from memorygraph.errors import MAX_PROBLEMS, ConflictError, NotFoundError, Problem, ScriptError, Source, cut_problems
from memorygraph.graph.connection import Abandon
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.graph.search import spellings_row
from memorygraph.graph.sizes import (
    MIN_LARGE_PARTS,
    MIN_LARGE_STATEMENTS,
    NEW_EDGE_BYTES,
    are_long,
    count_parts_at,
    read_memory_limit,
    refuse_too_large,
    size_of_texts,
    texts_of,
)
from memorygraph.graph.writes import COUNTS, NOTHING, OpenWrite, run_counted, write_revision
from memorygraph.languages.contextscript import ContextScriptProgram, Deletion, EdgeDeclaration, NodeDeclaration
from memorygraph.library import CYPHER
from memorygraph.query import Query
from memorygraph.scripts import storable_path
from memorygraph.sentences import Sentence, count_of, counted

MAX_STATEMENTS_UNDER_LOCK = 100  # compiled in a millisecond, which is less than another round trip
MIN_NEW_STATEMENTS = 2


class _NotNew(Exception):  # noqa: N818 - control flow, not an error
    """The graph is not as a program compiled by `compile_new` needs it; nothing was stored."""


@dataclass(frozen=True)
class LoadReport(Sentence):
    """What a load changed. `updated` counts the elements whose stored values really changed.

    `revision` is the number of the load in its namespace, `load_id` its id; a batched load reports its last. A
    `dry_run` has neither: the number that it would have is that of the next write.
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
    dry_run: bool = False

    def __str__(self) -> str:
        warned = f"; {count_of(len(self.warnings), 'warning')}" if self.warnings else ""
        changed = counted(asdict(self))
        return f"{self.file or 'script'}: {changed}; {self.place}{warned}"

    @property
    def place(self) -> str:
        """The revision and the namespace of the load, in words; what had nothing to write made no revision."""
        if self.dry_run:
            return f"a dry run in namespace {self.namespace}"
        return f"{f'revision {self.revision}' if self.revision else 'no new revision'} of namespace {self.namespace}"

    def as_dict(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {**asdict(self), "warnings": [warning.as_dict() for warning in self.warnings]}

    def of_dry_run(self) -> LoadReport:
        """The same of a load that is rolled back, without what would name another write."""
        return replace(self, dry_run=True, revision=0, load_id="")


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
    """Build the record of a write that has changed nothing yet: what it is, and who asked for it."""
    asked = asdict(provenance or Provenance())
    file = file and storable_path(file)
    return {"language": language, "file": file, "statements": statements, **NOTHING, **asked}


class WriteResult(NamedTuple):
    """What a load changed, by the names of the report, its warnings, and what else its record says."""

    counts: Mapping[str, int]
    warnings: tuple[Problem, ...] = ()
    about: Mapping[str, Any] = MappingProxyType({})


class OneTrip(NamedTuple):
    """The query that begins and writes a load in one round trip, with its parameters beside those of the load."""

    query: str
    parameters: dict[str, Any]


def is_large(program: ContextScriptProgram) -> bool:
    """Whether a program may not fit into one transaction; a few statements with short texts do."""
    if len(program.statements) >= MIN_LARGE_STATEMENTS:
        return True
    return are_long(text for statement in program.statements for text in texts_of(statement))


class ProgramPlan:
    """How a program is compiled: under the lock, before it, or along with its writing; `refused` is what was wrong."""

    def __init__(self, loader: Loader, program: ContextScriptProgram) -> None:
        self.ids = mentioned(program)
        self.looked_up = self.ids
        self.refused: Compiled | None = None
        self._loader = loader
        self._program = program
        self._expected: Stored | None = None
        self._along = False
        self._memory = None
        self.is_large = is_large(program)
        count = len(program.statements)
        if self.is_large:
            self._memory = read_memory_limit(loader.namespace.connection)
        if count > MAX_STATEMENTS_UNDER_LOCK:
            # Thousands of ids are not sent to a namespace that has none.
            self.looked_up = self.ids if loader.namespace.read("load/any-node") else []
            # One part alone gains nothing by it, and what is wrong with it is better found before the lock is taken.
            self._along = count >= MIN_LARGE_STATEMENTS and declares_each_once(program)
            if not self._along:
                self._expected = loader.read_stored(self.looked_up) if self.looked_up else Stored()
                self._planned = loader.compile(program, self._expected)

    def find_again(self, transaction: NamespaceTransaction, found: Stored) -> Stored:
        """What is stored now of the ids; they were not looked up where nothing was stored before the lock was taken."""
        if not self.looked_up and self.ids and transaction.run("load/any-node"):
            [row] = transaction.run("load/stored-elements", ids=self.ids)
            return find_stored(row)
        return found

    def refuse_too_large(self, transaction: NamespaceTransaction, stored: Stored) -> None:
        """Refuse what a transaction has no room for, before anything is written."""
        if not self.is_large:
            # A few statements with short texts are large only where much goes with the nodes that they delete.
            deletions = (each for each in self._program.statements if isinstance(each, Deletion))
            parts, _ = count_parts_at(transaction, [each.id for each in deletions if each.id in stored.nodes])
            if parts >= MIN_LARGE_PARTS:
                self._memory = read_memory_limit(self._loader.namespace.connection)
        if self._memory is not None:
            refuse_too_large(transaction, self._program, stored, self._memory)

    def compile(self, stored: Stored) -> tuple[Iterable[Query], tuple[Problem, ...]]:
        """The queries that write the program on what is stored, and its warnings."""
        if self._along:
            return self._compile_along(stored), ()
        planned = self._expected is not None and stored == self._expected
        compiled = self._planned if planned else self._loader.compile(self._program, stored)
        self._refuse(compiled)
        return compiled.queries, compiled.warnings

    def _compile_along(self, stored: Stored) -> Iterator[Query]:
        where = self._loader.namespace
        compiled = yield from compile_in_parts(self._program, stored, namespace=where.name, token=where.token)
        self._refuse(compiled)
        yield from compiled.queries

    def _refuse(self, compiled: Compiled) -> None:
        if compiled.problems:
            self.refused = compiled
            raise ScriptError(list(compiled.problems))


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
        new: NewElements | None = None,
    ) -> LoadReport:
        """Store a program in one transaction, or, for a dry run, do all of it and roll back.

        `progress` is told the number of rows written, batch by batch. The transaction ends with the `closing` queries,
        and begins with `check`, which finds what else is wrong with the program. `new` is the program compiled by
        `compile_new`, and tried first.
        """
        if new is not None:
            with suppress(_NotNew):
                return self._create(program, new, closing=closing, provenance=provenance)
        plan = ProgramPlan(self, program)

        def write(transaction: NamespaceTransaction, found: Stored) -> WriteResult:
            stored = plan.find_again(transaction, found)
            plan.refuse_too_large(transaction, stored)
            queries, warnings = plan.compile(stored)
            if check is not None and (problems := check(transaction)):
                raise ScriptError(list(problems))
            queries = refuse_lost(transaction, program, queries)
            return WriteResult(run_counted(transaction, queries, progress), warnings)

        try:
            return self.store(
                write,
                plan.looked_up,
                file=program.source.file,
                statements=len(program.statements),
                dry_run=dry_run,
                closing=closing,
                provenance=provenance,
                one_trip=None if check or plan.is_large else self.plan_one_trip(program),
                progress=progress,
            )
        except ScriptError as error:
            if plan.refused is None:
                raise
            raise ScriptError(self.explain(program, plan.ids, plan.refused)) from error

    def _create(
        self,
        program: ContextScriptProgram,
        new: NewElements,
        *,
        closing: tuple[Query, ...],
        provenance: Provenance | None,
    ) -> LoadReport:
        """Store a program as `compile_new` compiled it, or raise _NotNew."""
        count = len(program.statements)
        if is_large(program):
            memory = read_memory_limit(self.namespace.connection)
            texts = size_of_texts(text for statement in program.statements for text in texts_of(statement))
            if memory is not None and count * NEW_EDGE_BYTES + texts > memory:  # it is measured otherwise
                raise _NotNew

        def write(transaction: NamespaceTransaction, _: Stored) -> WriteResult:
            [row] = transaction.run("load/any-taken", nodes=new.nodes, edges=new.edges, needed=new.needed)
            if row["taken"]:
                raise _NotNew
            counts = run_counted(transaction, new.queries, None)
            if counts["nodes_created"] + counts["edges_created"] < count:
                raise _NotNew
            return WriteResult(counts)

        file = program.source.file
        try:
            return self.store(write, file=file, statements=count, closing=closing, provenance=provenance)
        except ConflictError as error:  # a constraint: one of the ids is stored
            raise _NotNew from error

    def store(
        self,
        write: Callable[[NamespaceTransaction, Stored], WriteResult],
        ids: Sequence[str] = (),
        *,
        file: str | None = None,
        statements: int = 0,
        dry_run: bool = False,
        closing: tuple[Query, ...] = (),
        provenance: Provenance | None = None,
        one_trip: OneTrip | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> LoadReport:
        """Store what `write` writes, given what is stored of the ids, in one transaction under the namespace's lock.

        Where `write` raises, nothing is stored. It is not called where `one_trip` met what it was planned for.
        """
        started = time.monotonic()
        record = build_load_record(self.language, provenance, file=file, statements=statements)

        def work(opened: OpenWrite) -> LoadReport:
            if opened.applied:
                raise Abandon(self.report({**record, **opened.applied}))
            counts: Mapping[str, int] | None = opened.found.get("counts")
            warnings: tuple[Problem, ...] = ()
            if counts is None:
                counts, warnings, about = write(opened.transaction, find_stored(opened.found))
                opened.record({**record, **counts, **about})
            elif progress is not None:
                progress(1)
            report = self.report({**record, **counts, "id": opened.load, "revision": opened.revision}, warnings)
            if dry_run:
                raise Abandon(report.of_dry_run())
            for query in closing:
                opened.transaction.run(query)
            if record["message"] is not None:
                opened.transaction.run("load/join-message", load=opened.load, message=record["message"])
            return report

        query, parameters = "load/begin-load", dict[str, Any]()
        if one_trip is not None:
            query, parameters = one_trip.query, {**one_trip.parameters, "record": record}
        report = write_revision(self.namespace, work, query, ids=list(ids), **parameters)
        return replace(report, elapsed_s=round(time.monotonic() - started, 4))

    def queries(self, program: ContextScriptProgram) -> list[Query]:
        """Return what `load` would run for a program, between the queries that begin and end the load."""
        ids = mentioned(program)
        compiled = self.compile(program, self.read_stored(ids))
        if compiled.problems:
            raise ScriptError(self.explain(program, ids, compiled))
        return list(compiled.queries)

    def delete(self, ids: Iterable[str]) -> LoadReport:
        """Delete nodes and edges in one transaction, by ids that were read: raw Cypher makes longer ones than a script.

        Raises:
            NotFoundError: another writer has deleted one of them meanwhile; nothing was changed.
        """
        deletions = tuple(Deletion.model_construct(id=each) for each in ids)
        try:
            return self.load(ContextScriptProgram(Source(""), deletions))
        except ScriptError as error:
            raise NotFoundError("; ".join(problem.message for problem in error.problems)) from error

    def compile(self, program: ContextScriptProgram, stored: Stored, *, suggest: bool = False) -> Compiled:
        """Compile a program for this namespace, on what is stored of its ids."""
        namespace, token = self.namespace.name, self.namespace.token
        return compile_program(program, stored, namespace=namespace, token=token, suggest=suggest)

    def compile_new(self, program: ContextScriptProgram) -> NewElements | None:
        """Compile a program for this namespace as if all that it declares is new, or return None where it may not be.

        One statement alone is looked up and written in one round trip.
        """
        if len(program.statements) < MIN_NEW_STATEMENTS:
            return None
        return compile_new(program, namespace=self.namespace.name, token=self.namespace.token)

    def plan_one_trip(self, program: ContextScriptProgram) -> OneTrip | None:
        """Plan a load of one declaration for one round trip; other programs have no such plan."""
        # The query fits either case: nothing is stored, or an element of its kind (an edge with the same ends).
        match program.statements:
            case [NodeDeclaration(node_id=node)]:
                query, more = "load/load-node", {"namespace_token": self.namespace.token}
                absent, present = Stored(), Stored(frozenset((node,)))
            case [EdgeDeclaration(edge_id=edge, from_node=str(source), to_node=str(target))]:
                nodes = frozenset((source, target))
                query, more = "load/load-edge", {}
                absent, present = Stored(nodes), Stored(nodes, {edge: (source, target)})
            case _:
                return None
        cases: dict[str, dict[str, Any] | None] = {"absent": None, "present": None}
        row: dict[str, Any] = {}  # one for both cases: each reads the keys that it knows
        for name, stored in (("absent", absent), ("present", present)):
            compiled = self.compile(program, stored)
            if not compiled.problems and len(compiled.queries) == 1:
                edges = [[edge, *ends] for edge, ends in stored.edges.items()]
                cases[name] = {"nodes": sorted(stored.nodes), "edges": edges}
                row |= compiled.queries[0].parameters["rows"][0]
        return OneTrip(query, {**more, **cases, "rows": [row]}) if row else None

    def read_stored(self, ids: list[str]) -> Stored:
        """Read, without a lock, what is stored of these ids."""
        [row] = self.namespace.read("load/stored-elements", ids=ids)
        return find_stored(row)

    def explain(self, program: ContextScriptProgram, ids: list[str], compiled: Compiled) -> list[Problem]:
        """Find the problems once more, with what may have been meant by unknown ids: other ids, or names of nodes."""
        if not compiled.unknown:
            return list(compiled.problems)
        wanted = sorted({identifier.lower() for identifier in compiled.unknown})
        rows = [spellings_row(name, self.namespace.name) for name in wanted]
        names = dict[str, tuple[str, str]]()
        for row in self.namespace.read("merges/nodes-called", rows=rows):
            names.setdefault(row["wanted"], (row["id"], row["name"]))
        stored = replace(self.read_stored(ids), names=names)
        return list(self.compile(program, stored, suggest=True).problems or compiled.problems)

    def report(self, record: Mapping[str, Any], warnings: tuple[Problem, ...] = ()) -> LoadReport:
        """Make the report of a load with this record."""
        return LoadReport(
            file=record["file"],
            language=self.language,
            statements=record["statements"],
            warnings=warnings,
            namespace=self.namespace.name,
            revision=record["revision"],
            load_id=record["id"],
            **{name: record[name] for name in COUNTS},
        )


def find_stored(row: Mapping[str, Any]) -> Stored:
    """Take the stored elements among the ids of a load from the row of its query."""
    edges = {edge: (from_node, to_node) for edge, from_node, to_node in row["edges"]}
    return Stored(frozenset(row["nodes"]), edges)


def refuse_lost(
    transaction: NamespaceTransaction, program: ContextScriptProgram, queries: Iterable[Query]
) -> Iterator[Query]:
    """Pass on the queries of a program, and refuse one that uses what an earlier one has deleted with a node.

    That edges go with a node the compiler knows; what else does, such as an observation, only the database.
    """
    deletion = CYPHER["contextscript/delete-nodes"].text
    has_deleted = False
    for query in queries:
        if has_deleted and (used := find_used(query)):
            [row] = transaction.run("load/stored-elements", ids=sorted(used))
            found = find_stored(row)
            if lost := used - found.nodes - found.edges.keys():
                # The stored end of an edge, which the program may not mention, is lost together with the edge.
                told = sorted(lost.intersection(mentioned(program)))[: MAX_PROBLEMS + 1]
                raise ScriptError(cut_problems([describe_lost(program, identifier) for identifier in told]))
        yield query
        has_deleted = has_deleted or query.text == deletion


def find_used(query: Query) -> set[str]:
    """Find the elements that a query changes, and the nodes that it joins: all of them are there before it."""
    rows = query.parameters.get("rows", ())
    used = {row["id"] for row in rows if "set" in row}
    return used | {row[end] for row in rows for end in ("from_node", "to_node") if end in row}


def describe_lost(program: ContextScriptProgram, identifier: str) -> Problem:
    """Say where a program uses what it has deleted with a node, and how that would stay."""
    uses = (
        (statement, argument)
        for statement in reversed(program.statements)
        for argument in ("node_id", "edge_id", "from_node", "to_node")
        if getattr(statement, argument, None) == identifier
    )
    statement, argument = next(uses)
    code = "unknown-id" if argument == "edge_id" else "unknown-node"
    message = f"`{identifier}` went with a node that was deleted before; what is joined to another node first stays"
    return program.source.problem(message, code, program.argument_span(statement, argument))
