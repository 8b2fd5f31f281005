"""The schema: that an index which keeps searches from finding anything is said, with what to do."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from memorygraph.errors import QueryError
from memorygraph.graph.connection import Connection
from memorygraph.graph.migrations import DATA_MIGRATIONS
from memorygraph.graph.schema import NewerSchemaWarning, SearchIndex, apply_schema, index_problems, steps_of
from memorygraph.library import CYPHER, Library
from memorygraph.query import Query


@pytest.fixture
def name(connection: Connection) -> Iterator[str]:
    """A label, and the beginning of the names of indexes, which are dropped afterwards."""
    name = f"Test{uuid.uuid4().hex}"
    yield name
    for row in connection.read(CYPHER["schema/search-indexes"]()):
        if row["name"].startswith(name):
            connection.define(Query(f"DROP INDEX {row['name']}"))


def fulltext(name: str, label: str, analyzer: str = "english", properties: str = "n.text, n.token") -> Query:
    options = f"{{indexConfig: {{`fulltext.analyzer`: '{analyzer}', `fulltext.eventually_consistent`: true}}}}"
    return Query(
        f"CREATE FULLTEXT INDEX {name} IF NOT EXISTS\nFOR (n:{label}) ON EACH [{properties}]\nOPTIONS {options}"
    )


def vector(name: str, label: str, similarity: str) -> Query:
    options = f"{{indexConfig: {{`vector.similarity_function`: '{similarity}'}}}}"
    return Query(
        f"CYPHER 25\nCREATE VECTOR INDEX {name} IF NOT EXISTS\nFOR (n:{label}|Other{label}) ON n.vector\n"
        f"WITH [n.token]\nOPTIONS {options}"
    )


def test_the_indexes_of_the_schema_are_as_it_wants_them(connection: Connection) -> None:
    names = {row["name"] for row in connection.read(CYPHER["schema/search-indexes"]())}
    assert names >= {"node_text", "entity_text", "message_text", "recall_vectors"}
    assert index_problems(connection) == []


def test_every_search_index_of_the_schema_is_checked() -> None:
    commands = [(file, command.text) for file, commands in CYPHER.migrations() for command in commands]
    searches = [found[1] for _, text in commands if (found := re.search(r"(?:FULLTEXT|VECTOR) INDEX (\w+)", text))]
    checked = [index for file, text in commands if (index := SearchIndex.of(file, text)) is not None]
    assert [index.name for index in checked] == searches
    assert all(index.properties and index.options for index in checked)


def test_who_opens_a_database_that_a_later_version_has_used_is_told(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = CYPHER.migrations()
    monkeypatch.setattr(Library, "migrations", lambda _library: known[:-1])
    with pytest.warns(NewerSchemaWarning, match=f"with the schema {known[-1][0]}.*: update this one"):
        assert apply_schema(connection) == []


def test_an_index_with_another_analyzer_or_similarity_is_said(connection: Connection, name: str) -> None:
    wanted = [("0099_test", [fulltext(f"{name}_a", name), vector(f"{name}_b", name, "cosine")])]
    advice = "DELETE migration;` in Neo4j, and try again"
    missing = index_problems(connection, wanted)
    assert [problem.partition(":")[0] for problem in missing] == [
        f"the index {name}_a is missing",
        f"the index {name}_b is missing",
    ]
    connection.define(fulltext(f"{name}_a", name, "standard"))
    connection.define(vector(f"{name}_b", name, "euclidean"))
    for command in wanted[0][1]:
        connection.define(command)  # it does nothing, and says nothing
    again = f"MATCH (migration:Migration {{name: '0099_test'}}) {advice}"
    assert index_problems(connection, wanted) == [
        f"the index {name}_a has 'standard' as fulltext.analyzer, and needs 'english': "
        f"run `DROP INDEX {name}_a; {again}",
        f"the index {name}_b has 'EUCLIDEAN' as vector.similarity_function, and needs 'cosine': "
        f"run `DROP INDEX {name}_b; {again}",
    ]
    for letter in "ab":
        connection.define(Query(f"DROP INDEX {name}_{letter}"))
    for command in wanted[0][1]:
        connection.define(command)
    assert index_problems(connection, wanted) == []


def test_an_index_of_another_name_in_its_place_is_said(connection: Connection, name: str) -> None:
    wanted = [("0099_test", [fulltext(f"{name}_a", name)])]
    connection.define(fulltext(f"{name}_older", name))
    connection.define(wanted[0][1][0])
    [problem] = index_problems(connection, wanted)
    assert problem.startswith(f"the index {name}_older stands where {name}_a belongs: run `DROP INDEX {name}_older;")


def test_an_index_of_its_name_on_other_properties_is_said(connection: Connection, name: str) -> None:
    connection.define(fulltext(f"{name}_a", name, properties="n.text"))
    [problem] = index_problems(connection, [("0099_test", [fulltext(f"{name}_a", name)])])
    assert problem.startswith(f"the index {name}_a is one of other labels or properties: run `DROP INDEX {name}_a;")


def test_an_index_is_wanted_as_the_last_file_that_creates_it_says(connection: Connection, name: str) -> None:
    wanted = [("0098_test", [fulltext(name, name, "standard")]), ("0099_test", [fulltext(name, name)])]
    connection.define(wanted[1][1][0])
    assert index_problems(connection, wanted) == []


def test_clients_that_define_the_same_at_the_same_moment_all_succeed(connection: Connection, name: str) -> None:
    for number in range(5):
        commands = [fulltext(f"{name}_{number}", f"{name}{number}")] * 8
        with ThreadPoolExecutor(8) as clients:
            list(clients.map(connection.define, commands))
    found = {row["name"] for row in connection.read(CYPHER["schema/search-indexes"]())}
    assert {f"{name}_{number}" for number in range(5)} <= found


def test_clients_that_define_the_same_commands_in_one_transaction_all_succeed(
    connection: Connection, name: str
) -> None:
    commands = [fulltext(f"{name}_{letter}", f"{name}{letter}") for letter in "abc"]
    with ThreadPoolExecutor(8) as clients:
        list(clients.map(lambda given: connection.define(*given), [commands] * 8))
    found = {row["name"] for row in connection.read(CYPHER["schema/search-indexes"]())}
    assert {f"{name}_{letter}" for letter in "abc"} <= found


def test_commands_that_cannot_share_a_transaction_run_one_by_one(connection: Connection, name: str) -> None:
    taken = fulltext(f"{name}_a", name)
    connection.define(taken)
    # Of another name on the same properties: Neo4j refuses it, as it does what another client has just created.
    refused = Query(taken.text.replace(f"{name}_a IF NOT EXISTS", f"{name}_b"))
    connection.define(refused, fulltext(f"{name}_c", f"{name}c"))
    found = {row["name"] for row in connection.read(CYPHER["schema/search-indexes"]())}
    assert {each for each in found if each.startswith(name)} == {f"{name}_a", f"{name}_c"}
    with pytest.raises(QueryError):
        connection.define(Query("CREATE NOTHING"), fulltext(f"{name}_d", f"{name}d"))


def test_a_step_of_the_schema_ends_with_what_changes_data() -> None:
    migrations = CYPHER.migrations()
    steps = steps_of(migrations, ends=DATA_MIGRATIONS)
    assert [migration for step in steps for migration in step] == migrations
    assert [step[-1][0] for step in steps] == sorted({*DATA_MIGRATIONS, migrations[-1][0]})
    assert steps_of(migrations, ends=()) == [migrations]
    assert steps_of([], ends=()) == []
