"""The four ways to run a graph give the same, and tell what happens; a run that broke off goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Event
from typing import Any

import pytest

from memorygraph.errors import MemoryGraphError, ScriptError
from memorygraph.llm.model import OPENAI_HOST
from memorygraph.runtime.convo.controller import Conversation, ConvoGraphController, convo_graph, execute_convo_graph
from memorygraph.runtime.convo.engine import RunListener
from memorygraph.runtime.convo.steps import ConvoGraphResult, ConvoStep, ModelCall
from memorygraph.scripted.replies import Failure, Reply, Request, ScriptedAnswer
from tests.runtime.convo.model import scripted, sent, tool

SOURCE = """
> define
n = 0
> user
%s
@to reply It is a question
> node sort
  > do
  n = add(n 1)
  @json = enum("question" "other")
  > user
  Sort <INPUT>{{input}}</INPUT>
@to end
> node reply
  > answer(text: string) -> (add(text '!'))
  @call
  > user
  Answer {{graphInput}} ({{n}})
> node end
  > user
  End {{input}} ({{n}})
> goto sort
"""
REPLIES: list[ScriptedAnswer] = ['{"value": "question"}', '{"isTrue": true}', tool("answer", text="Yes"), "bye"]
HELLO = SOURCE % "Hello"


@pytest.mark.parametrize(("host", "name"), [("api.openai.com", "max_completion_tokens"), ("other", "max_tokens")])
@pytest.mark.parametrize("source", ["> define\n__maxTokens = 50\n\n%s", "%s"], ids=["a variable", "a tag"])
def test_the_most_tokens_are_asked_for_by_the_name_that_the_endpoint_knows(
    monkeypatch: pytest.MonkeyPatch, source: str, host: str, name: str
) -> None:
    tag = "" if "__maxTokens" in source else "  @maxTokens 50\n"
    with scripted(["ok"]) as model:
        if host == OPENAI_HOST:  # which the scripted model takes the place of
            monkeypatch.setattr("memorygraph.llm.model.OPENAI_HOST", "127.0.0.1")
        execute_convo_graph(source % f"> node a\n{tag}  > user\n  Hi\n> goto a\n")
    assert {key: value for key, value in model.requests[0].json.items() if "max" in key} == {name: 50}


def as_data(result: ConvoGraphResult) -> dict[str, Any]:
    """A result as JSON, without what time and the endpoint make of it."""
    data = result.as_dict()
    for step in data["steps"]:
        for call in step["calls"]:
            del call["completion"]["raw"], call["completion"]["latency_s"]
    return data


def by_controller() -> ConvoGraphResult:
    return ConvoGraphController(HELLO).run()


def by_steps() -> ConvoGraphResult:
    controller = ConvoGraphController(HELLO)
    for _ in controller.steps():
        pass
    assert controller.result
    return controller.result


def by_conversation() -> ConvoGraphResult:
    conversation = Conversation(HELLO, summary=False)
    while True:
        try:
            completion = conversation.complete()
        except MemoryGraphError:
            break
        if completion.next_node is None or completion.exited:
            break
    conversation.dispose()
    return conversation.result


WAYS = [by_controller, by_steps, by_conversation]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("replies", [REPLIES, ['{"value": "other"}', "no"], [Failure(400)], ["nonsense"], REPLIES[:3]])
def test_all_ways_give_the_same(way: Any, replies: list[Any]) -> None:
    with scripted(replies) as model:
        expected, asked = as_data(execute_convo_graph(HELLO)), sent(model)
    with scripted(replies) as model:
        assert as_data(way()) == expected
        assert sent(model) == asked


def test_the_template_gives_the_bare_output() -> None:
    source = SOURCE % "${question}"
    with scripted(REPLIES) as model:
        assert convo_graph(source, question="Why?\n> goto end") == "bye"
    assert "<INPUT>Why?\n> goto end</INPUT>" in sent(model)[0][0]["content"]
    with scripted([Failure(400)]):
        assert convo_graph(source, {"model": "other"}, question="Why?") is None
    with pytest.raises(ScriptError, match="has no value"):
        convo_graph(source)


def test_a_conversation_sums_up_where_nobody_says_otherwise() -> None:
    with scripted([*REPLIES, "I said bye."]) as model:
        conversation = Conversation(HELLO)
        completions = [conversation.complete() for _ in range(3)]
    assert [completion.next_node for completion in completions] == ["reply", "end", None]
    assert (completions[-1].message, completions[-1].value) == ("I said bye.", "bye")
    assert (conversation.result.summary, conversation.result.value) == ("I said bye.", "bye")
    assert sent(model)[-1][0]["content"] == "Hello"
    with pytest.raises(MemoryGraphError, match="left already"):
        conversation.complete()


class Notes(RunListener):
    """Writes down what happens."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.kept: dict[int, str] = {}

    def step_started(self, step: ConvoStep) -> None:
        self._note(f"start {step.node}", step)

    def called(self, step: ConvoStep, call: ModelCall) -> None:
        self._note(f"{call.purpose} {call.key}", step)

    def tool_called(self, step: ConvoStep, name: str, arguments: dict[str, Any], result: Any) -> None:
        self._note(f"{name} {arguments} {result}", step)

    def step_completed(self, step: ConvoStep) -> None:
        self._note(f"done {step.node}", step)

    def ended(self, result: ConvoGraphResult) -> None:
        self.heard.append(f"end {result.value}")

    def _note(self, event: str, step: ConvoStep) -> None:
        self.heard.append(event)
        self.kept[step.index] = json.dumps(step.as_dict())


