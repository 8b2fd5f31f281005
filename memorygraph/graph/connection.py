"""The connection to Neo4j: queries in managed transactions.

All sessions share their bookmarks, so that a read sees every earlier write of this connection, whichever member of a
cluster answers. No call waits indefinitely on a silent server: opening, each silence and each read as a whole have a
limit.
"""

from __future__ import annotations

import itertools
import logging
import math
import random
import re
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeAlias, TypeVar, cast
from urllib.parse import urlsplit

import neo4j
from neo4j import exceptions, graph
from neo4j.spatial import Point
from neo4j.time import Duration

from memorygraph.errors import ConnectionError, MemoryGraphError, QueryError, printable
from memorygraph.graph.driver_errors import (
    PLACE_OF_QUERY,
    FailedWork,
    checking_values,
    code_of,
    met_deletion,
    query_error,
    raise_interrupt,
    ran_out_of_time,
    told_by_driver,
    translate_in_doubt,
    translating_errors,
)
from memorygraph.graph.driver_internals import (
    bound_answer,
    bound_connections,
    close_when_stopped,
    connect,
    entities_kept_by,
    hang_up_when_unwanted,
    pipeline_begin,
)
from memorygraph.hosts import LOGIN, is_local_only
from memorygraph.library import CYPHER
from memorygraph.limits import require_running, require_wanted
from memorygraph.query import Query

READ_SECONDS = 30.0
WRITE_SECONDS = 3600.0
RETRY_SECONDS = 30.0  # from the first failure of a unit of work
OPENING_SECONDS = 15.0
IDLE_SECONDS = 30.0  # an older connection is tested before use: its server may have restarted
SILENCE_SECONDS = 75.0  # by default a server at work sends an empty chunk every minute
MAX_DATABASE_AGE_S = 2.0  # how long an address surely has the same database: a restore takes longer
ANSWER_SECONDS = 5.0  # after the end of its transaction, for a read to answer
MIN_PAUSE_SECONDS = 0.05
MAX_PAUSE_SECONDS = 2.0
# Locks are held for milliseconds: a long back-off starves the waiting writer.
MAX_SHORT_PAUSE_SECONDS = 0.25
MAX_DELETIONS_MET = 3  # a query that itself deletes what it asks for meets a deletion each time

# Our errors say it already; without a handler the driver's messages would reach the user's terminal.
logging.getLogger("neo4j").addHandler(logging.NullHandler())

SYSTEM = "system"
"""The database that lists all databases of a Neo4j."""

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
BOLT_PORT = 7687

ENCRYPTED = {"bolt": "bolt+s", "neo4j": "neo4j+s", "http": "https"}
"""Of each scheme without encryption the one with it."""

Driver: TypeAlias = neo4j.Driver
"""What a caller may have made: only this room knows the library by its name."""

Result = TypeVar("Result")

_EXPLAIN = "EXPLAIN\n"
_CLOSED = (
    "the connection to Neo4j is closed, or the driver that it uses: nothing more can be asked through it. Connect "
    "again, and close a driver of your own after its last use"
)
_TOO_BUSY = (
    "Neo4j did not answer in time, and not when it was asked again either: its machine has too much to do, or it has "
    "just been started. A moment later it may answer"
)
_TWO_MODES = "multiple conflicting values for execution mode"  # one is our EXPLAIN
_PROFILED = (
    "refused: a query that only reads has its plan looked at first, and a PROFILE does not go with that: leave it out. "
    "What it measures is shown by Neo4j Browser"
)
_PLANNER_FAILURES = ("Neo.DatabaseError.Statement.", "Neo.DatabaseError.General.UnknownError")


