"""Ctrl-C, as a terminal sends it: a command says what was stored, and how to go on. The exit code is 130."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorygraph import MemoryGraph
from memorygraph.cli import cli, load, output
from memorygraph.cli.trace import TraceOutput
from memorygraph.errors import ConnectionError, find_interrupt
from memorygraph.graph.connection import Connection
from memorygraph.query import Query
from memorygraph.scripted.replies import Request
from tests.cli.test_commands import document, here, memorygraph
from tests.examples import mostly_slow
from tests.runtime.convo.model import scripted

pytestmark = [
    pytest.mark.usefixtures("environment"),
    pytest.mark.skipif(sys.platform == "win32", reason="a terminal of Windows sends no signal"),
]

GRAPH = "@to b\n> node a\n> user\nFirst\n> node b\n> user\nSecond\n> nodeEnd\n> user\nx\n> goto a"
AGENT = """
import llm M from "openai://m"
main agent A {
  model M role "R" description "D"
  main func(input) {
    a = generate({ input: "First" }) { return { text string } }
    return generate({ input: "Second" }) { return { text string } }
  }
}
"""


def interrupt(process: subprocess.Popen[str]) -> None:
    """Send an interrupt, and another where the process has not ended after 10 s.

    A signal that comes between Python's last look for signals and a read is seen after that read only. A process that
    a busy machine delays is not to be stopped twice.
    """
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
            return


def stop(*arguments: str, when: Callable[[], object]) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, and send it an interrupt as soon as `when` is true."""
    command = [sys.executable, "-m", "memorygraph", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not when():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
            time.sleep(0.01)
        interrupt(process)
        stdout, stderr = process.communicate(timeout=60)
    assert "Traceback" not in stderr, stderr
    assert "Aborted" not in stderr
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


@contextmanager
def locked(connection: Connection, namespace: str) -> Iterator[None]:
    """Hold the write lock of a namespace, so that each write waits."""
    with connection._driver.session() as session, session.begin_transaction() as transaction:
        transaction.run("MERGE (n:Namespace {name: $name}) SET n.held = true", name=namespace).consume()
        yield
        transaction.rollback()


def waiting(connection: Connection, namespace: str) -> Callable[[], bool]:
    """Whether a query of another client, in this namespace, waits for a lock."""
    text = (
        "SHOW TRANSACTIONS YIELD status, parameters "
        "WHERE status STARTS WITH 'Blocked' AND parameters.namespace = $namespace RETURN count(*) AS waiting"
    )
    query = Query(text, {"namespace": namespace})
    return lambda: connection.read(query)[0]["waiting"] > 0


def await_waiting(graph: MemoryGraph, work: Future[Any]) -> None:
    """Wait until some work waits for a lock in this namespace, or is done."""
    is_blocked = waiting(graph.connection, graph.namespace)
    while not (is_blocked() or work.done()):
        time.sleep(0.01)


def nodes(first: int, last: int) -> str:
    return "\n".join(f'Node(node_id="n{i}", name="N{i}", data="");' for i in range(first, last))


def test_load_stopped_by_ctrl_c_says_what_was_stored_and_how_to_go_on(
    tmp_path: Path, connection: Connection, environment: str
) -> None:
    (tmp_path / "one.ctx").write_text(nodes(0, 1))
    (tmp_path / "two.ctx").write_text(nodes(1, 2))
    document("load", str(tmp_path / "one.ctx"))
    with locked(connection, environment):
        stopped = stop(
            "load", str(tmp_path / "two.ctx"), str(tmp_path / "one.ctx"), when=waiting(connection, environment)
        )
    assert (stopped.returncode, stopped.stdout) == (130, "")
    assert stopped.stderr.strip().splitlines()[-1] == (
        f"memorygraph: stopped: nothing of {tmp_path}/two.ctx is stored, nor of 1 file after it; "
        "run the same command again: what is stored already stays as it is"
    )
    assert [n["id"] for n in document("query", "MATCH (n:Node {namespace: $namespace}) RETURN n.id AS id")] == ["n0"]


@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_evaluate_that_is_stopped_leaves_nothing_behind_and_says_so(
    graph: MemoryGraph, environment: str, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def stored() -> set[str]:
        return {space.name for space in graph.namespaces() if space.name.startswith("evaluate-")}

    made = []

    def stop(_bar: output.Bar, _questions: int) -> None:  # when the first question is answered
        made.append(stored() - before)
        os.kill(os.getpid(), number)

    monkeypatch.setattr(output.Bar, "advance", stop)
    before = stored()
    stopped = here("evaluate", str(Path(__file__).parents[1] / "memory" / "conversations"))
    assert (stopped.returncode, stopped.stdout) == (128 + number, "")
    assert "stopped: nothing was printed; run the same command again" in stopped.stderr
    assert len(made) == 1
    assert made[0]
    assert stored() == before


@pytest.mark.slow
def test_load_in_batches_stopped_by_ctrl_c_goes_on_from_there(
    tmp_path: Path, connection: Connection, environment: str
) -> None:
    path = tmp_path / "many.ctx"
    path.write_text(nodes(0, 4000))
    graph = MemoryGraph(connection, environment)
    stopped = stop("load", str(path), "--batch", "10", when=lambda: len(graph.revisions(30)) == 30)
    assert stopped.returncode == 130
    found = re.search(
        r"the batches up to statement (\d+) are stored; run the same command again to go on", stopped.stderr
    )
    assert found is not None, stopped.stderr
    report = document("load", str(path), "--batch", "1000")
    assert int(found[1]) <= report["resumed_after"] <= int(found[1]) + 10
    assert report["resumed_after"] + report["nodes_created"] == 4000


@pytest.mark.parametrize("answer", mostly_slow(["n\n", None, ""], ordinary=1))
@pytest.mark.parametrize("arguments", mostly_slow([("namespaces", "drop", "{}"), ("purge",)], ordinary=1))
def test_a_question_that_is_not_answered_with_yes_changes_nothing_and_says_so(
    connection: Connection, environment: str, arguments: tuple[str, ...], answer: str | None
) -> None:
    graph = MemoryGraph(connection, environment)
    graph.load(nodes(0, 1))
    graph.load('Node(node_id="n0", name="Other");')
    command = [sys.executable, "-m", "memorygraph", *(each.format(environment) for each in arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        asked = ""
        while not asked.endswith("[y/N]: "):
            assert process.poll() is None, asked
            asked += process.stderr.read(1)
        if answer is None:
            interrupt(process)
        else:
            process.stdin.write(answer)
            process.stdin.close()
        assert process.wait(timeout=60) == (130 if answer is None else 1)
        said = process.stderr.read()
    assert "Aborted" not in said
    how = "the answer was no" if answer == "n\n" else "stopped at a question"
    assert f"{how}: nothing was done, and nothing has changed" in said
    assert ("run the same command again" in said) == (answer != "n\n")
    assert (graph.node("n0").name, len(graph.history("n0"))) == ("Other", 2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "nothing was printed, and nothing has changed; run the same command again"),
        (
            ("--format", "bundle", "--output", "x"),
            "nothing was done, and nothing has changed; run the same command again",
        ),
    ],
)
def test_export_stopped_by_ctrl_c_while_it_connects_says_that_nothing_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as silent, ExitStack() as clients:
        monkeypatch.setenv("NEO4J_URI", f"bolt://127.0.0.1:{silent.getsockname()[1]}")
        silent.settimeout(0.01)

        def has_client() -> bool:
            """Whether a client has connected, which now waits for an answer."""
            with suppress(TimeoutError):
                clients.enter_context(silent.accept()[0])
                return True
            return False

        stopped = stop("export", *options, when=has_client)
    assert (stopped.returncode, stopped.stdout) == (130, "")
    assert f"stopped: {said}" in stopped.stderr


@pytest.mark.slow
def test_export_stopped_by_ctrl_c_while_it_prints_says_that_the_rest_is_missing(
    connection: Connection, environment: str
) -> None:
    MemoryGraph(connection, environment).load(nodes(0, 5000))
    command = [sys.executable, "-m", "memorygraph", "export"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(10) == b"Node(node_"  # and no more: the pipe is full
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"stopped: what was printed is cut off: throw it away, and run the same command again" in stderr


@pytest.mark.slow
def test_import_of_a_bundle_stopped_by_ctrl_c_goes_on_from_there(
    tmp_path: Path, connection: Connection, environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = MemoryGraph(connection, environment)
    graph.load(nodes(0, 3000))
    graph.export_bundle(tmp_path / "bundle")
    monkeypatch.setenv("MEMORYGRAPH_NAMESPACE", copy := f"{environment}-copy")
    with locked(connection, copy):
        arguments = ("import", "--format", "bundle", str(tmp_path / "bundle"))
        stopped = stop(*arguments, when=waiting(connection, copy))
    assert (stopped.returncode, stopped.stdout) == (130, "")
    assert "what was imported by then is stored; run the same command again to go on" in stopped.stderr
    assert document(*arguments)["nodes"] == 3002  # with the namespace, and the record of its load


def test_export_of_a_bundle_into_a_file_says_whether_it_went_on_or_began_again(
    tmp_path: Path, connection: Connection, environment: str
) -> None:
    graph = MemoryGraph(connection, environment)
    graph.load(nodes(0, 3))
    arguments = ("export", "--format", "bundle", "--output", str(tmp_path / "bundle"))
    assert memorygraph(*arguments).stderr == f"exported 5 nodes, 0 relationships to {tmp_path / 'bundle'}\n"
    bundle = (tmp_path / "bundle").read_bytes()
    partial = tmp_path / "bundle.partial"
    partial.write_bytes(bundle[:-100])
    assert memorygraph(*arguments).stderr.endswith("bundle; 5 lines were written before\n")
    assert (tmp_path / "bundle").read_bytes() == bundle
    partial.write_bytes(bundle[:-100])
    graph.load(nodes(3, 4))
    report = document(*arguments)
    assert (report["resumed_after"], report["began_again"]) == (0, "the namespace has changed since")
    partial.write_bytes(bundle[:-100])
    assert memorygraph(*arguments).stderr.endswith("bundle; begun again: the namespace has changed since\n")


@pytest.mark.parametrize("arguments", [("--output", "x"), ("--format", "bundle", "--json")])
def test_an_export_refuses_options_that_do_not_go_together(arguments: tuple[str, ...]) -> None:
    assert memorygraph("export", *arguments).returncode == 2


@pytest.mark.slow
def test_export_of_a_bundle_stopped_by_ctrl_c_goes_on_from_there(
    tmp_path: Path, connection: Connection, environment: str
) -> None:
    graph = MemoryGraph(connection, environment)
    graph.load(nodes(0, 3000))
    arguments = ("export", "--format", "bundle", "--output", str(tmp_path / "bundle"))
    partial = tmp_path / "bundle.partial"
    stopped = stop(*arguments, when=lambda: partial.exists() and partial.stat().st_size)
    assert (stopped.returncode, stopped.stdout) == (130, "")
    assert f"what was read by then is in {partial}; run the same command again to go on" in stopped.stderr
    report = document(*arguments)
    assert 0 < report["resumed_after"] <= report["nodes"] == 3002
    assert (tmp_path / "bundle").read_text("utf-8") == graph.export("bundle")


@contextmanager
def second_call_hangs(answer: str) -> Iterator[threading.Event]:
    """A model that answers once, and then lets its caller wait; the event is set when it does."""
    asked, end = threading.Event(), threading.Event()

    def reply(request: Request) -> str:
        if "Second" in json.dumps(request.json):
            asked.set()
            end.wait(60)
        return answer

    with scripted(reply):
        try:
            yield asked
        finally:
            end.set()


@pytest.mark.slow
def test_run_of_a_node_graph_stopped_by_ctrl_c_goes_on_without_asking_again(tmp_path: Path) -> None:
    path = str(tmp_path / "two.convo")
    Path(path).write_text(GRAPH)
    with second_call_hangs("one") as asked:
        stopped = stop("run", path, when=asked.is_set)
    assert (stopped.returncode, stopped.stdout) == (130, "")
    found = re.search(
        r"run (\w+) of .*two.convo is stored, with 1 node that it has completed.*--resume (\w+)", stopped.stderr
    )
    assert found is not None, stopped.stderr
    assert found[1] == found[2]
    [kept] = document("runs", "list")
    assert (kept["id"], kept["status"]) == (found[1], "stopped")
    with scripted(["two"]) as model:
        assert document("run", path, "--resume", found[1])["value"] == "two"
        assert len(model.requests) == 1
    [done] = document("runs", "list")
    assert (done["id"], done["status"]) == (found[1], "done")
    assert done["ended_at"] > kept["ended_at"]


@pytest.mark.slow
def test_run_of_agentscript_stopped_by_ctrl_c_says_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "two.as").write_text(AGENT)
    with second_call_hangs('{"text": "one"}') as asked:
        stopped = stop("run", str(tmp_path / "two.as"), "--json", when=asked.is_set)
    assert stopped.returncode == 130
    printed = json.loads(stopped.stdout)
    [error] = printed["errors"]
    assert error["code"] == "interrupted"
    run = re.search(r"run (\w+) of .*two.as is stored, with 1 generation that it has completed", error["message"])
    assert run is not None, error
    assert printed["run"] == run[1]
    [kept] = document(
        "query",
        "MATCH (r:Run {namespace: $namespace}) RETURN r.id AS id, r.status AS status, r.error AS error",
    )
    assert kept == {"id": run[1], "status": "stopped", "error": "the user has stopped it"}


def has_reader(pipe: Path) -> bool:
    """Whether a process waits for what is written into a pipe."""
    with suppress(OSError):
        writers.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    return bool(writers)


writers: list[int] = []


def test_run_stopped_by_ctrl_c_while_it_reads_its_program_says_that_nothing_is_stored(tmp_path: Path) -> None:
    pipe = tmp_path / "slow.as"
    os.mkfifo(pipe)
    stopped = stop("run", str(pipe), when=partial(has_reader, pipe))
    os.close(writers.pop())
    assert (stopped.returncode, stopped.stdout) == (130, "")
    assert f"stopped: the run of {pipe} had not begun, and nothing is stored; run the same command" in stopped.stderr


_STOPPED_IMPORT = """
import sys
from memorygraph.__main__ import start_command_line
class Stopped:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt
class Finder:
    def find_spec(self, name, *_):
        if name == "memorygraph.cli":
            {}
sys.meta_path.insert(0, Finder())
start_command_line()
"""


@pytest.mark.parametrize("work", ["exec('raise KeyboardInterrupt')", "type('Made', (), {'name': Stopped()})"])
def test_ctrl_c_while_a_class_is_made_is_no_other_error_and_ends_with_its_exit_code(tmp_path: Path, work: str) -> None:
    (tmp_path / "stopped_import.py").write_text(_STOPPED_IMPORT.format(work))
    command = [sys.executable, "-m", "stopped_import"]  # of a file or a text, Python itself does not end by the signal
    stopped = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (stopped.returncode, stopped.stderr) == (
        130,
        "memorygraph: stopped: nothing was done; run the same command again\n",
    )


@pytest.mark.parametrize("module", ["memorygraph", "click.core", "memorygraph.cli"])
@pytest.mark.parametrize("arguments", [["load", "one.ctx"], ["run", "one.as"], ["export"]], ids=lambda words: words[0])
def test_a_command_stopped_by_ctrl_c_while_its_modules_are_imported_says_that_nothing_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], module: str
) -> None:
    (tmp_path / "one.ctx").write_text(nodes(0, 1))
    (tmp_path / "one.as").write_text(AGENT)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("NEO4J_URI", f"bolt://127.0.0.1:{silent.getsockname()[1]}")
        command = [sys.executable, "-X", "importtime", "-m", "memorygraph", *arguments]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            assert any(line.split("|")[-1].strip() == module for line in lines)
            assert "import time" in next(lines)
            with ThreadPoolExecutor(1) as beside:  # what is written is read meanwhile: a pipe holds little
                beside.submit(interrupt, process)
                said = [line for line in lines if not line.startswith("import time")]
            assert process.wait(60) == 130
    [last] = said
    assert re.search(r"stopped: .*nothing .*; run the same command again", last)


@pytest.mark.parametrize(("option", "said"), [((), "is stored (revision 1)"), (("--dry-run",), "it was a dry run")])
@pytest.mark.parametrize(("owner", "name"), [(load, "print_report"), (MemoryGraph, "close")], ids=["a", "b"])
def test_a_load_that_is_stopped_after_it_does_not_say_that_nothing_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...], said: str, owner: object, name: str
) -> None:
    interrupt_once(monkeypatch, owner, name)
    file = tmp_path / "one.ctx"
    file.write_text(nodes(0, 1))
    done = CliRunner().invoke(cli, ["load", *option, str(file)])
    assert (done.exit_code, said in done.stderr) == (130, True), done.stderr


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (ConnectionError("Neo4j is gone"), 3)], ids=["stopped", "lost"]
)
def test_a_load_that_ends_between_two_files_says_that_the_first_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    ask, asked = MemoryGraph.revisions, 0

    def end_at_the_second(graph: MemoryGraph, limit: int) -> object:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise error
        return ask(graph, limit)

    monkeypatch.setattr(MemoryGraph, "revisions", end_at_the_second)
    files = [tmp_path / "one.ctx", tmp_path / "two.ctx"]
    for number, file in enumerate(files):
        file.write_text(nodes(number, number + 1))
    done = CliRunner().invoke(cli, ["load", *map(str, files), "--json"])
    said = "nothing of {two} is stored" if code == 130 else "{one} is stored (revision 1), nothing of {two} is stored"
    assert done.exit_code == code
    assert said.format(one=files[0], two=files[1]) in done.stderr
    if code == 3:
        assert [each["file"] for each in json.loads(done.stdout)["stored"]] == [str(files[0])]


