"""Bundles: what is exported and imported is equal, element by element, whatever any part has stored."""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytz  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from neo4j.time import Date, DateTime, Time

from memorygraph import ConflictError, MemoryGraph, MemoryGraphError, NotFoundError, ScriptError
from memorygraph.graph import bundle_imports, bundles, disk_sort
from memorygraph.graph.bundles import UnfinishedImport
from memorygraph.graph.connection import Connection
from memorygraph.graph.migrations import PASSAGES_MIGRATION
from memorygraph.graph.schema import list_applied
from memorygraph.graph.typed_json import encode_time
from memorygraph.library import CYPHER
from memorygraph.memory.values import Entity, ObservationDeletion, Observations, Relation
from memorygraph.query import Query
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.conftest import empty_namespace
from tests.examples import FEWEST_GRAPHS, examples, mostly_slow
from tests.graph.measuring import peak_memory
from tests.memory.endpoints import fenced

WORLD = (
    'Node(node_id="a", name="A", data="tea"); Node(node_id="b", name="B", data=""); '
    'Edge(edge_id="e", from_node="a", to_node="b", verb="likes", weight=0.5);'
)
TYPED = """
MATCH (node:Node {namespace: $namespace, id: 'a'})
SET node.point = point({latitude: 1.5, longitude: 2}), node.solid = point({x: 1, y: 2, z: 3}),
    node.points = [point({x: 1, y: 2})], node.day = date('1815-12-10'), node.days = [date('1815-12-10')],
    node.length = duration('P1Y2M3DT4.5S'), node.back = duration('-P3DT0.000000001S'),
    node.moment = datetime('2026-10-25T02:30:00.123456789+01:00[Europe/Berlin]'),
    node.moments = [datetime('2026-01-01T00:00Z'), datetime('2026-01-01T00:00-03:30')],
    node.zulu = datetime('2026-01-01T00:00Z'), node.utc = datetime('2026-01-01T00:00Z[UTC]'),
    node.local = localdatetime('2026-01-01T00:00:00.5'), node.clock = time('01:02:03Z'),
    node.wall = localtime('01:02:03.000000004'), node.nan = 0.0 / 0.0, node.infinite = -1.0 / 0.0,
    node.whole = 1, node.decimal = 1.0, node.minus = -0.0, node.large = 9223372036854775807, node.truth = true,
    node.text = 'line\\u2028end\\r\\n\\u0000', node.list = [1.0, 2.0], node.none = [], node.bytes = $bytes
CREATE (node)-[:FRIEND {since: date('2020-01-01'), namespace: $namespace}]->(node)
"""
# What an export does not read: each element as Neo4j itself prints its values, without what names the namespace.
ELEMENTS = """
CYPHER 25
MATCH (node) WHERE node.namespace = $namespace OR (node:Namespace AND node.name = $namespace)
RETURN 'node' AS what, labels(node) AS labels, properties(node) AS properties,
       {} AS source, {} AS target,
       [key IN keys(node) | [key, valueType(node[key]), toStringOrNull(node[key])]] AS types
UNION ALL
MATCH (source)-[one]->(target) WHERE $namespace IN [source.namespace, CASE WHEN source:Namespace THEN source.name END]
RETURN 'relationship' AS what, [type(one)] AS labels, properties(one) AS properties,
       source {.id, .until, .program, name: [each IN [source] WHERE NOT each:Namespace | each.name],
               labels: labels(source)} AS source,
       target {.id, .until, .program, name: [each IN [target] WHERE NOT each:Namespace | each.name],
               labels: labels(target)} AS target,
       [key IN keys(one) | [key, valueType(one[key]), toStringOrNull(one[key])]] AS types
"""


def elements(graph: MemoryGraph) -> Counter[str]:
    """All that Neo4j has of a namespace, each element as a text."""
    rows = graph.connection.stream(Query(ELEMENTS, {"namespace": graph.namespace}), typed=True)
    return Counter(_text(row, graph.namespace) for row in rows)


def _text(row: dict[str, Any], namespace: str) -> str:
    own = {"namespace", "namespace_token"} | ({"name"} if "Namespace" in row["labels"] else set())
    kept = {key: value for key, value in row["properties"].items() if key not in own}
    types = [each for each in row["types"] if each[0] not in own]
    assert row["properties"].get("namespace", namespace) == namespace
    ends = [sorted((key, str(value)) for key, value in row[end].items()) for end in ("source", "target")]
    return repr([row["what"], sorted(row["labels"]), sorted(kept.items()), sorted(types, key=repr), ends])


def exported(graph: MemoryGraph) -> str:
    return graph.export("bundle")


def without_name(bundle: str) -> str:
    """A bundle without the name in its header."""
    header, _, rest = bundle.partition("\n")
    return json.dumps({key: value for key, value in json.loads(header).items() if key != "namespace"}) + rest


def imported(graph: MemoryGraph, bundle: str, tmp_path: Path) -> MemoryGraph:
    """Another namespace with a bundle."""
    other = empty_namespace(graph.connection)
    (tmp_path / "bundle.jsonl").write_text(bundle, "utf-8", newline="")
    other.import_bundle(tmp_path / "bundle.jsonl")
    return other


def test_every_label_that_the_schema_knows_is_a_kind_of_a_bundle() -> None:
    labels = {
        label
        for _, commands in CYPHER.migrations()
        for command in commands
        for label in re.findall(r"FOR \(\w+:(\w+)\)", command.text)
    }
    on_nodes = {"Context", "Entity", "Item", "Rule"}  # further labels of a Node
    assert labels - on_nodes == bundles.KINDS.keys()


def test_every_type_of_a_property_comes_back(graph: MemoryGraph, tmp_path: Path) -> None:
    graph.load(WORLD)
    graph.query(TYPED, {"bytes": b"\x00\xff"}, write=True)
    other = imported(graph, exported(graph), tmp_path)
    assert elements(other) == elements(graph)
    assert without_name(exported(other)) == without_name(exported(graph))


