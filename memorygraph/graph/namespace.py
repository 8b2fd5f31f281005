"""A namespace of a database: the value that reads and writes go through, so that none leaves it; and all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from memorygraph.errors import NotFoundError, TooLargeError
from memorygraph.graph.connection import READ_SECONDS, WRITE_SECONDS, Abandon, Connection, Transaction
from memorygraph.graph.search import namespace_token
from memorygraph.home import namespace_option
from memorygraph.library import CYPHER
from memorygraph.query import Query

IDS_PER_QUERY = 10_000
NODES_PER_TRANSACTION = 10_000
JOINED_PER_NODE = 10  # so many relationships go with as many nodes
OTHERS_PER_TRANSACTION = 5_000
ALL_REVISIONS = 1 << 53
UNCOMPACTED = "memorygraph: these files may still hold something that was forgotten since they were made or copied"
"""Stands in the record of what was forgotten, where a backup finds it in the files of a stopped server.

Where such a record goes with its namespace, it stands in the nodes of the schema. It is long enough that Neo4j keeps it
as plain bytes.
"""

_DROPS_OF_OTHER_PARTS = ("runs/drop-runs", "convo/drop-graphs", "threads/drop", "messages/drop-conversations")

Result = TypeVar("Result")
Row = TypeVar("Row")
Rows = list[dict[str, Any]]


def pages_of(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    """Divide rows into pages, each of which one query takes.

    >>> list(pages_of([1, 2, 3], 2))
    [[1, 2], [3]]
    """
    return (rows[start : start + size] for start in range(0, len(rows), size))


def end_of_prefix(prefix: str) -> str:
    """Return the end of the range of all texts that begin with a prefix; a prefix ends in a separator, or is empty.

    >>> end_of_prefix("users."), "users.42" < end_of_prefix("users.") < "users0"
    ('users/', True)
    """
    return f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}" if prefix else "\U0010ffff"


class _AtWork(threading.local):
    depth = 0  # how many units of work this thread is in


_at_work = _AtWork()


class RunQuery(Protocol):
    """Returns the rows of a query: `Namespace.read`, or `run` of a transaction."""

    def __call__(self, query: str | Query, /, **parameters: Any) -> Rows: ...  # noqa: D102


@dataclass(frozen=True)
class Namespace:
    """A namespace of a database.

    Wherever a query is expected, it is the name of one in the library, which is given `$namespace` and the other
    parameters, or a finished `Query`.

    >>> Namespace(connection, "people").read("read/node", id="ada")  # doctest: +SKIP
    [{'id': 'ada', 'name': 'Ada', 'data': ''}]
    """

    connection: Connection
    name: str
    ungated: bool = field(default=False, repr=False, compare=False)
    """Set while what has expired is removed: nothing has to be done before its own reads and writes."""

    def __str__(self) -> str:
        return self.name

    @property
    def token(self) -> str:
        """The word that stands for the namespace in the full-text indexes."""
        return namespace_token(self.name)

    @property
    def option(self) -> str:
        """The option with which a command works on it, as `memorygraph.home.namespace_option` has it."""
        return namespace_option(self.name)

    def prepare(self) -> None:
        """Have what has expired be gone: everything that reads or writes the namespace begins here.

        A read in the middle of a unit of work belongs to that: its transaction may hold the lock that removing needs.
        """
        if not (self.ungated or _at_work.depth or self.connection.before_use is None):
            self.connection.before_use(self)

    def query(self, query: str | Query, /, **parameters: Any) -> Query:
        """Return a query of the library with its parameters and `$namespace`; a `Query` stays as it is."""
        return query if isinstance(query, Query) else CYPHER[query](namespace=self.name, **parameters)

    def queries(self, name: str, ids: Sequence[str], **parameters: Any) -> Iterator[Query]:
        """Yield a query for each part of many ids."""
        for page in pages_of(ids, IDS_PER_QUERY):
            yield self.query(name, ids=page, **parameters)

    def read(self, query: str | Query, /, *, seconds: float = READ_SECONDS, **parameters: Any) -> Rows:
        """Return the rows of a query that only reads. See `Connection.read`."""
        self.prepare()
        return self.connection.read(self.query(query, **parameters), seconds=seconds)

    def read_with(self, work: Callable[[NamespaceTransaction], Result], *, seconds: float = READ_SECONDS) -> Result:
        """Run a unit of work that only reads in one transaction, again after a transient failure."""
        self.prepare()
        return self.connection.read_with(self._inside(work), seconds=seconds)

    def stream(
        self, query: str | Query, /, *, seconds: float = READ_SECONDS, typed: bool = False, **parameters: Any
    ) -> Generator[dict[str, Any], None, None]:
        """Yield the rows of a query that only reads as they arrive. See `Connection.stream`."""
        self.prepare()
        return self.connection.stream(self.query(query, **parameters), seconds=seconds, typed=typed)

    def write(
        self, work: Callable[[NamespaceTransaction], Result], *, seconds: float = WRITE_SECONDS, repeatable: bool = True
    ) -> Result:
        """Run a unit of work in one transaction, again after a transient failure. See `Connection.write`."""
        self.prepare()
        return self.connection.write(self._inside(work), seconds=seconds, repeatable=repeatable)

    def write_query(self, query: str | Query, /, **parameters: Any) -> Rows:
        """Return the rows of a query that is a unit of work by itself. See `Connection.write`."""
        finished = self.query(query, **parameters)
        return self.write(lambda transaction: transaction.run(finished))

    def repeat(self, query: str | Query, /, *, limit: int, **parameters: Any) -> int:
        """Run a query, whose row is how many elements it took, until it takes none; see `work_through`."""

        def step(limit: int) -> int:
            [row] = self.write_query(query, limit=limit, **parameters)
            [taken] = row.values()
            return int(taken)

        return work_through(step, limit)

    def _inside(self, work: Callable[[NamespaceTransaction], Result]) -> Callable[[Transaction], Result]:
        def run(opened: Transaction) -> Result:
            _at_work.depth += 1
            try:
                return work(NamespaceTransaction(opened, self))
            finally:
                _at_work.depth -= 1

        return run


@dataclass(frozen=True)
class NamespaceTransaction:
    """A transaction in progress, inside of a namespace."""

    transaction: Transaction
    namespace: Namespace

    def run(self, query: str | Query, /, **parameters: Any) -> Rows:
        """Run a query to its end and return its rows."""
        return self.transaction.run(self.namespace.query(query, **parameters))

    def run_each(self, queries: Iterable[Query]) -> Iterator[tuple[Query, Rows]]:
        """Run queries in turn, and yield each with its rows. See `Transaction.run_each`."""
        return self.transaction.run_each(queries)

    def rows(self, query: str | Query, /, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Run a query and yield its rows as they arrive."""
        return self.transaction.rows(self.namespace.query(query, **parameters))


