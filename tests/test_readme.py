"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from memorygraph.languages import parse
from tests.readme_parts import renewed

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def _block(language: str, containing: str) -> str:
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return next(block for block in blocks if containing in block)


@pytest.mark.usefixtures("environment")
def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(_block("python", "MemoryGraph.connect"), "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[:3] == [
        "1 created, revision 1",
        "Wrote the first program.",
        "ada Ada Lovelace",
    ]


def test_the_language_example_is_right(graph: MemoryGraph) -> None:
    report = graph.load(_block("text", "# Declaring an id again"))
    assert (report.nodes_created, report.edges_created, report.edges_deleted) == (2, 1, 1)


def test_the_error_example_is_what_is_said() -> None:
    shown = _block("text", "world.ctx:2")
    edge = shown.splitlines()[1].strip()
    program = parse('Node(node_id="ada", name="Ada Lovelace", data="");\n' + edge, file="world.ctx")
    assert "\n".join(map(str, MemoryGraph.check(program))) == shown.rstrip("\n")


def test_the_log_is_one_and_its_question_has_an_answer(graph: MemoryGraph) -> None:
    report = graph.load(_block("text", "context lab("), "pete")
    assert report.warnings == ()
    [bound] = graph.query(
        "MATCH (:Context {namespace: $namespace})-[:BINDS {ref: 'someone'}]->(node) RETURN node.name AS name"
    )
    assert bound["name"] == "travis"


def test_its_commands_and_its_picture_of_the_modules_are_those_of_the_code() -> None:
    assert renewed(README) == README, "write them anew: python -m tests.readme_parts"


def test_every_file_that_it_names_is_there() -> None:
    linked = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(linked) > 10
    assert [name for name in linked if not (ROOT / name).exists()] == []