UNREAD_BY_THE_DRIVER = """
MATCH (node:Node {namespace: $namespace, id: 'a'})
SET node.london = datetime({year: 1815, month: 12, day: 10, timezone: 'Europe/London'}),
    node.berlin = [datetime('1815-12-10T00:00[Europe/Berlin]'), datetime('2026-01-01T00:00Z')],
    node.last = datetime('9999-12-31T23:59:59[America/New_York]'), node.ides = datetime('-0044-03-15T12:00Z'),
    node.offset = datetime('2026-01-01T00:00+00:53:28'), node.late = localdatetime('+12345-01-01T00:00'),
    node.early = [localdatetime('0000-01-01T00:00:01.5')], node.days = [date('2026-01-01'), date('-0044-03-15')],
    node.day = date('-0044-03-15'), node.clock = time('12:00+01:00:30'), node.clocks = [time('12:00:00.5-01:00:30')],
    node.plain = [localdatetime('2026-01-01T00:00'), localdatetime('0999-01-01T00:00:00.000000001')],
    node.times = [time('12:00Z'), time('12:00:00.25-18:00')]
CREATE (node)-[:FRIEND {since: date('-0044-03-15'), namespace: $namespace}]->(:Other {
  namespace: $namespace, at: datetime('-0044-03-15T12:00Z')
})
WITH DISTINCT $namespace AS name
MATCH (namespace:Namespace {name: name})
SET namespace.since = date('-0044-03-15')
"""


def test_a_time_that_the_driver_does_not_have_comes_back(graph: MemoryGraph, tmp_path: Path) -> None:
    graph.load(WORLD)
    graph.query(UNREAD_BY_THE_DRIVER, write=True)
    other = imported(graph, exported(graph), tmp_path)
    assert printed_times(other) == printed_times(graph)
    assert without_name(exported(other)) == without_name(exported(graph))


@pytest.mark.parametrize(
    ("kind", "printed", "value"),
    [
        ("LOCAL DATETIME NOT NULL", "2026-01-01T00:00", DateTime(2026, 1, 1)),
        (
            "LIST<LOCAL DATETIME NOT NULL> NOT NULL",
            "0999-12-31T23:59:59.5",
            DateTime(999, 12, 31, 23, 59, 59, 500000000),
        ),
        ("ZONED TIME NOT NULL", "12:00Z", Time(12, 0, 0, 0, pytz.UTC)),
        ("ZONED TIME NOT NULL", "12:00:01.000000005-01:30", Time(12, 0, 1, 5, pytz.FixedOffset(-90))),
        ("DATE NOT NULL", "0044-03-15", Date(44, 3, 15)),
    ],
)
def test_a_bundle_has_the_times_of_the_driver_as_that_prints_them(kind: str, printed: str, value: Any) -> None:
    assert encode_time(kind, printed)["value"] == value.iso_format()  # earlier bundles have them so


def printed_times(graph: MemoryGraph) -> Counter[str]:
    """The properties of a namespace as Neo4j prints them, without what names it."""
    rows = graph.query(
        """
        MATCH (node) WHERE $namespace IN [node.namespace, node.name]
        OPTIONAL MATCH (node)-[one:FRIEND]->()
        UNWIND [node, one] AS element
        UNWIND [key IN keys(element) WHERE valueType(element[key]) =~ '.*(DATE|TIME).*' | key] AS key
        RETURN key, valueType(element[key]) AS type,
               coalesce(toStringOrNull(element[key]), toStringList(element[key])) AS value
        """
    )
    return Counter(repr(row) for row in rows)


AGENT = """
import llm M from "openai://m"
import memory Known from "neo4j://"
main agent Answerer {
  model M role "A helper" description "Answers"
  main func(input) {
    use Known.recall(input) < 2k
    return generate({ input: "Answer" }) { return { text string } }
  }
}
"""
CONVO = "> node a\n> user\nHi\n> nodeEnd\n> goto a"
IDS = ("a", "b", "c")
WORDS = st.sampled_from(["tea", "bread", 'a "quoted"\n text', "Ä 𝄞", ""])
Operation = Callable[[MemoryGraph, list[str]], object]


def _remember(graph: MemoryGraph, replies: list[str], text: str) -> None:
    replies[:] = [fenced(f'Node(node_id="r", name="{text}", data="");')]
    graph.remember("Something was said.")


def _run_agent(graph: MemoryGraph, replies: list[str], text: str) -> None:
    replies[:] = [json.dumps({"text": text})]
    graph.run(AGENT, text)


def _run_convo(graph: MemoryGraph, replies: list[str], text: str) -> None:
    replies[:] = [text or "-"]
    graph.run(CONVO, None, "m", language="convo")


def _think(graph: MemoryGraph, number: int) -> None:
    name = f"main{number}"
    graph.load(
        f"context {name}() {{ &a = /* tea {number} */ &b = /* bread */ &a likes &b. &b doesn't like &a. "
        "&a knows that &b likes &a. _x cools _y if _y likes _x. context inner(&a) { // deep\n @[x: 1] } }",
        language="pete",
    )


def _long(text: str) -> dict[str, str]:
    """A message that is divided into passages."""
    days = (f"On day {day} we walked by the lake." for day in range(60))
    return {"role": "user", "content": f"{' '.join(days)} At last we had {text}."}


def _undo(graph: MemoryGraph) -> None:
    graph.undo(graph.revisions(1)[0].revision)


def _edit(graph: MemoryGraph, index: int, text: str) -> None:
    history = graph.messages("c")
    if not len(history):
        history.append({"role": "user", "content": "hi"})
        history.append({"role": "assistant", "content": "ho"})
    history[index % len(history)]["content"] = text


OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.just(lambda graph, _: graph.load(WORLD)),
    st.builds(
        lambda id_, text: lambda graph, _: graph.load(f'Node(node_id={json.dumps(id_)}, name="N", data={text!r});'),
        st.sampled_from(IDS),
        st.sampled_from(["x", "y"]),
    ),
    st.builds(lambda id_: lambda graph, _: graph.delete(id_), st.sampled_from([*IDS, "Ada", "memory-1", "e"])),
    st.just(lambda graph, _: _undo(graph)),
    st.just(lambda graph, _: graph.purge()),
    st.builds(
        lambda name, text: (
            lambda graph, _: graph.entities.create(
                [Entity(name=name, entity_type="person", observations=[text or "-"])]
            )
        ),
        st.sampled_from(["Ada", "Bob"]),
        WORDS,
    ),
    st.just(lambda graph, _: graph.entities.relate([Relation(source="Ada", target="Bob", relation_type="knows well")])),
    st.builds(
        lambda text: lambda graph, _: graph.entities.observe([Observations(entity_name="Ada", contents=[text])]), WORDS
    ),
    st.just(
        lambda graph, _: graph.entities.delete_observations(
            [ObservationDeletion(entity_name="Ada", observations=["tea"])]
        )
    ),
    st.builds(lambda number: lambda graph, _: _think(graph, number), st.integers(1, 2)),
    st.builds(lambda index, text: lambda graph, _: _edit(graph, index, text), st.integers(0, 3), WORDS),
    st.builds(lambda text: lambda graph, _: graph.messages("c").append({"role": "user", "content": text}), WORDS),
    st.builds(lambda text: lambda graph, replies: _run_agent(graph, replies, text), WORDS),
    st.builds(lambda text: lambda graph, replies: _run_convo(graph, replies, text), WORDS),
    st.just(lambda graph, _: graph.load(CONVO, language="convo", file="g.convo")),
    st.builds(lambda text: lambda graph, replies: _remember(graph, replies, text), st.sampled_from(["Tea", "Coffee"])),
    st.just(lambda graph, _: graph.recall("tea", budget="1k")),
    st.just(lambda graph, _: graph.merge("Bob", into="Ada")),
    st.builds(lambda id_: lambda graph, _: graph.address(id_), st.sampled_from([*IDS, "Ada", "Bob"])),
    st.builds(
        lambda id_, days: lambda graph, _: graph.expire(id_, after=days and timedelta(days=days)),
        st.sampled_from([*IDS, "Ada", "memory-1"]),
        st.sampled_from([None, 1, 30]),
    ),
    st.builds(
        lambda days: lambda graph, _: graph.expire_conversation("c", after=days and timedelta(days=days)),
        st.sampled_from([None, 1, 30]),
    ),
    st.builds(lambda text: lambda graph, _: graph.messages("c").append(_long(text)), WORDS),
    st.builds(lambda id_: lambda graph, _: graph.forget(id_), st.sampled_from([*IDS, "Ada", "memory-1"])),
)


@pytest.fixture(scope="module")
def replies() -> Iterator[list[str]]:
    """What the scripted model of this module answers next."""
    held: list[str] = ["-"]
    with ScriptedModel(lambda _: held[0]) as model, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", model.base_url)
        patch.setenv("OPENAI_API_KEY", "k")
        patch.setenv("MEMORYGRAPH_MODEL", "m")
        yield held


@settings(
    max_examples=examples(40, FEWEST_GRAPHS),
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(OPERATIONS, min_size=1, max_size=10))
def test_whatever_was_done_is_exported_and_imported_element_by_element(
    connection: Connection, replies: list[str], tmp_path: Path, operations: list[Operation]
) -> None:
    graph = empty_namespace(connection)
    for operate in operations:
        with suppress(MemoryGraphError, IndexError):  # there may be nothing to delete or to undo
            operate(graph, replies)
    bundle = exported(graph)
    other = imported(graph, bundle, tmp_path)
    assert elements(other) == elements(graph)
    assert without_name(exported(other)) == without_name(bundle)


def test_the_parts_of_the_property_work_and_are_found_in_the_import(
    graph: MemoryGraph, replies: list[str], tmp_path: Path
) -> None:
    graph.load(WORLD)
    graph.load('Node(node_id="a", data="coffee");')
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["likes tea"])])
    _think(graph, 1)
    _think(graph, 2)
    graph.load('del(id="memory-1");')
    _edit(graph, 0, "hello tea")
    _run_agent(graph, replies, "tea")
    _run_convo(graph, replies, "tea")
    _remember(graph, replies, "Tea")
    graph.entities.create([Entity(name="Bob", entity_type="person", observations=["likes bread"])])
    graph.merge("Bob", into="Ada")
    graph.messages("c").append(_long("tea"))
    graph.expire("b", after=timedelta(days=1))
    graph.expire_conversation("c", after=timedelta(days=1))
    address = graph.address("a")
    other = imported(graph, exported(graph), tmp_path)
    labels = Counter(line.split("'")[3] for line in elements(graph))
    assert {"Former", "FormerEntry", "Entry", "Message", "Version", "Run", "Generation", "Step", "Load"} <= {*labels}
    assert {"Alias", "Passage"} <= {*labels}
    for read in (
        # In no order: how many words a text has on average, which is a part of its score, others change meanwhile.
        lambda mg: sorted(hit.id for hit in mg.search("tea")),
        lambda mg: sorted((hit.label, hit.content) for hit in mg.recall("tea").hits),
        lambda mg: str(mg.pete("main2").render()),
        lambda mg: [dict(message) for message in mg.messages("c")],
        lambda mg: mg.entities.read_graph(),
        lambda mg: [(each.action, each.before, each.after) for each in mg.history("a")],
        lambda mg: mg.at(1).export(),
        lambda mg: mg.conversations(),
        lambda mg: [mg.address("a"), mg.node(address).id, mg.node("Bob").id, mg.aliases("Ada")],
        lambda mg: [mg.expiry("b"), mg.conversation_expiry("c")],
    ):
        assert read(other) == read(graph)
    for each in (graph, other):
        each.undo(2)
    assert elements(other).keys() - elements(graph).keys() != set()  # each undo has a record of its own
    assert other.node("a") == graph.node("a")


@pytest.mark.parametrize("earlier", [False, True])
def test_a_long_message_is_found_in_its_conversations_after_an_import(
    graph: MemoryGraph, tmp_path: Path, *, earlier: bool
) -> None:
    graph.messages("c").append(_long("tea"))
    graph.messages("other").append(_long("tea again"))
    bundle = _without_conversations_of_passages(graph) if earlier else exported(graph)
    other = imported(graph, bundle, tmp_path)
    for each in (graph, other):
        assert ["tea again" in hit.content for hit in each.recall("tea", conversation="c").hits] == [False]
    graph.drop_namespace(graph.namespace)
    graph.import_bundle(tmp_path / "bundle.jsonl")  # under the name that it had, whose words the bundle may have
    assert len(graph.recall("tea", conversation="c").hits) == 1


def _without_conversations_of_passages(graph: MemoryGraph) -> str:
    """The bundle of a version that did not say which conversations a passage is in."""
    written = io.StringIO()
    schema = [name for name in list_applied(graph.connection) if name != PASSAGES_MIGRATION]
    bundles.write_bundle(
        graph.scope,
        schema,
        written.write,
        unfinished=UnfinishedImport("", has_namespace=True, names_conversations=False),
    )
    return written.getvalue()


@pytest.fixture
def bundle(graph: MemoryGraph) -> str:
    graph.load(WORLD)
    graph.load('Node(node_id="a", data="coffee");')
    return exported(graph)


