"""`sh://` and `sh://COMMAND ARGUMENTS`: commands, run in the script's folder.

`sh://git log` is one command: `T.run("-n", "3")` adds arguments to it, and no shell reads them. With a bare `sh://`,
`T.run("ls -l | wc -l")` is a line for `/bin/sh`, and `T.run("ls", "-l")` is again a command and its arguments.
"""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from memorygraph.errors import MemoryGraphError
from memorygraph.json_text import HALF_CHARACTER
from memorygraph.limits import require_running
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools.descendants import ending_descendants
from memorygraph.runtime.tools.tool import MAX_BYTES, ImportedTool, ToolResult
from memorygraph.runtime.values import describe_type, write_number

SECONDS = 60.0
_PAUSE_SECONDS = 0.02

# What a command may know of our environment: enough to find programs and folders, and no password or key.
_KEPT = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "LANG", "LANGUAGE", "TMPDIR", "TMP", "TEMP"}


def child_environment() -> dict[str, str]:
    """The environment of a process that a program starts: without our passwords and keys.

    >>> "NEO4J_PASSWORD" in child_environment()
    False
    """
    return {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("LC_")}


class ShellTool(ImportedTool):
    """`run(…)` gives `{stdout, stderr, code}`, whatever the exit code is.

    A command that takes longer than 60 seconds or writes more than 10 MB is stopped and has failed. When the call
    ends, so do the processes that it left behind, also those that have left its session.
    """

    METHODS = ("run",)

    def __init__(self, name: str, uri: str, folder: Path, permissions: Permissions) -> None:
        super().__init__(name, uri, folder, permissions)
        self._command = command_words(self.rest)

    def run(self, *arguments: Any) -> ToolResult:
        """Run the command to its end."""
        words = self._command + [argument_word(argument) for argument in arguments]
        if not words or not words[0]:
            raise MemoryGraphError("`run` takes a command")
        if len(words) == 1 and not self._command:
            words = ["/bin/sh", "-c", *words]
        with ending_descendants(child_environment()) as environment:
            try:
                process = subprocess.Popen(  # noqa: S603 - this is what the user has allowed
                    words,
                    cwd=self.folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except FileNotFoundError:
                raise MemoryGraphError(f"there is no command `{words[0]}`") from None
            with kill_group_after(process):
                outputs = read_outputs(process)
        stdout, stderr = (output.decode("utf-8", "replace") for output in outputs)
        code = process.returncode
        return ToolResult({"stdout": stdout, "stderr": stderr, "code": code}, {"exit_code": code})


def command_words(text: str) -> list[str]:
    """Split a command into words, as a shell does; a shell's signs mean nothing else."""
    if "\0" in text or HALF_CHARACTER.search(text):
        raise MemoryGraphError("a command holds no null character and no half character")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise MemoryGraphError(f"the command cannot be read: {str(error).lower()}") from None


def argument_word(value: Any) -> str:
    """Write an argument as a word of a command; numbers without a fraction are whole."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise MemoryGraphError(f"an argument of a command is a text or a number, and this is {describe_type(value)}")
    word = value if isinstance(value, str) else write_number(value, "an argument of a command")
    if "\0" in word or HALF_CHARACTER.search(word):
        raise MemoryGraphError("an argument of a command holds no null character and no half character")
    return word


@contextmanager
def kill_group_after(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the process and its group after the block, whatever happens.

    The group is killed before its first process is waited for: until then, no other process can get its number.
    """
    try:
        yield
    finally:
        # macOS refuses a signal to a group of which only its first process is left, which has ended.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            cast(IO[bytes], stream).close()


def read_outputs(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Read what a process writes until it ends, or until its pipes are closed."""
    streams = (cast(IO[bytes], process.stdout), cast(IO[bytes], process.stderr))
    collected = {stream.fileno(): bytearray() for stream in streams}
    deadline = time.monotonic() + SECONDS
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        ended = False
        while not ended or selector.get_map():
            ready = selector.select(0 if ended else _PAUSE_SECONDS)
            if ended and not ready:
                break  # a process that it left running still holds the pipe, and writes nothing now
            for key, _ in ready:
                chunk = os.read(key.fd, 65536)
                collected[key.fd] += chunk
                if not chunk:
                    selector.unregister(key.fd)
                if len(collected[key.fd]) > MAX_BYTES:
                    raise MemoryGraphError(f"it wrote more than {MAX_BYTES:,} bytes and was stopped")
            require_running()
            if time.monotonic() > deadline:
                raise MemoryGraphError(f"it took longer than {SECONDS:g} seconds and was stopped")
            ended = ended or has_ended(process)
            if not selector.get_map() and not ended:
                time.sleep(_PAUSE_SECONDS)
    stdout, stderr = (bytes(output) for output in collected.values())
    return stdout, stderr


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has ended; where that can be told so, its exit code is not taken, and its number stays its own.

    Python has no `waitid` on macOS before its version 3.13.
    """
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
