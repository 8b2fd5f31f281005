"""Starts the server of a home, waits until it answers, and finds in its logs why it did not."""

from __future__ import annotations

import contextlib
import http.client
import re
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from memorygraph.errors import (
    ConnectionError,
    DatabaseUnavailableError,
    LoginError,
    MemoryGraphError,
    RestartNeededError,
)
from memorygraph.home import write_private
from memorygraph.json_text import parse_json
from memorygraph.library import CYPHER
from memorygraph.server import process as server_process
from memorygraph.server.aot_cache import AotCache, is_switched_on
from memorygraph.server.artifacts import DownloadProgress, read_lock
from memorygraph.server.installation import install
from memorygraph.server.server_home import ServerHome, Workspace
from memorygraph.server.settings import HOST, USERNAME, Endpoints, jvm_arguments

WARMING = "MEMORYGRAPH_WARMING"
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 90.0
RECOVERY_PATIENCE_S = 300.0  # without a word in the log: one large transaction can take more than two minutes
RECOVERY_LOOK_S = 2.0
PROBE_SECONDS = 5.0
FAILED_START_PATIENCE_S = 10.0
POLL_INTERVAL_S = 0.05
MAX_PORT_RACES = 3
ENDED_FROM_OUTSIDE = (-9, -15)  # by SIGKILL or SIGTERM: its options are not to blame
ENDED_BY_NEO4J = 1  # a start that failed; a JVM that cannot even run Neo4j has this code too

SILENT = "Neo4j does not answer: it starts, or is busy. Wait a little; else `memorygraph down`, then `memorygraph up`"

# The marks of a log line that explains a failed start, the best one first.
TELLING_MARKS = ("already in use", "cannot be read", "No space left", "Caused by:", " ERROR ", "Error", "Exception")
MAX_LOG_END_BYTES = 1 << 20
_DATABASE_FAILURE = re.compile(r"Failed to start DatabaseId")
_DATABASE_IS_READY = re.compile(r"DatabaseId\{[0-9a-f]+\[neo4j\]\} is ready")
_RECOVERY = re.compile(r"\[neo4j/[0-9a-f]+\] Recovery required from position")
_CAUSE = re.compile(r"^(?:Caused by: )?(?P<error>[\w.$]+\.(?P<kind>\w+)(?:: (?P<detail>.*))?)$", re.MULTILINE)
_LOG_PREFIX = re.compile(r"^\S+ \S+ (INFO|WARN|ERROR) +")


class RecoveryWarning(UserWarning):
    """A start takes long, because Neo4j recovers what it had not yet written into its files when it was killed."""


class _NotAnsweringError(ConnectionError):
    """The server has ended, or does not take connections."""


class _EndedError(ConnectionError):
    """The JVM ended before Neo4j could say why."""


class _KilledError(ConnectionError):
    """Another process ended the JVM while it started."""


class _PortTakenError(ConnectionError):
    """Another program took a port between the choice and the start."""