def test_a_format_that_there_is_not_is_refused_with_those_that_there_are(graph: MemoryGraph) -> None:
    with pytest.raises(NotFoundError, match=r"'pdf'; there are contextscript, jsonl, graphml, bundle, server-memory$"):
        graph.export("pdf")
    graph.load('Node(node_id="a", name="A", data="");')
    with pytest.raises(NotFoundError, match=r"'bundle'; there are contextscript, jsonl, graphml$"):
        graph.at(1).export("bundle")


def test_a_bundle_needs_the_name_of_a_file(graph: MemoryGraph) -> None:
    for ask in (graph.export_bundle, graph.import_bundle):
        with pytest.raises(NotFoundError, match=r"^no file is named$"):
            ask("")


@pytest.mark.parametrize("line", range(1, 9))
def test_a_changed_line_is_refused_with_its_number_and_stores_nothing(
    bundle: str, graph: MemoryGraph, tmp_path: Path, line: int
) -> None:
    lines = bundle.splitlines(keepends=True)
    place = lines[line - 1].index(":") + 3
    lines[line - 1] = lines[line - 1][:place] + "~" + lines[line - 1][place + 1 :]
    other = _refused(graph, "".join(lines), tmp_path, line)
    assert elements(other) == Counter()


def test_a_cut_bundle_is_refused_with_its_line_and_stores_nothing(
    bundle: str, graph: MemoryGraph, tmp_path: Path
) -> None:
    lines = bundle.splitlines(keepends=True)
    for kept in range(1, len(lines)):
        other = _refused(graph, "".join(lines[:kept]), tmp_path, kept + 1)
        assert elements(other) == Counter()
    _refused(graph, bundle[:-10], tmp_path, len(lines))
    _refused(graph, "".join(lines[:3] + lines[4:]), tmp_path, 4)
    _refused(graph, bundle + lines[2], tmp_path, len(lines) + 1)
    _refused(graph, WORLD, tmp_path, 1)
    _refused(graph, "", tmp_path, 1)


def _refused(graph: MemoryGraph, text: str, tmp_path: Path, line: int) -> MemoryGraph:
    with pytest.raises(ScriptError) as caught:
        imported(graph, text, tmp_path)
    [problem] = caught.value.problems
    assert problem.line == line
    assert problem.code in {"changed-bundle", "cut-bundle", "not-a-bundle"}
    return empty_namespace(graph.connection)


def test_a_bundle_of_a_later_schema_or_version_is_refused(bundle: str, graph: MemoryGraph, tmp_path: Path) -> None:
    later = io.StringIO()
    bundles.write_bundle(graph.scope, ["0001_nodes_and_edges", "9999_later"], later.write)
    with pytest.raises(ScriptError, match="9999_later; update"):
        imported(graph, later.getvalue(), tmp_path)
    with pytest.raises(ScriptError, match="version 2 of the format, and this memorygraph reads 1"):
        imported(graph, bundle.replace('"version":1', '"version":2', 1), tmp_path)


def test_a_namespace_that_is_not_empty_is_left_as_it_is(
    bundle: str, graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path
) -> None:
    (tmp_path / "bundle").write_text(bundle)
    twin.messages("c").append({"role": "user", "content": "hi"})
    before = elements(twin)
    with pytest.raises(ConflictError, match=r"is not empty.*--namespace"):
        twin.import_bundle(tmp_path / "bundle")
    with pytest.raises(ConflictError, match="is not empty"):
        graph.import_bundle(tmp_path / "bundle")
    assert elements(twin) == before
    with pytest.raises(NotFoundError):
        twin.import_bundle(tmp_path / "nothing")


def test_a_bundle_of_nothing_is_imported_to_nothing(graph: MemoryGraph, tmp_path: Path) -> None:
    other = imported(graph, exported(graph), tmp_path)
    assert elements(other) == Counter()


def test_an_interrupted_import_goes_on_and_nothing_else_may_come_between(
    bundle: str, graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bundle").write_text(bundle)
    monkeypatch.setattr(bundle_imports, "LINES_PER_BATCH", 2)
    another = empty_namespace(graph.connection)
    another.load(WORLD)
    other = _written(tmp_path / "other", exported(another))
    interruptions = 0
    while True:
        try:
            report = twin.import_bundle(tmp_path / "bundle", progress=InterruptAfter(2))
            break
        except KeyboardInterrupt:
            interruptions += 1
            for form in ("bundle", "contextscript", "jsonl", "graphml", "server-memory"):
                with pytest.raises(MemoryGraphError, match="its import was interrupted: run that again"):
                    twin.export(form)
            with pytest.raises(ConflictError, match="is not empty"):
                twin.import_bundle(other)
    assert interruptions > 1
    assert report.resumed_after > 2
    assert elements(twin) == elements(graph)


@pytest.mark.slow
def test_an_interrupted_import_can_be_dropped_at_any_place(
    graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.load(WORLD)
    _think(graph, 1)
    _think(graph, 2)
    graph.load('del(id="memory-1");')
    graph.messages("c").append({"role": "user", "content": "hi"})
    graph.query(KEYLESS, write=True)
    path = _written(tmp_path / "bundle", exported(graph))
    monkeypatch.setattr(bundle_imports, "LINES_PER_BATCH", 40)
    times = 2
    while True:
        try:
            twin.import_bundle(path, progress=InterruptAfter(times))
            break
        except KeyboardInterrupt:
            times += 1
            twin.drop_namespace(twin.namespace)
            assert elements(twin) == Counter()
    assert times > 3
    assert elements(twin) == elements(graph)


def test_a_bundle_of_an_earlier_schema_is_brought_up_to_date(
    graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path
) -> None:
    graph.load(WORLD)
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["likes tea"])])
    graph.query("MATCH (n:Node {namespace: $namespace, id: 'Ada'}) DETACH DELETE n", write=True)  # as 0016 left it
    earlier = io.StringIO()
    bundles.write_bundle(graph.scope, ["0001_nodes_and_edges", "0016_lemmas"], earlier.write)
    twin.import_bundle(_written(tmp_path / "bundle", earlier.getvalue()))
    assert [revision.language for revision in twin.revisions(1)] == ["leftovers"]
    assert {row["id"] for row in twin.query("MATCH (n:Node {namespace: $namespace}) RETURN n.id AS id")} == {"a", "b"}


