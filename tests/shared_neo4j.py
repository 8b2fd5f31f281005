"""One Neo4j for a whole run of the tests, however many workers run them."""

from __future__ import annotations

import atexit
import json
import math
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import neo4j
import pytest
from filelock import FileLock

from memorygraph import EmbeddedServer
from memorygraph.graph.connection import Connection
from memorygraph.graph.schema import apply_schema
from memorygraph.server import settings
from memorygraph.server.aot_cache import SWITCH, AotCache, is_switched_on
from memorygraph.server.installation import install
from memorygraph.server.java import java_executable
from memorygraph.server.launch import WARMING
from tests.examples import profile
from tests.names import create_names, store_and_list, store_every_name

Address = tuple[str, tuple[str, str] | None]
"""Where Neo4j is, and the name and the password of its user."""

GiveSchema = Callable[[EmbeddedServer], EmbeddedServer]
"""The fixture `give_schema`."""

# Workers take it over from the environment of the process that starts them.
RUN = os.environ.setdefault("MEMORYGRAPH_TEST_RUN", uuid.uuid4().hex[:8])

# Servers of tests are used at once, by programs that do not wait for each other.
os.environ.setdefault(WARMING, "off")

MIN_FREE_BYTES = 8 * 2**30

JVM_SETTINGS = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""Java's second compiler works for hours to come, and took a third of what the server of a run needed.

All servers of the tests have the same options, and so one start cache; a test that adds one has none.
"""

PLANS_ARE_KEPT = """
internal.cypher.replan_algorithm=NONE
dbms.cypher.statistics_divergence_threshold=1
internal.cypher.expression_recompilation_limit=1000000
"""
"""Statistics change by orders of magnitude while tests fill a database, and Neo4j plans each query anew each time, and
once more with compiled expressions after ten runs: that was every third plan. `server/test_cold_plans.py` holds that
what was planned on an empty database is right later."""

MAX_MAKING_S = 240
MAX_EMPTYING_S = 60  # a part of the time that the last test of a module has

# A namespace that a test makes of another begins with the name of that.
_EMPTY = """
MATCH (node)
WITH node, coalesce(node.namespace, node.name) AS name
WHERE CASE WHEN name IS :: STRING NOT NULL THEN left(name, $size) IN $beginnings ELSE false END
WITH node LIMIT 5000
DETACH DELETE node
RETURN count(*) AS deleted
"""


def folder_in_memory() -> Path | None:
    """Where files are kept in memory, if there is room: each commit would wait for a disk."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free >= MIN_FREE_BYTES else None


@contextmanager
def quick_java(run: Path) -> Iterator[None]:
    """Have servers that start meanwhile be quick to start, and not to run for hours."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in JVM_SETTINGS.items():
            patch.setenv(name, value)
        if not has_start_cache(run):
            patch.setenv(SWITCH, "off")  # else each start would begin to make it
        yield


def has_start_cache(run: Path) -> bool:
    """Tell whether there is a start cache for this environment; the run makes it once where it is not there.

    It is kept beside Neo4j's files, as that of the developer is, and so found by the next run.
    """
    if not is_switched_on():
        return False
    artifacts, java = EmbeddedServer().artifacts, java_executable()
    with FileLock(run / "start-cache.lock"):
        class_path = install(artifacts)
        cache = AotCache.of(java, artifacts, class_path)
        found, tried = cache.find(), run / "start-cache.log"
        if not found and not tried.exists() and not take_plain_cache(cache, class_path):
            with tried.open("wb") as log, suppress(OSError, subprocess.TimeoutExpired):
                cache.folder.mkdir(mode=0o700, exist_ok=True)
                command = [sys.executable, "-m", "memorygraph.server.aot_training", str(java), str(artifacts), "0"]
                subprocess.run(command, stdout=log, stderr=log, timeout=MAX_MAKING_S, check=False)
            found = cache.find()
        return found is not None


def take_plain_cache(cache: AotCache, class_path: list[Path]) -> bool:
    """Take the cache of a server with all compilers, which is made with the first alone, where a start has begun it.

    A command before the tests may have: then there is one to be made, and not two, of which the second waits in vain
    for the first.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in JVM_SETTINGS:
            patch.delenv(name, raising=False)
        plain = AotCache.of(cache.java, cache.artifacts, class_path)
    if plain.folder.is_dir() and plain.is_being_made():
        plain.await_made(MAX_MAKING_S)
    if found := plain.find():
        cache.keep(Path(shutil.copy(found, cache.folder / "taken")))
    return found is not None


