"""Backups: one file that gives the same graph anywhere, and that never costs the graph that is there.

In the whole check a restore and a backup are also killed at each of their steps, and at random moments. Neo4j takes as
long to start as all the rest, so tests go on with the servers of those before them where these left a known graph.
"""

from __future__ import annotations

import json
import os
import pty
import random
import re
import secrets
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import neo4j
import psutil
import pytest
from click.testing import CliRunner

from memorygraph import EmbeddedServer, MemoryGraph
from memorygraph.cli import cli
from memorygraph.cli import server as cli_server
from memorygraph.errors import ConnectionError, NotFoundError
from memorygraph.graph.bundle_imports import CHARACTERS_PER_BATCH, LINES_PER_BATCH
from memorygraph.server import admin_tool, compacting, embedded
from memorygraph.server import backup as backup_module
from memorygraph.server import process as server_process
from memorygraph.server.aot_cache import AotCache
from memorygraph.server.archive import (
    DUMP,
    MANIFEST,
    Archive,
    BackupError,
    Manifest,
    new_file,
    open_archive,
    write_archive,
)
from memorygraph.server.artifacts import read_lock
from memorygraph.server.backup import _NoSteps, _start_with_new_data, backup, compact_graph, holds_graph, restore
from memorygraph.server.embedded import StoppedServer
from memorygraph.server.launch import Launch
from memorygraph.server.server_home import Workspace
from tests.examples import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memorygraph.graph.connection import Connection
    from tests.shared_neo4j import GiveSchema

FLIPS = amount(ordinary=60, whole=400, long=400)
RANDOM_KILLS = amount(ordinary=1, whole=1, long=6)
pytestmark = pytest.mark.usefixtures("quick_java")

PROGRAM = [sys.executable, "-c", "from memorygraph.cli import main; main()"]
BALLAST = 4 * 2**20  # random bytes, which nothing makes shorter

# Restores or backs up, and kills itself when so many steps have begun, or files have been renamed.
KILLED = """
import os, signal, sys
from pathlib import Path
from memorygraph.server.admin_tool import AdminTool
from memorygraph.server.backup import backup, restore
from memorygraph.server.embedded import EmbeddedServer

home, artifacts, file, what, fatal = sys.argv[1:]
events = []
if fatal not in ("in checking the graph", "never"):
    AdminTool.check = lambda *_: None  # it only reads

def happened(event):
    events.append(event)
    print(event, flush=True)
    if event == fatal:
        os.kill(os.getpid(), signal.SIGKILL)

class Steps:
    def begin(self, title):
        self.title, self.is_fresh = title, True
        happened(title)

    def reach(self, share):
        if self.is_fresh:
            self.is_fresh = False
            happened(f"in {self.title}")

rename = Path.rename

def renamed(path, target):
    rename(path, target)
    happened(f"{path.name} to {Path(target).name}")

Path.rename = renamed
work = {"restore": restore, "backup": backup}[what]
work(EmbeddedServer(Path(home), Path(artifacts)), file, overwrite=True, steps=Steps())
"""


def content(server: EmbeddedServer) -> str:
    """Everything in the graph of a running server, and its schema."""
    uri = server.find().bolt_uri
    assert uri
    queries = (
        "MATCH (n) RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS p ORDER BY id",
        "MATCH (a)-[r]->(b) RETURN elementId(r) AS id, elementId(a) AS a, elementId(b) AS b, type(r) AS t, "
        "properties(r) AS p ORDER BY id",
        "SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties RETURN * ORDER BY name",
        "SHOW INDEXES YIELD name, state, type, labelsOrTypes, properties RETURN * ORDER BY name",
    )
    # An id begins with the id of its database, which is another one elsewhere.
    with neo4j.GraphDatabase.driver(uri, auth=("neo4j", server.password())) as driver, driver.session() as session:
        rows = [session.run(query).data() for query in queries]
    for row in rows[0] + rows[1]:
        row.update({key: value.rpartition(":")[2] for key, value in row.items() if key in {"id", "a", "b"}})
    return json.dumps(rows, default=str)


def fill(server: EmbeddedServer) -> None:
    """Store something of every kind, and more than fits on the small disk."""
    with MemoryGraph.connect(server=server, namespace="one") as graph:
        graph.load('Node(node_id="a", name="A", data="ü"); Node(node_id="b", name="B", data="");')
        graph.load('Edge(edge_id="e", from_node="a", to_node="b", verb="v", weight=0.5);')
        graph.load('Node(node_id="a", name="Ä");')
        history = graph.messages("talk")
        history.append({"role": "user", "content": "Hi"})
        history.append({"role": "assistant", "content": "Hello"})
        history[0]["content"] = "Hey"
    uri = str(server.status().bolt_uri)
    with neo4j.GraphDatabase.driver(uri, auth=("neo4j", server.password())) as driver:
        driver.execute_query("CREATE (:Ballast {text: $text})", text=secrets.token_urlsafe(BALLAST))


@pytest.fixture(scope="module")
def server(make_server: Callable[[], EmbeddedServer], give_schema: GiveSchema) -> EmbeddedServer:
    made = give_schema(make_server())
    made.up()
    fill(made)
    return made


@pytest.fixture
def no_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neo4j's check of a graph only reads, and takes as long as a start: some tests are about what comes after it."""
    monkeypatch.setattr(admin_tool.AdminTool, "check", lambda *_: None)


