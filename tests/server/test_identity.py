"""Who is the server: only a process of this user, in a home of this user, that proves itself before a login is sent."""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import neo4j
import pytest

from memorygraph import MemoryGraph
from memorygraph.errors import ConnectionError
from memorygraph.graph.connection import Connection
from memorygraph.home import is_own_home, own_folder
from memorygraph.messages.spool import Spool
from memorygraph.runtime.convo.journal import Journal
from memorygraph.server import admin_tool, launch, settings
from memorygraph.server import process as server_process
from memorygraph.server.backup import backup
from memorygraph.server.certificate import make_certificate
from memorygraph.server.doctor import examine
from memorygraph.server.embedded import EmbeddedServer
from memorygraph.server.server_home import ServerHome
from tests.shared_neo4j import GiveSchema

PAGE = Path(__file__).parents[2] / "docs" / "server.md"

pytestmark = pytest.mark.usefixtures("quick_java")

OTHER_USER = 12345
BOLT_5_4 = bytes((0, 0, 4, 5))  # with it the login follows the first message at once
TLS_HANDSHAKE = b"\x16"
NO_TLS = b"HTTP/1.1 400 Bad Request\r\n\r\n"

needs_root = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs the rights of another user")


@contextmanager
def impostor(port: int, context: ssl.SSLContext | None = None) -> Iterator[bytearray]:
    """Take a port as another user's program could, speak Bolt there, and record every byte that is meant for it."""
    received = bytearray()
    listening = socket.create_server(("127.0.0.1", port))
    listening.settimeout(0.1)
    ended = threading.Event()

    def record(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.settimeout(5)
            if context is not None:
                connection = context.wrap_socket(connection, server_side=True)
            received.extend(connection.recv(20))
            connection.sendall(NO_TLS if received[:1] == TLS_HANDSHAKE else BOLT_5_4)
            while data := connection.recv(4096):
                received.extend(data)

    def serve() -> None:
        with listening:
            while not ended.is_set():
                with suppress(TimeoutError):
                    record(listening.accept()[0])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield received
    finally:
        ended.set()
        thread.join()


def context_of(folder: Path) -> ssl.SSLContext:
    """A certificate for 127.0.0.1 that is as good as the server's, and another one."""
    key, certificate = make_certificate()
    (folder / "key").write_text(key, "utf-8")
    (folder / "certificate").write_text(certificate, "utf-8")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate", folder / "key")
    return context


def port_of(uri: str | None) -> int:
    assert uri
    return int(uri.rpartition(":")[2])


@pytest.fixture(scope="module")
def server(make_server: Callable[[], EmbeddedServer], give_schema: GiveSchema) -> EmbeddedServer:
    return give_schema(make_server())


@pytest.mark.slow
def test_a_client_sends_no_login_to_a_program_that_took_the_port(server: EmbeddedServer, tmp_path: Path) -> None:
    port = port_of(server.up().bolt_uri)
    with MemoryGraph.connect(server=server) as graph:
        assert graph.query("RETURN 1 AS one") == [{"one": 1}]
        server.down()
        for context in (None, context_of(tmp_path)):
            with impostor(port, context) as received:
                with pytest.raises(ConnectionError, match=r"(?s)did not prove.*memorygraph up"):
                    graph.query("RETURN 1 AS one")
                with pytest.raises(ConnectionError):
                    server.check()
            assert b"basic" not in received
            assert server.password().encode() not in received
            if context:
                assert not received, "not even a greeting is sent"
            else:
                assert received[:1] == TLS_HANDSHAKE

        # The client goes on when the server is back.
        assert port_of(server.up().bolt_uri) == port
        assert graph.query("RETURN 1 AS one") == [{"one": 1}]


def test_another_home_has_another_certificate_and_both_are_private(tmp_path: Path) -> None:
    first, second = (ServerHome(tmp_path / name) for name in ("first", "second"))
    for home in (first, second):
        home.prepare_certificate()
        assert {stat.S_IMODE(path.stat().st_mode) for path in home.certificate_file.parent.iterdir()} == {0o600}
    assert first.certificate_file.read_bytes() != second.certificate_file.read_bytes()
    with pytest.raises(ssl.SSLError):
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(first.certificate_file, second.private_key_file)

    kept = first.certificate_file.read_bytes()
    first.prepare_certificate()
    assert first.certificate_file.read_bytes() == kept, "open clients know it"


@pytest.mark.parametrize("lost", ["certificate_file", "private_key_file"])
def test_half_an_identity_is_made_anew(tmp_path: Path, lost: str) -> None:
    home = ServerHome(tmp_path)
    home.prepare_certificate()
    getattr(home, lost).unlink()
    home.prepare_certificate()
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(home.certificate_file, home.private_key_file)


@pytest.mark.slow
def test_other_drivers_can_trust_the_certificate_and_no_other(server: EmbeddedServer, tmp_path: Path) -> None:
    status = server.up()
    assert status.bolt_uri
    auth = (status.username, server.password())
    [example] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {"neo4j": neo4j, "bolt_uri": status.bolt_uri, "password": auth[1]}
    names["certificate_file"] = status.certificate_file
    exec(compile(example, "server.md", "exec"), names)
    with names["driver"] as driver:
        driver.verify_connectivity()
    with neo4j.GraphDatabase.driver(status.bolt_uri, auth=auth) as driver:
        driver.verify_connectivity()

    other = ServerHome(tmp_path)
    other.prepare_certificate()
    with pytest.raises(ConnectionError, match="did not prove"):
        Connection(status.bolt_uri, auth, certificate=other.certificate_file)
    with pytest.raises(ConnectionError, match=r"did not prove.*NEO4J_URI"):
        Connection(status.bolt_uri.replace("bolt://", "bolt+s://"), auth)


@pytest.mark.slow
def test_a_server_that_cannot_prove_itself_is_started_anew(
    make_server: Callable[[], EmbeddedServer], give_schema: GiveSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = give_schema(make_server())
    with monkeypatch.context() as earlier:
        # As the versions before the certificate did.
        lines = [line for line in settings.SETTINGS.splitlines() if "tls_level" not in line and ".ssl." not in line]
        earlier.setattr(settings, "SETTINGS", "\n".join(lines))
        earlier.setattr(launch, "log_in", lambda *_: None)
        server.up()
    before = server_process.find_server(server.home)
    assert before
    assert not server.status().running
    former = ServerHome(server.home).endpoints
    assert server.up().running
    assert not before.is_running()
    assert ServerHome(server.home).endpoints == former, "at the same ports"
    with MemoryGraph.connect(server=server) as graph:
        assert graph.query("RETURN 1 AS one") == [{"one": 1}]


@needs_root
def test_a_process_of_another_user_is_not_the_server(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    commands = [
        [server_process.MAIN_CLASS, f"--home-dir={home}"],
        [admin_tool.ADMIN_TOOL_CLASS, admin_tool.home_argument(home)],
    ]
    waiting = ["/bin/sh", "-c", "echo; read end"]
    for user in (OTHER_USER, os.geteuid()):
        for command in commands:
            pipe = subprocess.PIPE
            with subprocess.Popen([*waiting, *command], user=user, cwd="/", stdin=pipe, stdout=pipe) as process:
                try:
                    assert process.stdout
                    process.stdout.readline()  # it has become this program, and this user's
                    (home / server_process.PID_FILE).write_text(str(process.pid), "ascii")
                    was_stopped = launch.stop_server(ServerHome(home))
                    admin_tool.end_all(home)
                    is_own = user == os.geteuid()
                    assert was_stopped == (is_own and command is commands[0])
                    assert (process.poll() is not None) == is_own
                finally:
                    process.kill()


def foreign_home(tmp_path: Path) -> EmbeddedServer:
    """A home that another user has prepared, with a password that this user may read."""
    server = EmbeddedServer(tmp_path / "home")
    (server.home / "conf").mkdir(parents=True)
    ServerHome(server.home).configure(settings.Endpoints(7687, 7474, "2026.08.1"))
    server.password_file.write_text("of somebody else", "utf-8")
    return server


DOORS: dict[str, Callable[[EmbeddedServer], object]] = {
    "status": EmbeddedServer.status,
    "up": EmbeddedServer.up,
    "down": EmbeddedServer.down,
    "check": EmbeddedServer.check,
    "password": EmbeddedServer.password,
    "connect": lambda server: MemoryGraph.connect(server=server),
    "backup": lambda server: backup(server, server.home.with_name("backup")),
}


@needs_root
@pytest.mark.parametrize("door", DOORS)
def test_nothing_is_read_in_the_home_of_another_user(tmp_path: Path, door: str) -> None:
    server = foreign_home(tmp_path)
    os.chown(server.home, OTHER_USER, OTHER_USER)
    opened: list[str] = []
    note = opened.append
    sys.addaudithook(lambda event, given: note(str(given[0])) if event == "open" else None)
    with pytest.raises(ConnectionError, match=r"belongs to another user.*MEMORYGRAPH_HOME"):
        DOORS[door](server)
    assert [path for path in opened if path.startswith(str(server.home))] == []
    note = lambda _: None  # noqa: E731 - a hook stays for good


@needs_root
@pytest.mark.parametrize("folder", ["neo4j", "neo4j.aot"])
def test_programs_of_another_user_are_not_run(tmp_path: Path, folder: str) -> None:
    foreign = tmp_path / folder
    foreign.mkdir()
    os.chown(foreign, OTHER_USER, OTHER_USER)
    with pytest.raises(ConnectionError, match=rf"{folder} belongs to another user"):
        EmbeddedServer(tmp_path / "home", tmp_path / "neo4j").up()


@needs_root
@pytest.mark.parametrize("keep", [lambda: Journal("run"), lambda: Spool("namespace")])
def test_no_journal_and_no_record_is_kept_in_the_home_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: Callable[[], object]
) -> None:
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path))
    os.chown(tmp_path, OTHER_USER, OTHER_USER)
    with pytest.raises(ConnectionError, match="belongs to another user"):
        keep()


