"""What the errors of Neo4j's driver mean: each becomes one of memorygraph's, or is told apart by its code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from neo4j import exceptions

from memorygraph.errors import (
    ConflictError,
    ConnectionError,
    DatabaseUnavailableError,
    LoginError,
    MemoryGraphError,
    QueryError,
    RestartNeededError,
    TooLargeError,
    find_interrupt,
)
from memorygraph.graph.driver_internals import UnprovenServer

DriverFailure: TypeAlias = exceptions.Neo4jError | exceptions.DriverError
"""What the driver raises where the server or the way to it fails."""

_UNREACHABLE = "is it running? `memorygraph doctor` checks the set-up; without NEO4J_URI memorygraph starts its own"

_UNPROVEN = (
    "what answers at this address did not prove that it is the server, so it was sent no login. If another program has "
    "taken the port of the embedded Neo4j, `memorygraph up` starts that at another one: connect again. For a server of "
    "NEO4J_URI, have its certificate trusted on this machine"
)
_START_AGAIN = (
    "run `memorygraph up`, which starts the embedded Neo4j again; a server of NEO4J_URI has to be started again where "
    "it runs"
)
# The words of Linux, macOS and Windows.
_DISK_IS_FULL = ("No space left on device", "quota exceeded", "not enough space on the disk")
_CHECK_LOGIN = "check NEO4J_USERNAME and NEO4J_PASSWORD"
_UNKNOWN_OUTCOME = (
    "Neo4j failed during a commit, and whether it was kept is not known: look before you run it again (a `load` can "
    "simply be run again: what is stored already stays as it is)"
)
_TOO_LARGE = (
    "this is too large for one transaction, which changed nothing: do it in parts. `load --batch 10000` loads a file "
    "so, `delete ID --batch 10000` deletes a node with very many edges, and a query can take fewer rows at a time"
)
_NO_DATABASE = "there is no such database; `SHOW DATABASES` lists them: check NEO4J_DATABASE, and what a query uses"
_TOO_LONG = "it took longer than it may, and was ended"
_OWN_TRANSACTIONS = (
    "a query runs in one transaction, and this one would begin its own: leave out IN TRANSACTIONS and take fewer rows "
    "at a time, or run it in Neo4j Browser, after `:auto`"
)
_UNAVAILABLE = (
    "Neo4j runs, and its database has not started: for the embedded Neo4j, `memorygraph doctor` says why; for a server "
    "of NEO4J_URI, its logs do, and a moment later it may have started"
)
_ALL_TAKEN = (
    "all connections to Neo4j are taken, by streams that were not read to their end or by other calls: read each "
    "stream to its end or close it (in Python: `rows.close()`), and make fewer calls at a time"
)

_ALWAYS = {f"Neo.ClientError.Statement.{kind}" for kind in ("ArgumentError", "ArithmeticError", "TypeError")}

PLACE_OF_QUERY = re.compile(r"\(line (\d+), column (\d+) \(offset: (\d+)\)\)")
"""The place in the text of a query, as Neo4j's messages end."""


def query_error(message: str) -> QueryError:
    """Make the error of a query, with the place that Neo4j's message in it names.

    >>> error = query_error("the Cypher is wrong (Variable `m` not defined (line 1, column 18 (offset: 17)))")
    >>> error.line, error.column
    (1, 18)
    """
    error = QueryError(message)
    if place := PLACE_OF_QUERY.search(message):
        error.line, error.column = int(place[1]), int(place[2])
    return error


# The first class that an error is an instance of decides. A test holds this table against the driver's tree.
_TRANSLATIONS: tuple[tuple[type[Exception], Callable[[str], MemoryGraphError], str], ...] = (
    (exceptions.AuthError, LoginError, f"Neo4j refused the user name or the password: {_CHECK_LOGIN}"),
    (exceptions.TokenExpired, ConnectionError, "the login to Neo4j has expired"),
    (UnprovenServer, ConnectionError, _UNPROVEN),
    (exceptions.ServiceUnavailable, ConnectionError, f"Neo4j cannot be reached: {_UNREACHABLE}"),
    (exceptions.SessionExpired, ConnectionError, f"the connection to Neo4j was lost: {_UNREACHABLE}"),
    (exceptions.ConfigurationError, ConnectionError, "this Neo4j address, or what was given with it, cannot be used"),
    (exceptions.ConnectionAcquisitionTimeoutError, ConnectionError, _ALL_TAKEN),
    (exceptions.ConstraintError, ConflictError, "another write already owns this id"),
    (exceptions.CypherSyntaxError, query_error, "the Cypher is wrong"),
    (exceptions.TransientError, ConflictError, "the database is too busy with other writes; try again"),
    (exceptions.ClientError, query_error, "Neo4j refused the query"),
    (exceptions.DatabaseError, MemoryGraphError, "Neo4j failed"),
    (exceptions.Neo4jError, MemoryGraphError, "Neo4j failed"),
    (exceptions.DriverError, MemoryGraphError, "the Neo4j driver failed"),
)


FindStop: TypeAlias = Callable[[], str]
"""Finds, in Neo4j's own words, why its database has given up; empty where it does not say, as of `str`."""


