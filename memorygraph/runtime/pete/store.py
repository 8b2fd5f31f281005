"""Logs of PETE in Neo4j: how they are read, and how they go on.

What is added to a log is written in the transaction that reads the log, under the write lock of its namespace: so two
writers of one log take turns, and nothing is remembered between them.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

from memorygraph.compiler.pete import Compiler
from memorygraph.compiler.pete.state import Asked, Bound, Known, Needs, Open, id_of, key_of, needs_of, pieces_of
from memorygraph.errors import ConflictError, MemoryGraphError, NotFoundError, Problem, ScriptError, Source, Span
from memorygraph.graph.batches import add_reports
from memorygraph.graph.elements import as_text
from memorygraph.graph.loads import Loader, LoadReport, Provenance, WriteResult
from memorygraph.graph.namespace import Namespace, NamespaceTransaction, RunQuery
from memorygraph.graph.search import MAX_TERM, name_query
from memorygraph.graph.writes import NOTHING, run_counted
from memorygraph.languages.engine.findings import Finding
from memorygraph.languages.engine.machine import Read
from memorygraph.languages.pete.items import read_item
from memorygraph.languages.pete.syntax import Command, Feedback, Opening, PeteProgram, Piece, Statement, Value
from memorygraph.query import Query
from memorygraph.runtime.pete.addresses import AddressBook, find_addressed
from memorygraph.runtime.pete.faculties import Faculties
from memorygraph.runtime.pete.inference import ask, shorten_answers
from memorygraph.runtime.pete.log import Frame, LogEntry

LANGUAGE = "pete"
MAX_READS = 5


class LogInfo(NamedTuple):
    """A log, as a list of them shows it."""

    name: str
    address: int
    open: bool
    tldr: str | None


class LogEnd(NamedTuple):
    """Where a log goes on: its name, and how many contexts are open there; none, if it is closed."""

    name: str
    depth: int


class PendingCommand(NamedTuple):
    """A command without feedback: the id of its entry, and its text with the blanks before it."""

    id: str
    text: str


class CommandAnswer(NamedTuple):
    """What a faculty answered; `text` is what the log gained, which is nothing if another process was quicker."""

    feedback: Any
    text: str


class UnfitPiece(Exception):  # noqa: N818 - it never leaves this package
    """A piece does not fit what is stored: its number, and what is wrong with it."""

    def __init__(self, number: int, mistakes: Sequence[Finding]) -> None:
        super().__init__(mistakes[0].message)
        self.number = number
        self.mistakes = tuple(mistakes)


class LogAppender:
    """Adds pieces to a log within one transaction; with `dry_run`, it only plans the queries that would do so."""

    def __init__(
        self, transaction: NamespaceTransaction, log: int | None, *, live: bool = False, dry_run: bool = False
    ) -> None:
        self._transaction = transaction
        self._namespace = transaction.namespace
        self._addresses = AddressBook(transaction)
        self._known = Known()
        self._live = live
        self._dry_run = dry_run
        self.planned: list[Query] = []
        self.counts = dict(NOTHING)
        self.feedback: dict[str, Any] | None = None  # to the question that was answered in the log
        stack: list[Open] = []
        if log is not None:
            [called] = transaction.run("pete/called-faculties", log=log)
            self._known.faculties.update(called["faculties"])
            for row in transaction.run("pete/open-contexts", log=log):
                bindings = {ref: Bound(node, name) for ref, node, name in row["bindings"]}
                stack.append(Open(row["address"], row["name"], row["size"], bindings, has_tldr=row["has_tldr"]))
        self.compiler = Compiler(stack, self._known, log=log, live=live)

    def write(self, pieces: Sequence[Piece]) -> None:
        """Write all of the pieces; one that does not fit what is stored is an UnfitPiece."""
        self.look_up(needs_of(pieces, root=not self.compiler.stack, live=self._live, faculties=self._known.faculties))
        for number, piece in enumerate(pieces):
            self.compiler.add(piece)
            if self.compiler.mistakes:
                raise UnfitPiece(number, self.compiler.mistakes)
            if self.compiler.question is not None:
                self.ask(self.compiler.question)
                self.compiler.question = None
        self.flush()
        if self.compiler.nodes.last_address:
            self.run(self._namespace.query("pete/give-out-addresses", last=self.compiler.nodes.last_address))

    def ask(self, question: Asked) -> None:
        """Answer a question by what is stored and written so far, and bind its variables."""
        self.flush()
        found = ask(self._transaction.run, question.goal)
        nodes = sorted({node for answer in found.answers for node in answer.bindings.values()})
        rows = self._transaction.run("pete/addresses-of", ids=nodes) if nodes else []
        names = {row["id"]: row["name"] for row in rows}
        for variable in question.goal.variables:
            bound = dict.fromkeys(answer.bindings[variable] for answer in found.answers)
            self.compiler.bind(variable, [Bound(node, names[node]) for node in bound])
            if not bound:
                message = f"nothing is known that answers this; `&{variable}` means nothing now"
                self.compiler.warnings.append(Finding(message, "no-answer", question.span))
        if self._live and question.shown:
            shown = self._addresses.assign(found.shown_nodes, self.take_addresses)
            labels = {row["id"]: f"memory:{row['address']} {row['name'] or ''}".rstrip() for row in shown}
            self.feedback = shorten_answers(found, labels)
            self.compiler.add(make_feedback(self.feedback))

    def take_addresses(self, count: int) -> list[int]:
        """Take the next free addresses, for nodes that were there before."""
        self._known.free += self._addresses.reserve(count)
        return [self.compiler.nodes.new_address() for _ in range(count)]

    def flush(self) -> None:
        """Write what the compiler has ready."""
        for query in self.compiler.queries(self._namespace.name, self._namespace.token):
            self.run(query)

    def run(self, query: Query) -> None:
        """Run a query, and count what it changes, or only keep it."""
        if self._dry_run:
            self.planned.append(query)
            return
        for name, count in run_counted(self._transaction, [query]).items():
            self.counts[name] += count

    def look_up(self, needs: Needs) -> None:
        """Look up what the pieces name, and addresses for what they make."""
        known = self._known
        keys = list(needs.concepts)
        for row in self._transaction.run("pete/find-concepts", keys=keys):
            known.concepts[row["key"]] = Bound(row["id"], row["name"])
        missing = [key for key in keys if key not in known.concepts]
        self.look_up_names({key: needs.concepts[key] for key in missing})
        for node in find_addressed(self._transaction.run, sorted(needs.addresses)):
            known.addresses[node.address] = Bound(node.id, node.name)
            if node.is_context:
                known.contexts.add(node.address)
        known.free[:] = self._addresses.reserve(needs.new)

    def look_up_names(self, wanted: dict[str, str]) -> None:
        """Look up nodes that no log has made, by their names."""
        if not wanted:
            return
        rows = []
        for key, text in wanted.items():
            # A search takes as many whole words as fit its limit.
            words = text if len(text) <= MAX_TERM else text[: MAX_TERM + 1].rpartition(" ")[0]
            rows.append({"key": key, "names": [text, key], "terms": name_query(words, self._namespace.name)})
        for row in self._transaction.run("pete/find-names", rows=rows):
            if key_of(row["called"] or "") == row["key"]:
                self._known.concepts.setdefault(row["key"], Bound(row["id"], row["name"]))


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
        """Find the log that a context is in."""
        rows = self.namespace.read("pete/find-context", id=id_of(address))
        if not rows:
            raise NotFoundError(f"there is no context memory:{address} in namespace `{self.namespace}`")
        return int(rows[0]["log"])

    def find_end(self, log: int) -> LogEnd:
        """Find where a log goes on, without what is in it."""
        rows = self.namespace.read("pete/find-end", id=id_of(log))
        if not rows:
            raise NotFoundError(f"there is no log memory:{log} in namespace `{self.namespace}`")
        return LogEnd(**rows[0])

    def read(self, log: int) -> Frame:
        """Read a whole log, by one query."""
        frames = read_frames(self.namespace.read, log)
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
        closing: tuple[Query, ...] = (),
    ) -> tuple[tuple[Finding, ...], dict[str, Any] | None]:
        """Add pieces to a log, or, without one, begin it.

        `stack` are the contexts that must be open, or it is a ConflictError. Where it raises, nothing was written.

        Returns:
            What was taken differently than it was written, and the feedback that a question of a `live` model got.
        """
        writers: list[LogAppender] = []  # one for each attempt

        def write(transaction: NamespaceTransaction, _stored: object) -> WriteResult:
            writer = LogAppender(transaction, log, live=live)
            if stack is not None and [frame.address for frame in writer.compiler.stack] != list(stack):
                raise ConflictError("the log went on elsewhere meanwhile; nothing was added to it")
            writer.write(pieces)
            writers.append(writer)
            return WriteResult(writer.counts)

        Loader(self.namespace, LANGUAGE).store(write, statements=len(pieces), closing=closing)
        return tuple(writers[-1].compiler.warnings), writers[-1].feedback

    def pending(self, log: int) -> list[PendingCommand]:
        """List the commands of a log that can be answered, in their order."""
        rows = self.namespace.read("pete_feedback/pending", log=log)
        return [PendingCommand(row["id"], row["text"]) for row in rows]

    def answer(self, pending: PendingCommand, faculties: Faculties) -> CommandAnswer:
        """Call a command, and write what it gives directly after it, even if the log has gone on meanwhile."""
        # It is stored before it is called: after a crash, the next step finds it unanswered and calls it. So a command
        # can be called twice, but is answered once.
        command = read_command(pending.text)
        assert command is not None  # noqa: S101 - what is stored as a command can be read as one
        feedback = faculties.answer(command)
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
        """Store a log, or what a stored one lacks; where it raises, nothing was changed."""
        pieces = read_pieces(program)

        def write(transaction: NamespaceTransaction, _stored: object) -> WriteResult:
            writer = self.write_pieces(transaction, program, *self.find_new(transaction, program, pieces))
            warnings = locate_findings(writer.compiler.warnings, program.source)
            return WriteResult(writer.counts, (*program.warnings, *warnings))

        file, statements = program.source.file, len(program.statements)
        loader = Loader(self.namespace, LANGUAGE)
        return loader.store(write, file=file, statements=statements, dry_run=dry_run, provenance=provenance)

    def load_batches(
        self,
        program: PeteProgram,
        size: int,
        *,
        restart: bool = False,
        progress: Callable[[int], None] | None = None,
        checked: Callable[[int], None] | None = None,
        provenance: Provenance | None = None,
    ) -> LoadReport:
        """Store a log, or what a stored one lacks, in transactions of so many statements each; a rerun goes on.

        `checked` is told the number of all statements, `progress` that of those done.

        Raises:
            ScriptError: something is wrong. If only the database could tell, the batches before it are kept, and
                `stored_statements` of the error says how many statements are stored.
            ConflictError: somebody else wrote to the log meanwhile.
            MemoryGraphError: it shall `restart`: what is stored of a log is where it goes on.
        """
        if restart:
            raise MemoryGraphError("a log goes on after what is stored of it, and does not begin anew: delete it first")
        started = time.monotonic()
        pieces = read_pieces(program)
        if checked is not None:
            checked(len(program.statements))
        _, rest = self.namespace.read_with(lambda transaction: self.find_new(transaction, program, pieces))
        stored_before = len(program.statements) - sum(map(is_statement, rest))
        report = LoadReport(
            None, LANGUAGE, 0, warnings=program.warnings, namespace=self.namespace.name, resumed_after=stored_before
        )
        if progress is not None:
            progress(stored_before)
        while True:
            batch, left = split_batch(rest, size)
            try:
                stored = self.store_batch(program, pieces, len(rest), batch, provenance)
            except ScriptError as error:
                error.stored_statements = stored_before + report.statements
                raise
            report, rest = add_reports(report, stored), left
            if progress is not None:
                progress(stored.statements)
            if not rest:
                break
        return replace(report, elapsed_s=round(time.monotonic() - started, 4))

    def store_batch(
        self, program: PeteProgram, pieces: list[Piece], missing: int, batch: list[Piece], provenance: Provenance | None
    ) -> LoadReport:
        """Store the next pieces of a program, of which the stored log lacks so many, in a transaction of their own."""

        def write(transaction: NamespaceTransaction, _stored: object) -> WriteResult:
            log, new = self.find_new(transaction, program, pieces)
            if len(new) != missing:
                raise ConflictError("the log went on elsewhere meanwhile; load it again to go on from there")
            writer = self.write_pieces(transaction, program, log, batch)
            return WriteResult(writer.counts, tuple(locate_findings(writer.compiler.warnings, program.source)))

        file, statements = program.source.file, sum(map(is_statement, batch))
        return Loader(self.namespace, LANGUAGE).store(write, file=file, statements=statements, provenance=provenance)

    def queries(self, program: PeteProgram) -> list[Query]:
        """Plan what `load` would write for a log, as far as its questions can be answered by what is stored now."""
        pieces = read_pieces(program)

        def plan(transaction: NamespaceTransaction) -> list[Query]:
            log, new = self.find_new(transaction, program, pieces)
            return self.write_pieces(transaction, program, log, new, dry_run=True).planned

        return self.namespace.read_with(plan)

    def write_pieces(
        self,
        transaction: NamespaceTransaction,
        program: PeteProgram,
        log: int | None,
        pieces: list[Piece],
        *,
        dry_run: bool = False,
    ) -> LogAppender:
        """Write pieces of a program, with which its log begins or goes on."""
        writer = LogAppender(transaction, log, dry_run=dry_run)
        try:
            writer.write(pieces)
        except UnfitPiece as unfit:
            raise ScriptError(locate_findings(unfit.mistakes, program.source)) from unfit
        return writer

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
        frame = read_frames(transaction.run, log).get(log)
        if frame is None:  # it was deleted meanwhile
            return None, pieces
        stored = frame.text
        ends = set(accumulate(map(len, frame.texts()), initial=-len(frame.lead)))
        position = 0
        for number, piece in enumerate(pieces):
            if position == len(stored):
                return log, pieces[number:]
            if not stored.startswith(piece.text, position):
                break
            position += len(piece.text)
        else:
            if position in ends:
                return log, []
        raise ScriptError([describe_difference(program, root, stored, log, transaction.namespace)])


def read_command(text: str) -> Command | None:
    """Read the command that a text is; None if it is something else.

    >>> read_command(" @fan, stop")
    Command(procedure='stop', faculty='fan', arguments=None, feedback=None)
    """
    read = read_item(text)
    return read.value if isinstance(read, Read) and isinstance(read.value, Command) else None


def make_feedback(data: Any) -> Piece:
    """Make what the system writes after a command or a question.

    >>> make_feedback({"ok": True}).text
    ' >> {"ok": true}'
    """
    text = json.dumps(data, ensure_ascii=False)
    return Piece(Feedback(Value(text)), f" >> {text}")


def read_pieces(program: PeteProgram) -> list[Piece]:
    """Split a log without problems into its pieces, from its name on."""
    if program.problems:
        raise ScriptError(list(program.problems))
    first, *others = pieces_of(program.items, program.source.text)
    return [first._replace(text=first.text.lstrip()), *others]


def is_statement(piece: Piece) -> bool:
    """Whether a piece is a statement, and not the beginning or end of a context, or feedback."""
    return isinstance(piece.item, Statement)


def split_batch(pieces: list[Piece], size: int) -> tuple[list[Piece], list[Piece]]:
    """Split pieces behind so many statements, with the feedback of the last and the ends of contexts behind it."""
    counts = accumulate(map(is_statement, pieces))
    end = next((number for number, count in enumerate(counts) if count > size), len(pieces))
    return pieces[:end], pieces[end:]


def describe_difference(program: PeteProgram, root: Opening, stored: str, log: int, namespace: Namespace) -> Problem:
    """Say where a log goes on in another way than the stored one of its name."""
    text = program.source.text
    start = root.span.start
    same = next((n for n, (a, b) in enumerate(zip(text[start:], stored, strict=False)) if a != b), len(stored))
    message = (
        f"the log `{root.name}` is stored already, as memory:{log}, and goes on in another way from here: "
        f"give this one another name, or delete that one (memorygraph{namespace.option} delete {id_of(log)})"
    )
    place = min(start + same, max(len(text) - 1, 0))
    return program.source.problem(message, "log-differs", Span(place, place + 1))


def locate_findings(mistakes: Sequence[Finding], source: Source) -> list[Problem]:
    """Give mistakes their place in a source."""
    return [source.problem(mistake.message, mistake.code, mistake.span) for mistake in mistakes]


def read_frames(run: RunQuery, log: int) -> dict[int, Frame]:
    """Read the contexts of a log, by their addresses; none if there is no such log.

    Raises:
        ConflictError: others opened and closed contexts during each of MAX_READS reads.
    """
    before: list[dict[str, Any]] = []
    for _ in range(MAX_READS):
        rows = run("pete/read-log", log=log)
        if rows == before or not lacks_writes(rows):  # what is read twice is not being written, but is stored so
            return build_frames(rows)
        before = rows
    raise ConflictError(f"other processes write to the log memory:{log} while it is read; try again")


def lacks_writes(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether others wrote a log during a `read-log`, whose rows lack something then: it reads no snapshot."""
    sizes = {row["context"]: row["size"] for row in rows if row["part"] == "context"}
    parts: dict[int | None, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        parts[row["parent"] if row["part"] == "context" else row["context"]].append(row)
    parts.pop(None, None)  # the outermost context is a part of nothing
    return any(owner not in sizes or lacks_parts(sizes[owner], some) for owner, some in parts.items())


def lacks_parts(size: int, parts: Sequence[dict[str, Any]]) -> bool:
    """Whether parts of a context that had this size lack what others wrote meanwhile.

    Places before its size may be free, for contexts can be deleted. What came since follows without a gap.
    """
    indices = sorted(part["index"] for part in parts)
    newer = [index for index in indices if index >= size]
    still_open = [part["index"] for part in parts if part["part"] == "context" and part["tail"] is None]
    moved = len(set(indices)) < len(indices)  # by an answer, which stands directly after its command
    return moved or newer != list(range(size, size + len(newer))) or any(index < indices[-1] for index in still_open)


def build_frames(rows: Sequence[dict[str, Any]]) -> dict[int, Frame]:
    """Build the contexts of a log, by their addresses, from the rows of `read-log`."""
    frames: dict[int, Frame] = {}
    contexts = (row for row in rows if row["part"] == "context")
    for row in sorted(contexts, key=lambda row: int(row["context"])):  # a context has a lower address than those in it
        parent = frames.get(row["parent"])
        refs = tuple(row["mentions"])
        frame = Frame(row["context"], row["name"], row["text"], row["index"], refs, row["tail"], row["tldr"], parent)
        frames[frame.address] = frame
        if parent is not None:
            parent.parts.append(frame)
    for row in rows:
        if row["part"] == "entry" and row["context"] in frames:
            mentions, binds = frozenset(row["mentions"] or ()), frozenset(row["binds"] or ())
            entry = LogEntry(row["index"], row["name"], as_text(row["text"]), mentions, binds)
            frames[row["context"]].parts.append(entry)
    for frame in frames.values():
        frame.parts.sort(key=lambda part: part.index)
        for place, part in enumerate(frame.parts):
            if isinstance(part, Frame):
                part.index = place  # what is stored has gaps where contexts were deleted
    return frames
