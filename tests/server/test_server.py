"""The real Neo4j: started by many, found again, recovered after crashes, and closed to others."""

from __future__ import annotations

import http.client
import os
import random
import re
import shutil
import socket
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import neo4j
import psutil
import pytest
from filelock import FileLock
from neo4j.exceptions import AuthError, ClientError

from memorygraph import MemoryGraph
from memorygraph.cli.load import compile_all, try_all
from memorygraph.errors import ConnectionError, DownloadError, RestartNeededError, TooLargeError
from memorygraph.languages import parse
from memorygraph.server import embedded, installation, settings
from memorygraph.server import process as server_process
from memorygraph.server.artifacts import read_lock
from memorygraph.server.doctor import examine
from memorygraph.server.embedded import EmbeddedServer
from memorygraph.server.launch import Launch
from memorygraph.server.server_home import ServerHome
from memorygraph.server.settings import Endpoints
from tests.examples import profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.shared_neo4j import GiveSchema

pytestmark = pytest.mark.usefixtures("quick_java")

LONG = profile() == "long"
STARTERS = 8
ROUNDS_OF_KILLS = 10 if LONG else 1
HUB_EDGES = 12_000

UP = """
import sys, time
from pathlib import Path
from memorygraph.server import process as server_process
from memorygraph.server.embedded import EmbeddedServer
time.sleep(max(0, float(sys.argv[3]) - time.time()))
print(EmbeddedServer(Path(sys.argv[1]), Path(sys.argv[2])).up().bolt_uri)
"""


def processes_of(server: EmbeddedServer) -> list[psutil.Process]:
    return [process for process in psutil.process_iter() if server_process.is_server_of(process, server.home)]


def ask(server: EmbeddedServer, query: str, access: str = neo4j.READ_ACCESS) -> list[dict[str, Any]]:
    uri = server.status().bolt_uri
    assert uri
    with (
        neo4j.GraphDatabase.driver(uri, auth=("neo4j", server.password())) as driver,
        driver.session(default_access_mode=access) as session,
    ):
        return session.run(query).data()


@pytest.fixture(scope="module")
def server(make_server: Callable[[], EmbeddedServer]) -> EmbeddedServer:
    made = make_server()
    made.up()
    return made


@pytest.mark.slow
def test_status_says_where_it_is(server: EmbeddedServer) -> None:
    status = server.status()
    assert status.running
    assert status.bolt_uri
    assert status.bolt_uri.startswith("bolt://127.0.0.1:")
    assert status.browser_url
    assert (status.username, status.version) == ("neo4j", read_lock().version)
    assert (status.home, status.password_file) == (str(server.home), str(server.home / "password"))
    kernel = "CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel' RETURN versions"
    assert ask(server, kernel) == [{"versions": [status.version]}]


def test_a_server_that_is_silent_is_not_taken_for_one_that_does_not_run(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorygraph.server.embedded.server_answers", lambda *_: False)
    status = server.status()
    assert (status.running, status.bolt_uri) == (False, None)
    assert "Neo4j does not answer: it starts, or is busy" in (status.problem or "")


@pytest.mark.slow
def test_up_again_starts_nothing_and_changes_nothing(server: EmbeddedServer) -> None:
    before, pids = server.status(), [process.pid for process in processes_of(server)]
    assert server.up() == before
    assert [process.pid for process in processes_of(server)] == pids


def test_the_browser_is_served(server: EmbeddedServer) -> None:
    place = (server.status().browser_url or "").removeprefix("http://")
    connection = http.client.HTTPConnection(place.partition("/")[0], timeout=10)
    connection.request("GET", "/browser/")
    page = connection.getresponse().read()
    connection.close()
    assert b"Neo4j Browser" in page


@pytest.mark.skipif(sys.platform == "win32", reason="rights are kept otherwise there")
def test_the_home_is_private_and_the_password_file_holds_the_password_alone(server: EmbeddedServer) -> None:
    assert stat.S_IMODE(server.home.stat().st_mode) == 0o700
    assert stat.S_IMODE(server.password_file.stat().st_mode) == 0o600
    password = server.password_file.read_text("utf-8")
    assert password == password.strip() == server.password()
    assert len(password) >= 24
    command = " ".join(processes_of(server)[0].cmdline())
    assert password not in command
    assert all(password not in finding.detail for finding in examine(server))


def test_it_listens_on_the_loopback_only(server: EmbeddedServer) -> None:
    (process,) = processes_of(server)
    sockets = [c for c in process.net_connections("inet") if c.status in (psutil.CONN_LISTEN, psutil.CONN_NONE)]
    assert {c.laddr.ip.removeprefix("::ffff:") for c in sockets} == {"127.0.0.1"}
    assert len(sockets) == 2


def test_a_wrong_password_is_refused(server: EmbeddedServer) -> None:
    uri = server.status().bolt_uri
    assert uri
    for auth in (("neo4j", "wrong-password"), ("neo4j", "neo4j"), None):
        with neo4j.GraphDatabase.driver(uri, auth=auth) as driver, pytest.raises((AuthError, ClientError)):
            driver.verify_connectivity()


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "http://127.0.0.1:{http}/", "http://[::1]:{http}/", "ftp://127.0.0.1/x"]
)
def test_load_csv_reads_no_file_and_calls_nobody(server: EmbeddedServer, address: str) -> None:
    port = (server.status().browser_url or "").split(":")[2].partition("/")[0]
    with pytest.raises(ClientError, match="Cannot load from URL"):
        ask(server, f"LOAD CSV FROM '{address.format(http=port)}' AS line RETURN line LIMIT 1")


