"""Whose error it is: the network's, the query's, or that of the work that ran in the transaction."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memorygraph import MemoryGraph
from memorygraph.errors import QueryError
from memorygraph.graph.connection import Connection, Transaction
from memorygraph.query import Query


@pytest.mark.parametrize("error", [ValueError("not a number"), FileNotFoundError("no such file")])
def test_an_error_of_a_unit_of_work_reaches_its_caller_as_it_is(connection: Connection, error: Exception) -> None:
    def work(transaction: Transaction) -> None:
        transaction.run(Query("RETURN 1 AS one", {}))
        raise error

    for run in (connection.read_with, connection.write):
        with pytest.raises(type(error)) as caught:
            run(work)
        assert caught.value is error


def test_a_result_that_nobody_has_read_fails_by_its_own_error(connection: Connection) -> None:
    def work(transaction: Transaction) -> None:
        next(transaction.run_each([Query("RETURN 1 AS one", {}), Query("RETURN 1 / 0 AS none", {})]))

    for run in (connection.read_with, connection.write):
        with pytest.raises(QueryError, match="/ by zero"):
            run(work)


def test_ctrl_c_is_not_lost_in_a_result_that_has_failed(connection: Connection) -> None:
    def work(transaction: Transaction) -> None:
        next(transaction.run_each([Query("RETURN 1 AS one", {}), Query("RETURN 1 / 0 AS none", {})]))
        raise KeyboardInterrupt

    for run in (connection.read_with, connection.write):
        with pytest.raises(KeyboardInterrupt):
            run(work)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("\ud800", "^the query or a parameter .*: U.D800 is half a character$"),
        (2**63, "^a parameter .*: an integer has at most 64 bits$"),
        (object(), "^a parameter .*object"),
        ({"a": {1, 2}}, "^a parameter "),
        ({1: "a"}, "^a parameter "),
    ],
    ids=lambda value: type(value).__name__ + str(len(repr(value))),
)
def test_a_value_that_neo4j_cannot_hold_is_an_error_of_the_query(connection: Connection, value: Any, why: str) -> None:
    query = Query("RETURN $value AS value", {"value": value})
    for run in (connection.read, connection.plan):
        with pytest.raises(QueryError, match="has a value that Neo4j cannot hold") as refused:
            run(query)
        assert re.match(why, str(refused.value))
    assert connection.read(Query("RETURN 1 AS one", {})) == [{"one": 1}]


def test_a_query_that_is_not_utf_8_is_said_to_be_so(connection: Connection) -> None:
    with pytest.raises(QueryError, match=r"^the query or a parameter .*: U\+DCFF is half a character$"):
        connection.read(Query("RETURN '\udcff' AS s", {}))


def test_a_query_with_transactions_of_its_own_is_refused_with_what_to_do(connection: Connection) -> None:
    query = Query("CALL { CREATE (:Tmp) } IN TRANSACTIONS", {})
    with pytest.raises(QueryError, match=r"leave out IN TRANSACTIONS .*implicit transaction"):
        connection.write(lambda transaction: transaction.run(query))


@pytest.mark.usefixtures("environment")
def test_a_variable_that_is_empty_names_no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a desktop client sets it where its user has named none; the driver takes an empty name for one."""
    monkeypatch.setenv("NEO4J_DATABASE", "")
    with MemoryGraph.connect() as graph:
        assert graph.connection.database is None
