"""Logs of PETE in Neo4j: how they are read, and how they go on.

Every piece that is added is written in one transaction under the write lock of its namespace, and what it is added
to is read in that same transaction: so two writers of one log take turns, and nothing is remembered between them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from memorygraph.compiler.pete import Mistake, id_of, pieces_of
from memorygraph.errors import ConflictError, NotFoundError, Problem, ScriptError, Source, Span
from memorygraph.graph.loads import Loader, LoadReport, Provenance, WriteResult
from memorygraph.graph.namespace import Namespace, NamespaceTransaction
from memorygraph.languages.pete.reading import ContinuationReader
from memorygraph.languages.pete.syntax import Command, Feedback, Opening, PeteProgram, Piece, Value
from memorygraph.query import Query
from memorygraph.runtime.pete.appending import AppendPlanner, LogAppender, MakeFeedback, UnfitPiece
from memorygraph.runtime.pete.faculties import Faculties
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
class AppendReport:
    """The report of pieces that were added to a log, and the answers to the last question among them."""

    report: LoadReport
    warnings: tuple[Mistake, ...] = ()
    answers: Answers | None = None


@dataclass(frozen=True)
class PendingCommand:
    """A command without feedback: the id of its entry, and its text with the blanks before it."""

    id: str
    text: str

    @property
    def command(self) -> Command:
        """The command itself."""
        command = read_command(self.text)
        assert command is not None  # noqa: S101 - what is stored as a command can be read as one
        return command


@dataclass(frozen=True)
class CommandAnswer:
    """What a faculty answered; `text` is what the log gained, which is nothing if another process was quicker."""

    feedback: Any
    text: str


@dataclass(frozen=True)
class LogStore:
    """The logs of one namespace."""

    namespace: Namespace

    def logs(self) -> list[LogInfo]:
        """List every log, by name."""
        return [LogInfo(**row) for row in self.namespace.read("pete/list-logs")]

    def find(self, name: str) -> int | None:
        """Find the address of the outermost context with this name."""
        rows = self.namespace.read("pete/find-root", name=name)
        return int(rows[0]["address"]) if rows else None

    def log_of(self, address: int) -> int:
        """Find the log that a context is in.

        Raises:
            NotFoundError: there is no such context.
        """
        rows = self.namespace.read("pete/find-context", id=id_of(address))
        if not rows:
            raise NotFoundError(f"there is no context memory:{address} in namespace `{self.namespace}`")
        return int(rows[0]["log"])

    def read(self, log: int) -> Frame:
        """Read a whole log, by one query.

        Raises:
            NotFoundError: there is no such log.
        """
        frames = build_frames(self.namespace.read("pete/read-log", log=log))
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
        answered: MakeFeedback | None = None,
        closing: tuple[Query, ...] = (),
    ) -> AppendReport:
        """Add pieces to a log, or, without one, begin it.

        `stack` are the contexts that must be open. `answered` makes of the answers to a question the feedback that
        the log gets.

        Raises:
            UnfitPiece: a piece does not fit what is stored; nothing was written.
            ConflictError: other contexts are open by now.
        """
        warnings: list[Mistake] = []
        answers: list[Answers] = []

        def write(transaction: NamespaceTransaction, _stored: object) -> WriteResult:
            warnings.clear()
            answers.clear()
            writer = LogAppender(transaction, log, live=live, answered=answered)
            if stack is not None and [frame.address for frame in writer.compiler.stack] != list(stack):
                raise ConflictError("the log went on elsewhere meanwhile; nothing was added to it")
            writer.write(pieces)
            warnings.extend(writer.compiler.warnings)
            answers.extend(writer.answers)
            return WriteResult(writer.counts)

        report = Loader(self.namespace, LANGUAGE).store(write, statements=len(pieces), closing=closing)
        return AppendReport(report, tuple(warnings), answers[-1] if answers else None)

    def pending(self, log: int) -> list[PendingCommand]:
        """List the commands of a log that can be answered, in their order."""
        rows = self.namespace.read("pete_feedback/pending", log=log)
        return [PendingCommand(row["id"], row["text"]) for row in rows]

    def answer(self, pending: PendingCommand, faculties: Faculties) -> CommandAnswer:
        """Call a command, and write what it gives after it.

        A command is stored before it is called, so that a crash meanwhile loses nothing: the next step finds it
        unanswered and calls it. So a command can be called twice, but is answered once, and always directly after
        it, also where other writers have added to the log meanwhile.
        """
        feedback = faculties.answer(pending.command)
        piece = make_feedback(feedback)
        value = json.dumps(feedback, ensure_ascii=False)
        query = self.namespace.query("pete_feedback/answer", id=pending.id, text=piece.text, value=value)

        def write(transaction: NamespaceTransaction, _stored: object) -> WriteResult:
            return WriteResult({"nodes_updated": len(transaction.run(query))})

        report = Loader(self.namespace, LANGUAGE).store(write, statements=1)
        return CommandAnswer(feedback, piece.text if report.nodes_updated else "")

    def load(
        self,
        program: PeteProgram,
        *,
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,  # noqa: ARG002 - a log is written at once
        provenance: Provenance | None = None,
    ) -> LoadReport:
        """Store a log, or what a stored one lacks.

        Raises:
            ScriptError: the log is wrong, or another one is stored under its name; nothing was changed.
        """
        pieces = read_pieces(program)
        warnings = list(program.warnings)

        def write(transaction: NamespaceTransaction, _stored: object) -> WriteResult:
            log, new = self.find_new(transaction, program, pieces)
            writer = LogAppender(transaction, log, live=False)
            try:
                writer.write(new)
            except UnfitPiece as unfit:
                raise ScriptError(locate(unfit.mistakes, program.source)) from unfit
            return WriteResult(writer.counts, (*warnings, *locate(writer.compiler.warnings, program.source)))

        file, statements = program.source.file, len(program.statements)
        loader = Loader(self.namespace, LANGUAGE)
        return loader.store(write, file=file, statements=statements, dry_run=dry_run, provenance=provenance)

    def queries(self, program: PeteProgram) -> list[Query]:
        """Plan what `load` would write for a log, as far as its questions can be answered by what is stored now.

        Raises:
            ScriptError: the log is wrong, or another one is stored under its name.
        """
        pieces = read_pieces(program)

        def work(transaction: NamespaceTransaction) -> list[Query]:
            log, new = self.find_new(transaction, program, pieces)
            writer = AppendPlanner(transaction, log, live=False)
            try:
                writer.write(new)
            except UnfitPiece as unfit:
                raise ScriptError(locate(unfit.mistakes, program.source)) from unfit
            return writer.planned

        return self.namespace.read_with(work)

    def find_new(
        self, transaction: NamespaceTransaction, program: PeteProgram, pieces: list[Piece]
    ) -> tuple[int | None, list[Piece]]:
        """Find the stored log that a program is of, and the pieces that are not stored yet."""
        root = program.items[0]
        assert isinstance(root, Opening)  # noqa: S101 - a log without problems begins so
        rows = transaction.run("pete/find-root", name=root.name)
        if not rows:
            return None, pieces
        log = int(rows[0]["address"])
        frame = build_frames(transaction.run("pete/read-log", log=log))[log]
        stored = frame.text
        ends = set(accumulate(map(len, frame.texts()), initial=-len(frame.lead)))
        position = 0
        for number, piece in enumerate(pieces):
            if position == len(stored):
                return log, pieces[number:]
            if not stored.startswith(piece.text, position):
                raise ScriptError([describe_difference(program, root, stored, log)])
            position += len(piece.text)
        if position not in ends:
            raise ScriptError([describe_difference(program, root, stored, log)])
        return log, []


def read_command(text: str) -> Command | None:
    """Read the command that a text is; None if it is something else.

    >>> read_command(" @fan, stop")
    Command(procedure='stop', faculty='fan', arguments=None, feedback=None)
    """
    reader = ContinuationReader(1)
    pieces = [*reader.feed(text), *reader.finish()]
    item = pieces[0].item if pieces else None
    return item if isinstance(item, Command) else None


def make_feedback(data: Any) -> Piece:
    """Make what the system writes after a command or a question.

    >>> make_feedback({"ok": True}).text
    ' >> {"ok": true}'
    """
    text = json.dumps(data, ensure_ascii=False)
    return Piece(Feedback(Value(text)), f" >> {text}")


def read_pieces(program: PeteProgram) -> list[Piece]:
    """Split a log into its pieces, from its name on.

    Raises:
        ScriptError: the log is wrong.
    """
    if program.problems:
        raise ScriptError(list(program.problems))
    first, *others = pieces_of(program.items, program.source.text)
    return [first._replace(text=first.text.lstrip()), *others]


def describe_difference(program: PeteProgram, root: Opening, stored: str, log: int) -> Problem:
    """Say where a log goes on in another way than the stored one of its name."""
    text = program.source.text
    start = root.span.start
    same = next((n for n, (a, b) in enumerate(zip(text[start:], stored, strict=False)) if a != b), len(stored))
    message = (
        f"the log `{root.name}` is stored already, as memory:{log}, and goes on in another way from here: "
        f"give this one another name, or delete that one (memorygraph delete {id_of(log)})"
    )
    place = min(start + same, max(len(text) - 1, 0))
    return program.source.problem(message, "log-differs", Span(place, place + 1))


def locate(mistakes: Sequence[Mistake], source: Source) -> list[Problem]:
    """Give mistakes their place in a source."""
    return [source.problem(mistake.message, mistake.code, mistake.span) for mistake in mistakes]


def build_frames(rows: Sequence[dict[str, Any]]) -> dict[int, Frame]:
    """Build the contexts of a log, by their addresses, from the rows of `read-log`."""
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
