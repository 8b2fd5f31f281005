"""Reading the graph: search never fails, neighbours are breadth first, exports load back, asyncio is the same."""

from __future__ import annotations

import asyncio
import io
import json
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from pathlib import Path
from threading import Event
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from neo4j.spatial import CartesianPoint
from neo4j.time import Duration

from memorygraph import AsyncMemoryGraph, ConnectionError, MemoryGraph, MemoryGraphError, NotFoundError, QueryError
from memorygraph.graph.connection import Connection
from memorygraph.memory.entities import Entities
from memorygraph.memory.values import Entity, Relation
from tests.conftest import EXAMPLES
from tests.examples import examples
from tests.graph.measuring import peak_memory
from tests.shared_neo4j import new_namespace

HARD_SEARCHES = [
    "C++", "a/b", "/b x", "foo AND", "AND", "NOT", "OR OR", '"', "'", "(", ")", "[", "{", "\\", "^2", "~", "*", "?",
    "name:ada", "+", "-", "&&", "||", "!", "", "   ", "\n", "\x00", "the", "++", "日本語", "\U0001f600", "\u202e",
    "tea \ud83d", "word " * 1100, "x" * 50_000, "a:b:c", "namespace_token:1", "data:*", "[1 TO 2]", "\\u0041",
]  # fmt: skip


@pytest.fixture(scope="module")
def apollo(connection: Connection) -> Iterator[MemoryGraph]:
    """The example program, loaded once."""
    graph = MemoryGraph(connection, new_namespace())
    graph.load((EXAMPLES / "apollo11.ctx").read_text("utf-8"))
    graph.load('Node(node_id="cpp", name="C++", data="a language");Node(node_id="jp", name="日本語", data="言語");')
    yield graph
    graph.drop_namespace(graph.namespace)


@pytest.mark.parametrize("text", HARD_SEARCHES, ids=lambda text: repr(text[:12]))
def test_any_text_is_a_valid_search(apollo: MemoryGraph, text: str) -> None:
    assert isinstance(apollo.search(text), list)
    assert isinstance(apollo.search(text * 100, fuzzy=True), list)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), max_size=30))
def test_so_is_any_unicode(apollo: MemoryGraph, text: str) -> None:
    assert isinstance(apollo.search(text), list)
    assert isinstance(apollo.search(text, fuzzy=True), list)
    assert isinstance(apollo.suggest(text), list)


@pytest.mark.parametrize(
    ("text", "best"),
    [("C++", "cpp"), ("日本", "jp"), ("seamstress", "suit"), ("KATHERINE", "johnson"), ("rocket: 110 m", "saturn-v")],
)
def test_search_finds_what_was_meant(apollo: MemoryGraph, text: str, best: str) -> None:
    hit = apollo.search(text)[0]
    assert (hit.id, hit.source, hit.node.id) == (best, "fulltext", best)
    assert hit.score > 0


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("Armstong", ["Neil Armstrong"]),
        ("who is ALDREN", ["Buzz Aldrin"]),
        ("guidence computre", ["Apollo Guidance Computer"]),
        ("Armstrong", []),  # nothing is misspelt
        ("Nel", []),  # a word of three letters has too many like it
        ("rmstrg", []),
        ("", []),
    ],
)
def test_a_word_that_no_node_has_suggests_names_spelled_almost_like_it(
    apollo: MemoryGraph, misspelt: str, meant: list[str]
) -> None:
    assert apollo.suggest(misspelt) == meant
    assert {hit.node.name for hit in apollo.search(misspelt, fuzzy=True)} >= {*meant}


@pytest.mark.parametrize("misspelt", ["Lovlace", "Lovelase", "Hanry", "Jomes"])
def test_a_misspelt_name_is_compared_with_the_stems_of_the_index(graph: MemoryGraph, misspelt: str) -> None:
    graph.load('Node(node_id="ada", name="Lovelace", data="");Node(node_id="henry", name="Henry James", data="");')
    assert graph.suggest(misspelt) == ["Lovelace" if misspelt.startswith("L") else "Henry James"]


