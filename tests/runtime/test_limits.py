"""What a run may use: work, time and bytes; and how it ends with what it is a part of."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memorygraph import AsyncMemoryGraph, MemoryGraph, ProgramError, ScriptError
from memorygraph.errors import MemoryGraphError
from memorygraph.limits import Cancelled, RunBudget, RunLimits, call_apart, ending_when_unwanted, wait_for
from memorygraph.runtime.convo.controller import execute_convo_graph
from memorygraph.scripted.replies import Stall
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.examples import mostly_slow
from tests.mcp_server.clients import environment_of

ENDLESS = "main agent { main func() { repeat * 1000000000000 { x = 1 } return 1 } }"
ASKING = """
import llm M from "openai://any"
main agent {
  model M role "r" description "d"
  main func() { return generate({ input: "x" }) { return { answer string } } }
}
"""
CONVO = "> user\n1\n> node a\n  > f(x: number) -> (x)\n@to a\n> node b\n> goto a"


@pytest.fixture
def stalling(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    """A model that never answers."""
    with ScriptedModel(lambda _request: Stall(seconds=600)) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        yield model


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (RunLimits(max_work=10_000), "too-much-work"),
        (RunLimits(max_seconds=0.2), "too-much-time"),
    ],
)
def test_a_run_ends_at_its_limits_with_the_place(graph: MemoryGraph, limits: RunLimits, code: str) -> None:
    with pytest.raises(ProgramError) as refused:
        graph.run(ENDLESS, limits=limits)
    [problem] = refused.value.problems
    assert (problem.code, problem.line) == (code, 1)


@pytest.mark.parametrize(
    "body",
    [
        'repeat * 100000 { a.add({ x: "y" }) }',
        'repeat * 100000 { a.add("y") } for x in a < 100000 { b = a.summary }',
        "repeat * 40 { a = [a, a] } return a.summary",
        "repeat * 40 { a = [a, a] } return a == a",
    ],
)
def test_the_values_of_a_run_have_a_size(graph: MemoryGraph, body: str) -> None:
    with pytest.raises(ProgramError) as refused:
        graph.run(f"main agent {{ main func() {{ a = [1] {body} return 1 }} }}", limits=RunLimits(max_bytes=3_000_000))
    assert refused.value.problems[0].code == "value-too-large"


def test_texts_count_each_time_that_they_are_written(graph: MemoryGraph) -> None:
    text = "x" * 10_000
    body = f't = "{text}" a = [] repeat * 1000 {{ a.add(t) }} return a == a'
    with pytest.raises(ProgramError) as refused:
        graph.run(f"main agent {{ main func() {{ {body} }} }}", limits=RunLimits(max_bytes=5_000_000))
    assert refused.value.problems[0].code == "value-too-large"
    assert graph.run(f"main agent {{ main func() {{ {body} }} }}").value is True


@pytest.mark.parametrize(
    ("limits", "code"),
    [(RunLimits(max_work=10_000), "too-much-work"), (RunLimits(max_seconds=0.2), "too-much-time")],
)
def test_all_steps_of_a_node_graph_count_together(limits: RunLimits, code: str) -> None:
    node = "> node a\n  > do\n  n = 0\n  while(lt(n 300)) inc(n)\n  > f(x: number) -> (x)\n"
    result = execute_convo_graph(f"> user\n1\n@to a\n{node}> goto a", limits=limits, max_steps=1000)
    failure = result.failure
    assert (failure.problems[0].code if isinstance(failure, ScriptError) else result.code) == code


def test_a_run_that_sleeps_ends_when_its_time_is_over() -> None:
    started = time.monotonic()
    source = "> user\n1\n> node a\n  > do\n  sleep(60000)\n  > user\n  x\n> goto a"
    result = execute_convo_graph(source, limits=RunLimits(max_seconds=0.2))
    assert isinstance(result.failure, ScriptError)
    assert result.failure.problems[0].code == "too-much-time"
    assert time.monotonic() - started < 50  # of the sixty that it would sleep


def test_the_searches_of_a_run_share_their_time() -> None:
    body = "n = 0\n  while(lt(n 90000)) do(\n    regexMatch('abc' 'b+')\n    inc(n)\n  )"
    source = f"> user\n1\n> node a\n  > do\n  {body}\n  > f(x: number) -> (x)\n> goto a"
    result = execute_convo_graph(source, limits=RunLimits(max_search_seconds=0.01))
    assert isinstance(result.failure, ScriptError)
    assert result.failure.problems[0].code == "endless-pattern"


def test_a_variable_that_holds_itself_is_not_kept() -> None:
    source = "> user\n1\n> node a\n  > do\n  m = map(a: 1)\n  m.me = m\n  m.you = m\n  > f(x: number) -> (x)\n> goto a"
    result = execute_convo_graph(source)
    assert (result.value, result.steps[0].variables) == (1, {})


def test_a_value_that_is_shared_many_times_is_looked_at_once() -> None:
    body = "d = [1]\n  i = 0\n  while(lt(i 60)) do(\n    d = [d d]\n    inc(i)\n  )"
    result = execute_convo_graph(f"> user\n1\n> node a\n  > do\n  {body}\n  > f(x: number) -> (x)\n> goto a")
    assert result.value == 1


def test_a_run_ends_with_the_task_that_asked_for_it(graph: MemoryGraph, stalling: ScriptedModel) -> None:
    async def work() -> None:
        client = AsyncMemoryGraph(graph)
        for program, goes_on in ((ENDLESS, lambda: stored_errors(graph)), (ASKING, lambda: stalling.requests)):
            task = asyncio.create_task(client.run(program))
            await eventually(goes_on)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await eventually(lambda: stored_errors(graph) == ["the task that asked for this was cancelled"] * 2)

    asyncio.run(work())


async def eventually(is_so: Callable[[], object]) -> None:
    """Wait for what happens in other threads."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


