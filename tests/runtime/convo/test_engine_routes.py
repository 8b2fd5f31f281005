"""Which route wins, whatever its kind and whatever comes first; `auto`, forks, and who judges."""

from __future__ import annotations

import itertools
import json
from threading import Barrier, Event
from typing import Any

import pytest

from memorygraph.runtime.convo.controller import execute_convo_graph
from memorygraph.runtime.convo.engine import ModelAsker
from memorygraph.runtime.convo.steps import TakenRoute
from memorygraph.scripted.replies import Request, ScriptedAnswer
from tests.runtime.convo.model import scripted, sent

TARGETS = "abc"
TRUE, FALSE = '{"isTrue": true}', '{"isTrue": false}'

KINDS = {
    "always": ("@to {t}", "> to {t}", "@from s"),
    "words": ("@to {t} Is {t}", "> to {t}\nIs {t}", "@from s Is {t}"),
    "code": ("@to {t} = eq(1 1)", "> to! {t}\neq(1 1)", "@from s = eq(1 1)"),
    "false": ("@to {t} = eq(1 2)", "> to! {t}\neq(1 2)", "@from s = eq(1 2)"),
}


def judged(request: Request) -> str | None:
    """What a judge says that finds every condition true; None where nobody asks for a judgement."""
    return TRUE if "<OUTPUT_RESULT>" in request.prompt else None


def matrix() -> list[tuple[tuple[str, str], ...]]:
    """Three routes of all kinds, in all orders, declared in all ways in turn."""
    ways = ("tag", "message", "from")
    places = itertools.cycle([*((way,) * 3 for way in ways), ways, ("tag", "tag", "from")])
    return [tuple(zip(kind, next(places), strict=True)) for kind in itertools.product(KINDS, repeat=3)]


@pytest.fixture(scope="module")
def judge() -> Any:
    with scripted(lambda request: judged(request) or "out") as model:
        yield model, ModelAsker()


@pytest.mark.parametrize("routes", matrix(), ids=str)
def test_the_first_that_holds_wins_and_nothing_behind_a_sure_one_is_asked(
    routes: tuple[tuple[str, str], ...], judge: Any
) -> None:
    tags, inside, nodes = "", "", ""
    for target, (kind, place) in zip(TARGETS, routes, strict=True):
        tag, message, from_ = (text.format(t=target) for text in KINDS[kind])
        tags += f"{tag}\n" if place == "tag" else ""
        inside += f"{message}\n" if place == "message" else ""
        nodes += f"{from_ if place == 'from' else ''}\n> node {target}\n"
    model, asker = judge
    before = len(model.requests)
    result = execute_convo_graph(
        f"{tags}> node s\n> user\nGo\n{inside}{nodes}> nodeEnd\n> user\nx\n> goto s", asker=asker
    )
    kinds = [kind for kind, _ in routes]
    winner = next((t for t, kind in zip(TARGETS, kinds, strict=True) if kind != "false"), None)
    sure = next((i for i, kind in enumerate(kinds) if kind in {"always", "code"}), 3)
    assert [step.node for step in result.steps] == ["s", *([winner] if winner else [])]
    assert len(model.requests) - before == 1 + sum(kind == "words" for kind in kinds[:sure])


def test_conditions_are_judged_at_once_and_the_order_of_the_source_decides() -> None:
    arrived, answered = Barrier(3, timeout=10), {name: Event() for name in ("One", "Two", "Three")}

    def reply(request: Request) -> ScriptedAnswer:
        name = request.prompt.split("\n")[0]
        if name not in answered:
            return "out"
        arrived.wait()  # nobody is answered before all have asked
        behind = {"One": "Two", "Two": "Three"}.get(name)
        if behind:
            answered[behind].wait(10)
        answered[name].set()
        return FALSE if name == "One" else TRUE

    source = (
        "@to a One\n@to b Two\n@to c Three\n@to d\n> node s\n> user\nGo\n"
        "> node a\n> node b\n> node c\n> node d\n> nodeEnd\n> user\nx\n> goto s"
    )
    with scripted(reply):
        result = execute_convo_graph(source)
    assert [step.node for step in result.steps] == ["s", "b"]
    assert [call.key for call in result.steps[0].calls] == ["inference", "route 0", "route 1", "route 2"]
    assert result.steps[0].route == TakenRoute("b", "@to b Two")


def test_a_judge_sees_the_condition_and_the_output_and_nothing_else() -> None:
    source = (
        "@routingModel small\n@to a Is it?\n> node s\n> system\nS\n> user\nGo\n> node a\n> nodeEnd\n> user\nx\n> goto s"
    )
    with scripted(["> goto a", TRUE]) as model:
        execute_convo_graph(source)
    judgement = model.requests[1].json
    assert (judgement["model"], judgement["response_format"]) == ("small", {"type": "json_object"})
    [message] = judgement["messages"]
    assert message["role"] == "user"
    assert message["content"].startswith("Is it?\n\n<OUTPUT_RESULT>\n> goto a\n</OUTPUT_RESULT>\n\n<response-format>\n")
    assert '"isTrue"' in message["content"]


