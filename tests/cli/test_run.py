"""`run` and `repl` as a user meets them: the value on stdout, all else on stderr, and an exit code that tells."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorygraph.cli import cli
from memorygraph.cli.trace import TraceOutput
from memorygraph.errors import NotFoundError
from memorygraph.runtime.agentscript.session import Session
from memorygraph.scripted.replies import Failure, Reply
from tests.cli.test_commands import document, here, memorygraph
from tests.memory.endpoints import Endpoint

PROGRAM = """
import llm M from "openai://m"
import tool Shell from "sh://"
main agent A {
  model M role "R" description "D"
  main func(input { question string }) {
    use input.question < 5
    return generate({ input: "Answer" }) { return { text string } }
  }
  func shell(input) { return Shell.run("echo done").stdout }
  func pick(a, b) { return [b, a] }
}
"""

pytestmark = pytest.mark.usefixtures("environment")


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "answer.as").write_text(PROGRAM)
    return str(tmp_path / "answer.as")


INPUT = ("--input", '{"question": "What is it?"}')


def test_the_value_is_printed_and_the_rest_is_on_stderr(script: str, endpoint: Endpoint) -> None:
    with endpoint('{"text": "A graph."}'):
        finished = memorygraph("run", script, *INPUT)
    assert finished.returncode == 0
    assert json.loads(finished.stdout) == {"text": "A graph."}
    assert "1 generation; run " in finished.stderr


def test_json_is_the_contract(script: str, endpoint: Endpoint) -> None:
    with endpoint('{"text": "A graph."}'):
        result = document("run", script, *INPUT)
    assert result["value"] == {"text": "A graph."}
    assert [event["kind"] for event in result["trace"]] == ["use", "generate"]
    assert result["steps"][0]["sources"] == ["input.question"]
    assert result["conversation"] == f"run-{result['run']}"
    assert document("messages", "show", result["conversation"])[-1]["content"] == '{"text": "A graph."}'


def test_the_input_can_be_a_file(script: str, tmp_path: Path) -> None:
    (tmp_path / "input.json").write_text('{"question": "?"}')
    assert document("run", script, "--mock", "--input", f"@{tmp_path}/input.json")["value"] == {"text": ""}


def test_the_mock_is_used_only_when_told_to(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    finished = memorygraph("run", script, *INPUT)
    assert finished.returncode == 4
    assert "needs a key: set OPENAI_API_KEY" in finished.stderr
    assert memorygraph("run", script, *INPUT, "--mock").returncode == 0


def test_another_model_is_asked(script: str, endpoint: Endpoint) -> None:
    with endpoint('{"text": "A"}') as model:
        assert memorygraph("run", script, *INPUT, "--model", "other/one").returncode == 0
        assert model.requests[0].json["model"] == "other/one"


def test_a_trace_goes_to_a_file_also_when_the_run_fails(script: str, tmp_path: Path, endpoint: Endpoint) -> None:
    trace = tmp_path / "trace.json"
    with endpoint(Failure(500, "broken")):
        finished = memorygraph("run", script, *INPUT, "--trace", str(trace))
    assert finished.returncode == 4
    assert "answer.as:8:12" in finished.stderr
    use, generate = json.loads(trace.read_text())
    assert use["data"] == {"source": "input.question", "budget": {"amount": 5, "unit": None}}
    assert generate["data"]["ok"] is False
    assert generate["data"]["context"]["items"][0]["text"] == "What "
    with endpoint('{"text": "A"}'):
        assert document("run", script, *INPUT, "--trace", str(trace))["trace"] == {"file": str(trace)}


def test_a_run_that_fails_is_named_with_the_place_where_it_failed(script: str, endpoint: Endpoint) -> None:
    with endpoint(Failure(500, "broken")):
        failed = document("run", script, *INPUT, code=4)
    [error] = failed["errors"]
    assert (error["code"], error["file"], error["line"], error["column"]) == ("model", script, 8, 12)
    assert error["message"] == "the model endpoint failed; try again later (broken)"
    assert document("runs", "show", "last")["id"] == failed["run"]


def test_a_trace_that_cannot_be_written_is_said_before_the_run(script: str, tmp_path: Path, endpoint: Endpoint) -> None:
    with endpoint('{"text": "A"}') as model:
        finished = memorygraph("run", script, *INPUT, "--trace", str(tmp_path / "none" / "trace.json"))
        assert model.requests == []
    assert (finished.returncode, finished.stdout) == (1, "")
    assert "the trace cannot be written" in finished.stderr


def test_an_error_after_a_trace_was_written_is_the_one_that_is_raised(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with pytest.raises(NotFoundError), TraceOutput(str(path), shown=False) as trace:  # noqa: PT012 - one block is meant
        trace.listen({"kind": "use", "data": {}}, 0)
        trace.write()
        raise NotFoundError
    assert json.loads(path.read_text()) == [{"kind": "use", "data": {}}]


def test_a_run_that_does_not_begin_leaves_the_trace_of_another(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text("of another run")
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    assert memorygraph("run", script, *INPUT, "--mock", "--trace", str(trace)).returncode == 3
    assert trace.read_text() == "of another run"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_the_value_of_a_run_is_printed_also_where_its_trace_finds_a_full_disk(script: str) -> None:
    arguments = ("run", script, *INPUT, "--mock", "--trace", "/dev/full")
    finished = memorygraph(*arguments)
    [newest] = document("runs", "list", "--limit", "1")
    unwritten = f"run {newest['id']} is stored, and the trace cannot be written to /dev/full: No space left on device"
    assert (finished.returncode, json.loads(finished.stdout)) == (1, {"text": ""})
    assert finished.stderr.endswith(f"memorygraph: {unwritten}\n")
    printed = document(*arguments, code=1)
    assert (printed["value"], [event["kind"] for event in printed["trace"]]) == ({"text": ""}, ["use", "generate"])
    assert f"run {printed['run']} is stored, and the trace" in printed["errors"][0]["message"]
    failed = memorygraph("run", script, "--mock", "--trace", "/dev/full")
    assert "memorygraph: the trace cannot be written to /dev/full" in failed.stderr
    assert "the input has no `question`" in failed.stderr


def test_a_pretty_trace_is_shown_as_it_happens(script: str, endpoint: Endpoint) -> None:
    with endpoint('{"text": "A\\u001b[31m"}'):
        shown = memorygraph("run", script, *INPUT, "--trace", "pretty").stderr
    assert "use input.question < 5" in shown
    assert "[0] input.question: 5 of 11 What" in shown
    assert "\x1b" not in shown


def test_a_pretty_trace_says_where_a_summary_is_a_copy(tmp_path: Path, endpoint: Endpoint) -> None:
    text = PROGRAM.replace("use input.question", "seen = [input.question]\n use seen.summary")
    (tmp_path / "seen.as").write_text(text)
    with endpoint('{"text": "A"}'):
        finished = memorygraph("run", str(tmp_path / "seen.as"), *INPUT, "--trace", "pretty")
    assert "JSON-safe copy of the list; no model summarized it" in finished.stderr


def test_a_step_whose_reply_was_cut_is_shown_with_a_warning(tmp_path: Path, endpoint: Endpoint) -> None:
    (tmp_path / "tell.convo").write_text("> node a\n> user\nTell\n> nodeEnd\n> goto a")
    with endpoint(Reply("It begins", finish_reason="length")):
        finished = memorygraph("run", str(tmp_path / "tell.convo"), "--model", "m")
    assert (finished.returncode, finished.stdout) == (0, "It begins\n")
    assert "\n    warning: the model's reply (inference) was cut at its limit of tokens" in finished.stderr


def test_quiet_prints_the_value_only(script: str) -> None:
    finished = memorygraph("run", script, *INPUT, "--mock", "--quiet")
    assert (json.loads(finished.stdout), finished.stderr) == ({"text": ""}, "")


def test_check_finds_imports_that_cannot_be_opened(tmp_path: Path) -> None:
    program = """import file Note from "note.txt"