@dataclass(frozen=True)
class Launch:
    """How the server of a home is started. The caller holds the lock of the home."""

    files: ServerHome
    java: Path
    artifacts: Path
    progress: DownloadProgress | None = None
    choose_options: Callable[[AotCache], list[str]] = AotCache.options
    # A server without them ends soon: neither is it warmed, nor a start cache made.
    has_clients: bool = True

    @property
    def class_path(self) -> list[Path]:
        """The files of Neo4j, which `install` verifies before they are used."""
        return read_lock().class_path(self.artifacts)

    def have_running(self, timeout_s: float) -> Endpoints:
        """Start the server unless it runs, wait until it answers, and return where."""
        former = self.files.endpoints
        if self.is_answering(former, time.monotonic() + timeout_s) and former:
            return former
        # Here and not earlier: until this process had the lock, others could change the files.
        install(self.artifacts, self.progress)
        workspace = Workspace(self.files.folder)
        workspace.recover()
        self.files.prepare_password()
        self.files.prepare_certificate()
        until = time.monotonic() + timeout_s  # a download, or the end of an earlier server, takes none of it
        endpoints = self.race_for_ports(former, until)
        workspace.clear()
        return endpoints

    def is_answering(self, endpoints: Endpoints | None, until: float) -> bool:
        """Wait for a server that another process started, and may not have seen answer before it was killed."""
        process = server_process.find_server(self.files.folder)
        if process is None or not server_process.is_alive(process):
            return False
        if endpoints is None or not self.files.has_identity:
            # Nobody knows where it listens any more, or it cannot prove itself: an earlier memorygraph started it.
            server_process.stop(process, STOP_TIMEOUT_S)
            return False
        try:
            self.await_answer(process, endpoints, until)
        except _NotAnsweringError as error:
            if server_process.is_alive(process):
                raise ConnectionError(f"{error}: end it with `memorygraph down`, then try again") from error
            return False
        if find_problem(self.files, endpoints):
            server_process.kill(process)  # and not stopped: see `stop_server`
            return False
        return True

    def race_for_ports(self, former: Endpoints | None, until: float) -> Endpoints:
        """Start the server, again at other ports where another program takes one of them first."""
        for _ in range(MAX_PORT_RACES - 1):
            with contextlib.suppress(_PortTakenError):
                return self.start(former, until)
        return self.start(former, until)

    def start(self, former: Endpoints | None, until: float) -> Endpoints:
        """Start the server, again without its start cache where the JVM fails with it, and return where it listens."""
        bolt, http_port = server_process.choose_ports((former.bolt, former.http) if former else None)
        endpoints = Endpoints(bolt, http_port, read_lock().version)
        self.files.logs.mkdir(mode=0o700, exist_ok=True)
        self.files.configure(endpoints)
        cache = AotCache.of(self.java, self.artifacts, self.class_path, self.files.folder)
        options = self.choose_options(cache)
        try:
            self.run(options, endpoints, until)
        except _KilledError:
            self.run(options, endpoints, until)
        except _EndedError:
            if not options:
                raise
            self.run([], endpoints, until)
            cache.refuse("the JVM did not start with it, and did without it")
        if self.has_clients and options:
            self.warm_later()
        elif self.has_clients:
            cache.build_later()
        return endpoints

    def warm_later(self) -> psutil.Process | None:
        """Have the server plan what is asked first while nothing waits for it: see `memorygraph/warming.py`."""
        if not is_switched_on(WARMING) or getattr(sys, "frozen", False):
            return None
        with contextlib.suppress(OSError, psutil.Error), (self.files.logs / "warming.log").open("wb") as output:
            return server_process.spawn_behind("memorygraph.warming", [str(self.files.folder)], output)
        return None

    def run(self, options: list[str], endpoints: Endpoints, until: float) -> None:
        """Start the JVM and wait until the server answers; if it does not, end the JVM."""
        logs = self.files.logs
        write_private(self.files.jvm_arguments, jvm_arguments(self.class_path, logs, options))
        log_before, debug_before = log_size(logs / "neo4j.log"), log_size(logs / "debug.log")
        console = logs / "console.log"
        process = server_process.start(self.java, self.files.folder, console)
        try:
            self.await_answer(process, endpoints, until)
            if not database_is_ready(logs, debug_before):
                self.require_database(process, endpoints)
        except _NotAnsweringError as error:
            # Both asked before it is stopped, which would be an end too, and be logged as the last line.
            has_ended = not server_process.is_alive(process)
            line = telling_line(logs, log_before)
            server_process.stop(process, FAILED_START_PATIENCE_S)
            message = f"{error}: {line}. Run `memorygraph doctor`; the logs are in {logs}."
            code = server_process.exit_code(process)
            if has_ended and "already in use" in line:
                raise _PortTakenError(message) from error
            if has_ended and code in ENDED_FROM_OUTSIDE:
                raise _KilledError(message) from error
            if has_ended and (code != ENDED_BY_NEO4J or log_size(logs / "neo4j.log") <= log_before):
                raise _EndedError(message) from error
            raise ConnectionError(message) from error
        except BaseException:
            server_process.stop(process, FAILED_START_PATIENCE_S)
            raise

    def require_database(self, process: psutil.Process, endpoints: Endpoints) -> None:
        """End a server whose database has not started, and raise an error that says why."""
        if problem := find_problem(self.files, endpoints):
            server_process.kill(process)  # and not stopped: see `stop_server`
            raise ConnectionError(problem)

    def await_answer(self, process: psutil.Process, endpoints: Endpoints, until: float) -> None:
        """Wait until a server answers and takes its password."""
        import memorygraph.graph.connection  # noqa: F401 - takes a while, and now the server does too

        deadline = Deadline(process, self.files.logs, until)

        def wait_until(ready: Callable[[], bool]) -> None:
            while not ready():
                if not server_process.is_alive(process):
                    raise _NotAnsweringError("Neo4j ended while it was starting")
                deadline.check()
                time.sleep(POLL_INTERVAL_S)

        def takes_login() -> bool:
            with contextlib.suppress(_NotAnsweringError):
                log_in(self.files, endpoints)
                return True
            return False

        # HTTP comes last, and the first login takes a server a while: it starts HTTP meanwhile.
        wait_until(lambda: server_process.listens(process, endpoints.bolt) and takes_login())
        wait_until(lambda: server_answers(process, endpoints))


