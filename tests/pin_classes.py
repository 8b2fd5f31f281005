"""Writes `neo4j.classes.xz` anew, after a change of Neo4j or Java: `python -m tests.pin_classes`.

It runs a Neo4j of its own on a temporary graph, with what a user's first commands do, and the JVM writes down which
classes it loads (a minute). A list that does not quite fit is no fault: a class that is missing from it, or from Neo4j,
is loaded as without a cache.
"""

from __future__ import annotations

import lzma
import sys
import tempfile
import urllib.request
from dataclasses import replace
from pathlib import Path

from memorygraph.client import MemoryGraph
from memorygraph.server import process as server_process
from memorygraph.server.aot_cache import CLASS_LIST
from memorygraph.server.artifacts import DownloadProgress, read_lock
from memorygraph.server.embedded import EmbeddedServer
from memorygraph.server.launch import Launch
from memorygraph.server.settings import Endpoints

PROGRAM = """\
Node(node_id="a", name="the first", data="one");
Node(node_id="b", name="the second", data="two");
Edge(edge_id="c", from_node="a", to_node="b", verb="precedes", weight=1);
"""
CHANGE = """\
Node(node_id="a", name="the first", data="three");
del(id="c");
"""


class RecordingServer(EmbeddedServer):
    """A Neo4j that writes down which classes it loads."""

    def __init__(self, home: Path, artifacts: Path) -> None:
        super().__init__(home, artifacts)
        self.classes = home / "classes"
        self._files.configure(Endpoints(*server_process.free_ports(), read_lock().version))

    def _prepare(self, progress: DownloadProgress | None) -> Launch:
        record = ["-Xshare:auto", f"-XX:DumpLoadedClassList={self.classes}"]
        return replace(super()._prepare(progress), choose_options=lambda _cache: record)


def exercise(server: EmbeddedServer) -> None:
    """Do what the first commands after a start do: the schema, writes, and reads of each kind."""
    with MemoryGraph.connect(server=server, namespace="first") as graph:
        loaded = graph.load(PROGRAM)
        graph.node("a")
        graph.search("first", limit=3)
        graph.neighbours("a", depth=2)
        graph.recall("which is the second?")
        changed = graph.load(CHANGE)
        graph.history("a")
        graph.undo(changed.revision or loaded.revision)
        graph.namespaces()
    status = server.find()
    with urllib.request.urlopen(str(status.browser_url)) as page:
        page.read()


def write_class_list(artifacts: Path, path: Path = CLASS_LIST) -> int:
    """Record the classes, and return how many lines the list has."""
    with tempfile.TemporaryDirectory() as folder:
        server = RecordingServer(Path(folder).resolve(), artifacts)
        try:
            server.up()
            exercise(server)
        finally:
            server.down()
        text = server.classes.read_bytes()
    path.write_bytes(lzma.compress(text, preset=lzma.PRESET_EXTREME | 9))
    return text.count(b"\n")


if __name__ == "__main__":
    sys.stderr.write(f"{write_class_list(EmbeddedServer().artifacts)} lines in {CLASS_LIST.name}\n")
