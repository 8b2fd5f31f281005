"""Node graphs and their runs in Neo4j: worth looking at, chained, and able to go on after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memorygraph import ConflictError, MemoryGraph, MemoryGraphError, NotFoundError, ScriptError
from memorygraph.graph.connection import Connection
from memorygraph.library import NamedQuery, cypher_folder, read_blocks
from memorygraph.messages.recorder import Recorder
from memorygraph.runtime.convo.journal import Journal
from memorygraph.runtime.convo.steps import ConvoStep, ModelCall
from memorygraph.runtime.convo.store import choose_states, find_run
from memorygraph.scripted.replies import Failure, Request
from tests.conftest import EXAMPLES, empty_namespace
from tests.examples import mostly_slow
from tests.runtime.convo.model import scripted, tool
from tests.web_services import Site

REVIEW = (EXAMPLES / "product-review.convo").read_text("utf-8")
SAVED = {block.name: block for block in read_blocks(cypher_folder() / "browser" / "graphs.cypher")}
POSITIVE = [
    tool("flagUser", flag="none", message="Fine.", userEmail="tommy@boze.co"),
    tool("categorize", category="positive"),
    tool("sendReward", toEmail="tommy@boze.co", subject="Thank you", message="Here is your reward."),
]
CHAIN = """
MATCH (run:Run {namespace: $namespace, id: $run})-[has:STEP]->(step:Step)-[:AT]->(node:GraphNode)
OPTIONAL MATCH (step)-[:THEN]->(next:Step)
RETURN node.name AS node, step.output AS output, step.route AS route, next.node AS next,
       COUNT { (step)-[:ANSWERED]->(:Message) } AS answers