class InterruptAfter:
    """Progress that presses Ctrl-C when it is told something for the last time of these."""

    def __init__(self, times: int) -> None:
        self.times = times

    def __call__(self, _: int) -> None:
        self.times -= 1
        if not self.times:
            raise KeyboardInterrupt


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_who_writes_during_an_import_makes_it_fail(
    bundle: str, twin: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_imports, "LINES_PER_BATCH", 2)
    path = _written(tmp_path / "bundle", bundle)
    written = iter([True])

    def write(_: int) -> None:
        if next(written, False):
            twin.messages("c").append({"role": "user", "content": "hi"})

    with pytest.raises(ConflictError, match="was written to during the import"):
        twin.import_bundle(path, progress=write)


def _others_write(
    patch: pytest.MonkeyPatch, name: str, write: Callable[[], object], *, is_called_before: bool = False
) -> None:
    """Have other processes write before the first call of a function of the imports, or before its result is used."""
    call = getattr(bundle_imports, name)

    def call_beside_others(*arguments: Any, **options: Any) -> Any:
        patch.setattr(bundle_imports, name, call)
        found = call(*arguments, **options) if is_called_before else None
        write()
        return found if is_called_before else call(*arguments, **options)

    patch.setattr(bundle_imports, name, call_beside_others)


CHECKPOINTS = "MATCH (checkpoint:Checkpoint {namespace: $namespace}) RETURN checkpoint.program AS program"


@pytest.mark.parametrize("is_read_before", [True, False])
def test_an_import_that_another_process_finishes_says_so_and_leaves_all_as_it_is(
    bundle: str, twin: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_read_before: bool
) -> None:
    path = _written(tmp_path / "bundle", bundle)

    def write() -> None:
        twin.import_bundle(path)
        twin.load('Node(node_id="later", name="L", data="");')

    _others_write(monkeypatch, "write_bundle", write, is_called_before=is_read_before)
    with pytest.raises(ConflictError, match="another process has finished this import"):
        twin.import_bundle(path)
    assert twin.query(CHECKPOINTS) == []
    assert twin.node("later").name == "L"