def test_a_fuzzy_search_finds_words_of_the_data_and_nothing_of_another_namespace(
    apollo: MemoryGraph, graph: MemoryGraph
) -> None:
    assert [hit.id for hit in apollo.search("wovan", fuzzy=True)] == ["agc"]
    assert apollo.search("wovan") == graph.search("Armstong", fuzzy=True) == []
    assert apollo.suggest("wovan") == graph.suggest("Armstong") == []


@pytest.mark.parametrize("limit", [1, 10, 1001, 2**63 - 1])
def test_a_search_finds_the_best_of_many_nodes_with_its_words(graph: MemoryGraph, limit: int) -> None:
    graph.load("".join(f'Node(node_id="n{i}", name="Tea {i}", data="green tea");' for i in range(300)))
    graph.load('Node(node_id="best", name="Green tea of the year", data="green tea");')
    found = [hit.id for hit in graph.search("green tea year", limit=limit)]
    assert found[0] == "best"
    assert len(found) == min(limit, 301)


def test_a_search_says_whose_an_observation_is(graph: MemoryGraph) -> None:
    tea, ada = (
        Entity(name="Tea", entity_type="drink"),
        Entity(name="Ada", entity_type="person", observations=["likes tea"]),
    )
    graph.entities.create([tea, ada])
    graph.load('Node(node_id="nameless", name="", data="");Node(node_id="both", name="", data="green tea");')
    for owner in ("Ada", "nameless"):
        graph.load(f'Edge(edge_id="of-{owner}", from_node="{owner}", to_node="both", verb="observed", weight=1);')
    found = {hit.node.data or hit.node.name: hit for hit in graph.search("tea")}
    assert {text: set(hit.about) for text, hit in found.items()} == {
        "likes tea": {"Ada"},
        "green tea": {"Ada", "nameless"},
        "Tea": set(),
    }
    assert found["likes tea"].as_dict()["about"] == ("Ada",)
    assert "about" not in found["Tea"].as_dict()


@pytest.mark.parametrize("text", ["", "  ", "++", "the", "of the and", "zebra"])
def test_what_has_no_word_to_find_finds_nothing(apollo: MemoryGraph, text: str) -> None:
    assert apollo.search(text) == []


def test_the_text_of_a_near_node_is_read_once_however_many_edges_lead_to_it(graph: MemoryGraph) -> None:
    near = "".join(
        f'Node(node_id="n{i}", name="", data="");'
        f'Edge(edge_id="x{i}", from_node="x", to_node="n{i}", verb="v", weight=1);'
        f'Edge(edge_id="h{i}", from_node="n{i}", to_node="h", verb="v", weight=1);'
        for i in range(20)
    )
    graph.load(f'Node(node_id="x", name="", data="");Node(node_id="h", name="", data="{"long " * 1000}");{near}')
    for rows in (
        graph.scope.read("read/edges-within-two", id="x"),
        graph.scope.read("read/edges-of-nodes", ids=["n1", "n2"]),
    ):
        assert [row["other_id"] for row in rows].count("h") == 1
    hub = graph.neighbours("x", depth=2)[-1]
    assert (hub.id, len(hub.edges)) == ("h", 20)


@pytest.mark.parametrize("limit", ["3", 2.5, None])
def test_a_limit_that_is_no_whole_number_is_a_type_error(apollo: MemoryGraph, limit: Any) -> None:
    for read in (apollo.ids, apollo.revisions, apollo.runs, apollo.conversations, apollo.duplicates):
        with pytest.raises(TypeError, match=f"'{type(limit).__name__}' object"):
            read(limit=limit)


def test_neighbours_are_nearest_first_and_each_is_there_once(apollo: MemoryGraph) -> None:
    found = apollo.neighbours("hamilton", depth=3)
    assert [n.distance for n in found] == sorted(n.distance for n in found)
    assert len({n.id for n in found}) == len(found)
    assert [(n.id, n.distance) for n in found[:1]] == [("agc", 1)]
    assert "hamilton" not in {n.id for n in found}
    assert {edge.id for n in found if n.id == "eagle" for edge in n.edges} == {"e19"}
    assert {n.id for n in apollo.neighbours("hamilton", depth=1)} == {"agc"}


