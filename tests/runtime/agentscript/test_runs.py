"""The record of a run in Neo4j: what each call saw, and from which nodes."""

from __future__ import annotations

import json
import math
import re
import signal
import threading
import warnings
from functools import partial
from pathlib import Path
from threading import Event, Timer
from typing import Any, cast

import pytest

from memorygraph import (
    ConnectionError,
    MemoryGraph,
    MemoryGraphError,
    ModelError,
    ProgramError,
    QueryError,
    RecordWarning,
    RunLimits,
    ScriptError,
)
from memorygraph.graph.connection import Connection
from memorygraph.library import NamedQuery, cypher_folder, read_blocks
from memorygraph.llm.completion import Usage
from memorygraph.messages.recorder import Recorder
from memorygraph.runtime.agentscript.generation import GenerationRecord
from memorygraph.runtime.agentscript.store import AgentRunStore
from memorygraph.runtime.agentscript.values import get_item
from memorygraph.runtime.runs import RunWriter
from memorygraph.runtime.values import ValueProblem
from memorygraph.scripted.replies import BadJson, Failure, Reply, Request
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.runtime.convo.model import scripted

RECALLS = """
import llm M from "openai://m"
import memory Known from "neo4j://"
main agent Answerer {
  model M role "A helper" description "Answers from memory"
  main func(input) {
    use input.question
    use Known.recall(input.question) < 2k
    use input.long < 10
    return generate({ input: "Answer" attempts: 2 }) { return { text string } }
  }
}
"""
SAVED = {block.name: block for block in read_blocks(cypher_folder() / "browser" / "runs.cypher")}
INPUT = {"question": "guidance computer", "long": "x" * 50}


@pytest.fixture
def model() -> Any:
    with scripted(["no json", '{"text": "It had 2,048 words."}', Failure(401, "no")]) as model:
        yield model


@pytest.fixture
def known(graph: MemoryGraph) -> MemoryGraph:
    graph.load('Node(node_id="agc", name="Apollo Guidance Computer", data="2,048 words of memory.");')
    graph.load('Node(node_id="moon", name="The Moon", data="No relation.");')
    return graph


def rows(graph: MemoryGraph, block: str, **parameters: Any) -> list[dict[str, Any]]:
    """The rows of a saved query of cypher/browser."""
    return graph.connection.read(SAVED[block](namespace=graph.namespace, **parameters))


@pytest.mark.usefixtures("model")
def test_a_saved_query_says_which_prompts_saw_a_node(known: MemoryGraph) -> None:
    result = known.run(RECALLS, INPUT)
    text = "MATCH (:Node {namespace: $namespace, id: $id})<-[:FROM]-(item:ContextItem)<-[:USED]-(g:Generation)" + (
        "<-[:GENERATED]-(run:Run) RETURN run.id AS run, item.source AS source, g.instruction AS instruction"
    )
    assert known.query(text, {"id": "agc"}) == [
        {"run": result.run, "source": "Known.recall(input.question)", "instruction": "Answer"}
    ]
    assert known.query(text, {"id": "moon"}) == []
    [seen] = rows(known, "prompts-that-saw-a-node", id="agc")
    assert seen["run"]["id"] == result.run


@pytest.mark.usefixtures("model")
def test_a_saved_query_says_what_a_call_saw(known: MemoryGraph) -> None:
    result = known.run(RECALLS, INPUT)
    [generation] = known.query(
        "MATCH (:Run {namespace: $namespace, id: $id})-[:GENERATED]->(g) RETURN g.id AS id, g.attempts AS attempts, "
        "g.result AS result, g.errors AS errors",
        {"id": result.run},
    )
    assert (generation["attempts"], json.loads(generation["result"])) == (2, {"text": "It had 2,048 words."})
    saw = known.query(
        "MATCH (:Generation {namespace: $namespace, id: $id})-[used:USED]->(item) RETURN used.index AS index, "
        "item.text AS text, item.budget AS budget, item.clipped AS clipped ORDER BY index",
        {"id": generation["id"]},
    )
    assert [(row["index"], row["budget"], row["clipped"]) for row in saw] == [
        (0, None, False),
        (1, "2k", False),
        (2, "10", True),
    ]
    trace = result.trace[-1]["data"]["context"]["items"]
    assert [row["text"] for row in saw] == [item["text"] for item in trace]
    assert rows(known, "what-a-call-saw", id=generation["id"])


