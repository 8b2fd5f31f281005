"""Real Neo4j servers in homes that go away, and Python programs that do not outlive their test."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import psutil
import pytest

from memorygraph.server import available_memory
from memorygraph.server import process as server_process
from memorygraph.server.embedded import EmbeddedServer
from memorygraph.server.installation import install

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def artifacts() -> Path:
    """The developer's own copy of Neo4j's files, downloaded there once."""
    folder = EmbeddedServer().artifacts
    install(folder)
    return folder


@pytest.fixture
def run_python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start Python programs as processes of their own; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def run(code: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def make_server(artifacts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], EmbeddedServer]]:
    """Make servers in homes of their own; all are stopped at the end, however the tests end."""
    homes: list[Path] = []

    def make() -> EmbeddedServer:
        homes.append(tmp_path_factory.mktemp("home with a blank and ü"))
        return EmbeddedServer(homes[-1], artifacts)

    yield make
    for home in homes:
        while process := server_process.find_server(home.resolve()):
            process.kill()
            process.wait(10)


@pytest.fixture
def memory_to_spare(monkeypatch: pytest.MonkeyPatch) -> None:
    """All memory of this machine is available, whatever other programs leave of it, and no container limits it."""
    machine = psutil.virtual_memory()
    spare = SimpleNamespace(virtual_memory=lambda: machine._replace(available=machine.total))
    monkeypatch.setattr(available_memory, "psutil", spare)
    monkeypatch.setattr(available_memory, "CGROUPS", Path("/nowhere"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mounted)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    with ExitStack() as undone:
        undone.callback(subprocess.run, ["umount", "-l", str(mounted)], check=False)
        yield mounted