@pytest.fixture(scope="module")
def saved(server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A backup, and what it holds."""
    file = tmp_path_factory.mktemp("backups") / "saved"
    server.up()
    held = content(server)
    backup(server, file)
    return file, held


@pytest.fixture(scope="module")
def other(make_server: Callable[[], EmbeddedServer]) -> EmbeddedServer:
    """Another server, with an empty home at first, whose graph is replaced."""
    return make_server()


def tools_of(server: EmbeddedServer) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
        except psutil.Error:
            continue
        if admin_tool.ADMIN_TOOL_CLASS in command and f"-Dmemorygraph.home={server.home}" in command:
            found.append(process.pid)
    return found


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_backup_gives_the_same_graph_in_an_empty_home(
    server: EmbeddedServer, saved: tuple[Path, str], other: EmbeddedServer
) -> None:
    file, held = saved
    assert content(server) == held, "the server runs again, with its graph"
    assert file.stat().st_mode & 0o077 == 0
    assert server.password().encode() not in file.read_bytes()
    assert sorted(path.name for path in file.parent.iterdir()) == [file.name]

    report = restore(other, file)
    assert content(other) == held
    assert (report.home, report.neo4j) == (str(other.home), read_lock().version)
    assert other.password() != server.password()
    assert not Workspace(other.home).folder.exists()

    # What is there now is replaced only when that is asked for, and only by what is whole.
    with MemoryGraph.connect(server=other, namespace="three") as graph:
        graph.load('Node(node_id="new", name="", data="");')
    changed, process = content(other), server_process.find_server(other.home)
    with pytest.raises(BackupError, match="holds a graph already"):
        restore(other, file)
    damaged = file.with_name("damaged")
    damaged.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(BackupError, match="damaged or not complete"):
        restore(other, damaged, overwrite=True)
    assert server_process.find_server(other.home) == process, "it was not even stopped"
    with pytest.raises(BackupError, match="there already"):
        backup(other, file)
    assert content(other) == changed


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("no_check")
def test_a_full_disk_costs_neither_the_graph_nor_the_server(server: EmbeddedServer, small_disk: Path) -> None:
    server.up()
    held = content(server)
    with pytest.raises(BackupError, match=r"No space left.*Make room"):
        backup(server, small_disk / "full")
    assert list(small_disk.iterdir()) == []
    assert content(server) == held
    assert not Workspace(server.home).folder.exists()


def killed(server: EmbeddedServer, file: Path, what: str, fatal: str) -> int:
    arguments = [str(argument) for argument in (server.home, server.artifacts, file, what, fatal)]
    program = subprocess.run([sys.executable, "-c", KILLED, *arguments], capture_output=True, text=True, check=False)
    assert program.returncode == -signal.SIGKILL, f"never came to {fatal!r}: {program.stdout} {program.stderr}"
    return -program.returncode


def store_former(server: EmbeddedServer, name: str) -> str:
    """Have the server run with a graph that a restore would replace: what it holds."""
    server.up()
    with MemoryGraph.connect(server=server, namespace="former") as graph:
        graph.load(f'Node(node_id="former", name="{name}", data="");')
    return content(server)


def content_after_start(server: EmbeddedServer) -> str:
    """What a server holds that is started after a killed restore, of which nothing may be left or work on."""
    server.up()
    assert tools_of(server) == []
    assert not Workspace(server.home).folder.exists()
    return content(server)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_restore_that_is_killed_anywhere_leaves_the_former_or_the_new_graph(
    saved: tuple[Path, str], other: EmbeddedServer
) -> None:
    file, held = saved
    former = store_former(other, "a")
    process = server_process.find_server(other.home)
    killed(other, file, "restore", "stopping Neo4j, if it runs")
    assert server_process.find_server(other.home) == process, "it was not stopped yet"
    assert content(other) == former
    killed(other, file, "restore", "in loading the graph")
    assert content_after_start(other) == former
    # The next restore begins with what a killed one has left.
    killed(other, file, "restore", "in checking the graph")
    killed(other, file, "restore", "data to former")
    assert content_after_start(other) == former
    killed(other, file, "restore", "data to data")
    assert content_after_start(other) == held


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("no_check")
def test_a_backup_that_is_killed_anywhere_costs_nothing(
    saved: tuple[Path, str], server: EmbeddedServer, tmp_path: Path
) -> None:
    held = saved[1]
    file = tmp_path / "file"
    server.up()
    for fatal in ("in checking the graph", "in writing the backup"):
        killed(server, file, "backup", fatal)
        assert not file.exists()
    backup(server, file)
    server.up()
    assert [path.name for path in tmp_path.iterdir()] == ["file"], "what the killed ones left is gone"
    assert content(server) == held


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_restore_that_is_killed_at_any_moment_leaves_the_former_or_the_new_graph(
    saved: tuple[Path, str], other: EmbeddedServer, run_python: Callable[..., Any]
) -> None:
    file, held = saved
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    outcomes = []
    for number in range(RANDOM_KILLS):
        former = store_former(other, str(number))
        program = run_python(KILLED, other.home, other.artifacts, file, "restore", "never")
        time.sleep(chance.uniform(0.5, 20))
        program.kill()
        program.wait()
        other.up()
        now = content(other)
        assert now in {former, held}, f"seed {seed}"
        outcomes.append("new" if now == held else "former")
    print(f"seed {seed}: {outcomes}")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("no_check")
def test_a_server_that_does_not_come_back_is_told_apart_from_a_backup_that_failed(
    server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.up()

    def fail(*_: object) -> None:
        raise ConnectionError("no memory is left")

    with monkeypatch.context() as patched:
        patched.setattr(Launch, "have_running", fail)
        with pytest.raises(ConnectionError, match=r"is complete, but.*no memory is left"):
            backup(server, tmp_path / "file")
    with open_archive(tmp_path / "file") as (manifest, archive):
        archive.verify(manifest, lambda _share: None)
    assert server.up().running


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_server_that_was_killed_is_recovered_before_its_backup(
    saved: tuple[Path, str], server: EmbeddedServer, other: EmbeddedServer, tmp_path: Path
) -> None:
    held = store_former(other, "more")
    process = server_process.find_server(other.home)
    assert process
    process.kill()
    process.wait(10)
    backup(other, tmp_path / "file")
    assert not other.status().running, "it did not run before"
    assert held != saved[1], "what the other one holds"
    restore(server, tmp_path / "file", overwrite=True)
    assert content(server) == held


# What follows needs no server: an archive, and the folder in which a restore works.


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive of something that is no dump: it is refused before anybody looks at the dump."""
    path = tmp_path / "archive"
    with path.open("w+b") as file:
        write_archive(file, lambda target: target.write(random.Random(1).randbytes(5000)), "2026-11-21T12:00:00+00:00")
    return path


@pytest.fixture
def home(tmp_path: Path, artifacts: Path) -> Iterator[EmbeddedServer]:
    """A home that says it holds a graph, and that must not change."""
    server = EmbeddedServer(tmp_path / "home", artifacts)
    (server.home / "data" / "databases" / "neo4j").mkdir(parents=True)
    yield server
    files = sorted(str(path.relative_to(server.home)) for path in server.home.rglob("*"))
    assert files == ["data", "data/databases", "data/databases/neo4j"]


def dump_of(archive: Archive) -> bytes:
    with archive.dump() as dump:
        return dump.read()


def rewritten(archive: Path, **changes: Any) -> Path:
    """The archive with other things in its manifest."""
    with zipfile.ZipFile(archive) as old:
        manifest, dump = json.loads(old.read(MANIFEST)), old.read(DUMP)
    with zipfile.ZipFile(archive, "w") as new:
        new.writestr(DUMP, dump)
        new.writestr(MANIFEST, json.dumps(manifest | changes))
    return archive


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format_version": 2}, ["version 2 of the format", "reads version 1"]),
        ({"neo4j": "2999.01.0", "memorygraph": "9.9"}, ["Neo4j 2999.01.0", read_lock().version, "memorygraph 9.9"]),
        ({"neo4j": "5.26.1"}, ["Neo4j 5.26.1", read_lock().version]),
        ({"neo4j": "2026.08.2"}, ["Neo4j 2026.08.2"]),
        ({"schema": ["0001_nodes_and_edges", "9999_later"]}, ["9999_later", "up to date"]),
        ({"format": "another"}, ["no backup that"]),
        ({"neo4j": None}, ["no backup that"]),
        ({"dump_bytes": "5000"}, ["no backup that"]),
        ({"dump_sha256": "0" * 64}, ["damaged"]),
        ({"dump_bytes": 4999}, ["damaged"]),
    ],
)
def test_an_archive_of_another_version_or_kind_is_refused_before_anything_is_touched(
    home: EmbeddedServer, archive: Path, changes: dict[str, Any], said: list[str]
) -> None:
    with pytest.raises(BackupError) as caught:
        restore(home, rewritten(archive, **changes), overwrite=True)
    assert all(text in str(caught.value) for text in [*said, "Nothing was changed"])