EVENTS = [
    "start sort",
    "inference inference",
    "routing route 0",
    "done sort",
    "start reply",
    "inference inference",
    "answer {'text': 'Yes'} Yes!",
    "done reply",
    "start end",
    "inference inference",
    "done end",
    "end bye",
]


def test_a_listener_hears_everything_in_order() -> None:
    notes, names = Notes(), list[str]()
    with scripted(REPLIES):
        controller = ConvoGraphController(HELLO, listener=notes)
        controller.on("step_completed", lambda step: names.append(f"{controller.state} {step.node}"))
        assert (controller.state, controller.step_index) == ("ready", -1)
        result = controller.run()
    assert notes.heard == EVENTS
    assert names == ["running sort", "running reply", "running end"]
    assert (controller.state, controller.step_index, controller.run()) == ("stopped", 2, result)


@pytest.mark.parametrize("event", ["started", "step_started", "called", "tool_called", "step_completed", "ended"])
def test_a_listener_that_raises_fails_the_run(event: Any) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("no disk")

    with scripted(REPLIES):
        controller = ConvoGraphController(HELLO)
        controller.on(event, fail)
        result = controller.run()
    assert (result.success, result.value, result.code, controller.state) == (False, None, "listener", "stopped")
    assert result.error == "a listener failed: RuntimeError: no disk"


def test_a_run_can_be_ended_while_it_runs() -> None:
    with scripted(REPLIES) as model:
        controller = ConvoGraphController(HELLO)
        controller.on("step_completed", lambda _step: controller.dispose())
        result = controller.run()
    assert (result.code, [step.node for step in result.steps], len(model.requests)) == ("stopped", ["sort"], 2)
    controller = ConvoGraphController(HELLO)
    controller.dispose()
    assert (controller.state, controller.run().code) == ("stopped", "stopped")


def test_what_is_left_before_it_runs_executes_no_code() -> None:
    with scripted("never") as model, ConvoGraphController(f"> do\nx = ??? Hello ???\n{HELLO}") as controller:
        pass
    assert (controller.result.code if controller.result else None, controller.run().code) == ("stopped", "stopped")
    assert model.requests == []


def test_a_conversation_that_is_left_in_the_middle_is_no_success() -> None:
    with scripted(REPLIES), Conversation(HELLO) as conversation:
        conversation.complete()
    result = conversation.result
    assert (result.success, result.code, result.value, [step.node for step in result.steps]) == (
        False,
        "stopped",
        None,
        ["sort"],
    )


def test_leaving_the_loop_over_the_steps_ends_the_run() -> None:
    with scripted(REPLIES) as model:
        controller = ConvoGraphController(HELLO)
        for step in controller.steps():
            assert step.node == "sort"
            break
    assert (controller.state, controller.step_index, len(model.requests)) == ("stopped", 0, 2)


def test_a_graph_whose_steps_are_being_read_can_not_be_run_beside() -> None:
    with scripted(REPLIES):
        controller = ConvoGraphController(HELLO)
        steps = controller.steps()
        nodes = [next(steps).node]
        with pytest.raises(MemoryGraphError, match="this graph is running already"):
            controller.run()
        with pytest.raises(MemoryGraphError, match="this graph is running already"):
            next(controller.steps())
        nodes += [step.node for step in steps]
    assert (nodes, controller.state) == (["sort", "reply", "end"], "stopped")


