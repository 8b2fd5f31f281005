"""What memorygraph uses of the Neo4j driver beside its public interface. Tests say in which version each was seen.

Where a driver lacks one of these, a time limit, a saved round trip or memory is lost, and never an answer.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import neo4j
from neo4j import exceptions

from memorygraph.limits import ending_when_unwanted


class UnprovenServer(exceptions.ServiceUnavailable):
    """What answers has no TLS, or not the certificate that was expected."""

    def __init__(self, failure: ssl.SSLError) -> None:
        super().__init__(getattr(failure, "verify_message", None) or failure.reason or str(failure))
        self._has_ended = isinstance(failure, (ssl.SSLEOFError, ssl.SSLZeroReturnError))

    def is_retryable(self) -> bool:
        """Whether it may be the server, which ended during the handshake."""
        return self._has_ended


def bound_connections(driver: neo4j.Driver, opening_seconds: float, silence_seconds: float) -> None:
    """Let a connection fail when it does not open in time, or when its server is silent for too long.

    Of a server that does not prove itself the error says so, as an `UnprovenServer`.
    """
    # The driver waits as long as the server asks for (two minutes by default), and indefinitely where it does not ask.
    pool = getattr(driver, "_pool", None)
    open_connection = getattr(pool, "opener", None)
    if pool is None or open_connection is None:
        return

    def open_bounded(address: Any, auth_manager: Any, deadline: Any) -> Any:
        try:
            connection = open_connection(address, auth_manager, min(deadline, type(deadline)(opening_seconds)))
        except exceptions.ServiceUnavailable as error:
            if failure := failed_handshake(error):
                raise UnprovenServer(failure) from error
            raise
        socket: Any = getattr(connection, "socket", None)
        if hasattr(socket, "get_read_timeout") and hasattr(socket, "set_read_timeout"):
            asked = socket.get_read_timeout()
            socket.set_read_timeout(silence_seconds if asked is None else min(asked, silence_seconds))
        return connection

    pool.opener = open_bounded


def failed_handshake(error: BaseException | None) -> ssl.SSLError | None:
    """Find the failure of a TLS handshake among the causes of an error."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__
    return error


@contextmanager
def bound_answer(connected: neo4j.Session | neo4j.Transaction, seconds: float) -> Iterator[None]:
    """Give the server this many seconds to answer; the driver itself only bounds each silence."""
    socket: Any = getattr(getattr(connected, "_connection", None), "socket", None)
    if not (hasattr(socket, "get_read_deadline") and hasattr(socket, "set_read_deadline")):
        yield  # over HTTP, which has timeouts of its own
        return
    socket.set_read_deadline(seconds)
    own = socket.get_read_deadline()
    try:
        yield
    finally:
        if socket.get_read_deadline() is own:  # else another thread has the connection already, and its own deadline
            socket.set_read_deadline(None)


@contextmanager
def close_when_stopped(connected: neo4j.Session | neo4j.Transaction) -> Iterator[None]:
    """Close the connection at once when the user stops the program; its end would wait for what still runs there."""
    try:
        yield
    except KeyboardInterrupt:
        _kill(getattr(connected, "_connection", None))
        raise


@contextmanager
def hang_up_when_unwanted(connected: neo4j.Session | neo4j.Transaction) -> Iterator[None]:
    """End the connection at once when whoever asked for the block gives it up; that may be in another thread."""
    ended: list[Any] = []  # where it has failed, its session has given it back meanwhile

    def end() -> None:
        connection = getattr(connected, "_connection", None)
        ended.append(connection)
        _hang_up(connection)

    try:
        with ending_when_unwanted(end):
            yield
    finally:
        for connection in ended:
            _kill(connection)


def _hang_up(connection: Any) -> None:
    """Have the thread that waits for the server meet the end of the connection, which that thread itself closes.

    If another thread closed the socket, its number could be that of a new one while the first thread still reads it.
    """
    plain = getattr(getattr(connection, "socket", None), "_socket", None)
    if plain is None:  # over HTTP
        _kill(connection)
        return
    # No failure of the server, for which the driver would drop all its connections.
    connection._closing = True  # noqa: SLF001
    with suppress(OSError):
        socket.socket.shutdown(plain, socket.SHUT_RDWR)  # the shutdown of TLS itself would change what the reader reads


def _kill(connection: Any) -> None:
    kill = getattr(connection, "kill", None)
    if kill is not None:
        kill()


def pipeline_begin(session: neo4j.Session) -> AbstractContextManager[Any]:
    """Let a transaction begin together with its first query, as in the driver's own `execute_query`."""
    pipelined: AbstractContextManager[Any] = getattr(session, "_pipelined_begin", nullcontext())
    return pipelined


def connect(session: neo4j.Session, access: str) -> None:
    """Give a session its connection before its first query, so that the wait for the answer can be bounded."""
    if (open_connection := getattr(session, "_connect", None)) is not None:
        open_connection(access)


def entities_kept_by(result: neo4j.Result) -> list[dict[str, Any]]:
    """The nodes and the relationships of all rows that a result has read: it keeps them for its `graph`."""
    graph = getattr(getattr(getattr(result, "_hydration_scope", None), "_graph_hydrator", None), "graph", None)
    kept = (getattr(graph, name, None) for name in ("_nodes", "_relationships"))
    return [entities for entities in kept if entities is not None]
