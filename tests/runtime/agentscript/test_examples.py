"""The examples run, against a real endpoint that answers from a script."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memorygraph import MemoryGraph
from memorygraph.runtime.runs import RunResult
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.conftest import EXAMPLES


@pytest.fixture
def run(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> Any:
    def run_example(path: Path, given: Any, *replies: Any, **options: Any) -> tuple[RunResult, list[str]]:
        with ScriptedModel([json.dumps(reply) for reply in replies], strict=True) as model:
            monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
            result = graph.run_file(path, given, **options)
        return result, [request.prompt for request in model.requests]

    return run_example


def test_every_example_is_checked() -> None:
    found = {path.name: MemoryGraph.check(path.read_text(), "agentscript") for path in EXAMPLES.glob("*.as")}
    assert sorted(found) == ["changelog.as", "extract.as", "review.as", "summarize.as", "translate.as"]
    assert not any(found.values())


def test_a_summary_is_written_again_until_it_is_faithful(run: Any) -> None:
    result, prompts = run(
        EXAMPLES / "summarize.as",
        {"text": "Apollo 11 landed.", "points": 1},
        {"points": ["It flew to Mars."]},
        {"faithful": False, "mistakes": ["Mars"]},
        {"points": ["It landed."]},
        {"faithful": True, "mistakes": []},
    )
    assert result.value == {"points": ["It landed."], "faithful": True}
    assert "[2] mistakes:" in prompts[2]


def test_each_translation_sees_one_language(run: Any) -> None:
    result, prompts = run(
        EXAMPLES / "translate.as",
        {"text": "The lander is down.", "languages": ["de", "fr"]},
        {"translation": "Die Landefähre steht."},
        {"translation": "Le module est posé."},
    )
    assert [row["text"] for row in result.value] == ["Die Landefähre steht.", "Le module est posé."]
    assert "[1] language:\nde\n" in prompts[0]
    assert "[1] language:\nfr\n" in prompts[1]
    assert "module lunaire" in prompts[1]


def test_what_was_extracted_is_in_the_graph_and_recalled_by_the_next_run(run: Any, graph: MemoryGraph) -> None:
    given = {"text": "Margaret Hamilton led the flight software."}
    fact = {"name": "Hamilton led the flight software"}
    result, _ = run(EXAMPLES / "extract.as", given, {"facts": [fact]})
    assert result.value == {"facts": [fact], "kept": 1}
    assert graph.search("flight software")[0].node.name == "Hamilton led the flight software"
    _, prompts = run(EXAMPLES / "extract.as", given, {"facts": []})
    assert "[1] Facts.recall(input.text):\n[\n  {" in prompts[0]
    assert "Hamilton led the flight software" in prompts[0]


def test_reviewers_do_not_see_what_another_was_told(run: Any) -> None:
    result, prompts = run(
        EXAMPLES / "review.as",
        {"title": "Faster", "diff": "- a\n+ b"},
        {"findings": ["b is undefined"]},
        {"findings": []},
        {"merge": False, "reason": "It breaks."},
    )
    assert result.value == {"merge": False, "reason": "It breaks.", "findings": ["b is undefined"]}
    assert "Faster" not in prompts[0] + prompts[1]
    assert "b is undefined" not in prompts[1]
    assert "- a" not in prompts[2]


def test_a_changelog_is_made_of_the_commits(run: Any, tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "changelog.as", tmp_path)
    for command in (
        ["init", "--quiet"],
        ["-c", "user.name=n", "-c", "user.email=e@e", "commit", "--quiet", "--allow-empty", "-m", "Add a picture"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    entries = {"added": ["A picture"], "changed": [], "fixed": []}
    result, prompts = run(tmp_path / "changelog.as", {"commits": 5}, entries, {"title": "Pictures"}, allow_tools=["sh"])
    assert result.value == {"title": "Pictures", "entries": entries}
    assert "[0] log.stdout:\nAdd a picture" in prompts[0]
    assert "Add a picture" in prompts[1]