def test_what_is_no_archive_is_refused(home: EmbeddedServer, archive: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with zipfile.ZipFile(other, "w") as written:
        written.writestr("readme.txt", "hello")
    empty, text = tmp_path / "empty", tmp_path / "text"
    empty.write_bytes(b"")
    text.write_text("Node(…)", "utf-8")
    for path in (other, empty, text):
        with pytest.raises(BackupError, match="no backup that"):
            restore(home, path, overwrite=True)
    with pytest.raises(NotFoundError, match="no file"):
        restore(home, tmp_path / "absent", overwrite=True)
    with pytest.raises(BackupError, match="cannot be read"):
        restore(home, tmp_path, overwrite=True)
    with pytest.raises(BackupError, match="holds a graph already"):
        restore(home, archive)


def test_a_truncated_archive_is_refused(home: EmbeddedServer, archive: Path) -> None:
    whole = archive.read_bytes()
    for length in (len(whole) - 1, len(whole) - 30, len(whole) // 2, 100):
        archive.write_bytes(whole[:length])
        with pytest.raises(BackupError, match="damaged or not complete"):
            restore(home, archive, overwrite=True)


def test_a_flipped_byte_is_found_wherever_it_matters(home: EmbeddedServer, archive: Path) -> None:
    whole = archive.read_bytes()
    with open_archive(archive) as (manifest, opened):
        dump = dump_of(opened)
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    refused = 0
    for _ in range(FLIPS):
        place, bit = chance.randrange(len(whole)), 1 << chance.randrange(8)
        archive.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        try:
            with open_archive(archive) as (found, opened):
                opened.verify(found, lambda _share: None)
                # A date in the archive's own records can be another: what is restored is the same.
                assert (found, dump_of(opened)) == (manifest, dump), f"seed {seed}"
        except BackupError:
            refused += 1
        else:
            continue
        with pytest.raises(BackupError):
            restore(home, archive, overwrite=True)
    print(f"seed {seed}: {refused} of {FLIPS} flips refused")
    assert refused > FLIPS // 2


@pytest.mark.parametrize("trouble", ["changed", "cannot be read"])
def test_an_archive_that_changes_or_fails_after_it_was_verified_is_said_and_is_none_of_the_home(
    home: EmbeddedServer, archive: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    verify = Archive.verify

    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    def verify_and_change(opened: Archive, *given: Any) -> None:
        verify(opened, *given)
        if trouble == "changed":
            with archive.open("r+b") as file:
                file.seek(2000)
                file.write(b"other")
        else:
            monkeypatch.setattr(zipfile.ZipExtFile, "read", fail)

    def load(_tool: object, source: Any, *_: object) -> None:
        while source.read(1000):
            pass

    monkeypatch.setattr(Archive, "verify", verify_and_change)
    monkeypatch.setattr(admin_tool.AdminTool, "load", load)
    said = "is damaged" if trouble == "changed" else "cannot be read: Input/output error"
    with pytest.raises(BackupError, match=f"{archive} {said}"):
        restore(home, archive, overwrite=True)
    for file in home.home.glob("server.lock"):
        file.unlink()


def test_a_failure_of_the_tool_is_not_taken_for_one_of_the_archive(archive: Path) -> None:
    with open_archive(archive) as (_, opened), pytest.raises(BrokenPipeError), opened.dump():
        raise BrokenPipeError


def test_a_manifest_of_any_json_is_refused_as_one() -> None:
    for text in (b"[]", b"{}", b"null", b'{"schema": 1}', b'{"schema": [1]}', b"\xff", b"{", b'"' * 100):
        with pytest.raises((ValueError, TypeError)):
            Manifest.parse(text)


def test_a_file_comes_to_be_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    cut_short = new_file(path, "mark", overwrite=False)
    cut_short.__enter__().write(b"some")
    assert not path.exists()
    assert not cut_short.__exit__(ValueError, ValueError("stop"), None)
    assert list(tmp_path.iterdir()) == []
    with new_file(path, "mark", overwrite=False) as file:
        file.write(b"some")
    assert path.read_bytes() == b"some"
    with pytest.raises(BackupError, match="there already"), new_file(path, "mark", overwrite=False) as file:
        file.write(b"other")
    with new_file(path, "mark", overwrite=True) as file:
        file.write(b"other")
    assert path.read_bytes() == b"other"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_came_to_be_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "file"
    writing = new_file(path, "mark", overwrite=False)
    writing.__enter__().write(b"some")
    path.write_bytes(b"another's")
    with pytest.raises(BackupError, match="there already"):
        writing.__exit__(None, None, None)
    assert path.read_bytes() == b"another's"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_finds_no_room_says_so_and_leaves_nothing(small_disk: Path) -> None:
    path = small_disk / "file"
    with (
        pytest.raises(BackupError, match=r"No space left.*Make room"),
        new_file(path, "mark", overwrite=False) as file,
    ):
        write_archive(file, lambda target: target.write(bytes(BALLAST)), "2026-11-21T12:00:00+00:00")
    assert list(small_disk.iterdir()) == []


@pytest.mark.skipif("os.name == 'nt'", reason="needs pipes that have names")
def test_a_backup_takes_the_place_of_no_device_and_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(BackupError, match="pipe is a device or a pipe: name a file"):
        backup(EmbeddedServer(tmp_path / "home"), pipe, overwrite=True)
    assert pipe.is_fifo()


@pytest.mark.parametrize("appears", ["before", "meanwhile"])
def test_a_backup_is_not_lost_at_a_link_to_nothing(tmp_path: Path, appears: str) -> None:
    link = tmp_path / "saved"
    if appears == "before":
        link.symlink_to(tmp_path / "nothing")
        with pytest.raises(BackupError, match="is there already"):
            backup(EmbeddedServer(tmp_path / "home"), link)
        link.unlink()
    writing = new_file(link, "mark", overwrite=False)
    writing.__enter__().write(b"the graph")
    link.symlink_to(tmp_path / "nothing")
    with pytest.raises(BackupError, match="is there already"):
        writing.__exit__(None, None, None)
    with new_file(link, "mark", overwrite=True) as file:
        file.write(b"the graph")
    assert link.read_bytes() == b"the graph"
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("linked", [False, True], ids=["a folder", "a relative link"])
@pytest.mark.parametrize("lost", range(5))
def test_a_swap_that_is_cut_short_anywhere_leaves_one_whole_graph(
    tmp_path: Path, lost: int, monkeypatch: pytest.MonkeyPatch, *, linked: bool
) -> None:
    home = tmp_path / "home"
    workspace, data = Workspace(home), home / "data"
    if linked:
        home.mkdir()
        data.symlink_to("../large disk")
    former = tmp_path / "large disk" if linked else data
    former.mkdir(parents=True)
    (former / "former").touch()
    rename, renamed = Path.rename, list[Path]()

    def cut_short(path: Path, target: Path) -> Path:
        if len(renamed) == lost:
            raise KeyboardInterrupt
        renamed.append(path)
        return rename(path, target)

    workspace.begin()
    workspace.new_data.mkdir()
    (workspace.new_data / "new").touch()
    monkeypatch.setattr(Path, "rename", cut_short)
    ended = False
    try:
        workspace.swap()
        workspace.swap_back()
        ended = True
    except KeyboardInterrupt:
        pass
    assert ended == (lost == 4)
    monkeypatch.undo()
    Workspace(home).recover()
    # Once the new data had its name, a start that fails puts the former back: here the process ended before that.
    assert [path.name for path in data.iterdir()] == (["new"] if lost == 2 else ["former"])
    assert data.is_symlink() == (linked and lost != 2)
    Workspace(home).clear()
    assert list(home.iterdir()) == [data]
    assert not linked or [path.name for path in former.iterdir()] == ["former"]


def take_over(workspace: Workspace, start: Callable[[], None], stop: Callable[[], bool]) -> None:
    """What a restore does when the new data is ready."""
    with workspace.used():
        workspace.new_data.mkdir()
        (workspace.new_data / "new").touch()
        _start_with_new_data(StoppedServer(ran=False, java=Path(), class_path=[], start=start, stop=stop), workspace)


@pytest.mark.parametrize("had_graph", [True, False])
def test_a_start_that_fails_with_the_new_data_puts_the_former_back(tmp_path: Path, *, had_graph: bool) -> None:
    workspace, data, told = Workspace(tmp_path), tmp_path / "data", list[str]()
    if had_graph:
        data.mkdir()
        (data / "former").touch()

    def fail() -> None:
        told.extend(path.name for path in data.iterdir())
        raise ConnectionError("no memory is left")

    def stop() -> bool:
        told.append("stop")
        return True

    with pytest.raises(ConnectionError, match=r"was taken back, and the home holds what it held before: no memory"):
        take_over(workspace, fail, stop)
    assert told == ["new", "stop"]
    assert [path.name for path in tmp_path.rglob("*")] == (["data", "former"] if had_graph else [])


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("second", range(8))
def test_a_restore_that_is_interrupted_twice_leaves_the_former_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: int, when: str
) -> None:
    workspace, data, rename, told = Workspace(tmp_path), tmp_path / "data", Path.rename, list[str]()

    def interrupting(name: str, work: Callable[..., Any] = lambda: True) -> Callable[..., Any]:
        def done(*given: Any) -> Any:
            told.append(name)
            is_second = len(told) == second + 1
            if is_second and when == "before":
                raise KeyboardInterrupt
            result = work(*given)
            if is_second or name == "start":
                raise KeyboardInterrupt
            return result

        return done

    data.mkdir()
    (data / "former").touch()
    workspace.begin()
    monkeypatch.setattr(Path, "rename", interrupting("rename", rename))
    monkeypatch.setattr(workspace, "begin", lambda: None)
    with pytest.raises(KeyboardInterrupt):
        take_over(workspace, interrupting("start"), interrupting("stop"))
    monkeypatch.undo()
    Workspace(tmp_path).recover()  # as the start does that follows
    Workspace(tmp_path).clear()
    assert [path.name for path in tmp_path.rglob("*")] == ["data", "former"], told


def test_an_interrupt_after_a_good_start_does_not_take_the_new_data_away(tmp_path: Path) -> None:
    workspace, data = Workspace(tmp_path), tmp_path / "data"
    data.mkdir()

    def start() -> None:
        workspace.clear()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_over(workspace, start, lambda: True)
    assert [path.name for path in tmp_path.rglob("*")] == ["data", "new"]


def test_nothing_to_back_up_is_said_and_makes_no_home(tmp_path: Path, artifacts: Path) -> None:
    server = EmbeddedServer(tmp_path / "home", artifacts)
    with pytest.raises(BackupError, match="nothing to back up"):
        backup(server, tmp_path / "file")
    with pytest.raises(BackupError, match="no folder"):
        backup(server, tmp_path / "absent" / "file")
    with pytest.raises(BackupError, match="is a folder"):
        backup(server, tmp_path)
    assert list(tmp_path.iterdir()) == []


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=100, check=False, **options)


@pytest.mark.slow
def test_the_commands_are_for_the_embedded_server_only(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (["--uri", "bolt://127.0.0.1:1", "backup"], ["--uri", "bolt://127.0.0.1:1", "restore"]):
        answer = run(*arguments, str(archive), "--json")
        assert answer.returncode == 1
        assert "embedded" in json.loads(answer.stdout)["errors"][0]["message"]
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    assert run("restore", str(archive)).returncode == 1


@pytest.mark.parametrize("arguments", [("browser",), ("browser", "world", "--no-open"), ("backup", "f")])
def test_a_command_for_the_embedded_server_is_refused_where_another_one_is_named(arguments: tuple[str, ...]) -> None:
    answer = CliRunner().invoke(cli, arguments, env={"NEO4J_URI": "bolt://127.0.0.1:1"})
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert "NEO4J_URI or --uri names another server: " in answer.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "said"), [("n", "the answer was no"), ("y", "damaged")])
def test_a_restore_asks_before_it_replaces_a_graph(
    home: EmbeddedServer, archive: Path, monkeypatch: pytest.MonkeyPatch, answer: str, said: str
) -> None:
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(home.home))
    monkeypatch.delenv("NEO4J_URI", raising=False)
    refused = run("restore", str(archive), stdin=subprocess.DEVNULL)
    assert refused.returncode == 1
    assert "--force" in refused.stderr
    terminal, inside = pty.openpty()
    try:
        os.write(terminal, f"{answer}\n".encode())
        asked = run("restore", str(rewritten(archive, dump_sha256="0" * 64)), stdin=inside)
    finally:
        os.close(terminal)
        os.close(inside)
    assert asked.returncode == 1
    assert "Replace it" in asked.stderr
    assert said in asked.stderr
    assert "Traceback" not in asked.stderr


