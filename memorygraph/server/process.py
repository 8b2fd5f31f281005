"""The JVM of one embedded server: found, started, stopped; and the ports that it can have.

A server outlives the process that started it, so it is known by what it is: a process whose
command line names Neo4j's main class and this home. That holds when the starter was killed
before it could note anything, and when a noted process id has been given to another program.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from memorygraph.errors import ConnectionError
from memorygraph.server.settings import HOST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import psutil

MAIN_CLASS = "org.neo4j.server.Neo4jCommunity"
DEFAULT_BOLT_PORT = 7687
DEFAULT_HTTP_PORT = 7474
NICENESS = 10  # of what others need not wait for: a tenth of the processor while they are at work

if sys.platform == "win32":
    DETACHED_ON_WINDOWS = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
else:
    DETACHED_ON_WINDOWS = 0


def import_psutil() -> Any:
    """Import psutil, which those who name a server of their own can do without."""
    try:
        import psutil
    except ImportError as error:
        raise ConnectionError(
            "the embedded Neo4j needs more packages: run `pip install 'memorygraph[embedded]'`, "
            "or name another server with NEO4J_URI"
        ) from error
    return psutil


def find(home: Path) -> psutil.Process | None:
    """Find the server of a home: by its noted process id, else among all processes."""
    psutil = import_psutil()
    with contextlib.suppress(OSError, ValueError, psutil.Error):
        noted = psutil.Process(int(_pid_file(home).read_text("ascii")))
        if _is_server(noted, home):
            return noted
    return next((process for process in psutil.process_iter() if _is_server(process, home)), None)


def is_alive(process: psutil.Process) -> bool:
    """Say whether a process still runs; a child that has ended is also laid to rest."""
    psutil = import_psutil()
    with contextlib.suppress(psutil.Error):
        if process.status() != psutil.STATUS_ZOMBIE:
            return bool(process.is_running())
        process.wait(0)
    return False


def start(java: Path, home: Path, console: Path, limit_s: int | None = None) -> psutil.Process:
    """Start the server of a home, detached from this process and its terminal.

    With a limit it is ended after so many seconds, and gives way to others until then.
    """
    psutil = import_psutil()
    command = [str(java), f"@{home / 'conf' / 'jvm.args'}", MAIN_CLASS, _home_argument(home)]
    with console.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603 - a runtime and a home that the user owns
            [*command, f"--config-dir={home / 'conf'}"],
            cwd=home,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            creationflags=DETACHED_ON_WINDOWS,
            preexec_fn=background(limit_s),  # noqa: PLW1509 - None, but for a training, which has one thread
        )
    # Otherwise its destructor warns about a child that is meant to outlive it.
    child.returncode = 0
    _pid_file(home).write_text(str(child.pid), "ascii")
    return psutil.Process(child.pid)


def background(seconds: int | None) -> Callable[[], object] | None:
    """Give what a new process calls to be ended by the system after a time, and to give way until then.

    An alarm outlives the change to another program, whatever became of its parent. Windows has no such thing.
    """
    if seconds is None or sys.platform == "win32":
        return None

    def begin() -> None:
        signal.alarm(seconds)
        give_way()

    return begin


def give_way() -> None:
    """Let all others use the processor first, those of other sessions too.

    Linux shares the processor between sessions, and looks at the niceness of a process within its own alone.
    """
    if sys.platform == "win32":
        return
    os.nice(max(0, NICENESS - os.nice(0)))
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as niceness:  # noqa: PTH123 - after a fork
        niceness.write(str(NICENESS))


def stop(process: psutil.Process, patience_s: float) -> None:
    """Ask a server to end, and end it when it has not done so after a generous time."""
    psutil = import_psutil()
    try:
        process.terminate()
        if _has_ended(process, patience_s):
            return
        process.kill()
        if not _has_ended(process, within_s=10):
            raise ConnectionError(f"Neo4j (process {process.pid}) cannot be stopped: it goes on after SIGKILL")
    except psutil.NoSuchProcess:
        return
    except psutil.Error as error:
        raise ConnectionError(f"Neo4j (process {process.pid}) cannot be stopped: {error}") from error


def _has_ended(process: psutil.Process, within_s: float) -> bool:
    """Wait for the end of a process."""
    psutil = import_psutil()
    until = time.monotonic() + within_s
    while True:
        with contextlib.suppress(psutil.TimeoutExpired):
            process.wait(min(0.1, within_s))
            return True
        if _is_unreaped(process):
            return True
        if time.monotonic() > until:
            return False


def _is_unreaped(process: psutil.Process) -> bool:
    """Say whether nothing is left of a process but the note for its parent, which is another process than this."""
    psutil = import_psutil()
    try:
        is_zombie = process.status() == psutil.STATUS_ZOMBIE and process.ppid() != os.getpid()
        # A process whose first thread alone has ended looks like that too, and still has its files.
        return bool(is_zombie and process.num_threads() <= 1)
    except psutil.ZombieProcess:
        return True


def exit_code(process: psutil.Process) -> int | None:
    """Say how a child ended, with the number of the signal as a negative one; None if nobody knows."""
    psutil = import_psutil()
    with contextlib.suppress(psutil.Error):
        code: int | None = process.wait(0)
        return code
    return None


def listens(process: psutil.Process, port: int) -> bool:
    """Say whether it is this very process that listens at a port, and not another server that was quicker."""
    psutil = import_psutil()
    try:
        sockets = process.net_connections("inet")
    except psutil.AccessDenied:
        return is_listening(port)
    except psutil.Error:
        return False
    return any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in sockets)


def listener(port: int) -> str | None:
    """Name the program that listens at a port of this machine; None where the system does not tell."""
    psutil = import_psutil()
    with contextlib.suppress(psutil.Error, OSError):
        for one in psutil.net_connections("tcp"):
            if one.status == psutil.CONN_LISTEN and one.laddr.port == port and one.pid:
                return f"{psutil.Process(one.pid).name()} (process {one.pid})"
    return None


def is_listening(port: int) -> bool:
    """Say whether something answers at a port of this machine."""
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=2):
        return True
    return False


def choose_ports(former: tuple[int, int] | None) -> tuple[int, int]:
    """Choose the Bolt and the HTTP port: the former ones, else the usual ones, else free ones."""
    usual = (DEFAULT_BOLT_PORT, DEFAULT_HTTP_PORT)
    bolt, http = (_first_free(pair) for pair in zip(former or usual, usual, strict=True))
    free_bolt, free_http = free_ports()
    return bolt or free_bolt, http or free_http


def free_ports() -> tuple[int, int]:
    """Choose two ports that nobody has."""
    with socket.socket() as one, socket.socket() as other:
        # Both are held at once, so that they differ.
        one.bind((HOST, 0))
        other.bind((HOST, 0))
        return one.getsockname()[1], other.getsockname()[1]


def _first_free(ports: tuple[int, ...]) -> int | None:
    return next((port for port in ports if _is_free(port)), None)


def _is_free(port: int) -> bool:
    # A connection says more than a bind: some systems let one address of a taken port be bound.
    if is_listening(port):
        return False
    with contextlib.suppress(OSError), socket.socket() as probe:
        if os.name == "posix":
            # As the server does it: connections that ended a moment ago do not keep the port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return True
    return False


def _is_server(process: psutil.Process, home: Path) -> bool:
    psutil = import_psutil()
    with contextlib.suppress(psutil.Error, OSError):
        command = process.cmdline()
        return MAIN_CLASS in command and _home_argument(home) in command
    return False


def _home_argument(home: Path) -> str:
    return f"--home-dir={home}"


def _pid_file(home: Path) -> Path:
    return home / "server.pid"


def environment() -> dict[str, str]:
    """Give the JVM a locale in which it can name every file, whatever that of the caller is."""
    return os.environ | ({"LC_ALL": "C.UTF-8"} if sys.platform == "linux" else {})