@dataclass(frozen=True, kw_only=True)
class OpenNamespace(Namespace):
    """A namespace inside of a transaction: all that is read and written through it is a part of that."""

    opened: Transaction

    def read(self, query: str | Query, /, *, seconds: float = READ_SECONDS, **parameters: Any) -> Rows:  # noqa: ARG002
        """Return the rows of a query, with what the transaction has written."""
        return self.opened.run(self.query(query, **parameters))

    def read_with(self, work: Callable[[NamespaceTransaction], Result], *, seconds: float = READ_SECONDS) -> Result:  # noqa: ARG002
        """Run a unit of work that only reads."""
        return self._inside(work)(self.opened)

    def stream(
        self,
        query: str | Query,
        /,
        *,
        seconds: float = READ_SECONDS,  # noqa: ARG002
        typed: bool = False,
        **parameters: Any,
    ) -> Generator[dict[str, Any], None, None]:
        """Yield the rows of a query as they arrive."""
        yield from self.opened.rows(self.query(query, **parameters), typed=typed)

    def write(
        self,
        work: Callable[[NamespaceTransaction], Result],
        *,
        seconds: float = WRITE_SECONDS,  # noqa: ARG002
        repeatable: bool = True,  # noqa: ARG002
    ) -> Result:
        """Run a unit of work, kept or rolled back with the transaction. What it abandons, it must not have written."""
        try:
            return self._inside(work)(self.opened)
        except Abandon as abandoned:
            return cast(Result, abandoned.value)


def rehearse(namespace: Namespace, work: Callable[[Namespace], Result]) -> Result:
    """Return what some work with a namespace returns, which is done in one transaction and rolled back."""

    def run(transaction: NamespaceTransaction) -> Result:
        opened = OpenNamespace(namespace.connection, namespace.name, opened=transaction.transaction)
        raise Abandon(work(opened))

    return namespace.write(run)


