"""Loading a program that is too large for one transaction: batch by batch, and on from where it stopped.

How far a load came is stored in the same transaction as each batch, as the number of statements and the
digest of all of them. A rerun reads the program from its start, finds the longest stored beginning, and goes
on after it, also when the rest was corrected meanwhile, or the batches have another size.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import sha256

from memorygraph.compiler import compile_program
from memorygraph.errors import MAX_PROBLEMS, Problem, ScriptError
from memorygraph.graph.loads import Loader, LoadReport, Provenance
from memorygraph.graph.writes import COUNTS
from memorygraph.languages.contextscript import ContextScriptProgram, GraphStatement, print_statement
from memorygraph.query import Query

Programs = Callable[[], Iterable[ContextScriptProgram]]
Progress = Callable[[int], None]


def load_batches(
    loader: Loader,
    programs: Programs,
    *,
    restart: bool = False,
    progress: Progress | None = None,
    provenance: Provenance | None = None,
) -> LoadReport:
    """Store a stream of programs, each in a transaction of its own; `programs` opens it, and is called twice.

    The first reading finds what can be found without the database, before anything is stored. `restart`
    begins at the first statement even where an earlier run was interrupted. `progress` is told the number
    of statements done.

    Raises:
        ScriptError: something is wrong. If only the database could tell, the batches before it are kept, and
            `stored_statements` of the error says how many statements they hold.
    """
    started = time.monotonic()
    resumed_after, former = _check(programs(), set() if restart else _checkpoints(loader))
    beginning = _Beginning()
    report = LoadReport(None, loader.language, 0, namespace=loader.namespace.name, resumed_after=resumed_after)
    for program, last in _with_last(programs()):
        rest = program.statements[max(0, resumed_after - beginning.statements) :]
        beginning.extend(program.statements)
        if rest or last:
            closing = _close_batch(loader, former, beginning, last=last)
            try:
                batch = loader.load(replace(program, statements=rest), closing=closing, provenance=provenance)
            except ScriptError as error:
                error.stored_statements = resumed_after + report.statements
                raise
            report = _add(report, batch)
            former = beginning.digest
        if progress is not None:
            progress(len(program.statements))
    return replace(report, elapsed_s=round(time.monotonic() - started, 4))


class _Beginning:
    """The statements read so far: how many, and their digest."""

    def __init__(self) -> None:
        self.statements = 0
        self._hash = sha256()

    def extend(self, statements: Iterable[GraphStatement]) -> None:
        for statement in statements:
            self._hash.update(print_statement(statement).encode())
            self.statements += 1

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


def _checkpoints(loader: Loader) -> set[tuple[int, str]]:
    rows = loader.namespace.read("load/checkpoints")
    return {(row["statements"], row["program"]) for row in rows}


def _check(programs: Iterable[ContextScriptProgram], checkpoints: set[tuple[int, str]]) -> tuple[int, str]:
    """Find every problem that needs no database, and the longest beginning that is stored already."""
    problems: list[Problem] = []
    beginning = _Beginning()
    stored = (0, "")
    counts = {count for count, _ in checkpoints}
    for program in programs:
        problems += compile_program(program, None).problems[: MAX_PROBLEMS - len(problems)]
        for statement in program.statements:
            beginning.extend((statement,))
            if beginning.statements in counts and (beginning.statements, beginning.digest) in checkpoints:
                stored = (beginning.statements, beginning.digest)
    if problems:
        raise ScriptError(problems)
    return stored


def _with_last(programs: Iterable[ContextScriptProgram]) -> Iterator[tuple[ContextScriptProgram, bool]]:
    """Each program, and whether it is the last one."""
    held: ContextScriptProgram | None = None
    for program in programs:
        if held is not None:
            yield held, False
        held = program
    if held is not None:
        yield held, True


def _close_batch(loader: Loader, former: str, beginning: _Beginning, *, last: bool) -> tuple[Query, ...]:
    """What is stored with a batch: how far the load came, or, with the last one, that it is complete."""
    if last:
        return (loader.namespace.query("load/forget-checkpoint", program=former),)
    return (
        loader.namespace.query(
            "load/save-checkpoint",
            program=beginning.digest,
            former=former,
            statements=beginning.statements,
        ),
    )


def _add(total: LoadReport, batch: LoadReport) -> LoadReport:
    """The report of all batches so far: counts add up, the last batch gives the revision."""
    counts = {name: getattr(total, name) + getattr(batch, name) for name in COUNTS}
    return replace(
        batch,
        statements=total.statements + batch.statements,
        warnings=(total.warnings + batch.warnings)[:MAX_PROBLEMS],
        resumed_after=total.resumed_after,
        **counts,
    )
