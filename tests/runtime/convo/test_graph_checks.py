"""The checks of a graph before it runs: no false alarm on what is right, and bounded work on what is large."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorygraph import MemoryGraph, ScriptError
from memorygraph.compiler.convo import graph_of
from memorygraph.errors import MAX_PROBLEMS
from memorygraph.languages import parse
from memorygraph.runtime.convo.controller import execute_convo_graph
from memorygraph.runtime.convo.graph_checks import MAX_FOLLOWED_WAYS
from tests.cases import FOLDER
from tests.conftest import EXAMPLES
from tests.runtime.convo.model import scripted

GRAPHS = [*EXAMPLES.glob("*.convo"), *FOLDER.glob("convo/review/*.convo")]


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_graphs_that_are_right_raise_no_alarm(path: Path) -> None:
    program = parse(path.read_text("utf-8"), "convo")
    assert (MemoryGraph.check(program), MemoryGraph.find_warnings(program)) == ([], [])


def test_a_graph_with_a_problem_is_refused_before_a_model_is_asked() -> None:
    with scripted("never") as model, pytest.raises(ScriptError, match="there is no function `gone`"):
        execute_convo_graph("> node a\n  > user\n  Hi\n@exit = gone(1)\n> node b\n> goto a")
    assert model.requests == []


def test_of_many_findings_the_first_ones_are_shown() -> None:
    calls = "".join(f"f{number}(1)\n" for number in range(MAX_PROBLEMS * 5))
    problems = MemoryGraph.check(f"> define\n{calls}> node a\n> goto a", "convo")
    assert [problem.code for problem in problems] == ["unknown-function"] * MAX_PROBLEMS + ["too-many-problems"]


def test_in_a_graph_of_very_many_ways_no_paths_are_looked_for() -> None:
    ring = [f"@to n{number + 1}\n> node n{number}\n" for number in range(MAX_FOLLOWED_WAYS)]
    source = f"@exit = gone\n@to n0\n> node first\n@to n0\n> node n{MAX_FOLLOWED_WAYS}\n{''.join(ring)}> goto first"
    assert [warning.code for warning in MemoryGraph.find_warnings(source, "convo")] == ["unset-variable"]


def test_a_file_with_other_problems_has_only_those() -> None:
    source = "@to nowhere\n> node a\n  > user\n  {{gone(unset)}}\n> goto a"
    assert [problem.code for problem in MemoryGraph.check(source, "convo")] == ["missing-target"]
    assert MemoryGraph.find_warnings(source, "convo") == []


def test_only_a_goto_may_name_main_where_there_is_no_such_node_and_words_after_auto_are_a_condition() -> None:
    source = "@to main\n> node a\n  > to auto a, main,next\n> node%s\n> nodeEnd\n> goto\n> goto main\n> goto next"
    problems = {id_: MemoryGraph.check(source % id_, "convo") for id_ in ("", " b")}
    assert {id_: [(each.line, each.column) for each in found] for id_, found in problems.items()} == {
        "": [(8, 8)],
        " b": [(1, 5), (8, 8)],
    }
    assert {each.code for found in problems.values() for each in found} == {"missing-target"}


def test_a_message_of_a_route_that_is_disabled_leads_nowhere_and_one_with_a_condition_may_be_left_out() -> None:
    source = (
        "> node a\n  @disabled\n  > to b\n  @condition = unset\n  > to a\n  > exit\n"
        "> node b\n> nodeEnd\n> goto a\n@disabled\n> goto b"
    )
    warnings = MemoryGraph.find_warnings(source, "convo")
    assert [(each.line, each.code) for each in warnings] == [(4, "unset-variable"), (7, "unreached-node")]


TYPED = """
> define
T = enum("a" "b")
U = enum("c")
@exit = eq(output "c")
> node n
  @json T
  > user
  Hi
%s
> goto n
"""


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ("", ["dead-route"]),
        ("  @condition = input\n  @json T\n  > user\n  Hi", []),
        ("  @disabled = input\n  @json T\n  > user\n  Hi", []),
        ("  @disabled\n  @json U\n  > user\n  Hi", ["dead-route"]),
        ("  @json U\n  > append\n  there", []),
    ],
)
def test_the_replies_of_a_node_are_known_where_its_last_question_is(more: str, codes: list[str]) -> None:
    assert [warning.code for warning in MemoryGraph.find_warnings(TYPED % more, "convo")] == codes


def test_auto_may_name_the_node_itself() -> None:
    source = "@to auto a b\n> node a\n@to a\n> node b\n> goto a"
    graph = graph_of(parse(source, "convo").conversation)
    assert graph.targets(graph.nodes["a"], graph.nodes["a"].routes[0]) == ["a", "b"]


def test_words_after_auto_are_nodes_where_the_condition_of_the_route_is_code() -> None:
    source = "> node a\n  > to! auto b, gone\n  true\n  > to auto b, gone\n  > to! auto b\n  true\n> node b\n> goto a"
    assert [(each.line, each.column, each.code) for each in MemoryGraph.check(source, "convo")] == [
        (2, 17, "missing-target")
    ]
