"""Memories of other servers are read and given back without a loss."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memorygraph import MemoryGraph, NotFoundError, ScriptError
from memorygraph.memory.entities import Entities
from memorygraph.memory.transfer import adopt_neo4j_memory, export_server_memory, import_server_memory, parse_item
from memorygraph.memory.values import Entity, Relation
from tests.code_examples import read_examples

LINES: list[dict[str, Any]] = [
    {
        "type": "entity",
        "name": "Zoë \U0001f600",
        "entityType": "person",
        "observations": ["b", "a", "b", "line\nbreak"],
    },
    {"type": "entity", "name": "ada", "entityType": "", "observations": []},
    {"type": "entity", "name": "Ada", "entityType": "of no type", "observations": ["", "'); DROP", "\u2028[1] x:"]},
    {"type": "relation", "from": "Zoë \U0001f600", "to": "ada", "relationType": "works at"},
    {"type": "relation", "from": "ada", "to": "ada", "relationType": "observed"},
    {"type": "relation", "from": "ada", "to": "Ada", "relationType": ""},
]


def _text(lines: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)


def _exported(graph: MemoryGraph) -> str:
    return "".join(export_server_memory(graph.scope))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.jsonl"


def _import(graph: MemoryGraph, path: Path) -> Any:
    return import_server_memory(graph.scope, path)


def test_a_file_comes_back_as_it_was_and_twice_is_once(graph: MemoryGraph, path: Path) -> None:
    path.write_text(_text(LINES), "utf-8")
    report = _import(graph, path)
    assert (report.statements, report.nodes_created, report.edges_created, report.revision) == (6, 10, 10, 1)
    assert _exported(graph) == _text(LINES)
    again = _import(graph, path)
    assert (again.nodes_created, again.edges_created, again.revision) == (0, 0, 0)
    assert _exported(graph) == _text(LINES)


def test_an_entity_that_was_merged_is_imported_again_with_what_is_new(graph: MemoryGraph, path: Path) -> None:
    path.write_text(_text(LINES), "utf-8")
    _import(graph, path)
    graph.merge(LINES[0]["name"], into="Ada")
    merged = _exported(graph)
    assert _import(graph, path).revision == 0
    assert _exported(graph) == merged
    path.write_text(_text([{**LINES[0], "observations": ["b", "c", "b", "b"]}]), "utf-8")
    assert _import(graph, path).nodes_created == 2
    [ada] = [each for each in graph.entities.read_graph().entities if each.name == "Ada"]
    assert sorted(ada.observations) == sorted([*LINES[2]["observations"], "a", "b", "b", "b", "c", "line\nbreak"])


@pytest.mark.parametrize(
    "change", [lambda t: "\ufeff" + t, lambda t: t.replace("\n", "\r\n"), lambda t: t.rstrip() + "\n\n  \n"]
)
def test_other_ways_to_write_a_file_are_read(graph: MemoryGraph, path: Path, change: Any) -> None:
    path.write_bytes(change(_text(LINES)).encode())
    _import(graph, path)
    assert _exported(graph) == _text(LINES)


def test_what_is_stored_already_is_kept(graph: MemoryGraph, path: Path) -> None:
    Entities(graph.scope).create([Entity(name="ada", entity_type="t", observations=["known"])])
    path.write_text(_text(LINES), "utf-8")
    _import(graph, path)
    [ada] = [each for each in Entities(graph.scope).read_graph().entities if each.name == "ada"]
    assert (ada.entity_type, ada.observations) == ("t", ["known"])


def test_entities_of_one_name_become_one_with_a_warning(graph: MemoryGraph, path: Path) -> None:
    first, second = {**LINES[1], "observations": ["x"]}, {**LINES[1], "entityType": "t", "observations": ["x", "y"]}
    path.write_text(_text([first, second]), "utf-8")
    report = _import(graph, path)
    assert [(each.line, each.code) for each in report.warnings] == [(2, "merged")]
    assert "its type stays ''" in report.warnings[0].message
    assert _exported(graph) == _text([{**first, "observations": ["x", "y"]}])


def test_each_wrong_line_is_said_with_its_place_and_nothing_is_stored(graph: MemoryGraph, path: Path) -> None:
    path.write_bytes(
        _text(LINES[:1]).encode()
        + b'{"type":"entity",\n\n[]\n"x"\n{"type":"thing"}\n{"type":"entity","name":"","entityType":3}\n'
        + b'{"type":"relation","from":"A","to":"B"}\n'
    )
    with pytest.raises(ScriptError) as raised:
        _import(graph, path)
    found = [(each.line, each.code) for each in raised.value.problems]
    assert found == [(2, "invalid-json"), *((line, "invalid-value") for line in (4, 5, 6, 7, 8))]
    assert str(raised.value).startswith(f"{path}:2:18: invalid JSON")
    assert Entities(graph.scope).read_graph().entities == []


def test_a_relation_without_an_end_leads_to_an_entity_of_which_nothing_is_known(graph: MemoryGraph, path: Path) -> None:
    graph.entities.create([Entity(name="Z", entity_type="person", observations=["is stored already"])])
    knows = {"type": "relation", "relationType": "knows"}
    ends = [("A", "X"), ("Y", "X"), ("X", "Z")]
    said = [{"type": "entity", "name": "A", "entityType": "t", "observations": []}]
    path.write_text(_text([*said, *({**knows, "from": one, "to": other} for one, other in ends)]), "utf-8")
    report = _import(graph, path)
    assert [(each.line, each.code, each.message.partition(";")[0]) for each in report.warnings] == [
        (2, "unknown-entity", "no entity is named X"),
        (3, "unknown-entity", "no entity is named Y"),
    ]
    assert (report.nodes_created, report.edges_created) == (3, 3)
    found = graph.entities.read_graph()
    assert {each.name: each.entity_type for each in found.entities} == {
        "A": "t",
        "X": "unknown",
        "Y": "unknown",
        "Z": "person",
    }
    assert [(each.source, each.target) for each in found.relations] == ends
    again = _import(graph, path)
    assert (again.nodes_created, again.edges_created, again.warnings) == (0, 0, ())


def test_a_file_that_is_missing_is_said_so(graph: MemoryGraph, path: Path) -> None:
    with pytest.raises(NotFoundError):
        _import(graph, path)


def test_what_a_file_of_the_reference_server_cannot_say_is_listed(graph: MemoryGraph, path: Path) -> None:
    path.write_text(_text(LINES), "utf-8")
    _import(graph, path)
    assert graph.export_to(io.StringIO(), "server-memory").lines() == []
    graph.messages("talk").append({"role": "user", "content": "Hello"})
    assert graph.export_to(io.StringIO(), "server-memory").as_dict().keys() == {"conversations", "messages"}


def test_the_weights_and_the_expiry_that_such_a_file_loses_are_listed_and_the_names_that_it_joins(
    graph: MemoryGraph,
) -> None:
    graph.load(
        'Node(node_id="a", name="Ada", data="x"); Node(node_id="b", name="Ada", data="y");'
        'Node(node_id="c", name="C", data="");'
        'Edge(edge_id="e", from_node="a", to_node="b", verb="knows", weight=0.5);'
        'Edge(edge_id="f", from_node="a", to_node="c", verb="knows", weight=1);'
    )
    graph.expire("a", after=timedelta(days=1))
    assert graph.export_to(io.StringIO(), "server-memory").lines() == [
        "times at which nodes expire: 1 (`a`)",
        "weights of edges other than 1: 1 (`e`)",
        "entities of one name: they come back as one: 2 (`Ada`, …)",
    ]


def test_what_contextscript_declared_is_exported_too(graph: MemoryGraph) -> None:
    graph.load(
        'Node(node_id="a", name="A", data="x"); Node(node_id="b", name="", data="");'
        'Edge(edge_id="e", from_node="a", to_node="b", verb="knows", weight=0.5);'
    )
    assert _exported(graph) == _text(
        [
            {"type": "entity", "name": "A", "entityType": "node", "observations": ["x"]},
            {"type": "entity", "name": "b", "entityType": "node", "observations": []},
            {"type": "relation", "from": "A", "to": "b", "relationType": "knows"},
        ]
    )


@pytest.fixture
def foreign(graph: MemoryGraph) -> Iterator[str]:
    """A graph as mcp-neo4j-memory stores it; its nodes carry a mark, by which they go again."""
    mark = graph.namespace
    graph.query(
        "CREATE (a:Memory:Person {name: 'Ann', type: 'Person', observations: ['x', 'y', 'x'], mark: $namespace})"
        "-[:LIKES]->(b:Memory {name: 'Ben', observations: ['z'], mark: $namespace}), (b)-[:LIKES {since: 1}]->(a), "
        "(c:Memory:City {name: 'Ann', mark: $namespace})-[:NEAR]->(b), (:Memory {mark: $namespace})-[:NEAR]->(b), "
        "(:Memory {name: ['Cal'], mark: $namespace})",
        write=True,
    )
    yield mark
    graph.query("MATCH (old:Memory {mark: $namespace}) DETACH DELETE old", write=True)


_SUM = (
    "MATCH (old:Memory {mark: $namespace}) "
    "RETURN properties(old) AS node, labels(old) AS labels, COLLECT { MATCH (old)-[r]->() RETURN type(r) } AS types"
)


def test_a_graph_of_mcp_neo4j_memory_is_adopted_and_stays(graph: MemoryGraph, foreign: str) -> None:
    before = graph.query(_SUM)
    report = adopt_neo4j_memory(graph.scope)
    found = Entities(graph.scope).read_graph()
    assert found.entities == [
        Entity(name="Ann", entity_type="Person", observations=["x", "y", "x"]),
        Entity(name="Ben", entity_type="node", observations=["z"]),
    ]
    assert sorted(found.relations, key=str) == [
        Relation(source="Ann", target="Ben", relation_type="LIKES"),
        Relation(source="Ann", target="Ben", relation_type="NEAR"),
        Relation(source="Ben", target="Ann", relation_type="LIKES"),
    ]
    said = "\n".join(warning.message for warning in report.warnings)
    for part in ("2 nodes have no name", "1 of their relations", "mark, since", "type stays 'Person'"):
        assert part in said
    assert adopt_neo4j_memory(graph.scope).revision == 0
    assert graph.query(_SUM) == before


@pytest.mark.usefixtures("environment")
def test_the_example_of_what_is_left_out_says_what_it_says() -> None:
    example = read_examples()["left-out"]
    assert example.run().said == example.said


def test_where_there_is_nothing_to_adopt_that_is_said(graph: MemoryGraph) -> None:
    with pytest.raises(NotFoundError, match="no node with the label Memory"):
        adopt_neo4j_memory(graph.scope)


@pytest.mark.parametrize("kind", ["node", "edge"])
def test_a_line_of_an_export_as_jsonl_is_said_to_come_back_in_another_form(kind: str) -> None:
    with pytest.raises(ValueError, match="ContextScript or a bundle is read again"):
        parse_item(json.dumps({"type": kind, "id": "a"}))


def test_a_wrong_line_names_each_field() -> None:
    message = "^to: String should have at least 1 character; relationType: Field required$"
    with pytest.raises(ValueError, match=message):
        parse_item('{"type": "relation", "from": "a", "to": ""}')