@pytest.mark.parametrize("last", range(len(EVENTS)))
def test_a_run_that_broke_off_goes_on_without_repeating_a_call(last: int) -> None:
    class Killed(Notes):
        def _note(self, event: str, step: ConvoStep) -> None:
            super()._note(event, step)
            if len(self.heard) > last:
                raise KeyboardInterrupt

    with scripted(REPLIES) as model:
        expected = as_data(execute_convo_graph(HELLO))
        asked = sent(model)
    with scripted(REPLIES) as model:
        notes = Killed()
        with suppress(KeyboardInterrupt):
            execute_convo_graph(HELLO, listener=notes)
        kept = [ConvoStep.from_dict(json.loads(text)) for text in notes.kept.values()]
        rest = Notes()
        result = execute_convo_graph(HELLO, listener=rest, resume=kept)
        assert as_data(result) == expected
        assert sent(model) == asked
    tools = [event for event in [*notes.heard, *rest.heard] if event.startswith("answer")]
    assert len(tools) == 1


def test_a_run_that_failed_goes_on_where_it_failed() -> None:
    with scripted([*REPLIES[:1], Failure(400), *REPLIES[1:]]) as model:
        failed = execute_convo_graph(HELLO)
        assert (failed.code, failed.steps[0].output, failed.steps[0].completed) == ("model", "question", False)
        kept = [ConvoStep.from_dict(json.loads(json.dumps(step.as_dict()))) for step in failed.steps]
        result = execute_convo_graph(HELLO, resume=kept)
    assert (result.value, len(model.requests)) == ("bye", 5)
    assert result.text.count("> user\nSort") == 1
    assert "End Yes! (1)" in result.text


DOWN = Failure(400)
BROKEN: dict[str, tuple[str, list[ScriptedAnswer], list[ScriptedAnswer]]] = {
    "a type of the node": (
        "> node a\n> define\nAnswer = map(score: int)\n@json Answer\n> user\nRate\n> nodeEnd\n> goto a",
        [],
        ['{"score": 3}'],
    ),
    "types of an earlier node": (
        "@to b\n> node a\n> define\nkinds.Answer = map(score?: enum(1 2))\n> user\nHi\n"
        "> node b\n@json = array(kinds.Answer)\n> user\nRate\n> nodeEnd\n> goto a",
        ["hello"],
        ['[{"score": 1}]'],
    ),
    "a type of a `do` outside": (
        "> do\nAnswer = map(score: int)\n@to b\n> node a\n> user\nOne\n> node b\n@json Answer\n> user\nTwo\n"
        "> nodeEnd\n> goto a",
        ["one"],
        ['{"score": 1}'],
    ),
    "a variable of a `do` outside": (
        "> do\nname = 'Ada'\n@includeInNodes\n> system\nThe user is {{name}}\n> do\nname = 'Bob'\n"
        "@to b\n> node a\n> user\nOne {{name}}\n> node b\n> user\nTwo {{name}}\n> nodeEnd\n> goto a",
        ["one"],
        ["two"],
    ),
    "a first step that failed in its code": (
        "> do\ntoday = 'Monday'\n> node a\n> do\nwet = ??? () Is it wet? ???\n> user\nToday is {{today}}: {{wet}}\n"
        "> nodeEnd\n> goto a",
        [],
        ["yes", "ok"],
    ),
    "what is another one each time": (
        "> define\nid = rand(1000000000)\n@includeInNodes\n> system\n{{eq(id id)}} {{id}}\n"
        "@to b\n> node a\n> user\nOne\n> node b\n> user\nTwo\n> nodeEnd\n> goto a",
        ["one"],
        ["two"],
    ),
    "visits that the conversation holds": (
        "> do\nname = 'Ada'\n@to c\n@contextDepth full\n> node b\n> user\n{{input}} of {{graphInput}}\n"
        "@contextDepth full\n> node c\n> user\n{{input}} of {{graphInput}} after {{__nodeStack.1.input}}\n"
        "> nodeEnd\n> user\nI am {{name}}\n> goto b\n> user\nHello {{name}}\n> assistant\nHi {{name}}\n> goto b",
        ["one"],
        ["two"],
    ),
    "an answer that a route comes after": (
        "@to b the answer is polite\n> node a\n@assign answer\n> user\nHow many?\n"
        "> node b\n> user\nYou said {{answer}}\n> nodeEnd\n> goto a",
        ["8"],
        ['{"isTrue": true}', "fine"],
    ),
}


