"""The connection to Neo4j: queries in managed transactions, and the one place that knows its errors.

Reads run in read access mode, so that a cluster sends them to a follower; all sessions share the driver's
bookmark manager, so that a read sees every write that this connection has made before it.

No call waits for ever on a server that has fallen silent. The driver itself waits as long as the server has asked
it to, which is two minutes by default, and for ever where it has not asked; so a connection gets an end of its own
to be opened, for each silence, and for each read as a whole. A server that is at work is not silent: it sends
an empty chunk from time to time.
"""

from __future__ import annotations

import itertools
import logging
import random
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self, TypeVar, cast

import neo4j
from neo4j import exceptions, graph

from memorygraph.errors import ConflictError, ConnectionError, LoginError, MemoryGraphError, QueryError
from memorygraph.graph.driver_internals import bound_answer, bound_silence, connect, pipeline_begin
from memorygraph.query import Query

READ_SECONDS = 30.0
WRITE_SECONDS = 3600.0
RETRY_SECONDS = 30.0
"""How long a unit of work is tried again, from its first failure on."""
OPENING_SECONDS = 15.0
IDLE_SECONDS = 30.0
"""A connection that was not used for so long is tried before it is given work: its server may have restarted."""
SILENCE_SECONDS = 75.0
"""Longer than the minute after which Neo4j, as it is delivered, shows that it is still at work."""
ANSWER_SECONDS = 5.0
"""How much later than the end of its transaction a read still gets an answer."""
MIN_PAUSE_SECONDS = 0.05
MAX_PAUSE_SECONDS = 2.0
MAX_PAUSE_OF_A_DEADLOCK_SECONDS = 0.25
"""The others hold their locks for milliseconds, and who waits long loses to those that have just come."""

# What the driver has to say is said by our errors; without a handler it would reach the user's terminal.
logging.getLogger("neo4j").addHandler(logging.NullHandler())

Result = TypeVar("Result")
Read = Callable[[Query], list[dict[str, Any]]]
"""What gives the rows of a query that only reads."""

_UNREACHABLE = "is it running? `memorygraph doctor` checks the set-up; without NEO4J_URI memorygraph starts its own"

_EXPLAIN = "EXPLAIN\n"
_UNKNOWN_RESULT = (
    "the connection to Neo4j broke during a commit, and whether it was kept is not known: look before you run "
    "it again (a `load` can simply be run again: what is stored already stays as it is)"
)

# The first class that an error is an instance of decides. A test holds this table against the driver's tree.
_TRANSLATIONS: tuple[tuple[type[Exception], type[MemoryGraphError], str], ...] = (
    (
        exceptions.AuthError,
        LoginError,
        "Neo4j refused the user name or the password: check NEO4J_USERNAME and NEO4J_PASSWORD",
    ),
    (exceptions.TokenExpired, ConnectionError, "the login to Neo4j has expired"),
    (exceptions.ServiceUnavailable, ConnectionError, f"Neo4j cannot be reached: {_UNREACHABLE}"),
    (exceptions.SessionExpired, ConnectionError, f"the connection to Neo4j was lost: {_UNREACHABLE}"),
    (exceptions.ConfigurationError, ConnectionError, "this Neo4j address cannot be used"),
    (exceptions.ConstraintError, ConflictError, "another write already owns this id"),
    (exceptions.CypherSyntaxError, QueryError, "the Cypher is wrong"),
    (exceptions.TransientError, ConflictError, "the database is too busy with other writes; try again"),
    (exceptions.ClientError, QueryError, "Neo4j refused the query"),
    (exceptions.DatabaseError, MemoryGraphError, "Neo4j failed"),
    (exceptions.Neo4jError, MemoryGraphError, "Neo4j failed"),
    (exceptions.DriverError, MemoryGraphError, "the Neo4j driver failed"),
)
_OUT_OF_MEMORY = ("MemoryPoolOutOfMemoryError", "TransactionOutOfMemoryError", "OutOfMemoryError")


