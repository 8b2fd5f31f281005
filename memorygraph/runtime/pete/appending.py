"""How a log goes on, within one transaction: what its new pieces name is looked up, and what they say is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memorygraph.compiler.pete import Compiler
from memorygraph.compiler.pete.state import Asked, Bound, Known, Mistake, Needs, Open, id_of, key_of, needs_of
from memorygraph.graph.namespace import NamespaceTransaction
from memorygraph.graph.search import MAX_TERM, name_query
from memorygraph.graph.writes import NOTHING, run_counted
from memorygraph.languages.pete.syntax import Piece
from memorygraph.query import Query
from memorygraph.runtime.pete.inference import Answers, ask

MakeFeedback = Callable[[Answers, dict[str, str]], Piece]


class UnfitPiece(Exception):  # noqa: N818 - it never leaves this package
    """A piece does not fit what is stored: its number, and what is wrong with it."""

    def __init__(self, number: int, mistakes: Sequence[Mistake]) -> None:
        super().__init__(mistakes[0].message)
        self.number = number
        self.mistakes = tuple(mistakes)


class LogAppender:
    """Adds pieces to a log within one transaction; with `dry_run`, it only plans the queries that would do so."""

    def __init__(
        self,
        transaction: NamespaceTransaction,
        log: int | None,
        *,
        live: bool = False,
        dry_run: bool = False,
        answered: MakeFeedback | None = None,
    ) -> None:
        self._transaction = transaction
        self._namespace = transaction.namespace
        self._known = Known()
        self._answered = answered
        self._live = live
        self._dry_run = dry_run
        self.planned: list[Query] = []
        self.counts = dict(NOTHING)
        stack: list[Open] = []
        if log is not None:
            if not live:
                [called] = transaction.run("pete/called-faculties", log=log)
                self._known.faculties.update(called["faculties"])
            for row in transaction.run("pete/open-contexts", log=log):
                bindings = {ref: Bound(node, name) for ref, node, name in row["bindings"]}
                stack.append(Open(row["address"], row["name"], row["size"], bindings))
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
        rows = self._transaction.run("pete/find-addresses", ids=nodes) if nodes else []
        names = {row["id"]: row["name"] for row in rows}
        for variable in question.goal.variables:
            bound = dict.fromkeys(answer.bindings[variable] for answer in found.answers)
            self.compiler.bind(variable, [Bound(node, names[node]) for node in bound])
            if not bound:
                message = f"nothing is known that answers this; `&{variable}` means nothing now"
                self.compiler.warnings.append(Mistake(message, "no-answer", question.span))
        if self._answered is not None and question.shown:
            self.compiler.add(self._answered(found, names))

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
        addresses = sorted(needs.addresses)
        found = self._transaction.run("pete/find-addresses", ids=[id_of(address) for address in addresses])
        for row in found:
            known.addresses[int(row["id"].rpartition("-")[2])] = Bound(row["id"], row["name"])
        known.contexts = {int(row["id"].rpartition("-")[2]) for row in found if row["context"]}
        known.free[:] = self.find_free(needs.new)

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
            if key_of(row["name"] or "") == row["key"]:
                self._known.concepts.setdefault(row["key"], Bound(row["id"], row["name"]))

    def find_free(self, count: int) -> list[int]:
        """Find addresses that nothing has, not even a node that another language gave such an id."""
        rows = self._transaction.run("pete/last-address")
        first, free = (int(rows[0]["last"]) if rows else 0) + 1, list[int]()
        while len(free) < count:
            batch = range(first, first + count - len(free))
            rows = self._transaction.run("pete/taken-ids", ids=[id_of(number) for number in batch])
            taken = {row["id"] for row in rows}
            free += [number for number in batch if id_of(number) not in taken]
            first = batch.stop
        return free