@pytest.mark.slow
def test_a_tool_that_fails_says_why(tmp_path: Path, artifacts: Path) -> None:
    from memorygraph.server.java import java_executable

    folder = tmp_path / "maintenance"
    folder.mkdir()
    class_path = read_lock().class_path(artifacts)
    tool = admin_tool.AdminTool(java_executable(), class_path, tmp_path, folder)

    class Steps:
        def begin(self, title: str) -> None: ...

        def reach(self, share: float) -> None: ...

    with (tmp_path / "dump").open("w+b") as file:
        file.write(b"no dump")
        file.seek(0)
        with pytest.raises(ConnectionError, match=r"database load.*failed \(exit code 1\)"):
            tool.load(file, "maintenance/data", Steps())


TIMES = """{
  bc: date('-0043-03-15'), dates: [date('0000-01-01'), date('+123456-01-01')],
  local: localdatetime('-0043-03-15T10:11:12.5'), locals: [localdatetime('2026-11-21T12:00')],
  old: datetime('1800-01-01T00:00[Europe/Berlin]'),
  late: datetime('+12000-01-01T00:00Z'), zones: [datetime('2026-11-21T12:00Z'), datetime('2026-11-21T12:00[UTC]')],
  again: datetime('2020-10-25T02:30+01:00[Europe/Berlin]'), time: time('10:00+00:00:05'), clock: localtime('10:00'),
  times: [time('10:00Z'), time('10:00+01:30')], took: duration('P1M2DT3S'), none: []
}"""