def test_what_is_not_there_is_said(apollo: MemoryGraph) -> None:
    for read in (apollo.node, apollo.edge, apollo.element, apollo.neighbours, apollo.delete):
        with pytest.raises(NotFoundError, match="ghost"):
            read("ghost")
    with pytest.raises(NotFoundError):
        apollo.node("e01")
    with pytest.raises(MemoryGraphError):
        apollo.neighbours("agc", depth=0)


def test_every_format_holds_every_property(apollo: MemoryGraph) -> None:
    lines = [json.loads(line) for line in apollo.export("jsonl").splitlines()]
    agc = next(line for line in lines if line["id"] == "agc")
    assert agc == {"type": "node", **apollo.node("agc").as_dict()}
    root = ElementTree.fromstring(apollo.export("graphml"))
    weights = {
        edge.get("id"): edge.findtext("{*}data[@key='weight']")
        for edge in root.iter("{http://graphml.graphdrawing.org/xmlns}edge")
    }
    assert weights["e02"] == "0.8"
    with pytest.raises(NotFoundError, match="jsonl"):
        apollo.export("yaml")


def test_an_export_says_what_contextscript_cannot_say_and_which_format_can(graph: MemoryGraph) -> None:
    people = [
        Entity(name="Ada", entity_type="person", observations=[]),
        Entity(name="ACME", entity_type="firm", observations=[]),
    ]
    Entities(graph.scope).create(people)
    relation = Relation(source="Ada", target="ACME", relation_type="works at")
    Entities(graph.scope).relate([relation])
    left_out = graph.export_to(text := io.StringIO())
    assert left_out.lines() == [
        "edges whose verb is none of ContextScript: 1 "
        f"(`{graph.query('MATCH ()-[e:EDGE {namespace: $namespace}]->() RETURN e.id AS id')[0]['id']} (works at)`)",
        "types of entities: 2 (`ACME`, `Ada`)",
    ]
    assert text.getvalue().count("Node(") == 2
    lines = [json.loads(line) for line in graph.export("jsonl").splitlines()]
    assert [line["verb"] for line in lines if line["type"] == "edge"] == ["works at"]


@pytest.mark.parametrize("form", ["contextscript", "jsonl", "graphml"])
def test_an_export_counts_what_has_an_id_that_is_no_text(graph: MemoryGraph, form: str) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    create = (
        "MATCH (a:Node {namespace: $namespace, id: 'a'}) CREATE (a)-[:EDGE {namespace: $namespace, id: ''}]->(a) "
        "CREATE (:Node {namespace: $namespace, id: 7, name: '', data: ''})"
    )
    graph.query(create, write=True)
    assert graph.export_to(io.StringIO(), form).lines() == [
        "nodes whose id is no text, or an empty one: 1 (`7`)",
        "edges whose id is no text, or an empty one: 1 (``)",
    ]


@pytest.mark.slow
def test_a_stream_holds_no_more_than_a_page_of_its_rows(apollo: MemoryGraph) -> None:
    cypher = "UNWIND range(1, $last) AS number RETURN number, $text + number AS text"
    rows = apollo.stream(cypher, {"last": 20_000, "text": "x" * 1000})
    assert next(rows) == {"number": 1, "text": "x" * 1000 + "1"}
    assert peak_memory(lambda: sum(len(row["text"]) for row in rows)) < 8 * 2**20  # all of them are over 20 MB


@pytest.mark.slow
@pytest.mark.parametrize("value", ["a", "r", "p"])
def test_a_stream_holds_no_more_than_a_page_of_its_nodes_and_relationships(graph: MemoryGraph, value: str) -> None:
    create = "UNWIND range(1, 8000) AS i CREATE (:Thing {namespace: $namespace, text: $text + i})-[:TO {text: $text}]->"
    graph.query(create + "(:Thing {namespace: $namespace})", {"text": "x" * 2000}, write=True)
    rows = graph.stream(f"MATCH p = (a:Thing {{namespace: $namespace}})-[r:TO]->() RETURN {value} AS value")
    assert "x" * 2000 in str(next(rows))
    assert peak_memory(lambda: sum(1 for _ in rows)) < 10 * 2**20  # all of them are over 16 MB
    graph.query("MATCH (a:Thing {namespace: $namespace}) DETACH DELETE a", write=True)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["contextscript", "jsonl", "graphml", "bundle"])
