"""A namespace that has something of every part: what the reference of the graph is held against, and its queries are asked of."""

from __future__ import annotations

import json
from datetime import timedelta
from tempfile import TemporaryDirectory
from typing import Any

import openai
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from memorygraph import MemoryGraph
from memorygraph.integrations.langgraph import MemoryGraphSaver, MemoryGraphStore
from memorygraph.languages import parse
from memorygraph.memory.values import Entity
from tests.runtime.convo.model import scripted

WORLD = """\
Node(node_id="ada", name="Ada Lovelace", data="Wrote the first program.");
Node(node_id="babbage", name="Charles Babbage", data="Designed the engine.");
Node(node_id="engine", name="Analytical Engine", data="A machine that was never finished. 解析機関");
Node(node_id="loom", name="Jacquard loom", data="Wove by punched cards.");
Edge(edge_id="e1", from_node="ada", to_node="engine", verb="programmed", weight=1.0);
Edge(edge_id="e2", from_node="babbage", to_node="engine", verb="designed", weight=0.9);
Edge(edge_id="e3", from_node="loom", to_node="engine", verb="inspired", weight=0.5);
"""
CHANGE = (
    'Node(node_id="ada", data="Wrote the first program, in 1843.");\nEdge(edge_id="e3", weight=0.7);\ndel(id="e2");\n'
)
THOUGHT = """\
context study(&ada, &engine) {
  @[place: London]
  // A thought.
  !! clock {"time": "12:30"}
  &cards = /* punched cards */
  context look(&engine) {
    @desk, open {"drawer": 1} >> {"ok": true}
    tl;dr /* looked at the drawings */
  }
  &engine uses &cards.
  &ada knows that &engine needs &cards.
  _a needs _b if _a uses _b.
  _what needs &cards?
}
"""
SHORT_THOUGHT = "context passing(&ada) {\n  &ada likes 3.\n}\n"
REVIEW = """\
@to praise = eq(output "good")
@exit
> node judge
Judges the review

    > user
    Judge this: {{input}}

> node praise
Thanks for it

    > user
    Thank for it

> user
Great book

> goto judge
"""
READER = """\
import llm Reader from "openai://m"
import memory Facts from "neo4j://"
main agent Extractor {
  model Reader
  role "A careful reader"
  description "Finds facts"
  main func(input { text string }) {
    use input.text < 8k
    found = generate({ input: "List the facts" }) { return { facts list[json] } }
    for fact in found.facts < 5 { Facts.add({ kind: "fact" fact: fact }) }
    return found.facts
  }
}
"""
CLOCK = {"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
GREETING: list[Any] = [
    {"role": "system", "content": "Greet."},
    {"role": "user", "content": "I am Ada."},
    {"role": "assistant", "tool_calls": [CLOCK]},
    {"role": "tool", "tool_call_id": "c1", "content": "9:00"},
]
LONG = " ".join(f"Sentence {number} tells of the engine and its cards." for number in range(200))


def fill(graph: MemoryGraph) -> None:
    """Store something of each part, change it, and forget some of it."""
    graph.load(WORLD)
    graph.load(CHANGE)
    people = [Entity(name="Ada", entity_type="person", observations=["Likes tea", "Lived in London"])]
    graph.entities.create([*people, Entity(name="London", entity_type="city", observations=[])])
    graph.merge("Ada", "Ada Lovelace")
    graph.load(THOUGHT, "pete")
    graph.load(SHORT_THOUGHT, "pete")
    [passing] = [each for each in graph.thoughts() if each.name == "passing"]
    graph.delete(f"memory-{passing.address}")
    graph.expire("loom", after=timedelta(days=30))
    _talk(graph)
    _run(graph)
    _think(graph)


def _talk(graph: MemoryGraph) -> None:
    """Conversations: one that was edited, one with a recorded call of a model, one in which something was learnt."""
    history = graph.messages("support-42")
    history.append({"role": "user", "content": "My order is late."})
    history.append({"role": "assistant", "content": "Which order?"})
    history[0]["content"] = "My order 7 is late."
    history.append({"role": "user", "content": LONG, "name": "sam"})
    graph.expire_conversation("support-42", after=timedelta(days=90))
    program = 'Node(node_id="tea", name="Tea", data="Ada likes it.");'
    with scripted(["Hello, Ada.", f"```contextscript\n{program}\n```"]) as model:
        client = graph.record(openai.OpenAI(base_url=model.base_url, api_key="k"), "greetings")
        client.chat.completions.create(model="m", temperature=0.5, messages=GREETING)
        graph.remember("Ada likes tea.")


def _run(graph: MemoryGraph) -> None:
    """Stored programs, and a run of each language that runs."""
    graph.load(parse(READER, "agentscript", file="reader.as"))
    graph.load(parse(REVIEW, "convo", file="review.convo"))
    facts = json.dumps({"facts": [{"who": "Ada", "what": "wrote a program"}]})
    with TemporaryDirectory() as folder, scripted(["good", "Thank you.", facts]):
        graph.run(graph.program("review"), "Great book", folder=folder)
        graph.run(graph.program("reader"), {"text": "Ada wrote a program."}, folder=folder)


def _think(graph: MemoryGraph) -> None:
    """A thread of LangGraph with two messages, and a write that is pending; and an item of its store."""
    build: Any = StateGraph(MessagesState)
    build.add_node("answer", lambda _: {"messages": [AIMessage("Hello.", id="m2")]})
    build.add_edge(START, "answer")
    saver = MemoryGraphSaver(graph)
    config: Any = {"configurable": {"thread_id": "t1"}}
    build.compile(checkpointer=saver).invoke({"messages": [HumanMessage("Hi", id="m1")]}, config)
    [last] = saver.list(config, limit=1)
    saver.put_writes(last.config, [("messages", "later")], "task")
    MemoryGraphStore(graph).put(("users", "1"), "pet", {"text": "has a heron"}, ttl=60 * 24 * 365)
