"""What can go wrong in a run: the result says it, and keeps the step; what goes well in spite of it."""

from __future__ import annotations

import json

import pytest

from memorygraph.errors import ModelError, ScriptError
from memorygraph.llm.completion import ToolCall
from memorygraph.runtime.convo.controller import execute_convo_graph
from memorygraph.runtime.permissions import Permissions
from memorygraph.scripted.replies import Failure, Reply, ScriptedAnswer
from tests.runtime.convo.model import scripted, sent, tool
from tests.web_services import Site

TOOL = """
@to b
> node a
  > double(n: number) -> (mul(n 2))
  > broken(n: number) -> (div(n 0))
  > send(n: number) -> (httpPost("http://HOST/items" { n: n }))
  @call
  > user
  Go
> node b
> nodeEnd
> user
x
> goto a
"""


@pytest.mark.parametrize(
    ("reply", "code", "error"),
    [
        (tool("evil", n=1), "unknown-tool", "the model called `evil`, which is not offered here"),
        (Reply(tool_calls=(ToolCall("double", "{n:"),)), "tool", "not JSON"),
        (Reply(tool_calls=(ToolCall("double", "[1]"),)), "tool", "must be a JSON object"),
        (
            Reply(tool_calls=(ToolCall("double", '{"n":'),), finish_reason="length"),
            "tool",
            "were cut at the model's limit",
        ),
        (tool("double", n="many"), "tool", "`double`.n must be a number"),
        (tool("double"), "tool", "`double`.n is missing"),
        (tool("broken", n=1), "tool", "`div` cannot divide by 0"),
        (tool("send", n=1), "tool", "503"),
        (Failure(400, "No."), "model", "the model endpoint refused the request"),
    ],
)
def test_a_tool_that_fails_fails_the_run_and_the_step_is_kept(reply: ScriptedAnswer, code: str, error: str) -> None:
    with Site({"/items": 503}) as site, scripted([reply]):
        result = execute_convo_graph(
            TOOL.replace("HOST", site.host), permissions=Permissions.of(allow_hosts=[site.host])
        )
    assert (result.success, result.value, result.code, result.exited) == (False, None, code, False)
    assert error in str(result.error)
    [step] = result.steps
    assert (step.node, step.input, step.error, step.completed) == ("a", "x", result.error, False)
    assert result.text.startswith("@call\n> user\nGo")


@pytest.mark.parametrize(
    ("tag", "code"), [("@call(double)", "unknown-tool"), ("@call: double", "unknown-tool"), ("@called\n  @call", None)]
)
def test_a_wanted_call_is_read_as_what_the_tag_is(tag: str, code: str | None) -> None:
    with scripted([tool("double", n=1)]):
        result = execute_convo_graph(TOOL.replace("@call", tag))
    assert result.code == code
    assert result.error == (f"`{tag}` asks for a function that is not offered here" if code else None)


CUT = "the model's reply ({}) was cut at its limit of tokens; raise `@maxTokens`, or ask for less"


def test_a_reply_that_was_cut_goes_on_with_a_warning() -> None:
    routes = "@to b It is good\n@to b\n> node a\n> user\nTell\n> node b\n> user\nGo\n> nodeEnd\n> goto a"
    with scripted([Reply("It begins", finish_reason="length"), Reply("{", finish_reason="length"), "whole"]):
        result = execute_convo_graph(routes)
    assert (result.success, result.value) == (True, "whole")
    assert [step.warnings for step in result.steps] == [[CUT.format("inference"), CUT.format("routing")], []]


def test_a_typed_reply_that_was_cut_fails_and_says_so() -> None:
    typed = "> define\nReport = map(n: number)\n> node a\n@json Report\n> user\nTell\n> nodeEnd\n> goto a"
    with scripted([Reply('{"n": 1', finish_reason="length")]):
        result = execute_convo_graph(typed)
    assert (result.success, result.code) == (False, "json-output")
    assert "the model's reply was cut at its limit of tokens, and does not have the wanted type" in str(result.error)


def test_arguments_become_what_the_function_takes() -> None:
    with scripted([tool("double", n="21")]):
        result = execute_convo_graph(TOOL)
    assert (result.value, [step.node for step in result.steps]) == (42, ["a", "b"])
    assert '"n": 21' in result.text


def test_who_changes_the_data_of_a_result_does_not_change_the_result() -> None:
    with scripted([tool("double", n=21)]):
        result = execute_convo_graph(TOOL)
    kept = json.dumps(result.as_dict())
    [step, _] = result.as_dict()["steps"]
    step["calls"][0]["messages"][0]["content"] = step["calls"][0]["options"]["tools"] = None
    step["messages"][1]["arguments"]["n"] = 7
    assert json.dumps(result.as_dict()) == kept


def test_only_the_first_call_counts_and_a_warning_says_so() -> None:
    calls = (ToolCall("double", '{"n": 1}', "c1"), ToolCall("double", '{"n": 2}', "c2"))
    with scripted([Reply(tool_calls=calls)]):
        result = execute_convo_graph(TOOL)
    assert result.value == 2
    assert result.steps[0].warnings == [
        "the model called 2 functions at once, and a step calls one: only the first call, of `double`, was made"
    ]


