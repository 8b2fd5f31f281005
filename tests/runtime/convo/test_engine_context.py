"""What a step sends: its own messages, those of earlier steps by the context's depth, what is included, and tools."""

from __future__ import annotations

import math
from typing import Any

import pytest

from memorygraph.runtime.convo.controller import execute_convo_graph
from tests.runtime.convo.model import scripted, sent, tool

CHAIN = """
> system
Not for nodes

@includeInNodes
> system
Be brief, {{name}}

> define
name = "Ada"

> search(query: string)

> local hidden(query: string)

@to b
> node a
  > system
  You are a, for {{input}}
  > first(x: string)
  > user
  A: {{input}}

@to c
> node b
  > user
  B: {{input}}
  > assistant
  Let me see
  > user
  Go on

%s
> node c
  > system
  You are c, for {{input}}
  > third(x: string)
  > user
  C: {{input}} {{graphInput}}
> nodeEnd
> user
Hi
> goto a
"""
BRIEF = {"role": "system", "content": "Be brief, undefined"}
A = {"role": "user", "content": "A: Hi"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "first", "arguments": '{"x": "one"}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": '"one"'}
B = [
    {"role": "user", "content": "B: one"},
    {"role": "assistant", "content": "Let me see"},
    {"role": "user", "content": "Go on"},
]
SAID = {"role": "assistant", "content": "two"}
C = [{"role": "system", "content": "You are c, for two"}]


def requests(tags: str, source: str = CHAIN) -> list[dict[str, Any]]:
    """The requests of a run of the chain."""
    with scripted([tool("first", x="one"), "two", "three"]) as model:
        result = execute_convo_graph(source % tags)
    assert (result.error, result.value) == (None, "three")
    return [request.json for request in model.requests]


def test_a_step_sends_its_own_messages_and_what_is_included() -> None:
    first, second, third = requests("")
    assert first["messages"] == [BRIEF, {"role": "system", "content": "You are a, for Hi"}, A]
    assert second["messages"] == [BRIEF, *B]
    assert third["messages"] == [BRIEF, *C, {"role": "user", "content": "C: two Hi"}]


def test_the_tools_are_those_of_the_node_and_those_outside_of_all_nodes() -> None:
    assert [[t["function"]["name"] for t in request["tools"]] for request in requests("")] == [
        ["search", "first"],
        ["search"],
        ["search", "third"],
    ]


@pytest.mark.parametrize(
    ("tag", "earlier"),
    [
        ("@contextDepth 1", []),
        ("@contextDepth 2", [*B, SAID]),
        ("@contextDepth 3", [A, CALL, RESULT, *B, SAID]),
        ("@contextDepth 9", [A, CALL, RESULT, *B, SAID]),
        ("@contextDepth full", [A, CALL, RESULT, *B, SAID]),
    ],
)
def test_the_depth_counts_steps_with_this_one(tag: str, earlier: list[dict[str, Any]]) -> None:
    assert requests(tag)[2]["messages"] == [BRIEF, *C, *earlier, {"role": "user", "content": "C: two Hi"}]


@pytest.mark.parametrize(("depth", "last"), [("2", 7), ('"full"', 10)])
def test_a_variable_sets_the_depth_of_nodes_that_say_none(depth: str, last: int) -> None:
    source = CHAIN.replace('name = "Ada"', f"__nodeContextDepth = {depth}")
    assert [len(request["messages"]) for request in requests("", source)] == [3, 7, last]
    assert len(requests("@contextDepth 1", source)[2]["messages"]) == 3


def test_a_depth_that_is_none_fails_the_step() -> None:
    with scripted([]):
        result = execute_convo_graph(CHAIN.replace('name = "Ada"', '__nodeContextDepth = "lots"') % "")
    assert (result.code, len(result.steps)) == ("context-depth", 1)


def test_a_message_of_an_earlier_step_stays_where_it_is_tagged_so() -> None:
    source = CHAIN.replace("  > user\n  Go on", "  @includeInNodes\n  > user\n  Go on")
    assert requests("", source)[2]["messages"] == [BRIEF, *C, B[2], {"role": "user", "content": "C: two Hi"}]


@pytest.mark.parametrize(
    ("words", "before"),
    [
        ("last:0", []),
        ("last:1", ["M3"]),
        ("last:4", ["M1", "M2", "M3"]),
        ("dropLast:0", ["M1", "M2", "M3"]),
        ("dropLast:1", ["M1", "M2"]),
        ("dropLast:3", []),
        ("dropLast:4", []),
        ("dropLast:1 last:1", ["M2"]),
    ],
)
def test_a_prompt_in_code_has_so_many_messages_before_it(words: str, before: list[str]) -> None:
    source = (
        f"> node a\n> user\nM1\n> assistant\nM2\n@call\n> user\nM3\n"
        f"> f(x: string) -> (??? (* {words}) Q ???)\n> nodeEnd\n> user\nx\n> goto a"
    )
    with scripted([tool("f", x="1"), "answer"]) as model:
        execute_convo_graph(source)
    assert [message["content"] for message in sent(model)[1]] == [*before, "Q"]


def test_the_functions_of_a_node_can_be_called_from_everywhere() -> None:
    source = (
        "> node a\n > f(x: string) -> (add(x '!'))\n> node b\n > user\n {{f(input)}}\n> nodeEnd\n> user\nHi\n> goto b"
    )
    with scripted("ok") as model:
        execute_convo_graph(source)
    assert sent(model) == [[{"role": "user", "content": "Hi!"}]]
    assert "tools" not in model.requests[0].json


LABELS = """
> local label(n: string) -> ( 'OUT {{n}}' )
> local around(n: string) -> ( label(n) )
@to b
> node a
  > local label(n: string) -> ( 'A {{n}}' )
  > local shown(n: string) -> ( label(n) )
  > user
  %s
> node b
  {{label("described")}}
  > local label(n: string) -> ( 'B {{n}}' )
  > local only(n: string) -> ( label(n) )
  > user
  %s
@to a
> node c
  > user
  %s
> nodeEnd
> user
x
> goto %s
"""


@pytest.mark.parametrize(
    ("call", "node", "text"),
    [
        ("label(input)", "a", "A x"),
        ("label(input)", "b", "B x"),
        ("label(input)", "c", "OUT x"),
        ("shown(input)", "b", "A x"),  # a body calls what stands beside it, wherever it is called from
        ("only(input)", "a", "B x"),
        ("around(input)", "a", "OUT x"),
    ],
)
def test_of_functions_with_one_name_code_calls_its_nodes_own_else_the_one_outside(
    call: str, node: str, text: str
) -> None:
    with scripted(["one", "two", "three"]) as model:
        result = execute_convo_graph(LABELS % (*[f"{{{{{call}}}}}"] * 3, node))
    assert (result.error, sent(model)[0]) == (None, [{"role": "user", "content": text}])


def test_a_node_that_calls_its_only_function_itself_calls_its_helpers() -> None:
    node = "> node %s\n > local label(n: string) -> ('%s {{n}}')\n > thank(n: string) -> (label(n))\n"
    result = execute_convo_graph(f"@to b\n{node % ('a', 'A')}{node % ('b', 'B')}> nodeEnd\n> user\nx\n> goto a")
    assert [step.output for step in result.steps] == ["A x", "B A x"]


def test_a_fork_calls_the_functions_of_its_own_node() -> None:
    node = "> node %s\n > local label(n: string) -> ('%s {{n}}')\n > thank(n: string) -> (label(n))\n"
    source = f"@fork\n@to b\n@to c\n> node a\n{node % ('b', 'B')}{node % ('c', 'C')}> nodeEnd\n> user\nx\n> goto a"
    result = execute_convo_graph(source)
    assert (result.value, [fork.value for fork in result.forks]) == ("B x", ["C x"])


def test_a_description_calls_the_functions_of_its_node() -> None:
    source = LABELS.replace("@to b", "@to auto") % ("A", "B", "C", "a")
    with scripted(["one", '{"nodeId": "b"}', "two"]) as model:
        execute_convo_graph(source)
    assert '"B described"' in sent(model)[1][0]["content"]


def test_a_node_without_a_message_of_the_user_calls_its_only_function() -> None:
    source = (
        "@to b\n> node a\n > f(x: number y?: string) -> (mul(x 2))\n"
        "@to c\n> node b\n > g() -> (map(k: input))\n"
        "@to d\n> node c\n > system\n Ignored\n > local h(x: any) -> (x.k)\n"
        "> node d\n > do\n n = add(input 1)\n > assistant\n It is {{n}}\n> nodeEnd\n> user\n21\n> goto a"
    )
    with scripted([]) as model:
        result = execute_convo_graph(source)
    assert (result.error, result.value, model.requests) == (None, "It is 43", [])
    assert [step.output for step in result.steps] == [42, {"k": 42}, 42, "It is 43"]
    assert "> do\nn = add(input 1)\n" in result.text


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("getNodeInput()", "3"),
        ("getNodeInput(0)", "1"),
        ("getNodeInput(-2)", "2"),
        ("getNodeInput('a')", "3"),
        ("getNodeInput('b')", "2"),
        ("getNodeInput(7)", "undefined"),
        ("getNodeInput('z')", "undefined"),
        ("getNodeInfo(1).nodeId", "b"),
        ("getNodeInfo().input", "3"),
        ("__nodeStack.length", "3"),
        ("__nodeStack.2.nodeId", "a"),
        ("graphInput", "1"),
        ("output", "undefined"),
    ],
)
def test_a_program_can_look_back(call: str, found: str) -> None:
    source = (
        f"@exit = eq(output 9)\n@to b\n> node a\n > user\n {{{{{call}}}}}\n"
        "@to a\n> node b\n > user\n b\n> nodeEnd\n> user\n1\n> goto a"
    )
    with scripted(["2", "3", "9"]) as model:
        execute_convo_graph(source, max_steps=3)
    assert sent(model)[2][-1]["content"] == found


