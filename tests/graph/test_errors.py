"""The one place that translates the driver's errors knows all of them."""

from __future__ import annotations

import gc
import inspect
import re

import neo4j
import pytest
from neo4j import exceptions

from memorygraph.errors import ConflictError, ConnectionError, LoginError, MemoryGraphError, QueryError
from memorygraph.graph.connection import Connection, UnencryptedWarning
from memorygraph.graph.driver_errors import translate
from memorygraph.query import Query
from tests.shared_neo4j import Address

_CLASSES = [
    member
    for _, member in inspect.getmembers(exceptions, inspect.isclass)
    if issubclass(member, (exceptions.Neo4jError, exceptions.DriverError))
]


@pytest.mark.parametrize("kind", _CLASSES)
def test_every_error_of_the_driver_has_a_translation(kind: type[Exception]) -> None:
    translated = translate(kind.__new__(kind))
    assert (
        type(translated) is not MemoryGraphError
        or kind
        in {
            exceptions.Neo4jError,
            exceptions.DatabaseError,
            exceptions.DriverError,
        }
        or issubclass(kind, exceptions.DriverError)
    )


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        (exceptions.ServiceUnavailable, ConnectionError),
        (exceptions.AuthError, LoginError),
        (exceptions.ConstraintError, ConflictError),
        (exceptions.CypherSyntaxError, QueryError),
        (exceptions.TransientError, ConflictError),
    ],
)
def test_the_kinds_that_users_act_on_are_told_apart(kind: type[Exception], ours: type[MemoryGraphError]) -> None:
    assert type(translate(kind("it"))) is ours


def test_what_the_driver_itself_says_is_shown() -> None:
    for kind in (exceptions.ConfigurationError, exceptions.AuthError, exceptions.ConnectionAcquisitionTimeoutError):
        assert str(translate(kind("in its own words"))).endswith(" (in its own words)")


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_login_that_is_no_pair_is_said(server: Address) -> None:
    with pytest.raises(ConnectionError, match=r"given with it.*auth"):
        Connection(server[0], "neo4j")  # type: ignore[arg-type]
    gc.collect()  # the driver looks at the login when it has connected, and leaves that socket behind


def test_connections_that_are_all_taken_are_said_with_what_frees_them(server: Address) -> None:
    with Connection(*server, max_connection_pool_size=1, connection_acquisition_timeout=0.1) as connection:
        rows = connection.stream(Query("UNWIND range(1, 5000) AS n RETURN n"))
        next(rows)
        for read in (connection.read, lambda query: list(connection.stream(query))):
            with pytest.raises(ConnectionError, match=r"all connections .* taken.*close it.*0\.1s"):
                read(Query("RETURN 1 AS one"))
        rows.close()
        assert connection.read(Query("RETURN 1 AS one")) == [{"one": 1}]


@pytest.mark.parametrize("is_lent", [False, True])
def test_a_stream_that_is_read_on_after_its_connection_was_closed_says_so(server: Address, *, is_lent: bool) -> None:
    uri, auth = server
    with neo4j.GraphDatabase.driver(uri, auth=auth) as driver:
        connection = Connection(driver) if is_lent else Connection(uri, auth)
        rows = connection.stream(Query("UNWIND range(1, 5000) AS n RETURN n"))
        next(rows)
        (driver if is_lent else connection).close()
        with pytest.raises(ConnectionError, match="the connection to Neo4j is closed"):
            list(rows)


def test_a_database_that_is_not_there_is_said_with_what_to_check(connection: Connection) -> None:
    with pytest.raises(QueryError, match=r"no such database; .* NEO4J_DATABASE.*nope"):
        connection.read(Query("USE nope MATCH (n) RETURN n"))


@pytest.mark.parametrize("uri", ["bolt://127.0.0.1:1", "nonsense://x", "", "bolt+s://no-such-host.invalid:7687"])
def test_an_unreachable_server_is_a_connection_error_that_says_what_to_do(uri: str) -> None:
    with pytest.raises(ConnectionError, match=r"doctor|address|cannot be"):
        Connection(uri, ("neo4j", "x"))


@pytest.mark.parametrize(("scheme", "better"), [("bolt", "bolt+s"), ("neo4j", "neo4j+s")])
def test_a_login_that_others_can_read_on_the_way_to_another_machine_is_warned_about(scheme: str, better: str) -> None:
    warned = pytest.warns(UnencryptedWarning, match=rf"no-such-host\.invalid.*{re.escape(better)}://")
    with warned, pytest.raises(ConnectionError):
        Connection(f"{scheme}://no-such-host.invalid:7687", ("neo4j", "x"))