class Abandon(Exception):  # noqa: N818 - control flow, not an error
    """Raised by a unit of work: roll back, and return this value."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Transaction:
    """A transaction in progress, as a unit of work sees it."""

    def __init__(self, transaction: neo4j.ManagedTransaction | neo4j.Transaction) -> None:
        self._transaction = transaction

    def run(self, query: Query) -> list[dict[str, Any]]:
        """Run a query to its end and return its rows."""
        return list(self.rows(query))

    def run_counted(self, query: Query) -> tuple[list[dict[str, Any]], dict[str, int]]:
        """Run a query to its end; return its rows, and what it changed by Neo4j's counters that are not zero."""
        result = self._start(query)
        rows = list(_rows(result))
        counters = vars(result.consume().counters).items()
        return rows, {name: count for name, count in counters if count and type(count) is int}

    def rows(self, query: Query, *, typed: bool = False) -> Iterator[dict[str, Any]]:
        """Run a query and yield its rows as they arrive; `typed` leaves the values as the driver has them."""
        yield from _rows(self._start(query), typed=typed)

    def run_each(self, queries: Iterable[Query]) -> Iterator[tuple[Query, list[dict[str, Any]]]]:
        """Run queries in turn, and yield each with its rows; the next is made and sent while the server works."""
        started: tuple[Query, neo4j.Result] | None = None
        for query in queries:
            result = self._start(query)
            if started is not None:
                yield started[0], list(_rows(started[1]))
            started = query, result
        if started is not None:
            yield started[0], list(_rows(started[1]))

    def _start(self, query: Query) -> neo4j.Result:
        with checking_values():
            return self._transaction.run(query.text, dict(query.parameters))


def _rows(result: neo4j.Result, *, typed: bool = False) -> Iterator[dict[str, Any]]:
    keys = result.keys()
    kept = [] if typed else entities_kept_by(result)  # a typed relationship leads to its nodes
    for record in result:
        values = zip(keys, record.values(), strict=True)
        row = dict(values) if typed else {key: _plain(value) for key, value in values}
        for entities in kept:
            entities.clear()
        yield row


class UnencryptedWarning(UserWarning):
    """A login and a graph go to another machine where all that lies between can read them."""


def warn_if_readable(uri: str) -> None:
    """Warn about an address of another machine whose connections are not encrypted."""
    with suppress(ValueError):  # the driver says what is wrong with it
        parts = urlsplit(uri)
        encrypted = ENCRYPTED.get(parts.scheme)
        if encrypted and parts.hostname and not is_local_only(parts.hostname):
            warnings.warn(
                f"the connection to {parts.hostname} is not encrypted: the password and the graph can be read on the "
                f"way. Use {encrypted}:// where the server has a certificate",
                UnencryptedWarning,
                stacklevel=4,
            )


def require_bolt(uri: str) -> None:
    """Refuse an address that is not one of Neo4j's drivers, such as that of Neo4j Browser, or that has a login in it.

    >>> require_bolt("http://localhost:7474")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    memorygraph.errors.ConnectionError: the Neo4j address begins with `http://`, and ... use bolt://localhost:7687, ...
    """
    scheme, separator, rest = uri.partition("://")
    if separator and scheme.lower() in SCHEMES:
        if login := LOGIN.match(uri, len(scheme) + len(separator)):  # the driver's error says nothing, or repeats it
            address = printable(uri[login.end() :].partition("?")[0])
            raise ConnectionError(
                f"the Neo4j address has a login in it: write it as {scheme}://{address}, and give the user "
                "name in NEO4J_USERNAME and the password in NEO4J_PASSWORD"
            )
        return
    found = f"begins with `{printable(scheme)}://`" if separator else "has no scheme"
    place = ""
    with suppress(ValueError):  # of a malformed host
        place = urlsplit(f"//{rest if separator else uri}").hostname or ""
    host = printable(f"[{place}]" if ":" in place else place or "HOST")
    s = "+s" if scheme.lower() == "https" else ""
    encryption = "" if s else ", and +s with either for encryption"
    raise ConnectionError(
        f"the Neo4j address {found}, and memorygraph speaks Bolt: use bolt{s}://{host}:{BOLT_PORT}, or neo4j{s}:// for "
        f"a cluster{encryption} (--uri, or NEO4J_URI). HTTP is the way of Neo4j Browser; Bolt "
        f"has a port of its own, {BOLT_PORT} where it was not changed"
    )


