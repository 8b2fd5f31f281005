"""What stays of a run of a node graph: its transcript, its summary, and one conversation of all that was said."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from memorygraph import (
    ConflictError,
    ConnectionError,
    Conversation,
    ConvoGraphController,
    MemoryGraph,
    MemoryGraphError,
    NotFoundError,
    RecordWarning,
    convo_graph,
    execute_convo_graph,
)
from memorygraph.languages import parse
from memorygraph.query import Query
from memorygraph.runtime.convo.journal import Journal
from memorygraph.runtime.convo.scene import Surroundings
from memorygraph.runtime.convo.steps import GraphFailure
from memorygraph.runtime.convo.store import ConvoRunStore
from memorygraph.runtime.runs import RunInterrupted, RunResult, RunWriter
from memorygraph.scripted.replies import BadJson, Failure, Reply, Request
from tests.runtime.convo.model import scripted
from tests.runtime.convo.test_engine_review import FOLDER, POSITIVE, REVIEW, SOURCE
from tests.runtime.convo.test_store import FORK
from tests.web_services import Site

SUMMARY = (FOLDER / "summary.convo").read_text("utf-8")
SAID = re.search(r"\n> assistant\n(Your .*?)\n\n\n> user", SUMMARY, re.DOTALL)
assert SAID
JOINED = """
MATCH (:Run {namespace: $namespace, id: $run})-[has:STEP]->(step:Step)-[said:SAID]->(message:Message)
MATCH (step)-[:AT]->(node:GraphNode)
RETURN node.name AS node, message.role AS role ORDER BY has.order, said.order
"""


def run_review(graph: MemoryGraph, *more: Any, **options: Any) -> RunResult:
    """Run the seed's example against a web service of this machine, with the tag that its transcript shows."""
    with Site() as site, scripted([*POSITIVE, *more]):
        source = SOURCE.replace("https://api.convo-lang.ai", f"http://{site.host}").replace("@call5", "@call")
        return graph.run(source, language="convo", allow_hosts=[site.host], **options)


def test_the_transcript_of_a_stored_run_is_the_one_of_the_seed_byte_for_byte(graph: MemoryGraph) -> None:
    result = run_review(graph)
    assert graph.stored_run(result.run).transcript == (FOLDER / "transcript.convo").read_text("utf-8")


def test_a_stored_run_is_what_the_run_gave(graph: MemoryGraph) -> None:
    result = run_review(graph)
    [info] = graph.runs()
    assert (info.id, info.language, info.status, info.conversation) == (
        result.run,
        "convo",
        "done",
        f"run-{result.run}",
    )
    stored = graph.stored_run(result.run)
    assert (stored.value, stored.steps, stored.trace) == (result.value, result.steps, result.trace)
    with pytest.raises(NotFoundError, match="no run `nothing`"):
        graph.stored_run("nothing")


def test_a_run_ends_with_the_summary_that_the_seed_shows(graph: MemoryGraph) -> None:
    assert SAID
    result = run_review(graph, SAID[1], summary=True)
    assert (result.value, result.summary) == ("Reward sent", SAID[1])
    stored = graph.stored_run(result.run)
    assert stored.summary == SAID[1]
    assert stored.transcript.startswith((FOLDER / "transcript.convo").read_text("utf-8"))
    assert f"> assistant\n{SAID[1]}\n\n> user\n" in stored.transcript
    messages = graph.messages(str(result.conversation))
    assert [message["role"] for message in messages[-3:]] == ["assistant", "user", "assistant"]
    assert messages[-1]["content"] == SAID[1]


def test_only_a_node_graph_has_a_summary(graph: MemoryGraph) -> None:
    with pytest.raises(MemoryGraphError, match="without --summary"):
        graph.run("main agent A { main func() { return 1 } }", summary=True)