def test_an_export_holds_no_more_than_a_page_of_its_elements(graph: MemoryGraph, tmp_path: Path, form: str) -> None:
    data = "x" * 10_000
    graph.load("".join(f'Node(node_id="n{i}", name="", data="{data}");' for i in range(3000)))
    with (tmp_path / "export").open("w") as file:
        assert peak_memory(lambda: graph.export_to(file, form)) < 20 * 2**20
    assert (tmp_path / "export").stat().st_size > 30 * 10**6
    assert (tmp_path / "export").read_text() == graph.export(form)


BROKEN = """
UNWIND range(1, 15000) AS i
CREATE (a:Node {namespace: $namespace, id: $text + 'a' + i, name: i, data: ''})
CREATE (b:Node {namespace: $namespace, id: $text + 'b' + i, name: '', data: ''})
CREATE (a)-[:EDGE {namespace: $namespace, id: $text + i, verb: 'likes', weight: 0.5}]->(b)
CREATE (b)-[:EDGE {namespace: $namespace, id: b.id, verb: 'likes', weight: 0.5}]->(b)
"""


@pytest.mark.slow
def test_an_export_holds_no_list_of_what_no_script_can_say(graph: MemoryGraph, tmp_path: Path) -> None:
    graph.query(BROKEN, {"text": "x" * 200}, write=True)
    with (tmp_path / "export").open("w") as file:
        assert peak_memory(lambda: graph.export_to(file)) < 5 * 2**20  # the ids of either kind are over 3 MB
    with (tmp_path / "export").open("w") as file:
        losses = {what: lost["count"] for what, lost in graph.export_to(file).as_dict().items()}
    assert losses == {
        "nodes whose name is none of ContextScript": 15_000,
        "edges at nodes that are left out": 15_000,
        "edges with the id of a node": 15_000,
    }


def test_a_stream_reads_only_and_within_its_time(apollo: MemoryGraph) -> None:
    with pytest.raises(QueryError, match="writes"):
        next(apollo.stream("CREATE (n:Nothing) RETURN n"))
    slow = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN sum(a * b) AS sum"
    with pytest.raises(
        QueryError, match=r"terminated.*; --seconds gives reading more time \(in Python: seconds= of `stream`\)"
    ):
        next(apollo.stream(slow, seconds=0.5))


def test_asyncio_has_the_same_methods(apollo: MemoryGraph) -> None:
    async def read() -> tuple[str, int, int]:
        graph = AsyncMemoryGraph(apollo)
        node, hits = await asyncio.gather(graph.node("agc"), graph.search("moon"))
        numbers = [row["n"] async for row in graph.stream("UNWIND range(1, 2500) AS n RETURN n")]
        return node.name, len(hits), sum(numbers)

    name, hits, total = asyncio.run(read())
    assert total == 2500 * 2501 / 2
    assert name == "Apollo Guidance Computer"
    assert hits > 3
    assert {name for name in dir(MemoryGraph) if not name.startswith("_")} <= set(dir(AsyncMemoryGraph(apollo)))


class HeldUp(MemoryGraph):
    """A client whose stream waits before its second row."""

    def __init__(self) -> None:
        self.waits, self.goes_on, self.closed = Event(), Event(), Event()

    def stream(self, *_: Any, **__: Any) -> Generator[dict[str, Any], None, None]:
        try:
            yield {"n": 1}
            self.waits.set()
            assert self.goes_on.wait(30)
            yield {"n": 2}
        finally:
            self.closed.set()


