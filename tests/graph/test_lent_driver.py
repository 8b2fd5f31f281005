"""A driver that the caller made: everything works through it as through an address, and it is left open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any

import neo4j
import openai
import pytest
from neo4j.auth_management import AuthManagers

from memorygraph import AsyncMemoryGraph, ConnectionError, MemoryGraph, MemoryGraphError, QueryError
from memorygraph.errors import LoginError
from memorygraph.graph.connection import Connection
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.shared_neo4j import Address, new_namespace
from tests.writers import lose_replies

PROGRAM = """
Node(node_id="ada", name="Ada Lovelace", data="She wrote the first program.");
Node(node_id="engine", name="Analytical Engine", data="A machine of brass.");
Edge(edge_id="e", from_node="ada", to_node="engine", verb="programmed", weight=0.9);
"""


@pytest.fixture
def lend(server: Address) -> Iterator[Callable[..., neo4j.Driver]]:
    """Makes a driver as a caller does; none but the test closes it."""
    uri, auth = server
    made: list[neo4j.Driver] = []

    def make(uri: str = uri, auth: Any = auth, **options: Any) -> neo4j.Driver:
        made.append(neo4j.GraphDatabase.driver(uri, auth=auth, **options))
        return made[-1]

    yield make
    for driver in made:
        driver.close()


def use_everything(graph: MemoryGraph) -> None:
    """Load, read, stream, recall, keep messages, record, export and undo."""
    assert graph.load(PROGRAM).nodes_created == 2
    assert graph.node("ada").name == "Ada Lovelace"
    assert graph.edge("e").verb == "programmed"
    assert [hit.id for hit in graph.search("brass")] == ["engine"]
    assert "engine" in {hit.id for hit in graph.recall("a machine of brass").hits}
    assert [row["n"] for row in graph.stream("UNWIND range(1, 1500) AS n RETURN n")] == list(range(1, 1501))
    with pytest.raises(QueryError):
        graph.query("RETURN nonsense")
    history = graph.messages("talk")
    history.extend([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi you"}])
    history[0]["content"] = "Hello"
    assert [message["content"] for message in graph.messages("talk")] == ["Hello", "Hi you"]
    assert len(history.versions()) == 2
    with ScriptedModel("An answer") as model:
        client = graph.record(openai.OpenAI(base_url=model.base_url, api_key="k"), conversation="recorded")
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
    assert [message["content"] for message in graph.messages("recorded")] == ["Hi", "An answer"]
    assert "Analytical Engine" in graph.export()
    graph.load('Node(node_id="ada", name="Ada");')
    assert graph.node("ada").name == "Ada"
    graph.undo(graph.revisions()[0].revision)
    assert graph.node("ada").name == "Ada Lovelace"


def is_open(driver: neo4j.Driver) -> bool:
    return len(driver.execute_query("RETURN 1 AS one").records) == 1


def test_everything_works_through_a_driver_with_default_settings_which_stays_open(
    lend: Callable[..., neo4j.Driver],
) -> None:
    driver = lend()
    with MemoryGraph.connect(driver=driver, namespace=new_namespace()) as graph:
        use_everything(graph)
    assert is_open(driver)


@pytest.mark.parametrize("way", ["auth object", "auth manager", "resolver"])
def test_the_login_and_the_resolver_of_a_driver_are_its_own(
    lend: Callable[..., neo4j.Driver], server: Address, way: str
) -> None:
    uri, auth = server
    given = neo4j.basic_auth(*auth) if auth else None
    place = neo4j.Address.parse(uri.partition("://")[2])
    driver = {
        "auth object": lambda: lend(auth=given),
        "auth manager": lambda: lend(auth=AuthManagers.static(given) if given else None),
        "resolver": lambda: lend("neo4j://memory.invalid:7687", auth=given, resolver=lambda _: [place]),
    }[way]()
    with MemoryGraph(driver, new_namespace(), database="neo4j") as graph:
        graph.load(PROGRAM)
        assert graph.node("ada").name == "Ada Lovelace"
    assert is_open(driver)


def test_a_driver_is_used_by_asyncio_and_stays_open(lend: Callable[..., neo4j.Driver]) -> None:
    driver = lend()

    async def use() -> None:
        async with await AsyncMemoryGraph.connect(driver=driver, namespace=new_namespace()) as graph:
            await graph.load(PROGRAM)
            found = await asyncio.gather(*(graph.node("ada") for _ in range(20)))
            assert {node.name for node in found} == {"Ada Lovelace"}
            assert [row["n"] async for row in graph.stream("UNWIND range(1, 1500) AS n RETURN n")][-1] == 1500
            assert "engine" in {hit.id for hit in (await graph.recall("a machine of brass")).hits}
            history = await graph.messages("talk")
            await asyncio.to_thread(history.append, {"role": "user", "content": "Hi"})
            assert len(await graph.conversations()) == 1
            await graph.undo((await graph.revisions())[0].revision)
            assert await graph.search("Ada") == []
        async with AsyncMemoryGraph(driver, new_namespace()) as other:
            assert await other.search("Ada") == []

    asyncio.run(use())
    assert is_open(driver)


def test_what_is_private_of_a_driver_is_left_as_the_caller_has_it(lend: Callable[..., neo4j.Driver]) -> None:
    driver: Any = lend()
    opener = driver._pool.opener
    with MemoryGraph(driver) as graph:
        graph.query("RETURN 1 AS one")
    assert driver._pool.opener is opener


def test_a_write_of_the_driver_itself_is_seen_at_once(lend: Callable[..., neo4j.Driver]) -> None:
    driver, namespace = lend(), new_namespace()
    with MemoryGraph(driver, namespace) as graph:
        graph.load(PROGRAM)
        driver.execute_query(
            "MATCH (n:Node {namespace: $namespace, id: 'ada'}) SET n.data = 'Hers'", namespace=namespace
        )
        assert graph.node("ada").data == "Hers"


def test_whoever_lends_a_driver_hears_nothing_of_our_queries(
    lend: Callable[..., neo4j.Driver], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "neo4j.notifications"), MemoryGraph(lend(), new_namespace()) as graph:
        graph.query("MATCH (n:NoSuchLabel) RETURN n.no_such_property, count(*)")
    assert not caplog.records


def test_a_write_that_was_committed_when_the_driver_was_closed_may_have_been_kept(
    lend: Callable[..., neo4j.Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = lend()
    graph = MemoryGraph(driver, new_namespace())
    lose_replies(monkeypatch, meanwhile=driver.close)
    with pytest.raises(ConnectionError, match=r"not known.*is closed") as caught:
        graph.load('Node(node_id="a", name="A", data="");')
    assert caught.value.outcome_unknown


def test_a_closed_driver_is_an_error_that_says_so(lend: Callable[..., neo4j.Driver]) -> None:
    driver = lend()
    graph = MemoryGraph(driver, new_namespace())
    driver.close()
    for use in (lambda: graph.load(PROGRAM), lambda: graph.node("ada"), lambda: MemoryGraph(driver)):
        with pytest.raises(ConnectionError, match="is closed, or the driver that it uses"):
            use()


def test_a_driver_with_one_connection_is_enough(lend: Callable[..., neo4j.Driver]) -> None:
    driver = lend(max_connection_pool_size=1, connection_acquisition_timeout=5)
    with MemoryGraph(driver, new_namespace()) as graph:
        graph.load(PROGRAM)
        assert "Analytical Engine" in graph.export()


def test_a_connection_that_was_closed_says_so(server: Address) -> None:
    with Connection(*server) as connection:
        graph = MemoryGraph(connection)
    with pytest.raises(ConnectionError, match="is closed, or the driver that it uses"):
        graph.node("ada")


def test_a_driver_without_a_server_or_the_right_login_is_an_error_and_stays_open(
    lend: Callable[..., neo4j.Driver], server: Address
) -> None:
    with pytest.raises(ConnectionError, match="Neo4j cannot be reached"):
        MemoryGraph(lend("bolt://127.0.0.1:1"))
    if server[1]:
        with pytest.raises(LoginError):
            MemoryGraph.connect(driver=lend(auth=("neo4j", "wrong")))


def test_a_driver_of_asyncio_is_refused_with_the_one_to_use() -> None:
    async def use() -> None:
        async with neo4j.AsyncGraphDatabase.driver("bolt://127.0.0.1:1") as driver:
            wrong: Any = driver
            await AsyncMemoryGraph.connect(driver=wrong)

    with pytest.raises(ConnectionError, match=r"neo4j\.GraphDatabase\.driver makes.*Driver; calls of AsyncMemoryGraph"):
        asyncio.run(use())


def test_a_driver_comes_without_an_address_of_its_own(
    lend: Callable[..., neo4j.Driver], connection: Connection
) -> None:
    with pytest.raises(MemoryGraphError, match="give it without `uri`"):
        MemoryGraph.connect("bolt://127.0.0.1:7687", driver=lend())
    with pytest.raises(MemoryGraphError, match="a connection is one to a database already"):
        MemoryGraph(connection, database="neo4j")
