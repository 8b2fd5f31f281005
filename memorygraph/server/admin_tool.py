"""Neo4j's own tool for a database that no server has open: it dumps, loads and checks the graph of a home.

Dumps go through pipes, and so need no room beside their target. When the caller of a tool was killed, `end_all` finds
the tool by its command line.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, Protocol, cast

import psutil

from memorygraph.errors import ConnectionError
from memorygraph.server import process as server_process
from memorygraph.server.settings import jvm_arguments

if TYPE_CHECKING:
    from _typeshed import SupportsRead, SupportsWrite

ADMIN_TOOL_CLASS = "org.neo4j.cli.AdminTool"
DATABASE = "neo4j"
PIECE_BYTES = 1 << 20

# A dump is what the tool writes to stdout, where Java would put warnings of its own between.
_WARNINGS_TO_STDERR = ("-XX:+DisplayVMOutputToStderr", "-Xlog:disable", "-Xlog:all=warning:stderr")

_SHARE = re.compile(rb"(\d+(?:\.\d+)?)%\s*$")
_FAILURE = re.compile(r"Command Failed\n(.*?)\n-{20,}", re.DOTALL)
_NOT_CLOSED = "Active logical log"  # said of a database whose server was killed
_KEPT_LINES = 60


class Steps(Protocol):
    """Receives the progress of long work."""

    def begin(self, title: str) -> None:
        """Begin a step; the one before it is done."""

    def reach(self, share: float) -> None:
        """Report how much of the step is done, between 0 and 1."""


class AdminError(ConnectionError):
    """The tool has failed; the message holds what it said."""


class NotClosedError(AdminError):
    """The server was killed, and has to be started and stopped once before the tool can work on its database."""


class AdminTool:
    """The tool for one home; `folder` holds its configuration and its reports."""

    def __init__(self, java: Path, class_path: list[Path], home: Path, folder: Path) -> None:
        self._java = java
        self._home = home
        self._folder = folder
        self._arguments = folder / "jvm.args"
        self._arguments.write_text(jvm_arguments(class_path, folder), "utf-8")

    def dump(self, target: SupportsWrite[bytes], steps: Steps) -> None:
        """Write a dump of the graph."""
        with self._running(steps, "dump", "--to-stdout", stderr=subprocess.PIPE) as process:
            dump = cast(IO[bytes], process.stdout)
            while piece := dump.read(PIECE_BYTES):
                target.write(piece)

    def load(self, source: SupportsRead[bytes], data: str, steps: Steps) -> None:
        """Make a graph in the folder `data` from a dump."""
        with self._running(steps, "load", "--from-stdin", data=data, stdin=subprocess.PIPE) as process:
            dump = cast(IO[bytes], process.stdin)
            with contextlib.suppress(BrokenPipeError):  # it has failed, and says why
                while piece := source.read(PIECE_BYTES):
                    dump.write(piece)
            with contextlib.suppress(BrokenPipeError):
                dump.close()

    def check(self, data: str, steps: Steps) -> None:
        """Check that the graph in the folder `data` is consistent."""
        with self._running(steps, "check", f"--report-path={self._folder}", data=data):
            pass

    @contextmanager
    def _running(
        self,
        steps: Steps,
        command: str,
        option: str,
        *,
        data: str = "data",
        stdin: int = subprocess.DEVNULL,
        stderr: int = subprocess.STDOUT,
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command until it ends, or the block fails; its messages are read meanwhile."""
        # Relative to the home: Neo4j's configuration has no quotes for the name of a home.
        (self._folder / "neo4j.conf").write_text(f"server.directories.data={data}\n", "utf-8")
        java = [
            str(self._java),
            f"@{self._arguments}",
            *_WARNINGS_TO_STDERR,
            home_argument(self._home),
            ADMIN_TOOL_CLASS,
        ]
        process = subprocess.Popen(  # noqa: S603 - the runtime that the server is started with
            [*java, "database", command, option, DATABASE],
            cwd=self._home,
            env=server_process.environment() | {"NEO4J_HOME": str(self._home), "NEO4J_CONF": str(self._folder)},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        lines: deque[str] = deque(maxlen=_KEPT_LINES)
        reader = Thread(target=read_output, args=(process.stderr or process.stdout, steps, lines), daemon=True)
        reader.start()
        try:
            yield process
            reader.join()
            code = process.wait()
        finally:
            process.kill()
            process.wait()
            reader.join()
            for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        if code:
            raise make_error(command, code, "\n".join(lines))


def read_output(pipe: Iterable[bytes], steps: Steps, lines: deque[str]) -> None:
    """Read what the tool says, line by line: how far it is, or something to keep."""
    for line in pipe:
        if share := _SHARE.search(line):
            steps.reach(float(share[1]) / 100)
        else:
            lines.append(line.decode("utf-8", "replace").rstrip())


def make_error(command: str, code: int, said: str) -> AdminError:
    """Make the error for a command that failed, of the reason among the tool's last messages."""
    failures = _FAILURE.findall(said)
    lines = (failures[-1] if failures else said).splitlines()
    reason = "; ".join(dict.fromkeys(line.strip() for line in lines if line.strip()))
    kind = NotClosedError if _NOT_CLOSED in said else AdminError
    return kind(f"Neo4j's `database {command}` failed (exit code {code}): {reason or 'it left no message'}")


def end_all(home: Path) -> None:
    """End the tools that work on a home, whose callers were killed."""
    for process in psutil.process_iter():
        command = server_process.own_command(process)
        if ADMIN_TOOL_CLASS in command and home_argument(home) in command:
            server_process.stop(process, patience_s=0)


def home_argument(home: Path) -> str:
    """Return the argument by which the tools of a home are known."""
    return f"-Dmemorygraph.home={os.fspath(home)}"
