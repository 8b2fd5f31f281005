"""Loading and deleting what is too large for one transaction: batch by batch, resuming where it stopped.

Each batch stores, in its transaction, the number and the digest of all statements so far. A rerun finds the longest
stored beginning and continues after it, even if the rest was corrected or the batches have another size. While one
batch is stored, a thread reads the one after the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from hashlib import sha256

from memorygraph.compiler import compile_program
from memorygraph.errors import MAX_PROBLEMS, Problem, ScriptError, Source
from memorygraph.graph.loads import Loader, LoadReport, Provenance
from memorygraph.graph.writes import COUNTS
from memorygraph.languages.contextscript import ContextScriptProgram, Deletion, print_statement


def load_batches(
    loader: Loader,
    programs: Callable[[], Iterable[ContextScriptProgram]],
    *,
    restart: bool = False,
    progress: Callable[[int], None] | None = None,
    checked: Callable[[int], None] | None = None,
    provenance: Provenance | None = None,
) -> LoadReport:
    """Store a stream of programs, each in a transaction of its own; `programs` opens it, and is called twice.

    The first reading finds what can be found without the database, before anything is stored; `checked` is told the
    number of its statements. `restart` begins at the first statement even where an earlier run was interrupted.
    `progress` is told the number of statements done.

    Raises:
        ScriptError: something is wrong. If only the database could tell, the batches before it are kept, and
            `stored_statements` of the error says how many statements they hold.
    """
    started = time.monotonic()
    rows = [] if restart else loader.namespace.read("load/checkpoints")
    known = {(row["statements"], row["program"]) for row in rows}
    total, resumed_after, former = find_stored_prefix(programs(), known)
    if checked is not None:
        checked(total)
    prefix = _Prefix()
    report = LoadReport(None, loader.language, 0, namespace=loader.namespace.name, resumed_after=resumed_after)
    with closing(read_ahead(programs())) as stream:
        ahead = next(stream, None)
        while ahead is not None:
            (program, text), ahead = ahead, next(stream, None)  # the last program closes the load
            rest = program.statements[max(0, resumed_after - prefix.statements) :]
            prefix.extend(len(program.statements), text)
            if rest or ahead is None:
                checkpoint = {"program": prefix.digest, "former": former, "statements": prefix.statements}
                last = loader.namespace.query("load/save-checkpoint", **checkpoint)
                if ahead is None:
                    last = loader.namespace.query("load/forget-checkpoint", program=former)
                try:
                    batch = loader.load(replace(program, statements=rest), closing=(last,), provenance=provenance)
                except ScriptError as error:
                    error.stored_statements = resumed_after + report.statements
                    raise
                report = add_reports(report, batch)
                former = prefix.digest
            if progress is not None:
                progress(len(program.statements))
    return replace(report, elapsed_s=round(time.monotonic() - started, 4))


def delete_in_batches(loader: Loader, identifier: str, batch: int) -> LoadReport:
    """Delete a node that has more edges than one transaction holds: first its edges, so many in each revision."""
    started = time.monotonic()
    report = LoadReport(None, loader.language, 0, namespace=loader.namespace.name)
    while edges := loader.namespace.read("read/some-edges-at", id=identifier, limit=batch):
        program = ContextScriptProgram(Source(""), tuple(Deletion(id=edge["id"]) for edge in edges))
        report = add_reports(report, loader.load(program))
    report = add_reports(report, loader.load(ContextScriptProgram(Source(""), (Deletion(id=identifier),))))
    return replace(report, elapsed_s=round(time.monotonic() - started, 4))


def read_ahead(programs: Iterable[ContextScriptProgram]) -> Generator[tuple[ContextScriptProgram, bytes], None, None]:
    """Yield programs, each with the canonical text of its statements; a thread makes the next meanwhile."""
    source = iter(programs)

    def read() -> tuple[ContextScriptProgram, bytes] | None:
        program = next(source, None)
        return None if program is None else (program, "".join(map(print_statement, program.statements)).encode())

    with ThreadPoolExecutor(1, "memorygraph-reading") as reading:
        coming = reading.submit(read)
        while (found := coming.result()) is not None:
            coming = reading.submit(read)
            yield found
            del found  # it is not held while the next one is waited for


class _Prefix:
    """The statements read so far: how many, and their digest."""

    def __init__(self) -> None:
        self.statements = 0
        self._hash = sha256()

    def extend(self, statements: int, text: bytes) -> None:
        """Add so many statements, of this canonical text."""
        self._hash.update(text)
        self.statements += statements

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def find_stored_prefix(
    programs: Iterable[ContextScriptProgram], checkpoints: set[tuple[int, str]]
) -> tuple[int, int, str]:
    """Count the statements, and find how many of them the longest stored beginning has, and its digest."""
    problems: list[Problem] = []
    prefix = _Prefix()
    stored = (0, "")
    counts = {count for count, _ in checkpoints}
    for program in programs:
        problems += compile_program(program, None).problems[: MAX_PROBLEMS - len(problems)]
        if not counts or prefix.statements >= max(counts):  # no later beginning is stored
            prefix.statements += len(program.statements)
            continue
        for statement in program.statements:
            prefix.extend(1, print_statement(statement).encode())
            if prefix.statements in counts and (prefix.statements, prefix.digest) in checkpoints:
                stored = (prefix.statements, prefix.digest)
    if problems:
        raise ScriptError(problems)
    return prefix.statements, *stored


def add_reports(total: LoadReport, batch: LoadReport) -> LoadReport:
    """Add a batch to the report of those before it: counts add up, the last batch gives the revision."""
    counts = {name: getattr(total, name) + getattr(batch, name) for name in ("statements", *COUNTS)}
    warnings = (total.warnings + batch.warnings)[:MAX_PROBLEMS]
    return replace(batch, warnings=warnings, resumed_after=total.resumed_after, **counts)
