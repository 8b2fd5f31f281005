"""Logs in Neo4j: kept to the byte, in any slices, by any number of writers, each in its namespace."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorygraph import ConflictError, MemoryGraph, MemoryGraphError, ScriptError
from memorygraph.compiler.pete.state import pieces_of
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import NamespaceTransaction, Rows, RunQuery
from memorygraph.languages import parse
from memorygraph.languages.pete.syntax import Comment, PeteProgram, Piece
from memorygraph.query import Query
from memorygraph.runtime.pete.faculties import Faculties
from memorygraph.runtime.pete.store import MAX_READS, LogStore, UnfitPiece, read_frames
from tests.conftest import empty_namespace
from tests.examples import examples
from tests.runtime.pete.loadable import loadable
from tests.runtime.pete.stored import elements, lines
from tests.trust.transactions import await_open_transactions

few = settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
WRITERS = 8
EACH = 6

LOG = """context main(&travis) {
  &heat = /* the heat in the lab */
  &travis doesn't like &heat.
  context cool(&heat) { @fan, set {"speed": 2} >> {"ok": true}
    tl;dr /* turned the fan on */ }
  &I know that &heat is 30 and &cool is "over".
  _who is _what?
"""


def store_of(graph: MemoryGraph) -> LogStore:
    return LogStore(graph.scope)


def text_of(graph: MemoryGraph, name: str) -> str:
    log = store_of(graph).find(name)
    assert log is not None
    return store_of(graph).read(log).text


def pieces(text: str) -> list[Piece]:
    """The pieces of a text that goes on in the outermost context."""
    program = parse(f"context x() {{{text}", "pete")
    assert isinstance(program, PeteProgram)
    return list(pieces_of(program.items, program.source.text))[1:]


def entries(graph: MemoryGraph) -> int:
    [row] = graph.query("MATCH (entry:Entry {namespace: $namespace}) RETURN count(entry) AS entries")
    return int(row["entries"])


@pytest.mark.slow
@few
@given(data=st.data())
def test_a_log_is_kept_to_the_byte(connection: Connection, data: st.DataObject) -> None:
    text = data.draw(loadable)
    graph = empty_namespace(connection)
    graph.load(text, "pete")
    name = store_of(graph).logs()[0].name
    kept = text_of(graph, name)  # with the blanks at the end of a comment, and without those behind all statements
    assert text.lstrip(" \t\r\n").startswith(kept)
    assert kept.rstrip(" \t\r\n") == text.strip(" \t\r\n")
    stored = elements(graph)
    graph.load(text, "pete")
    assert elements(graph) == stored


@pytest.mark.slow
@settings(few, max_examples=examples(12))
@given(data=st.data())
def test_a_log_that_grows_in_slices_is_the_same_as_at_once(connection: Connection, data: st.DataObject) -> None:
    text = data.draw(loadable)
    program = parse(text, "pete")
    assert isinstance(program, PeteProgram)
    ends = [item.span.end for item in program.items]
    slices = [*sorted(data.draw(st.sets(st.sampled_from(ends), max_size=4))), len(text)]
    once, grown = empty_namespace(connection), empty_namespace(connection)
    once.load(text, "pete")
    for end in slices:
        grown.load(text[:end], "pete")
    name = store_of(once).logs()[0].name
    assert text_of(grown, name) == text_of(once, name)
    for section in ("facts", "said", "contexts", "entries", "bindings", "fields", "nodes"):
        assert lines(grown, section).count("\n") == lines(once, section).count("\n"), section
    for section in ("facts", "said", "entries", "fields"):
        assert lines(grown, section) == lines(once, section), section


@pytest.mark.slow
@settings(few, max_examples=examples(12))
@given(text=loadable, size=st.integers(1, 5))
def test_a_log_that_is_loaded_in_batches_is_the_same_as_at_once(connection: Connection, text: str, size: int) -> None:
    program = parse(text, "pete")
    assert isinstance(program, PeteProgram)
    once, grown = empty_namespace(connection), empty_namespace(connection)
    once.load(text, "pete")
    report = store_of(grown).load_batches(program, size)
    assert report.statements == len(program.statements)
    assert report.revision == max(1, -(-len(program.statements) // size))
    name = store_of(once).logs()[0].name
    assert text_of(grown, name) == text_of(once, name)
    for section in ("facts", "said", "entries", "fields"):
        assert lines(grown, section) == lines(once, section), section


def test_a_log_in_batches_goes_on_after_what_is_stored_of_it(graph: MemoryGraph, tmp_path: Path) -> None:
    path = tmp_path / "main.pete"
    path.write_text(LOG)
    told: list[int] = []
    report = graph.load_file(path, batch=2, progress=told.append)
    assert (report.statements, report.revision, told) == (6, 3, [0, 2, 2, 2])
    assert text_of(graph, "main") == LOG.strip()
    path.write_text(f"{LOG}  // one\n  // two\n")
    report = graph.load_file(path, batch=5)
    assert (report.resumed_after, report.statements, report.revision) == (6, 2, 4)
    report = graph.load_file(path, batch=5)
    assert (report.resumed_after, report.statements) == (8, 0)
    with pytest.raises(MemoryGraphError, match="does not begin anew"):
        graph.load_file(path, batch=5, restart=True)


def test_a_batch_of_a_log_that_fits_nothing_leaves_those_before_it(graph: MemoryGraph, tmp_path: Path) -> None:
    path = tmp_path / "main.pete"
    path.write_text("context main() {\n  // one\n  // two\n  // three\n  memory:99 has 3.\n")
    with pytest.raises(ScriptError, match="memory:99") as wrong:
        graph.load_file(path, batch=2)
    assert wrong.value.stored_statements == 2
    assert text_of(graph, "main") == "context main() {\n  // one\n  // two"
    path.write_text(path.read_text().replace("memory:99", "&main"))
    assert graph.load_file(path, batch=2).resumed_after == 2


def test_a_log_in_batches_ends_where_somebody_else_stores_the_next(graph: MemoryGraph, tmp_path: Path) -> None:
    path = tmp_path / "main.pete"
    path.write_text(LOG)

    def store_rest(done: int) -> None:
        if done:
            graph.load(LOG, "pete")

    with pytest.raises(ConflictError, match="load it again"):
        graph.load_file(path, batch=2, progress=store_rest)
    assert text_of(graph, "main") == LOG.strip()
    assert graph.load_file(path, batch=2).resumed_after == 6


def test_a_file_with_a_mark_and_any_ends_of_lines_is_kept(graph: MemoryGraph) -> None:
    text = "\ufeff\r\n context main() {\r\n  // one  \r\n\t&a = /* a\r\n b */\r\n  &a has 3.\r\n\r\n"
    graph.load(text, "pete")
    assert text_of(graph, "main") == text.strip("\ufeff \t\r\n")
    assert graph.load(text.rstrip(), "pete").nodes_updated == 0


def test_writers_of_one_log_take_turns_and_lose_nothing(graph: MemoryGraph) -> None:
    graph.load("context main() {", "pete")
    log = store_of(graph).find("main")

    def write(writer: int) -> None:
        for number in range(EACH):
            piece = Piece(Comment(f" {writer}: {number}"), f"\n  // {writer}: {number}")
            store_of(graph).append(log, [piece])

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    frame = store_of(graph).read(log or 0)
    assert [part.index for part in frame.parts] == list(range(WRITERS * EACH))
    said = frame.text.splitlines()[1:]
    assert sorted(said) == sorted(f"  // {writer}: {number}" for writer in range(WRITERS) for number in range(EACH))
    for writer in range(WRITERS):
        assert [line for line in said if f"// {writer}:" in line] == [
            f"  // {writer}: {number}" for number in range(EACH)
        ]


def replay(*reads: Rows) -> RunQuery:
    """A `run` that gives these rows, one list after the other."""
    left = iter(reads)

    def run(_query: str | Query, /, **_parameters: Any) -> Rows:
        return next(left)

    return run


TORN = [
    ("", "  // more\n  context one() { // in one\n"),
    ("  context one() { // in one\n", "  }\n  // more\n"),
    ("  // one\n", "  context one() { }\n  // more\n"),
    ("  context one() { context two() { // in two\n", "  } }\n  // more\n"),
    ("  // one\n", "  // two\n"),
]


@pytest.mark.parametrize(("before", "after"), TORN)
def test_a_log_that_others_write_while_it_is_read_is_read_without_holes(
    graph: MemoryGraph, before: str, after: str
) -> None:
    begun = "context main() {\n"
    graph.load(begun + before, "pete")
    log = store_of(graph).find("main") or 0
    earlier = graph.scope.read("pete/read-log", log=log)
    graph.load(begun + before + after, "pete")
    later = graph.scope.read("pete/read-log", log=log)
    torn = [row for row in earlier if row["part"] == "context"] + [row for row in later if row["part"] == "entry"]
    assert read_frames(replay(torn, later), log)[log].text == (begun + before + after).strip()


def test_a_command_that_is_answered_while_its_log_is_read_leaves_everything_in_its_order(graph: MemoryGraph) -> None:
    graph.load("context main() {\n  look\n  // waiting\n  context one() {\n  // in one\n", "pete")
    log = store_of(graph).find("main") or 0
    earlier = graph.scope.read("pete/read-log", log=log)
    [pending] = store_of(graph).pending(log)
    store_of(graph).answer(pending, Faculties())
    later = graph.scope.read("pete/read-log", log=log)
    torn = [row for row in earlier if row["part"] == "context"] + [row for row in later if row["part"] == "entry"]
    text = read_frames(replay(torn, later), log)[log].text
    assert [line.split(" >>")[0].strip() for line in text.splitlines()[1:]] == [
        "look",
        "// waiting",
        "context one() {",
        "// in one",
    ]


def test_a_log_that_others_write_all_the_time_is_a_conflict_and_one_stored_with_holes_is_read(
    graph: MemoryGraph,
) -> None:
    graph.load("context main() {\n  context one() { // in one\n  }\n  // more\n", "pete")
    log = store_of(graph).find("main") or 0
    rows = graph.scope.read("pete/read-log", log=log)
    holes = [row for row in rows if row["name"] != "one"]
    assert "in one" not in read_frames(replay(holes, holes), log)[log].text
    always_others = [holes * number for number in range(1, MAX_READS + 1)]
    with pytest.raises(ConflictError, match="while it is read; try again"):
        read_frames(replay(*always_others), log)


def test_a_log_that_is_deleted_while_a_load_looks_at_it_begins_anew(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NamespaceTransaction, "run", find_deleted(NamespaceTransaction.run))
    program = parse(LOG, "pete")
    assert isinstance(program, PeteProgram)
    assert store_of(graph).queries(program)


def find_deleted(run: Any) -> Any:
    """A `run` that finds a log which is not there any more when it is read."""

    def find(transaction: NamespaceTransaction, query: Any, **parameters: Any) -> Any:
        return [{"address": 99}] if query == "pete/find-root" else run(transaction, query, **parameters)

    return find


def test_two_logs_at_once_make_each_concept_once(graph: MemoryGraph) -> None:
    def load(name: str) -> None:
        graph.load(f"context {name}() {{ &a = /* a */ &{name} has &a. context inner() {{ &a = /* A */ }} }}", "pete")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(load, ["one", "two", "three", "four"]))
    assert lines(graph, "nodes").count("| a") == 1
    assert sorted(log.name for log in store_of(graph).logs()) == ["four", "one", "three", "two"]


def test_addresses_have_no_gaps_but_for_ids_that_are_taken(graph: MemoryGraph) -> None:
    graph.load('Node(node_id="memory-2", name="x", data=""); Node(node_id="memory-5", name="y", data="");')
    graph.load("context main() { &a = /* a */ &b = /* b */ &a is &b.", "pete")
    graph.load("context main() { &a = /* a */ &b = /* b */ &a is &b. &a is &b. &c = /* c */", "pete")
    graph.load("context other() {", "pete")
    rows = graph.query("MATCH (n:Node {namespace: $namespace}) WHERE n.memory > 0 RETURN n.memory AS at ORDER BY at")
    assert [row["at"] for row in rows] == [1, 3, 4, 6, 7]


def test_an_address_is_not_given_out_again(graph: MemoryGraph) -> None:
    graph.load("context main() { &a = /* a */", "pete")
    graph.delete("memory-1")
    graph.delete("memory-2")
    graph.load("context main() {", "pete")
    assert lines(graph, "contexts").startswith("memory:3 main")


def test_a_load_that_fails_gives_out_no_address(graph: MemoryGraph) -> None:
    with pytest.raises(ScriptError):
        graph.load("context main() { &a = /* a */ &b = memory:99 }", "pete")
    graph.load("context main() {", "pete")
    assert lines(graph, "contexts").startswith("memory:1 main")


def test_deleting_a_log_takes_all_of_it_with_what_it_alone_said(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    said = lines(graph, "facts"), lines(graph, "nodes")
    graph.delete(f"memory-{store_of(graph).find('main')}")
    assert entries(graph) == 0
    assert (lines(graph, "contexts"), store_of(graph).logs()) == ("", [])
    # What it says of something goes with it, and so would what spoke of a context: that would be half a statement.
    assert [line for line in said[1].splitlines() if line not in lines(graph, "nodes").splitlines()] == [
        "Statement | that cool is over",
        "Statement | that the heat in the lab is 30",
        "Statement | that the heat in the lab is 30 and cool is over",
    ]
    assert "travis | doesn't like | the heat in the lab" in said[0]
    assert lines(graph, "facts") == ""
    graph.load(LOG, "pete")
    assert text_of(graph, "main") == LOG.strip()


def test_contexts_in_each_other_can_be_deleted_by_one_program(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    cool = next(line.split()[0] for line in lines(graph, "contexts").splitlines() if " cool " in line)
    main = store_of(graph).find("main")
    graph.load(f'del(id="memory-{main}"); del(id="{cool.replace(":", "-")}");')
    assert (entries(graph), lines(graph, "contexts")) == (0, "")


def test_dropping_a_namespace_leaves_no_entry(graph: MemoryGraph) -> None:
    graph.load(LOG, "pete")
    assert entries(graph) > 0
    graph.drop_namespace(graph.namespace)
    [row] = graph.query("MATCH (any {namespace: $namespace}) RETURN count(any) AS left")
    assert row == {"left": 0}


def test_namespaces_are_walls(connection: Connection) -> None:
    one, two = empty_namespace(connection), empty_namespace(connection)
    one.load('Node(node_id="fan", name="fan", data="");')
    one.load(LOG, "pete")
    before = elements(one)
    two.load("context main() { &heat = /* the heat in the lab */ &fan = /* fan */ &heat is 30. _x is 30?", "pete")
    assert elements(one) == before
    assert [log.name for log in store_of(two).logs()] == ["main"]
    assert lines(two, "bindings").splitlines()[-1] == "main &x = the heat in the lab"
    assert "fan | fan" not in lines(two, "nodes")
    with pytest.raises(ScriptError, match="there is no memory:7"):
        two.load("context next() { &a = memory:7 }", "pete")


HOSTILE = [
    "'}) DETACH DELETE n //",
    "`}) MATCH (n) DETACH DELETE n //",
    '\\"}) MATCH (n) DETACH DELETE n RETURN (\\"',
    "$namespace + $rows {id: 1} \\u0027 \\u0060",
    ":Node|Context) SET n.namespace = null //",
    "+name:* OR namespace_token:[* TO *] AND (~ ^2 !",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_stay_data(connection: Connection, hostile: str) -> None:
    canary, graph = empty_namespace(connection), empty_namespace(connection)
    canary.load('Node(node_id="n", name="canary", data="d");')
    canary.load(LOG, "pete")
    before = elements(canary)
    text = (
        f'context main() {{\n  &a = /* {hostile} */\n  &a has "{hostile}".\n  // {hostile}\n'
        f'  !! x {hostile}\n  @[key: {hostile.replace("]", "")}]\n  @fan, set {{"{hostile}": "{hostile}"}}\n'
        f"  &I knows that &a is &a.\n  _x is &a if _x has &a.\n  _y has _z?\n  tl;dr /* {hostile} */\n}}"
    )
    graph.load(text, "pete")
    assert text_of(graph, "main") == text
    assert hostile in lines(graph, "nodes")
    assert elements(canary) == before


@pytest.mark.parametrize("key", ["n", "name", "a" * 100, "a" * 20_000, "namespace_token", "log", "x} DELETE n"])
def test_the_key_of_a_note_is_a_field_or_nothing(graph: MemoryGraph, key: str) -> None:
    text = f"context main() {{ @[{key}: 1] }}"
    graph.load(text, "pete")
    assert text_of(graph, "main") == text
    [row] = graph.query(
        "MATCH (c:Context {namespace: $namespace}) RETURN keys(c) AS keys, c.name AS name, c.log AS log"
    )
    assert (row["name"], row["log"]) == ("main", 1)
    field = len(key) <= 100 and key.isidentifier()
    assert [name for name in row["keys"] if "field" in name] == ([f"field_{key}"] if field else [])


@pytest.mark.parametrize(
    "text",
    [
        "context main() {{ &a = /* {long} */ &b = /* {long} */ &a is &b. }}",
        'context main() {{ &I have "{long}". }}',
        "context main(&{long}) {{ &{long} is 3. }}",
        "context main() {{ tl;dr /* {long} */ }}",
        "context main() {{ _{long} has 3. }}",
        "context main() {{ &I know that &I {long} 3. @{long}, {long} }}",
        "context main() {{ !! {long} 3\n }}",
    ],
)
def test_long_words_and_texts_are_kept(graph: MemoryGraph, text: str) -> None:
    text = text.format(long="aB3" * 7_000)
    graph.load(text, "pete")
    assert text_of(graph, "main") == text


def test_a_long_value_is_found_by_its_end(graph: MemoryGraph) -> None:
    graph.load('context main() { &I have "' + "word " * 50 + 'marmalade". }', "pete")
    [found] = graph.search("marmalade")
    assert (len(found.node.name), found.node.data) == (200, "word " * 50 + "marmalade")


@pytest.mark.parametrize(
    "text",
    [
        "context {long}() {{ }}",
        "context main() {{ context {long}() {{ }} }}",
        "context main() {{ &I {long} 3. }}",
        "context main() {{ _x {long} 3? }}",
        "context main() {{ _x {long} 3 if _x is 3. }}",
        "context main() {{ _x is 3 if _x {long} 3. }}",
    ],
)
def test_words_that_are_looked_up_have_a_length(graph: MemoryGraph, text: str) -> None:
    with pytest.raises(ScriptError, match="at most 500 characters") as error:
        graph.load(text.format(long="aB3" * 7_000), "pete")
    assert error.value.problems[0].code == "name-too-long"
    graph.load(text.format(long="a" * 500), "pete")


def test_nothing_is_added_to_a_closed_log(graph: MemoryGraph) -> None:
    graph.load("context main() { }", "pete")
    before = elements(graph)
    for text in (" // more", " context main() {", " &a = /* a */"):
        with pytest.raises(UnfitPiece, match="no context is open here"):
            store_of(graph).append(1, pieces(text), live=True)
    with pytest.raises(UnfitPiece, match="no context is open here"):
        store_of(graph).append(None, pieces(" // more"))
    assert elements(graph) == before


def test_pieces_go_where_the_writer_thinks_or_nowhere(graph: MemoryGraph) -> None:
    graph.load("context main() { context inner() {", "pete")
    with pytest.raises(ConflictError, match="went on elsewhere"):
        store_of(graph).append(1, pieces(" // more"), stack=[1])
    store_of(graph).append(1, pieces(" // more"), stack=[1, 2])
    assert text_of(graph, "main") == "context main() { context inner() { // more"


def test_a_model_may_speak_of_what_nobody_knows(graph: MemoryGraph) -> None:
    graph.load("context main() { &a = /* a */", "pete")
    items = pieces(" &b likes &c.")
    warnings, _ = store_of(graph).append(1, items, live=True)
    assert [(warning.code, warning.message[:4]) for warning in warnings] == [
        ("unknown-ref", "`&b`"),
        ("unknown-ref", "`&c`"),
    ]
    assert store_of(graph).append(1, items, live=True) == ((), None)
    assert lines(graph, "facts") == "b | likes | c"
    graph.load("context other() { &b = /* b */ &b has 1. }", "pete")
    assert lines(graph, "facts") == "b | has | 1\nb | likes | c"
    assert lines(graph, "nodes").count("| b") == 2


_CLIENT = """
import sys
from memorygraph import MemoryGraph
with MemoryGraph.connect() as mg:
    print("ready", flush=True)
    mg.load(open(sys.argv[1]).read(), "pete")
"""


@pytest.mark.slow
def test_a_killed_load_leaves_all_or_nothing(
    environment: str, connection: Connection, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("logs") / "large.pete"
    statements = "".join(f"\n  &a{n} = /* thing {n} */ &a{n} has {n}." for n in range(1500))
    path.write_text(f"context main() {{{statements}\n  _x has 7?\n}}", "utf-8")
    graph = MemoryGraph(connection, environment)
    for wait in (0.9, 1.6):
        with subprocess.Popen([sys.executable, "-c", _CLIENT, str(path)], stdout=subprocess.PIPE) as client:
            assert client.stdout
            assert client.stdout.readline() == b"ready\n"
            time.sleep(wait * random.uniform(0.7, 1.3))
            client.kill()
        await_open_transactions(connection)
        stored = entries(graph), lines(graph, "facts").count("\n"), lines(graph, "nodes").count("\n")
        assert stored in [(0, 0, 0), (3001, 1499, 2999)]
    graph.load_file(path)
    assert text_of(graph, "main") == path.read_text("utf-8")
