"""What one client runs stops nobody: its programs are bounded, and end with their requests and with the server."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
import mcp
import psutil
import pytest
from anyio import to_thread
from mcp import MCPError

from memorygraph import MemoryGraph
from memorygraph.scripted.replies import Stall
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.examples import mostly_slow
from tests.mcp_server.clients import (
    HttpServer,
    Server,
    Session,
    call,
    environment_of,
    http_command,
    over_http,
    over_stdio,
    started_in,
    text_of,
)
from tests.shared_neo4j import new_namespace

pytestmark = pytest.mark.anyio

ENDLESS = "main agent { main func() { repeat * 1000000000000 { x = 1 } return 1 } }"
EMPTY = "main agent { main func() { repeat * 1000000000000 { } return 1 } }"
GROWING = 'main agent { main func() { a = [] repeat * 1000000000000 { a.add(["x", "y", "z"]) } return 1 } }'
DOUBLING = "main agent { main func() { a = [1] repeat * 60 { a = [a, a] } return a == a } }"
# Each variable holds few values, and one of them holds itself: both are kept after the step.
SHARED = """
> user
1
> node a
  > do
  d = [1]
  i = 0
  while(lt(i 60)) do(
    d = [d d]
    inc(i)
  )
  > f(x: number) -> (x)
> goto a
"""
CIRCULAR = "> user\n1\n> node a\n  > do\n  m = map(a: 1)\n  m.me = m\n  m.you = m\n  > f(x: number) -> (x)\n> goto a"
NESTED = """
> user
1
> node a
  > do
  d = [1]
  t = array(number)
  i = 0
  while(lt(i 60)) do(
    d = [d d]
    t = array(t)
    inc(i)
  )
  is(d t)
  > f(x: number) -> (x)
> goto a
"""
ASKING = """
import llm M from "openai://any"
main agent {
  model M role "r" description "d"
  main func() { return generate({ input: "x" }) { return { answer string } } }
}
"""
ONE = "main agent { main func() { return 1 } }"
# What a client runs in a process of its own: where the server is (its address, or the namespace that it starts one
# for), how it is asked, and what it shall run.
CLIENT = """
import os, sys
from tests.mcp_server.clients import over_http, run, started_in

async def work():
    where, mode, program = sys.argv[1:]
    async with started_in(dict(os.environ), where) if mode == "stdio" else over_http(where, mode=mode) as client:
        await client.call_tool("run_program", {"program": program})