def translate(error: Exception) -> MemoryGraphError:
    """The error of memorygraph that stands for one of the driver's."""
    detail = getattr(error, "message", None) or str(error)
    if _is_out_of_memory(error):
        return QueryError(f"this is too large for one transaction; load it with --batch ({detail})")
    for kind, ours, meaning in _TRANSLATIONS:
        if isinstance(error, kind):
            return ours(f"{meaning} ({detail})")
    return MemoryGraphError(f"Neo4j failed: {detail}")


def _is_out_of_memory(error: Exception) -> bool:
    return any(name in (getattr(error, "code", None) or "") for name in _OUT_OF_MEMORY)


def _is_deadlock(error: Exception) -> bool:
    return "Deadlock" in (getattr(error, "code", None) or "")


def _pause(attempt: int, error: Exception) -> float:
    """How long to wait before a new try, in seconds: longer and longer, and not in step with others."""
    longest = MAX_PAUSE_OF_A_DEADLOCK_SECONDS if _is_deadlock(error) else MAX_PAUSE_SECONDS
    return min(MIN_PAUSE_SECONDS * 2.0**attempt, longest) * random.uniform(0.5, 1.0)  # noqa: S311


class _FailedWork(Exception):  # noqa: N818 - an envelope, not an error
    """Carries an error of a unit of work past the driver, whose own errors can be of the same class."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _is_past(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() > deadline


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except _FailedWork as failed:
        raise failed.error from failed.error.__cause__
    except (exceptions.Neo4jError, exceptions.DriverError) as error:
        raise translate(error) from error
    except (OSError, ValueError) as error:  # a name that cannot be resolved, an address of no known scheme
        raise ConnectionError(f"Neo4j cannot be reached: {error}; {_UNREACHABLE}") from error


@contextmanager
def _values_checked() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:  # the driver, while it writes the parameters down
        raise QueryError(f"a parameter has a value that Neo4j cannot hold: {error}") from error


class Abandon(Exception):  # noqa: N818 - control flow, not an error
    """Raised in a unit of work: roll back, and let the write return this value."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Transaction:
    """A transaction in progress, as a unit of work sees it."""

    def __init__(self, transaction: neo4j.ManagedTransaction | neo4j.Transaction) -> None:
        self._transaction = transaction

    def run(self, query: Query) -> list[dict[str, Any]]:
        """Run a query to its end and return its rows."""
        return list(self.rows(query))

    def rows(self, query: Query) -> Iterator[dict[str, Any]]:
        """Run a query, and give its rows as they come."""
        with _values_checked():
            result = self._transaction.run(query.text, dict(query.parameters))
        yield from _rows(result)


def _rows(result: neo4j.Result) -> Iterator[dict[str, Any]]:
    keys = result.keys()
    for record in result:
        yield {key: _plain(value) for key, value in zip(keys, record.values(), strict=True)}


def _done(work: Callable[[Transaction], Result], transaction: neo4j.ManagedTransaction | neo4j.Transaction) -> Result:
    """The result of a unit of work. A name that is not resolved is a ValueError of the driver; one of `work` is not."""
    try:
        return work(Transaction(transaction))
    except (OSError, ValueError) as error:
        raise _FailedWork(error) from error


def begin_with_first_query(session: neo4j.Session, seconds: float) -> neo4j.Transaction:
    """Begin a transaction of at most this many seconds, without a round trip of its own."""
    with pipeline_begin(session):
        return session.begin_transaction(timeout=seconds)


