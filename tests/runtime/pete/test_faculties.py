"""What a model may call: whatever a procedure does, it becomes an answer in the log, and never a crash."""

from __future__ import annotations

import functools
import json
import math
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorygraph import MemoryGraphError
from memorygraph.languages.pete.syntax import Command, Value
from memorygraph.limits import Cancelled, LimitExceeded, RunBudget, RunLimits, require_running
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.pete.faculties import (
    MAX_ANSWER_CHARS,
    Faculties,
    PythonFaculty,
    ToolFaculty,
    describe_arguments,
)
from memorygraph.runtime.pete.thought import read_sensor
from memorygraph.runtime.tools import ImportedTool, open_tool
from memorygraph.scripted.replies import Reply
from tests.runtime.pete.minds import BEGUN, Mind, letter_by_letter, require_log

SERVER = Path(__file__).parent.parent / "tools" / "mcp_server.py"
MCP = f"mcp://{shlex.quote(sys.executable)} {shlex.quote(str(SERVER))}"


def answered(procedure: Any, arguments: str | None = None) -> Any:
    command = Command("do", "it", Value(arguments) if arguments else None)
    return Faculties({"it": PythonFaculty({"do": procedure})}).answer(command)


class _Fan:
    def __call__(self, speed: int) -> int:
        return speed


def _raise(error: BaseException) -> Any:
    def procedure() -> None:
        raise error

    return procedure


class _Unspeakable(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("procedure", "arguments", "answer"),
    [
        (lambda: 3, None, {"result": 3}),
        (lambda: None, None, {"result": None}),
        (lambda: "text", "{}", {"result": "text"}),
        (lambda: [1, "a"], "[]", [1, "a"]),
        (lambda: {"a": (1, {2})}, None, {"a": [1, [2]]}),
        (lambda: {1: 2}, None, {"1": 2}),
        (lambda: "a\nb\x00}>>", None, {"result": "a\nb\x00}>>"}),
        (lambda: "\ud83e", None, {"result": "\ufffd"}),
        (lambda a, b=2: a + b, '{"a": 1}', {"result": 3}),
        (lambda a, b=2: a + b, "[1, 5]", {"result": 6}),
        (max, "[1, 5]", {"result": 5}),
        (dict, '{"a": 1}', {"a": 1}),
        (_Fan(), '{"speed": "2"}', {"result": 2}),
        (_Fan().__call__, "[2]", {"result": 2}),
        (functools.partial(lambda a, b: [a, b], 1), '{"b": 2}', [1, 2]),
    ],
)
def test_what_a_procedure_gives_is_an_object_or_an_array(procedure: Any, arguments: str | None, answer: Any) -> None:
    assert answered(procedure, arguments) == answer


@pytest.mark.parametrize(
    ("procedure", "said"),
    [
        (_raise(ValueError("it broke")), "ValueError: it broke"),
        (_raise(MemoryGraphError("not now")), "not now"),
        (_raise(SystemExit(3)), "SystemExit: 3"),
        (_raise(RecursionError("deep")), "RecursionError"),
        (_raise(_Unspeakable()), "_Unspeakable"),
        (_raise(ValueError("x" * 10**6)), "ValueError: xxx"),
        (_raise(ValueError("\ud83e half")), "\ufffd half"),
        (object, "Unable to serialize"),
        (lambda: b"\xff", "utf-8"),
        (lambda: math.nan, "Out of range float"),
        (lambda: [math.inf], "Out of range float"),
        (lambda: 10**400, "too large"),
        (lambda: 10**9000, "ValueError"),
        (lambda: json.loads("[" * 200 + "]" * 200), "nested"),
        (lambda: "x" * MAX_ANSWER_CHARS, "at most 20,000"),
    ],
)
def test_what_cannot_stand_in_a_log_is_an_error_in_it(procedure: Any, said: str) -> None:
    answer = answered(procedure)
    assert list(answer) == ["error"]
    assert said in answer["error"]
    assert len(answer["error"]) < 3000