def test_the_conversation_of_a_run_has_every_message_in_order(graph: MemoryGraph) -> None:
    result = run_review(graph)
    messages = graph.messages(str(result.conversation))
    assert [message["role"] for message in messages] == ["user", *(["user", "assistant", "tool"] * 3)]
    assert messages[0]["content"] == REVIEW
    calls = [message for message in messages if message["role"] == "assistant"]
    results = [message for message in messages if message["role"] == "tool"]
    assert [call["tool_calls"][0]["function"]["name"] for call in calls] == ["flagUser", "categorize", "sendReward"]
    assert [call["tool_calls"][0]["id"] for call in calls] == [said["tool_call_id"] for said in results]
    assert [said["content"] for said in results] == [f"\n{REVIEW}\n", "positive", "Reward sent"]
    assert messages.verify().ok


def test_its_messages_are_joined_to_the_steps_at_their_nodes(graph: MemoryGraph) -> None:
    result = run_review(graph)
    assert [(row["node"], row["role"]) for row in graph.query(JOINED, {"run": result.run})] == [
        (node, role) for node in ("screenInput", "categorize", "reward") for role in ("user", "assistant", "tool")
    ]


def test_each_answer_is_still_trained_on_once_with_the_prompt_that_the_model_saw(graph: MemoryGraph) -> None:
    result = run_review(graph)
    data = graph.messages(str(result.conversation)).training_data()
    assert data.answers == 3
    assert [len(sample.path) for sample in data.samples] == [2, 2, 2]


def test_a_run_that_goes_on_continues_its_conversation(graph: MemoryGraph) -> None:
    source = "@to b\n> node a\n> user\nA {{input}}\n> node b\n> user\nB {{input}}\n> nodeEnd\n> goto a"
    with scripted(["one", Failure(401, "no")]), pytest.raises(MemoryGraphError):
        graph.run(source, "x", language="convo")
    [failed] = graph.runs()
    conversation = f"run-{failed.id}"
    assert (failed.status, failed.conversation) == ("failed", conversation)
    assert [message["content"] for message in graph.messages(conversation)] == ["x", "A x", "one", "B one"]
    with scripted(["two"]):
        graph.run(source, "x", language="convo", resume=failed.id)
    assert [message["content"] for message in graph.messages(conversation)] == ["x", "A x", "one", "B one", "two"]


