"""JSON that nests deep ends no process, wherever it comes from."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph import MemoryGraph, MemoryGraphError, ScriptError
from memorygraph.cli.output import to_json
from memorygraph.json_text import MAX_JSON_DEPTH, check_json_depth, nests_deeper, parse_json, parse_json_at
from tests.deep_json import DOORS
from tests.runtime.convo.expressions import Script

# What is not refused in words that name the depth: the door has another answer to whatever is no JSON.
PASSED_OVER = {
    "cursor": "invalid cursor",
    "answer of an endpoint": "is not JSON",
    "answer of a model": "[]",
    "answer of a model, in prose": "[]",
    "answer of a web service": "'[[['",
    "verified message": "its body is not a message any more",
    "journal": "[]",
    "record in a file": "line 1 of the file is no record",
    "record in the graph": "Z-1",
    "conversation of an evaluation": "is not a conversation",
    "input of a program": "is not JSON",
    "parameter of a query": "'[[['",
    "request to the scripted endpoint": "None",
}


@pytest.fixture(scope="module")
def results() -> dict[str, str]:
    """What each door made of a text of 90,000 brackets."""
    found = subprocess.run([sys.executable, "-m", "tests.deep_json"], capture_output=True, text=True, check=False)
    return dict(line.split(": ", 1) for line in found.stdout.splitlines() if ": " in line)


@pytest.mark.parametrize("door", DOORS)
def test_a_deep_text_is_refused_at_every_door(results: dict[str, str], door: str) -> None:
    assert door in results, "the process ended here"
    assert PASSED_OVER.get(door, f"nested more than {MAX_JSON_DEPTH // 100}") in results[door]


def test_a_run_leaves_the_recursion_limit_as_it_is() -> None:
    limit = sys.getrecursionlimit()
    look = {"look": lambda _: sys.getrecursionlimit()}
    script = Script("> f(n: int) -> ( if(eq(n 0)) then(look()) else(f(sub(n 1))) )\n\n> do\nf(450)\n", {}, look)
    assert script.run() == limit


def nest(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize("text", ["[" * 200 + "]" * 200, '["[[[", ' * 100 + "1" + "]" * 100, "[" + "[]," * 500 + "[]]"])
def test_what_is_not_deeper_is_read(text: str) -> None:
    assert parse_json(text) == json.loads(text)
    assert parse_json(text.encode()) == json.loads(text)


def test_the_place_of_what_is_too_deep_is_told() -> None:
    with pytest.raises(json.JSONDecodeError, match="nested more than 200 levels deep: line 2 column 204"):
        parse_json('{"a\\\\": "[[[",\n"b":' + "[" * 300)


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_the_depth_of_a_text_is_that_of_its_value(value: object) -> None:
    text = json.dumps(value)
    depth = next(depth for depth in range(1000) if not nests_deeper(value, depth))
    check_json_depth(text, depth)
    if depth:
        with pytest.raises(json.JSONDecodeError):
            check_json_depth(text, depth - 1)
    assert parse_json_at(f'"[[{text} [[[', 3) == value if depth else True


@pytest.mark.slow
def test_the_check_takes_little_memory() -> None:
    text = "[" + ",".join(['{"a": "\\n\\"[["}'] * 100_000) + "]"
    tracemalloc.start()
    try:
        check_json_depth(text)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_shared_values_are_measured_quickly() -> None:
    value: list[object] = []
    for _ in range(150):
        value = [value, value]
    assert not nests_deeper(value)
    value.append(value)
    assert nests_deeper(value)


AGENT = """
import llm M from "openai://m"
main agent A {
  model M role "R" description "D"
  main func(input) {
    x = []
    repeat * 300 { x = [x] }
    return x
  }
}"""
GRAPH = """
> node deep
  > do
  x = [] n = 0
  while(lt(n 300)) then(x=[x] n=add(n 1))
> nodeEnd
> goto deep
"""


def test_a_result_that_nests_too_deep_is_an_error_with_its_place(graph: MemoryGraph) -> None:
    with pytest.raises(ScriptError, match="the result nests more than 200 levels deep") as caught:
        graph.run(AGENT)
    assert caught.value.problems[0].line == 5


def test_a_step_that_nests_too_deep_fails_and_its_run_is_recorded_as_failed(graph: MemoryGraph) -> None:
    with pytest.raises(MemoryGraphError, match="a value of the step at `deep` nests more than 200 levels deep"):
        graph.run(GRAPH, language="convo")
    runs = "MATCH (run:Run {namespace: $namespace}) RETURN run.status AS status, run.code AS code"
    assert graph.query(runs) == [{"status": "failed", "code": "value-too-large"}]


def test_an_input_that_nests_too_deep_is_refused(graph: MemoryGraph) -> None:
    with pytest.raises(MemoryGraphError, match="the input nests more than 200 levels deep"):
        graph.run(AGENT, nest(201))


@pytest.mark.slow
def test_agents_that_call_agents_hundreds_of_times_can_be_traced(graph: MemoryGraph) -> None:
    body = "if input.length == 400 { return 0 }\n    input.add(1)\n    return A(input)"
    text = AGENT.replace(AGENT[AGENT.index("x = []") : AGENT.index("return x") + 8], body)
    result = graph.run(text, [])
    assert result.value == 0
    assert to_json(result.as_dict()).count('"kind":"agent"') == 400


def test_a_message_that_nests_too_deep_is_refused(graph: MemoryGraph) -> None:
    history = graph.messages("deep")
    history.append({"role": "user", "content": "flat", "kept": nest(150)})
    with pytest.raises(ValueError, match="nested more than 200 levels deep"):
        history.append({"role": "user", "content": "deep", "kept": nest(201)})
    assert len(graph.messages("deep")) == 1