@pytest.mark.parametrize("block", SAVED.values(), ids=lambda block: block.name)
def test_every_saved_query_is_documented_and_planned_on_indexes(connection: Connection, block: NamedQuery) -> None:
    documented = block.documentation.partition("Parameters: ")[2]
    assert all(parameter in documented for parameter in block.parameters)
    _, operators = connection.plan(block(**dict.fromkeys(block.parameters, "a")))
    assert [name for name, _ in operators if name.endswith("Scan") and "Index" not in name] == []


@pytest.mark.usefixtures("model")
def test_the_messages_of_every_attempt_are_in_the_message_graph(known: MemoryGraph) -> None:
    result = known.run(RECALLS, INPUT)
    assert result.conversation is not None
    history = known.messages(result.conversation)
    answers = [entry.message.text for version in history.versions() for entry in history.checkout(version).entries()]
    assert {"no json", '{"text": "It had 2,048 words."}'} <= set(answers)
    joined = known.query(
        "MATCH (:Run {namespace: $namespace, id: $id})-[:GENERATED]->()-[:ANSWERED]->(m:Message) RETURN m.content AS t",
        {"id": result.run},
    )
    assert {row["t"] for row in joined} == {"no json", '{"text": "It had 2,048 words."}'}


@pytest.mark.usefixtures("model")
def test_the_transcript_has_each_attempt_as_it_was_said(known: MemoryGraph) -> None:
    transcript = known.stored_run(known.run(RECALLS, INPUT).run).transcript
    said = re.findall(r"^> (system|user|assistant)\n(.*)", transcript, re.MULTILINE)
    assert [role for role, _ in said] == ["system", "user", "assistant", "user", "assistant"]
    assert [said[2][1], said[4][1]] == ["no json", '{"text": "It had 2,048 words."}']
    assert transcript.count("Previous generation failed.") == 1


def test_the_transcript_of_a_failed_generation_has_its_answers_and_why_it_failed(known: MemoryGraph) -> None:
    with scripted(["no json", Failure(400, "no")]), pytest.raises(ModelError):
        known.run(RECALLS, INPUT)
    transcript = known.stored_run("last").transcript
    assert "\n> assistant\nno json\n\n> result\nfailed: the model endpoint refused the request" in transcript


def test_a_run_that_fails_is_kept_with_its_trace(known: MemoryGraph, model: ScriptedModel) -> None:
    known.run(RECALLS, INPUT)
    with pytest.raises(ModelError, match="refused the API key"):
        known.run(RECALLS, INPUT)
    [run] = known.query(
        "MATCH (r:Run {namespace: $namespace, status: 'failed'}) RETURN r.error AS error, r.trace AS trace"
    )
    event = json.loads(run["trace"])[-1]
    assert event["kind"] == "generate"
    assert event["data"]["ok"] is False
    assert "refused the API key" in event["data"]["error"]
    assert len(model.requests) == 3


def test_an_answer_in_which_a_model_refuses_is_kept_with_its_tokens(known: MemoryGraph) -> None:
    said = {"role": "assistant", "content": None, "refusal": "I won't."}
    usage = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
    body = {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}], "usage": usage}
    refused = pytest.raises(ModelError, match=r"the model refuses: I won't\.")
    with scripted(BadJson(json.dumps(body))) as model, refused:
        known.run(RECALLS, INPUT)
    assert len(model.requests) == 1
    kept = known.query(
        "MATCH (g:Generation {namespace: $namespace}) "
        "RETURN g.completion_tokens AS tokens, g.errors AS errors, COUNT { (g)-[:ANSWERED]->(:Message) } AS answers"
    )
    assert kept == [{"tokens": 4, "errors": ["the model refuses: I won't."], "answers": 1}]


