"""What becomes of one load that changes or deletes very much: it is done in one transaction, or refused at once.

Also what is said then, and that an export whose reader goes away ends.

    python -m tests.bench.large_changes [--elements N ...]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from memorygraph import MemoryGraph
from memorygraph.errors import MemoryGraphError

BATCH = 10_000


def write_nodes(path: Path, count: int, data: str) -> None:
    """Write a script that declares so many nodes."""
    path.write_text("".join(f'Node(node_id="n{i}", name="node {i}", data="{data} {i}");\n' for i in range(count)))


def write_deletes(path: Path, count: int) -> None:
    """Write a script that deletes them."""
    path.write_text("".join(f"del(id=n{i});\n" for i in range(count)))


def load(graph: MemoryGraph, title: str, path: Path, batch: int | None = None) -> None:
    """Load a file, and print how long that took, or how soon it was refused and in which words."""
    told: list[int] = []
    began = time.perf_counter()
    try:
        report = graph.load_file(path, batch=batch, progress=told.append)
        said = f"{report.nodes_created} created, {report.nodes_updated} updated, {report.nodes_deleted} deleted"
    except MemoryGraphError as error:
        said = f"refused with {max(told, default=0)} rows written: {str(error).splitlines()[0]}"
    print(f"  {title}: {time.perf_counter() - began:.1f} s, {said}", flush=True)


def export(namespace: str, reader: str) -> None:
    """Export into a program that reads, and print how long that took."""
    began = time.perf_counter()
    command = f'"{sys.executable}" -m memorygraph -n {namespace} export | {reader}'
    subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    print(f"  export | {reader}: {time.perf_counter() - began:.1f} s", flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, nargs="+", default=[100_000, 200_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nodes.ctx"
        for count in options.elements:
            print(f"{count} nodes:")
            with MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex[:8]}") as graph:
                write_nodes(path, count, "first")
                load(graph, f"made with --batch {BATCH}", path, BATCH)
                write_nodes(path, count, "second")
                load(graph, "all changed in one load", path)
                write_nodes(path, count, "third")
                load(graph, f"all changed with --batch {BATCH}", path, BATCH)
                export(graph.namespace, "cat")
                export(graph.namespace, "head")
                write_deletes(path, count)
                load(graph, "all deleted in one load", path)
                if graph.ids(limit=1):
                    load(graph, f"all deleted with --batch {BATCH}", path, BATCH)
                graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    main()
