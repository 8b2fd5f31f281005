"""The Neo4j that starts by itself: Neo4j Community as a process of its own, kept in one folder.

The server of a home outlives the process that started it. Whoever needs it calls `up`; a file
lock sees to it that any number of callers ends with one server. Nothing that is killed, the
server or a caller, needs repair by hand: the next `up` mends it, and never at the cost of data.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import os
import secrets
import shutil
import stat
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memorygraph.errors import ConnectionError, LoginError, MemoryGraphError
from memorygraph.home import default_home, write_private
from memorygraph.server import log as server_log
from memorygraph.server import process as server_process
from memorygraph.server.aot_cache import AotCache
from memorygraph.server.artifacts import read_lock
from memorygraph.server.installation import install
from memorygraph.server.java import java_executable
from memorygraph.server.settings import (
    HOST,
    USERNAME,
    Endpoints,
    first_password_record,
    jvm_arguments,
)
from memorygraph.server.workspace import StoppedServer, Workspace, started_at_the_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psutil

    from memorygraph.server.artifacts import DownloadProgress

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 90.0
PORT_RACES = 3
# On a full disk Neo4j does not end but waits for room, and so would whoever waits for Neo4j.
ROOM_TO_START = 64 * 2**20
# By SIGKILL and SIGTERM: what the server was started with is not to blame.
ENDED_FROM_OUTSIDE = (-9, -15)
# Neo4j's own code for a start that failed. A JVM that does not even come to run Neo4j has it too.
ENDED_BY_NEO4J = 1


@dataclass(frozen=True)
class ServerStatus:
    """Where the embedded server is. The addresses are None while it does not run."""

    running: bool
    bolt_uri: str | None
    browser_url: str | None
    username: str
    password_file: str
    home: str
    version: str


class EmbeddedServer:
    """The embedded server of one home, whether it runs or not.

    `home` holds the data, the configuration, the logs and the password (default: MEMORYGRAPH_HOME,
    else the platform's folder for user data); `artifacts` holds Neo4j's own files, and may be
    shared by several homes.
    """

    def __init__(self, home: Path | None = None, artifacts: Path | None = None) -> None:
        self.home = (home or default_home()).expanduser().resolve()
        self.artifacts = (artifacts or self.home / f"neo4j-{read_lock().version}").resolve()
        self.password_file = self.home / "password"
        self.logs = self.home / "logs"
        self._configuration = self.home / "conf" / "neo4j.conf"
        self._process_limit_s: int | None = None

    def status(self) -> ServerStatus:
        """Say where the server is; it runs when its process lives and answers."""
        with self._explained():
            endpoints = Endpoints.read(self._configuration)
            process = server_process.find(self.home) if endpoints else None
        running = bool(endpoints and process and server_process.is_alive(process) and _answers(process, endpoints))
        return ServerStatus(
            running=running,
            bolt_uri=endpoints.bolt_uri if endpoints and running else None,
            browser_url=endpoints.browser_url if endpoints and running else None,
            username=USERNAME,
            password_file=str(self.password_file),
            home=str(self.home),
            version=endpoints.version if endpoints and running else read_lock().version,
        )

    def up(self, progress: DownloadProgress | None = None, timeout_s: float = START_TIMEOUT_S) -> ServerStatus:
        """Have the server running: download it if needed, start it if needed, wait until it answers.

        Raises:
            ConnectionError: it cannot be started; the message says why and what to do.
            DownloadError: its files cannot be had.
        """
        status = self.status()
        if status.running:
            return status
        with self._explained():
            java = java_executable()
            self._make_home()
            class_path = install(self.artifacts, progress)
            with self._alone(timeout_s + STOP_TIMEOUT_S):
                self._have_running(java, class_path, timeout_s)
        return self.status()

    def down(self) -> bool:
        """Stop the server and wait until it has stopped; False when there was none."""
        with self._explained():
            if not self.home.exists():
                return False
            with self._alone(START_TIMEOUT_S + STOP_TIMEOUT_S):
                return self._stop()

    @contextmanager
    def kept_stopped(self, progress: DownloadProgress | None = None) -> Iterator[StoppedServer]:
        """Stop the server, and keep every other process from starting it until the end of the block.

        At the end it is started again if it ran before, also when the block has failed. `progress` is told of the
        download of Neo4j, where it is not there yet.

        Raises:
            ConnectionError: it cannot be stopped, or started again.
            DownloadError: its files cannot be had.
        """
        with self._explained():
            java = java_executable()
            self._make_home()
            class_path = install(self.artifacts, progress)
            with self._alone(START_TIMEOUT_S + STOP_TIMEOUT_S):
                start = partial(self._have_running, java, class_path, START_TIMEOUT_S)
                stopped = StoppedServer(self._stop(), java, class_path, start, self._stop)
                with started_at_the_end(stopped):
                    yield stopped

    def check(self) -> None:
        """Log in to the running server.

        Raises:
            ConnectionError: it does not take connections, or not with the password of this home.
        """
        with self._explained():
            endpoints = Endpoints.read(self._configuration)
            if endpoints is None:
                raise ConnectionError("the embedded Neo4j was never started: run `memorygraph up`")
            self._log_in(endpoints)

    def password(self) -> str:
        """Read the password of the user `neo4j`."""
        with self._explained():
            try:
                return self.password_file.read_text("utf-8").strip()
            except FileNotFoundError:
                raise ConnectionError(f"there is no password file {self.password_file}: run `memorygraph up`") from None

    def _stop(self) -> bool:
        process = server_process.find(self.home)
        if process is None or not server_process.is_alive(process):
            return False
        server_process.stop(process, STOP_TIMEOUT_S)
        return True

    def _have_running(self, java: Path, class_path: list[Path], timeout_s: float) -> None:
        until = time.monotonic() + timeout_s
        endpoints = Endpoints.read(self._configuration)
        if self._is_found_answering(endpoints, until):
            return
        workspace = Workspace(self.home)
        workspace.recover()
        self._prepare_password()
        for races_left in reversed(range(PORT_RACES)):
            try:
                self._start(java, class_path, endpoints, until)
            except _PortTakenError:
                if not races_left:
                    raise
            else:
                workspace.clear()
                return

    def _is_found_answering(self, endpoints: Endpoints | None, until: float) -> bool:
        """Wait for a server that another process started, and was perhaps killed before it answered."""
        process = server_process.find(self.home)
        if process is None or not server_process.is_alive(process):
            return False
        if endpoints is None:
            # Somebody removed its configuration, so nobody can say where it listens.
            server_process.stop(process, STOP_TIMEOUT_S)
            return False
        try:
            self._await_answer(process, endpoints, until)
        except _NotAnsweringError as error:
            if server_process.is_alive(process):
                raise ConnectionError(f"{error}: end it with `memorygraph down`, then try again") from error
            return False
        return True

    def _start(self, java: Path, class_path: list[Path], former: Endpoints | None, until: float) -> None:
        bolt, http_port = server_process.choose_ports((former.bolt, former.http) if former else None)
        endpoints = Endpoints(bolt, http_port, read_lock().version)
        self.logs.mkdir(mode=0o700, exist_ok=True)
        self._write_configuration(endpoints)
        cache = AotCache.of(java, self.artifacts, class_path)
        options = self._cache_options(cache)
        try:
            self._run(java, jvm_arguments(class_path, self.logs, options), endpoints, until)
        except _KilledError:
            self._run(java, jvm_arguments(class_path, self.logs, options), endpoints, until)
        except _EndedError:
            if not options:
                raise
            self._run(java, jvm_arguments(class_path, self.logs), endpoints, until)
            cache.refuse("the JVM did not start with it, and did without it")
        if not options:
            cache.build_later()

    def _run(self, java: Path, arguments: str, endpoints: Endpoints, until: float) -> None:
        """Start the JVM, and wait until the server answers; a JVM that does not come to that is ended."""
        write_private(self.home / "conf" / "jvm.args", arguments)
        log_before = server_log.size_before(self.logs)
        process = server_process.start(java, self.home, self.logs / "console.log", self._process_limit_s)
        try:
            self._await_answer(process, endpoints, until)
        except _NotAnsweringError as error:
            # Before it is stopped, because that would be an end too.
            has_ended = not server_process.is_alive(process)
            server_process.stop(process, patience_s=10)
            line = server_log.telling_line(self.logs, log_before)
            has_spoken = server_log.size_before(self.logs) > log_before
            kind = _kind_of_end(line, has_spoken, server_process.exit_code(process)) if has_ended else ConnectionError
            raise kind(f"{error}: {line}. Run `memorygraph doctor`; the logs are in {self.logs}.") from error
        except BaseException:
            server_process.stop(process, patience_s=10)
            raise

    def _write_configuration(self, endpoints: Endpoints) -> None:
        write_private(self._configuration, endpoints.configuration())

    def _cache_options(self, cache: AotCache) -> list[str]:
        """Give the JVM options of a start that is to be quick."""
        return cache.options()

    def _await_answer(self, process: psutil.Process, endpoints: Endpoints, until: float) -> None:
        import memorygraph.graph.connection  # noqa: F401 - takes a while, and now the server does too

        while not _answers(process, endpoints):
            if not server_process.is_alive(process):
                raise _NotAnsweringError("Neo4j ended while it was starting")
            if time.monotonic() > until:
                raise _NotAnsweringError("Neo4j does not answer in time")
            time.sleep(0.05)
        self._log_in(endpoints)

    def _log_in(self, endpoints: Endpoints) -> None:
        from memorygraph.graph.connection import Connection

        auth = (USERNAME, self.password())
        try:
            Connection(endpoints.bolt_uri, auth).close()
        except LoginError as error:
            raise ConnectionError(
                f"the embedded Neo4j refuses the password in {self.password_file}. "
                "If it was changed in Neo4j, write the new one into that file."
            ) from error
        except MemoryGraphError as error:
            raise _NotAnsweringError("Neo4j does not take connections") from error

    def _prepare_password(self) -> None:
        """See to a password before the first start; every step can be cut short and done again."""
        has_started_before = (self.home / "data" / "databases" / "system").exists()
        if not self.password_file.exists():
            if has_started_before:
                raise ConnectionError(
                    f"{self.home / 'data'} holds a graph, but its password file {self.password_file} is "
                    "lost. Put the password back into that file, or move the data folder away to begin "
                    "an empty graph."
                )
            write_private(self.password_file, secrets.token_urlsafe(24))
        self.password_file.chmod(0o600)
        if not has_started_before:
            write_private(self.home / "data" / "dbms" / "auth.ini", first_password_record(self.password()))

    def _make_home(self) -> None:
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if sys.platform != "win32":
            owner = self.home.stat().st_uid
            if owner != os.geteuid():
                raise ConnectionError(
                    f"{self.home} belongs to another user (number {owner}). "
                    "Name a folder of your own with MEMORYGRAPH_HOME."
                )
        if stat.S_IMODE(self.home.stat().st_mode) & 0o077:
            self.home.chmod(0o700)
        if (free := shutil.disk_usage(self.home).free) < ROOM_TO_START:
            raise OSError(errno.ENOSPC, f"only {free // 2**20} MB are free", str(self.home))

    @contextmanager
    def _alone(self, timeout_s: float) -> Iterator[None]:
        """Keep every other process from starting or stopping the server of this home, and from its files."""
        from filelock import FileLock, Timeout

        try:
            with FileLock(self.home / "server.lock", timeout=timeout_s):
                yield
        except Timeout as error:
            raise ConnectionError(
                f"another process has been starting, stopping, saving or restoring the server of {self.home} for "
                "too long. Wait for its end or end it, then try again."
            ) from error

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what the operating system refuses into an error that says what to do."""
        try:
            yield
        except OSError as error:
            place = error.filename or self.home
            raise ConnectionError(
                f"the embedded Neo4j cannot use {place}: {error.strerror or error}. "
                "Make room or set the rights, or name another folder with MEMORYGRAPH_HOME."
            ) from error


class _NotAnsweringError(ConnectionError):
    """The server has ended, or does not take connections."""


class _EndedError(ConnectionError):
    """The JVM ended before Neo4j could say why."""


class _KilledError(ConnectionError):
    """The JVM was ended from outside while it was starting."""


class _PortTakenError(ConnectionError):
    """Another program took a port between the choice and the start."""


def _kind_of_end(telling_line: str, has_spoken: bool, exit_code: int | None) -> type[ConnectionError]:  # noqa: FBT001 - private
    if "already in use" in telling_line:
        return _PortTakenError
    if exit_code in ENDED_FROM_OUTSIDE:
        return _KilledError
    return ConnectionError if has_spoken and exit_code == ENDED_BY_NEO4J else _EndedError


def _answers(process: psutil.Process, endpoints: Endpoints) -> bool:
    """Say whether this very server answers: HTTP comes last, and its greeting names the Bolt port.

    The greeting alone says too little: it may be that of another server which took both ports first.
    """
    connection = http.client.HTTPConnection(HOST, endpoints.http, timeout=5)
    not_neo4j = (OSError, http.client.HTTPException, ValueError, KeyError, TypeError)
    with contextlib.closing(connection), contextlib.suppress(*not_neo4j):
        connection.request("GET", "/", headers={"Accept": "application/json"})
        greeting = json.loads(connection.getresponse().read(100_000))
        named = greeting["bolt_direct"] == endpoints.bolt_uri
        return named and all(server_process.listens(process, port) for port in (endpoints.bolt, endpoints.http))
    return False