@dataclass
class Deadline:
    """Until when a server has to answer: later than `until` while it recovers; another start would begin that anew."""

    process: psutil.Process
    logs: Path
    until: float
    has_warned: bool = False
    log_bytes: int = -1
    log_changed_at: float = 0.0

    def check(self) -> None:
        """Refuse to wait any longer, unless the server recovers; that is said once.

        Raises:
            ConnectionError: the server does not answer in time.
        """
        silent_s = self.watch_log()
        if time.monotonic() <= self.until:
            return
        if silent_s >= RECOVERY_PATIENCE_S or not is_recovering(self.logs, self.process.create_time()):
            raise _NotAnsweringError("Neo4j does not answer in time")
        self.until = time.monotonic() + RECOVERY_LOOK_S
        if not self.has_warned:
            self.has_warned = True
            warnings.warn(
                "Neo4j was killed, and recovers what it had not yet written into its files. Let it end: the next start "
                f"would begin anew. Its log is {self.logs / 'debug.log'}",
                RecoveryWarning,
                stacklevel=2,
            )

    def watch_log(self) -> float:
        """Return for how many seconds of this wait the log has said nothing.

        Not by the time of the file: after a machine has slept, the server has had no time to write.
        """
        now, size = time.monotonic(), log_size(self.logs / "debug.log")
        if size != self.log_bytes:
            self.log_bytes, self.log_changed_at = size, now
        return now - self.log_changed_at


def is_recovering(logs: Path, started: float) -> bool:
    """Tell whether the log says that a server which started at a time has begun to recover its database."""
    log = logs / "debug.log"
    with contextlib.suppress(StopIteration, OSError, ValueError, LookupError, TypeError):
        record = find_last_record(log, _RECOVERY)
        began = datetime.strptime(record["time"], "%Y-%m-%d %H:%M:%S.%f%z").timestamp()
        return began >= started  # both by the clock on the wall, which is all that two processes share
    return False


def find_problem(files: ServerHome, endpoints: Endpoints) -> str | None:
    """Say why the database of a running server answers no query any more: a login says nothing about it."""
    from memorygraph.graph.connection import Connection

    with contextlib.suppress(MemoryGraphError):  # of a server that is slow, or refuses its password
        auth = (USERNAME, files.password())
        with Connection(endpoints.bolt_uri, auth, certificate=files.certificate_file) as connection:
            try:
                connection.read(CYPHER["schema/applied-migrations"](), seconds=PROBE_SECONDS)
            except RestartNeededError as error:
                return str(error)
            except DatabaseUnavailableError as error:
                return find_database_failure(files.logs) or str(error)
    return None


def database_is_ready(logs: Path, log_before: int) -> bool:
    """Tell whether Neo4j's log says that the database has started; where it does not, a query finds out.

    That query is the first of a cold server, which plans it for most of a second.
    """
    log = logs / "debug.log"
    lines = read_log_lines(log, log_before if log_size(log) >= log_before else 0)
    return any(_DATABASE_IS_READY.search(line) for line in lines)