ORDER BY has.order
"""


@pytest.fixture
def shop() -> Iterator[Site]:
    with Site() as site:
        yield site


def local(shop: Site) -> str:
    """The example, with its calls going to the local service."""
    return REVIEW.replace("https://api.convo-lang.ai", f"http://{shop.host}")


def test_a_run_is_a_chain_of_steps_with_their_messages(graph: MemoryGraph, shop: Site) -> None:
    with scripted(POSITIVE):
        result = graph.run(local(shop), language="convo", allow_hosts=[shop.host])
    assert result.value == "Reward sent"
    assert [step["node"] for step in result.steps] == ["screenInput", "categorize", "reward"]
    assert [path for path, _ in shop.posts] == ["/mock/send-email"]
    rows = graph.query(CHAIN, {"run": result.run})
    assert [(row["node"], row["route"], row["next"]) for row in rows] == [
        ("screenInput", "categorize", "categorize"),
        ("categorize", "reward", "reward"),
        ("reward", "exit", None),
    ]
    assert [row["answers"] for row in rows] == [1, 1, 1]
    assert result.conversation is not None
    messages = graph.messages(str(result.conversation))
    assert messages[-2]["tool_calls"][0]["function"]["name"] == "sendReward"
    assert (messages[-1]["role"], messages[-1]["content"]) == ("tool", "Reward sent")


def test_loading_stores_the_definition_once(graph: MemoryGraph) -> None:
    report = graph.load(REVIEW, "convo", file="product-review.convo")
    assert (report.language, report.nodes_created, report.edges_created) == ("convo", 5, 4)
    again = graph.load(REVIEW, "convo", file="product-review.convo")
    assert (again.nodes_created, again.edges_created, again.revision) == (0, 0, report.revision + 1)
    rows = graph.query(
        "MATCH (:Graph {namespace: $namespace, name: 'product-review'})-[:HAS_NODE]->(a)-[r:ROUTE]->(b) "
        "RETURN a.name AS a, r.order AS n, r.kind AS kind, r.condition AS condition, b.name AS b ORDER BY a, n"
    )
    assert [(row["a"], row["kind"], row["b"]) for row in rows] == [
        ("categorize", "code", "reward"),
        ("categorize", "code", "refund"),
        ("screenInput", "code", "exit"),
        ("screenInput", "always", "categorize"),
    ]
    assert "eq(output 'positive')" in rows[0]["condition"]


def test_a_node_that_is_called_exit_is_stored_apart_from_the_way_out(graph: MemoryGraph) -> None:
    nodes = "@to exit\n> node a\n > do\n  add(1 1)\n@exit\n> node exit\n > do\n  add(1 2)\n> nodeEnd\n"
    result = graph.run(f"{nodes}> user\nHi\n> goto a\n", language="convo")
    assert [step["node"] for step in result.steps] == ["a", "exit"]
    stored = graph.query(
        "MATCH (n:GraphNode {namespace: $namespace}) RETURN n.name AS name, n:Exit AS out ORDER BY name"
    )
    assert [(row["name"], row["out"]) for row in stored] == [("a", False), ("exit", False), ("exit!", True)]
    routes = graph.query("MATCH (a:GraphNode {namespace: $namespace})-[:ROUTE]->(b) RETURN a.name + b.name AS way")
    assert sorted(row["way"] for row in routes) == ["aexit", "exitexit!"]
    assert [row["route"] for row in graph.query(CHAIN, {"run": result.run})] == ["exit", "exit!"]


@pytest.mark.parametrize("block", SAVED.values(), ids=lambda block: block.name)
def test_saved_queries_are_documented_and_answer(connection: Connection, block: NamedQuery, shop: Site) -> None:
    graph = empty_namespace(connection)
    documented = block.documentation.partition("Parameters: ")[2]
    assert all(parameter in documented for parameter in block.parameters)
    with scripted(POSITIVE):
        result = graph.run(local(shop), language="convo", allow_hosts=[shop.host])
    [row] = graph.query("MATCH (g:Graph {namespace: $namespace}) RETURN g.name AS name")
    given = {
        "namespace": graph.namespace,
        "id": result.run,
        "name": row["name"],
        "graph": row["name"],
        "node": "reward",
    }
    query = block(**{name: given[name] for name in block.parameters})
    assert connection.read(query)
    _, operators = connection.plan(query)
    assert [name for name, _ in operators if name.endswith("Scan") and "Index" not in name] == []


RUNNER = """
import sys
from memorygraph import MemoryGraph
with MemoryGraph.connect(namespace=sys.argv[2]) as graph:
    graph.run(open(sys.argv[1]).read(), language="convo", allow_hosts=[sys.argv[3]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("killed_at", [1, 2, 3])
def test_a_killed_run_goes_on_and_repeats_nothing(
    server: tuple[str, tuple[str, str] | None],
    graph: MemoryGraph,
    shop: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    killed_at: int,
) -> None:
    uri, auth = server
    monkeypatch.setenv("NEO4J_URI", uri)
    if auth:
        monkeypatch.setenv("NEO4J_USERNAME", auth[0])
        monkeypatch.setenv("NEO4J_PASSWORD", auth[1])
    script = tmp_path / "review.convo"
    script.write_text(local(shop))
    processes: list[subprocess.Popen[bytes]] = []
    answered = 0

    def reply(_request: Request) -> Any:
        nonlocal answered
        if answered == killed_at - 1 and processes:
            os.kill(processes.pop().pid, signal.SIGKILL)
            return "never heard"
        answered += 1
        return POSITIVE[answered - 1]

    with scripted(reply) as model:
        command = [sys.executable, "-c", RUNNER, str(script), graph.namespace, shop.host]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        processes.append(process)
        assert process.wait(60) == -signal.SIGKILL
        [kept] = graph.query("MATCH (r:Run {namespace: $namespace}) RETURN r.id AS id, r.status AS status")
        assert kept["status"] == "running"
        result = graph.run(local(shop), language="convo", allow_hosts=[shop.host], resume="last")
        assert result.run == kept["id"]
        assert result.value == "Reward sent"
        assert len(model.requests) == len(POSITIVE) + 1
    assert len(shop.posts) == 1
    assert [row["node"] for row in graph.query(CHAIN, {"run": kept["id"]})] == ["screenInput", "categorize", "reward"]


def test_only_a_broken_run_of_the_same_program_is_gone_on_with(graph: MemoryGraph, shop: Site) -> None:
    with scripted(POSITIVE):
        result = graph.run(local(shop), language="convo", allow_hosts=[shop.host])
        with pytest.raises(ConflictError, match="is done"):
            graph.run(local(shop), language="convo", resume=result.run)
        with pytest.raises(ConflictError, match="another program"):
            graph.run(REVIEW, language="convo", resume=result.run)
        with pytest.raises(NotFoundError, match="was interrupted"):
            graph.run(local(shop), language="convo", resume="last")
        with pytest.raises(NotFoundError, match="no run `nothing`"):
            graph.run(REVIEW, language="convo", resume="nothing")


def test_a_journal_that_was_torn_and_gone_on_with_is_read(graph: MemoryGraph, shop: Site) -> None:
    with scripted(POSITIVE) as model:
        with pytest.raises(ScriptError, match="--allow-host"):
            graph.run(local(shop), language="convo")
        [kept] = graph.query(
            "MATCH (r:Run {namespace: $namespace})-[:STEP]->(s:Step {node: 'reward'}) "
            "RETURN r.id AS id, s.state AS state"
        )
        # A process was killed in the middle of a line, and so was the one that went on with the run.
        path = Journal(kept["id"]).path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(kept["state"][:40])
        journal = Journal(kept["id"])
        for _ in range(2):
            journal.append(kept["state"])
        journal.close(remove=False)
        assert [state["node"] for state in journal.read()] == ["reward", "reward"]
        with path.open("a") as file:
            file.write(kept["state"][:40])
        result = graph.run(local(shop), language="convo", allow_hosts=[shop.host], resume=kept["id"])
        assert (result.value, len(model.requests)) == ("Reward sent", 3)
    assert len(shop.posts) == 1
    assert not path.exists()


DYING = """
import os, signal, sys
from memorygraph import MemoryGraph
from memorygraph.messages.recorder import Recorder
from memorygraph.runtime.runs import RunWriter

spool = Recorder.spool_call

def spool_call(self, call):
    RunWriter.put = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    return spool(self, call)

with MemoryGraph.connect(namespace=sys.argv[1]) as graph:
    Recorder.spool_call = spool_call
    graph.run(sys.argv[3], language=sys.argv[2])
"""
ASKS = {
    "convo": "> node a\n> user\nHi\n> nodeEnd\n> goto a",
    "agentscript": (
        'import llm M from "openai://m" main agent { model M role "r" description "d" '
        'main func() { return generate({ input: "Hi" }) { return { said string } } } }'
    ),
}


@pytest.mark.parametrize("language", mostly_slow(ASKS, ordinary=1))
def test_a_call_is_kept_though_the_run_is_killed_before_it_is_written(
    language: str, server: tuple[str, tuple[str, str] | None], graph: MemoryGraph
) -> None:
    uri, auth = server
    login = {"NEO4J_USERNAME": auth[0], "NEO4J_PASSWORD": auth[1]} if auth else {}
    answer = '{"said": "Hello"}'
    with scripted(answer):
        command = [sys.executable, "-c", DYING, graph.namespace, language, ASKS[language]]
        killed = subprocess.run(command, env={**os.environ, "NEO4J_URI": uri, **login}, check=False)
        assert killed.returncode == -signal.SIGKILL
    assert Recorder(graph.scope, "any").flush() == 1
    [conversation] = [found.name for found in graph.conversations() if found.name.startswith("run-")]
    assert graph.messages(conversation)[-1]["content"] == answer


def test_a_run_that_is_left_before_it_begins_is_not_stored(graph: MemoryGraph, shop: Site) -> None:
    source = f'> do\nhttpPost("http://{shop.host}/a" {{}})\n> node a\n> nodeEnd\n> goto a'
    with graph.convo(source, allow_hosts=[shop.host]):
        pass
    assert (shop.posts, graph.runs()) == ([], [])


def test_no_code_is_executed_again_where_the_user_stops_a_run_while_the_model_thinks(
    graph: MemoryGraph, shop: Site
) -> None:
    def interrupt(_step: ConvoStep) -> None:
        raise KeyboardInterrupt  # as Ctrl-C does before the first call is complete

    post = f'httpPost("http://{shop.host}/%s" {{}})'
    source = f"> do\n{post % 'outside'}\n> node a\n  > do\n  {post % 'node'}\n  > user\n  Hi\n> nodeEnd\n> goto a"
    stopping = graph.convo(source, allow_hosts=[shop.host])
    stopping.on("step_started", interrupt)
    with pytest.raises(KeyboardInterrupt):
        stopping.run()
    with scripted("ok"):
        assert graph.convo(source, allow_hosts=[shop.host], resume="last").run().value == "ok"
    assert [path for path, _ in shop.posts] == ["/outside", "/node"]


def test_dropping_a_namespace_drops_its_graphs_and_steps(graph: MemoryGraph, shop: Site) -> None:
    with scripted(POSITIVE):
        graph.run(local(shop), language="convo", allow_hosts=[shop.host])
    graph.drop_namespace(graph.namespace)
    left = "MATCH (n {namespace: $namespace}) WHERE n:Graph OR n:GraphNode OR n:Step OR n:Run RETURN count(n) AS n"
    assert graph.query(left) == [{"n": 0}]


def test_a_run_that_failed_keeps_the_step_and_goes_on_when_it_can(graph: MemoryGraph, shop: Site) -> None:
    with scripted(POSITIVE) as model:
        with pytest.raises(ScriptError, match="--allow-host"):
            graph.run(local(shop), language="convo")
        [failed] = graph.query(
            "MATCH (r:Run {namespace: $namespace})-[:STEP]->(s:Step {node: 'reward'}) "
            "RETURN r.status AS status, r.error AS error, s.error AS step, s.completed AS completed"
        )
        assert (failed["status"], failed["completed"]) == ("failed", False)
        assert "--allow-host" in failed["error"]
        assert "--allow-host" in failed["step"]
        assert shop.posts == []
        result = graph.run(local(shop), language="convo", allow_hosts=[shop.host], resume="last")
        assert (result.value, len(model.requests)) == ("Reward sent", 3)
    assert len(shop.posts) == 1


def test_where_the_home_cannot_be_written_each_step_waits_until_it_is_stored(
    graph: MemoryGraph, shop: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No folder can be made under a file: not even by root, whom a mode does not stop.
    (tmp_path / "file").touch()
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path / "file" / "home"))
    stored = "MATCH (s:Step {namespace: $namespace, completed: true}) RETURN count(s) AS steps"
    counts = []

    def listen(*_: Any) -> None:
        counts.append(graph.query(stored)[0]["steps"])

    with scripted(POSITIVE) as model:
        with pytest.raises(ScriptError, match="--allow-host"):
            graph.run(local(shop), language="convo", listener=listen)
        assert counts == [1, 2]
        result = graph.run(local(shop), language="convo", allow_hosts=[shop.host], resume="last")
        assert (result.value, len(model.requests)) == ("Reward sent", 3)


LOOP = """
> node a
> rate(items: any) -> (
rated = []
foreach(i=in(items)) rated = aryAdd(rated ??? Rate {{i}} ???)
rated
)
> nodeEnd
> goto a
"""


def test_the_journal_of_a_step_grows_with_its_calls_and_not_with_their_square(graph: MemoryGraph) -> None:
    sizes = []
    with scripted(lambda request: f"rated {request.prompt}"):
        controller = graph.convo(LOOP, input=list(range(48)))
        controller.on("called", lambda *_: sizes.append(Journal(graph.runs(1)[0].id).path.stat().st_size))
        result = controller.run()
    assert result.value == [f"rated Rate {number}" for number in range(48)]
    assert sizes[47] < 8 * sizes[11]
    assert graph.stored_run(str(result.run)).trace[0]["data"]["calls"][47]["key"] == "prompt 47"


def test_each_complete_call_of_a_step_is_known_though_the_run_is_interrupted(graph: MemoryGraph) -> None:
    seen = []

    def interrupt(step: ConvoStep, _call: ModelCall) -> None:
        [found] = find_run(graph.scope, graph.runs(1)[0].id).steps
        seen.append(len(found.calls))
        if len(step.calls) == 7:
            raise KeyboardInterrupt

    with scripted(lambda request: f"rated {request.prompt}") as model:
        controller = graph.convo(LOOP, input=list(range(9)))
        controller.on("called", interrupt)
        with pytest.raises(KeyboardInterrupt):
            controller.run()
        assert seen == [1, 2, 3, 4, 5, 6, 7]
        [state] = graph.query("MATCH (step:Step {namespace: $namespace}) RETURN step.state AS state")
        assert len(json.loads(state["state"])["calls"]) == 7
        result = graph.convo(LOOP, resume="last").run()
    assert result.value == [f"rated Rate {number}" for number in range(9)]
    assert [request.prompt for request in model.requests] == [f"Rate {number}" for number in range(9)]


def rate_until(
    graph: MemoryGraph, calls: int, then: Callable[[ConvoStep], None] = lambda _: None, **options: Any
) -> None:
    """Run the loop until it has made some calls of a model, where its user stops it; `then` hears of each."""

    def count(step: ConvoStep, _call: ModelCall) -> None:
        then(step)
        if len(step.calls) == calls:
            raise KeyboardInterrupt

    controller = graph.convo(LOOP, **options)
    controller.on("called", count)
    with pytest.raises(KeyboardInterrupt):
        controller.run()


def test_a_run_that_went_on_elsewhere_repeats_nothing_where_it_began(
    graph: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(lambda request: f"rated {request.prompt}") as model:
        rate_until(graph, 3, input=list(range(9)))
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("MEMORYGRAPH_HOME", str(tmp_path / "elsewhere"))
            rate_until(graph, 7, resume="last")
        result = graph.convo(LOOP, resume="last").run()
    assert result.value == [f"rated Rate {number}" for number in range(9)]
    assert [request.prompt for request in model.requests] == [f"Rate {number}" for number in range(9)]


def test_a_run_whose_journal_found_no_room_any_more_repeats_nothing(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(lambda request: f"rated {request.prompt}") as model:
        with monkeypatch.context() as full:

            def fill_disk(step: ConvoStep) -> None:
                if len(step.calls) == 3:
                    full.setattr(Journal, "append", lambda *_: False)

            rate_until(graph, 7, fill_disk, input=list(range(9)))
        assert len([*Journal(graph.runs(1)[0].id).read()]) == 1 + 3  # the start of the step, and its calls
        result = graph.convo(LOOP, resume="last").run()
    assert result.value == [f"rated Rate {number}" for number in range(9)]
    assert [request.prompt for request in model.requests] == [f"Rate {number}" for number in range(9)]


@pytest.mark.parametrize(
    ("stored", "journaled", "journal_counts"),
    [
        ({"calls": [1]}, {"calls": [1, 2]}, True),
        ({"calls": [1, 2]}, {"calls": [1]}, False),
        ({"begun": True}, {"calls": [1, 2]}, False),
        ({"tool": {"name": "f"}}, {"begun": True, "calls": [1]}, False),
        ({"answered": True}, {"begun": True, "tool": {"name": "f"}}, False),
        ({"completed": True}, {"begun": True, "tool": {"name": "f"}, "answered": True}, False),
        ({"completed": True}, {"completed": True, "output": "corrected"}, True),
        ({"completed": True}, {"node": "elsewhere"}, True),
    ],
)
def test_of_each_step_the_state_counts_that_is_further_along(
    stored: dict[str, Any], journaled: dict[str, Any], journal_counts: bool
) -> None:
    known, noted, other = (
        {"branch": "", "index": 1, "node": "a"} | state for state in (stored, journaled, {"index": 2})
    )
    assert choose_states([known], [noted, other]) == [noted if journal_counts else known, other]


FORK = """
@fork
@to left = eq(1 1)
@to right = eq(1 1)
> node start

    > user
    Start {{input}}

> node left

    > user
    Left {{input}}

> node right

    > user
    Right {{input}}

> nodeEnd
> goto start
"""


def test_a_fork_is_stored_as_branches_of_the_chain_and_of_the_message_graph(graph: MemoryGraph) -> None:
    def reply(request: Request) -> str:
        return "L" if "Left" in request.prompt else "R" if "Right" in request.prompt else "S"

    with scripted(reply):
        result = graph.run(FORK, "x", language="convo")
    assert {step["node"]: step["output"] for step in result.steps} == {"start": "S", "left": "L", "right": "R"}
    rows = graph.query(
        "MATCH (:Run {namespace: $namespace, id: $run})-[:STEP]->(a:Step)-[:THEN]->(b:Step) "
        "RETURN a.node AS a, b.node AS b ORDER BY b",
        {"run": result.run},
    )
    assert [(row["a"], row["b"]) for row in rows] == [("start", "left"), ("start", "right")]
    versions = graph.messages(str(result.conversation)).versions()
    answers = {graph.messages(str(result.conversation)).checkout(version)[-1]["content"] for version in versions}
    assert answers == {"S", "L", "R"}


def test_a_step_at_which_a_fork_fails_is_stored_with_its_error(graph: MemoryGraph) -> None:
    def reply(request: Request) -> str | Failure:
        return Failure(401, "no") if "Right" in request.prompt else "fine"

    with scripted(reply), pytest.raises(MemoryGraphError):
        graph.run(FORK, "x", language="convo")
    rows = graph.query("MATCH (s:Step {namespace: $namespace}) RETURN s.node AS node, s.error AS error ORDER BY node")
    assert [(row["node"], row["error"] is None) for row in rows] == [("left", True), ("right", False), ("start", True)]
    contents = [message["content"] for message in graph.messages(f"run-{graph.runs()[0].id}")]
    assert contents == ["x", "Start x", "fine", "Left fine", "fine"]
    with scripted(["R"]) as model:
        result = graph.run(FORK, language="convo", resume="last")
    assert ({step["node"] for step in result.steps}, len(model.requests)) == ({"start", "left", "right"}, 1)


def test_the_calls_of_a_step_may_be_larger_together_than_a_value(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorygraph.runtime.convo.values.MAX_TEXT_CHARACTERS", 8000)
    with scripted(lambda request: f"rated {request.prompt}"):
        result = graph.run(LOOP, list(range(48)), language="convo")
    assert len(result.trace[0]["data"]["calls"]) == 48
    assert graph.stored_run(result.run).trace == result.trace


def test_a_run_whose_step_is_too_large_to_be_kept_has_failed(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorygraph.runtime.convo.values.MAX_TEXT_CHARACTERS", 500)
    with scripted("a rating"), pytest.raises(MemoryGraphError, match="the step at `a` cannot be kept"):
        graph.run(LOOP, list(range(100)), language="convo")
    assert [run.status for run in graph.runs()] == ["failed"]
