"""Writes `neo4j.lock` anew, after a change of `ROOTS`: `python -m memorygraph.server.pin_artifacts`.

It resolves `ROOTS` with jgo, downloads every file, and pins its coordinate, sha256 and size (two minutes), in the order
of the coordinates: this is the order of the class path, and stable.
"""

from __future__ import annotations

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from jgo.maven import Dependency, MavenContext

from memorygraph.server.artifacts import LOCK_FILE, THREADS, Artifact, Lock, sha256_of
from memorygraph.server.downloads import repositories

ROOTS = ("org.neo4j:neo4j:2026.08.1", "org.neo4j.client:neo4j-browser:5.24.0")

# Libraries of tests that some of the published descriptions declare in a scope of the program.
TEST_ONLY = frozenset(
    {
        "junit:junit",
        "net.bytebuddy:byte-buddy",
        "net.bytebuddy:byte-buddy-agent",
        "org.hamcrest:hamcrest",
        "org.mockito:mockito-core",
        "org.objenesis:objenesis",
    }
)

# Neo4j needs it to make certificates of its own. Where it is on the class path, Java makes all of it at each start, as
# it looks for providers of cryptography that its runtime lacks, and Netty does at the first connection: a second.
BOUNCY_CASTLE = frozenset(f"org.bouncycastle:{name}-jdk18on" for name in ("bcpkix", "bcprov", "bcutil"))

# 22 of 174 MB, of which a run of the tests loads no class (tests/bench/results/loaded-classes.txt). Of the files that
# are left, only the import of Parquet files by `neo4j-admin` names any of them, and nothing here starts that; nothing
# names scala-reflect, with which macros are compiled. For another version, `tests/bench/loaded_classes.py` tells.
PARQUET = frozenset(
    {
        "blue.strategic.parquet:parquet-floor",
        "com.google.code.gson:gson",
        "commons-pool:commons-pool",
        "org.apache.hadoop:hadoop-common",
        "org.apache.parquet:parquet-column",
        "org.apache.parquet:parquet-common",
        "org.apache.parquet:parquet-encoding",
        "org.apache.parquet:parquet-format-structures",
        "org.apache.parquet:parquet-hadoop",
        "org.apache.parquet:parquet-jackson",
        "org.locationtech.jts:jts-core",
        "org.xerial.snappy:snappy-java",
    }
)
NOT_USED = BOUNCY_CASTLE | PARQUET | {"org.scala-lang:scala-reflect"}


def write_lock() -> Lock:
    """Resolve, download and pin everything that `ROOTS` need."""
    with tempfile.TemporaryDirectory() as folder:
        context = MavenContext(repo_cache=Path(folder), remote_repos=repositories(), timeout=60)

        def pin(coordinate: str) -> Artifact:
            unpinned = Artifact.parse(f"{coordinate} - 0")
            component = context.project(unpinned.group, unpinned.name).at_version(unpinned.version)
            file = component.artifact(classifier=unpinned.classifier).resolve()
            return replace(unpinned, sha256=sha256_of(file), size=file.stat().st_size)

        with ThreadPoolExecutor(THREADS) as pool:
            artifacts = tuple(pool.map(pin, sorted(resolve_coordinates(context))))
    lock = Lock(ROOTS[0].rpartition(":")[2], artifacts)
    heading = ["# Written by python -m memorygraph.server.pin_artifacts", f"neo4j {lock.version}"]
    LOCK_FILE.write_text("\n".join([*heading, *map(str, artifacts)]) + "\n", "utf-8")
    return lock


def resolve_coordinates(context: MavenContext) -> set[str]:
    """List the coordinates of `ROOTS` and of all that they need to run."""
    roots = [Dependency(context.create_dependency(root).artifact, scope="compile") for root in ROOTS]
    inputs, transitive = context.resolver.resolve(roots)
    keys = [dependency.artifact.key for dependency in [*inputs, *transitive]]
    return {
        ":".join(filter(None, (group, name, version, classifier)))
        for group, name, version, classifier, _packaging in keys
        if f"{group}:{name}" not in TEST_ONLY | NOT_USED
    }


if __name__ == "__main__":
    sys.stderr.write(f"{len(write_lock().artifacts)} files pinned in {LOCK_FILE.name}\n")
