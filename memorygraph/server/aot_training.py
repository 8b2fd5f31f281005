"""Makes the AOT cache of the embedded Neo4j: `python -m memorygraph.server.aot_training JAVA ARTIFACTS`.

`aot_cache.py` starts this after a start that had no cache. It runs a Neo4j of its own, on a temporary graph and unusual
ports, with what a user's first commands do, and the JVM records the classes that it loads. It may be killed at any
moment: one training runs at a time, the next one clears up after it, and the cache takes its name when it is finished.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from memorygraph.graph.connection import Connection
from memorygraph.graph.elements import find_neighbours, search
from memorygraph.graph.loads import Loader
from memorygraph.graph.namespace import Namespace, list_namespaces
from memorygraph.graph.schema import apply_schema
from memorygraph.languages import parse
from memorygraph.server import process as server_process
from memorygraph.server.aot_cache import CACHE_FLAGS, AotCache, aot_folder, has_means
from memorygraph.server.artifacts import DownloadProgress, not_genuine, read_lock
from memorygraph.server.embedded import EmbeddedServer
from memorygraph.server.launch import Launch
from memorygraph.server.settings import USERNAME, Endpoints, jvm_arguments

DELAY_S = 10.0  # what the user does right after a start goes first
TIME_LIMIT_S = 900
PROGRAM = """\
Node(node_id="a", name="the first", data="one");
Node(node_id="b", name="the second", data="two");
Edge(edge_id="c", from_node="a", to_node="b", verb="precedes", weight=1);
"""


class TrainingServer(EmbeddedServer):
    """A Neo4j on a temporary graph."""

    def __init__(self, home: Path, cache: AotCache, time_limit_s: float) -> None:
        super().__init__(home, cache.artifacts)
        self.notes = home / "classes"
        self._limit_s = max(1, int(time_limit_s))

    def clear(self) -> None:
        """End the server that a killed training has left, and remove its graph."""
        while left := server_process.find_server(self.home):
            server_process.stop(left, patience_s=0)
        shutil.rmtree(self.home, ignore_errors=True)

    def take_unusual_ports(self) -> None:
        """Leave the usual ports to other servers."""
        self._files.configure(Endpoints(*server_process.free_ports(), read_lock().version))

    def _prepare(self, progress: DownloadProgress | None) -> Launch:
        record = [*CACHE_FLAGS, "-XX:AOTMode=record", f"-XX:AOTConfiguration={self.notes}"]
        return replace(super()._prepare(progress), process_limit_s=self._limit_s, cache_options=lambda _cache: record)


def train(cache: AotCache, class_path: Sequence[Path], time_limit_s: float = TIME_LIMIT_S) -> Path:
    """Make a cache, and return where it is kept; only one process may do so at a time."""
    until = time.monotonic() + time_limit_s
    server = TrainingServer(cache.folder / "training", cache, time_limit_s)
    server.clear()
    try:
        server.take_unusual_ports()
        server.up(timeout_s=time_limit_s)
        exercise(server)
        if process := server_process.find_server(server.home):
            # The JVM writes its record when it ends cleanly.
            server_process.stop(process, patience_s=max(1.0, until - time.monotonic()))
        made = create_cache(cache, server, class_path, until)
        if AotCache.of(cache.java, cache.artifacts, class_path) != cache:
            raise RuntimeError("Java or the class path changed during the training")
        return cache.keep(made)
    finally:
        server.clear()


def exercise(server: TrainingServer) -> None:
    """Do what the first commands after a start do: the schema, a write, and a few reads."""
    status = server.status()
    if status.bolt_uri is None:
        raise RuntimeError("the server of the training has ended")
    auth = (USERNAME, server.password())
    with Connection(status.bolt_uri, auth, certificate=status.certificate_file) as connection:
        apply_schema(connection)
        training = Namespace(connection, "training")
        Loader(training).load(parse(PROGRAM))
        search(training, "first", limit=3)
        find_neighbours(training, "a", depth=2)
        list_namespaces(connection)


def create_cache(cache: AotCache, server: TrainingServer, class_path: Sequence[Path], until: float) -> Path:
    """Make a cache from the JVM's record."""
    if not server.notes.exists():
        raise RuntimeError("the JVM of the training left no notes")
    made = server.home / "cache"
    options = [*CACHE_FLAGS, "-XX:AOTMode=create", f"-XX:AOTConfiguration={server.notes}", f"-XX:AOTCache={made}"]
    arguments = server.home / "assembly.args"
    arguments.write_text(jvm_arguments(class_path, server.logs, options), "utf-8")
    left_s = max(1, int(until - time.monotonic()))
    subprocess.run(  # noqa: S603 - the runtime that the server was started with
        [str(cache.java), f"@{arguments}"],
        stdin=subprocess.DEVNULL,
        timeout=left_s,
        check=True,
        preexec_fn=server_process.background(left_s),
    )
    return made


def run_training(java: Path, artifacts: Path, delay_s: float) -> None:
    """Make the cache that fits, unless it exists, failed lately, is being made, or the machine lacks the means."""
    from filelock import FileLock, Timeout

    server_process.give_way()
    with contextlib.suppress(Timeout), FileLock(aot_folder(artifacts) / "lock", timeout=0):
        time.sleep(delay_s)
        lock = read_lock()
        if not_genuine(artifacts, lock):
            return
        class_path = lock.class_path(artifacts)
        cache = AotCache.of(java, artifacts, class_path)
        if cache.find() or cache.has_failed_lately() or not has_means(cache.folder):
            return
        try:
            print(train(cache, class_path))
        except BaseException as error:
            cache.fail(f"{type(error).__name__}: {error}")
            raise


if __name__ == "__main__":
    run_training(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else DELAY_S)