def test_a_conversation_has_what_was_dropped_while_the_database_was_gone(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "@to b\n> node a\n> user\nA {{input}}\n> node b\n> user\nB {{input}}\n> nodeEnd\n> goto a"
    second_asked, dropped, write, drop = Event(), Event(), ConvoRunStore.write, RunWriter.drop_waiting

    def lose_first_step(store: ConvoRunStore, *queries: Query) -> None:
        if queries[0].parameters.get("order") == 0 and not dropped.is_set():
            second_asked.wait()  # by then what was said in the step waits, too
            raise ConnectionError("Neo4j cannot be reached")
        write(store, *queries)

    def drop_and_tell(writer: RunWriter) -> None:
        drop(writer)
        dropped.set()

    def reply(request: Request) -> str:
        if "B one" not in str(request.json):
            return "one"
        second_asked.set()
        dropped.wait()
        return "two"

    monkeypatch.setattr(ConvoRunStore, "write", lose_first_step)
    monkeypatch.setattr(RunWriter, "drop_waiting", drop_and_tell)
    with scripted(reply), pytest.warns(RecordWarning, match="could not be stored whole"):
        result = graph.run(source, "x", language="convo")
    said = [message["content"] for message in graph.messages(str(result.conversation))]
    assert said == ["x", "A x", "one", "B one", "two"]


def test_a_graph_that_asks_no_model_has_a_conversation_too(graph: MemoryGraph) -> None:
    source = "> node a\n> double(x: number) -> (mul(x 2))\n> nodeEnd\n> goto a"
    result = graph.run(source, 3, language="convo")
    assert [(message["role"], message.get("content")) for message in graph.messages(str(result.conversation))] == [
        ("user", "3"),
        ("assistant", None),
        ("tool", "6"),
    ]
    assert graph.runs()[0].conversation == result.conversation


def test_each_fork_is_a_version_and_the_first_branch_the_one_that_is_shown(graph: MemoryGraph) -> None:
    def reply(request: Request) -> str:
        return "L" if "Left" in request.prompt else "R" if "Right" in request.prompt else "S"

    with scripted(reply):
        result = graph.run(FORK, "x", language="convo")
    messages = graph.messages(str(result.conversation))
    assert [message["content"] for message in messages] == ["x", "Start x", "S", "Left S", "L"]
    whole = [[message["content"] for message in messages.checkout(version)] for version in messages.versions()]
    assert ["x", "Start x", "S", "Right S", "R"] in whole
    assert "// branch 0.1\n" in graph.stored_run(result.run).transcript


def test_that_a_reply_was_cut_is_in_the_record(graph: MemoryGraph) -> None:
    with scripted([Reply("It begins", finish_reason="length")]):
        result = graph.run("> node a\n> user\nTell\n> nodeEnd\n> goto a", language="convo")
    [step], [event] = result.steps, result.trace
    assert "(inference) was cut" in step["warnings"][0]
    assert event["data"]["warnings"] == step["warnings"]
    assert graph.stored_run(result.run).steps == [step]


def test_a_text_that_looks_like_json_stays_a_text(graph: MemoryGraph) -> None:
    with scripted(["[1]"]):
        result = graph.run("> node a\n> user\nHi\n> nodeEnd\n> goto a", '{"a": 1}', language="convo")
    stored = graph.stored_run(result.run)
    assert (stored.value, stored.input) == ("[1]", '{"a": 1}')


@pytest.mark.filterwarnings("ignore::memorygraph.RecordWarning")
@pytest.mark.parametrize(("content", "value"), [("Hi \ud83d", "Hi \ufffd"), (5, "5")])
def test_a_run_goes_on_after_an_answer_that_no_message_can_be(graph: MemoryGraph, content: Any, value: str) -> None:
    answer = {"choices": [{"index": 0, "message": {"content": content}, "finish_reason": "stop"}]}
    with scripted([BadJson(json.dumps(answer))]):
        result = graph.run("> node a\n> user\nHi\n> nodeEnd\n> goto a", language="convo")
    assert result.value == value


@pytest.mark.parametrize("given", [2**63 - 1, 2**63, -(2**63), 98765432109876543210, True])
def test_a_whole_number_of_any_size_is_stored(graph: MemoryGraph, given: int) -> None:
    result = graph.run("> node a\n> same(x: any) -> (x)\n> nodeEnd\n> goto a", given, language="convo")
    stored = graph.stored_run(result.run)
    assert (stored.status, stored.input, stored.value, stored.steps) == ("done", given, given, result.steps)
    assert not Journal(result.run).path.exists()


TWO = "> user\nHello\n@to b\n> node a\n> user\nA {{input}}\n> node b\n> user\nB {{input}}\n> nodeEnd\n> goto a"
ALL = ["Hello", "A Hello", "one", "B one", "two"]


def complete_all(conversation: Conversation) -> None:
    """Take all steps of a conversation."""
    while not conversation.complete().exited:
        pass


WAYS: dict[str, Callable[[MemoryGraph], object]] = {
    "mg.run": lambda graph: graph.run(TWO, language="convo"),
    "mg.convo": lambda graph: graph.convo(TWO).run(),
    "mg.convo, step by step": lambda graph: list(graph.convo(TWO).steps()),
    "mg.convo, as a conversation": lambda graph: complete_all(graph.convo(TWO).conversation),
    "convo_graph": lambda graph: convo_graph(TWO.replace("Hello", "${text}"), {"graph": graph}, text="Hello"),
    "execute_convo_graph": lambda graph: execute_convo_graph(TWO, graph=graph),
    "ConvoGraphController": lambda graph: ConvoGraphController(TWO, graph=graph).run(),
    "Conversation": lambda graph: complete_all(Conversation(TWO, graph=graph, summary=False)),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
def test_every_way_of_running_a_graph_keeps_the_run(graph: MemoryGraph, way: Callable[[MemoryGraph], object]) -> None:
    with scripted(["one", "two"]):
        way(graph)
    [info] = graph.runs()
    stored = graph.stored_run(info.id)
    assert (stored.status, stored.value, [step["node"] for step in stored.steps]) == ("done", "two", ["a", "b"])
    assert [message["content"] for message in graph.messages(str(stored.conversation))] == ALL


def test_a_bound_result_says_under_what_it_is_stored(graph: MemoryGraph) -> None:
    with scripted(["one", "two"]):
        result = execute_convo_graph(TWO, graph=graph)
    assert [(info.id, info.conversation) for info in graph.runs()] == [(result.run, result.conversation)]
    with scripted(["one", "two"]):
        assert execute_convo_graph(TWO).run is None
    assert len(graph.runs()) == 1


def test_a_controller_takes_the_steps_that_its_conversation_has_left(graph: MemoryGraph) -> None:
    controller = graph.convo(TWO)
    with scripted(["one", "two"]):
        assert controller.conversation.complete().value == "one"
        result = controller.run()
    assert (result.value, controller.state, controller.conversation.result) == ("two", "stopped", result)
    with pytest.raises(MemoryGraphError, match="has been left already"):
        controller.conversation.complete()


def test_a_bound_controller_goes_on_with_a_stored_run(graph: MemoryGraph) -> None:
    with scripted(["one", Failure(401, "no")]):
        failed = graph.convo(TWO).run()
    assert (failed.success, graph.runs()[0].status) == (False, "failed")
    with scripted(["two"]):
        result = graph.convo(TWO, resume="last").run()
    assert (result.value, result.run) == ("two", failed.run)
    with pytest.raises(MemoryGraphError, match="give its graph"):
        execute_convo_graph(TWO, resume=str(failed.run))


def test_the_transcript_and_the_conversation_have_the_system_messages_of_a_node(graph: MemoryGraph) -> None:
    source = "@exit\n> node a\n> system\nBe brief, {{input}}.\n> user\nGo\n> nodeEnd\n> user\nAda\n> goto a"
    with scripted(["one"]):
        result = graph.run(source, language="convo")
    transcript = graph.stored_run(result.run).transcript
    assert transcript == "> system\nBe brief, Ada.\n\n> user\nGo\n\n> assistant\none\n\n> exitGraph\n"
    said = [(message["role"], message["content"]) for message in graph.messages(str(result.conversation))]
    assert said == [("user", "Ada"), ("system", "Be brief, Ada."), ("user", "Go"), ("assistant", "one")]


def test_a_run_goes_on_with_its_own_input_only(graph: MemoryGraph) -> None:
    with scripted(["one", Failure(401, "no")]):
        failed = graph.convo(TWO, input={"of": ["dogs"]}).run()
    said = re.escape('began with another input, {"of":["dogs"]}; go on with it without')
    for resume in ("last", str(failed.run)):
        with pytest.raises(ConflictError, match=said):
            graph.run(TWO, "cats", language="convo", resume=resume)
    with scripted(["two"]):
        assert graph.run(TWO, {"of": ("dogs",)}, language="convo", resume="last").run == failed.run


def test_a_run_that_was_broken_off_in_another_version_of_its_file_is_named(graph: MemoryGraph) -> None:
    with scripted(["one", Failure(401, "no")]):
        failed = graph.convo(TWO, file="two.convo").run()
    edited = parse(TWO + "\n", "convo", file="two.convo")
    said = f"; run `{failed.run}` was broken off in another version of two.convo: take its changes back to go on with"
    with pytest.raises(NotFoundError, match=said):
        graph.run(edited, language="convo", resume="last")
    with pytest.raises(NotFoundError, match=r"was interrupted$"):
        graph.run(parse(TWO + "\n", "convo", file="other.convo"), language="convo", resume="last")
    with scripted(["two"]):
        assert graph.convo(TWO, file="two.convo", resume="last").run().value == "two"


def test_a_conversation_that_is_left_in_the_middle_can_be_resumed(graph: MemoryGraph) -> None:
    with scripted(["one"]), Conversation(TWO, graph=graph, summary=False) as conversation:
        conversation.complete()
    assert graph.runs()[0].status == "failed"
    with scripted(["two"]):
        result = graph.convo(TWO, resume="last").run()
    assert (result.value, result.run, graph.runs()[0].status) == ("two", conversation.result.run, "done")


@pytest.mark.parametrize("run", [lambda graph: graph.run(TWO, language="convo"), lambda graph: graph.convo(TWO).run()])
def test_a_run_that_its_user_stops_before_the_first_node_is_stored_as_stopped(
    graph: MemoryGraph, run: Callable[[MemoryGraph], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any, **__: Any) -> None:  # as Ctrl-C does in a `do` before the first node
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Surroundings, "find_start", stop)
        with pytest.raises(KeyboardInterrupt) as stopped:
            run(graph)
    [info] = graph.runs()
    assert info.status == "stopped"
    if isinstance(stopped.value, RunInterrupted):
        assert (stopped.value.run, stopped.value.done, stopped.value.resumable) == (info.id, 0, True)
    with scripted(["one", "two"]):
        assert graph.run(TWO, language="convo", resume="last").run == info.id


def test_a_run_that_is_running_is_not_resumed(graph: MemoryGraph) -> None:
    with scripted(["one", Failure(401, "no")]):
        earlier = graph.convo(TWO).run()
    with scripted(["one", "two"]):
        conversation = Conversation(TWO, graph=graph, summary=False)
        conversation.complete()
        running = graph.runs(1)[0].id
        with pytest.raises(ConflictError, match="is still running"):
            graph.run(TWO, language="convo", resume=running)
        # The `last` that was interrupted is an earlier one.
        assert graph.run(TWO, language="convo", resume="last").run == earlier.run
        with pytest.raises(NotFoundError, match=f"was interrupted; `{running}` is still running"):
            graph.run(TWO, language="convo", resume="last")
        conversation.dispose()
    with scripted(["two"]):
        assert graph.run(TWO, language="convo", resume="last").run == running
    assert list(Journal(running).path.parent.glob(f".{running}*")) == []


def test_a_run_is_resumed_only_as_it_was_read(graph: MemoryGraph) -> None:
    with scripted(["one", Failure(401, "no")]):
        graph.convo(TWO).run()
    one, other, third = (graph.convo(TWO, resume="last") for _ in range(3))
    with scripted(["two"]) as model:
        assert one.conversation.complete().step.node == "a"
        with pytest.raises(GraphFailure, match="is still running"):
            other.conversation.complete()
        assert one.run().value == "two"
        assert third.run().code == "running"
        assert len(model.requests) == 1
    assert graph.runs()[0].status == "done"


def test_what_was_resumed_and_never_begun_can_be_resumed_again(graph: MemoryGraph) -> None:
    with scripted(["one", Failure(401, "no")]):
        failed = graph.convo(TWO).run()
    journal = Journal(str(failed.run))
    journal.append(json.dumps(failed.steps[0].as_dict() | {"output": "ONE"}))  # the database did not come to it
    Conversation(TWO, graph=graph, resume="last").dispose()
    with scripted(["two"]):
        result = graph.convo(TWO, resume="last").run()
    assert [step.output for step in result.steps] == ["ONE", "two"]


def test_a_controller_that_is_never_run_keeps_nothing(graph: MemoryGraph) -> None:
    graph.convo(TWO)
    Conversation(TWO, graph=graph).dispose()
    assert graph.runs() == []
    with pytest.raises(MemoryGraphError, match="runs a node graph"):
        graph.convo(parse("main agent A { main func() { return 1 } }", "agentscript"))