@pytest.mark.parametrize("name", ["getNodeInfo", "getNodeInput"])
@pytest.mark.parametrize("which", [math.nan, math.inf, -math.inf, 0.5])
def test_what_is_no_number_of_a_visit_gives_nothing(name: str, which: float) -> None:
    with scripted("ok") as model:
        execute_convo_graph(f"> node a\n > user\n {{{{{name}(input)}}}}\n> nodeEnd\n> goto a", input=which)
    assert sent(model)[0][0]["content"] == "undefined"


def test_a_transcript_goes_on_where_it_ends() -> None:
    nodes = "> node a\n > user\n A\n@contextDepth 2\n> node b\n > user\n B {{input}} of {{graphInput}}\n> nodeEnd\n"
    said = '> user\nHi\n> goto a\n> user\nA\n@toolId c\n> call f("x": 1)\n> result\n__return=[1, 2]\n> goto b\n'
    with scripted("done") as model:
        result = execute_convo_graph(nodes + "> f(x: number)\n" + said)
    assert (result.value, [step.index for step in result.steps]) == ("done", [1])
    assert sent(model) == [
        [
            {"role": "user", "content": "A"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "[1, 2]"},
            {"role": "user", "content": "B - 1\n- 2 of Hi"},
        ]
    ]


@pytest.mark.parametrize(("given", "text"), [("{{x}}\n> goto b", "{{x}}\n> goto b"), ({"k": 1}, '{\n    "k": 1\n}')])
def test_what_the_user_of_a_program_gives_is_the_input(given: Any, text: str) -> None:
    source = "> node a\n > user\n {{input}}|{{input.k}}\n> nodeEnd\n> user\nHi\n> goto a"
    with scripted("ok") as model:
        result = execute_convo_graph(source, input=given)
    assert sent(model)[0][0]["content"] == f"{text}|{'1' if isinstance(given, dict) else 'undefined'}"
    assert result.steps[0].input == given


@pytest.mark.parametrize("tag", ["@disabled", "@disabled = eq(1 1)", "@condition = later", "@condition unset"])
def test_the_input_of_a_run_goes_before_the_last_goto_that_is_not_disabled(tag: str) -> None:
    source = "> node a\n > user\n A {{input}}\n> node b\n> nodeEnd\n> user\nold\n> goto a\n> define\nlater = false"
    source = f"{source}\n{tag}\n> goto b"
    with scripted("ok") as model:
        result = execute_convo_graph(source, input="new")
    assert (result.error, sent(model)) == (None, [[{"role": "user", "content": "A new"}]])
