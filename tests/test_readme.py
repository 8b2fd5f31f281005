"""What the README, and the pages that go on from it, show is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from memorygraph import MemoryGraph
from memorygraph.cli import cli
from memorygraph.languages import parse
from tests.runtime.convo.model import scripted

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
LANGUAGES = (ROOT / "docs" / "languages.md").read_text("utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
MAX_LINES = 100


def _block(language: str, containing: str, text: str) -> str:
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return next(block for block in blocks if containing in block)


def test_the_readme_takes_two_minutes() -> None:
    assert len(README.splitlines()) <= MAX_LINES


@pytest.mark.usefixtures("environment")
def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(_block("python", "MemoryGraph.connect", README), "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[:3] == [
        "1 created, revision 1",
        "Wrote the first program.",
        "ada Ada Lovelace",
    ]


@pytest.mark.usefixtures("environment")
def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """All of it but what installs, opens a window or waits for a client."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "people.ctx").write_text(_block("contextscript", "Ada", TUTORIAL))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(?:bash|console)\n(.*?)^```", TUTORIAL, re.MULTILINE | re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("memorygraph ")]
    assert len(commands) >= 10
    for command in commands:
        done = CliRunner().invoke(cli, command)
        assert done.exit_code == 0, (command, done.output)
        assert done.output or command[0] == "check", command
    exec(compile(_block("python", "MemoryGraph.connect", TUTORIAL), "tutorial.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert (printed[0], printed[-1]) == ("Wrote the first program.", "2 versions")


def test_the_language_example_is_right(graph: MemoryGraph) -> None:
    report = graph.load(_block("text", "# Declaring an id again", LANGUAGES))
    assert (report.nodes_created, report.edges_created, report.edges_deleted) == (2, 1, 1)


def test_the_agent_of_the_languages_runs(graph: MemoryGraph) -> None:
    program = _block("text", "main agent Extractor", LANGUAGES)
    with scripted(['{"facts": [{"subject": "Margaret Hamilton"}]}']):
        result = graph.run(program, {"text": "Margaret Hamilton led the flight software."})
    assert result.value == [{"subject": "Margaret Hamilton"}]


def test_the_error_example_is_what_is_said() -> None:
    shown = _block("text", "world.ctx:2", LANGUAGES)
    edge = shown.splitlines()[1].strip()
    program = parse('Node(node_id="ada", name="Ada Lovelace", data="");\n' + edge, file="world.ctx")
    assert "\n".join(map(str, MemoryGraph.check(program))) == shown.rstrip("\n")


def test_the_log_is_one_and_its_question_has_an_answer(graph: MemoryGraph) -> None:
    report = graph.load(_block("text", "context lab(", LANGUAGES), "pete")
    assert report.warnings == ()
    [bound] = graph.query(
        "MATCH (:Context {namespace: $namespace})-[:BINDS {ref: 'someone'}]->(node) RETURN node.name AS name"
    )
    assert bound["name"] == "travis"


def test_the_node_graph_of_the_languages_lacks_only_the_nodes_that_it_leaves_out() -> None:
    program = parse(_block("text", "> node categorize", LANGUAGES), "convo")
    assert [problem.code for problem in program.problems] == ["missing-target"] * 2


def test_every_file_that_it_names_is_there() -> None:
    linked = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(linked) > 10
    assert [name for name in linked if not (ROOT / name).exists()] == []