def test_an_import_that_another_process_has_compared_and_brought_up_to_date_goes_on(
    bundle: str, twin: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _written(tmp_path / "bundle", bundle)

    def write() -> None:
        assert _interrupted(twin, path, 3)  # before the last transaction, which ends the import
        twin.query("MATCH (node:Node {namespace: $namespace, id: 'a'}) SET node.new = true", write=True)

    _others_write(monkeypatch, "write_bundle", write)
    twin.import_bundle(path)
    assert twin.query(CHECKPOINTS) == []
    assert twin.node("a").data == "coffee"


def test_a_bundle_of_nothing_that_another_process_has_imported_takes_no_namespace_along(
    graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _written(tmp_path / "bundle", exported(graph))

    def write() -> None:
        twin.import_bundle(path)
        twin.load('Node(node_id="later", name="L", data="");')

    _others_write(monkeypatch, "end_import", write)
    twin.import_bundle(path)
    assert [revision.revision for revision in twin.revisions()] == [1]
    assert twin.broken_invariants() == []


@pytest.mark.slow
def test_an_export_is_of_one_moment(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.load(WORLD)
    history = graph.messages("c")
    stream = type(graph.scope).stream
    changes = iter(range(2))

    def changed(namespace: Any, query: str, /, **parameters: Any) -> Any:
        if parameters.get("kind") == "Run" and query == "bundles/nodes" and next(changes, None) is not None:
            history.append({"role": "user", "content": "hi"})  # behind what was read already; no revision tells
        return stream(namespace, query, **parameters)

    monkeypatch.setattr(type(graph.scope), "stream", changed)
    bundle = exported(graph)
    monkeypatch.undo()
    assert bundle == exported(graph)
    changes = count()
    monkeypatch.setattr(type(graph.scope), "stream", changed)
    with pytest.raises(MemoryGraphError, match="changed during each of 5 exports"):
        exported(graph)


def test_a_bundle_says_what_leaves_the_namespace(graph: MemoryGraph, twin: MemoryGraph) -> None:
    graph.load(WORLD)
    twin.load(WORLD)
    graph.query(
        "MATCH (a:Node {namespace: $namespace, id: 'a'}), (b:Node {namespace: $other, id: 'b'}) "
        "CREATE (a)-[:SEES]->(b) CREATE (a)-[:SEES]->(:Person {mark: 'test-bundles'})",
        {"other": twin.namespace},
        write=True,
    )
    left_out = graph.export_to(io.StringIO(), "bundle")
    assert left_out.lines() == ["relationships that leave the namespace: 2 (`SEES`, `SEES`)"]


KEYLESS = """
MATCH (a:Node {namespace: $namespace, id: 'a'}), (namespace:Namespace {name: $namespace})
CREATE (ann:Person {namespace: $namespace, name: 'Ann', born: date('1815-12-10')}),
       (:Person {namespace: $namespace, name: 'Ann', born: date('1815-12-10')}),
       (:Node {namespace: $namespace}), ({namespace: $namespace}),
       (number:Node {namespace: $namespace, id: 5}), (:Node {namespace: $namespace, id: '5'}),
       (:Message {namespace: $namespace, id: [1.0]}), (:Former {namespace: $namespace, id: 'a', until: 'soon'}),
       (ann)-[:KNOWS {since: 2}]->(a), (a)-[:KNOWS {since: 3}]->(ann), (ann)-[:KNOWS]->(number), (ann)-[:KNOWS]->(ann),
       (ann)-[:EDGE {namespace: $namespace, id: 'keyless', verb: 'likes', weight: 1.0}]->(a),
       (namespace)-[:HAS]->(ann), (ann)-[:IN]->(namespace)
SET namespace:Kept, namespace.note = 'n'
"""


def test_nodes_without_a_key_come_along_with_all_that_joins_them(graph: MemoryGraph, tmp_path: Path) -> None:
    graph.load(WORLD)
    graph.query(KEYLESS, write=True)
    bundle = exported(graph)
    assert graph.export_to(io.StringIO(), "bundle").lines() == []
    other = imported(graph, bundle, tmp_path)
    assert elements(other) == elements(graph)
    assert "BundleKey" not in "".join(elements(other))
    assert without_name(exported(other)) == without_name(bundle)


def test_nodes_without_a_key_stand_in_one_order_whichever_was_made_first(graph: MemoryGraph, twin: MemoryGraph) -> None:
    person = "CREATE (:Person {namespace: $namespace})"
    knowing = f"{person}-[:KNOWS]->(:Place {{namespace: $namespace}})"
    for each, queries in ((graph, (person, knowing)), (twin, (knowing, person))):
        for query in queries:
            each.query(query, write=True)
    assert without_name(exported(graph)) == without_name(exported(twin))


def test_nodes_that_only_their_neighbours_tell_apart_keep_these(graph: MemoryGraph, tmp_path: Path) -> None:
    graph.load(WORLD)
    ring = (
        "CREATE (one:Ring {namespace: $namespace}), (two:Ring {namespace: $namespace}), (one)-[:NEXT]->(two), "
        "(two)-[:NEXT]->(three:Ring {namespace: $namespace}), (three)-[:NEXT]->(one)"
    )
    for _ in range(2):
        graph.query(ring, write=True)
    other = imported(graph, exported(graph), tmp_path)
    rings = (
        "MATCH (one:Ring {namespace: $namespace}) "
        "RETURN COUNT { (one)-[:NEXT]->()-[:NEXT]->()-[:NEXT]->(one) } AS closed, COUNT { (one)-->() } AS all"
    )
    assert other.query(rings) == graph.query(rings) == [{"closed": 1, "all": 1}] * 6


@pytest.mark.slow
def test_an_import_of_nodes_without_a_key_goes_on_wherever_it_was_interrupted(
    graph: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.load(WORLD)
    graph.query(KEYLESS, write=True)
    path = _written(tmp_path / "bundle", exported(graph))
    monkeypatch.setattr(bundle_imports, "LINES_PER_BATCH", 6)
    monkeypatch.setattr(bundle_imports, "NODES_PER_TRANSACTION", 3)
    for place in count():
        other = empty_namespace(graph.connection)
        if not _interrupted(other, path, place):
            break
        other.import_bundle(path)
        assert elements(other) == elements(graph)
    assert place > 9
    assert elements(other) == elements(graph)


def _interrupted(graph: MemoryGraph, path: Path, place: int) -> bool:
    """Import a bundle, and press Ctrl-C before a transaction; False where it was done before."""
    write, writes = type(graph.scope).write, count()

    def interrupt(namespace: Any, work: Any, **limits: Any) -> Any:
        if next(writes) == place:
            raise KeyboardInterrupt
        return write(namespace, work, **limits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(graph.scope), "write", interrupt)
        try:
            graph.import_bundle(path)
        except KeyboardInterrupt:
            return True
        return False


def test_a_namespace_of_nodes_without_a_key_is_not_empty(bundle: str, twin: MemoryGraph, tmp_path: Path) -> None:
    twin.query("CREATE (:Person {namespace: $namespace})", write=True)
    file = _written(tmp_path / "bundle", bundle)
    with pytest.raises(ConflictError, match=r"is not empty.*delete the nodes of this one with raw Cypher"):
        twin.import_bundle(file)
    twin.query("MATCH (node) WHERE node.namespace = $namespace DETACH DELETE node", write=True)
    twin.import_bundle(file)


HUB = """
MATCH (a:Node {namespace: $namespace, id: 'a'}), (b:Node {namespace: $namespace, id: 'b'})
UNWIND range(1, 8000) AS i
CREATE (a)-[:SEES {text: toString((i * 7919) % 8000) + $text}]->(b)
"""


@pytest.mark.slow
def test_neither_way_holds_more_than_a_part_of_the_relationships_of_a_node(
    graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_sort, "MAX_HELD_CHARACTERS", 500_000)
    monkeypatch.setattr(bundle_imports, "CHARACTERS_PER_BATCH", 500_000)
    graph.load(WORLD)
    graph.query(HUB, {"text": "x" * 1500}, write=True)
    path = tmp_path / "bundle"
    assert peak_memory(lambda: graph.export_bundle(path)) < 3 * 2**20
    assert path.stat().st_size > 12 * 10**6
    assert peak_memory(lambda: twin.import_bundle(path)) < 5 * 2**20
    assert without_name(exported(twin)) == without_name(path.read_text())


OWN = {"namespace": {"type": "namespace"}, "id": "x"}


def made(*documents: dict[str, Any], header: dict[str, Any] | None = None) -> str:
    """A bundle of any lines, with their hashes."""
    chain = bundles.HashChain()
    first = {"format": bundles.FORMAT, "version": 1, "schema": ["0001_nodes_and_edges"], **(header or {})}
    texts = (json.dumps(each, sort_keys=True, separators=(",", ":")) for each in documents)
    lines = [chain.line(each) for each in (bundles.to_line(first), *texts)]
    nodes = sum("node" in each for each in documents)
    return "".join([*lines, bundles.end_line(nodes, len(documents) - nodes, chain)[0]])


def test_a_bundle_that_somebody_made_writes_to_no_other_namespace(
    graph: MemoryGraph, twin: MemoryGraph, tmp_path: Path
) -> None:
    twin.load(WORLD)
    documents: list[dict[str, Any]] = [
        {"node": ["Node", "x"], "labels": ["Node"], "properties": {"namespace": twin.namespace, "id": "x"}},
        {"node": ["Namespace"], "labels": ["Namespace"], "properties": {"name": twin.namespace}},
        {"node": ["Node", "x"], "labels": ["Node", "Migration"], "properties": {"namespace": "", "id": "x"}},
        {"relationship": "EDGE", "from": ["Node", "x"], "to": ["Node", "x"], "properties": {"namespace": "other"}},
        {"node": ["Thing", "x"], "labels": ["Thing"], "properties": {}},
        {"node": ["BundleKey", 1], "labels": ["Thing"], "properties": {"namespace": twin.namespace}},
        {"node": ["BundleKey", 1], "labels": ["Thing"], "properties": {}},
        {"node": ["BundleKey", "x"], "labels": ["Thing"], "properties": {"namespace": {"type": "namespace"}}},
        {"node": ["BundleKey", 1], "labels": ["Migration"], "properties": {"namespace": {"type": "namespace"}}},
        {"node": ["BundleKey", 1], "labels": ["Node"], "properties": {"namespace": {"type": "namespace"}, "id": "x"}},
        {"node": ["Node", "x"], "labels": ["Node"], "properties": {"id": {"type": "date", "value": "soon"}}},
        *(
            {"node": ["Node", "x"], "labels": ["Node"], "properties": {**OWN, "namespace_token": words}}
            for words in (
                twin.scope.token,
                [twin.scope.token],
                f"x-{twin.scope.token}",
                {"type": "tokens", "value": [None, [twin.scope.token]]},
            )
        ),
    ]
    for document in documents:
        with pytest.raises(ScriptError) as caught:
            imported(graph, made(document), tmp_path)
        assert [(each.line, each.code) for each in caught.value.problems] == [(2, "invalid-value")]


@pytest.mark.parametrize(
    "document",
    [
        {"node": ["Node", "x"], "labels": "Node", "properties": OWN},
        {"node": ["Node", "x"], "labels": ["Node", 5], "properties": OWN},
        {"node": ["Node", "x"], "labels": ["Node", ""], "properties": OWN},
        {"node": ["Node", "x"], "labels": {"Node": 1}, "properties": OWN},
        {"node": ["Node", ["x"]], "labels": ["Node"], "properties": {**OWN, "id": ["x"]}},
        {"node": ["Node", "x"], "labels": ["Node"], "properties": {**OWN, "deep": json.loads("[" * 99 + "]" * 99)}},
        {"node": ["Node", "x"], "labels": ["Node"], "properties": {**OWN, "none": None}},
        {"node": ["Node", "x"], "labels": ["Node"], "properties": {**OWN, "a": {"type": "duration", "value": [1]}}},
        {"node": ["Node", "x"], "labels": ["Node"], "properties": {**OWN, "a": {"type": [], "value": 1}}},
        {
            "node": ["Node", "x"],
            "labels": ["Node"],
            "properties": {**OWN, "a": {"type": "date", "value": "-0044-02-30"}},
        },
        {"node": ["Node", "x"], "labels": ["Node"], "properties": {**OWN, "a": {"type": "time", "value": 5}}},
        {"node": ["Node", "x"], "labels": ["Node"], "properties": {**OWN, "a": {"type": "float", "value": 10**400}}},
        {"node": ["Node", "x"], "labels": ["Node"], "properties": {**OWN, "a": {"type": "tokens", "value": [[]]}}},
        {"node": ["Node", "x"], "labels": ["Node"], "properties": []},
        {"relationship": "LIKES", "from": ["Node", ["x"]], "to": ["Node", "x"], "properties": {}},
        {"relationship": "LIKES", "from": ["Former", "x", 1.0], "to": ["Node", "x"], "properties": {}},
        {"relationship": "", "from": ["Node", "x"], "to": ["Node", "x"], "properties": {}},
        {"relationship": ["LIKES"], "from": ["Node", "x"], "to": ["Node", "x"], "properties": {}},
    ],
)
def test_whatever_a_line_holds_that_is_no_element_is_found_before_anything_is_stored(
    graph: MemoryGraph, tmp_path: Path, document: dict[str, Any]
) -> None:
    with pytest.raises(ScriptError) as caught:
        imported(graph, made(document), tmp_path)
    assert [(each.line, each.code) for each in caught.value.problems] == [(2, "invalid-value")]


@pytest.mark.parametrize("schema", [None, 5, "0001_nodes_and_edges", [["0001_nodes_and_edges"]]])
def test_a_header_that_names_no_migrations_is_no_bundle(graph: MemoryGraph, tmp_path: Path, schema: Any) -> None:
    with pytest.raises(ScriptError) as caught:
        imported(graph, made(header={"schema": schema}), tmp_path)
    assert [(each.line, each.code) for each in caught.value.problems] == [(1, "not-a-bundle")]


@pytest.mark.parametrize("value", [1 << 64, -(1 << 63) - 1, ["a", 1], "\ud800"])
def test_a_value_that_neo4j_cannot_hold_is_an_error_of_ours(graph: MemoryGraph, tmp_path: Path, value: Any) -> None:
    with pytest.raises(MemoryGraphError):
        imported(graph, made({"node": ["Node", "x"], "labels": ["Node"], "properties": {**OWN, "a": value}}), tmp_path)


def test_a_label_is_a_label_whatever_its_text_is(graph: MemoryGraph, tmp_path: Path) -> None:
    label = "A` DETACH DELETE n //"
    copy = imported(graph, made({"node": ["Node", "x"], "labels": [label, "Node"], "properties": OWN}), tmp_path)
    found = copy.query("MATCH (n {namespace: $namespace}) RETURN labels(n) AS labels")
    assert [sorted(row["labels"]) for row in found] == [[label, "Node"]]


def test_a_run_that_came_with_a_bundle_names_no_file_of_another_folder(graph: MemoryGraph, tmp_path: Path) -> None:
    victim = tmp_path / "victim.jsonl"
    victim.write_text("{}\n")
    run = str(victim.with_suffix(""))
    hostile = made({"node": ["Run", run], "labels": ["Run"], "properties": {**OWN, "id": run}})
    copy = imported(graph, hostile, tmp_path)
    assert copy.forget(run).went == {"runs": 1}
    assert victim.read_text() == "{}\n"


def test_the_file_of_an_export_is_whole_or_not_there(graph: MemoryGraph, tmp_path: Path) -> None:
    graph.load(WORLD)
    report = graph.export_bundle(tmp_path / "bundle")
    assert (tmp_path / "bundle").read_text() == exported(graph)
    assert report.as_dict()["sha256"] in exported(graph).splitlines()[-1]
    with pytest.raises(MemoryGraphError, match="cannot write"):
        graph.export_bundle(tmp_path / "nowhere" / "bundle")
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


@pytest.fixture
def everything(graph: MemoryGraph) -> MemoryGraph:
    """A namespace with a node or relationship in most parts of a bundle, keys of two values and none among them."""
    graph.load(WORLD)
    for text in ("coffee", "water", "milk"):
        graph.load(f'Node(node_id="a", data="{text}");')
    graph.load('Edge(edge_id="f", from_node="b", to_node="a", verb="knows", weight=0.5);')
    graph.entities.create([Entity(name="Ada", entity_type="person", observations=["likes tea", "reads"])])
    _think(graph, 1)
    graph.messages("c").append({"role": "user", "content": "tea \u2028 \U0001f375"})
    for number in (1, 2, True, [3]):
        _raw(graph, "CREATE (:Other {namespace: $namespace})-[:NEXT]->(:Other {namespace: $namespace, n: 1})")
        made = (
            "MATCH (a:Node {namespace: $namespace, id: 'a'}) CREATE (a)-[:EDGE {namespace: $namespace, id: $id}]->(a)"
        )
        _raw(graph, made, id=number)
    return graph


def _raw(graph: MemoryGraph, text: str, **parameters: Any) -> None:
    query = Query(text, {"namespace": graph.namespace, **parameters})
    graph.connection.write(lambda transaction: transaction.run(query))


def _places(bundle: bytes) -> list[int]:
    """Where to cut a bundle: behind the first and the last line of each of its parts, and inside of the next line."""
    lines = bundle.splitlines(keepends=True)
    parts = [str((each := json.loads(line)).get("node", each.get("from", [""]))[:1]) for line in lines]
    ends = [end for end in range(1, len(lines)) if not parts[end - 2] == parts[end - 1] == parts[end]]
    cuts = [len(b"".join(lines[:end])) + inside for end in ends for inside in (0, 30)]
    return [0, 30, *cuts, len(bundle) - 1, len(bundle)]


@pytest.mark.slow
def test_an_export_goes_on_wherever_it_was_interrupted(everything: MemoryGraph, tmp_path: Path) -> None:
    path, partial = tmp_path / "bundle", tmp_path / "bundle.partial"
    everything.export_bundle(path)
    bundle = path.read_bytes()
    resumed = set()
    for place in _places(bundle):
        partial.write_bytes(bundle[:place])
        report = everything.export_bundle(path)
        assert path.read_bytes() == bundle, place
        assert report.began_again == "", place
        assert report.resumed_after <= max(bundle[:place].count(b"\n") - 1, 0)
        resumed.add(report.resumed_after)
        assert [each.name for each in tmp_path.iterdir()] == ["bundle"]
    assert len(resumed) > 20
    assert max(resumed) == bundle.count(b"\n") - 2


@pytest.mark.parametrize("query", mostly_slow(["bundles/nodes", "bundles/edges", "bundles/relationships"], ordinary=1))
def test_an_export_that_was_stopped_reads_only_what_is_missing_and_compares_all(
    everything: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    stream = type(everything.scope).stream
    asked: list[str] = []

    def stopped(namespace: Any, name: str, /, **parameters: Any) -> Iterator[Any]:
        asked.append(name)
        for number, row in enumerate(stream(namespace, name, **parameters)):
            if name == query and parameters.get("kind", "Node") == "Node" and number == 1:
                raise KeyboardInterrupt
            yield row

    path = tmp_path / "bundle"
    with monkeypatch.context() as patch:
        patch.setattr(type(everything.scope), "stream", stopped)
        with pytest.raises(KeyboardInterrupt):
            everything.export_bundle(path)
    assert not path.exists()
    assert everything.export_bundle(path).resumed_after >= 2
    assert path.read_text("utf-8") == exported(everything)


@pytest.mark.parametrize(
    "change",
    mostly_slow(
        [
            lambda graph: graph.load('Node(node_id="z", name="", data="");'),  # the namespace itself says so
            lambda graph: graph.messages("c").append({"role": "user", "content": "hi"}),  # no revision tells
            lambda graph: _raw(graph, "MATCH (node:Node {namespace: $namespace, id: 'a'}) SET node.data = 'x'"),
        ],
        ordinary=1,
    ),
)
def test_an_export_begins_again_and_says_so_where_the_namespace_has_changed(
    everything: MemoryGraph, tmp_path: Path, change: Callable[[MemoryGraph], object]
) -> None:
    path = tmp_path / "bundle"
    everything.export_bundle(path)
    path.rename(tmp_path / "bundle.partial")
    change(everything)
    report = everything.export_bundle(path)
    assert (report.resumed_after, report.began_again) == (0, "the namespace has changed since")
    assert path.read_text("utf-8") == exported(everything)


@pytest.mark.slow
def test_what_is_no_beginning_of_this_bundle_is_not_gone_on_with(
    everything: MemoryGraph, twin: MemoryGraph, tmp_path: Path
) -> None:
    twin.load(WORLD)
    twin.export_bundle(tmp_path / "twin")
    everything.export_bundle(tmp_path / "bundle")
    bundle = (tmp_path / "bundle").read_bytes()
    changed = bundle.replace(b"coffee", b"toffee")
    for begun, why in (
        ((tmp_path / "twin").read_bytes(), "what was written is of another namespace, or of another memorygraph"),
        (b"\0\0\n", "what was written is of another namespace, or of another memorygraph"),
        (changed, "line [0-9]+ of what was written was changed since"),
        (bundle + b"{}\n", "line [0-9]+ of what was written was changed since"),
        (b"".join(bundle.splitlines(keepends=True)[:4]) + b"[]\n", "line 5 of what was written was changed since"),
    ):
        (tmp_path / "bundle.partial").write_bytes(begun)
        report = everything.export_bundle(tmp_path / "bundle")
        assert report.resumed_after == 0
        assert re.fullmatch(why, report.began_again)
        assert (tmp_path / "bundle").read_bytes() == bundle


def test_two_exports_into_one_file_do_not_mix(everything: MemoryGraph, tmp_path: Path) -> None:
    path = tmp_path / "bundle"

    def export_too(_: int) -> None:
        with pytest.raises(ConflictError, match="another process exports into"):
            everything.export_bundle(path)

    (tmp_path / "bundle.partial").write_bytes(exported(everything).encode()[:-1])
    assert everything.export_bundle(path, progress=export_too).resumed_after > 0


@pytest.mark.skipif("os.name == 'nt'", reason="needs pipes and links that have names")
def test_an_export_takes_the_place_of_nothing_but_a_file(graph: MemoryGraph, tmp_path: Path) -> None:
    """A device such as /dev/null would be gone, and so would /dev/stdout, which is a link."""
    pipe, link, folder = tmp_path / "pipe", tmp_path / "link", tmp_path / "folder"
    os.mkfifo(pipe)
    link.symlink_to(_written(tmp_path / "file", "mine"))
    folder.mkdir()
    before = sorted(tmp_path.iterdir())
    for path in (pipe, link, folder):
        with pytest.raises(MemoryGraphError, match="a link, a device or a folder stands there"):
            graph.export_bundle(path)
    assert (pipe.is_fifo(), link.is_symlink(), sorted(tmp_path.iterdir())) == (True, True, before)


@pytest.mark.skipif("not hasattr(os, 'O_NOFOLLOW')", reason="needs links that can be refused")
def test_an_export_writes_through_no_link_that_stands_beside_its_file(graph: MemoryGraph, tmp_path: Path) -> None:
    victim = _written(tmp_path / "victim", "mine")
    (tmp_path / "bundle.partial").symlink_to(victim)
    with pytest.raises(MemoryGraphError, match="cannot write"):
        graph.export_bundle(tmp_path / "bundle")
    assert victim.read_text() == "mine"