def test_the_tokens_of_a_generation_are_those_of_all_its_attempts(known: MemoryGraph) -> None:
    with scripted([Reply("no json", usage=Usage(30, 4)), Reply('{"text": "Yes."}', usage=Usage(50, 6))]):
        known.run(RECALLS, INPUT)
    [kept] = known.query(
        "MATCH (g:Generation {namespace: $namespace}) RETURN g.prompt_tokens AS read, g.completion_tokens AS written"
    )
    assert kept == {"read": 80, "written": 10}


ASKS = """
import llm M from "openai://m"
main agent A {
  model M role "A helper" description "Answers"
  main func() { return generate({ input: "Answer" attempts: 2 LIMIT }) { return { text string } } }
}
"""


@pytest.mark.parametrize(
    ("limit", "cut"),
    [("limit: 5", "its limit of 5 tokens"), ("limit: 2k", "its limit of 2000 tokens"), ("", "the endpoint's limit")],
)
def test_the_user_and_the_model_hear_that_an_answer_was_cut(graph: MemoryGraph, limit: str, cut: str) -> None:
    replies = [Reply('{"inner": {"text": 1}, ', finish_reason="length"), Reply("", finish_reason="length")]
    with scripted(replies) as model, pytest.raises(ModelError) as caught:
        graph.run(ASKS.replace("LIMIT", limit))
    wrong = f"the model's answer was cut at {cut}"
    advice = "give `generate` a larger `limit`, or ask for less"
    assert f"<script>:5:24: no answer fits after 2 attempts: {wrong}; {advice}\n" in str(caught.value)
    assert f"Error:\n{wrong} at 5:24; write less\n" in model.requests[1].json["messages"][1]["content"]
    assert "Previous output" not in model.requests[1].json["messages"][1]["content"]
    [kept] = graph.query("MATCH (g:Generation {namespace: $namespace}) RETURN g.errors AS errors")
    assert kept == {"errors": [wrong, wrong]}


def test_an_answer_that_is_whole_is_taken_though_the_model_was_cut_after_it(graph: MemoryGraph) -> None:
    with scripted([Reply('```json\n{"text": "Yes."}\n```\nThis is', finish_reason="length")]):
        assert graph.run(ASKS.replace("LIMIT", "limit: 5")).value == {"text": "Yes."}


@pytest.mark.usefixtures("model")
def test_equal_context_is_stored_once(known: MemoryGraph) -> None:
    twice = RECALLS.replace(
        "return generate",
        'a = generate({ input: "First" attempts: 2 }) { return { text string } } '
        'b = generate({ input: "Second" }) { return { text string } } return generate',
    )
    with pytest.raises(ModelError):
        known.run(twice, INPUT)
    [count] = known.query("MATCH (i:ContextItem {namespace: $namespace}) RETURN count(i) AS items")
    [uses] = known.query("MATCH (:Generation {namespace: $namespace})-[u:USED]->() RETURN count(u) AS uses")
    assert (count["items"], uses["uses"]) == (3, 6)


@pytest.mark.usefixtures("model")
def test_dropping_a_namespace_drops_its_runs(known: MemoryGraph) -> None:
    known.run(RECALLS, INPUT)
    known.drop_namespace(known.namespace)
    left = "MATCH (n {namespace: $namespace}) WHERE n:Run OR n:Generation OR n:ContextItem RETURN count(n) AS n"
    assert known.query(left) == [{"n": 0}]


def test_a_run_goes_on_when_the_database_is_lost(
    server: tuple[str, tuple[str, str] | None], graph: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path))
    lost = MemoryGraph(Connection(*server), graph.namespace)

    def close_and_answer(_request: object) -> str:
        lost.close()
        return '{"text": "still here"}'

    with scripted(close_and_answer):
        program = RECALLS.replace("use Known.recall(input.question) < 2k", "")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert lost.run(program, INPUT).value == {"text": "still here"}
    assert {warning.category for warning in caught} == {RecordWarning}
    assert any("could not be stored whole" in str(warning.message) for warning in caught)


