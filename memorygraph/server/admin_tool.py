"""Neo4j's own tool for a database that no server has open: it dumps, loads and checks the graph of a home.

It reads and writes dumps through pipes, so that none has to be laid down before it is where it belongs. It is known
by its command line, as the server is: when its caller was killed, `end_all` finds it.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import IO, Protocol

from memorygraph.errors import ConnectionError
from memorygraph.server import process as server_process
from memorygraph.server.settings import jvm_arguments

ADMIN_TOOL_CLASS = "org.neo4j.cli.AdminTool"
DATABASE = "neo4j"
PIECE_BYTES = 1 << 20

# A dump is what the tool writes to stdout, where Java would put warnings of its own between.
_WARNINGS_TO_STDERR = ("-XX:+DisplayVMOutputToStderr", "-Xlog:disable", "-Xlog:all=warning:stderr")

_SHARE = re.compile(rb"(\d+(?:\.\d+)?)%\s*$")
_FAILURE = re.compile(r"Command Failed\n(.*?)\n-{20,}", re.DOTALL)
# What the tool says of a database whose server was killed.
_NOT_CLOSED = "Active logical log"
_KEPT_LINES = 60


class Steps(Protocol):
    """What wants to know how far long work is."""

    def begin(self, title: str) -> None:
        """A step begins, and the one before it is done."""

    def reach(self, share: float) -> None:
        """So much of the step is done, between 0 and 1."""


class Sink(Protocol):
    """What takes a dump."""

    def write(self, piece: bytes, /) -> object:
        """Take a piece of it."""


class AdminError(ConnectionError):
    """The tool has failed; the message holds what it said."""


class NotClosedError(AdminError):
    """The server was killed: it has to be started and stopped once, before the tool can work on its database."""


class AdminTool:
    """The tool for one home.

    `folder` takes its configuration and its reports. `data` is the folder of the data, from the home: paths in a
    configuration of Neo4j are not quoted, and a home can be called anything.
    """

    def __init__(self, java: Path, class_path: list[Path], home: Path, folder: Path) -> None:
        self._java = java
        self._home = home
        self._folder = folder
        self._arguments = folder / "jvm.args"
        self._arguments.write_text(jvm_arguments(class_path, folder), "utf-8")

    def dump(self, target: Sink, steps: Steps) -> None:
        """Write a dump of the graph.

        Raises:
            NotClosedError: the server did not stop cleanly.
            AdminError: Neo4j could not write it.
        """
        with self._running(steps, "dump", "--to-stdout", output=True) as process:
            dump = _given(process.stdout)
            while piece := dump.read(PIECE_BYTES):
                target.write(piece)

    def load(self, source: IO[bytes], data: str, steps: Steps) -> None:
        """Make a graph in the folder `data` from a dump.

        Raises:
            AdminError: Neo4j could not read it, or had no room.
        """
        with self._running(steps, "load", "--from-stdin", data=data, input_=True) as process:
            dump = _given(process.stdin)
            with contextlib.suppress(BrokenPipeError):  # it has failed, and says why
                while piece := source.read(PIECE_BYTES):
                    dump.write(piece)
            with contextlib.suppress(BrokenPipeError):
                dump.close()

    def check(self, data: str, steps: Steps) -> None:
        """Check that everything in the graph of the folder `data` fits together.

        Raises:
            AdminError: it does not.
        """
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
        output: bool = False,
        input_: bool = False,
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command until it ends, or the block fails; its messages are read meanwhile."""
        (self._folder / "neo4j.conf").write_text(f"server.directories.data={data}\n", "utf-8")
        process = subprocess.Popen(  # noqa: S603 - the runtime that the server is started with
            [
                str(self._java),
                f"@{self._arguments}",
                *_WARNINGS_TO_STDERR,
                _home_argument(self._home),
                ADMIN_TOOL_CLASS,
                "database",
                command,
                option,
                DATABASE,
            ],
            cwd=self._home,
            env=server_process.environment() | {"NEO4J_HOME": str(self._home), "NEO4J_CONF": str(self._folder)},
            stdin=subprocess.PIPE if input_ else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if output else subprocess.STDOUT,
        )
        messages = _Messages(_given(process.stderr if output else process.stdout), steps)
        try:
            yield process
            messages.wait()
            code = process.wait()
        finally:
            process.kill()
            process.wait()
            messages.wait()
            for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        if code:
            raise messages.error(command, code)


class _Messages:
    """What the tool says: how far it is, and why it failed."""

    def __init__(self, pipe: IO[bytes], steps: Steps) -> None:
        self._pipe = pipe
        self._steps = steps
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until everything is read."""
        self._thread.join()

    def error(self, command: str, code: int) -> AdminError:
        """The error that stands for a failure."""
        said = "\n".join(self._lines)
        failures = _FAILURE.findall(said)
        lines = (failures[-1] if failures else said).splitlines()
        reason = "; ".join(dict.fromkeys(line.strip() for line in lines if line.strip()))
        kind = NotClosedError if _NOT_CLOSED in said else AdminError
        return kind(f"Neo4j's `database {command}` failed (exit code {code}): {reason or 'it left no message'}")

    def _read(self) -> None:
        for line in self._pipe:
            if share := _SHARE.search(line):
                self._steps.reach(float(share[1]) / 100)
            else:
                self._lines.append(line.decode("utf-8", "replace").rstrip())


def end_all(home: Path) -> None:
    """End the tools that work on a home, whose callers were killed."""
    psutil = server_process.import_psutil()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            command = process.cmdline()
            if ADMIN_TOOL_CLASS in command and _home_argument(home) in command:
                server_process.stop(process, patience_s=0)


def _given(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("a pipe that was asked for is missing")
    return pipe


def _home_argument(home: Path) -> str:
    return f"-Dmemorygraph.home={os.fspath(home)}"