run(work)
"""
SECONDS = 60  # that a test waits for what takes a few


@pytest.fixture(scope="module")
def session(server: Server) -> Iterator[Session]:
    """A client of a server of its own."""
    with Session(over_stdio(server, new_namespace())) as session:
        yield session


@pytest.mark.parametrize(
    ("language", "program", "message"),
    [
        pytest.param("agentscript", ENDLESS, "steps of work", id="endless", marks=pytest.mark.slow),
        pytest.param("agentscript", EMPTY, "steps of work", id="empty", marks=pytest.mark.slow),
        pytest.param("agentscript", GROWING, "the run has", id="growing", marks=pytest.mark.slow),
        pytest.param("agentscript", DOUBLING, "the run has", id="doubling", marks=pytest.mark.slow),
        pytest.param("convo", SHARED, "too large", id="shared"),
        pytest.param("convo", NESTED, "steps of work", id="nested", marks=pytest.mark.slow),
    ],
)
def test_a_program_ends_at_its_limits(session: Session, language: str, program: str, message: str) -> None:
    result = session.call("run_program", {"program": program, "language": language})
    assert result.is_error
    assert message in text_of(result)
    assert not session.call("run_program", {"program": ONE}).is_error


def test_a_variable_that_holds_itself_is_not_kept(graph: MemoryGraph) -> None:
    assert graph.run(CIRCULAR, language="convo").value == 1


@pytest.mark.slow
async def test_the_programs_of_one_token_stop_nobody(
    graph: MemoryGraph, other: MemoryGraph, closed_http: HttpServer
) -> None:
    answers: list[str] = []

    async def run_endless(client: mcp.Client) -> None:
        answers.append(text_of(await client.call_tool("run_program", {"program": ENDLESS})))

    async with (
        over_http(closed_http.url, "first-token") as first,
        over_http(closed_http.url, "second-token") as second,
    ):
        with anyio.fail_after(SECONDS):
            async with anyio.create_task_group() as tasks:
                for _ in range(32):
                    tasks.start_soon(run_endless, first)
                while not answers:  # those that are too many are told so at once
                    await anyio.sleep(0.05)
                await call(first, "create_entities", entities=[{"name": "A", "type": "t", "observations": []}])
                await call(second, "read_graph")
                assert (await call(second, "run_program", program=ONE))["value"] == 1
                assert len(answers) < 32
                tasks.cancel_scope.cancel()
    assert "of your calls are worked on" in answers[0]
    assert graph.node("A").name == "A"
    assert other.query("MATCH (r:Run {namespace: $namespace}) RETURN r.status AS status") == [{"status": "done"}]


@contextmanager
def stalling_model() -> Iterator[tuple[ScriptedModel, dict[str, str]]]:
    """A model that never answers, and the environment in which it is asked."""
    with ScriptedModel(lambda _request: Stall(seconds=600)) as model:
        yield model, {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "k", "MEMORYGRAPH_MODEL": "openai://any"}


def find_child(argument: str) -> psutil.Process:
    """The process of these tests that was started with an argument."""
    for each in psutil.Process().children():
        with suppress(psutil.ZombieProcess):  # of an earlier test
            if argument in each.cmdline():
                return each
    raise AssertionError("there is no such process")


@asynccontextmanager
async def serving(
    environment: dict[str, str], namespace: str, transport: str
) -> AsyncIterator[tuple[psutil.Process, mcp.Client]]:
    """A server in an environment and a client of it; `http-2025` is HTTP as older clients speak it."""
    if transport == "stdio":
        async with started_in(environment, namespace) as client:
            yield find_child(namespace), client
        return
    command = http_command(namespace)
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process_:
        assert process_.stderr is not None
        try:
            line = await to_thread.run_sync(process_.stderr.readline)
            url = line.removeprefix("serving at ").strip()
            async with over_http(url, mode="legacy" if transport == "http-2025" else "auto") as client:
                yield psutil.Process(process_.pid), client
        finally:
            process_.kill()


def stored_runs(graph: MemoryGraph) -> list[tuple[str, str | None]]:
    rows = graph.query("MATCH (r:Run {namespace: $namespace}) RETURN properties(r) AS run")
    return [(row["run"]["status"], row["run"].get("error")) for row in rows]


async def wait_until(holds: Any) -> None:
    with anyio.fail_after(SECONDS):
        while not await to_thread.run_sync(holds):
            await anyio.sleep(0.05)


@pytest.mark.parametrize("transport", mostly_slow(["stdio", "http", "http-2025"], ordinary=1))
async def test_a_program_ends_with_its_request_and_with_the_server(
    graph: MemoryGraph, server: Server, transport: str
) -> None:
    async def run_in_vain(client: mcp.Client, program: str) -> None:
        with suppress(MCPError):  # the connection has ended
            await client.call_tool("run_program", {"program": program})

    with stalling_model() as (model, endpoint):
        environment = {**environment_of(server), **endpoint}

        def begun() -> int:
            return len(stored_runs(graph)) + len(model.requests)

        async with serving(environment, graph.namespace, transport) as (process, client):
            for program, signs in ((ENDLESS, 1), (ASKING, 2)):  # the second asks its model, too
                until = begun() + signs
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(run_in_vain, client, program)
                    await wait_until(lambda until=until: begun() == until)
                    tasks.cancel_scope.cancel()
                await wait_until(lambda: ("running", None) not in stored_runs(graph))
            assert stored_runs(graph) == [("stopped", "the request has ended")] * 2
            assert (await call(client, "run_program", program=ONE))["value"] == 1

            until = begun() + 3
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run_in_vain, client, ENDLESS)
                tasks.start_soon(run_in_vain, client, ASKING)
                await wait_until(lambda: begun() == until)
                process.send_signal(signal.SIGTERM)
                await to_thread.run_sync(process.wait, 15)  # seconds: it takes 4 at most
                tasks.cancel_scope.cancel()
    assert Counter(stored_runs(graph)) == {
        ("stopped", "the request has ended"): 2,
        ("done", None): 1,
        ("stopped", "the process was told to end"): 2,
    }


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["stdio", "auto", "legacy"])
async def test_a_program_ends_with_the_client_that_is_killed(
    graph: MemoryGraph, server: Server, open_http: HttpServer, mode: str
) -> None:
    where = graph.namespace if mode == "stdio" else open_http.url
    command = [sys.executable, "-c", CLIENT, where, mode, ENDLESS]
    with subprocess.Popen(command, env=environment_of(server)) as client:
        try:
            await wait_until(lambda: stored_runs(graph))
        finally:
            client.kill()
    await wait_until(lambda: stored_runs(graph) != [("running", None)])
    assert stored_runs(graph) == [("stopped", "the request has ended")]


@pytest.mark.slow
def test_a_list_of_conversations_says_how_many_are_left_out_and_where_the_next_page_begins(
    graph: MemoryGraph, server: Server
) -> None:
    for number in range(60):
        graph.messages(f"talk {number:02}").append({"role": "user", "content": "Hi"})
    names: list[str] = []
    with Session(over_stdio(server, graph.namespace)) as session:
        after = ""
        while True:
            page = session.call("list_conversations", {"max_tokens": 1000, "after": after}).structured_content
            names += [conversation["name"] for conversation in page["conversations"]]
            if "leftOut" not in page:
                break
            assert page["leftOut"] == {"conversations": 60 - len(names), "after": names[-1]}
            after = names[-1]
        found = session.call("list_conversations", {"containing": "K 5", "max_tokens": 1000}).structured_content
    assert names == [f"talk {number:02}" for number in range(60)]
    assert [conversation["name"] for conversation in found["conversations"]] == [f"talk 5{n}" for n in range(10)]