def test_a_home_that_this_user_may_not_look_at_says_to_name_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **options: bool) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path))
    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(ConnectionError, match=r"cannot be looked at: Permission denied.*MEMORYGRAPH_HOME"):
        own_folder("records")
    assert not is_own_home()


@needs_root
def test_the_doctor_looks_at_nothing_in_the_home_of_another_user(tmp_path: Path) -> None:
    server = foreign_home(tmp_path)
    os.chown(server.home, OTHER_USER, OTHER_USER)
    wrong = [finding for finding in examine(server) if not finding.ok]
    assert [finding.name for finding in wrong] == ["home"]
    assert "belongs to another user" in wrong[0].detail


@needs_root
def test_the_doctor_says_whose_a_home_is_that_this_user_cannot_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = foreign_home(tmp_path)
    os.chown(server.home, OTHER_USER, OTHER_USER)
    exists = Path.exists

    def refuse(path: Path, **options: bool) -> bool:
        if server.home in path.parents:  # what only its owner may do
            raise PermissionError(errno.EACCES, "Permission denied")
        return exists(path, **options)

    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(Path, "exists", refuse)
    [wrong] = [finding for finding in examine(server) if not finding.ok]
    assert "belongs to another user" in wrong.detail
    assert "Name a folder of your own with MEMORYGRAPH_HOME" in wrong.detail


@needs_root
@pytest.mark.parametrize("planted", ["password_file", "private_key_file", "certificate_file"])
def test_a_secret_that_another_user_has_put_into_the_home_is_refused(tmp_path: Path, planted: str) -> None:
    home = ServerHome(tmp_path)
    home.prepare_certificate()
    home.password_file.write_text("a password", "utf-8")
    os.chown(getattr(home, planted), OTHER_USER, OTHER_USER)
    with pytest.raises(ConnectionError, match="belongs to another user"):
        EmbeddedServer(tmp_path).status()


@pytest.mark.skipif(sys.platform == "win32", reason="rights are kept otherwise there")
def test_a_home_that_every_user_can_write_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(ConnectionError, match=r"every user can write.*chmod o-w"):
        EmbeddedServer(tmp_path).up()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777
    tmp_path.chmod(0o755)
    assert not EmbeddedServer(tmp_path).status().running
