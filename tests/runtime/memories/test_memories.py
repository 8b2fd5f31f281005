"""Memories keep records in files and in the graph, and find them again."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memorygraph import MemoryGraph
from memorygraph.context.origins import origins_of
from memorygraph.errors import ConnectionError, MemoryGraphError
from memorygraph.languages.contextscript import is_identifier
from memorygraph.limits import LimitExceeded, RunBudget, RunLimits
from memorygraph.runtime.memories import ImportedMemory, MemoryFailure, open_memory
from memorygraph.runtime.memories import graph as graph_memory
from memorygraph.runtime.memories.jsonl import read_envelopes
from memorygraph.runtime.permissions import Permissions, Refused
from tests.full_disk import max_file_bytes
from tests.memory.recalling import learn

FACTS: list[dict[str, Any]] = [
    {"kind": "fact", "text": "Ada wrote the first program", "year": 1843},
    {"kind": "rule", "text": "Answer in ONE line"},
    {"kind": "fact", "text": "Größe matters", "tags": ["a", {"b": None}], "year": 1843.5},
]

URIS = ("file://facts.jsonl", "sqlite://facts.db", "sqlite://facts.db#topic", "neo4j://")


def call(memory: ImportedMemory, method: str, *arguments: Any) -> Any:
    return memory.call(method, list(arguments)).value


def texts(memory: ImportedMemory, *arguments: Any) -> list[str]:
    return [kept["record"]["text"] for kept in call(memory, "query", *arguments)]


@pytest.fixture(params=URIS)
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> ImportedMemory:
    """A memory of each kind, empty."""
    graph = request.getfixturevalue("graph") if request.param.startswith("neo4j") else None
    return open_memory("Facts", request.param, tmp_path, graph)


@pytest.fixture
def full(memory: ImportedMemory) -> ImportedMemory:
    for fact in FACTS:
        call(memory, "add", fact)
    return memory


def test_what_is_added_comes_back_in_its_envelope(memory: ImportedMemory) -> None:
    result = memory.call("add", [FACTS[2]])
    kept = result.value
    assert list(kept) == ["id", "created_at", "updated_at", "record"]
    assert (result.id, result.record, kept["record"], result.count) == (kept["id"], FACTS[2], FACTS[2], None)
    assert kept["created_at"] == kept["updated_at"]
    assert kept["created_at"].endswith("Z")
    found = memory.call("query", [])
    assert (found.value, found.count) == ([kept], 1)


def test_an_empty_memory_has_nothing(memory: ImportedMemory) -> None:
    assert memory.call("query", [{"kind": "fact"}]).value == []


def test_the_newest_are_first_and_ten_at_most(memory: ImportedMemory) -> None:
    for number in range(12):
        call(memory, "add", {"text": str(number)})
    assert texts(memory) == [str(number) for number in range(11, 1, -1)]
    assert texts(memory, {"limit": 2}) == ["11", "10"]
    for limit in (100, 1e300, 10**400):
        assert len(texts(memory, {"limit": limit})) == 12


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, [2, 1, 0]),
        ({}, [2, 1, 0]),
        ({"kind": "fact"}, [2, 0]),
        ({"kind": "Fact"}, []),
        ({"text": "one LINE"}, [1]),
        ({"text": "GRÖSSE"}, []),
        ({"text": "GRÖ"}, [2]),
        ({"text": ""}, [2, 1, 0]),
        ({"text": "1843"}, [2, 0]),
        ({"where": {"year": 1843}}, [0]),
        ({"where": {"year": "1843"}}, []),
        ({"where": {"tags": ["a", {"b": None}]}}, [2]),
        ({"where": {"none": None}}, []),
        ({"kind": "fact", "text": "ada", "where": {"year": 1843.0}, "limit": 1.0}, [0]),
        ({"kind": None, "text": None, "where": None, "limit": None}, [2, 1, 0]),
        ({"text": "' OR 1=1 --"}, []),
        ({"text": "%"}, []),
    ],
)
def test_a_filter(wanted: Any, found: list[int], full: ImportedMemory) -> None:
    assert texts(full, wanted) == [FACTS[number]["text"] for number in found]


@pytest.mark.parametrize("text", ['she said "Hi', 'Hi"\nand', "\\left", "a\u2028B"])
def test_a_filter_finds_what_json_writes_in_another_way(text: str, memory: ImportedMemory) -> None:
    call(memory, "add", {"text": "other"})
    call(memory, "add", {"text": 'She said "hi"\nand \\left a\u2028b'})
    assert len(texts(memory, {"text": text})) == 1


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("query", [{"colour": 1}], "a filter has no `colour`; it has kind, text, where, limit"),
        ("query", [{"limit": 0}], "a whole number from 1, and this is 0"),
        ("query", [{"limit": 1.5}], "a whole number from 1"),
        ("query", [{"limit": math.inf}], "a whole number from 1, and this is inf"),
        ("query", [{"limit": math.nan}], "a whole number from 1, and this is nan"),
        ("query", [{"limit": "2"}], "a whole number from 1, and this is a text"),
        ("query", [{"limit": True}], "a whole number from 1"),
        ("query", [{"kind": 1}], "`kind` is a text"),
        ("query", [{"text": []}], "`text` is a text, and this is a list"),
        ("query", [{"where": "x"}], "`where` is an object"),
        ("query", ["ada"], "a filter is an object, and this is a text"),
        ("query", [{}, {}], "it takes"),
        ("add", ["text"], "a record is an object, and this is a text"),
        ("add", [], "it takes"),
        ("add", [{"a": object()}], "."),
        ("forget", [], "it has no such method; it has add, query"),
    ],
)
def test_failures_say_whose_they_are(method: str, arguments: list[Any], message: str, memory: ImportedMemory) -> None:
    with pytest.raises(MemoryFailure, match=rf"^Memory Facts\.{method} \({memory.uri}\) failed: .*{message}"):
        memory.call(method, arguments)
    assert call(memory, "query") == []


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"text": "\ud800 half, \u2028, \x85, \0, \r\n, \\, \", '"},
        {"name": "\n\0 ", "data": 1},
        {"id": "n1", "kind": "fact", "name": "not a node, for it has a kind"},
        {"2": 1, "1": [[[]]], "": {}},
        {"n": 12345678901234567890, "f": 1e300, "small": -0.5},
        {"text": "x" * 100_000},
        {"__proto__": "}; DELETE n; //", "data": '");\nNode(node_id="evil", name="", data="");'},
    ],
)
def test_any_object_is_kept_as_it_is(record: dict[str, Any], memory: ImportedMemory) -> None:
    call(memory, "add", record)
    [kept] = call(memory, "query")
    assert kept["record"] == record


def test_a_record_is_a_copy(memory: ImportedMemory) -> None:
    record: dict[str, Any] = {"tags": ["a"]}
    kept = call(memory, "add", record)
    record["tags"].append("b")
    assert kept["record"] == call(memory, "query")[0]["record"] == {"tags": ["a"]}


def test_threads_add_together(memory: ImportedMemory) -> None:
    threads = [
        threading.Thread(target=lambda n=n: [call(memory, "add", {"n": n, "m": m}) for m in range(5)]) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = call(memory, "query", {"limit": 100})
    assert sorted((kept["record"]["n"], kept["record"]["m"]) for kept in found) == [
        (n, m) for n in range(4) for m in range(5)
    ]
    assert len({kept["id"] for kept in found}) == 20


@pytest.mark.slow
@pytest.mark.parametrize("uri", ["file://facts.jsonl", "sqlite://facts.db"])
def test_processes_add_together(uri: str, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_add_many, args=(uri, str(tmp_path), number)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    found = call(open_memory("Facts", uri, tmp_path, None), "query", {"limit": 1000})
    assert len(found) == 60


def _add_many(uri: str, folder: str, number: int) -> None:
    memory = open_memory("Facts", uri, Path(folder), None)
    for n in range(20):
        memory.call("add", [{"process": number, "n": n, "text": "x" * 10_000}])


def _add_forever(folder: str, number: int) -> None:
    memory = open_memory("Facts", "file://facts.jsonl", Path(folder), None)
    for n in range(1_000_000):
        memory.call("add", [{"process": number, "n": n, "text": "x" * 2_000}])


@pytest.mark.parametrize(
    "uri", ["", "facts.jsonl", "file://", "file://facts.json", "file://.bashrc", "sqlite://", "sqlite://#a", "http://a",
            "neo4j://a/b", "neo4j://a?b", "neo4j://a#b", "neo4j://%00"]
)  # fmt: skip
def test_a_uri_that_names_no_memory_is_said(uri: str, tmp_path: Path, graph: MemoryGraph) -> None:
    with pytest.raises(MemoryGraphError, match="the memory `Facts` cannot be at"):
        open_memory("Facts", uri, tmp_path, graph)


@pytest.mark.parametrize("uri", ["file://{}/facts.jsonl", "sqlite://{}/facts.db"])
@pytest.mark.parametrize("way", ["..", "{absolute}", "link", "%2e%2e"])
def test_files_elsewhere_need_a_permission(uri: str, way: str, tmp_path: Path) -> None:
    folder = tmp_path / "script"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    uri = uri.format(way.format(absolute=tmp_path))
    memory = open_memory("Facts", uri, folder, None)
    for method, arguments in (("add", [FACTS[0]]), ("query", [])):
        with pytest.raises(Refused, match="--allow-tool file"):
            memory.call(method, arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script"]
    allowed = open_memory("Facts", uri, folder, None, Permissions.of(["file"]))
    call(allowed, "add", FACTS[0])
    assert texts(allowed) == [FACTS[0]["text"]]
    assert (tmp_path / uri.rpartition("/")[2]).exists()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("uri", ["file://facts.jsonl", "sqlite://facts.jsonl"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_refused(uri: str, make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "facts.jsonl")
    memory = open_memory("Facts", uri, tmp_path, None)
    for method, arguments in (("add", [FACTS[0]]), ("query", [])):
        with pytest.raises(MemoryFailure, match=r"plain file|a folder"):
            memory.call(method, arguments)


# Their time has no end: no row is of the topic that is asked for.
ENDLESS_ROWS = (
    "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
    "SELECT id AS number, id AS topic, id, '' AS created_at, '' AS updated_at, '{}' AS record FROM n"
)


class TestJsonLines:
    """What a crash leaves, and what others write."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "facts.jsonl"

    @pytest.fixture
    def memory(self, path: Path) -> ImportedMemory:
        return open_memory("Facts", "file://facts.jsonl", path.parent, None)

    def test_each_record_is_a_line(self, memory: ImportedMemory, path: Path) -> None:
        kept = [call(memory, "add", fact) for fact in FACTS]
        assert [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]] == kept

    @pytest.mark.parametrize("cut", [1, 2, 20, 60])
    def test_a_torn_last_line_is_skipped_and_repaired(self, cut: int, memory: ImportedMemory, path: Path) -> None:
        for fact in FACTS:
            call(memory, "add", fact)
        content = path.read_bytes()
        path.write_bytes(content[:-cut])
        whole = cut == 1  # only the line break is missing
        assert texts(memory) == [fact["text"] for fact in (FACTS if whole else FACTS[:2])][::-1]
        call(memory, "add", {"text": "new"})
        assert texts(memory) == ["new", *[fact["text"] for fact in (FACTS if whole else FACTS[:2])][::-1]]
        assert len(path.read_bytes().split(b"\n")) == (5 if whole else 4)

    def test_a_line_that_is_being_written_is_no_record_yet(self, memory: ImportedMemory, path: Path) -> None:
        for fact in FACTS[:2]:
            call(memory, "add", fact)
        whole = path.read_bytes().splitlines(keepends=True)
        # As a file gives them that grew behind its end: a write that crosses a page is seen in two parts.
        assert len(list(read_envelopes([whole[0], whole[1][:60], whole[1][60:]]))) == 1

    def test_a_torn_line_of_any_length_is_repaired(self, memory: ImportedMemory, path: Path) -> None:
        call(memory, "add", FACTS[0])
        call(memory, "add", {"text": "x" * 300_000})
        path.write_bytes(path.read_bytes()[:-10])
        call(memory, "add", FACTS[1])
        assert texts(memory) == [FACTS[1]["text"], FACTS[0]["text"]]

    @pytest.mark.parametrize("taken", [1, 20, 60])
    def test_a_record_that_a_full_disk_takes_a_part_of_is_refused(
        self, taken: int, memory: ImportedMemory, path: Path
    ) -> None:
        call(memory, "add", FACTS[0])
        with max_file_bytes(path.stat().st_size + taken), pytest.raises(MemoryFailure, match="too large"):
            call(memory, "add", FACTS[1])
        assert texts(memory) == [FACTS[0]["text"]]
        call(memory, "add", FACTS[2])
        assert texts(memory) == [FACTS[2]["text"], FACTS[0]["text"]]

    def test_a_file_that_is_all_torn(self, memory: ImportedMemory, path: Path) -> None:
        call(memory, "add", FACTS[1])
        path.write_bytes(path.read_bytes()[:-10])
        assert call(memory, "query") == []
        call(memory, "add", FACTS[0])
        assert texts(memory) == [FACTS[0]["text"]]

    @pytest.mark.parametrize(
        "foreign",
        [
            '{"name": "Ada"}', '{"id": 1, "record": {}}', '{"id": "1", "text": "unfini', "no JSON", "{", "[",
            "[" * 10_000, '{"id":"0123456789abcdef0123456789abcdef","name":"unfini',
            '{"id":"0123456789abcdef0123456789abcdef"',
            '{"id":"0123456789abcdef0123456789abcdef","created_at":"2026","name":"whole"}', "\xff", "text\r", "\x00",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("before", ["", '{"foreign": true}\n', "\n"])
    def test_a_last_line_of_somebody_else_is_never_shortened(
        self, before: str, foreign: str, memory: ImportedMemory, path: Path
    ) -> None:
        given = (before + foreign).encode("latin-1")
        path.write_bytes(given)
        for fact in FACTS:
            call(memory, "add", fact)
        lines = path.read_bytes().removeprefix(given).split(b"\n")
        assert path.read_bytes().startswith(given + b"\n")
        assert [json.loads(line)["record"] for line in lines[1:-1]] == FACTS
        with pytest.raises(MemoryFailure, match="of the file is no record"):
            call(memory, "query")

    def test_a_lock_that_is_a_link_leads_to_no_other_file(self, memory: ImportedMemory, path: Path) -> None:
        foreign = path.with_name("foreign.txt")
        foreign.write_text("of somebody else")
        path.with_name(f".{path.name}.lock").symlink_to(foreign)
        with pytest.raises(MemoryFailure, match=r"Memory Facts.add .* failed"):
            memory.call("add", [FACTS[0]])
        assert foreign.read_text() == "of somebody else"
        assert not path.exists()

    @pytest.mark.parametrize("line", ["{", "[]", '{"record": {}}', "\xff", '"text"', "[" * 10_000])
    def test_a_broken_line_in_the_middle_is_said_with_its_number(
        self, line: str, memory: ImportedMemory, path: Path
    ) -> None:
        call(memory, "add", FACTS[0])
        with path.open("a", encoding="latin-1") as stream:
            stream.write(f"\n{line}\n")
        call(memory, "add", FACTS[1])
        with pytest.raises(MemoryFailure, match="line 3 of the file is no record"):
            call(memory, "query")

    def test_an_old_record_stays_as_it_was_when_a_write_fails(
        self, memory: ImportedMemory, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        call(memory, "add", FACTS[0])

        def full_disk(_: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full_disk)
            with pytest.raises(MemoryFailure, match="No space left on device"):
                call(memory, "add", FACTS[1])
        call(memory, "add", FACTS[2])
        assert texts(memory)[0] == FACTS[2]["text"]
        assert texts(memory)[-1] == FACTS[0]["text"]

    @pytest.mark.slow
    def test_a_writer_that_is_killed_leaves_whole_records(self, memory: ImportedMemory, path: Path) -> None:
        for number in range(3):
            process = multiprocessing.get_context("spawn").Process(
                target=_add_forever, args=(str(path.parent), number), daemon=True
            )
            process.start()
            deadline = time.monotonic() + 30
            while not path.exists() or not any(kept["record"]["process"] == number for kept in self.all(memory)):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            process.kill()
            process.join()
            call(memory, "add", {"process": number, "n": -1})
        kept = [kept["record"] for kept in self.all(memory)][::-1]
        for number in range(3):
            mine = [record["n"] for record in kept if record["process"] == number]
            assert mine == [*range(len(mine) - 1), -1]

    @staticmethod
    def all(memory: ImportedMemory) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = call(memory, "query", {"limit": 1_000_000})
        return found

    def test_the_folder_is_made(self, tmp_path: Path) -> None:
        memory = open_memory("Facts", "file://data%20of/mine/facts.jsonl", tmp_path, None)
        assert call(memory, "query") == []
        call(memory, "add", FACTS[0])
        assert (tmp_path / "data of/mine/facts.jsonl").exists()


class TestSqlite:
    def test_topics_are_apart(self, tmp_path: Path) -> None:
        memories = [open_memory("Facts", f"sqlite://facts.db{topic}", tmp_path, None) for topic in ("", "#a", "#a%20b")]
        for number, memory in enumerate(memories):
            call(memory, "add", {"text": str(number)})
        assert [texts(memory) for memory in memories] == [["0"], ["1"], ["2"]]

    @pytest.mark.parametrize(
        "made",
        [
            f"CREATE VIEW agentscript_records AS {ENDLESS_ROWS}",
            "CREATE TABLE agentscript_records (topic, id, created_at, updated_at, record, number);"
            f"CREATE VIEW endless AS {ENDLESS_ROWS};"
            "CREATE TRIGGER t AFTER INSERT ON agentscript_records BEGIN SELECT id FROM endless WHERE topic = 0; END",
        ],
        ids=["view", "trigger"],
    )
    def test_a_file_without_an_end_ends_with_the_run(self, tmp_path: Path, made: str) -> None:
        with closing(sqlite3.connect(tmp_path / "facts.db")) as database:
            database.executescript(made)
        memory = open_memory("Facts", "sqlite://facts.db", tmp_path, None)
        method, arguments = ("add", [FACTS[0]]) if "TRIGGER" in made else ("query", [])
        with RunBudget(RunLimits(max_seconds=0.2)).active(), pytest.raises(LimitExceeded, match="seconds"):
            memory.call(method, arguments)

    def test_ctrl_c_ends_a_look_through_a_file(self, tmp_path: Path) -> None:
        with closing(sqlite3.connect(tmp_path / "facts.db")) as database:
            database.executescript(f"CREATE VIEW agentscript_records AS {ENDLESS_ROWS}")
        memory = open_memory("Facts", "sqlite://facts.db", tmp_path, None)
        main = threading.main_thread().ident
        assert main
        threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            memory.call("query", [])

    def test_a_file_that_is_no_database_is_said(self, tmp_path: Path) -> None:
        (tmp_path / "facts.db").write_text("not a database, but a text that is long enough to be looked at" * 20)
        with pytest.raises(MemoryFailure, match="the SQLite file cannot be used: file is not a database"):
            call(open_memory("Facts", "sqlite://facts.db", tmp_path, None), "query")

    def test_a_record_that_is_broken_is_said(self, tmp_path: Path) -> None:
        memory = open_memory("Facts", "sqlite://facts.db", tmp_path, None)
        call(memory, "add", FACTS[0])
        with sqlite3.connect(tmp_path / "facts.db") as database:
            database.execute("UPDATE agentscript_records SET record = '{'")
        database.close()
        with pytest.raises(MemoryFailure, match="the SQLite file cannot be used"):
            call(memory, "query")


class TestGraph:
    @pytest.fixture
    def memory(self, graph: MemoryGraph) -> ImportedMemory:
        return open_memory("Facts", "neo4j://", Path(), graph)

    def test_a_record_is_a_node_that_search_and_export_know(self, memory: ImportedMemory, graph: MemoryGraph) -> None:
        result = memory.call("add", [FACTS[0]])
        assert result.id
        assert is_identifier(result.id)
        node = graph.node(result.id)
        assert (node.name, json.loads(node.data)) == (FACTS[0]["text"], FACTS[0])
        assert [hit.id for hit in graph.search("programs")] == [result.id]
        exported = graph.export()
        assert result.id in exported
        assert MemoryGraph.check(exported) == []

    def test_records_survive_an_export(self, memory: ImportedMemory, graph: MemoryGraph) -> None:
        for fact in FACTS:
            call(memory, "add", fact)
        before, exported = call(memory, "query"), graph.export()
        graph.drop_namespace(graph.namespace)
        graph.load(exported)
        assert call(memory, "query") == before

    def test_a_name_that_no_index_holds_is_refused(self, memory: ImportedMemory) -> None:
        for fields in ({"data": "d"}, {"id": "a"}):
            with pytest.raises(MemoryFailure, match="a name of 1,501 characters is too long"):
                call(memory, "add", {"name": "x" * 1501, **fields})
        call(memory, "add", {"name": "x" * 1500, "data": "d"})

    def test_each_add_is_one_load(self, memory: ImportedMemory, graph: MemoryGraph) -> None:
        for fact in FACTS:
            call(memory, "add", fact)
        loads = graph.query("MATCH (load:Load {namespace: $namespace}) RETURN load.revision AS n ORDER BY n")
        assert [row["n"] for row in loads] == [1, 2, 3]

    def test_an_object_with_the_fields_of_a_node_is_that_node(self, memory: ImportedMemory, graph: MemoryGraph) -> None:
        added = call(memory, "add", {"id": "ada", "name": "Ada", "data": "wrote it"})
        assert added["id"] == "ada"
        assert graph.node("ada").data == "wrote it"
        call(memory, "add", {"id": "ada", "data": "wrote all of it"})
        assert (graph.node("ada").name, graph.node("ada").data) == ("Ada", "wrote all of it")
        [found] = call(memory, "query")
        record = {"id": "ada", "name": "Ada", "data": "wrote all of it"}
        assert found == {"id": "ada", "created_at": None, "updated_at": None, "record": record}

    @pytest.mark.parametrize("at", ["20269999T000000000000Z", "00000101T000000000000Z", "20260229T000000000000Z"])
    def test_an_id_whose_time_is_none_is_that_of_any_node(self, memory: ImportedMemory, at: str) -> None:
        kept = call(memory, "add", FACTS[0])
        record = {"id": f"record-{at}-ab", "name": "Ada", "data": '{"kind": "fact"}'}
        call(memory, "add", record)
        untimed = {"id": record["id"], "created_at": None, "updated_at": None, "record": record}
        found = {envelope["id"]: envelope for envelope in call(memory, "query")}
        assert found == {kept["id"]: kept, record["id"]: untimed}

    def test_a_text_of_an_object_stays_the_data_of_its_node(self, memory: ImportedMemory) -> None:
        added = call(memory, "add", {"name": "cfg", "data": '{"a": 1}'})
        call(memory, "add", {"a": 1})
        [found] = call(memory, "query", {"where": {"name": "cfg"}})
        assert found["record"] == {"id": added["id"], "name": "cfg", "data": '{"a": 1}'}
        assert [each["record"] for each in call(memory, "query", {"where": {"a": 1}})] == [{"a": 1}]

    def test_a_node_without_an_id_gets_one(self, memory: ImportedMemory, graph: MemoryGraph) -> None:
        added = call(memory, "add", {"name": "Ada", "data": "wrote it"})
        assert graph.node(added["id"]).data == "wrote it"

    @pytest.mark.parametrize("identifier", ["Ada Lovelace", "", "-a", 'a", name="x', "a\n", "x" * 600])
    def test_what_cannot_be_an_id_is_said(self, identifier: str, memory: ImportedMemory, graph: MemoryGraph) -> None:
        with pytest.raises(MemoryFailure, match="is no id of a node"):
            call(memory, "add", {"id": identifier, "name": "a", "data": "b"})
        assert graph.export() == ""

    def test_a_node_that_lacks_its_name_is_said(self, memory: ImportedMemory) -> None:
        with pytest.raises(MemoryFailure, match="name"):
            call(memory, "add", {"id": "ada"})

    @pytest.mark.parametrize("text", ['"); del(id="keep"); //', "\\", '\\"', "a\r\nb\0c\u2028", "'", "$x {y}", "`"])
    def test_texts_are_never_code(self, text: str, memory: ImportedMemory, graph: MemoryGraph) -> None:
        graph.load('Node(node_id="keep", name="k", data="d");')
        call(memory, "add", {"id": "n", "name": text, "data": text})
        assert (graph.node("n").name, graph.node("n").data) == (text, text)
        call(memory, "add", {"text": text})
        assert call(memory, "query", {"limit": 1})[0]["record"] == {"text": text}
        assert graph.node("keep").data == "d"

    @pytest.mark.parametrize(
        ("record", "name"),
        [
            ({"text": "t", "name": "n"}, "n"),
            ({"other": "o", "fact": "f"}, "f"),
            ({"n": 1, "other": " two\n lines\t"}, "two lines"),
            ({"n": 1}, "record"),
            ({"name": 5, "title": "", "x": "y"}, "y"),
            ({"text": "x" * 500}, "x" * 199 + "…"),
        ],
    )
    def test_the_name_of_a_record(
        self, record: dict[str, Any], name: str, memory: ImportedMemory, graph: MemoryGraph
    ) -> None:
        assert graph.node(call(memory, "add", record)["id"]).name == name

    def test_nodes_that_others_made_come_after_the_records(self, memory: ImportedMemory, graph: MemoryGraph) -> None:
        graph.load('Node(node_id="zoe", name="Zoe", data="z"); Node(node_id="ada", name="Ada", data="\\"fact\\"");')
        first, second = (call(memory, "add", fact)["id"] for fact in FACTS[:2])
        assert [kept["id"] for kept in call(memory, "query")] == [second, first, "ada", "zoe"]
        assert [kept["id"] for kept in call(memory, "query", {"where": {"name": "Zoe"}})] == ["zoe"]
        assert [kept["id"] for kept in call(memory, "query", {"kind": "fact"})] == [first]
        assert [kept["id"] for kept in call(memory, "query", {"text": "AD"})] == [first, "ada"]

    def test_pages_are_read_as_far_as_needed(
        self, memory: ImportedMemory, graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        graph.load("".join(f'Node(node_id="n{n}", name="n", data="d");' for n in range(7)))
        ids = [call(memory, "add", {"n": n % 4})["id"] for n in range(8)][::-1]
        everything = call(memory, "query", {"limit": 100})
        assert [kept["id"] for kept in everything] == [*ids, *(f"n{n}" for n in range(7))]
        for page in (1, 2, 3, 8):
            monkeypatch.setattr(graph_memory, "PAGE", page)
            assert call(memory, "query", {"limit": 100}) == everything
            found = call(memory, "query", {"where": {"n": 0}, "limit": 2})
            assert [kept["id"] for kept in found] == [ids[3], ids[7]]

    def test_namespaces_are_walls(self, graph: MemoryGraph) -> None:
        other = f"{graph.namespace} other/ü"
        mine = open_memory("Mine", "neo4j://", Path(), graph)
        uri = f"neo4j://{graph.namespace}%20other%2F%C3%BC"
        theirs = open_memory("Theirs", uri, Path(), graph, Permissions.of(allow_namespaces=[other]))
        graph.load('Node(node_id="a", name="wall", data=""); Node(node_id="b", name="", data="");'
                   'Edge(edge_id="e", from_node="a", to_node="b", verb="v", weight=1.0);')  # fmt: skip
        call(theirs, "add", {"id": "a", "name": "wall", "data": "theirs"})
        call(theirs, "add", {"text": "wall"})
        assert MemoryGraph(graph.connection, other).node("a").data == "theirs"
        assert [kept["id"] for kept in call(mine, "query")] == ["a", "b"]
        assert len(call(theirs, "query")) == 2
        assert [entry["id"] for entry in call(mine, "recall", "wall")] == ["a", "b"]
        assert {entry["id"] for entry in call(theirs, "recall", "wall")} == {
            kept["id"] for kept in call(theirs, "query")
        }

    def test_another_namespace_needs_a_permission(self, graph: MemoryGraph) -> None:
        other = MemoryGraph(graph.connection, f"{graph.namespace} other")
        for uri in (f"neo4j://{graph.namespace} other", f"neo4j://{graph.namespace}%20other"):
            for allowed in (Permissions(), Permissions.of(["file", "http"], ["localhost"], None, [graph.namespace])):
                with pytest.raises(Refused, match=r"--allow-namespace '.* other'`.*allow_namespaces=\[\".* other\"\]"):
                    open_memory("Theirs", uri, Path(), graph, allowed)
            memory = open_memory("Theirs", uri, Path(), graph, Permissions.of(allow_namespaces=[other.namespace]))
            call(memory, "add", {"id": "a", "name": "of theirs", "data": ""})
        assert other.node("a").name == "of theirs"

    def test_the_namespace_of_the_run_needs_none(self, graph: MemoryGraph) -> None:
        for uri in ("neo4j://", f"neo4j://{graph.namespace}"):
            call(open_memory("Mine", uri, Path(), graph), "add", {"id": "a", "name": "mine", "data": ""})
        assert graph.node("a").name == "mine"

    def test_recall_takes_a_step_along_the_edges(self, memory: ImportedMemory, graph: MemoryGraph) -> None:
        graph.load("""
            Node(node_id="ada", name="Ada", data="a mathematician");
            Node(node_id="engine", name="The Engine", data="a machine");
            Node(node_id="bernoulli", name="Numbers", data="a sequence");
            Node(node_id="far", name="Far", data="two steps away");
            Node(node_id="other", name="Other", data="not connected");
            Edge(edge_id="e1", from_node="ada", to_node="engine", verb="programmed", weight=0.9);
            Edge(edge_id="e2", from_node="bernoulli", to_node="ada", verb="computed-by", weight=0.5);
            Edge(edge_id="e3", from_node="engine", to_node="far", verb="v", weight=1.0);
            Edge(edge_id="e4", from_node="ada", to_node="ada", verb="is", weight=1.0);
            Edge(edge_id="e5", from_node="ada", to_node="engine", verb="saw", weight=0.1);
        """)
        result = memory.call("recall", ["who is Ada?"])
        found = result.value
        keys = ["id", "name", "data", "score", "source"]
        assert [list(entry) for entry in found] == [keys, [*keys, "relations"], [*keys, "relations"]]
        assert [(entry["id"], entry["source"]) for entry in found] == [
            ("ada", "fulltext"),
            ("engine", "edge:programmed"),
            ("bernoulli", "edge:computed-by"),
        ]
        assert [entry.get("relations") for entry in found] == [
            None,
            ["Ada programmed The Engine", "Ada saw The Engine"],
            ["Numbers computed-by Ada"],
        ]
        score = found[0]["score"]
        assert [entry["score"] / score for entry in found[1:]] == pytest.approx([0.5, 0.25], rel=0.001)
        assert result.count == 3
        assert [entry["id"] for entry in call(memory, "recall", "who is Ada?", 2)] == ["ada", "engine"]
        assert call(memory, "recall", "who is Ada?") == found

    def test_recall_is_that_of_the_client_and_of_nodes_alone(self, memory: ImportedMemory, graph: MemoryGraph) -> None:
        graph.messages("talk").append({"role": "user", "name": "Ada", "content": "the engine runs on steam"})
        [message] = graph.query("MATCH (message:Message {namespace: $namespace}) RETURN message.id AS id")
        for number in range(3):
            graph.load(f'Node(node_id="n{number}", name="steam engine {number}", data="steam");')
        learn(graph, [("learnt", "a fact of other words", [message["id"]])])
        found = call(memory, "recall", "steam engine")
        hits = graph.recall("steam engine", kinds=("node",)).hits
        assert [entry["id"] for entry in found] == [hit.id for hit in hits]
        assert [entry["score"] for entry in found] == pytest.approx([hit.score for hit in hits], rel=0.001)
        assert {entry["id"]: entry["source"] for entry in found} == {
            **{f"n{number}": "fulltext" for number in range(3)},
            "learnt": "edge",
        }
        assert [hit.kind for hit in graph.recall("steam engine").hits].count("message") == 1

    def test_a_node_that_is_found_both_ways_comes_once(self, memory: ImportedMemory, graph: MemoryGraph) -> None:
        graph.load("""
            Node(node_id="a", name="engine", data="engine engine");
            Node(node_id="b", name="note", data="engine");
            Edge(edge_id="e", from_node="a", to_node="b", verb="v", weight=1.0);
        """)
        found = call(memory, "recall", "engine")
        assert sorted(entry["id"] for entry in found) == ["a", "b"]
        assert found[0]["score"] >= found[1]["score"]

    @pytest.mark.parametrize("text", ["", "   ", "AND OR NOT", '"', "a:b", "\\", "(", "x" * 10_000, "*"])
    def test_any_text_can_be_recalled_by(self, text: str, memory: ImportedMemory) -> None:
        assert call(memory, "recall", text) == []

    @pytest.mark.parametrize("arguments", [[], [1], ["a", 0], ["a", "b"], ["a", 1, 2]])
    def test_a_wrong_recall_is_said(self, arguments: list[Any], memory: ImportedMemory) -> None:
        with pytest.raises(MemoryFailure, match=r"^Memory Facts.recall \(neo4j://\) failed: "):
            memory.call("recall", arguments)

    def test_values_know_their_nodes(self, memory: ImportedMemory, graph: MemoryGraph) -> None:
        added = call(memory, "add", FACTS[0])
        assert origins_of(added["record"]["text"]) == (added["id"],)
        assert origins_of(call(memory, "query")[0]["record"]) == (added["id"],)
        edge = f'Edge(edge_id="e", from_node="n", to_node="{added["id"]}", verb="v", weight=1.0);'
        graph.load(f'Node(node_id="n", name="", data="near"); {edge}')
        near = next(entry for entry in call(memory, "recall", "program") if entry["id"] == "n")
        assert origins_of(near["data"]) == ("n",)
        assert origins_of(near["relations"]) == ("n", added["id"])  # it is forgotten with either

    def test_without_a_graph_it_is_said(self) -> None:
        with pytest.raises(MemoryGraphError, match="it needs the knowledge graph"):
            open_memory("Facts", "neo4j://", Path(), None)

    def test_a_lost_connection_keeps_its_own_error_and_exit_code(self, graph: MemoryGraph) -> None:
        class Lost(MemoryGraph):
            def load(self, *_: Any, **__: Any) -> Any:
                raise ConnectionError("Neo4j cannot be reached")

        with pytest.raises(ConnectionError, match="cannot be reached"):
            call(open_memory("Facts", "neo4j://", Path(), Lost(graph.connection, graph.namespace)), "add", FACTS[0])
