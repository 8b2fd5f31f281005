"""Stored programs on the command line: loaded from files, run by their names, forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from tests.cli.test_commands import document, memorygraph
from tests.runtime.convo.model import scripted

PICK = "main agent { main func(input { a number b number }) { return input.a } }"
GRAPH = """
> node judge

    @json = enum("good" "bad")
    > user
    Judge {{input}}

> nodeEnd

> goto judge
"""

pytestmark = pytest.mark.usefixtures("environment")


def _stored(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_a_program_is_loaded_listed_run_and_forgotten(tmp_path: Path) -> None:
    report = document("load", _stored(tmp_path, "pick.as", PICK))
    assert (report["language"], report["statements"], report["nodes_created"]) == ("agentscript", 1, 0)
    [program] = document("programs", "list")
    assert (program["name"], program["language"]) == ("pick", "agentscript")
    assert memorygraph("programs", "show", "pick").stdout == PICK + "\n"
    assert document("run", "--stored", "pick", "--input", '{"a": 1, "b": 2}')["value"] == 1
    document("programs", "forget", "pick")
    assert document("programs", "list") == []
    [error] = document("run", "--stored", "pick", code=1)["errors"]
    assert "there are: none" in error["message"]
    assert document("programs", "forget", "pick", code=1)["errors"] == [error]


def test_the_program_that_was_loaded_last_has_the_name(tmp_path: Path) -> None:
    for text in (PICK, PICK.replace("input.a", "input.b"), PICK):
        document("load", _stored(tmp_path, "pick.as", text))
        [program] = document("programs", "list")
        assert program["name"] == "pick"
        expected = 2 if "input.a" in text else 3
        assert document("run", "--stored", "pick", "--input", '{"a": 2, "b": 3}')["value"] == expected


@pytest.mark.parametrize(("file", "text"), [("pick.as", PICK), ("judge.convo", GRAPH)])
def test_a_program_that_is_loaded_without_its_file_keeps_its_name(
    tmp_path: Path, environment: str, file: str, text: str
) -> None:
    path = Path(_stored(tmp_path, file, text))
    language = str(document("load", str(path))["language"])
    with MemoryGraph.connect(namespace=environment) as graph:
        graph.load(text, language)
        assert [(program.name, program.file) for program in graph.programs()] == [(path.stem, str(path))]


@pytest.mark.parametrize(("extension", "text"), [("as", PICK), ("convo", GRAPH)])
def test_two_files_of_one_text_are_programs_of_both_names(tmp_path: Path, extension: str, text: str) -> None:
    files = [_stored(tmp_path, f"{name}.{extension}", text) for name in ("one", "two")]
    for _ in range(2):
        document("load", *files)
        programs = document("programs", "list")
        assert [(program["name"], program["file"]) for program in programs] == [("one", files[0]), ("two", files[1])]
    for name in ("one", "two"):
        assert memorygraph("programs", "show", name).stdout.strip() == text.strip()
        document("programs", "forget", name)
        assert [program["name"] for program in document("programs", "list")] == ["two"] * (name == "one")
    assert document("query", "MATCH (part:Graph|GraphNode|Program {namespace: $namespace}) RETURN part") == []


def test_a_node_graph_is_run_by_its_name_too(tmp_path: Path) -> None:
    document("load", _stored(tmp_path, "judge.convo", GRAPH))
    with scripted(['"bad"']):
        run = document("run", "--stored", "judge", "--input", "It broke.")
    assert run["value"] == "bad"
    document("programs", "forget", "judge")
    assert document("programs", "list") == []
    [kept] = document("query", "MATCH (:Run)-[:OF]->(graph:Graph {namespace: $namespace}) RETURN graph.name AS name")
    assert kept["name"] == "judge"


def test_a_node_graph_that_no_run_is_of_goes_with_its_name(tmp_path: Path) -> None:
    document("load", _stored(tmp_path, "judge.convo", GRAPH))
    document("programs", "forget", "judge")
    left = "MATCH (part:Graph|GraphNode|Program {namespace: $namespace}) RETURN part.name AS name"
    assert document("query", left) == []
    document("load", str(tmp_path / "judge.convo"))
    assert [program["name"] for program in document("programs", "list")] == ["judge"]


def test_a_run_alone_stores_no_program(tmp_path: Path) -> None:
    with scripted(['"bad"']):
        document("run", _stored(tmp_path, "judge.convo", GRAPH), "--input", "It broke.")
    assert document("programs", "list") == []


def test_what_needs_files_beside_it_is_not_stored(tmp_path: Path) -> None:
    program = 'import file Words from "words.json"\n' + PICK
    [error] = document("load", _stored(tmp_path, "pick.as", program), code=1)["errors"]
    assert (error["code"], error["line"]) == ("needs-files", 1)
    assert document("programs", "list") == []


def test_a_dropped_namespace_leaves_no_program(tmp_path: Path, environment: str) -> None:
    document("load", _stored(tmp_path, "pick.as", PICK))
    document("namespaces", "drop", environment, "--yes")
    count = "MATCH (program:Program {namespace: $namespace}) RETURN count(program) AS count"
    assert document("query", count) == [{"count": 0}]