def find_database_failure(logs: Path) -> str | None:
    """Find in Neo4j's log why its database did not start: a file that it may not read, for one."""
    log = logs / "debug.log"
    with contextlib.suppress(StopIteration, ValueError, LookupError, TypeError):
        record = find_last_record(log, _DATABASE_FAILURE)
        *_, cause = _CAUSE.finditer(record["stacktrace"])
        if cause["kind"] == "AccessDeniedException":
            return (
                f"Neo4j cannot read {cause['detail']}: this user may not read and write it. Change that (`chmod u+rw`, "
                "and u+x for a folder), then run `memorygraph up`"
            )
        return f"the database did not start: {cause['error']}. Its log is {log}"
    return None


def stop_server(files: ServerHome) -> bool:
    """Stop the server of a home; False when there was none."""
    process = server_process.find_server(files.folder)
    if process is None or not server_process.is_alive(process):
        return False
    if (endpoints := files.endpoints) and find_problem(files, endpoints):
        # Asked to end, a database that could not write its log goes on writing it where there is room again, and no
        # start can read that log any more. What a killed one leaves is recovered.
        server_process.kill(process)
    else:
        server_process.stop(process, STOP_TIMEOUT_S)
    return True


def log_in(files: ServerHome, endpoints: Endpoints) -> None:
    """Log in to a server with the password of its home."""
    from memorygraph.graph.connection import Connection

    auth = (USERNAME, files.password())
    try:
        Connection(endpoints.bolt_uri, auth, certificate=files.certificate_file).close()
    except LoginError as error:
        raise ConnectionError(
            f"the embedded Neo4j refuses the password in {files.password_file}. "
            "If it was changed in Neo4j, write the new one into that file."
        ) from error
    except MemoryGraphError as error:
        raise _NotAnsweringError(SILENT) from error


def server_answers(process: psutil.Process, endpoints: Endpoints) -> bool:
    """Tell whether this very server answers: HTTP comes last, and its greeting names the Bolt port."""
    connection = http.client.HTTPConnection(HOST, endpoints.http, timeout=5)
    not_neo4j = (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError)
    with contextlib.closing(connection), contextlib.suppress(*not_neo4j):
        connection.request("GET", "/", headers={"Accept": "application/json"})
        greeting = parse_json(connection.getresponse().read(100_000))
        named = greeting["bolt_direct"] == endpoints.bolt_uri
        # The greeting may be that of another server, which took both ports first.
        return named and all(server_process.listens(process, port) for port in (endpoints.bolt, endpoints.http))
    return False


def log_size(log: Path) -> int:
    """Return the size of a log, at which what follows begins; 0 where there is none."""
    with contextlib.suppress(OSError):
        return log.stat().st_size
    return 0


def telling_line(logs: Path, log_before: int) -> str:
    """Find the line that says most about a start that failed; its log begins at `log_before`."""
    log = logs / "neo4j.log"
    lines = read_log_lines(log, log_before if log_size(log) >= log_before else 0)
    console = read_log_lines(logs / "console.log", 0)
    newest_first = [*reversed(lines + console)]
    telling = (line for mark in TELLING_MARKS for line in newest_first if mark in line)
    last = next(reversed(console or lines), "it left no message")
    return _LOG_PREFIX.sub("", next(telling, last)).strip(" .")


def find_last_record(log: Path, said: re.Pattern[str]) -> Any:
    """Find the last record that says this, in the end of a log whose lines are JSON.

    Raises:
        StopIteration: there is none.
        ValueError: it is not whole.
    """
    lines = read_log_lines(log, max(0, log_size(log) - MAX_LOG_END_BYTES))
    return parse_json(next(line for line in reversed(lines) if said.search(line)))


def read_log_lines(path: Path, start: int) -> list[str]:
    """Read the lines of a log from a byte on; none where there is no log, and one that says so where it is closed."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            return [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    except FileNotFoundError:
        return []
    except OSError as error:
        return [f"{path} cannot be read: {error.strerror}"]
