"""Loading and deleting what is too large for one transaction: batch by batch, resuming where it stopped.

The file is read twice: checked as a whole, then stored. While one batch is stored, a thread reads and compiles the
next. It compiles it for a graph that has none of its ids, so that nothing has to be looked up before it is
sent; where the graph has one, the batch is loaded as any other program, and so is the next.

Each batch stores, in its transaction, the number and the digest of all statements so far. A rerun finds the longest
stored beginning and continues after it, even if the rest was corrected or the batches have another size.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256

from memorygraph.collection import without_collection
from memorygraph.compiler import NewElements, find_problems
from memorygraph.errors import MAX_PROBLEMS, NotFoundError, Problem, ScriptError, TooLargeError, cut_problems
from memorygraph.graph.connection import WRITE_SECONDS
from memorygraph.graph.elements import find_node
from memorygraph.graph.loads import Loader, LoadReport, Provenance
from memorygraph.graph.namespace import work_through
from memorygraph.graph.writes import COUNTS
from memorygraph.languages.contextscript import ContextScriptProgram, print_statement


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
    known = {(row["statements"], row["program"]) for row in loader.namespace.read("load/checkpoints")}
    total, stored_prefixes = find_stored_prefixes(programs(), known)
    resumed_after = 0 if restart else max(stored_prefixes, default=0)
    formers = [*stored_prefixes.values()]  # of several runs, where one began anew with batches of another size
    if checked is not None:
        checked(total)
    report = LoadReport(None, loader.language, 0, namespace=loader.namespace.name, resumed_after=resumed_after)
    is_new = True  # whether a batch is taken for new: where the last one was
    with closing(read_ahead(prepare_batches(programs(), resumed_after, loader.compile_new))) as batches:
        for batch in batches:
            is_last = batch.end >= total
            if batch.program.statements or is_last:
                file = batch.program.source.file
                checkpoint = {"program": batch.digest, "formers": formers, "file": file, "statements": batch.end}
                last = loader.namespace.query("load/save-checkpoint", **checkpoint)
                if is_last:
                    last = loader.namespace.query("load/forget-checkpoints", programs=formers, file=file)
                try:
                    stored = loader.load(
                        batch.program, new=batch.new if is_new else None, closing=(last,), provenance=provenance
                    )
                except ScriptError as error:
                    error.stored_statements = resumed_after + report.statements
                    raise
                is_new = stored.nodes_created + stored.edges_created == stored.statements
                report = add_reports(report, stored)
                formers = [batch.digest]
            if progress is not None:
                progress(batch.size)
            del batch  # it is not held while the next one is waited for
    return replace(report, elapsed_s=round(time.monotonic() - started, 4))


def delete_in_batches(loader: Loader, identifier: str, batch: int) -> LoadReport:
    """Delete a node with which more goes than one transaction holds: first its parts, so many in each revision."""
    started = time.monotonic()
    report = LoadReport(None, loader.language, 0, namespace=loader.namespace.name)
    refused: list[str] = []

    def delete(ids: Iterable[str]) -> None:
        nonlocal report
        report = add_reports(report, loader.delete(ids))

    def delete_some(find: str, limit: int) -> int:
        nonlocal refused
        rows = loader.namespace.read(find, ids=[identifier], limit=limit, seconds=WRITE_SECONDS)
        parts = [row["id"] for row in rows]
        # None are left, or one of raw Cypher, whose id names something else too: that goes with the node.
        if parts == refused:
            return 0
        try:
            delete(parts)
        except NotFoundError:  # another writer has deleted some of them: the others are found again
            refused = parts
        return len(parts)

    # What hangs on the node itself is found at once, however much it is; what is left goes with a thought.
    for find in ("contextscript/some-parts-at", "contextscript/some-parts"):
        work_through(partial(delete_some, find), batch)
    if find_node(loader.namespace, identifier) is not None:  # an observation goes with its last edge
        try:
            delete([identifier])
        except TooLargeError as error:
            raise TooLargeError(
                f"the facts and the edges of `{identifier}` are deleted, and what is left is too large for one "
                f"transaction, as the statements of one context: `forget {shlex.quote(identifier)}` forgets it for good"
            ) from error
    return replace(report, elapsed_s=round(time.monotonic() - started, 4))


@dataclass(frozen=True)
class PreparedBatch:
    """A batch of so many statements: what of it is to be stored, and the same compiled by `compile_new`.

    `end` and `digest` are the number and the digest of all statements up to its end.
    """

    size: int
    program: ContextScriptProgram
    new: NewElements | None
    end: int
    digest: str


def prepare_batches(
    programs: Iterable[ContextScriptProgram],
    resumed_after: int,
    compile_new: Callable[[ContextScriptProgram], NewElements | None],
) -> Iterator[PreparedBatch]:
    """Yield the batches of these programs, without the statements that are stored already."""
    prefix = _Prefix()
    source = iter(programs)
    while True:
        with without_collection():
            program = next(source, None)
            if program is None:
                return
            rest = replace(program, statements=program.statements[max(0, resumed_after - prefix.statements) :])
            prefix.extend(len(program.statements), "".join(map(print_statement, program.statements)).encode())
            batch = PreparedBatch(len(program.statements), rest, compile_new(rest), prefix.statements, prefix.digest)
            del program, rest
        yield batch
        del batch  # it is not held while the next one is read


def read_ahead(source: Iterator[PreparedBatch]) -> Generator[PreparedBatch, None, None]:
    """Yield batches; a thread makes the next meanwhile."""
    with ThreadPoolExecutor(1, "memorygraph-reading") as reading:
        coming = reading.submit(next, source, None)
        while (found := coming.result()) is not None:
            coming = reading.submit(next, source, None)
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


def find_stored_prefixes(
    programs: Iterable[ContextScriptProgram], checkpoints: set[tuple[int, str]]
) -> tuple[int, dict[int, str]]:
    """Count the statements, and find the stored beginnings: how many statements each has, and its digest."""
    problems: list[Problem] = []
    prefix = _Prefix()
    stored: dict[int, str] = {}
    counts = {count for count, _ in checkpoints}
    for program in programs:
        problems += find_problems(program)[: MAX_PROBLEMS + 1 - len(problems)]
        if not counts or prefix.statements >= max(counts):  # no later beginning is stored
            prefix.statements += len(program.statements)
            continue
        for statement in program.statements:
            prefix.extend(1, print_statement(statement).encode())
            if prefix.statements in counts and (prefix.statements, prefix.digest) in checkpoints:
                stored[prefix.statements] = prefix.digest
    if problems:
        raise ScriptError(cut_problems(problems))
    return prefix.statements, stored


def add_reports(total: LoadReport, batch: LoadReport) -> LoadReport:
    """Add a batch to the report of those before it: counts add up, the last batch gives the revision."""
    counts = {name: getattr(total, name) + getattr(batch, name) for name in ("statements", *COUNTS)}
    warnings = cut_problems(total.warnings + batch.warnings)
    return replace(batch, warnings=tuple(warnings), resumed_after=total.resumed_after, **counts)