def give_schema(run: Path, server: EmbeddedServer) -> EmbeddedServer:
    """Give a server with an empty home a database that has the schema and nothing else.

    It takes as long to apply as a start: the run does it once, and copies the home of a server that was stopped. Each
    copy has ports and a certificate of its own: tests that run side by side would take each other's.
    """
    with FileLock(run / "with-schema.lock"):
        made = run / "with-schema"
        if not made.exists():
            template = EmbeddedServer(run / "making-schema", server.artifacts)
            with quick_java(run):
                status = template.up()
            try:
                with Connection(status.bolt_uri or "", (status.username, template.password())) as connection:
                    apply_schema(connection)
            finally:
                template.down()
            template.home.rename(made)
    own = shutil.ignore_patterns("logs", "conf", "certificates")
    shutil.copytree(made, server.home, ignore=own, dirs_exist_ok=True)
    return server


_made: list[str] = []


def new_namespace() -> str:
    """A name that no other namespace has; what is stored in it need not be deleted (see `empty_namespaces`)."""
    _made.append(f"test-{RUN}-{uuid.uuid4().hex[:16]}")
    return _made[-1]


class SharedNeo4j:
    """The Neo4j of the run that has this folder: that of NEO4J_URI, else an embedded server with data of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._home = folder / "home"
        self._known = folder / "address.json"
        self._names = folder / "names.json"
        self._plans = folder / "plans"

    def address(self) -> Address:
        """Where it is; the first worker that asks starts it, applies the schema and makes every name."""
        with FileLock(self._folder / "lock"):
            if not self._known.exists():
                uri, auth = _given() or self._start()
                with Connection(uri, auth) as connection:
                    apply_schema(connection)
                    if profile() != "ordinary" and not _given():
                        self._names.write_text(json.dumps(store_and_list(connection)), "utf-8")
                        self._plans.touch()
                    create_names(connection)
                self._known.write_text(json.dumps([uri, auth]), "utf-8")
        uri, auth = json.loads(self._known.read_text("utf-8"))
        return uri, tuple(auth) if auth else None

    def make_plans(self) -> None:
        """Have Neo4j plan what the package stores, by storing one of each thing, once in a run."""
        uri, auth = self.address()
        with FileLock(self._folder / "plans.lock"):
            if not self._plans.exists():
                with Connection(uri, auth) as connection:
                    store_every_name(connection)
                self._plans.touch()

    def stored_names(self) -> dict[str, list[str]] | None:
        """The names that were stored in the whole check before anything else was; None in another run."""
        if not self._names.exists():
            return None
        stored: dict[str, list[str]] = json.loads(self._names.read_text("utf-8"))
        return stored

    def stop(self) -> None:
        """Stop the server of the run; of a server of somebody else, delete all namespaces of the run."""
        try:
            if self._home.exists():
                EmbeddedServer(self._home).down()
            elif self._known.exists():
                self._empty([f"test-{RUN}-"])
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def empty_namespaces(self) -> None:
        """Empty what this process has made: what looks at all nodes takes longer with each of them.

        What is left after `MAX_EMPTYING_S` stays.
        """
        if _made and self._known.exists():
            with suppress(neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError):  # then it is only slower
                self._empty(_made, MAX_EMPTYING_S)
        _made.clear()

    def _empty(self, beginnings: list[str], within_s: float = math.inf) -> None:
        """Delete what is in the namespaces whose names begin so; the beginnings are equally long."""
        driver, until = _driver(*self.address()), time.monotonic() + within_s
        while time.monotonic() < until:
            if not driver.execute_query(_EMPTY, size=len(beginnings[0]), beginnings=beginnings).records[0]["deleted"]:
                return

    def _start(self) -> Address:
        """Start the embedded server; its program files are those of the developer's home, and downloaded once."""
        embedded = EmbeddedServer(self._home, EmbeddedServer().artifacts)
        with quick_java(self._folder), pytest.MonkeyPatch.context() as patch:
            patch.setattr(settings, "SETTINGS", settings.SETTINGS + PLANS_ARE_KEPT)
            status = embedded.up()
        assert status.bolt_uri
        return status.bolt_uri, (status.username, embedded.password())


@cache
def _driver(uri: str, auth: tuple[str, str] | None) -> neo4j.Driver:
    driver = neo4j.GraphDatabase.driver(uri, auth=auth, max_connection_pool_size=1)
    atexit.register(driver.close)
    return driver


def _given() -> Address | None:
    uri = os.environ.get("NEO4J_URI")
    password = os.environ.get("NEO4J_PASSWORD")
    user = os.environ.get("NEO4J_USERNAME", "neo4j")
    return (uri, (user, password) if password else None) if uri else None
