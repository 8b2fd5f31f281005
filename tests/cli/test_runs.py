"""Stored runs on the command line: the list of them, one of them, and what was said in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_commands import document, memorygraph
from tests.cli.test_convo import GRAPH
from tests.runtime.convo.model import scripted

AGENTS = """
import llm M from "openai://m"
agent Helper {
  model M role "A helper" description "Helps"
  main func(input) { return generate({ input: "Help" }) { return { said string } } }
}
main agent Asker {
  model M role "An asker" description "Asks"
  main func(input) { return Helper(input).said }
}
"""
TRANSCRIPT = """\
@json = enum("good" "bad")
> user
Judge this: <INPUT>x</INPUT>

> assistant
"bad"

> exitGraph
"""

pytestmark = pytest.mark.usefixtures("environment")


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "judge.convo").write_text(GRAPH)
    return str(tmp_path / "judge.convo")


@pytest.fixture
def agents(tmp_path: Path) -> str:
    (tmp_path / "ask.as").write_text(AGENTS)
    return str(tmp_path / "ask.as")


def test_runs_of_every_language_are_listed_the_newest_first(script: str, agents: str) -> None:
    with scripted(['"bad"', '{"said": "Yes"}']):
        first = document("run", script, "--input", "x")
        second = document("run", agents, "--input", "{}")
    listed = document("runs", "list")
    assert [(run["id"], run["language"], run["program"], run["status"]) for run in listed] == [
        (second["run"], "agentscript", "ask", "done"),
        (first["run"], "convo", "judge", "done"),
    ]
    assert all(run["at"] for run in listed)
    assert document("runs", "list", "--limit", "1") == listed[:1]
    assert second["run"] in memorygraph("runs", "list").stdout


def test_a_run_is_shown_with_its_steps_and_its_transcript(script: str) -> None:
    with scripted(['"bad"']):
        result = document("run", script, "--input", "x")
    shown = document("runs", "show", result["run"])
    assert (shown["value"], shown["steps"], shown["trace"]) == ("bad", result["steps"], result["trace"])
    assert memorygraph("runs", "show", result["run"], "--transcript").stdout == TRANSCRIPT
    told = document("runs", "show", result["run"], "--transcript")
    assert told == {"id": result["run"], "transcript": TRANSCRIPT}
    assert "judge" in memorygraph("runs", "show", result["run"]).stdout
    assert document("runs", "show", "last") == shown
    missing = memorygraph("runs", "show", "nothing")
    assert (missing.returncode, "runs list" in missing.stderr) == (1, True)


def test_a_run_is_shown_whose_later_step_failed_without_an_output(tmp_path: Path) -> None:
    script = tmp_path / "failing.convo"
    script.write_text(
        '@to second\n> node first\n> ok(x: string) -> ("fine")\n'
        "> node second\n> f(x: string) -> (div(1 0))\n> nodeEnd\n> user\nhi\n> goto first\n"
    )
    assert memorygraph("run", str(script)).returncode == 1
    shown = memorygraph("runs", "show", "last")
    assert (shown.returncode, "fine" in shown.stdout, "second" in shown.stdout) == (0, True, True), shown.stderr


def test_what_a_called_agent_said_stands_inside_its_call(agents: str) -> None:
    with scripted(['{"said": "Yes"}']):
        result = document("run", agents, "--input", "{}")
    transcript = memorygraph("runs", "show", result["run"], "--transcript").stdout
    assert "> call Helper[{}]\n" in transcript
    assert '    > assistant\n    {"said": "Yes"}\n' in transcript
    assert '> result\n{"said":"Yes"}\n' in transcript.replace('": "', '":"')
    shown = document("runs", "show", result["run"])
    assert (shown["value"], shown["steps"]) == ("Yes", result["steps"])


def test_a_summary_is_printed_after_the_value(script: str) -> None:
    said = "It broke, and I said so."
    with scripted(['"bad"', said]):
        finished = memorygraph("run", script, "--input", "x", "--summary")
    assert finished.stdout == f"bad\n\n{said}\n"
    with scripted(['"bad"', said]):
        assert document("run", script, "--input", "x", "--summary")["summary"] == said
