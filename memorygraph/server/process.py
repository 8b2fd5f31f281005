"""The process of one embedded server: how it is found, started and stopped, and its ports.

A server outlives its starter, so it is known by its command line, which names Neo4j's main class and this home. That
holds when the starter was killed before it noted a process id, and when a noted id belongs to another program by now.
Only processes of this user count: anybody can start one with this command line.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

import psutil

from memorygraph.errors import ConnectionError
from memorygraph.server.settings import HOST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MAIN_CLASS = "org.neo4j.server.Neo4jCommunity"
PID_FILE = "server.pid"
DEFAULT_BOLT_PORT = 7687
DEFAULT_HTTP_PORT = 7474
NICENESS = 5  # of background work: a quarter of the processor while another program is busy, less with each further one

# Of the system, of Java, and of the Python that makes the start cache.
NEEDED_VARIABLE = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TZ|LANG|LANGUAGE|LC_\w+|TMPDIR|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|MALLOC_\w+"
    r"|JAVA_HOME|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|PYTHON[A-Z]+|VIRTUAL_ENV|MEMORYGRAPH_AOT"
    r"|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|TEMP|TMP|USERNAME|USERPROFILE|APPDATA|LOCALAPPDATA|PROGRAMDATA",
    re.IGNORECASE,
)

if sys.platform == "win32":
    DETACHED_ON_WINDOWS = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
else:
    DETACHED_ON_WINDOWS = 0


def find_server(home: Path) -> psutil.Process | None:
    """Find the server of a home by its noted process id, else among all processes."""
    with contextlib.suppress(OSError, ValueError, psutil.Error):
        noted = psutil.Process(int((home / PID_FILE).read_text("ascii")))
        if is_server_of(noted, home):
            return noted
    return next((process for process in psutil.process_iter() if is_server_of(process, home)), None)


def is_alive(process: psutil.Process) -> bool:
    """Tell whether a process still runs, and reap a child that has ended."""
    with contextlib.suppress(psutil.Error):
        if process.status() != psutil.STATUS_ZOMBIE:
            return bool(process.is_running())
        process.wait(0)
    return False


def start(java: Path, home: Path, console: Path) -> psutil.Process:
    """Start the server of a home."""
    conf = home / "conf"
    command = [str(java), f"@{conf / 'jvm.args'}", MAIN_CLASS, f"--home-dir={home}", f"--config-dir={conf}"]
    with console.open("wb") as output:
        process = spawn(command, home, output, environment())
    (home / PID_FILE).write_text(str(process.pid), "ascii")
    return process


def spawn(
    command: list[str],
    folder: Path,
    output: IO[bytes],
    environ: Mapping[str, str],
) -> psutil.Process:
    """Start a process that outlives this one and its terminal."""
    child = subprocess.Popen(  # noqa: S603 - a runtime of the user's, and paths that are its own
        command,
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        creationflags=DETACHED_ON_WINDOWS,
    )
    child.returncode = 0  # else its destructor warns about a child that still runs
    return psutil.Process(child.pid)


def spawn_behind(module: str, given: Sequence[str], output: IO[bytes]) -> psutil.Process:
    """Start a module of the package that works behind what the user does, and outlives this process."""
    process = spawn([sys.executable, "-m", module, *given], Path(__file__).resolve().parents[2], output, environment())

    def reap() -> None:
        with contextlib.suppress(psutil.Error):
            process.wait()

    # If this process lives longer than the child, it must not keep it as a zombie.
    threading.Thread(target=reap, daemon=True).start()
    return process


def background(seconds: int) -> Callable[[], object] | None:
    """Return what a new process calls to give way to others, and to be ended by the system after a time."""
    if sys.platform == "win32":
        return None

    def begin() -> None:
        signal.alarm(seconds)  # which stays when the process becomes another program, and when its parent ends
        give_way()

    return begin


def give_way() -> None:
    """Let all other programs use the processor first, those of other sessions too."""
    if sys.platform == "win32":
        return
    os.nice(max(0, NICENESS - os.nice(0)))
    if os.getsid(0) != os.getpid():
        return  # the session is somebody else's too: a developer's terminal, or a run of tests
    # Niceness counts only within a session: Linux shares the processor between sessions.
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as niceness:  # noqa: PTH123 - after a fork
        niceness.write(str(NICENESS))


def stop(process: psutil.Process, patience_s: float) -> None:
    """Ask a process to end, and kill it if it has not ended after `patience_s`."""
    with _explaining_errors(process):
        process.terminate()
        if wait_for_end(process, patience_s):
            return
    kill(process)


def kill(process: psutil.Process) -> None:
    """End a process that is not asked, and wait for its end."""
    with _explaining_errors(process):
        process.kill()
        if not wait_for_end(process, within_s=10):
            raise ConnectionError(f"Neo4j (process {process.pid}) cannot be stopped: it survives SIGKILL")


@contextlib.contextmanager
def _explaining_errors(process: psutil.Process) -> Iterator[None]:
    try:
        yield
    except psutil.NoSuchProcess:
        return
    except psutil.Error as error:
        raise ConnectionError(f"Neo4j (process {process.pid}) cannot be stopped: {error}") from error


def wait_for_end(process: psutil.Process, within_s: float) -> bool:
    """Wait for the end of a process; return False when it still runs after the time."""
    until = time.monotonic() + within_s
    while True:
        with contextlib.suppress(psutil.TimeoutExpired):
            process.wait(min(0.1, within_s))
            return True
        if is_unreaped(process):
            return True
        if time.monotonic() > until:
            return False


def is_unreaped(process: psutil.Process) -> bool:
    """Tell whether a process has ended, and is to be reaped by another process than this one."""
    try:
        is_zombie = process.status() == psutil.STATUS_ZOMBIE and process.ppid() != os.getpid()
        # A process of which only the first thread has ended looks like this too, and still has its files.
        return bool(is_zombie and process.num_threads() <= 1)
    except psutil.ZombieProcess:
        return True


def exit_code(process: psutil.Process) -> int | None:
    """Return how a child ended, a signal as its negative number; None if that is not known."""
    code: int | None = None
    with contextlib.suppress(psutil.Error):
        code = process.wait(0)
    return code


def listens(process: psutil.Process, port: int) -> bool:
    """Tell whether this very process listens at a port, and not another server that was quicker."""
    try:
        sockets = process.net_connections("inet")
    except psutil.AccessDenied:
        return is_listening(port)
    except psutil.Error:
        return False
    return any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in sockets)


def listener(port: int) -> str | None:
    """Name the program that listens at a port of this machine; None where the system does not tell."""
    with contextlib.suppress(psutil.Error, OSError):
        for one in psutil.net_connections("tcp"):
            if one.status == psutil.CONN_LISTEN and one.laddr.port == port and one.pid:
                return f"{psutil.Process(one.pid).name()} (process {one.pid})"
    return None


def is_listening(port: int) -> bool:
    """Tell whether a program listens at a port of this machine."""
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=2):
        return True
    return False


def choose_ports(former: tuple[int, int] | None) -> tuple[int, int]:
    """Choose the Bolt and the HTTP port: the former ones, else the usual ones, else free ones."""
    usual = (DEFAULT_BOLT_PORT, DEFAULT_HTTP_PORT)
    pairs = zip(former or usual, usual, strict=True)
    bolt, http = (next((port for port in pair if is_free(port)), None) for pair in pairs)
    free_bolt, free_http = free_ports()
    return bolt or free_bolt, http or free_http


def free_ports() -> tuple[int, int]:
    """Choose two different ports that no program has."""
    with socket.socket() as one, socket.socket() as other:
        one.bind((HOST, 0))
        other.bind((HOST, 0))
        return one.getsockname()[1], other.getsockname()[1]


def is_free(port: int) -> bool:
    """Tell whether a server could listen at a port."""
    # A connection says more than a bind: some systems let one address of a taken port be bound.
    if is_listening(port):
        return False
    with contextlib.suppress(OSError), socket.socket() as probe:
        if os.name == "posix":
            # As the server does: a connection that has just ended does not keep the port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return True
    return False


def is_server_of(process: psutil.Process, home: Path) -> bool:
    """Tell whether a process is the server of a home, by its command line."""
    command = own_command(process)
    return MAIN_CLASS in command and f"--home-dir={home}" in command


def own_command(process: psutil.Process) -> list[str]:
    """Return the command line of a process of this user; empty for those of others, and for one that has ended."""
    with contextlib.suppress(psutil.Error, OSError):
        if sys.platform == "win32":
            is_own = process.username() == psutil.Process().username()
        else:
            is_own = set(process.uids()[:2]) == {os.geteuid()}  # the real and the effective one
        return list(process.cmdline()) if is_own else []
    return []


def environment() -> dict[str, str]:
    """Return what a server needs of the environment, with a locale in which the JVM can name every file.

    It outlives this process, and keys of models are none of its business.
    """
    needed = {name: value for name, value in os.environ.items() if NEEDED_VARIABLE.fullmatch(name)}
    return needed | ({"LC_ALL": "C.UTF-8"} if sys.platform == "linux" else {})
