"""The Neo4j that starts by itself: Neo4j Community as a process of its own, kept in one folder.

The server of a home outlives the process that started it. A file lock makes sure that any number of callers of `up`
ends with one server. Where the server or a caller is killed, the next `up` repairs what it left.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memorygraph.errors import ConnectionError
from memorygraph.home import ADMINISTRATOR, default_home, expand_user, refuse_foreign
from memorygraph.server import process as server_process
from memorygraph.server.aot_cache import AotCache, aot_folder, is_switched_on
from memorygraph.server.artifacts import DownloadProgress, read_lock
from memorygraph.server.installation import install, is_complete
from memorygraph.server.java import java_executable
from memorygraph.server.launch import (
    SILENT,
    START_TIMEOUT_S,
    STOP_TIMEOUT_S,
    Launch,
    find_problem,
    log_in,
    server_answers,
    stop_server,
)
from memorygraph.server.server_home import ServerHome, Workspace, work_to_the_end
from memorygraph.server.settings import USERNAME, Endpoints

if TYPE_CHECKING:
    import psutil


@dataclass(frozen=True)
class ServerStatus:
    """Where the embedded server is. The addresses are None while it does not run."""

    running: bool
    bolt_uri: str | None
    browser_url: str | None
    username: str
    password_file: str
    certificate_file: str
    home: str
    version: str
    problem: str | None = None  # why it does not work although its process lives


@dataclass(frozen=True)
class StoppedServer:
    """A server that no other process can start. The holder may `start` and `stop` it."""

    ran: bool
    java: Path
    class_path: list[Path]
    start: Callable[[], object]
    stop: Callable[[], bool]

    def stop_wholly(self) -> None:
        """Stop it to the end, also where that is interrupted: a start could take it for one that runs."""
        work_to_the_end(self.stop)

    def restart(self) -> None:
        """Start it again if it ran before."""
        if self.ran:
            self.start()


class EmbeddedServer:
    """The embedded server of one home, whether it runs or not.

    `home` holds the data, the configuration, the logs and the password (default: MEMORYGRAPH_HOME,
    else the platform's folder for user data); `artifacts` holds Neo4j's own files, and may be
    shared by several homes.
    """

    def __init__(self, home: Path | None = None, artifacts: Path | None = None) -> None:
        self.home = expand_user(home).resolve() if home else default_home()
        self.artifacts = (artifacts or self.home / f"neo4j-{read_lock().version}").resolve()
        self._files = ServerHome(self.home)
        self.password_file = self._files.password_file
        self.private_key_file = self._files.private_key_file
        self.logs = self._files.logs

    def status(self) -> ServerStatus:
        """Say where the server is; it runs when its process lives, and its database answers."""
        found = self.find()
        endpoints = self._files.endpoints
        if not found.running or endpoints is None:
            return found
        if problem := find_problem(self._files, endpoints):
            return replace(found, running=False, bolt_uri=None, browser_url=None, problem=problem)
        return found

    def lives(self) -> bool:
        """Tell whether there is a process of the server, which is quicker than `find`: it may still be starting."""
        return self.find_process() is not None

    def find_process(self) -> psutil.Process | None:
        """Find the process of the server, if it lives."""
        process = server_process.find_server(self.home)
        return process if process is not None and server_process.is_alive(process) else None

    def find(self) -> ServerStatus:
        """Say where the server is by its process and its ports, which is quicker than `status`."""
        with self._files.accessed():
            endpoints = self._files.endpoints
            is_known = endpoints is not None and self._files.has_identity
        process = self.find_process()
        if process is None:
            return describe_server(self._files)
        if endpoints and is_known and server_answers(process, endpoints):
            return describe_server(self._files, endpoints)
        return describe_server(self._files, problem=SILENT)

    def up(self, progress: DownloadProgress | None = None, timeout_s: float = START_TIMEOUT_S) -> ServerStatus:
        """Have the server running: download it if needed, start it if needed, wait until it answers.

        Raises:
            ConnectionError: it cannot be started; the message says why and what to do.
            DownloadError: its files cannot be fetched.
        """
        status = self.status()
        if status.running:
            return status
        with self._files.accessed():
            launch = self._prepare(progress)
            with self._files.locked(timeout_s + STOP_TIMEOUT_S):
                # Not found anew: it may be slow to answer again, or be stopped at this moment.
                return describe_server(self._files, launch.have_running(timeout_s))

    def down(self) -> bool:
        """Stop the server and wait until it has stopped; False when there was none.

        What a killed backup or restore has left working on its data ends as well.
        """
        with self._files.accessed():
            if not self.home.exists():
                return False
            with self._files.locked(START_TIMEOUT_S + STOP_TIMEOUT_S):
                stopped = stop_server(self._files)
                Workspace(self.home).recover()
                return stopped

    @contextmanager
    def kept_stopped(self, progress: DownloadProgress | None = None) -> Iterator[StoppedServer]:
        """Stop the server, and keep every other process from starting it until the end of the block.

        It is started again if it ran before, however the block ends. `progress` is told of the
        download of Neo4j, if it is needed.
        """
        with self._files.accessed():
            launch = self._prepare(progress)
            with self._files.locked(START_TIMEOUT_S + STOP_TIMEOUT_S):
                start = partial(launch.have_running, START_TIMEOUT_S)
                stop = partial(stop_server, self._files)
                install(self.artifacts, progress)
                stopped = StoppedServer(self.lives(), launch.java, launch.class_path, start, stop)
                try:
                    stopped.stop_wholly()
                    yield stopped
                except BaseException as error:
                    try:
                        stopped.restart()
                    except ConnectionError as another:
                        raise ConnectionError(
                            f"{error} And then Neo4j could not be started again: {another}"
                        ) from error
                    raise
                stopped.restart()

    def start_cache(self) -> AotCache | None:
        """Return the start cache of this server, whether it is made or not; None before Neo4j is downloaded."""
        if not is_complete(self.artifacts):
            return None
        return AotCache.of(java_executable(), self.artifacts, read_lock().class_path(self.artifacts), self.home)

    def describe_start_cache(self, *, verify: bool = False) -> tuple[bool, str]:
        """Say whether there is a start cache, and where, or why there is none; `verify` reads all of it.

        It changes nothing: the next start removes a damaged one.
        """
        with self._files.accessed():
            if (cache := self.start_cache()) is None:
                return False, "not made yet: Neo4j is not downloaded"
            if not is_switched_on() or (found := cache.locate()) is None:
                return False, cache.why_missing()
            if verify and cache.find_whole() is None:
                return False, f"{found} is damaged, or cannot be read: the next start has it made anew"
            return True, f"{found.stat().st_size // 2**20} MB at {found}"

    def check(self) -> None:
        """Log in to the running server with the password of this home, or raise a ConnectionError."""
        with self._files.accessed():
            endpoints = self._files.endpoints
            if endpoints is None:
                raise ConnectionError("the embedded Neo4j was never started: run `memorygraph up`")
            log_in(self._files, endpoints)

    def password(self) -> str:
        """Read the password of the user `neo4j`."""
        with self._files.accessed():
            return self._files.password()

    def _prepare(self, progress: DownloadProgress | None) -> Launch:
        """Find Java, create the home, and download Neo4j without keeping others from the home."""
        java = java_executable()
        if os.pathsep in str(self.artifacts):
            raise ConnectionError(
                f"{self.artifacts} cannot hold the files of Neo4j: Java takes `{os.pathsep}` in a path for the end of "
                "it. Name another folder with MEMORYGRAPH_HOME."
            )
        self._files.make()
        for folder in (self.artifacts, aot_folder(self.artifacts)):
            refuse_foreign(folder, trusted=(ADMINISTRATOR,))
        if not is_complete(self.artifacts):
            install(self.artifacts, progress)
        return Launch(self._files, java, self.artifacts, progress)


class RunningServer(EmbeddedServer):
    """The embedded server for who asks it only where it runs: such as a shell that completes a word."""

    def up(self, progress: DownloadProgress | None = None, timeout_s: float = START_TIMEOUT_S) -> ServerStatus:  # noqa: ARG002
        """Refuse to start a server, also one that is being stopped, or whose database has failed.

        Raises:
            ConnectionError: always.
        """
        raise ConnectionError("Neo4j does not run, or does not answer now: `memorygraph up` starts it")


def describe_server(files: ServerHome, endpoints: Endpoints | None = None, problem: str | None = None) -> ServerStatus:
    """Describe the server of a home that answers at these endpoints; None while it does not run, with what is wrong."""
    return ServerStatus(
        running=endpoints is not None,
        bolt_uri=endpoints.bolt_uri if endpoints else None,
        browser_url=endpoints.browser_url if endpoints else None,
        username=USERNAME,
        password_file=str(files.password_file),
        certificate_file=str(files.certificate_file),
        home=str(files.folder),
        version=endpoints.version if endpoints else read_lock().version,
        problem=problem,
    )


def require_uri(status: ServerStatus) -> str:
    """Return the address for a driver, or raise a ConnectionError where the server does not run."""
    if status.bolt_uri is None:
        raise ConnectionError(f"the embedded Neo4j of {status.home} does not run: run `memorygraph up`")
    return status.bolt_uri