@pytest.mark.parametrize(
    ("reply", "held"),
    [
        *[
            (said, True)
            for said in ("yes", "True.", "**Yes**", '{"isTrue": "yes"}', '{"isTrue": 1}', "<think>no</think>yes")
        ],
        *[(said, False) for said in ("no", "False", '{"isTrue": 0}', '{"isTrue": "no"}', "<think>yes</think>no")],
        *[
            (said, None)
            for said in ("", "maybe", '{"is_true": true}', '{"isTrue": true,}', '{"isTrue": null}', "[true]")
        ],
    ],
)
def test_a_judgement_that_cannot_be_read_is_no_and_a_warning(reply: str, held: bool | None) -> None:
    with scripted(["out", reply, "b"]):
        step, *others = execute_convo_graph(
            "@to b Is it\n> node s\n> user\nGo\n> node b\n> user\nGo\n> nodeEnd\n> user\nx\n> goto s"
        ).steps
    assert len(others) == (held is True)
    assert ["neither yes nor no" in warning for warning in step.warnings] == [True] * (held is None)


AUTO = (
    "@to auto%s\n> node s\n> user\nGo\n> node cook\nCooks {{1}}\n> node clean\n> node drive\nDrives\n"
    "> nodeEnd\n> user\nx\n> goto s"
)


def test_a_model_chooses_by_the_descriptions() -> None:
    with scripted(["out", '{"nodeId": "drive"}']) as model:
        result = execute_convo_graph(AUTO % "")
    assert [step.node for step in result.steps] == ["s", "drive"]
    prompt = sent(model)[1][0]["content"]
    assert prompt.startswith(
        "Choose the node that should process the output next, based on the descriptions of the nodes.\n\n"
        "<NODE_INPUT>\nx\n</NODE_INPUT>\n\n<OUTPUT_RESULT>\nout\n</OUTPUT_RESULT>\n\n<NODES>\n"
    )
    nodes = [json.loads(line) for line in prompt.split("<NODES>\n")[1].split("\n</NODES>")[0].splitlines()]
    assert nodes == [
        {"id": "cook", "description": "Cooks 1"},
        {"id": "clean", "description": ""},
        {"id": "drive", "description": "Drives"},
    ]


@pytest.mark.parametrize("reply", ['{"nodeId": "evil"}', '{"nodeId": "s"}', "cook", "[]", '{"nodeId": null}'])
def test_a_choice_that_is_none_fails_the_run(reply: str) -> None:
    with scripted(["out", reply]):
        result = execute_convo_graph(AUTO % "")
    assert (result.code, len(result.steps), result.steps[0].output) == ("routing", 1, "out")


def test_the_candidates_of_a_choice_can_be_named() -> None:
    with scripted(["out", '{"nodeId": "clean"}']):
        assert [s.node for s in execute_convo_graph(AUTO % " cook clean").steps] == ["s", "clean"]
    with scripted(["out", '{"nodeId": "drive"}']):
        assert execute_convo_graph(AUTO % " cook clean").code == "routing"
    with scripted(["out"]) as model:
        assert [s.node for s in execute_convo_graph(AUTO % " cook").steps] == ["s", "cook"]
    assert len(model.requests) == 1


FORK = """
> define
n = 0
@fork
@to a
@to b = eq(1 1)
@to c = eq(1 2)
@to d Is it?
> node s
  > user
  Go
@to join
> node a
  > do
  n = add(n 1)
  > user
  A {{input}} {{n}}
@to join
> node b
  > do
  n = add(n 10)
  > user
  B {{input}} {{n}}
> node c
> node d
  > user
  D {{input}} {{n}}
> node join
  > user
  Join {{input}} {{n}} {{getNodeInput('s')}}
> nodeEnd
> user
x
> goto s
"""


def test_each_route_that_holds_has_a_branch_with_variables_of_its_own() -> None:
    together = Barrier(3, timeout=10)

    def reply(request: Request) -> ScriptedAnswer:
        if judged(request):
            return TRUE
        if request.prompt[0] in "ABD":
            together.wait()  # the branches run at the same time
        return f"[{request.prompt}]"

    with scripted(reply):
        result = execute_convo_graph(FORK)
    assert (result.error, result.value) == (None, "[Join [A [Go] 1] 1 x]")
    assert [fork.value for fork in result.forks] == ["[Join [B [Go] 10] 10 x]", "[D [Go] 0]"]
    assert [[step.node for step in fork.steps] for fork in result.forks] == [["b", "join"], ["d"]]
    assert [fork.steps[0].branch for fork in result.forks] == ["0.1", "0.2"]
    assert result.steps[0].route == TakenRoute("a", "@to a", ("b", "d"))


def test_a_branch_that_fails_fails_the_run() -> None:
    source = "@fork\n@to a\n@to b\n> node s\n> node a\n> node b\n> f() -> (div(1 0))\n> nodeEnd\n> user\nx\n> goto s"
    result = execute_convo_graph(source)
    assert (result.success, result.code, result.steps[-1].node) == (False, "tool", "a")
    assert result.forks[0].steps[-1].error == result.error


def test_the_branches_share_the_steps_that_they_may_take() -> None:
    source = "@fork\n@to s\n@to s\n> node s\n> nodeEnd\n> user\nx\n> goto s"
    result = execute_convo_graph(source, max_steps=50)
    assert result.code in {"max-steps", "stopped"}

    def count(found: Any) -> int:
        return len(found.steps) + sum(count(fork) for fork in found.forks)

    assert count(result) == 50