def test_a_task_that_reads_a_stream_is_cancelled_at_once_and_its_rows_are_given_up() -> None:
    graph = HeldUp()

    async def read_first() -> None:
        async for _ in AsyncMemoryGraph(graph).stream("RETURN 1 AS n"):
            break

    async def read() -> None:
        task = asyncio.create_task(read_first())
        await asyncio.to_thread(graph.waits.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not graph.closed.is_set()
        graph.goes_on.set()
        assert await asyncio.to_thread(graph.closed.wait, 30)

    asyncio.run(read())


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("is_made", [False, True], ids=["while it is made", "once it is made"])
def test_a_connection_of_a_task_that_is_cancelled_is_closed(monkeypatch: pytest.MonkeyPatch, is_made: bool) -> None:
    connect, close = MemoryGraph.connect, MemoryGraph.close
    begun, goes_on, made, closed = Event(), Event(), Event(), Event()

    def connect_late() -> MemoryGraph:
        begun.set()
        assert goes_on.wait(30)
        graph = connect()
        made.set()
        return graph

    def close_and_tell(graph: MemoryGraph) -> None:
        close(graph)
        closed.set()

    monkeypatch.setattr(MemoryGraph, "connect", connect_late)
    monkeypatch.setattr(MemoryGraph, "close", close_and_tell)

    async def give_up() -> None:
        task = asyncio.ensure_future(AsyncMemoryGraph.connect())
        await asyncio.to_thread(begun.wait, 30)
        if is_made:
            goes_on.set()
            assert made.wait(30)  # in the way of the loop, which does not learn of it
            time.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert made.is_set() is is_made
    goes_on.set()
    assert closed.wait(30)


PAGE_ROWS = 999  # of the client for asyncio, which reads one row ahead


class Rolling(MemoryGraph):
    """A client whose stream takes a moment to be given up, and notes what was closed first."""

    def __init__(self) -> None:
        self.closed: list[str] = []
        self.gives_up = Event()

    def stream(self, cypher: str, *_: Any, **__: Any) -> Generator[dict[str, Any], None, None]:
        try:
            for n in range(int(cypher)):
                yield {"n": n}
        finally:
            self.gives_up.set()
            time.sleep(0.05)
            self.closed.append("stream")

    def close(self) -> None:
        self.closed.append("client")


@pytest.mark.parametrize("is_held", [False, True])
def test_a_stream_that_is_left_early_is_given_up_before_its_client_is_closed(*, is_held: bool) -> None:
    graph, failures = Rolling(), []

    async def read() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
        held = []
        async with AsyncMemoryGraph(graph) as client:
            rows = cast("AsyncGenerator[Any, None]", client.stream("5000"))
            held += [rows] * is_held
            async for _ in rows:
                break
            del rows
        for rows in held:
            await rows.aclose()

    asyncio.run(read())
    assert (graph.closed, failures) == (["stream", "client"], [])


@pytest.mark.parametrize("asks_meanwhile", [True, False])
def test_a_stream_whose_client_is_closed_before_its_last_page_does_not_end_as_if_it_had_no_more(
    *, asks_meanwhile: bool
) -> None:
    graph = Rolling()

    async def read() -> None:
        async def read_on() -> None:
            await asyncio.to_thread(graph.gives_up.wait, 30)
            with pytest.raises(ConnectionError, match="closed"):
                await anext(rows)

        async with AsyncMemoryGraph(graph) as client:
            rows = client.stream("5000")
            first = [await anext(rows) for _ in range(PAGE_ROWS)]
            reader = asyncio.create_task(read_on()) if asks_meanwhile else None
        await (reader or read_on())
        assert len(first) == PAGE_ROWS

    asyncio.run(read())


def test_the_last_page_of_a_stream_is_read_to_its_end_when_its_client_is_closed() -> None:
    async def read() -> None:
        async with AsyncMemoryGraph(Rolling()) as client:
            rows = client.stream("3")
            assert await anext(rows) == {"n": 0}
        assert [row async for row in rows] == [{"n": 1}, {"n": 2}]

    asyncio.run(read())


@pytest.mark.parametrize("count", [1, 998, 999, 1000, 1001, 1998, 1999, 2000, 2997, 3000])
def test_a_stream_whose_rows_were_all_read_ends_when_its_client_is_closed(count: int) -> None:
    async def read() -> None:
        async with AsyncMemoryGraph(Rolling()) as client:
            rows = client.stream(str(count))
            assert [await anext(rows) for _ in range(count)] == [{"n": n} for n in range(count)]
        assert [row async for row in rows] == []

    asyncio.run(read())


def test_a_client_of_asyncio_that_is_closed_says_so() -> None:
    async def ask() -> None:
        async with AsyncMemoryGraph(Rolling()) as client:
            pass
        with pytest.raises(ConnectionError, match="closed"):
            await client.node("a")

    asyncio.run(ask())


def test_a_client_of_asyncio_can_be_closed_twice_and_keeps_the_error_of_the_block() -> None:
    async def close() -> None:
        client = AsyncMemoryGraph(Rolling())
        async with client:
            await client.close()
        await client.close()
        async with client:
            raise NotFoundError("an error of the block")

    with pytest.raises(NotFoundError, match="of the block"):
        asyncio.run(close())


@pytest.mark.parametrize("closes_itself", [False, True])
def test_a_client_is_closed_at_once_while_all_its_threads_are_taken(
    monkeypatch: pytest.MonkeyPatch, *, closes_itself: bool
) -> None:
    class Held(HeldUp):
        def stored(self) -> None:
            self.waits.set()
            assert self.goes_on.wait(30)

        def close(self) -> None:
            self.goes_on.set()

    graph = Held()
    monkeypatch.setattr("memorygraph.aio.MAX_THREADS", 1)

    async def read() -> None:
        async with AsyncMemoryGraph(graph) as client:
            waiting = asyncio.ensure_future(cast(Any, client).stored())
            await asyncio.to_thread(graph.waits.wait, 30)
            if closes_itself:
                await asyncio.wait_for(client.close(), 10)
        await waiting

    asyncio.run(read())


def test_a_client_is_closed_at_once_while_a_page_of_a_stream_is_read() -> None:
    class Closing(HeldUp):
        def close(self) -> None:
            self.goes_on.set()

    graph = Closing()

    async def read() -> None:
        async with AsyncMemoryGraph(graph) as client:
            rows = cast("AsyncGenerator[Any, None]", client.stream("RETURN 1 AS n"))
            first = asyncio.ensure_future(anext(rows))
            await asyncio.to_thread(graph.waits.wait, 30)
        assert await first == {"n": 1}
        await rows.aclose()

    asyncio.run(read())


@pytest.mark.parametrize("namespace", ["", "x" * 201, "line\nbreak"])
def test_a_namespace_has_a_name_that_can_be_shown(connection: Connection, namespace: str) -> None:
    with pytest.raises(MemoryGraphError, match="printable"):
        MemoryGraph(connection, namespace)


def test_a_query_that_reads_a_file_is_refused_for_that_whatever_else_it_calls(graph: MemoryGraph) -> None:
    cypher = "LOAD CSV FROM 'file:///x' AS line CALL db.clearQueryCaches() YIELD value RETURN value"
    with pytest.raises(QueryError, match="LOAD CSV reads files"):
        graph.query(cypher)


@pytest.mark.parametrize("begin", ["PROFILE", "CYPHER 25 PROFILE", "EXPLAIN PROFILE"])
def test_a_query_that_only_reads_is_not_profiled_and_says_so(graph: MemoryGraph, begin: str) -> None:
    with pytest.raises(QueryError, match=r"^refused: .*PROFILE.*leave it out"):
        graph.query(f"{begin} RETURN 1 AS one")


def test_durations_and_points_of_a_row_stay_what_they_are_and_can_be_given_back(graph: MemoryGraph) -> None:
    values = "duration({days: 1, hours: 2}) AS d, point({x: 1, y: 2}) AS p, [duration({days: 1})] AS l"
    for row in (graph.query(f"RETURN {values}")[0], *graph.stream(f"RETURN {values}")):
        assert (row["d"], row["p"], row["l"]) == (Duration(days=1, hours=2), CartesianPoint((1, 2)), [Duration(days=1)])
        given_back = graph.query("RETURN $d.hours AS hours, $p.x AS x, $l[0].days AS days", row)
        assert given_back == [{"hours": 2, "x": 1.0, "days": 1}]