def _make_driver(
    uri: str, auth: tuple[str, str] | None, certificate: str | Path | None, given: Mapping[str, Any]
) -> Driver:
    require_bolt(uri)
    warn_if_readable(uri)
    pinned = {"encrypted": True, "trusted_certificates": neo4j.TrustCustomCAs(str(certificate))}
    options = {
        "connection_timeout": 10.0,
        "liveness_check_timeout": IDLE_SECONDS,
        "notifications_min_severity": "OFF",
        "user_agent": "memorygraph",
        **(pinned if certificate else {}),
        **given,
    }
    with translating_errors():
        driver = neo4j.GraphDatabase.driver(uri, auth=auth, **options)
    bound_connections(driver, OPENING_SECONDS, SILENCE_SECONDS)
    return driver


def _require_driver(given: object) -> Driver:
    if isinstance(given, neo4j.Driver):
        return given
    found = f"{type(given).__module__}.{type(given).__qualname__}"
    way = "; calls of AsyncMemoryGraph run in threads, with such a driver too" * isinstance(given, neo4j.AsyncDriver)
    raise ConnectionError(f"a driver is one that neo4j.GraphDatabase.driver makes, and this is a {found}{way}")


class Answering(NamedTuple):
    """Who answers: the addresses to which reads and writes go, and what runs there, such as `Neo4j/2026.08.1`."""

    reads: str
    writes: str
    agent: str


