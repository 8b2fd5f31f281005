"""Examines the database that is used: whether it can be reached and logged in to, and what is in it."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import Connection
from memorygraph.graph.schema import index_problems
from memorygraph.library import CYPHER
from memorygraph.server import process as server_process
from memorygraph.server.artifacts import read_lock
from memorygraph.server.findings import Diagnosis

CONNECT_TIMEOUT_S = 5.0
MAX_CLOCK_DIFFERENCE_S = 60.0
URI_VARIABLE = "NEO4J_URI"
WITHOUT_URI = "without NEO4J_URI the embedded server is used"
LIKE = f"it is like neo4j://host:7687; {WITHOUT_URI}"


@dataclass(frozen=True)
class Database:
    """Where a database is, and how to log in; None without a password."""

    uri: str
    auth: tuple[str, str] | None = field(default=None, repr=False)
    name: str | None = None


def examine_named(database: Database) -> list[Diagnosis]:
    """Examine the server that NEO4J_URI or --uri names."""
    try:
        parts = urlsplit(database.uri)
        host, port = parts.hostname or "", parts.port or server_process.DEFAULT_BOLT_PORT
    except ValueError:
        return [Diagnosis.failed(URI_VARIABLE, "it is not an address", LIKE)]
    place = f"{host or 'a server without a name'}:{port}"
    if not parts.scheme.startswith(("bolt", "neo4j", "http")) or not host:
        return [Diagnosis.failed(URI_VARIABLE, f"it is not the address of a Neo4j: {place}", LIKE)]
    try:
        socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S).close()
    except OSError as error:
        step = f"start that server or correct NEO4J_URI; {WITHOUT_URI}"
        return [Diagnosis.failed(URI_VARIABLE, f"{place} cannot be reached: {error.strerror or error}", step)]
    found = examine_content(database)
    if len(found) == 1 and not found[0].ok:
        step = "check NEO4J_USERNAME, NEO4J_PASSWORD and NEO4J_DATABASE"
        if database.auth is None:
            step = "set NEO4J_PASSWORD, and NEO4J_USERNAME where that is not neo4j"
        return [Diagnosis.failed(URI_VARIABLE, f"{place} takes connections, but {found[0].detail}", step)]
    unchecked = "use +s where you can: +ssc encrypts, and does not check whom it talks to"
    detail = f"{place} lets you in{'' if database.auth else ' without a password'}"
    return [Diagnosis.passed(URI_VARIABLE, detail, unchecked if "+ssc" in parts.scheme else None), *found]


def examine_content(database: Database) -> list[Diagnosis]:
    """Examine the version, the schema and the clock of a server; without a login one finding says why."""
    try:
        connection = Connection(database.uri, database.auth, database.name, connection_timeout=CONNECT_TIMEOUT_S)
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
    [row] = connection.read(CYPHER["schema/applied-migrations"]())
    applied = set(row["names"])
    unknown = sorted(applied - {name for name, _ in known})
    done = [(name, commands) for name, commands in known if name in applied]
    detail = f"{len(done)} of {len(known)} migrations applied"
    step = None if len(done) == len(known) else "the next command that uses the graph applies the others"
    if unknown:
        detail += f", and {len(unknown)} that this memorygraph does not know ({', '.join(unknown)})"
        step = "a newer memorygraph has used this database: bring this one up to date"
    problems = "; ".join(index_problems(connection, done))
    indexes = Diagnosis("search indexes", ok=not problems, detail=problems or "as the schema wants them")
    return [Diagnosis.passed("schema", detail, step), indexes]


def examine_server_clock(ahead_s: float) -> Diagnosis:
    """Judge a server's clock by how many seconds it is ahead of ours."""
    side = "ahead of" if ahead_s > 0 else "behind"
    difference = f"the server's is {abs(ahead_s):.1f} s {side} it"
    detail = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC here; {difference}"
    if abs(ahead_s) <= MAX_CLOCK_DIFFERENCE_S:
        return Diagnosis.passed("server clock", detail)
    return Diagnosis.failed("server clock", detail, "set both clocks: the order of changes is told by the server's")
