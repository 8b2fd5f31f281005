"""The private parts of the driver that are used, and what happens without them. Seen in neo4j 6.4.1."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import neo4j
import pytest

from memorygraph.graph import driver_internals
from memorygraph.graph.connection import Connection
from memorygraph.limits import Cancelled, RunBudget
from memorygraph.query import Query

ONE = Query("RETURN 1 AS one")
BARE = cast(Any, SimpleNamespace())
"""A session, a transaction or a driver without any of the private parts."""


def driver_of(connection: Connection) -> neo4j.Driver:
    return connection._driver


def test_a_driver_has_a_pool_that_opens_connections(connection: Connection) -> None:
    """Seen in neo4j 6.4.1."""
    pool = cast(Any, driver_of(connection))._pool
    assert pool.opener.__name__ == "open_bounded"


def test_the_silence_of_a_server_is_bounded(connection: Connection) -> None:
    """Seen in neo4j 6.4.1: the socket of a connection has a read timeout."""
    with driver_of(connection).session() as session, session.begin_transaction() as transaction:
        socket = cast(Any, transaction)._connection.socket
        assert 0 < socket.get_read_timeout() <= 75.0


def test_a_driver_without_a_pool_is_left_as_it_is() -> None:
    driver_internals.bound_connections(BARE, 1.0, 1.0)
    driver_internals.bound_connections(cast(Any, SimpleNamespace(_pool=SimpleNamespace())), 1.0, 1.0)
    assert SimpleNamespace() == BARE


def test_a_connection_without_a_socket_is_opened_as_it_is() -> None:
    driver = cast(Any, SimpleNamespace(_pool=SimpleNamespace(opener=lambda *arguments: arguments)))
    driver_internals.bound_connections(driver, 15.0, 75.0)
    assert driver._pool.opener("address", None, 60.0) == ("address", None, 15.0)
    assert driver._pool.opener("address", None, 5.0) == ("address", None, 5.0)


def test_the_answer_of_a_server_is_bounded(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen in neo4j 6.4.1: the socket of a connection has a read deadline."""
    given: list[float | None] = []
    with driver_of(connection).session() as session, session.begin_transaction() as transaction:
        socket = cast(Any, transaction)._connection.socket
        monkeypatch.setattr(type(socket), "set_read_deadline", lambda _, seconds: given.append(seconds))
        with driver_internals.bound_answer(transaction, 7.0):
            assert given == [7.0]
    assert given[:2] == [7.0, None]


def test_an_answer_is_awaited_without_a_bound_where_there_is_no_socket() -> None:
    with driver_internals.bound_answer(BARE, 1.0):
        pass
    with driver_internals.bound_answer(cast(Any, SimpleNamespace(_connection=SimpleNamespace())), 1.0):
        pass


def test_a_transaction_begins_with_its_first_query(connection: Connection) -> None:
    """Seen in neo4j 6.4.1: a session has a switch for it."""
    with driver_of(connection).session() as session:
        pipelined = cast(Any, session)._pipelined_begin
        assert driver_internals.pipeline_begin(session) is pipelined
        assert not pipelined
        with driver_internals.pipeline_begin(session):
            assert pipelined


def test_a_transaction_begins_by_itself_where_there_is_no_switch() -> None:
    with driver_internals.pipeline_begin(BARE):
        pass


def test_a_session_is_connected_before_its_first_query(connection: Connection) -> None:
    """Seen in neo4j 6.4.1."""
    with driver_of(connection).session() as session:
        driver_internals.connect(session, neo4j.READ_ACCESS)
        assert cast(Any, session)._connection is not None
    driver_internals.connect(BARE, neo4j.READ_ACCESS)


def test_a_connection_whose_answer_is_wanted_no_more_is_closed_and_others_are_kept(connection: Connection) -> None:
    """Seen in neo4j 6.4.1: the socket of a connection has the one of Python, and closing is no failure."""
    budget = RunBudget()

    def ask(session: neo4j.Session) -> None:
        with budget.active(), driver_internals.hang_up_when_unwanted(session):
            budget.cancel("over")
            session.run("RETURN 1").consume()

    with driver_of(connection).session() as other, driver_of(connection).session() as session:
        for one in (other, session):
            driver_internals.connect(one, neo4j.READ_ACCESS)
        kept, closed = cast(Any, other)._connection, cast(Any, session)._connection
        with pytest.raises(Cancelled, match="over"):
            ask(session)
        assert (kept.closed(), closed.closed()) == (False, True)


def test_a_connection_without_a_socket_is_closed_where_its_answer_is_wanted_no_more() -> None:
    killed: list[bool] = []
    over_http = cast(Any, SimpleNamespace(_connection=SimpleNamespace(kill=lambda: killed.append(True))))
    for connected in (over_http, BARE):
        budget = RunBudget()
        with budget.active(), driver_internals.hang_up_when_unwanted(connected):
            budget.cancel("over")
    assert killed


def test_a_result_keeps_the_nodes_and_the_relationships_of_its_rows(connection: Connection) -> None:
    """Seen in neo4j 6.4.1."""
    with driver_of(connection).session() as session, session.begin_transaction() as transaction:
        result = transaction.run("CREATE (a:Kept)-[r:TO]->(:Kept) RETURN a, r, 1 AS one")
        result.single()
        assert [len(entities) for entities in driver_internals.entities_kept_by(result)] == [2, 1]
        transaction.rollback()
    assert driver_internals.entities_kept_by(BARE) == []


def test_reads_and_writes_need_none_of_it(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = ("bound_answer", "close_when_stopped", "hang_up_when_unwanted")
    for name in (*bounds, "pipeline_begin", "connect", "entities_kept_by"):
        function = getattr(driver_internals, name)
        monkeypatch.setattr(f"memorygraph.graph.connection.{name}", lambda _, *given, do=function: do(BARE, *given))
    assert connection.read(ONE) == [{"one": 1}]
    assert list(connection.stream(ONE)) == [{"one": 1}]
    assert connection.read_with(lambda transaction: transaction.run(ONE)) == [{"one": 1}]
    assert connection.write(lambda transaction: transaction.run(ONE)) == [{"one": 1}]
