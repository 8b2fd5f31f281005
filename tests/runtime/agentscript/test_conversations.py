"""The conversation of a run of AgentScript: a called agent's stands inside its call, as the seed draws it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memorygraph import MemoryGraph, ModelError
from memorygraph.scripted.replies import BadJson, Failure
from tests.runtime.convo.model import scripted

AGENTS = """
import llm M from "openai://m"
agent Reader {
  model M role "A reader" description "Reads"
  main func read(text) { use text return generate({ input: "Read" }) { return { words string } } }
}
agent Helper {
  model M role "A helper" description "Helps"
  main func(input) {
    read = Reader(input)
    use read.words
    return generate({ input: "Help" }) { return { said string } }
  }
}
main agent Asker {
  model M role "An asker" description "Asks"
  main func(input) {
    plan = generate({ input: "Plan" }) { return { plan string } }
    return Helper(plan.plan).said
  }
}
"""
ANSWERS = ['{"plan": "P"}', '{"words": "W"}', '{"said": "S"}']
INSIDE = """
MATCH (:Run {namespace: $namespace, id: $run})-[:KEPT]->(:Conversation)-[:HEAD]->(:Version)-[:TIP]->(response:Message)
MATCH (response)-[:HAS]->(outer:Metadata)-[:CONTAINS]->(last:Message)
MATCH (last)<-[:NEXT*0..]-(said:Message)-[:HAS]->(inner:Metadata)-[:CONTAINS]->(deepest:Message)
RETURN response.content AS content, outer.length AS length, last.content AS last, inner.length AS inner_length,
       deepest.content AS deepest
"""


def roles(messages: Any) -> list[str]:
    """Who speaks in a list of messages."""
    return [message["role"] for message in messages]


def test_each_call_of_an_agent_holds_the_conversation_of_that_agent(graph: MemoryGraph) -> None:
    with scripted(ANSWERS):
        result = graph.run(AGENTS, {})
    messages = graph.messages(str(result.conversation))
    assert roles(messages) == ["system", "user", "assistant", "assistant", "tool"]
    assert messages[2]["content"] == ANSWERS[0]
    assert messages[3]["tool_calls"][0]["function"] == {"name": "Helper", "arguments": '{"args":["P"]}'}
    assert json.loads(messages[4]["content"]) == {"said": "S"}
    [row] = graph.query(INSIDE, {"run": result.run})
    assert (row["length"], row["last"]) == (5, ANSWERS[2])
    assert (row["inner_length"], row["deepest"]) == (3, ANSWERS[1])
    assert messages.verify().ok


def test_an_agent_that_asks_once_is_a_subgraph_of_system_user_and_assistant(graph: MemoryGraph) -> None:
    with scripted(ANSWERS):
        result = graph.run(AGENTS, {})
    messages = graph.messages(str(result.conversation))
    [beside] = [attachment for attachment in messages.attachments() if attachment.subgraph]
    inside = graph.query(
        "MATCH (:Metadata {namespace: $namespace, length: 3})-[:CONTAINS]->(last:Message) "
        "MATCH path = (last)<-[:NEXT*0..]-(first) WHERE NOT EXISTS { (first)<-[:NEXT]-() } "
        "RETURN [m IN reverse(nodes(path)) | m.role] AS roles, last.sampled AS sampled"
    )
    assert inside == [{"roles": ["system", "user", "assistant"], "sampled": True}]
    assert beside.metadata["agent"] == "Helper"


def test_every_answer_is_a_training_sample_once_wherever_it_was_given(graph: MemoryGraph) -> None:
    with scripted(ANSWERS):
        result = graph.run(AGENTS, {})
    data = graph.messages(str(result.conversation)).training_data()
    assert (data.answers, sorted(len(sample.path) for sample in data.samples)) == (3, [3, 3, 3])


def test_a_run_that_failed_in_a_called_agent_keeps_what_was_said(graph: MemoryGraph) -> None:
    with scripted([ANSWERS[0], Failure(401, "no")]), pytest.raises(ModelError):
        graph.run(AGENTS, {})
    [run] = graph.runs()
    messages = graph.messages(str(run.conversation))
    assert roles(messages) == ["system", "user", "assistant", "assistant", "tool"]
    assert '> call Helper["P"]' in graph.stored_run(run.id).transcript


@pytest.mark.filterwarnings("ignore::memorygraph.RecordWarning")
@pytest.mark.parametrize("content", ['{"plan": "P\ud83d"}', [{"text": ANSWERS[0]}, "not a part"]])
def test_a_run_goes_on_after_an_answer_that_no_message_can_be(graph: MemoryGraph, content: Any) -> None:
    answer = {"choices": [{"index": 0, "message": {"content": content}, "finish_reason": "stop"}]}
    with scripted([BadJson(json.dumps(answer)), *ANSWERS[1:]]):
        result = graph.run(AGENTS, {})
    assert result.value == "S"