@pytest.mark.parametrize("depth", [1, 60], ids=["here", "in a thread of deep calls"])
def test_no_model_is_asked_after_ctrl_c_and_the_generation_says_so(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    asked, answered = list[Request](), Event()
    end = AgentRunStore.end

    def end_after_calls(store: AgentRunStore, properties: dict[str, Any]) -> None:
        calls = [thread for thread in threading.enumerate() if thread.name == "memorygraph-calls"]
        for thread in calls:
            thread.join(10)  # Ctrl-C ends it before the answer comes
        answered.set()
        for thread in calls:
            thread.join(30)  # one that goes on would ask again
        end(store, properties)

    def interrupt_second(request: Request) -> str:
        asked.append(request)
        if len(asked) == 2:
            signal.pthread_kill(cast(int, threading.main_thread().ident), signal.SIGINT)
            answered.wait(60)
        return '{"text": "x"}'

    calls = "".join(f"func f{n}() {{ return f{n - 1}() }} " for n in range(1, depth))
    asks = 'repeat * 20 { x = generate({ input: "Go" }) { return { text string } } } return 1'
    agent = f'model M role "R" description "D" func f0() {{ {asks} }} {calls} main func() {{ return f{depth - 1}() }}'
    with scripted(interrupt_second):
        monkeypatch.setattr(AgentRunStore, "end", end_after_calls)
        with pytest.raises(KeyboardInterrupt):
            graph.run(f'import llm M from "openai://m" main agent A {{ {agent} }}')
    assert len(asked) == 2
    [run] = graph.runs()
    assert run.status == "stopped"
    assert [step["ok"] for step in graph.stored_run(run.id).steps] == [True, False]


def test_a_call_is_kept_where_the_trace_has_no_room_for_it(graph: MemoryGraph) -> None:
    program = RECALLS.replace("use Known.recall(input.question) < 2k", "").replace(" < 10", "")
    with scripted('{"text": "x"}') as model:
        with pytest.raises(ProgramError, match="values of 0 MB"):
            graph.run(program, {**INPUT, "long": "x" * 40_000}, limits=RunLimits(max_bytes=150_000))
        assert len(model.requests) == 1
    [run] = graph.runs()
    assert [step["result"] for step in graph.stored_run(run.id).steps] == [{"text": "x"}]


def test_where_warnings_are_errors_the_one_of_a_record_ends_no_run() -> None:
    writer = RunWriter("the run")
    writer.put(lambda: 1 / 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        writer.close()


def test_the_end_of_a_run_waits_once_for_a_database_that_is_gone() -> None:
    writer, tried, left, queued = RunWriter("the run"), list[str](), list[str](), Event()

    def fail(piece: str) -> None:
        queued.wait()
        tried.append(piece)
        raise ConnectionError("Neo4j cannot be reached")

    for piece in ("first", "second", "third"):
        writer.put(partial(fail, piece), instead=partial(left.append, piece))
    Timer(0.05, queued.set).start()
    writer.wait()
    writer.put(partial(fail, "of a later generation"))
    with pytest.warns(RecordWarning, match="could not be stored whole"):
        writer.close()
    assert tried == ["first", "of a later generation"]
    assert left == ["second", "third"]


@pytest.mark.usefixtures("model")
def test_calls_whose_writing_was_dropped_wait_for_the_next(known: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    add, queued = AgentRunStore.add, Event()

    def fail() -> None:
        queued.wait()
        raise ConnectionError("Neo4j cannot be reached")

    def add_and_tell(store: AgentRunStore, record: GenerationRecord) -> None:
        add(store, record)
        queued.set()

    monkeypatch.setattr(AgentRunStore, "read", lambda store, _: store._writer.put(fail))
    monkeypatch.setattr(AgentRunStore, "add", add_and_tell)
    with pytest.warns(RecordWarning, match="could not be stored whole"):
        known.run(RECALLS, INPUT)
    assert Recorder(known.scope, "").flush() == 2


def test_what_one_piece_of_a_record_lacks_does_not_drop_the_others() -> None:
    writer, done = RunWriter("the run"), list[int]()

    def refuse() -> None:
        raise QueryError("refused")

    for work in (refuse, partial(done.append, 1), partial(done.append, 2)):
        writer.put(work)
    with pytest.warns(RecordWarning):
        writer.close()
    assert done == [1, 2]


@pytest.mark.usefixtures("model")
def test_nodes_of_another_namespace_are_not_joined(known: MemoryGraph) -> None:
    other = MemoryGraph(known.connection, f"{known.namespace}-other")
    other.load('Node(node_id="moon", name="Guidance computer of another world", data="");')
    program = RECALLS.replace('"neo4j://"', f'"neo4j://{other.namespace}"')
    with pytest.raises(ScriptError, match=f"--allow-namespace {other.namespace}"):
        known.run(program, INPUT)
    result = known.run(program, INPUT, allow_namespaces=[other.namespace])
    assert "another world" in result.trace[-1]["data"]["context"]["items"][1]["text"]
    assert result.trace[-1]["data"]["context"]["items"][1]["origins"] == [f"neo4j://{other.namespace}/moon"]
    joined = "MATCH (:ContextItem {namespace: $namespace})-[:FROM]->(n) RETURN n.id AS id"
    assert known.query(joined) == []


KEEPS = """
import llm M from "openai://m"
import memory Known from "neo4j://"
main agent Keeper {
  model M role "A helper" description "Keeps what it is told"
  main func(input) {
    BEFORE
    told = generate({ input: "List what is new" }) { return { facts list[json] } }
    for fact in told.facts < 9 { Known.add(RECORD) }
    return told.facts.length
  }
}
"""
EMPTIES = json.dumps({"facts": [{"id": "agc", "data": ""}]})


@pytest.mark.parametrize("record", ["fact", '{ id: fact.id data: "" }'])
def test_a_model_cannot_update_a_node_that_the_run_has_not_read(known: MemoryGraph, record: str) -> None:
    program = KEEPS.replace("RECORD", record)
    with scripted(EMPTIES):
        with pytest.raises(MemoryGraphError, match="a model wrote the id `agc`"):
            known.run(program.replace("BEFORE", 'use Known.recall("moon") < 2k'), {})
        assert known.node("agc").data == "2,048 words of memory."
        assert known.run(program.replace("BEFORE", 'use Known.recall("guidance") < 2k'), {}).value == 1
    assert known.node("agc").data == ""


def test_a_model_may_add_nodes_and_a_program_update_any(known: MemoryGraph) -> None:
    added = json.dumps({"facts": [{"id": "new", "name": "New", "data": "1"}, {"id": "new", "data": "2"}]})
    with scripted(added):
        known.run(KEEPS.replace("RECORD", "fact").replace("BEFORE", ""), {})
        known.run(KEEPS.replace("RECORD", '{ id: "agc" data: fact.data }').replace("BEFORE", ""), {})
    assert (known.node("new").data, known.node("agc").data) == ("2", "2")


@pytest.mark.parametrize("index", [math.inf, math.nan, 10**400, 0.5])
def test_what_is_no_place_of_an_item_is_said(index: float) -> None:
    with pytest.raises(ValueProblem, match=r"there is no item .* in a list of 1; the first is 0"):
        get_item(["a"], index)


def test_a_run_of_agents_that_call_agents_at_any_depth_can_be_read(graph: MemoryGraph) -> None:
    agent = 'agent A{} {{ model M role "R" description "D" main func() {{ return {} }} }}'
    asks = agent.format(0, 'generate({ input: "Go" }) { return { text string } }')
    calls = " ".join(agent.format(number, f"A{number - 1}()") for number in range(1, 120))
    last = f"main {agent.format(120, 'A119()')}"
    with scripted('{"text": "x"}'):
        result = graph.run(f'import llm M from "openai://m" {asks} {calls} {last}')
    stored = graph.stored_run(result.run)
    assert [step["agent"] for step in stored.steps] == ["A0"]
    assert "> user\nInstruction:\nGo" in stored.transcript