def test_a_load_that_is_stopped_as_its_bar_ends_says_that_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def stopped_at_its_end(_: str) -> Iterator[output.Bar]:
        with progress_bar("") as bar:
            yield bar
        raise KeyboardInterrupt

    progress_bar = output.progress_bar
    monkeypatch.setattr(output, "progress_bar", stopped_at_its_end)
    file = tmp_path / "one.ctx"
    file.write_text(nodes(0, 1))
    done = CliRunner().invoke(cli, ["load", str(file)])
    assert (done.exit_code, f"stopped: {file} is stored" in done.stderr) == (130, True), done.output


@pytest.fixture(params=["server-memory", "basic-memory"])
def importing(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, ...]:
    """A command that imports a memory."""
    file = tmp_path / "memory.jsonl"
    file.write_text('{"type": "entity", "name": "Ada", "entityType": "person", "observations": ["writes"]}')
    if request.param == "basic-memory":
        (tmp_path / "notes").mkdir()
        file = tmp_path / "notes"
        (file / "ada.md").write_text("---\ntitle: Ada\n---\nShe writes.")
    return "import", "--format", request.param, str(file)


@pytest.mark.parametrize("ends", ["before", "after"])
def test_an_import_that_is_stopped_says_whether_it_is_stored(
    importing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    def import_and_stop(graph: MemoryGraph, *arguments: str) -> None:
        if ends == "after":
            import_memory(graph, *arguments)
        raise KeyboardInterrupt

    import_memory = MemoryGraph.import_memory
    monkeypatch.setattr(MemoryGraph, "import_memory", import_and_stop)
    stopped = CliRunner().invoke(cli, importing)
    said = {"before": "nothing of it is stored; run the same command again", "after": "it is stored"}[ends]
    assert (stopped.exit_code, stopped.stderr) == (130, f"memorygraph: stopped: {said}\n")


def test_an_import_that_is_stopped_while_it_is_printed_says_that_it_is_stored(
    importing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(output, "print_done", stopped)
    said = [CliRunner().invoke(cli, importing).stderr for _ in range(2)]
    assert said == [f"memorygraph: stopped: {it}\n" for it in ("it is stored (revision 1)", "it was stored already")]


def test_an_error_that_is_its_own_cause_is_no_interrupt() -> None:
    error = ValueError("of itself")
    error.__cause__ = error
    assert find_interrupt(error) is None


def interrupt_once(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    """Have a function, when it is called first, do its work and then be stopped by Ctrl-C."""
    work = getattr(owner, name)

    def work_and_stop(*arguments: object, **options: object) -> object:
        monkeypatch.setattr(owner, name, work)
        work(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, work_and_stop)


CREATE = ("query", "--write", "CREATE (n:Ghost {namespace: $namespace}) RETURN 1 AS one")


@pytest.mark.parametrize(
    ("owner", "name", "option"),
    [
        (output, "print_table", ()),
        (output, "print_text", ("--json",)),
        (MemoryGraph, "close", ()),
        (MemoryGraph, "close", ("--json",)),
    ],
)
def test_a_query_that_is_stopped_after_it_has_written_says_that_it_has_run(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, option: tuple[str, ...]
) -> None:
    interrupt_once(monkeypatch, owner, name)
    stopped = CliRunner().invoke(cli, [*CREATE, *option])
    counted = "1 label added, 1 node created, 1 property set\n" if name == "close" else ""  # said after the rows
    said = f"{counted}memorygraph: stopped: the query has run, and what it wrote is stored\n"
    assert (stopped.exit_code, stopped.stderr) == (130, said)


@pytest.mark.parametrize("arguments", [CREATE, ("delete", "n0")], ids=lambda words: words[0])
def test_a_change_that_is_stopped_while_it_is_made_is_not_said_to_have_changed_nothing(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    memorygraph("load", "-", stdin=nodes(0, 1))
    interrupt_once(monkeypatch, MemoryGraph, arguments[0])
    stopped = CliRunner().invoke(cli, arguments)
    assert (stopped.exit_code, stopped.stderr) == (130, "memorygraph: stopped: what was stored by then stays\n")


@pytest.mark.parametrize(
    ("owner", "name"), [(MemoryGraph, "close"), (TraceOutput, "write"), (output, "print_text")], ids=["a", "b", "c"]
)
def test_a_run_that_is_stopped_after_its_end_says_that_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    (tmp_path / "one.as").write_text("main agent A { main func(input) { return 1 } }")
    interrupt_once(monkeypatch, owner, name)
    stopped = CliRunner().invoke(cli, ["run", str(tmp_path / "one.as"), "--trace", str(tmp_path / "trace.json")])
    [run] = document("runs", "list")
    said = f"stopped: run {run['id']} of {tmp_path}/one.as has ended, and is stored; `runs show {run['id']}` shows it"
    assert (stopped.exit_code, run["status"], said in stopped.stderr) == (130, "done", True), stopped.stderr


@pytest.mark.parametrize(("owner", "name"), [(output, "print_done"), (MemoryGraph, "close")], ids=["a", "b"])
def test_an_export_that_is_stopped_after_its_bundle_is_written_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    bundle = tmp_path / "bundle"
    interrupt_once(monkeypatch, owner, name)
    stopped = CliRunner().invoke(cli, ["export", "--format", "bundle", "--output", str(bundle)])
    assert (stopped.exit_code, bundle.exists()) == (130, True)
    assert stopped.stderr.endswith(f"memorygraph: stopped: {bundle} is written\n")


def test_an_export_that_is_stopped_after_it_was_printed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    memorygraph("load", "-", stdin=nodes(0, 1))
    interrupt_once(monkeypatch, MemoryGraph, "close")
    stopped = CliRunner().invoke(cli, ["export"])
    assert (stopped.exit_code, "n0" in stopped.stdout) == (130, True)
    assert stopped.stderr == "memorygraph: stopped: all of it is printed\n"