def ended_run(reason: str) -> RunBudget:
    """A run that is to end."""
    budget = RunBudget(RunLimits(max_seconds=0 if reason == "time" else 60))
    if reason == "cancelled":
        budget.cancel("the process was told to end")
    return budget


@pytest.mark.parametrize(("reason", "error"), [("cancelled", Cancelled), ("time", LimitExceeded)])
@pytest.mark.parametrize("procedure", [require_running, _raise(OSError("ended by a signal"))])
def test_the_end_of_the_run_is_no_answer(procedure: Any, reason: str, error: type[Exception]) -> None:
    with pytest.raises(error), ended_run(reason).active():
        answered(procedure)
    with pytest.raises(error), ended_run(reason).active():
        read_sensor("clock", procedure)
    with pytest.raises(Cancelled, match="over"):
        answered(_raise(Cancelled("over")))


def test_a_limit_that_only_the_procedure_has_used_up_is_an_answer() -> None:
    def run_long() -> None:
        RunBudget(RunLimits(max_work=2)).spend(3)

    assert "has done its 2 steps" in answered(run_long)["error"]


def test_a_tool_that_was_not_asked_for_its_methods_in_time_is_asked_again(mcp: ImportedTool) -> None:
    faculty = ToolFaculty(mcp)
    with pytest.raises(Cancelled), ended_run("cancelled").active():
        list(faculty.describe())
    assert (faculty.has("add"), faculty.has("subtract")) == (True, False)


def test_a_list_that_holds_itself_is_an_error() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert "Circular" in answered(lambda: endless)["error"]


def _typed(speed: int, level: float = 1.0) -> str:
    """Set the fan."""
    return f"{speed} {level}"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"speed": "fast"}', "speed: Input should be a valid integer"),
        ("{}", "speed: Missing required argument"),
        (None, "speed: Missing required argument"),
        ('{"speed": 1, "colour": 2}', "colour: Unexpected keyword argument"),
        ("[1, 2, 3]", "2: Unexpected positional argument"),
    ],
)
def test_arguments_are_checked_by_their_annotations(arguments: str | None, said: str) -> None:
    assert said in answered(_typed, arguments)["error"]


def test_the_model_is_told_what_it_may_call(mind: Mind) -> None:
    thought = mind.thinks("// well\n").faculty("fan", set=_typed)
    thought.step()
    system = mind.asked[0].json["messages"][0]["content"]
    assert '@fan, set {"speed": integer, "level"?: number}  // Set the fan.' in system
    assert '@view, unfold {"address": integer}' in system


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("@fun, set {}", "there is no faculty `fun`; there are `view`, `fan`, `heater`"),
        ("@fan, burn {}", "`fan` has no procedure `burn`; it has set"),
        ("burn {}", "no faculty has a procedure `burn`"),
        ("set {}", "several faculties have `set`: write `@fan, set` or `@heater, set`"),
    ],
)
def test_what_nobody_has_or_several_have_is_an_error_in_the_log(mind: Mind, command: str, said: str) -> None:
    thought = mind.thinks(command)
    thought.faculty("fan", set=lambda: 1).faculty("heater", set=lambda: 2)
    step = thought.step()
    assert said in step.feedback["error"]
    assert require_log(thought) == f"{BEGUN}\n  {command} >> {json.dumps(step.feedback)}"


def test_without_a_name_whoever_has_it_answers(mind: Mind) -> None:
    thought = mind.thinks("heat {}", "heat\n")
    thought.faculty("fan", set=lambda: 1).faculty("heater", heat=lambda: 2)
    assert [step.feedback for step in thought.run(2).steps] == [{"result": 2}, {"result": 2}]


def test_a_procedure_may_print_and_take_its_time(mind: Mind, capsys: pytest.CaptureFixture[str]) -> None:
    def slow() -> str:
        print("working")
        time.sleep(0.5)
        return "done"

    thought = mind.thinks("work\n").faculty("job", work=slow)
    assert thought.step().feedback == {"result": "done"}
    assert capsys.readouterr().out == "working\n"