@pytest.fixture(scope="module")
def forgetful(make_server: Callable[[], EmbeddedServer], give_schema: GiveSchema) -> EmbeddedServer:
    """A server that runs, of whose graph a half was forgotten."""
    server = give_schema(make_server())
    text = "and more than Neo4j keeps beside a name, so that it lies in its file of texts " * 3
    with MemoryGraph.connect(server=server) as graph:
        for word in ("goner", "keeper"):
            for number in range(10):
                graph.load(f'Node(node_id="{word}{number}", name="{word}{number}", data="{word}{number} {text}");')
                graph.messages(word).append({"role": "user", "content": f"{word}{number} {text}"})
        for number in range(10):
            graph.forget(f"goner{number}")
        graph.forget_conversation("goner")
        graph.query(f"CREATE (event:Event {TIMES})-[:AT {TIMES}]->(event)", write=True)
    return server


MORE = 'Node(node_id="c", name="C", data=""); Edge(edge_id="e", from_node="keeper0", to_node="c", verb="v", weight=1);'


# Backs up, and kills itself while the graph is copied.
KILLED_COPYING = """
import os, signal, sys
from pathlib import Path
from memorygraph.server import admin_tool, compacting
from memorygraph.server.backup import backup
from memorygraph.server.embedded import EmbeddedServer

admin_tool.AdminTool.check = lambda *_: None
compacting.copy_relationships = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
backup(EmbeddedServer(Path(sys.argv[1]), Path(sys.argv[2])), sys.argv[3])
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_backup_that_is_killed_while_it_copies_the_graph_costs_nothing(
    forgetful: EmbeddedServer, tmp_path: Path
) -> None:
    forgetful.up()
    found = forgetful.find()
    command = [
        sys.executable,
        "-c",
        KILLED_COPYING,
        str(forgetful.home),
        str(forgetful.artifacts),
        str(tmp_path / "not"),
    ]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    homes = (Workspace(forgetful.home).source_home, Workspace(forgetful.home).copy_home)
    assert None not in [server_process.find_server(home) for home in homes]
    with MemoryGraph.connect(server=forgetful) as graph:
        graph.load(MORE)
        assert graph.edge("e").to_node == "c"
    assert forgetful.find() == found
    assert [server_process.find_server(home) for home in homes] == [None, None]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_backup_after_forgetting_holds_nothing_of_it_and_all_that_was_kept(
    forgetful: EmbeddedServer,
    make_server: Callable[[], EmbeddedServer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other, file, copy_nodes = make_server(), tmp_path / "file", compacting.copy_nodes
    with MemoryGraph.connect(server=forgetful) as graph:
        kept, times = elements(graph), graph.query(ALL_TIMES)
        assert len(times) == 2 * len(re.findall(r"\w+: ", TIMES))
        indexes = graph.query("SHOW INDEXES YIELD name, type, state RETURN * ORDER BY name")
        process = server_process.find_server(forgetful.home)
        assert process is not None
        process.kill()
        process.wait()
        assert count_in_files(forgetful, b"goner") > 0  # Neo4j has deleted it, and not overwritten it

        def copy_while_a_client_writes(*connections: Connection) -> dict[str, str]:
            ends = copy_nodes(*connections)
            monkeypatch.setattr("memorygraph.graph.connection.RETRY_SECONDS", 0)
            with pytest.raises(ConnectionError, match="is it running"):
                graph.load(MORE)
            assert not forgetful.find().running
            return ends

        monkeypatch.setattr(compacting, "copy_nodes", copy_while_a_client_writes)
        backup(forgetful, file)
        monkeypatch.undo()
    monkeypatch.setattr(admin_tool.AdminTool, "check", lambda *_: None)  # the copy was checked when it was made
    restore(other, file)
    with MemoryGraph.connect(server=other) as graph:
        assert elements(graph) == kept
        assert graph.query(ALL_TIMES) == times
        assert graph.query("SHOW INDEXES YIELD name, type, state RETURN * ORDER BY name") == indexes
        assert graph.search("keeper7")[0].id == "keeper7"
        assert "keeper7" in str(graph.recall("keeper7"))
    other.down()
    assert count_in_files(other, b"keeper") >= 20
    assert count_in_files(other, b"goner") == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a shell stands for the tool")
@pytest.mark.parametrize("name", ["", "maintenance/copy"])
def test_a_tool_whose_caller_was_killed_ends_with_what_else_that_has_left(tmp_path: Path, name: str) -> None:
    home = tmp_path.resolve()
    Workspace(home).copy_home.mkdir(parents=True)
    tool = [admin_tool.ADMIN_TOOL_CLASS, admin_tool.home_argument(home / name)]
    pipe = subprocess.PIPE
    with subprocess.Popen(["/bin/sh", "-c", "echo; read end", *tool], stdin=pipe, stdout=pipe) as process:
        try:
            assert process.stdout
            process.stdout.readline()  # it has become this program
            EmbeddedServer(home).down()
            assert process.poll() is not None
        finally:
            process.kill()


# The driver has no objects for some of them.
ALL_TIMES = """
MATCH (event:Event)-[at:AT]->(event)
UNWIND [event, at] AS element
UNWIND keys(element) AS key
WITH key, element[key] AS value, valueType(element[key]) AS type
RETURN key, type, CASE WHEN type STARTS WITH 'LIST' THEN toStringList(value) ELSE [toString(value)] END AS texts
ORDER BY key
"""


def elements(graph: MemoryGraph) -> list[dict[str, Any]]:
    """Every other node and relationship of a graph, without the mark that tells of what was forgotten."""
    rows = graph.query(
        "MATCH (n) WHERE NOT n:Event RETURN labels(n) AS what, properties(n) AS p, {} AS start, {} AS end "
        "UNION ALL MATCH (a)-[r]->(b) WHERE NOT r:AT RETURN [type(r)] AS what, properties(r) AS p, "
        "properties(a) AS start, properties(b) AS end"
    )
    for row in rows:
        # A copy has its properties and labels in another order.
        row.update({key: sorted_without_mark(row[key]) for key in ("p", "start", "end")}, what=sorted(row["what"]))
    return sorted(rows, key=str)


def sorted_without_mark(properties: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted((key, value) for key, value in properties.items() if key != "files"))


def count_in_files(server: EmbeddedServer, word: bytes) -> int:
    """How often a word stands in the files of the data of a stopped server."""
    files = [path for path in (server.home / "data").rglob("*") if path.is_file()]
    return sum(path.read_bytes().count(word) for path in files)


@pytest.mark.parametrize("place", ["data", "maintenance/former"])
def test_a_restore_replaces_no_link_to_the_graph(tmp_path: Path, artifacts: Path, archive: Path, place: str) -> None:
    server = EmbeddedServer(tmp_path / "linked", artifacts)
    link = server.home / place
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "large disk")
    with pytest.raises(BackupError, match=r"is a link to .*large disk.* Nothing was changed"):
        restore(server, archive, overwrite=True)
    assert link.is_symlink()


def test_a_page_that_is_copied_ends_at_long_texts_as_well() -> None:
    def rows(*values: Any) -> Iterator[dict[str, Any]]:
        return ({"properties": [["text", value]]} for value in values)

    half = "x" * (CHARACTERS_PER_BATCH // 2)
    texts = [half, half, "short", [half, half], b"short"]
    assert [len(page) for page in compacting.rows_per_transaction(rows(*texts))] == [2, 2, 1]
    short = ["short"] * (LINES_PER_BATCH + 1)
    assert [len(page) for page in compacting.rows_per_transaction(rows(*short))] == [len(short) - 1, 1]
    assert [*compacting.rows_per_transaction(rows())] == []


def test_down_ends_what_a_killed_backup_or_restore_has_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = EmbeddedServer(tmp_path / "home")
    workspace = Workspace(server.home)
    workspace.former_data.mkdir(parents=True)
    left = [workspace.copy_home, workspace.source_home]
    monkeypatch.setattr(server_process, "find_server", lambda home: home if home in left else None)
    monkeypatch.setattr(server_process, "kill", left.remove)
    assert not server.down()
    assert left == []
    assert (server.home / "data").is_dir()


@pytest.mark.parametrize("interrupted", [True, False])
def test_the_servers_of_a_copy_that_is_interrupted_end_before_their_folder_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, interrupted: bool
) -> None:
    workspace, told = Workspace(tmp_path), list[Path]()
    left = [workspace.copy_home, workspace.source_home]

    def kill(home: Path) -> None:
        told.append(home)
        if len(told) == 1 and interrupted:
            raise KeyboardInterrupt
        assert workspace.folder.exists()
        left.remove(home)

    monkeypatch.setattr(server_process, "find_server", lambda home: home if home in left else None)
    monkeypatch.setattr(server_process, "kill", kill)
    with pytest.raises(KeyboardInterrupt), workspace.used():
        raise KeyboardInterrupt
    assert left == []
    assert interrupted or not workspace.folder.exists()


def test_nothing_is_prepared_for_clients_behind_the_start_of_servers_that_copy(
    tmp_path: Path, artifacts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, workspace, begun = EmbeddedServer(tmp_path, artifacts), Workspace(tmp_path), list[str]()
    stopped = StoppedServer(ran=False, java=tmp_path, class_path=[], start=lambda: None, stop=lambda: True)
    server.password_file.write_text("a password", "utf-8")
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(Launch, "run", lambda launch, *_: begun.append(launch.files.folder.name))
    monkeypatch.setattr(Launch, "warm_later", lambda _: begun.append("warming"))
    monkeypatch.setattr(AotCache, "build_later", lambda _: begun.append("start cache"))
    monkeypatch.setattr(backup_module, "copy_graph", lambda *_: begun.append("copying"))
    monkeypatch.setattr(admin_tool.AdminTool, "check", lambda *_: None)
    for found in (tmp_path, None):
        monkeypatch.setattr(AotCache, "find", lambda _, found=found: found)
        with workspace.used():
            compact_graph(server, stopped, workspace, _NoSteps())
    assert begun == ["source", "copy", "copying"] * 2


def test_a_place_that_cannot_be_looked_at_is_named(
    tmp_path: Path, artifacts: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, look = tmp_path / "closed", os.stat

    def refuse(path: Any, *arguments: Any, **options: Any) -> os.stat_result:
        if str(path).startswith(f"{closed}/"):
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", refuse)
    with pytest.raises(BackupError, match=r"closed/file cannot be written: Permission denied"):
        backup(EmbeddedServer(tmp_path / "home", artifacts), closed / "file")
    server = EmbeddedServer(tmp_path / "home", artifacts)
    monkeypatch.setattr(server, "home", closed / "home")
    for work in (
        holds_graph,
        lambda server: backup(server, tmp_path / "file"),
        lambda server: restore(server, archive),
    ):
        with pytest.raises(ConnectionError, match=r"closed/home.*Permission denied.*MEMORYGRAPH_HOME"):
            work(server)


def test_a_name_that_begins_with_a_tilde_and_no_user_is_an_ordinary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMORYGRAPH_HOME", "~nobody of this name/home")
    server = EmbeddedServer()
    assert server.home == tmp_path / "~nobody of this name" / "home"
    assert EmbeddedServer(Path("~old home")).home == tmp_path / "~old home"
    with pytest.raises(BackupError, match="nothing to back up"):
        backup(server, "~old.backup")
    with pytest.raises(NotFoundError, match=r"no file .*/~old\.backup"):
        restore(server, "~old.backup")


@pytest.mark.parametrize("interrupted", [True, False])
def test_an_interrupt_while_neo4j_is_stopped_starts_it_again(
    tmp_path: Path, artifacts: Path, monkeypatch: pytest.MonkeyPatch, *, interrupted: bool
) -> None:
    told: list[str] = []

    def stop(_: object) -> bool:
        told.append("stop")
        if told == ["stop"] and interrupted:
            raise KeyboardInterrupt
        return True

    monkeypatch.setattr(embedded, "stop_server", stop)
    monkeypatch.setattr(Launch, "have_running", lambda *_: told.append("start"))
    server = EmbeddedServer(tmp_path / "home", artifacts)
    monkeypatch.setattr(server, "lives", lambda: True)
    with suppress(KeyboardInterrupt), server.kept_stopped():
        told.append("work")
    assert told == (["stop", "stop", "start"] if interrupted else ["stop", "work", "start"])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("command", ["backup", "restore"])
def test_a_stopped_backup_or_restore_starts_neo4j_again_and_says_what_is_there(
    tmp_path: Path, artifacts: Path, monkeypatch: pytest.MonkeyPatch, command: str, number: int, code: int
) -> None:
    told: list[str] = []

    def stop(_: object) -> bool:
        if not told:
            signal.raise_signal(number)
        told.append("stop")
        if number == signal.SIGTERM:
            signal.raise_signal(number)  # as `timeout` does: to the process, then to its group
        return True

    server = EmbeddedServer(tmp_path / "home", artifacts)
    (server.home / "data" / "databases" / "neo4j").mkdir(parents=True)
    monkeypatch.setattr(embedded, "stop_server", stop)
    monkeypatch.setattr(Launch, "have_running", lambda *_: told.append("start"))
    monkeypatch.setattr(server, "lives", lambda: "start" in told or not told)
    monkeypatch.setattr(cli_server, "embedded_server", lambda: server)
    monkeypatch.delenv("NEO4J_URI", raising=False)
    file = tmp_path / "file"
    if command == "restore":
        with new_file(file, "mark", overwrite=False) as archive:
            write_archive(archive, lambda target: target.write(b"dump"), "2026-11-21T12:00:00+00:00")
    stopped = CliRunner().invoke(cli, [command, "--force", str(file)])
    said = {"backup": f"{file} is not written", "restore": "the former graph stays"}[command]
    assert (stopped.exit_code, told[-1], said in stopped.stderr) == (code, "start", True), stopped.stderr
    assert "Neo4j runs" in stopped.stderr


@pytest.mark.slow
def test_a_backup_that_sigterm_stops_leaves_neo4j_running(server: EmbeddedServer, tmp_path: Path) -> None:
    server.up()
    environment = os.environ | {"MEMORYGRAPH_HOME": str(server.home)}
    environment.pop("NEO4J_URI", None)
    (server.home / server.artifacts.name).symlink_to(server.artifacts)
    program = [*PROGRAM, "backup", str(tmp_path / "file")]
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        while "checking the graph" not in process.stderr.readline():
            assert process.poll() is None
        process.terminate()
        said = process.stderr.read()
    assert (process.returncode, server.status().running) == (143, True), said
    assert said.endswith("file is not written; Neo4j runs\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["/proc", "full"])
def test_a_place_that_cannot_be_written_is_found_before_neo4j_is_stopped(
    tmp_path: Path, artifacts: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, place: str
) -> None:
    folder = Path(place)
    if place == "full":
        folder = request.getfixturevalue("small_disk")
        with suppress(OSError):
            (folder / "ballast").write_bytes(bytes(BALLAST))
    server = EmbeddedServer(tmp_path / "home", artifacts)
    (server.home / "data" / "databases" / "neo4j").mkdir(parents=True)
    monkeypatch.setattr(server, "kept_stopped", lambda: pytest.fail("Neo4j is stopped"))
    with pytest.raises(BackupError, match=r"file cannot be written.*name another place"):
        backup(server, folder / "file")
    assert place != "full" or [path.name for path in folder.iterdir()] == ["ballast"]