def stored_errors(graph: MemoryGraph) -> list[str | None]:
    rows = graph.query("MATCH (r:Run {namespace: $namespace}) RETURN properties(r) AS run")
    return [row["run"].get("error") for row in rows]


def test_a_run_ends_in_time_while_it_waits_for_a_model(graph: MemoryGraph, stalling: ScriptedModel) -> None:
    # The time holds all that comes before the question too: the first one of a process imports its client.
    with pytest.raises(MemoryGraphError, match="has taken its 5 seconds"):
        graph.run(ASKING, limits=RunLimits(max_seconds=5))
    assert stalling.requests


@pytest.mark.parametrize("program", mostly_slow([ENDLESS, ASKING], ordinary=1), ids=["computing", "asking"])
def test_sigterm_ends_a_run(
    graph: MemoryGraph,
    server: tuple[str, tuple[str, str] | None],
    stalling: ScriptedModel,
    tmp_path: Path,
    program: str,
) -> None:
    (tmp_path / "p.as").write_text(program)
    command = [sys.executable, "-m", "memorygraph", "-n", graph.namespace, "run", str(tmp_path / "p.as")]
    environment = {**environment_of(server), "OPENAI_BASE_URL": stalling.base_url, "OPENAI_API_KEY": "k"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            asyncio.run(eventually(lambda: stalling.requests if program == ASKING else stored_errors(graph)))
            os.kill(process.pid, signal.SIGTERM)
            _, said = process.communicate(timeout=15)  # seconds: it takes 4 at most
        finally:
            process.kill()
    assert process.returncode == 143
    assert "the process was told to end" in said
    assert stored_errors(graph) == ["the process was told to end"]


def test_what_is_cancelled_stays_so_in_what_it_began() -> None:
    request = RunBudget()
    with request.active():
        budget = RunBudget()
    request.cancel("over")
    with pytest.raises(Cancelled, match="over"), budget.active():
        call_apart(lambda: time.sleep(60))


def test_waiting_has_an_end() -> None:
    from concurrent.futures import Future

    with pytest.raises(TimeoutError):
        wait_for(Future(), 0.1)


def test_what_is_waited_for_ends_with_whoever_asked_for_it() -> None:
    request = RunBudget()
    ended: list[str] = []
    with request.active():
        run = RunBudget()

    def wait(sign: str) -> None:
        with run.active(), ending_when_unwanted(lambda: ended.append(sign)):
            request.cancel("over")
            assert ended == [sign]
            raise OSError("the connection is closed")

    for sign in ("first", "second"):
        with pytest.raises(Cancelled, match="over"):
            wait(sign)
    request.cancel("again")
    run.cancel("over, too")
    assert ended == ["first"]


def test_what_was_done_when_it_was_given_up_is_done() -> None:
    budget = RunBudget()
    with budget.active(), ending_when_unwanted(lambda: None):
        budget.cancel("over")


def test_a_pipe_counts_the_text_for_each_key_of_its_map() -> None:
    keys = " ".join(f"a{number}: 1" for number in range(500))
    doubled = "x = 'zzzzzzzzzz'\n  n = 0\n  while(lt(n 17)) do(\n    x = add(x x)\n    inc(n)\n  )"
    node = f"> node a\n  > do\n  {doubled}\n  y << x\n  > f(x: number) -> (x)\n"
    source = f"> define\ny = map({keys})\n\n> user\n1\n{node}> goto a"
    result = execute_convo_graph(source, limits=RunLimits(max_work=1_000_000))
    assert isinstance(result.failure, ScriptError)
    assert result.failure.problems[0].code == "too-much-work"