@pytest.mark.slow
def test_nothing_is_reported_to_the_vendor_and_transactions_are_bounded(server: EmbeddedServer) -> None:
    rows = ask(server, "SHOW SETTINGS YIELD name, value RETURN name, value")
    values = {row["name"]: row["value"] for row in rows}
    for setting in (
        "dbms.usage_report.enabled",
        "dbms.fleet_manager.enabled",
        "server.fleet_discovery.enabled",
    ):
        assert values[setting] == "false"
    assert values["db.transaction.timeout"] == "30s"
    with pytest.raises(neo4j.exceptions.TransientError, match=r"db\.memory\.transaction\.max"):
        ask(server, "UNWIND range(1, 30000000) AS i RETURN collect(i)[0]")
    assert ask(server, "RETURN 1 AS one") == [{"one": 1}]


def test_the_doctor_finds_a_running_server_well(server: EmbeddedServer) -> None:
    findings = {finding.name: finding for finding in examine(server)}
    assert all(finding.ok for finding in findings.values()), findings
    assert str(server.status().bolt_uri) in findings["server"].detail


def several_at_once(
    server: EmbeddedServer, run_python: Callable[..., subprocess.Popen[str]]
) -> list[subprocess.Popen[str]]:
    at_the_same_moment = time.time() + 2
    return [run_python(UP, server.home, server.artifacts, at_the_same_moment) for _ in range(STARTERS)]


def first_process_of(server: EmbeddedServer) -> psutil.Process:
    until = time.monotonic() + 100
    while not (found := processes_of(server)):
        assert time.monotonic() < until
        time.sleep(0.01)
    return found[0]


@pytest.mark.slow
@pytest.mark.timeout(1200 if not LONG else 3000)
def test_starts_crashes_and_kills(
    make_server: Callable[[], EmbeddedServer], run_python: Callable[..., subprocess.Popen[str]]
) -> None:
    server = make_server()
    several = several_at_once(server, run_python)
    answers = {process.communicate(timeout=200)[0].strip() for process in several}
    assert answers == {server.status().bolt_uri}
    (process,) = processes_of(server)

    # The server is killed, and its port is taken while it is away.
    ask(server, "CREATE (:Survivor {name: 'a'})", neo4j.WRITE_ACCESS)
    process.kill()
    process.wait(10)
    assert not server.status().running
    (former,) = answers
    with socket.create_server(("127.0.0.1", int(former.rpartition(":")[2]))):
        recovered = server.up()
        assert recovered.bolt_uri != former
        assert ask(server, "MATCH (n:Survivor) RETURN n.name AS name") == [{"name": "a"}]
        assert len(processes_of(server)) == 1
    assert server.down()
    assert not server.down()
    assert processes_of(server) == []

    # A starter is killed before it could note the process: the next one adopts that server.
    starter = run_python(UP, server.home, server.artifacts, 0)
    orphan = first_process_of(server)
    starter.kill()
    starter.wait()
    (server.home / "server.pid").unlink(missing_ok=True)
    assert server.up().bolt_uri == recovered.bolt_uri, "the ports of the last start are kept"
    assert processes_of(server) == [orphan]
    assert ask(server, "MATCH (n:Survivor) RETURN n.name AS name") == [{"name": "a"}]

    # A wrong password file is told apart from a server that is down.
    password = server.password()
    server.password_file.write_text("not the password", "utf-8")
    with pytest.raises(ConnectionError, match="refuses the password"):
        server.check()
    server.password_file.write_text(password, "utf-8")
    assert server.down()

    # Several start at once, and the one that starts the server is killed, with the server or without it.
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    for _ in range(ROUNDS_OF_KILLS):
        several = several_at_once(server, run_python)
        process = first_process_of(server)
        time.sleep(chance.uniform(0, 2))
        (owner,) = [one for one in several if one.pid == process.ppid()] or several[:1]
        owner.kill()
        if is_server_killed := chance.random() < 0.7:
            process.kill()
        told = [one.communicate(timeout=200)[0].strip() for one in several if one is not owner]
        assert set(told) == {server.status().bolt_uri}, f"seed {seed}"
        (now,) = processes_of(server)
        assert (now == process) != is_server_killed, f"seed {seed}"
        assert ask(server, "MATCH (n:Survivor) RETURN n.name AS name") == [{"name": "a"}]
        assert server.down()
        assert processes_of(server) == []
    print(f"{ROUNDS_OF_KILLS} rounds of {STARTERS} starters, seed {seed}")