def translate(error: Exception, find_stop: FindStop = str) -> MemoryGraphError:
    """Translate an error of the driver into one of memorygraph."""
    # An error of the driver itself has a text, and a placeholder for what a server would say.
    detail = Exception.__str__(error) or getattr(error, "message", None) or str(error)
    if needs_restart(error):
        return RestartNeededError(f"{explain_stop(find_stop())} ({detail})")
    if code_of(error).endswith(".DatabaseUnavailable"):
        return DatabaseUnavailableError(f"{_UNAVAILABLE} ({detail})")
    begins_own = "can only be executed in an implicit transaction" in detail
    if begins_own or ran_out_of_time(error):
        return QueryError(f"{_OWN_TRANSACTIONS if begins_own else _TOO_LONG} ({detail})")
    if "OutOfMemoryError" in code_of(error):
        return TooLargeError(f"{_TOO_LARGE} ({detail})")
    for kind, ours, meaning in _TRANSLATIONS:
        if isinstance(error, kind):
            said = _NO_DATABASE if code_of(error).endswith(".DatabaseNotFound") else meaning
            return ours(f"{said} ({detail})")
    return MemoryGraphError(f"Neo4j failed: {detail}")


def needs_restart(error: Exception) -> bool:
    """Tell whether a database has given up: it could not write its log, and refuses every transaction since then."""
    has_given_up = code_of(error).endswith(".TransactionStartFailed") and "needs to be restarted" in str(error)
    return has_given_up or code_of(error).endswith(".TransactionLogError")


def explain_stop(reason: str) -> str:
    """Say what to do about a database that has given up for a reason: a full disk, and anything else.

    >>> explain_stop("No space left on device")  # doctest: +ELLIPSIS
    'Neo4j has stopped working, as its disk is full (No space left on device): make room, then run `memorygraph up`...'
    >>> explain_stop("File too large")  # doctest: +ELLIPSIS
    'Neo4j has stopped working, and says why: File too large. Mend that, unless it has passed, then run ...'
    """
    if any(words in reason for words in _DISK_IS_FULL):
        return f"Neo4j has stopped working, as its disk is full ({reason}): make room, then {_START_AGAIN}"
    if reason:
        return (
            f"Neo4j has stopped working, and says why: {reason}. Mend that, unless it has passed, then {_START_AGAIN}"
        )
    return f"Neo4j has stopped working; its logs say why. Mend that, unless it has passed, then {_START_AGAIN}"


def ran_out_of_time(error: BaseException | None) -> bool:
    """Tell whether Neo4j has ended a transaction because its time was up."""
    return code_of(error).startswith("Neo.ClientError.Transaction.TransactionTimedOut")


def met_deletion(error: Exception) -> bool:
    """Whether a query came upon what another transaction deletes; or its own, which fails each time."""
    return code_of(error) == "Neo.ClientError.Statement.EntityNotFound"


def told_by_driver(error: DriverFailure) -> DriverFailure:
    """Return the cause of a result that has failed, whose own error has no code; any other error as it is.

    A unit of work meets it in the rows of a query, and the end of its transaction in those that nobody has read.
    """
    cause = error.__cause__
    return cause if isinstance(error, exceptions.ResultFailedError) and isinstance(cause, DriverFailure) else error


def code_of(error: BaseException | None) -> str:
    """Return the code that Neo4j gave an error, if it is one of Neo4j's."""
    return getattr(error, "code", None) or ""


def fails_always(error: QueryError) -> bool:
    """Tell whether a query fails with its values whenever it runs, however well the server is."""
    cause = error.__cause__
    code = code_of(cause)
    return isinstance(cause, (ValueError, TypeError, OverflowError)) or code in _ALWAYS or "OutOfMemoryError" in code


def translate_in_doubt(error: Exception, find_stop: FindStop = str) -> ConnectionError:
    """Translate the error of a write that may have been kept all the same."""
    cause = error.__cause__ if isinstance(error, exceptions.IncompleteCommit) else error
    reason = translate(cause, find_stop) if isinstance(cause, DriverFailure) else cause
    kind = RestartNeededError if isinstance(reason, RestartNeededError) else ConnectionError
    return kind(f"{_UNKNOWN_OUTCOME}. {reason}" if reason else _UNKNOWN_OUTCOME, outcome_unknown=True)


class FailedWork(Exception):  # noqa: N818 - an envelope, not an error
    """Carries an error of a unit of work past the driver, whose own errors can be of the same class."""

    def __init__(self, error: Exception) -> None:
        self.error = error


@contextmanager
def translating_errors(find_stop: FindStop = str) -> Iterator[None]:
    """Have each error of the driver be one of memorygraph's, and leave those of a unit of work as they are."""
    try:
        yield
    except FailedWork as failed:
        raise failed.error from failed.error.__cause__
    except (exceptions.Neo4jError, exceptions.DriverError) as error:
        told = told_by_driver(error)
        raise translate(told, find_stop) from told
    except (OSError, ValueError) as error:  # a name that cannot be resolved, an address of no known scheme
        raise ConnectionError(f"Neo4j cannot be reached: {error}; {_UNREACHABLE}") from error


@contextmanager
def checking_values() -> Iterator[None]:
    """Have what the driver cannot encode, a parameter or the text of a query, be the error of the query that has it."""
    where, why = "a parameter", "an integer has at most 64 bits"
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:  # of the driver
        if isinstance(error, UnicodeEncodeError):
            where, why = "the query or a parameter", f"U+{ord(error.object[error.start]):04X} is half a character"
        elif not isinstance(error, OverflowError):
            why = str(error)
        raise QueryError(f"{where} has a value that Neo4j cannot hold: {why}") from error


def raise_interrupt(error: Exception) -> None:
    """Raise the Ctrl-C that an error of the driver came of: what the user has stopped is not tried again."""
    stop = find_interrupt(error)
    if stop is not None:
        raise stop