def test_text_in_spite_of_a_wanted_call_is_the_output() -> None:
    with scripted(["I would rather not"]):
        result = execute_convo_graph(TOOL)
    assert (result.success, result.value) == (True, "I would rather not")
    assert result.steps[0].warnings == ["the model called no function in spite of `@call`: its text is the output"]


def test_a_reply_that_a_filter_stopped_goes_on_with_a_warning() -> None:
    with scripted([Reply("", finish_reason="content_filter")]):
        result = execute_convo_graph("> node a\n> user\nGo\n> nodeEnd\n> user\nx\n> goto a")
    assert (result.success, result.value) == (True, "")
    assert result.steps[0].warnings == ["the endpoint's content filter stopped the model's reply (inference)"]


def test_what_a_model_thinks_is_no_part_of_its_reply() -> None:
    routes = '@exit = eq(output "no")\n@to b = eq(output "yes")\n> node a\n> user\nIs it?\n@contextDepth 2\n'
    source = routes + "> node b\n> f() -> (??? Why? ???)\n> user\n[{{input}}] {{f()}}\n> nodeEnd\n> user\nx\n> goto a"
    with scripted(["<think>Perhaps no?</think>\nyes", "<think>Hm.</think>so", "fin"]) as model:
        result = execute_convo_graph(source)
    assert (result.value, [step.output for step in result.steps]) == ("fin", ["yes", "fin"])
    assert "think" not in result.text + json.dumps(sent(model)[1:])


def test_an_answer_that_is_empty_is_an_empty_output() -> None:
    with scripted(["", "b"]):
        result = execute_convo_graph(
            "@to b\n> node a\n> user\nGo\n> node b\n> user\n[{{input}}]\n> nodeEnd\n> user\nx\n> goto a"
        )
    assert (result.steps[1].input, result.value) == ("", "b")


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("> user\nHi", "no-goto"),
        ("", "no-goto"),
        ("> node a\n> user\nHi\n> nodeEnd\n> user\nHi\n> goto", "no-goto"),
        ("> node a\n> user\nHi\n> nodeEnd\n> user\nHi\n> goto a\n> exitGraph", "no-goto"),
        ("> define\nx = foreach(1)\n> node a\n> nodeEnd\n> goto a", "script"),
        ("@to b = div(1 0)\n> node a\n> node b\n> nodeEnd\n> user\nx\n> goto a", "script"),
    ],
)
def test_what_cannot_run_makes_no_request(source: str, code: str) -> None:
    with scripted([]) as model:
        result = execute_convo_graph(source)
    assert (result.success, result.code, model.requests) == (False, code, [])


@pytest.mark.parametrize(
    "source",
    [
        "> node a\n> nodeEnd\n> user\nx\n> goto b",
        "@to b\n> node a\n> nodeEnd\n> user\nx\n> goto a",
        "> node a\n> node a\n> nodeEnd\n> user\nx\n> goto a",
        "> node a\n> nodeEnd\n> to a\n> user\nx\n> goto a",
        "> node a\n> f(\n> goto a",
    ],
)
def test_a_wrong_source_is_refused_before_anything_runs(source: str) -> None:
    with pytest.raises(ScriptError) as failure:
        execute_convo_graph(source, file="a.convo")
    assert all(problem.file == "a.convo" and problem.line for problem in failure.value.problems)


def test_a_failure_of_the_endpoint_is_told_as_the_error_that_it_is() -> None:
    with scripted([Failure(400, "No.")]):
        result = execute_convo_graph("> node a\n> user\nGo\n> nodeEnd\n> user\nx\n> goto a")
    assert isinstance(result.failure, ModelError)


def test_a_condition_that_throws_fails_the_run() -> None:
    source = "@to b = toJson(div(1 0))\n@to b\n> node a\n> node b\n> nodeEnd\n> user\nx\n> goto a"
    result = execute_convo_graph(source)
    assert (result.code, [step.node for step in result.steps]) == ("script", ["a"])


def test_a_path_that_leads_nowhere_is_false() -> None:
    source = "@to b = output.a.b.c\n> node a\n> node b\n> nodeEnd\n> user\nx\n> goto a"
    assert [step.node for step in execute_convo_graph(source).steps] == ["a"]


@pytest.mark.parametrize("said", ["{{input}}", '{{""}}'])
def test_a_node_whose_only_message_is_blank_sends_no_empty_request(said: str) -> None:
    source = f"@to b\n> node a\n> user\nGo\n> node b\n> user\n{said}\n> nodeEnd\n> user\nx\n> goto a"
    with scripted(["", "never"]) as model:
        result = execute_convo_graph(source)
    assert (result.success, result.value, len(model.requests)) == (True, "", 1)
    with scripted(["", "ok"]) as model:
        result = execute_convo_graph(source.replace("> node b", "> node b\n> system\nBe brief"))
    assert result.value == "ok"
    assert model.requests[1].json["messages"] == [{"role": "system", "content": "Be brief"}]


def test_a_node_with_nothing_to_ask_passes_its_input_on() -> None:
    source = "@to b\n> node a\n> node b\n  > user\n  {{input.nothing}}\n> nodeEnd\n> goto a"
    with scripted("ok") as model:
        result = execute_convo_graph(source)
    assert result.value == "ok"
    assert model.requests[0].json["messages"] == [{"role": "user", "content": "undefined"}]
