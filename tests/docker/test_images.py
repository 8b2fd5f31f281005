"""The images do what they promise: to testcontainers, to memorygraph, and to MCP clients, in a real engine."""

from __future__ import annotations

import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from memorygraph import MemoryGraph
from tests.docker.engine import REPOSITORY, Engine, compose_command, running_engine
from tests.mcp_server.clients import call, over_http, run

if TYPE_CHECKING:
    from testcontainers.community.neo4j import Neo4jContainer

# An engine, a base image and two builds are made before the first test; all of it takes some minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

START_TIMEOUT_S = 90.0
TAG = "test"
PASSWORD = "a-password-of-the-tests"
TOKEN = "a-token-of-the-tests"
COMPOSE_FILE = REPOSITORY / "docker" / "compose.yaml"
PROGRAM = """
Node(node_id="agc", name="Apollo Guidance Computer", data="2,048 words of memory.");
Node(node_id="hamilton", name="Margaret Hamilton", data="Led the flight software.");
Edge(edge_id="e1", from_node="hamilton", to_node="agc", verb="programmed", weight=1.0);
"""

AGENT = """
import llm M from "openai://m"
main agent A {
  model M role "R" description "D"
  main func(input) { return { said: input.word } }
}
"""
GRAPH = """
> node add
  > do
  n = add(1 2)
> nodeEnd
> goto add
"""
THOUGHT = """
context compose() {
&image = /* the image of the memory server */
&program = /* a program of each language */
&image runs &program.
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """An engine that has both images; its environment is that of the tests, as testcontainers reads it there."""
    with running_engine() as engine, pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor() as pool:
        builds = [pool.submit(engine.build, name, f"{tag}:{TAG}") for name, tag in _IMAGES.items()]
        for build in builds:
            build.result()
        for name, value in engine.environment.items():
            patch.setenv(name, value)
        # No image of testcontainers' own is needed then; what is started here is removed here.
        patch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
        patch.setenv("TESTCONTAINERS_HOST_OVERRIDE", "localhost")
        yield engine


_IMAGES = {"neo4j": "memorygraph-neo4j", "memorygraph": "memorygraph"}


@pytest.fixture
def volume(engine: Engine) -> Iterator[str]:
    """A volume that outlives its containers."""
    name = f"memorygraph-test-{uuid.uuid4().hex}"
    engine.run("docker", "volume", "create", name)
    yield name
    engine.run("docker", "volume", "rm", "--force", name)


def _neo4j(volume: str, **settings: str) -> Neo4jContainer:
    from testcontainers.community.neo4j import Neo4jContainer

    container = Neo4jContainer(f"memorygraph-neo4j:{TAG}", password=PASSWORD)
    return container.with_volume_mapping(volume, "/data", "rw").with_envs(**settings)


@pytest.mark.filterwarnings("ignore::memorygraph.graph.connection.UnencryptedWarning")
def test_testcontainers_starts_it_and_a_program_is_there_after_the_next_start(
    engine: Engine, volume: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_PASSWORD", PASSWORD)
    with _neo4j(volume) as neo4j:
        monkeypatch.setenv("NEO4J_URI", neo4j.get_connection_url())
        with MemoryGraph.connect() as graph:
            assert graph.load(PROGRAM).nodes_created == 2
    with _neo4j(volume) as neo4j:
        monkeypatch.setenv("NEO4J_URI", neo4j.get_connection_url())
        with MemoryGraph.connect() as graph:
            assert graph.node("agc").name == "Apollo Guidance Computer"
            assert [each.id for each in graph.neighbours("agc")] == ["hamilton"]


def test_it_obeys_its_environment_runs_without_rights_starts_from_its_cache_and_stops_cleanly(
    engine: Engine, volume: str
) -> None:
    settings = {
        "NEO4J_server_memory_heap_max__size": "700m",
        "NEO4J_db_transaction_timeout": "11s",
        "NEO4J_server_jvm_additional": "-Dtold=one -Dalso=two",
    }
    with _neo4j(volume, **settings) as neo4j, neo4j.get_driver() as driver:
        asked = "SHOW SETTINGS YIELD name, value WHERE name = 'db.transaction.timeout' RETURN value"
        assert driver.execute_query(asked).records[0]["value"] == "11s"
        container = neo4j.get_wrapped_container()
        _, status = container.exec_run(["cat", "/proc/1/status", "/proc/1/cmdline", "/tmp/neo4j-of-user-7474/jvm.args"])
        assert b"Name:\tjava" in status
        assert b"Uid:\t7474\t7474\t7474\t7474" in status
        told = [line.strip(b'"') for line in status.splitlines()]
        assert {b"-Xmx700m", b"-Dtold=one", b"-Dalso=two"} <= set(told)
        assert b"/opt/neo4j/classes.aot" in container.exec_run(["cat", "/proc/1/maps"])[1]
        driver.close()
        container.stop(timeout=60)
        container.reload()
        assert container.attrs["State"]["ExitCode"] == 0
        assert container.logs().decode().rstrip().endswith("Stopped.")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _answers_without_a_token(url: str) -> int | None:
    """Wait for a server, and say with which status it answers who has no token."""
    until = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < until:
        with suppress(httpx2.TransportError), httpx2.Client(timeout=10, trust_env=False) as client:
            return client.post(url, json={}).status_code
        time.sleep(0.2)
    return None


@pytest.fixture
def compose() -> list[str]:
    """The compose program of this machine."""
    command = compose_command()
    if command is None:
        pytest.skip("no compose: apt-get install docker-compose")
    return command


@pytest.fixture
def compose_settings(tmp_path: Path) -> dict[str, str]:
    """What a user writes to `.env`, with ports that are free."""
    http, bolt, served = _free_ports(3)
    tokens = tmp_path / "tokens"
    tokens.write_text(f"default {TOKEN}\n", "utf-8")
    return {
        "NEO4J_PASSWORD": PASSWORD,
        "NEO4J_HTTP_PORT": str(http),
        "NEO4J_BOLT_PORT": str(bolt),
        "MEMORYGRAPH_PORT": str(served),
        "MEMORYGRAPH_MODEL": "openai://m",
        "MEMORYGRAPH_TOOLS": "all",
        "MEMORYGRAPH_TOKENS": str(tokens),
        "MEMORYGRAPH_TAG": TAG,
        "COMPOSE_PROJECT_NAME": f"test{uuid.uuid4().hex[:8]}",
    }


def test_the_compose_file_is_valid_and_asks_for_a_password(
    compose: list[str], compose_settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = [*compose, "--file", str(COMPOSE_FILE), "config", "--quiet"]
    for name, value in compose_settings.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run(checked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    monkeypatch.delenv("NEO4J_PASSWORD")
    done = subprocess.run(checked, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "set it in the file .env" in done.stderr


def test_compose_serves_the_memory_to_clients_that_have_a_token(
    engine: Engine, compose: list[str], compose_settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in compose_settings.items():
        monkeypatch.setenv(name, value)
    told = Engine({**engine.environment, **compose_settings})
    started = [*compose, "--file", str(COMPOSE_FILE)]
    url = f"http://localhost:{compose_settings['MEMORYGRAPH_PORT']}/mcp"

    async def work() -> None:
        async with over_http(url, TOKEN) as client:
            await call(client, "create_entities", entities=[{"name": "A", "type": "t", "observations": ["known"]}])
            assert [each["name"] for each in (await call(client, "read_graph"))["entities"]] == ["A"]
            # Its file system is read-only, and a program of each language runs there.
            await call(client, "load_contextscript", program=PROGRAM)
            assert (await call(client, "run_program", program=AGENT, input={"word": "hi"}))["value"] == {"said": "hi"}
            await call(client, "run_program", program=GRAPH, language="convo", max_steps=3)
            thought = "cat > /tmp/log.pete && /opt/memorygraph/bin/memorygraph load /tmp/log.pete"
            told.run(*started, "exec", "-T", "memorygraph", "sh", "-c", thought, stdin=THOUGHT.encode())
            assert (await call(client, "list_thoughts"))["thoughts"]

    try:
        told.run(*started, "up", "--detach")
        assert _answers_without_a_token(url) == 401, told.run(*started, "logs")
        run(work)
        uri = f"neo4j://localhost:{compose_settings['NEO4J_BOLT_PORT']}"  # it asks where to go
        with MemoryGraph.connect(uri, ("neo4j", PASSWORD)) as graph:
            assert graph.node("A").name == "A"
        project = f"label=com.docker.compose.project={compose_settings['COMPOSE_PROJECT_NAME']}"
        ports = told.run("docker", "ps", "--filter", project, "--format", "{{.Ports}}").replace("\n", ", ").split(", ")
        published = [each for each in ports if "->" in each]
        assert len(published) == 3
        assert all(each.startswith("127.0.0.1:") for each in published)
    finally:
        told.run(*started, "down", "--volumes")
