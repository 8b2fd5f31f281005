"""The tutorials play to their end with the model that is scripted beside them, and each shows its pattern."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from typing import Any

import pytest

from memorygraph import MemoryGraph
from tests.conftest import EXAMPLES

TUTORIALS = EXAMPLES / "tutorials"
NAMES = ["command-line", "hello", "memory", "plan-execute", "react", "repl", "self-improve"]


@pytest.fixture
def play(graph: MemoryGraph) -> Any:
    """Plays a tutorial in a namespace of its own: the trace of each generation, and what the model was asked."""
    found = importlib.util.spec_from_file_location("play", TUTORIALS / "play.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)

    def play_tutorial(name: str) -> tuple[Any, list[str]]:
        result, requests = module.play(graph, name)
        return result, [request.prompt.partition("\nReturn JSON")[0] for request in requests]

    return play_tutorial


def script_of(name: str) -> Any:
    return json.loads((TUTORIALS / f"{name}.json").read_text("utf-8"))


def test_each_tutorial_of_the_seed_is_there_without_problems() -> None:
    found = {path.stem: MemoryGraph.check(path.read_text("utf-8"), "agentscript") for path in TUTORIALS.glob("*.as")}
    assert sorted(found) == NAMES
    assert not any(found.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_comes_to_its_value(play: Any, name: str) -> None:
    result, prompts = play(name)
    assert result.value == script_of(name)["value"]
    assert len(prompts) == len(script_of(name)["replies"])


@pytest.mark.usefixtures("environment")
def test_a_tutorial_is_played_by_a_command() -> None:
    command = [sys.executable, str(TUTORIALS / "play.py"), "hello"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.startswith("--- call 1\nContext:\n[0] input.name:\nAda\n")
    assert finished.stdout.endswith('--- value\n{\n  "greeting": "Hello, Ada!"\n}\n')


@pytest.mark.usefixtures("environment")
def test_an_unknown_tutorial_is_refused_with_their_names() -> None:
    command = [sys.executable, str(TUTORIALS / "play.py"), "ghost"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert finished.returncode == 1
    assert "|".join(NAMES) in finished.stderr


def test_react_sees_what_came_of_each_act_and_the_trace_says_that_it_is_a_copy(play: Any) -> None:
    result, prompts = play("react")
    assert "observation" not in prompts[0]
    assert '"observation": "there is no such note"' in prompts[1]
    assert "Margaret Hamilton led the team" in prompts[2]
    assert "Margaret Hamilton led the team" not in prompts[1]
    last = [event["data"] for event in result.trace if event["kind"] == "generate"][-1]
    views = {item["source"]: item.get("view") for item in last["context"]["items"]}
    assert views == {
        "question": None,
        "notes": None,
        "scratch.summary": "JSON-safe copy of the list; no model summarized it",
    }


def test_a_plan_is_made_anew_with_what_is_missing_and_no_worker_sees_the_goal(play: Any) -> None:
    _, prompts = play("plan-execute")
    assert "what to do if it rains" in prompts[4]
    assert all("picnic" not in prompts[number] for number in (1, 2, 5))
    assert "the meadow by the lake" in prompts[2]


def test_a_lesson_reaches_the_next_draft_and_the_critic_has_a_role_of_its_own(play: Any) -> None:
    result, prompts = play("self-improve")
    lesson = "Use a picture that a child knows."
    assert [lesson in prompt for prompt in prompts] == [False, False, True, False]
    judged = [event["data"]["context"]["identity"]["role"] for event in result.trace if event["kind"] == "generate"]
    assert judged == ["A writer who learns from criticism", "A strict critic"] * 2


def test_what_was_learned_is_recalled_and_the_answer_is_kept(play: Any, graph: MemoryGraph) -> None:
    _, [prompt] = play("memory")
    assert "Margaret Hamilton led the flight software." in prompt
    assert len(graph.search("Margaret Hamilton")) == 2


def test_a_line_is_answered_with_those_before(play: Any) -> None:
    _, prompts = play("repl")
    assert "Hello, Ada." not in prompts[0]
    assert "Hello, Ada." in prompts[1]