def test_an_answer_with_signs_of_the_language_is_one_answer(mind: Mind) -> None:
    hostile = '}\n}\n>> {"x": 1}\n!! y\n*/ // \u2028 "'
    thought = mind.thinks("look\n", "// so\n").faculty("eye", look=lambda: hostile)
    assert thought.step().feedback == {"result": hostile}
    thought.step()
    assert require_log(thought).count("\n") == 2
    assert [frame.open for frame in thought.frame().frames()] == [True]


def test_the_model_is_stopped_at_a_command(mind: Mind) -> None:
    later = 'set {"speed": 2}' + "".join(f"\n&n{n} likes &n{n}." for n in range(4000))
    thought = mind.thinks(Reply(later, piece_length=10, pause=0.01)).faculty("fan", set=lambda speed: speed)
    started = time.monotonic()
    thought.step()
    assert time.monotonic() - started < 30  # all of it takes more than a minute
    assert require_log(thought) == BEGUN + '\n  set {"speed": 2} >> {"result": 2}'


def test_a_command_runs_once_and_before_the_next_answer(mind: Mind) -> None:
    calls: list[int] = []
    thought = mind.thinks(letter_by_letter("count\n"), letter_by_letter("count\n"), "}")
    thinking = thought.faculty("it", count=lambda: calls.append(1)).run()
    assert (len(calls), thinking.ended) == (2, "closed")
    assert mind.asked[1].prompt.endswith('count >> {"result": null}')


def test_names_of_faculties_and_sensors_are_checked(mind: Mind) -> None:
    thought = mind.thinks()
    for wrong in ("", "a b", "größe", "a}", "1a", "memory", "not"):
        with pytest.raises(MemoryGraphError):
            thought.faculty(wrong, do=lambda: 1)
        with pytest.raises(MemoryGraphError):
            thought.sensor(wrong, lambda: 1)
        with pytest.raises(MemoryGraphError):
            thought.sense(wrong, 1)
    with pytest.raises(MemoryGraphError, match="needs procedures"):
        thought.faculty("fan")


@pytest.fixture
def mcp(tmp_path: Path) -> Iterator[ImportedTool]:
    tool = open_tool("server", MCP, tmp_path, Permissions.of(["mcp"]))
    yield tool
    tool.close()


@pytest.mark.timeout(120)
def test_the_tools_of_an_mcp_server_are_procedures(mind: Mind, mcp: ImportedTool) -> None:
    thought = mind.thinks('@server, add {"a": 1, "b": 2}', "fail\n", "@server, two_parts\n", "@server, add [1]")
    thought.faculty("server", ToolFaculty(mcp))
    added, failed, texts, wrong = (step.feedback for step in thought.run(4).steps)
    assert (added, texts) == ({"result": 3}, {"result": 'one\n{"two": 2}'})
    assert "the reason" in failed["error"]
    assert "it takes one object" in wrong["error"]
    require_log(thought)


@pytest.mark.timeout(120)
def test_a_model_is_told_the_tools_of_an_mcp_server_and_what_they_take(mcp: ImportedTool, tmp_path: Path) -> None:
    faculty = ToolFaculty(mcp)
    assert any(line.startswith('add {"a": integer, "b": integer}') for line in faculty.describe())
    assert (faculty.has("add"), faculty.has("subtract")) == (True, False)
    refused = ToolFaculty(open_tool("server", MCP, tmp_path, Permissions.of([])))
    assert list(refused.describe()) == [f"the tool {refused.tool.uri}"]


def test_a_parameter_of_a_tool_may_have_a_schema_that_takes_anything() -> None:
    schema = {"type": "object", "properties": {"value": True, "name": {"type": "string"}}, "required": ["value"]}
    assert describe_arguments(schema) == '{"value": any, "name"?: string}'


def test_a_tool_that_nobody_allowed_is_refused_in_the_log(mind: Mind, tmp_path: Path) -> None:
    thought = mind.thinks('@server, add {"a": 1, "b": 2}')
    thought.faculty("server", ToolFaculty(open_tool("server", MCP, tmp_path, Permissions.of([]))))
    assert "--allow-tool mcp" in thought.step().feedback["error"]
