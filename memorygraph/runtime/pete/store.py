"""Logs of PETE in Neo4j: how they are read, and how they go on.

Every piece that is added is written in one transaction under the write lock of its namespace, and what it is added
to is read in that same transaction: so two writers of one log take turns, and nothing is remembered between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from memorygraph.compiler.pete import Mistake, id_of, pieces_of
from memorygraph.errors import ConflictError, NotFoundError, Problem, ScriptError, Source, Span
from memorygraph.graph.loads import Loaded, Loader, LoadReport, Provenance, Written
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.languages.pete.syntax import Opening, Piece, Program
from memorygraph.query import Query
from memorygraph.runtime.pete.appending import Answered, Appender, Planner, Wrong
from memorygraph.runtime.pete.inference import Answers
from memorygraph.runtime.pete.log import Frame, LogEntry

LANGUAGE = "pete"


class LogInfo(NamedTuple):
    """A log, as a list of them shows it."""

    name: str
    address: int
    open: bool
    tldr: str | None


@dataclass(frozen=True)
class Appended:
    """What became of pieces that continue a log: how many were written, and what is wrong with the next."""

    report: LoadReport
    warnings: tuple[Mistake, ...] = ()
    answers: Answers | None = None


@dataclass(frozen=True)
class LogStore:
    """The logs of one namespace."""

    namespace: Namespace

    def logs(self) -> list[LogInfo]:
        """Every log, by name."""
        return [LogInfo(**row) for row in self.namespace.read("pete/list-logs")]

    def find(self, name: str) -> int | None:
        """The address of the outermost context with this name, or None."""
        rows = self.namespace.read("pete/find-root", name=name)
        return int(rows[0]["address"]) if rows else None

    def log_of(self, address: int) -> int:
        """The log that a context is in.

        Raises:
            NotFoundError: there is no such context.
        """
        rows = self.namespace.read("pete/find-context", id=id_of(address))
        if not rows:
            raise NotFoundError(f"there is no context memory:{address} in namespace `{self.namespace}`")
        return int(rows[0]["log"])

    def read(self, log: int) -> Frame:
        """A whole log, by one query.

        Raises:
            NotFoundError: there is no such log.
        """
        frames = frames_of(self.namespace.read("pete/read-log", log=log))
        if log not in frames:
            raise NotFoundError(f"there is no log memory:{log} in namespace `{self.namespace}`")
        return frames[log]

    def append(
        self,
        log: int | None,
        pieces: Sequence[Piece],
        *,
        stack: Sequence[int] | None = None,
        live: bool = False,
        answered: Answered | None = None,
        closing: tuple[Query, ...] = (),
    ) -> Appended:
        """Add pieces to a log, or, without one, begin it.

        `stack` are the contexts that must be open. `answered` makes of the answers to a question the feedback that
        the log gets.

        Raises:
            Wrong: a piece does not fit what is stored; nothing was written.
            ConflictError: other contexts are open by now.
        """
        warnings: list[Mistake] = []
        answers: list[Answers] = []

        def write(transaction: NamespaceTransaction, _stored: object) -> Written:
            warnings.clear()
            answers.clear()
            writer = Appender(transaction, log, live=live, answered=answered)
            if stack is not None and [frame.address for frame in writer.compiler.stack] != list(stack):
                raise ConflictError("the log went on elsewhere meanwhile; nothing was added to it")
            writer.write(pieces)
            warnings.extend(writer.compiler.warnings)
            answers.extend(writer.answers)
            return Written(writer.counts)

        script = Loaded(None, len(pieces), write)
        report = Loader(self.namespace, LANGUAGE).store(script, closing=closing)
        return Appended(report, tuple(warnings), answers[-1] if answers else None)

    def load(
        self,
        program: Program,
        *,
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,  # noqa: ARG002 - a log is written at once
        provenance: Provenance | None = None,
    ) -> LoadReport:
        """Store a log, or what a stored one lacks.

        Raises:
            ScriptError: the log is wrong, or another one is stored under its name; nothing was changed.
        """
        pieces = _pieces(program)
        warnings = list(program.warnings)

        def write(transaction: NamespaceTransaction, _stored: object) -> Written:
            log, new = self._new(transaction, program, pieces)
            writer = Appender(transaction, log, live=False)
            try:
                writer.write(new)
            except Wrong as wrong:
                raise ScriptError(_problems(wrong.mistakes, program.source)) from wrong
            return Written(writer.counts, (*warnings, *_problems(writer.compiler.warnings, program.source)))

        script = Loaded(program.source.file, len(program.statements), write)
        return Loader(self.namespace, LANGUAGE).store(script, dry_run=dry_run, provenance=provenance)

    def queries(self, program: Program) -> list[Query]:
        """What `load` would write for a log, as far as its questions can be answered by what is stored now.

        Raises:
            ScriptError: the log is wrong, or another one is stored under its name.
        """
        pieces = _pieces(program)

        def work(transaction: NamespaceTransaction) -> list[Query]:
            log, new = self._new(transaction, program, pieces)
            writer = Planner(transaction, log, live=False)
            try:
                writer.write(new)
            except Wrong as wrong:
                raise ScriptError(_problems(wrong.mistakes, program.source)) from wrong
            return writer.planned

        return self.namespace.read_with(work)

    def _new(
        self, transaction: NamespaceTransaction, program: Program, pieces: list[Piece]
    ) -> tuple[int | None, list[Piece]]:
        """The stored log that a program is of, and the pieces that are not stored yet."""
        root = program.items[0]
        assert isinstance(root, Opening)  # noqa: S101 - a log without problems begins so
        rows = transaction.run("pete/find-root", name=root.name)
        if not rows:
            return None, pieces
        log = int(rows[0]["address"])
        frame = frames_of(transaction.run("pete/read-log", log=log))[log]
        stored = frame.text
        ends = set(accumulate(map(len, frame.texts()), initial=-len(frame.lead)))
        position = 0
        for number, piece in enumerate(pieces):
            if position == len(stored):
                return log, pieces[number:]
            if not stored.startswith(piece.text, position):
                raise ScriptError([_differs(program, root, stored, log)])
            position += len(piece.text)
        if position not in ends:
            raise ScriptError([_differs(program, root, stored, log)])
        return log, []


def _pieces(program: Program) -> list[Piece]:
    """The pieces of a log, from its name on.

    Raises:
        ScriptError: the log is wrong.
    """
    if program.problems:
        raise ScriptError(list(program.problems))
    first, *others = pieces_of(program.items, program.source.text)
    return [first._replace(text=first.text.lstrip()), *others]


def _differs(program: Program, root: Opening, stored: str, log: int) -> Problem:
    text = program.source.text
    start = root.span.start
    same = next((n for n, (a, b) in enumerate(zip(text[start:], stored, strict=False)) if a != b), len(stored))
    message = (
        f"the log `{root.name}` is stored already, as memory:{log}, and goes on in another way from here: "
        f"give this one another name, or delete that one (memorygraph delete {id_of(log)})"
    )
    place = min(start + same, max(len(text) - 1, 0))
    return program.source.problem(message, "log-differs", Span(place, place + 1))


def _problems(mistakes: Sequence[Mistake], source: Source) -> list[Problem]:
    return [source.problem(mistake.message, mistake.code, mistake.span) for mistake in mistakes]


def frames_of(rows: Sequence[dict[str, Any]]) -> dict[int, Frame]:
    """The contexts of a log by their addresses, from the rows of `read-log`."""
    contexts = sorted((row for row in rows if row["part"] == "context"), key=lambda row: int(row["context"]))
    frames: dict[int, Frame] = {}
    parts: dict[int, list[LogEntry | Frame]] = {}
    for row in contexts:
        frame = Frame(
            row["context"],
            row["name"],
            row["text"],
            row["index"],
            tuple(row["mentions"]),
            row["tail"],
            row["tldr"],
            frames.get(row["parent"]),
        )
        frames[frame.address] = frame
        parts[frame.address] = frame.parts
        if frame.parent is not None:
            frame.parent.parts.append(frame)
    for row in rows:
        if row["part"] == "entry":
            mentions, binds = frozenset(row["mentions"] or ()), frozenset(row["binds"] or ())
            entry = LogEntry(row["index"], row["name"], row["text"], mentions, binds, row["address"], row["at"])
            parts[row["context"]].append(entry)
    for listed in parts.values():
        listed.sort(key=lambda part: part.index)
    return frames