class Connection:
    """A Neo4j database, shared by any number of threads."""

    def __init__(
        self,
        server: str | Driver,
        auth: tuple[str, str] | None = None,
        database: str | None = None,
        *,
        certificate: str | Path | None = None,
        **driver_options: Any,
    ) -> None:
        """Connect to a server; with the file of a certificate, only to the one that has the key for it.

        A driver is used as the caller made it, with its login and its limits, and is left open.
        """
        self.database = database
        # Of a cluster: each session without a database would ask which one is the user's, and ask it of nobody but the
        # member that the address names, which may be gone.
        self._home: str | None = None
        self.before_use: Callable[[Any], None] | None = None
        """What is done before a `Namespace` is read or written through this connection: see graph/expiry.py."""
        self.find_end: Callable[[], str] | None = None
        """Says, where a connection is lost, what is done about a server that has ended; empty where it has not. Without
        it the server may be one that starts again: what has failed is tried again for `RETRY_SECONDS`."""
        self.raw_writes = 0
        """How many queries of users that write were run through this connection: nobody knows what they changed."""
        self.known_database: str | None = None
        """What `find_database` has found last."""
        self._database_found_at = 0.0
        self._is_lent = not isinstance(server, str)
        self._driver = (
            _make_driver(server, auth, certificate, driver_options)
            if isinstance(server, str)
            else _require_driver(server)
        )
        try:
            with translating_errors(self._find_stop):
                with self._session(neo4j.READ_ACCESS):
                    address = self._driver.get_server_info().address
                if database is None and isinstance(self._driver, neo4j.Neo4jDriver):
                    self._home = self._ask_anything(neo4j.READ_ACCESS).database
        except MemoryGraphError:
            self.close()
            raise
        self.uri = server if isinstance(server, str) else str(address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection to the server; a driver of the caller's stays open."""
        if not self._is_lent:
            self._driver.close()

    def read(self, query: Query, *, seconds: float = READ_SECONDS, repeatable: bool = True) -> list[dict[str, Any]]:
        """Return the rows of a query that only reads; one that writes is a QueryError.

        One that runs longer runs again if it is `repeatable`, as ours are: the first queries of a server that has just
        started take long on a busy machine. Otherwise it is a QueryError.
        """

        def read_once() -> list[dict[str, Any]]:
            with self._reading(seconds) as session:
                with checking_values():
                    # A transaction of its own, whose end takes no round trip.
                    result = session.run(neo4j.Query(query.text, timeout=seconds), dict(query.parameters))
                return list(_rows(result))

        return self._retry(read_once, patience=min(RETRY_SECONDS, seconds), repeatable=repeatable)

    def find_database(self) -> str:
        """Find what tells the database from others, also from the one that a restore has put at its address.

        Raises:
            ConnectionError: it cannot be reached.
        """
        now = time.monotonic()
        if self.known_database is None or now - self._database_found_at > MAX_DATABASE_AGE_S:
            self.known_database, self._database_found_at = self._read_database(), now
        return self.known_database

    def _read_database(self) -> str:
        try:
            [row] = self.read(CYPHER["records/database-id"]())
        except QueryError:  # the user lacks the privilege; the address is the next best identity
            return f"{self.uri}/{self.database or ''}"
        return str(row["id"])

    def find_answering(self) -> Answering:
        """Find who answers: of a cluster, the members that reads and writes go to now."""
        with translating_errors(self._find_stop):
            reads, writes = (self._ask_anything(access).server for access in (neo4j.READ_ACCESS, neo4j.WRITE_ACCESS))
        return Answering(str(reads.address), str(writes.address), reads.agent)

    def _ask_anything(self, access: str) -> neo4j.ResultSummary:
        with self._session(access) as session:
            return session.run(neo4j.Query(CYPHER["read/answers"]().text)).consume()

    def _find_stop(self) -> str:
        """Find why the database has given up, which only the list of databases says; empty where it does not either."""
        named = self.database or self._home
        query = CYPHER["read/stop"](database=named.lower() if named else None)
        # Without the bookmarks of the database that has given up: nothing of it is waited for.
        with (
            suppress(exceptions.Neo4jError, exceptions.DriverError),
            self._driver.session(database=SYSTEM, default_access_mode=neo4j.READ_ACCESS) as session,
        ):
            connect(session, neo4j.READ_ACCESS)
            with bound_answer(session, ANSWER_SECONDS):
                result = session.run(neo4j.Query(query.text, timeout=ANSWER_SECONDS), dict(query.parameters))
                return next((row["reason"] for row in _rows(result)), "")
        return ""

    def read_with(self, work: Callable[[Transaction], Result], *, seconds: float = READ_SECONDS) -> Result:
        """Run a unit of work that only reads in one transaction, again after a transient failure."""
        once = partial(self._run_once, work, neo4j.READ_ACCESS, seconds)
        return self._retry(once, patience=min(RETRY_SECONDS, seconds))

    def stream(
        self, query: Query, *, seconds: float = READ_SECONDS, typed: bool = False
    ) -> Generator[dict[str, Any], None, None]:
        """Yield the rows of a query that only reads as they arrive, holding no more than a page of them in memory.

        `typed` leaves the values as the driver has them: nodes and relationships stay what they are. It is not retried
        when the connection breaks: some of its rows were already yielded.
        """
        try:
            with (
                translating_errors(self._find_stop),
                self._transaction(neo4j.READ_ACCESS, seconds) as transaction,
                hang_up_when_unwanted(transaction),
            ):
                yield from Transaction(transaction).rows(query, typed=typed)
        except ConnectionError:
            self._session(neo4j.READ_ACCESS).close()  # where the connection was closed meanwhile, that is what to say
            raise

    def write(
        self, work: Callable[[Transaction], Result], *, seconds: float = WRITE_SECONDS, repeatable: bool = True
    ) -> Result:
        """Run a unit of work in one transaction, again after a transient failure.

        A `repeatable` unit also runs again when the acknowledgement of a commit was lost, and finds out by itself
        whether it was applied. `Abandon` rolls back and returns its value.

        Raises:
            ConflictError: other writers stood in the way for too long, or own an id.
            ConnectionError: the server cannot be reached, or failed; with `outcome_unknown` the work may have been
                applied.
        """
        once = partial(self._run_once, work, neo4j.WRITE_ACCESS, seconds)
        return self._retry(once, patience=RETRY_SECONDS, writes=True, repeatable=repeatable)

    def _retry(
        self, once: Callable[[], Result], *, patience: float, writes: bool = False, repeatable: bool = True
    ) -> Result:
        """Call `once` until it succeeds, fails for good, or has failed for `patience` seconds.

        A commit without a reply is tried again only if it is `repeatable`, and looks up what was committed; so is a
        read whose time was up.
        """
        # Not the driver's own loop: for it a lost reply to a commit is final even where nothing was written, and it
        # retries what is out of memory until its time is up.
        deadline = math.inf
        in_doubt = False  # whether one of the attempts may have been committed
        deletions_met = 0
        for attempt in itertools.count():
            with translating_errors(self._find_stop):
                try:
                    result = once()
                    if in_doubt:
                        # No bookmark of what an earlier attempt may have committed has arrived, and what finds that it
                        # was applied rolls back. The bookmark of a commit where writes go, though it wrote nothing,
                        # stands at or after all that was committed there before.
                        self._ask_anything(neo4j.WRITE_ACCESS)
                except ConnectionError as closed:  # by another thread, since the last attempt
                    self._refuse_ended(closed, in_doubt=in_doubt)
                    raise (translate_in_doubt(closed, self._find_stop) if in_doubt else closed) from closed.__cause__
                except (exceptions.Neo4jError, exceptions.DriverError) as failure:
                    raise_interrupt(failure)
                    error = told_by_driver(failure)
                    lost = isinstance(error, exceptions.IncompleteCommit)
                    in_doubt = in_doubt or (writes and lost)
                    self._refuse_ended(error, in_doubt=in_doubt)
                    slow = not writes and ran_out_of_time(error)
                    deletions_met += met_deletion(error)
                    deleted = met_deletion(error) and deletions_met <= MAX_DELETIONS_MET
                    passes = deleted or (error.is_retryable() and "OutOfMemoryError" not in code_of(error))
                    again = repeatable if lost or slow else passes
                    if slow:
                        require_running()
                    if time.monotonic() > deadline or not again:
                        if in_doubt:
                            raise translate_in_doubt(error, self._find_stop) from error
                        if slow and repeatable:
                            raise ConnectionError(f"{_TOO_BUSY} ({error})") from error
                        raise
                    longest = self._longest_pause(error)
                else:
                    return result
            # From the first failure: long work, or a server that was silent for long, deserves another try too.
            deadline = min(deadline, time.monotonic() + patience)
            # Out of step with other writers.
            time.sleep(min(MIN_PAUSE_SECONDS * 2.0**attempt, longest) * random.uniform(0.5, 1.0))  # noqa: S311
        raise AssertionError("the attempts have no end")

    def _longest_pause(self, error: Exception) -> float:
        # Of a server that is stopping, it is asked often whether it has ended.
        is_stopping = self.find_end is not None and isinstance(error, exceptions.DriverError)
        return MAX_SHORT_PAUSE_SECONDS if is_stopping or "Deadlock" in code_of(error) else MAX_PAUSE_SECONDS

    def _refuse_ended(self, failure: Exception, *, in_doubt: bool) -> None:
        """Give up at once where the server is known to have ended."""
        is_lost = isinstance(failure, (exceptions.DriverError, ConnectionError))  # the others are answers of a server
        if is_lost and self.find_end is not None and (told := self.find_end()):
            ended = ConnectionError(told)
            raise (translate_in_doubt(ended) if in_doubt else ended) from failure

    def _run_once(self, work: Callable[[Transaction], Result], access: str, seconds: float) -> Result:
        require_wanted()
        with self._transaction(access, seconds) as transaction:
            try:
                with hang_up_when_unwanted(transaction):  # not during the commit: what was sent may be stored
                    result = work(Transaction(transaction))
            except Abandon as abandoned:
                transaction.rollback()
                return cast(Result, abandoned.value)
            except (OSError, ValueError) as error:  # of `work`: the driver's own mean an address that is not found
                raise FailedWork(error) from error
            if access == neo4j.WRITE_ACCESS:
                require_wanted()  # the last moment at which giving it up leaves nothing behind
            try:
                transaction.commit()
            except exceptions.DatabaseError as error:
                # It may stand in Neo4j's log all the same, as on a full disk, and then recovery brings it back.
                raise exceptions.IncompleteCommit(str(error)) from error
            return result

    @contextmanager
    def _reading(self, seconds: float) -> Iterator[neo4j.Session]:
        """Open a session for one query of at most this many seconds that only reads."""
        require_wanted()  # also where a server that is gone is asked again
        with self._session(neo4j.READ_ACCESS) as session:
            # Connect first: part of the answer arrives while the query is sent.
            connect(session, neo4j.READ_ACCESS)
            bound = bound_answer(session, seconds + ANSWER_SECONDS)
            with close_when_stopped(session), hang_up_when_unwanted(session), bound:
                yield session

    @contextmanager
    def _transaction(self, access: str, seconds: float) -> Iterator[neo4j.Transaction]:
        """Begin a transaction of at most this many seconds, without a round trip of its own."""
        with self._session(access) as session:
            with pipeline_begin(session):
                transaction = session.begin_transaction(timeout=seconds)
            is_read = access == neo4j.READ_ACCESS
            bound = bound_answer(transaction, seconds + ANSWER_SECONDS) if is_read else nullcontext()
            with transaction, close_when_stopped(transaction), bound:
                yield transaction

    def define(self, *commands: Query) -> None:
        """Run schema commands, in one transaction if that is possible; what exists already is no error."""
        try:
            self.write(lambda transaction: [transaction.run(command) for command in commands])
        except MemoryGraphError as error:  # IF NOT EXISTS does not help when another client creates it at this moment
            if len(commands) > 1:
                for command in commands:
                    self.define(command)
                return
            code = code_of(error.__cause__)
            if not (code.startswith("Neo.ClientError.Schema.") and code.endswith("AlreadyExists")):
                raise

    def plan(self, query: Query) -> tuple[str, list[tuple[str, str]]]:
        """Return what a query would do, without running it: its type, and its operators with their details."""

        def explain() -> neo4j.ResultSummary:
            with self._reading(READ_SECONDS) as session:
                with checking_values():
                    explained = neo4j.Query(_EXPLAIN + query.text, timeout=READ_SECONDS)
                    result = session.run(explained, dict(query.parameters))
                return result.consume()

        try:
            summary = self._retry(explain, patience=RETRY_SECONDS, repeatable=False)
        except MemoryGraphError as error:
            cause = error.__cause__
            if isinstance(cause, exceptions.CypherSyntaxError):
                raise query_error(f"the Cypher is wrong ({_correct_place(cause.message or '')})") from cause
            if _TWO_MODES in str(cause):
                raise QueryError(_PROFILED) from cause
            if code_of(cause).startswith(_PLANNER_FAILURES):  # NEXT before a UNION in a subquery, for one
                raise QueryError(f"Neo4j fails to plan this query ({cause})") from cause
            raise
        return summary.query_type or "", list(_operators(summary.plan or {}))

    def _session(self, mode: str) -> neo4j.Session:
        # What Neo4j has to say about our queries is not for whoever lends a driver; our own drivers are told so once.
        severity: Literal["OFF"] | None = "OFF" if self._is_lent else None
        try:
            return self._driver.session(
                database=self.database or self._home,
                default_access_mode=mode,
                bookmark_manager=self._driver.execute_query_bookmark_manager,
                notifications_min_severity=severity,
            )
        except exceptions.ConfigurationError:
            raise
        except exceptions.DriverError as error:
            raise ConnectionError(f"{_CLOSED} ({error})") from error


_SCALARS = frozenset((str, int, float, bool, type(None)))


def _plain(value: Any) -> Any:
    """Convert a value of the driver: nodes and relationships become their properties; times and points stay."""
    if isinstance(value, (list, tuple)):
        if isinstance(value, (Duration, Point)):  # which are tuples
            return value
        return [item if type(item) in _SCALARS else _plain(item) for item in value]
    if isinstance(value, dict):
        return {key: item if type(item) in _SCALARS else _plain(item) for key, item in value.items()}
    if isinstance(value, graph.Path):
        return {"nodes": _plain(value.nodes), "relationships": _plain(value.relationships)}
    if isinstance(value, graph.Entity):
        return {key: _plain(item) for key, item in cast(Mapping[str, Any], value).items()}
    return value


def _correct_place(message: str) -> str:
    """Correct the places in Neo4j's message about a query, which stood below a line with EXPLAIN."""

    def correct(place: re.Match[str]) -> str:
        line, column, offset = int(place[1]) - 1, place[2], int(place[3]) - len(_EXPLAIN)
        return f"(line {line}, column {column} (offset: {offset}))"

    return PLACE_OF_QUERY.sub(correct, message)


def _operators(plan: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the operators of an execution plan, children after their parent."""
    yield plan["operatorType"].partition("@")[0], str(plan.get("args", {}).get("Details", ""))
    for child in plan.get("children", ()):
        yield from _operators(child)