@pytest.mark.slow
def test_a_server_that_is_killed_while_it_starts_is_started_again(make_server: Callable[[], EmbeddedServer]) -> None:
    server = make_server()
    with ThreadPoolExecutor(1) as starter:
        starting = starter.submit(server.up)
        first = first_process_of(server)
        first.kill()
        assert starting.result().running
    assert first not in processes_of(server)


@pytest.mark.slow
def test_a_server_that_lost_the_race_for_its_ports_is_not_taken_for_the_one_that_won_it(
    server: EmbeddedServer, make_server: Callable[[], EmbeddedServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    winner = server.up()
    loser = make_server()
    choose = server_process.choose_ports
    ports = [
        tuple(int(url.split(":")[2].partition("/")[0]) for url in (winner.bolt_uri or "", winner.browser_url or ""))
    ]
    # Both looked in the same second, when the ports were still free.
    monkeypatch.setattr(server_process, "choose_ports", lambda former: ports.pop() if ports else choose(former))
    found = loser.up()
    assert found.running
    assert found.bolt_uri != winner.bolt_uri
    assert ask(loser, "RETURN 1 AS one") == [{"one": 1}]
    assert server.status() == winner
    assert loser.down()


@pytest.mark.slow
def test_a_start_that_fails_leaves_no_process_and_says_why(
    make_server: Callable[[], EmbeddedServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = make_server()
    started: list[psutil.Process] = []
    start = server_process.start

    def counted(*arguments: Any) -> psutil.Process:
        started.append(start(*arguments))
        return started[-1]

    monkeypatch.setattr(server_process, "start", counted)
    (server.home / "data").mkdir()
    (server.home / "data" / "databases").write_text("not a folder", "utf-8")
    with pytest.raises(ConnectionError, match=r"(?s)databases.*memorygraph doctor") as caught:
        server.up()
    assert "Neo4j ended while it was starting" in str(caught.value)
    assert len(started) == 1, "what Neo4j itself refuses is not tried again"
    assert processes_of(server) == []
    assert not server.status().running


def test_a_start_says_where_the_server_is_that_it_has_seen_answer(
    tmp_path: Path, artifacts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, home = EmbeddedServer(tmp_path / "home", artifacts), ServerHome(tmp_path / "home")
    home.configure(Endpoints(17687, 17474, "2026.08.1"))
    home.prepare_certificate()
    monkeypatch.setattr(server_process, "find_server", lambda _home: psutil.Process())
    monkeypatch.setattr(Launch, "await_answer", lambda *_: None)
    monkeypatch.setattr(embedded, "server_answers", lambda *_: False)  # HTTP took too long, just before and after
    status = server.up()
    assert (status.running, status.bolt_uri) == (True, "bolt://127.0.0.1:17687")
    assert not server.find().running


def test_a_start_that_takes_too_long_leaves_no_process(make_server: Callable[[], EmbeddedServer]) -> None:
    server = make_server()
    with pytest.raises(ConnectionError, match="does not answer in time"):
        server.up(timeout_s=0.5)
    assert processes_of(server) == []


def test_a_process_id_of_another_program_is_not_taken_for_the_server(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path)
    (tmp_path / "server.pid").write_text(str(os.getpid()), "ascii")
    assert server_process.find_server(server.home) is None
    assert not server.down()


def test_a_lost_password_is_never_healed_at_the_cost_of_data(
    make_server: Callable[[], EmbeddedServer],
) -> None:
    server = make_server()
    store = server.home / "data" / "databases" / "system" / "neostore"
    store.parent.mkdir(parents=True)
    store.write_text("a graph", "utf-8")
    with pytest.raises(ConnectionError, match=r"password file .* is lost"):
        server.up()
    assert store.read_text("utf-8") == "a graph"
    findings = {finding.name: finding for finding in examine(server)}
    assert not findings["password file"].ok


def test_a_home_that_cannot_be_used_is_an_error_that_says_so(tmp_path: Path, artifacts: Path) -> None:
    (tmp_path / "file").write_text("not a folder", "utf-8")
    server = EmbeddedServer(tmp_path / "file" / "home", artifacts)
    with pytest.raises(ConnectionError, match="MEMORYGRAPH_HOME"):
        server.up()
    assert not {finding.name: finding for finding in examine(server)}["home"].ok


def test_a_full_disk_is_an_error_that_says_so(small_disk: Path, artifacts: Path) -> None:
    server = EmbeddedServer(small_disk / "home", artifacts)
    with pytest.raises(ConnectionError, match="MB are free"):
        server.up()
    assert processes_of(server) == []


def test_files_that_are_altered_while_a_start_waits_are_not_run(
    make_server: Callable[[], EmbeddedServer], artifacts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = make_server()
    server = EmbeddedServer(server.home, server.home / "files")
    server.artifacts.mkdir()
    for jar in read_lock().class_path(artifacts):
        (server.artifacts / jar.name).symlink_to(jar)
    altered = read_lock().class_path(server.artifacts)[0]
    # Nothing is downloaded here: what is missing is an error.
    monkeypatch.setattr(installation, "fetch_missing", refuse_to_fetch)
    with ThreadPoolExecutor(1) as starter:
        with FileLock(server.home / "server.lock"):
            starting = starter.submit(server.up)
            assert not wait([starting], timeout=2).done
            altered.unlink()
            altered.write_bytes(b"PK of somebody else")
        with pytest.raises(DownloadError, match="not the pinned file"):
            starting.result()
    assert processes_of(server) == []


def refuse_to_fetch(*_: object) -> None:
    raise DownloadError("this is not the pinned file")


@pytest.fixture
def small_home(tmp_path: Path, artifacts: Path, give_schema: GiveSchema) -> Iterator[EmbeddedServer]:
    """A server on a file system of its own."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", str(mounted)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    server = EmbeddedServer(mounted / "home", artifacts)
    try:
        yield give_schema(server)
    finally:
        server.down()
        subprocess.run(["umount", "-l", str(mounted)], check=False)


@pytest.mark.slow
@pytest.mark.usefixtures("memory_to_spare")
def test_after_a_full_disk_it_is_said_and_the_next_connection_heals_it(small_home: EmbeddedServer) -> None:
    server, ballast = small_home, small_home.home.parent / "ballast"
    server.up()
    with MemoryGraph.connect(server=server) as graph:
        graph.load('Node(node_id="kept", name="Kept", data="");')
        ballast.write_bytes(bytes(shutil.disk_usage(server.home).free - 2 * 2**20))
        large = "".join(f'Node(node_id="n{n}", name="N", data="{"x" * 1000}");\n' for n in range(10_000))
        with pytest.raises(
            RestartNeededError, match=r"its disk is full \(No space left on device\): make room"
        ) as caught:
            graph.load(large)
        assert caught.value.outcome_unknown
        assert f"`memorygraph revisions --json` lists the load {caught.value.load_id}" in str(caught.value)

        status = server.status()
        assert not status.running
        assert "make room, then run `memorygraph up`" in str(status.problem)
        found = {finding.name: finding for finding in examine(server)}
        assert not found["server"].ok
        assert "make room" in found["server"].detail
        assert not found["disk"].ok
        assert [name for name, finding in found.items() if not finding.ok and name not in {"server", "disk"}] == []
        with pytest.raises(ConnectionError, match=r"only \d+ MB are free.*Make room"):
            server.up()

        ballast.unlink()
        with MemoryGraph.connect(server=server) as another:  # which asks for the schema, and hears that nothing works
            assert another.node("kept").name == "Kept"
        assert server.up().running
        assert graph.node("kept").name == "Kept"
        was_kept = caught.value.load_id in {revision.load for revision in graph.revisions()}
        assert was_kept == (graph.query("MATCH (n:Node {namespace: $namespace, id: 'n1'}) RETURN n.id AS id") != [])
        graph.load('Node(node_id="later", name="Later", data="");')
    assert server.status().problem is None


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of another process")
def test_a_database_that_has_given_up_with_room_on_its_disk_is_told_with_the_reason_of_neo4j(
    make_server: Callable[[], EmbeddedServer], give_schema: GiveSchema
) -> None:
    server = give_schema(make_server())
    server.up()
    process = server.find_process()
    assert process is not None
    large = "".join(f'Node(node_id="n{n}", name="N", data="{"x" * 1000}");\n' for n in range(3_000))
    with MemoryGraph.connect(server=server) as graph:
        process.rlimit(psutil.RLIMIT_FSIZE, (2**20, psutil.RLIM_INFINITY))
        with pytest.raises(RestartNeededError, match=r"and says why: File too large\. Mend that") as caught:
            graph.load(large)
    assert caught.value.outcome_unknown
    for said in (str(caught.value), str(server.status().problem)):
        assert "File too large" in said
        assert "disk" not in said
    assert server.up().running, "the limit has gone with the process"


WITHOUT_RIGHTS = [
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
]
"""How root runs a program that may read no more files than any user."""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs files with modes")
@pytest.mark.parametrize("log", ["data/transactions/neo4j/neostore.transaction.db.0", "logs/neo4j.log"])
def test_a_log_that_cannot_be_read_is_named_and_the_next_start_with_the_right_heals_it(
    tmp_path: Path, artifacts: Path, give_schema: GiveSchema, log: str
) -> None:
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("needs a user who may not read everything")
    server = give_schema(EmbeddedServer(tmp_path / "home", artifacts))
    command = [
        *(WITHOUT_RIGHTS if os.geteuid() == 0 else []),
        sys.executable,
        "-c",
        UP,
        str(server.home),
        str(artifacts),
        "0",
    ]
    try:
        file = server.home / log
        file.parent.mkdir(exist_ok=True)
        file.touch(mode=0)
        file.chmod(0)
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
        assert ended.stdout == ""
        assert re.search(rf"{re.escape(str(file))}( cannot be read|: this user may not)", ended.stderr)
        assert "too busy" not in ended.stderr
        assert not server.find().running
        file.chmod(0o600)
        assert server.up().running
    finally:
        server.down()


@pytest.mark.slow
def test_what_is_too_large_for_one_transaction_says_what_helps_and_that_does(
    tmp_path: Path, artifacts: Path, give_schema: GiveSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = settings.SETTINGS.replace("db.memory.transaction.max=600m", "db.memory.transaction.max=24m")
    assert small != settings.SETTINGS
    server = give_schema(EmbeddedServer(tmp_path / "home", artifacts))
    monkeypatch.setattr(settings, "SETTINGS", small)
    server.up()
    try:
        with MemoryGraph.connect(server=server) as graph:
            (tmp_path / "hub.ctx").write_text(
                'Node(node_id="hub", name="Hub", data="");\n'
                + "".join(
                    f'Node(node_id="n{n}", name="N", data="");\n'
                    f'Edge(edge_id="e{n}", from_node="hub", to_node="n{n}", verb="v", weight=0.5);\n'
                    for n in range(HUB_EDGES)
                )
            )
            with pytest.raises(
                TooLargeError, match=r"nothing was changed by it: `load --batch \d+` stores them in parts"
            ):
                graph.load_file(tmp_path / "hub.ctx")
            graph.load_file(tmp_path / "hub.ctx", batch=1000)
            with pytest.raises(TooLargeError, match=r"nothing was changed by it: `delete hub --batch \d+` deletes it"):
                graph.delete("hub")
            assert graph.node("hub").id == "hub"
            report = graph.delete("hub", batch=1000)
            assert (report.nodes_deleted, report.edges_deleted) == (1, HUB_EDGES)
            two = [
                parse("".join(f'Node(node_id="{file}{n}", name="N", data="");' for n in range(8_000)), file=file)
                for file in ("a", "b")
            ]
            assert [try_all(graph, [script])[0].nodes_created for script in two] == [8_000, 8_000]
            for try_both in (try_all, compile_all):
                with pytest.raises(TooLargeError, match=r"b is too large .* together .*: try fewer files at a time"):
                    try_both(graph, two)
            assert graph.broken_invariants() == []
    finally:
        server.down()
