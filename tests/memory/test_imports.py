"""What mem0, LangGraph's store and basic-memory hold joins the memory, from samples that they themselves have made."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from memorygraph import MemoryGraph, MemoryGraphError, NotFoundError, ScriptError
from memorygraph.errors import MAX_PROBLEMS
from memorygraph.graph.loads import LoadReport
from memorygraph.integrations.langgraph import MemoryGraphStore
from memorygraph.library import CYPHER
from memorygraph.memory.imports import FORMATS
from memorygraph.memory.items import ItemKey, ItemWrites
from memorygraph.memory.values import Relation

SAMPLES = Path(__file__).parent / "samples"
OF = {"mem0": SAMPLES / "mem0.json", "langgraph-store": SAMPLES / "langgraph.jsonl", "basic-memory": SAMPLES / "notes"}


def test_every_format_has_a_sample() -> None:
    assert OF.keys() == FORMATS.keys() - {"server-memory"}


@pytest.mark.parametrize("form", OF)
def test_twice_is_once_and_undo_takes_it_back(graph: MemoryGraph, form: str) -> None:
    report = graph.import_memory(OF[form], form)
    assert report.revision == 1
    assert report.nodes_created > 2
    before = graph.export("jsonl")
    again = graph.import_memory(OF[form], form)
    assert (again.revision, again.nodes_created, again.nodes_updated) == (0, 0, 0)
    assert f": nothing changed; no new revision of namespace {graph.namespace}" in str(again)
    assert graph.export("jsonl") == before
    assert graph.broken_invariants() == []
    graph.undo(1)
    assert graph.ids("", 10) == []


@pytest.mark.parametrize("form", OF)
def test_recall_finds_what_was_imported(graph: MemoryGraph, form: str) -> None:
    graph.import_memory(OF[form], form)
    assert "green tea" in graph.recall("who likes green tea?").hits[0].content


def test_a_memory_of_mem0_keeps_its_id_its_owner_its_metadata_and_its_times(graph: MemoryGraph) -> None:
    graph.import_memory(OF["mem0"], "mem0")
    given = json.loads(OF["mem0"].read_text())["results"]
    for memory in given:
        owner = memory.get("user_id") or memory["agent_id"]
        address = ItemKey(f"mem0.{owner.replace('.', '%2E')}.", memory["id"])
        [item] = graph.items.get([address]).values()
        times = (item.created_at, item.updated_at)
        assert times == tuple(datetime.fromisoformat(memory[name]) for name in ("created_at", "updated_at"))
        named = {name: value for name, value in memory.items() if value is not None and not name.endswith("_at")}
        assert {**item.value, "id": memory["id"]} == named


def test_the_items_of_a_store_are_those_of_our_store(graph: MemoryGraph) -> None:
    graph.import_memory(OF["langgraph-store"], "langgraph-store")
    store = MemoryGraphStore(graph)
    for line in OF["langgraph-store"].read_text().splitlines():
        given = json.loads(line)
        item = store.get(tuple(given["namespace"]), given["key"])
        assert item is not None
        assert item.dict() == {name: value for name, value in given.items() if name != "score"}


def test_an_item_with_an_empty_key_is_imported_as_a_store_takes_it(graph: MemoryGraph, tmp_path: Path) -> None:
    store = MemoryGraphStore(graph)
    store.put(("a",), "", {"n": 1})
    [item] = store.search(("a",))
    record = {**item.dict(), "namespace": ["b"], "value": {"n": 2}}
    (tmp_path / "items.jsonl").write_text(json.dumps(record, default=str))
    graph.import_memory(tmp_path / "items.jsonl", "langgraph-store")
    assert [store.get((shelf,), "").value for shelf in "ab"] == [{"n": 1}, {"n": 2}]  # type: ignore[union-attr]


T0 = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("times", "value", "ttl"),
    [
        ({"updated_at": T0}, "changed here", 60.0),
        ({}, "changed here", 60.0),
        ({"updated_at": "2999-01-01T00:00:00Z"}, "of the file", None),
    ],
)
def test_an_item_that_was_changed_here_stays_with_its_expiry_unless_the_record_of_a_file_is_later(
    graph: MemoryGraph, tmp_path: Path, times: dict[str, str], value: str, ttl: float | None
) -> None:
    given = {"namespace": ["a"], "key": "k", "value": {"says": "at first"}, "created_at": T0, "updated_at": T0}
    later = {"namespace": ["a"], "key": "k", "value": {"says": "of the file"}, **times}
    file, address = tmp_path / "items.jsonl", ItemKey("a.", "k")
    file.write_text(json.dumps(given))
    graph.import_memory(file, "langgraph-store")
    changed = ItemWrites()
    changed.put(address, {"says": "changed here"}, "changed here", ttl=60)
    graph.items.write(changed)
    file.write_text(json.dumps(later))
    report = graph.import_memory(file, "langgraph-store")
    [item] = graph.items.get([address]).values()
    assert (item.value, item.ttl) == ({"says": value}, ttl)
    assert [warning.code for warning in report.warnings] == ([] if ttl is None else ["left-out"])


def test_a_memory_that_was_never_updated_is_as_old_as_its_creation(graph: MemoryGraph, tmp_path: Path) -> None:
    memory = {"id": "1", "memory": "tea", "created_at": T0, "updated_at": None}
    file, address = tmp_path / "memories.json", ItemKey("mem0.", "1")
    for changed in ({}, {"memory": "green tea", "updated_at": "2026-01-01T00:00:01Z"}):
        file.write_text(json.dumps({**memory, **changed}))
        graph.import_memory(file, "mem0")
        [item] = graph.items.get([address]).values()
        assert item.value["memory"] == {**memory, **changed}["memory"]
        assert item.updated_at == datetime.fromisoformat(changed.get("updated_at", T0))


def test_an_item_whose_number_became_a_truth_value_has_changed(graph: MemoryGraph, tmp_path: Path) -> None:
    given = {"namespace": ["a"], "key": "k", "created_at": T0}
    for second, (value, stored) in enumerate(((1, True), (1, False), (True, True), (1.0, True))):
        record = {**given, "updated_at": f"2026-01-01T00:00:0{second}Z", "value": {"n": value}}
        (tmp_path / "items.jsonl").write_text(json.dumps(record))
        assert bool(graph.import_memory(tmp_path / "items.jsonl", "langgraph-store").revision) == stored
        item = MemoryGraphStore(graph).get(("a",), "k")
        assert item is not None
        assert repr(item.value) == repr({"n": value})


def test_a_note_is_an_entity_and_its_links_are_relations(graph: MemoryGraph) -> None:
    report = graph.import_memory(OF["basic-memory"], "basic-memory")
    found = graph.entities.open(["Ada Lovelace", "Lord Byron", "Charles Babbage"])
    ada = next(each for each in found.entities if each.name == "Ada Lovelace")
    assert (ada.entity_type, ada.observations) == (
        "person",
        [
            "She wrote about the [[Analytical Engine]] at length.",
            "[fact] Wrote the first published program #computing #1843",
            "[taste] Likes green tea (said in a letter)",
            "- a line of a list that is none",
        ],
    )
    assert Relation.model_validate(
        {"from": "Ada Lovelace", "to": "Charles Babbage", "relationType": "worked_with"}
    ) in (found.relations)
    assert [(warning.code, warning.message.rpartition(": ")[2]) for warning in report.warnings][1:] == [
        ("left-out", "tags"),
        ("left-out", "(from 1833)"),
    ]
    assert "Lord Byron, Mary Somerville" in report.warnings[0].message


def test_a_link_is_found_by_title_and_by_permalink_and_code_is_no_note(graph: MemoryGraph, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: First\npermalink: main/first\n---\n- [x] a task\n- [0:12] a clock\n")
    (tmp_path / "b.md").write_text(
        "- knows [[First]]\n- likes [[first|him]]\n- of [[main/first]]\n```\n- is [[Code]]\n```\n"
    )
    graph.import_memory(tmp_path, "basic-memory")
    found = graph.entities.read_graph()
    assert {(each.source, each.target, each.relation_type) for each in found.relations} == {
        ("b", "First", verb) for verb in ("knows", "likes", "of")
    }
    assert {each.name: each.observations for each in found.entities} == {
        "First": ["- [x] a task\n- [0:12] a clock"],
        "b": ["```\n- is [[Code]]\n```"],
    }


def test_what_basic_memory_passes_over_is_no_note(graph: MemoryGraph, tmp_path: Path) -> None:
    for folder in (".obsidian", "node_modules/a", "notes.md"):
        (tmp_path / folder).mkdir(parents=True)
    for name in (".obsidian/x.md", "node_modules/a/README.md", "notes.md/Ada.md"):
        (tmp_path / name).write_text("- [fact] it is there\n")
    graph.import_memory(tmp_path, "basic-memory")
    assert [entity.name for entity in graph.entities.read_graph().entities] == ["Ada"]


def test_a_link_by_a_permalink_leads_to_that_note_and_to_none_in_a_folder_of_that_name(
    graph: MemoryGraph, tmp_path: Path
) -> None:
    for name, title, link in (("a", "First", "ada"), ("b", "Second", "people/ada")):
        (tmp_path / f"{name}.md").write_text(f"---\ntitle: {title}\npermalink: {link}\n---\n- knows [[{link}]]\n")
    graph.import_memory(tmp_path, "basic-memory")
    found = graph.entities.read_graph().relations
    assert {(each.source, each.target) for each in found} == {("First", "First"), ("Second", "Second")}


def test_code_within_a_line_and_code_that_is_not_closed_hide_nothing(graph: MemoryGraph, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "Run\n\n```npm i```\n\n- [fact] it takes long\n- see [[ Ada ]]\n- no [[ ]]\n\nThe end.\n"
    )
    (tmp_path / "b.md").write_text(
        "Before.\n\n````\n```\n- is [[Code]]\n```\n````\n\nWith [[ Ada ]].\n\n~~~\nx = 1\n\ny = 2\n"
    )
    graph.import_memory(tmp_path, "basic-memory")
    found = graph.entities.read_graph()
    assert {each.name: each.observations for each in found.entities} == {
        "a": ["Run", "```npm i```", "[fact] it takes long", "- no [[ ]]", "The end."],
        "b": ["Before.", "````\n```\n- is [[Code]]\n```\n````", "With [[ Ada ]].", "~~~\nx = 1\ny = 2"],
        "Ada": [],
    }
    assert {(each.source, each.target, each.relation_type) for each in found.relations} == {
        ("a", "Ada", "see"),
        ("b", "Ada", "links_to"),
    }


def test_notes_with_the_line_ends_of_windows_are_the_same_notes(graph: MemoryGraph, tmp_path: Path) -> None:
    text = "---\ntitle: Ada\n---\nFirst line\nand second.\n\n- [fact] likes tea\n"
    for ends in ("\n", "\r\n"):
        (tmp_path / "ada.md").write_text(text, newline=ends)
        graph.import_memory(tmp_path, "basic-memory")
    [ada] = graph.entities.read_graph().entities
    assert ada.observations == ["First line\nand second.", "[fact] likes tea"]


@pytest.mark.parametrize(
    ("form", "text", "place", "code"),
    [
        ("langgraph-store", '{"namespace": ["a"], "key": "k", "value": {}}\n{"key": ', (2, 9), "invalid-json"),
        ("langgraph-store", '{"namespace": ["a.b"], "key": "k", "value": {}}', (1, 1), "invalid-value"),
        ("langgraph-store", '{"namespace": ["a"], "key": "k", "value": 7}', (1, 1), "invalid-value"),
        (
            "langgraph-store",
            '{"namespace": ["a"], "key": "k", "value": {}}\n{"namespace": ["a"], "key": "l", "value": {"": "\\ud83d"}}',
            (2, 1),
            "invalid-value",
        ),
        ("mem0", '[{"id": "1", "memory": "tea"},\n {"id": ]', (2, 9), "invalid-json"),
        ("mem0", '\n\n{"id": "1", "memory": "tea", "metadata": {"x": "\\ud83d"}}', (1, 1), "invalid-value"),
        ("mem0", '{\n "results": [\n  {"id": "1", "memory": "tea"},\n  {"id": \n ]\n}\n', (5, 2), "invalid-json"),
        ("mem0", '{"id": "1", "memory": "tea"\n{"id": "2", "memory": "milk"}', (1, 28), "invalid-json"),
        ("mem0", '\n{"id": "1", "memory": "tea"}\n{"id": \n', (3, 8), "invalid-json"),
        ("mem0", '{"results": [{"id": "1"}]}', (1, 1), "invalid-value"),
        (
            "mem0",
            '\n{"id": "1", "memory": "a", "created_at": "0001-01-01T00:00:00+14:00"}',
            (1, 1),
            "invalid-value",
        ),
        ("mem0", '{"results": [{"id": "1", "memory": "a", "created_at": "soon"}]}', (1, 1), "invalid-value"),
        ("basic-memory", "---\ntitle: [a\n---\nText", (2, 10), "invalid-value"),
        ("basic-memory", "---\njust text\n---\nText", (2, 1), "invalid-value"),
        ("basic-memory", "---\ntitle: A\ncreated: 2024-02-30\n---\nText", (1, 1), "invalid-value"),
        ("basic-memory", f"---\nsize: {'9' * 5000}\n---\nText", (1, 1), "invalid-value"),
        ("basic-memory", "---\npinned: !!bool tea\n---\nText", (1, 1), "invalid-value"),
        ("basic-memory", "---\ncreated: !!timestamp tea\n---\nText", (1, 1), "invalid-value"),
        ("basic-memory", f"---\ntags: {'[' * 3000}\n---\nText", (1, 1), "invalid-value"),
        ("basic-memory", f"- knows [[{'x' * 2000}]]", (1, 1), "invalid-value"),
    ],
)
def test_what_is_damaged_is_refused_with_its_place_and_changes_nothing(
    graph: MemoryGraph, tmp_path: Path, form: str, text: str, place: tuple[int, int], code: str
) -> None:
    file = tmp_path / ("note.md" if form == "basic-memory" else "memory.json")
    file.write_text(text)
    with pytest.raises(ScriptError) as refused:
        graph.import_memory(tmp_path if form == "basic-memory" else file, form)
    [problem] = refused.value.problems
    assert ((problem.line, problem.column), problem.code, problem.file) == (place, code, str(file))
    assert graph.ids("", 10) == []


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("encoding", "place", "byte"),
    [("latin-1", (3, 14), "0xE9"), ("utf-16-le", (1, 1), "0xFF"), ("utf-16-be", (1, 1), "0xFE")],
)
def test_a_file_that_is_not_utf_8_is_refused_with_the_place(
    graph: MemoryGraph, tmp_path: Path, form: str, encoding: str, place: tuple[int, int], byte: str
) -> None:
    file = tmp_path / "note.md"
    sign = "\ufeff" if encoding.startswith("utf-16") else ""
    file.write_bytes(f'{sign}{{"type": "entity"}}\r\n\r\n{{"name": "caf\xe9"}}'.encode(encoding))
    with pytest.raises(ScriptError) as refused:
        graph.import_memory(tmp_path if form == "basic-memory" else file, form)
    [problem] = refused.value.problems
    assert ((problem.line, problem.column), problem.code, problem.file) == (place, "encoding", str(file))
    assert problem.message == f"the byte {byte} is not UTF-8; save the file as UTF-8"


@pytest.mark.parametrize("form", ["mem0", "langgraph-store"])
def test_an_import_without_the_format_names_it(graph: MemoryGraph, tmp_path: Path, form: str) -> None:
    text = OF[form].read_text()
    for given in (text, json.dumps(json.loads(text), indent=1) if form == "mem0" else f"[{text.splitlines()[0]}]"):
        (tmp_path / "file.json").write_text(given)
        with pytest.raises(ScriptError, match=f"--format {form}") as refused:
            graph.import_memory(tmp_path / "file.json")
        assert len(refused.value.problems) == 1


def test_a_folder_that_is_imported_without_the_format_names_it(graph: MemoryGraph) -> None:
    with pytest.raises(MemoryGraphError, match=r"is a folder; .* --format basic-memory"):
        graph.import_memory(OF["basic-memory"])


@pytest.mark.parametrize("form", ["server-memory", "langgraph-store", "basic-memory"])
def test_a_path_that_is_not_utf_8_is_stored_with_escapes(graph: MemoryGraph, tmp_path: Path, form: str) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this system has no such names")
    (folder / "a.md").write_text("Ada\n")
    (folder / "a.jsonl").write_text('{"namespace": [], "key": "k", "value": {}}')
    if form == "server-memory":
        (folder / "a.jsonl").write_text('{"type": "entity", "name": "Ada", "entityType": "", "observations": []}')
    path = folder if form == "basic-memory" else folder / "a.jsonl"
    report = graph.import_memory(path, form)
    assert report.revision == 1
    assert [load.file for load in graph.revisions(1)] == [str(path).replace("\udce9", "\\udce9")]


@pytest.mark.parametrize("form", ["server-memory", "mem0", "langgraph-store"])
def test_a_bundle_is_known_as_one(graph: MemoryGraph, tmp_path: Path, form: str) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    graph.export_bundle(tmp_path / "bundle")
    with pytest.raises(ScriptError) as refused:
        graph.import_memory(tmp_path / "bundle", form)
    [problem] = refused.value.problems
    assert problem.message.startswith("this is a bundle, which is imported with --format bundle")


@pytest.mark.parametrize("form", FORMATS)
def test_a_list_of_problems_that_is_cut_says_that_there_are_more(graph: MemoryGraph, tmp_path: Path, form: str) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(MAX_PROBLEMS + 2):
        (notes / f"{number}.md").write_text("---\ntitle: [\n---\n")
    lines = notes / "lines.json"
    lines.write_text(f"[{'1,' * (MAX_PROBLEMS + 1)}1]" if form == "mem0" else "1\n" * (MAX_PROBLEMS + 2))
    with pytest.raises(ScriptError) as refused:
        graph.import_memory(notes if form == "basic-memory" else lines, form)
    assert [problem.code for problem in refused.value.problems].index("too-many-problems") == MAX_PROBLEMS
    assert len(refused.value.problems) == MAX_PROBLEMS + 1


def warned(report: LoadReport) -> list[tuple[int, str]]:
    return [(warning.line, warning.message) for warning in report.warnings]


def test_of_warnings_of_records_the_first_are_said_and_the_rest_is_counted_and_what_sums_up_is_never_cut(
    graph: MemoryGraph, tmp_path: Path
) -> None:
    file, more = tmp_path / "items.jsonl", (2 * MAX_PROBLEMS + 2, "3 more warnings of single records")
    for value in (1, 2):
        records = [
            {"namespace": ["u"], "key": f"k{number}", "value": {"v": value}, "updated_at": T0, "score": 0.5}
            for number in range(MAX_PROBLEMS + 3)
            for _ in range(2)
        ]
        file.write_text("\n".join(map(json.dumps, records)))
        report = graph.import_memory(file, "langgraph-store")
        said = warned(report)
        assert said[:2] == [(2, "record 2 replaces one before it"), (4, "record 4 replaces one before it")]
        assert said[MAX_PROBLEMS:][:2] == [more, (1, "these fields were left out: score")]
        assert report.warnings[MAX_PROBLEMS].code == "too-many-problems"
    assert [message.partition(";")[0] for _, message in said[MAX_PROBLEMS + 2 :]] == ["left out: 103 records"]


def test_of_warnings_of_entities_the_first_are_said_and_the_rest_is_counted(graph: MemoryGraph, tmp_path: Path) -> None:
    entity = {"type": "entity", "name": "Ada", "entityType": "person", "observations": []}
    relations = [{"type": "relation", "from": "Ada", "to": f"e{number}", "relationType": "to"} for number in range(70)]
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(map(json.dumps, [*[entity] * 42, *relations])))
    said = warned(graph.import_memory(file))
    assert len(said) == MAX_PROBLEMS + 1
    assert said[-1] == (42 + MAX_PROBLEMS - 40, "11 more warnings of single records")


def test_what_has_no_form_here_is_named(graph: MemoryGraph, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(
        json.dumps({"results": [{"id": "1", "memory": "tea"}], "relations": [{"source": "a", "target": "b"}]})
    )
    report = graph.import_memory(tmp_path / "m.json", "mem0")
    assert [(w.code, "1 relation of" in w.message) for w in report.warnings] == [("left-out", True)]
    (tmp_path / "m.json").write_text(json.dumps({"results": [{"id": "1", "memory": "tea"}], "relations": 5}))
    assert graph.import_memory(tmp_path / "m.json", "mem0").warnings == ()
    twice = [{"namespace": [], "key": "k", "value": {"n": n}, "score": 0.5} for n in (1, 2)]
    (tmp_path / "s.json").write_text(json.dumps(twice))
    report = graph.import_memory(tmp_path / "s.json", "langgraph-store")
    assert [warning.code for warning in report.warnings] == ["merged", "left-out"]
    assert [item.value for item in graph.items.get([ItemKey("", "k")]).values()] == [{"n": 2}]


@pytest.fixture
def group(graph: MemoryGraph) -> Iterator[str]:
    """What Graphiti has stored, in a group of its own."""
    sample = json.loads((SAMPLES / "graphiti.json").read_text())
    rows = [*sample["nodes"], *sample["relationships"]]
    for row in rows:
        row["properties"]["group_id"] = graph.namespace
        row["times"] = {key: value for key, value in row["properties"].items() if key.endswith("_at")}
    graph.query(
        """UNWIND $nodes AS row CREATE (n:$(row.labels)) SET n = row.properties
        FOREACH (key IN keys(row.times) | SET n[key] = datetime(row.times[key]))
        WITH collect(n) AS _ UNWIND $relationships AS row
        MATCH (a {group_id: $namespace, uuid: row.source}), (b {group_id: $namespace, uuid: row.target})
        CREATE (a)-[r:$(row.type)]->(b) SET r = row.properties
        FOREACH (key IN keys(row.times) | SET r[key] = datetime(row.times[key]))""",
        sample,
        write=True,
    )
    yield graph.namespace
    graph.query("MATCH (n {group_id: $namespace}) DETACH DELETE n", write=True)


def test_a_graph_of_graphiti_is_adopted_and_stays(graph: MemoryGraph, group: str) -> None:
    whole = (
        "MATCH (n {group_id: $namespace}) RETURN n.uuid AS id, properties(n) AS at, COUNT { (n)--() } AS of ORDER BY id"
    )
    before = graph.query(whole)
    report = graph.adopt_memory("graphiti", [group])
    found = graph.entities.read_graph()
    # Facts of one moment have no order.
    assert {each.name: (each.entity_type, sorted(each.observations)) for each in found.entities} == {
        "Ada": (
            "Person",
            [
                "A mathematician who likes green tea.",
                "Ada admires the Engine.",
                "Ada works with Babbage on the Engine. (from 1833-01-01)",
                "born: 1815",
            ],
        ),
        "Babbage": ("Person", ["Babbage builds the Analytical Engine. (from 1837-01-01 to 1871-01-01)"]),
        "Analytical Engine": ("entity", ["A machine that was never built."]),
    }
    assert {(each.source, each.relation_type, each.target) for each in found.relations} == {
        ("Ada", "WORKS_WITH", "Babbage"),
        ("Ada", "ADMIRES", "Analytical Engine"),
    }
    said = [warning.message for warning in report.warnings]
    assert said == ["left out: 1 episode", "observations, and no relations: 1 fact that held"]
    assert "green tea" in graph.recall("who likes green tea?").hits[0].content
    assert graph.adopt_memory("graphiti", [group]).revision == 0
    assert graph.query(whole) == before


def test_a_fact_is_a_relation_from_its_beginning_to_its_end(graph: MemoryGraph, group: str) -> None:
    # Graphiti writes expired_at as soon as an end is known.
    graph.query(
        """UNWIND ['UNTIL_LATER', 'FROM_LATER', 'UNTIL_YESTERDAY', 'REPLACED', 'UNTIL_LATER_SOMEWHERE'] AS verb
        MATCH (ada:Entity {group_id: $namespace, name: 'Ada'}), (other:Entity {group_id: $namespace, name: 'Babbage'})
        CREATE (ada)-[fact:RELATES_TO {uuid: verb, group_id: $namespace, name: verb, fact: verb}]->(other)
        SET fact += CASE verb
            WHEN 'UNTIL_LATER' THEN {invalid_at: datetime() + duration('P2D'), expired_at: datetime()}
            WHEN 'FROM_LATER' THEN {valid_at: datetime() + duration('P2D')}
            WHEN 'UNTIL_YESTERDAY' THEN {invalid_at: datetime() - duration('P1D'), expired_at: datetime()}
            WHEN 'REPLACED' THEN {expired_at: datetime()}
            ELSE {invalid_at: localdatetime() + duration('P2D'), valid_at: localdatetime() - duration('P2D')} END""",
        write=True,
    )
    report = graph.adopt_memory("graphiti", [group])
    verbs = {each.relation_type for each in graph.entities.read_graph().relations}
    assert verbs == {"WORKS_WITH", "ADMIRES", "UNTIL_LATER", "UNTIL_LATER_SOMEWHERE"}
    assert [warning.message for warning in report.warnings][1:] == [
        "observations, and no relations: 3 facts that held",
        "observations, and no relations yet: 1 fact that will hold",
    ]


def test_entities_without_a_name_are_left_out(graph: MemoryGraph, group: str) -> None:
    graph.query(
        """CREATE (nameless:Entity {uuid: 'nameless', group_id: $namespace}),
            (:Entity {uuid: 'empty', group_id: $namespace, name: ''})
        WITH nameless MATCH (ada:Entity {group_id: $namespace, name: 'Ada'})
        CREATE (ada)-[there:RELATES_TO]->(nameless)-[back:RELATES_TO]->(ada)
        SET there = {uuid: 'there', group_id: $namespace, name: 'KNOWS', fact: 'Ada knows it.'},
            back = {uuid: 'back', group_id: $namespace, name: 'KNOWS', fact: 'It knows Ada.'}""",
        write=True,
    )
    report = graph.adopt_memory("graphiti", [group])
    assert {each.name for each in graph.entities.read_graph().entities} == {"Ada", "Babbage", "Analytical Engine"}
    assert [warning.message for warning in report.warnings][:2] == [
        "left out: 2 nodes without a name",
        "left out: 2 facts of nodes without a name",
    ]


def test_what_has_no_group_is_not_of_graphiti(graph: MemoryGraph) -> None:
    graph.query("CREATE (:Entity {uuid: 'of another program', name: $namespace, mark: $namespace})", write=True)
    try:
        assert graph.namespace not in {row["name"] for row in graph.scope.read(CYPHER["graphiti/entities"](groups=[]))}
    finally:
        graph.query("MATCH (n:Entity {uuid: 'of another program', name: $namespace}) DELETE n", write=True)


def test_only_what_is_there_is_adopted(graph: MemoryGraph) -> None:
    with pytest.raises(NotFoundError, match="no entities of the groups none"):
        graph.adopt_memory("graphiti", ["none"])
    with pytest.raises(MemoryGraphError, match="no `zep` to adopt from"):
        graph.adopt_memory("zep")
    with pytest.raises(MemoryGraphError, match="has none"):
        graph.adopt_memory(groups=["a"])


def test_where_there_is_nothing_to_import_that_is_said(graph: MemoryGraph, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no folder with notes"):
        graph.import_memory(tmp_path, "basic-memory")
    with pytest.raises(NotFoundError):
        graph.import_memory(tmp_path / "none.json", "mem0")
    with pytest.raises(MemoryGraphError, match="there is no format `zep` to import"):
        graph.import_memory(tmp_path, "zep")