class Connection:
    """A Neo4j database, shared by any number of threads.

    A call fails when the server has sent nothing for SILENCE_SECONDS, or for as long as the server itself has asked
    for, if that is shorter.

    Raises:
        ConnectionError: the server cannot be reached, or refuses the credentials.
    """

    def __init__(
        self,
        uri: str,
        auth: tuple[str, str] | None = None,
        database: str | None = None,
        **driver_options: Any,
    ) -> None:
        self.uri = uri
        self.database = database
        options = {
            "connection_timeout": 10.0,
            "liveness_check_timeout": IDLE_SECONDS,
            "notifications_min_severity": "OFF",
            "user_agent": "memorygraph",
            **driver_options,
        }
        with _translated():
            self._driver = neo4j.GraphDatabase.driver(uri, auth=auth, **options)
        bound_silence(self._driver, OPENING_SECONDS, SILENCE_SECONDS)
        try:
            with _translated():
                self._driver.verify_connectivity()
        except MemoryGraphError:
            self._driver.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection to the server."""
        self._driver.close()

    def read(self, query: Query, *, seconds: float = READ_SECONDS) -> list[dict[str, Any]]:
        """The rows of a query that only reads.

        Raises:
            QueryError: the query is wrong, writes, or ran longer than `seconds`.
            ConnectionError: the server cannot be reached.
        """
        return self._repeated(lambda: self._read_once(query, seconds))

    def read_with(self, work: Callable[[Transaction], Result], *, seconds: float = READ_SECONDS) -> Result:
        """Run a unit of work that only reads, in one transaction, again after a transient failure."""
        return self._repeated(lambda: self._read_with_once(work, seconds))

    def stream(self, query: Query, *, seconds: float = READ_SECONDS) -> Generator[dict[str, Any], None, None]:
        """The rows of a query that only reads, as they come: no more than a page of them is held in memory.

        It is not run again when the connection breaks off, for some of its rows were given away already.

        Raises:
            QueryError: the query is wrong, writes, or ran longer than `seconds`, the reading of its rows included.
            ConnectionError: the server cannot be reached, or broke off.
        """
        with (
            _translated(),
            self._session(neo4j.READ_ACCESS) as session,
            begin_with_first_query(session, seconds) as transaction,
            bound_answer(transaction, seconds + ANSWER_SECONDS),
        ):
            yield from Transaction(transaction).rows(query)

    def write(
        self, work: Callable[[Transaction], Result], *, seconds: float = WRITE_SECONDS, repeatable: bool = True
    ) -> Result:
        """Run a unit of work in one transaction, again after a transient failure.

        A `repeatable` unit can also run again when an earlier run was committed but its acknowledgement was
        lost: this is how it is found out whether it was applied. `Abandon` rolls back and returns its value.

        Raises:
            ConflictError: other writers stood in the way for too long, or own an id.
            ConnectionError: the server cannot be reached, or broke off, and whether the work was applied is unknown.
        """
        return self._repeated(lambda: self._write_once(work, seconds), _UNKNOWN_RESULT, repeatable=repeatable)

    def _repeated(self, once: Callable[[], Result], unknown: str | None = None, *, repeatable: bool = True) -> Result:
        """What `once` gives, run again after transient failures; `unknown` is said of a commit without a reply."""
        # Not the driver's own loop: to it a lost reply to a commit is final, also where nothing was written, and it
        # tries again what is out of memory, until its time is up.
        deadline = None
        for attempt in itertools.count():
            with _translated():
                try:
                    return once()
                except exceptions.IncompleteCommit as error:
                    if unknown and (_is_past(deadline) or not repeatable):
                        raise ConnectionError(unknown) from error
                    if _is_past(deadline):
                        raise
                    pause = _pause(attempt, error)
                except (exceptions.Neo4jError, exceptions.DriverError) as error:
                    if _is_past(deadline) or not error.is_retryable() or _is_out_of_memory(error):
                        raise
                    pause = _pause(attempt, error)
            # Not from the start: work that took long, or a server that was long silent, deserves another try too.
            deadline = deadline or time.monotonic() + RETRY_SECONDS
            time.sleep(pause)
        raise AssertionError("the attempts have no end")

    def _read_once(self, query: Query, seconds: float) -> list[dict[str, Any]]:
        """Run a query as a transaction of its own, whose end takes no round trip."""
        with self._session(neo4j.READ_ACCESS) as session:
            # Part of the answer comes while the query is sent.
            connect(session, neo4j.READ_ACCESS)
            with bound_answer(session, seconds + ANSWER_SECONDS):
                with _values_checked():
                    result = session.run(neo4j.Query(query.text, timeout=seconds), dict(query.parameters))
                return list(_rows(result))

    def _read_with_once(self, work: Callable[[Transaction], Result], seconds: float) -> Result:
        with (
            self._session(neo4j.READ_ACCESS) as session,
            begin_with_first_query(session, seconds) as transaction,
            bound_answer(transaction, seconds + ANSWER_SECONDS),
        ):
            result = _done(work, transaction)
            transaction.commit()
            return result

    def _write_once(self, work: Callable[[Transaction], Result], seconds: float) -> Result:
        with (
            self._session(neo4j.WRITE_ACCESS) as session,
            begin_with_first_query(session, seconds) as transaction,
        ):
            try:
                result = _done(work, transaction)
            except Abandon as abandoned:
                transaction.rollback()
                return cast(Result, abandoned.value)
            transaction.commit()
            return result

    def define(self, query: Query) -> None:
        """Run a schema command, which Neo4j wants in a transaction of its own; what is there already is no error.

        Neo4j itself says so only as long as no other client does the same at the same moment.
        """
        try:
            self.write(lambda transaction: transaction.run(query))
        except QueryError as error:
            code = str(getattr(error.__cause__, "code", ""))
            if not (code.startswith("Neo.ClientError.Schema.") and code.endswith("AlreadyExists")):
                raise

    def plan(self, query: Query) -> tuple[str, list[tuple[str, str]]]:
        """What a query would do, without running it: its type, and its operators with their details."""

        def explained() -> neo4j.ResultSummary:
            with self._session(neo4j.READ_ACCESS) as session:
                with _values_checked():
                    result = session.run(_EXPLAIN + query.text, dict(query.parameters))
                return result.consume()

        try:
            summary = self._repeated(explained)
        except QueryError as error:
            if isinstance(error.__cause__, exceptions.CypherSyntaxError):
                place = _place_of_query(error.__cause__.message or "")
                raise QueryError(f"the Cypher is wrong ({place})") from error.__cause__
            raise
        return summary.query_type or "", list(_operators(summary.plan or {}))

    def _session(self, mode: str) -> neo4j.Session:
        return self._driver.session(
            database=self.database,
            default_access_mode=mode,
            bookmark_manager=self._driver.execute_query_bookmark_manager,
        )


_SCALARS = frozenset((str, int, float, bool, type(None)))


def _plain(value: Any) -> Any:
    """A value of the driver as JSON knows it: of a node or a relationship its properties."""
    if isinstance(value, (list, tuple)):
        return [item if type(item) in _SCALARS else _plain(item) for item in value]
    if isinstance(value, dict):
        return {key: item if type(item) in _SCALARS else _plain(item) for key, item in value.items()}
    if isinstance(value, graph.Path):
        return {"nodes": _plain(value.nodes), "relationships": _plain(value.relationships)}
    if isinstance(value, graph.Entity):
        return {key: _plain(item) for key, item in cast(Mapping[str, Any], value).items()}
    return value


def _place_of_query(message: str) -> str:
    """Neo4j's message about a query with its places in the query alone, without EXPLAIN on the line above it."""

    def moved(place: re.Match[str]) -> str:
        line, column, offset = int(place[1]) - 1, place[2], int(place[3]) - len(_EXPLAIN)
        return f"(line {line}, column {column} (offset: {offset}))"

    return re.sub(r"\(line (\d+), column (\d+) \(offset: (\d+)\)\)", moved, message)


def _operators(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The operators of an execution plan, children after their parent."""
    yield plan["operatorType"].partition("@")[0], str(plan.get("args", {}).get("Details", ""))
    for child in plan.get("children", ()):
        yield from _operators(child)