import file Elsewhere from "../note.txt"
import agent Worker from "worker.as"
import tool T from "foo://x"
import memory M from "foo://x"
import memory Own from "neo4j://other"
main agent A { main func() { return Note } }
"""
    (tmp_path / "a.as").write_text(program)
    (tmp_path / "worker.as").write_text("agent Other { main func() { return 1 } }")
    for command in (["check"], ["run", "--check"], ["run"]):
        errors = document(*command, str(tmp_path / "a.as"), code=1)["errors"]
        assert [(error["line"], error["code"]) for error in errors] == [
            (line, "import-failed") for line in (1, 3, 4, 5)
        ]
    (tmp_path / "note.txt").write_text("Note")
    (tmp_path / "worker.as").write_text("agent Worker { main func() { return 1 } }")
    (tmp_path / "a.as").write_text(program.replace("foo://x", "sh://", 1).replace("foo://x", "sqlite://x.db"))
    assert document("check", str(tmp_path / "a.as"))["errors"] == []


def test_a_run_in_which_nothing_was_said_names_no_conversation(script: str) -> None:
    finished = memorygraph("run", script, "--function", "pick", "--input", '{"a": 1, "b": 2}')
    assert re.search(r"^0 generations; run \w+$", finished.stderr, re.MULTILINE), finished.stderr


def test_the_type_of_the_items_that_an_input_lacks_is_said(tmp_path: Path) -> None:
    (tmp_path / "f.as").write_text("main agent A { main func(input { l list[string] }) { return input.l } }")
    [error] = document("run", str(tmp_path / "f.as"), "--input", '{"l": ["a", 1]}', code=1)["errors"]
    assert error["message"] == '`l` of the input must be list[string], and is ["a",1]'


def test_check_runs_nothing(script: str, tmp_path: Path) -> None:
    finished = memorygraph("run", script, "--check")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "no errors\n")
    (tmp_path / "bad.as").write_text(PROGRAM.replace("use input.question", "use Shell"))
    finished = memorygraph("run", str(tmp_path / "bad.as"), "--check")
    assert finished.returncode == 1
    assert "bad.as:7:9: `Shell` is a tool" in finished.stderr
    assert document("check", str(tmp_path / "bad.as"), code=1)["errors"][0]["code"] == "invalid-use-resource"


def test_what_the_input_lacks_is_said_with_its_place(script: str) -> None:
    finished = memorygraph("run", script, "--mock")
    assert finished.returncode == 1
    assert "answer.as:6:21: the input has no `question`" in finished.stderr
    assert memorygraph("run", script, "--input", "{question").returncode == 1


def test_a_tool_is_refused_until_it_is_allowed(script: str) -> None:
    arguments = ("run", script, "--function", "shell", "--input", "{}")
    refused = memorygraph(*arguments)
    assert refused.returncode == 1
    assert "allow it with `--allow-tool sh`" in refused.stderr
    assert "what it had done by then stays" in refused.stderr
    assert memorygraph(*arguments, "--allow-tool", "sh").stdout == "done\n\n"


def test_another_namespace_is_refused_until_it_is_allowed(tmp_path: Path) -> None:
    program = tmp_path / "reach.as"
    program.write_text(
        'import memory M from "neo4j://theirs"\nmain agent A { main func() { return M.query().length } }'
    )
    refused = memorygraph("run", str(program), "--input", "{}")
    assert refused.returncode == 1
    assert "allow it with `--allow-namespace theirs`" in refused.stderr
    assert memorygraph("run", str(program), "--input", "{}", "--allow-namespace", "theirs").stdout == "0\n"


def test_another_function_takes_its_arguments_by_name(script: str) -> None:
    assert document("run", script, "--function", "pick", "--input", '{"a": 1, "b": 2}')["value"] == [2, 1]


def test_what_cannot_be_run_is_said(script: str, tmp_path: Path) -> None:
    (tmp_path / "world.ctx").write_text('Node(node_id="a", name="A", data="");')
    assert "memorygraph load" in memorygraph("run", str(tmp_path / "world.ctx")).stderr
    assert "run --stored" not in memorygraph("load", script, "--dry-run").stderr
    assert "memorygraph run --stored answer" in memorygraph("load", script).stderr
    assert "has no function `nobody`" in memorygraph("run", script, "--function", "nobody").stderr
    assert "has no agent `Nobody`" in memorygraph("run", script, "--agent", "Nobody").stderr


@pytest.mark.timeout(60)  # a pipe would be waited for without an end
@pytest.mark.parametrize("kind", ["file", "agent"])
@pytest.mark.parametrize(("make", "message"), [(os.mkfifo, "is not a plain file"), (os.mkdir, "is a folder")])
def test_what_is_imported_is_a_plain_file(
    tmp_path: Path, kind: str, make: Callable[[Path], None], message: str
) -> None:
    make(tmp_path / "other")
    program = tmp_path / "main.as"
    program.write_text(f'import {kind} Other from "other"\nmain agent A {{ main func() {{ return 1 }} }}')
    [error] = document("run", str(program), code=1)["errors"]
    assert (error["line"], error["code"]) == (1, "import-failed")
    assert error["message"] == f"`other` {message}"


def test_a_session_keeps_its_names_and_goes_on_after_an_error() -> None:
    typed = """\