@pytest.mark.parametrize(("source", "first", "rest"), BROKEN.values(), ids=list(BROKEN))
def test_a_run_that_goes_on_asks_what_it_would_have_asked(
    source: str, first: list[ScriptedAnswer], rest: list[ScriptedAnswer]
) -> None:
    with scripted([*first, DOWN, *rest]) as model:
        failed = execute_convo_graph(source, input="x" if "> goto a" in source else None)
        kept = [ConvoStep.from_dict(json.loads(json.dumps(step.as_dict()))) for step in failed.steps]
        result = execute_convo_graph(source, resume=kept)
        asked = sent(model)
    assert (failed.code, result.error) == ("model", None)
    assert asked[len(first)] == asked[len(first) + 1]  # what failed is asked again, with the same words
    assert "undefined" not in json.dumps(asked)
    with scripted([*first, *rest]) as model:
        whole = execute_convo_graph(source, input="x" if "> goto a" in source else None)
    assert (result.value, [step.node for step in result.steps]) == (whole.value, [step.node for step in whole.steps])
    if "rand" not in source:
        assert sent(model) == [*asked[: len(first)], *asked[len(first) + 1 :]]


def test_the_branches_of_a_fork_go_on_too() -> None:
    source = "@fork\n@to a\n@to b\n> node s\n> node a\n> user\nA\n> node b\n> user\nB\n> nodeEnd\n> user\nx\n> goto s"
    replies = {"A": "a", "B": "b"}
    with scripted(lambda request: replies[request.prompt]):
        whole = execute_convo_graph(source)
    asked = list[str]()

    def reply(request: Request) -> str:
        asked.append(request.prompt)
        return replies[request.prompt]

    with scripted(reply):
        again = execute_convo_graph(source, resume=[whole.steps[0], whole.forks[0].steps[0]])
    assert (again.value, again.forks[0].value, asked) == ("a", "b", ["A"])


def test_what_a_function_set_is_there_when_the_run_goes_on() -> None:
    source = (
        "> define\nn = 0\n@to b\n> node a\n> f() -> (setVar('n' add(n 1)) n)\n"
        "> node b\n> user\nB {{n}}\n> nodeEnd\n> user\nx\n> goto a"
    )

    class Killed(RunListener):
        kept = ""

        def tool_called(self, step: ConvoStep, name: str, arguments: dict[str, Any], result: Any) -> None:
            self.kept = json.dumps(step.as_dict())
            raise KeyboardInterrupt

    killed = Killed()
    with pytest.raises(KeyboardInterrupt):
        execute_convo_graph(source, listener=killed)
    with scripted("ok") as model:
        result = execute_convo_graph(source, resume=[ConvoStep.from_dict(json.loads(killed.kept))])
    assert (result.error, sent(model)) == (None, [[{"role": "user", "content": "B 1"}]])


def test_ctrl_c_during_the_summary_is_told_as_any_other() -> None:
    heard: list[str] = []

    class Stopped(RunListener):
        def called(self, step: ConvoStep, call: ModelCall) -> None:
            if call.purpose == "summary":
                raise KeyboardInterrupt

        def interrupted(self) -> None:
            heard.append("interrupted")

        def ended(self, result: ConvoGraphResult) -> None:
            heard.append("ended")

    with scripted("ok"), pytest.raises(KeyboardInterrupt):
        execute_convo_graph(
            "@exit\n> node a\n> user\nHi\n> nodeEnd\n> user\nx\n> goto a", listener=Stopped(), summary=True
        )
    assert heard == ["interrupted"]


def test_after_ctrl_c_the_process_does_not_wait_for_the_judges_of_routes() -> None:
    asked, stopped = Event(), Event()

    def judge(_: Request) -> Reply:
        asked.set()
        stopped.wait(60)
        return Reply('{"value": true}')

    source = "@to b It is good\n@to b It is short\n> node a\n> f() -> (1)\n> node b\n> f() -> (2)\n> goto a"
    code = f"import memorygraph; memorygraph.execute_convo_graph({source!r})"
    with scripted(judge), subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert asked.wait(60)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=20)
        finally:
            stopped.set()
    assert said.endswith("KeyboardInterrupt\n")