@dataclass(frozen=True)
class NamespaceInfo:
    """A namespace: the number of its last load, and how much it holds.

    `former` counts the former states of nodes and edges in its history. `dropping` says that a drop was begun, and that
    what is left of the namespace waits for the next drop.
    """

    name: str
    revision: int
    nodes: int
    edges: int
    conversations: int = 0
    messages: int = 0
    programs: int = 0
    runs: int = 0
    former: int = 0
    dropping: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return asdict(self)


def list_namespaces(connection: Connection) -> list[NamespaceInfo]:
    """List every namespace, by name."""
    return [NamespaceInfo(**row) for row in connection.read(CYPHER["read/namespaces"](name=None))]


def list_namespace_names(connection: Connection) -> list[str]:
    """The names of all namespaces, in their order, which are read without counting what these hold."""
    return [row["name"] for row in connection.read(CYPHER["invariants/namespace-names"]())]


def find_namespace(namespace: Namespace) -> NamespaceInfo:
    """Find out how much a namespace holds.

    Raises:
        NotFoundError: there is no such namespace.
    """
    found = namespace.connection.read(CYPHER["read/namespaces"](name=namespace.name))
    if not found:
        raise NotFoundError(f"no namespace `{namespace}`; `memorygraph namespaces list` shows them all")
    return NamespaceInfo(**found[0])


def begin_drop(namespace: Namespace) -> None:
    """Mark a namespace as one that is being deleted, in several transactions, and goes with the last of them."""

    def work(transaction: NamespaceTransaction) -> None:
        transaction.run("namespaces/begin-drop")
        # A list of what is being forgotten goes with the conversations, before the records.
        transaction.run("namespaces/keep-mark", mark=UNCOMPACTED)

    namespace.write(work)


def work_through(step: Callable[[int], int], limit: int) -> int:
    """Repeat a step, which takes at most so many elements in one transaction, until it takes none; return the sum.

    The limit is for elements of a common size: where they are too large for one transaction, fewer are taken.
    """
    total, taken = 0, 1
    while taken:
        try:
            taken = step(limit)
        except TooLargeError:
            if limit == 1:
                raise
            limit = max(1, limit // 4)
        else:
            total += taken
    return total


def drop_other_parts(transaction: NamespaceTransaction, limit: int) -> int:
    """Delete some of what is no graph, and return how many: 0 when nothing is left.

    These are the runs, programs, threads and conversations, with all that belongs to them.
    """
    for drop in _DROPS_OF_OTHER_PARTS:
        [row] = transaction.run(drop, limit=limit)
        if row["deleted"]:
            return int(row["deleted"])
    return 0


def drop_namespace(namespace: Namespace) -> None:
    """Delete a namespace with all that it holds, and what others say and run in it meanwhile."""

    def work(transaction: NamespaceTransaction, limit: int) -> int:
        elements = {"limit": limit, "joined": JOINED_PER_NODE * limit}
        rows = transaction.run("namespaces/drop-namespace-elements", **elements)  # none where it is gone already
        deleted = sum(int(row["deleted"]) for row in rows) or forget_former(transaction, limit=limit)
        if not deleted:
            [row] = transaction.run("namespaces/drop-namespace-entries", limit=limit)
            deleted = int(row["deleted"])
        if not deleted:
            transaction.run("namespaces/keep-mark", mark=UNCOMPACTED)
            deleted = drop_other_parts(transaction, min(limit, OTHERS_PER_TRANSACTION))
        if not deleted:
            transaction.run("namespaces/renew-record")  # waits for what others begin in the namespace at this moment
            deleted = drop_other_parts(transaction, min(limit, OTHERS_PER_TRANSACTION))
        if not deleted:
            [row] = transaction.run("namespaces/drop-loads", limit=limit)
            deleted = int(row["deleted"])
        if not deleted:  # the transaction holds the namespace's locks: nothing is left
            transaction.run("namespaces/drop-namespace-records")
        return deleted

    # Several transactions; a drop that was interrupted is finished by dropping again.
    work_through(lambda limit: namespace.write(partial(drop_other_parts, limit=limit)), OTHERS_PER_TRANSACTION)
    work_through(lambda limit: namespace.write(partial(work, limit=limit)), NODES_PER_TRANSACTION)


def forget_former(transaction: NamespaceTransaction, before: int | None = None, *, limit: int) -> int:
    """Forget so many former states at most, and return how many: 0 when none is left."""
    before = ALL_REVISIONS if before is None else before
    rows = transaction.run("history/forget", before=before, limit=limit)
    return int(rows[0]["forgotten"]) if rows else 0
