"""Real graphs of LangGraph over the checkpointer: resume, fork, time travel, interrupt, a crash between two puts."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from operator import add
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, interrupt

from memorygraph import MemoryGraph
from memorygraph.integrations.langgraph import MemoryGraphSaver

CRASHING = """
import os, sys, threading
from memorygraph import MemoryGraph
from memorygraph.integrations.langgraph import MemoryGraphSaver
from tests.integrations.test_langgraph_graphs import counting, thread

class CrashingSaver(MemoryGraphSaver):
    puts = 0
    wrote_b = threading.Event()

    def put_writes(self, config, writes, *args):
        super().put_writes(config, writes, *args)
        if ("steps", ["b"]) in writes:
            self.wrote_b.set()

    def put(self, *args, **options):
        self.puts += 1
        if self.puts == 4:
            self.wrote_b.wait(60)
            os.kill(os.getpid(), 9)
        return super().put(*args, **options)

with MemoryGraph.connect(namespace=sys.argv[1]) as mg:
    counting(CrashingSaver(mg)).invoke({"steps": ["begin"]}, thread("t"), durability="sync")
"""


class Steps(TypedDict):
    """The names of the steps that were taken."""

    steps: Annotated[list[str], add]


def thread(name: str = "t") -> RunnableConfig:
    """The configuration of a thread."""
    return {"configurable": {"thread_id": name}}


def counting(saver: MemoryGraphSaver, ran: list[str] | None = None) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A graph of three nodes, each of which adds its name."""
    builder: Any = StateGraph(Steps)

    def node(name: str) -> Any:
        def step(_: Steps) -> Steps:
            if ran is not None:
                ran.append(name)
            return {"steps": [name]}

        return step

    for before, name in [(START, "a"), ("a", "b"), ("b", "c")]:
        builder.add_node(name, node(name))
        builder.add_edge(before, name)
    builder.add_edge("c", END)
    compiled: CompiledStateGraph[Any, Any, Any, Any] = builder.compile(checkpointer=saver)
    return compiled


def talking(saver: MemoryGraphSaver) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A graph that answers with what was said last, in capitals."""

    def answer(state: MessagesState) -> MessagesState:
        return {"messages": [AIMessage(str(state["messages"][-1].content).upper())]}

    return StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile(checkpointer=saver)


def approving(saver: MemoryGraphSaver) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A graph that waits for what a person says."""

    def ask(state: Steps) -> Steps:
        return {"steps": [f"the person said {interrupt('may I?')}"]}

    return StateGraph(Steps).add_node(ask).add_edge(START, "ask").compile(checkpointer=saver)


def said(state: Any) -> list[str]:
    """The texts of the messages of a state."""
    return [str(message.content) for message in state["messages"]]


def test_a_thread_goes_on_in_another_program(graph: MemoryGraph) -> None:
    talking(MemoryGraphSaver(graph)).invoke({"messages": [HumanMessage("hi")]}, thread())
    state = talking(MemoryGraphSaver(graph)).invoke({"messages": [HumanMessage("bye")]}, thread())
    assert said(state) == ["hi", "HI", "bye", "BYE"]
    assert said(talking(MemoryGraphSaver(graph)).get_state(thread()).values) == said(state)


def test_a_thread_is_forked_where_it_once_was_and_both_ways_stay(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    app = talking(saver)
    app.invoke({"messages": [HumanMessage("hi")]}, thread())
    app.invoke({"messages": [HumanMessage("bye")]}, thread())
    past = next(state for state in app.get_state_history(thread()) if len(state.values.get("messages", [])) == 2)
    fork = app.invoke({"messages": [HumanMessage("why")]}, past.config)
    assert said(fork) == ["hi", "HI", "why", "WHY"]
    ways = [
        said(state.values) for state in app.get_state_history(thread()) if len(state.values.get("messages", [])) == 4
    ]
    assert ways == [["hi", "HI", "why", "WHY"], ["hi", "HI", "bye", "BYE"]]
    [row] = graph.query("MATCH (message:Message {namespace: $namespace}) RETURN count(message) AS messages")
    assert row["messages"] == 6


def test_time_travel_runs_again_what_came_after_a_state(saver: MemoryGraphSaver) -> None:
    ran: list[str] = []
    app = counting(saver, ran)
    app.invoke({"steps": ["begin"]}, thread())
    past = next(state for state in app.get_state_history(thread()) if state.next == ("b",))
    ran.clear()
    assert app.invoke(None, past.config) == {"steps": ["begin", "a", "b", "c"]}
    assert ran == ["b", "c"]
    changed = app.update_state(past.config, {"steps": ["changed"]})
    assert app.invoke(None, changed)["steps"] == ["begin", "a", "changed", "b", "c"]


def test_an_interrupted_graph_waits_for_its_answer_in_another_program(graph: MemoryGraph) -> None:
    first = approving(MemoryGraphSaver(graph)).invoke({"steps": []}, thread())
    assert [each.value for each in first["__interrupt__"]] == ["may I?"]
    app = approving(MemoryGraphSaver(graph))
    assert [each.value for task in app.get_state(thread()).tasks for each in task.interrupts] == ["may I?"]
    assert app.invoke(Command(resume="yes"), thread()) == {"steps": ["the person said yes"]}


@pytest.mark.slow
def test_what_was_stored_before_a_crash_between_two_puts_goes_on_from_there(
    graph: MemoryGraph, environment: str
) -> None:
    crashing = [sys.executable, "-c", CRASHING, graph.namespace]
    killed = subprocess.run(crashing, env={**os.environ}, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL
    ran: list[str] = []
    app = counting(MemoryGraphSaver(graph), ran)
    stored = MemoryGraphSaver(graph).get_tuple(thread())
    assert stored is not None
    assert stored.checkpoint["channel_values"]["steps"] == ["begin", "a"]
    assert app.invoke(None, thread()) == {"steps": ["begin", "a", "b", "c"]}
    assert ran == ["c"]  # what `b` wrote was stored before the crash, and is not done again


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_graph_runs_with_asyncio(graph: MemoryGraph, durability: Any) -> None:
    async def run() -> list[str]:
        app = talking(MemoryGraphSaver(graph))
        await app.ainvoke({"messages": [HumanMessage("hi")]}, thread(), durability=durability)
        await app.ainvoke({"messages": [HumanMessage("bye")]}, thread(), durability=durability)
        state = await app.aget_state(thread())
        history = [found.config async for found in app.aget_state_history(thread())]
        assert history[0] == state.config
        return said(state.values)

    assert asyncio.run(run()) == ["hi", "HI", "bye", "BYE"]


def test_a_graph_in_a_graph_has_states_of_its_own(graph: MemoryGraph, saver: MemoryGraphSaver) -> None:
    inner = StateGraph(Steps).add_node("ask", lambda _: {"steps": [interrupt("may I?")]}).add_edge(START, "ask")
    outer = StateGraph(Steps).add_node("inner", inner.compile()).add_edge(START, "inner").compile(checkpointer=saver)
    outer.invoke({"steps": ["begin"]}, thread())
    rows = graph.query(
        "MATCH (:Thread {namespace: $namespace, id: 't'})-[:STATE]->(state) "
        "RETURN DISTINCT split(coalesce(state.graph, ''), ':')[0] AS graph ORDER BY graph"
    )
    assert [row["graph"] for row in rows] == ["", "inner"]
    assert outer.invoke(Command(resume="yes"), thread())["steps"][-1] == "yes"