import llm M from "openai://m"
model M
x = { question: "What?" }
x.question
x.answer
use x.question < 3
:context
:names
generate({ input: "Answer" }) {
  return { text string }
}

agent Helper { model M role "h" description "helps" main func(a) { return [a] } }
Helper(x.question)
x = M
x
:nonsense
:quit
"""
    finished = memorygraph("repl", "--mock", stdin=typed)
    assert finished.returncode == 0
    assert finished.stdout.split("\n")[0] == "What?"
    assert '"text": ""' in finished.stdout
    assert '"What?"' in finished.stdout
    assert "<session>:1:1: the object has no field `answer`; it has `question`" in finished.stderr
    assert "x.question < 3" in finished.stderr
    assert "the llm `M`" in finished.stdout
    assert "there is no command :nonsense" in finished.stderr
    assert "kept as run" in finished.stderr


def test_what_is_left_open_at_the_end_of_a_session_is_said_to_be_wrong() -> None:
    finished = memorygraph("repl", "--mock", stdin="agent A {\n")
    assert "<session>:1:9: expected a func or a setting" in finished.stderr
    assert "kept as run" in finished.stderr


def test_the_names_of_a_session_are_shown_whatever_they_hold() -> None:
    typed = 'import llm M from "ollama://u:pw@127.0.0.1:1/m"\nx = {}\nx.y = x\nz = [M]\nn = 5\n:names\nn\n'
    finished = memorygraph("repl", "--mock", stdin=typed)
    assert (finished.returncode, finished.stdout.strip()) == (0, "5")
    assert "x = (" in finished.stderr
    assert "z = (" in finished.stderr
    assert "n = 5" in finished.stderr
    assert finished.stderr.count("pw@") == 1  # as it was typed


def test_ctrl_c_ends_the_entry_of_a_session_and_not_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    execute = Session.execute

    def interrupt(session: Session, text: str) -> list[Any]:
        if text == "wait":
            raise KeyboardInterrupt
        return execute(session, text)

    monkeypatch.setattr(Session, "execute", interrupt)
    finished = here("repl", "--mock", stdin="wait\n5\n")
    assert (finished.returncode, finished.stdout.strip()) == (0, "5")
    assert "stopped; what the entry had done by then stays" in finished.stderr
    assert "kept as run" in finished.stderr


def test_a_session_lives_on_after_entries_that_are_wrong() -> None:
    typed = 'x = 5\n3 = 4\nfor y in [x] < 2k { }\ngenerate({ input: "Go" zzz: 1 }) { return { a int } }\nx\n'
    finished = memorygraph("repl", "--mock", stdin=typed)
    assert (finished.returncode, finished.stdout.strip()) == (0, "5")
    assert "<session>:1:1: only a variable or a member of an object can be assigned" in finished.stderr
    assert "<session>:1:16: a `for` takes at most a whole number of items" in finished.stderr
    assert "<session>:1:24: `generate` has no option `zzz`" in finished.stderr
    assert "no type is called `int`; write `number`" in finished.stderr


def test_an_entry_whose_source_fails_in_a_later_one_is_shown_where_it_stands() -> None:
    typed = (
        'import llm M from "openai://m"\nmodel M\nseen = { question: "?" }\nuse seen.answer\n'
        'generate({ input: "Go" }) { return { n number } }\n'
    )
    finished = memorygraph("repl", "--mock", stdin=typed)
    shown = "<session>:1:5: the object has no field `answer`; it has `question`\n    use seen.answer\n        ^^^"
    assert shown in finished.stderr


def test_what_is_typed_into_a_session_in_another_encoding_is_said() -> None:
    result = CliRunner().invoke(cli, ["repl", "--mock"], input='"Zoë"\n'.encode("latin-1"))
    assert result.exit_code == 1
    assert "memorygraph: what is typed is not UTF-8: " in result.stderr


def test_a_session_is_kept_as_a_run() -> None:
    memorygraph(
        "repl", "--mock", stdin='import llm M from "openai://m"\nmodel M\ngenerate({input: "Go"}) {return {n number}}\n'
    )
    query = "MATCH (r:Run {namespace: $namespace})-[:GENERATED]->(g) RETURN r.status AS status, g.instruction AS i"
    assert document("query", query) == [{"status": "done", "i": "Go"}]
