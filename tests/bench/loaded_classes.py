"""Which of Neo4j's files a run needs: the size of each jar, and how many of its classes were loaded.

Every JVM that COMMAND starts, a run of the tests for one, writes down which classes it loads, into a file of its own in
the folder LOGS; without a command, the files that are there are counted. There is no start cache meanwhile: with one,
classes are loaded that nothing asks for. A jar without a loaded class may be needed all the same: for what it holds
besides, such as a page of Neo4j Browser, and on ways that the command did not go.

    python -m tests.bench.loaded_classes LOGS [COMMAND ...]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memorygraph.server.aot_cache import SWITCH
from memorygraph.server.artifacts import read_lock
from memorygraph.server.embedded import EmbeddedServer

OPTIONS = "_JAVA_OPTIONS"  # the JVM reads them last: Neo4j's admin tool is given an option that ends all logs before it
RECORDING = "-Xlog:class+load:file={logs}/%p-%t.log:none:filecount=0"
CLASS = re.compile(r"(?:META-INF/versions/\d+/)?(?P<name>(?!META-INF/).+)\.class")
SAYS_NOTHING = re.compile(r".*/|META-INF/(?!services/|native/).*|(?:.*/)?(?:LICENSE|NOTICE|rootdoc|module-info)[^/]*")


@dataclass(frozen=True, slots=True)
class Jar:
    """A file of Neo4j: its classes, how many of them were loaded, and how many files it holds besides."""

    name: str
    size: int
    classes: int
    loaded: int
    others: int

    def __str__(self) -> str:
        return f"{self.size:11,} {self.loaded:6} {self.classes:6} {self.others:6}  {self.name}"


def record(command: list[str], logs: Path) -> None:
    """Run a command whose JVMs write down which classes they load."""
    logs.mkdir(parents=True, exist_ok=True)
    given = {SWITCH: "off", OPTIONS: RECORDING.format(logs=logs)}
    ended = subprocess.run(command, env={**os.environ, **given}, check=False)
    print(f"# ended with {ended.returncode}: {' '.join(command)}", file=sys.stderr)


def read_logs(logs: Iterable[Path]) -> set[str]:
    """The names of all classes that the logs name."""
    return {line.partition(" ")[0] for log in logs for line in log.read_text("utf-8", "replace").splitlines()}


def read_jars(class_path: Iterable[Path], loaded: set[str]) -> Iterator[Jar]:
    """Count what each jar holds; a class that several have is the first one's, as for the JVM."""
    known: set[str] = set()
    for path in class_path:
        with zipfile.ZipFile(path) as jar:
            names = jar.namelist()
        classes = {found["name"].replace("/", ".") for name in names if (found := CLASS.fullmatch(name))} - known
        others = sum(not (CLASS.fullmatch(name) or SAYS_NOTHING.fullmatch(name)) for name in names)
        yield Jar(path.name, path.stat().st_size, len(classes), len(classes & loaded), others)
        known |= classes


def report(jars: list[Jar], runs: int) -> Iterator[str]:
    """Say what was loaded of each jar, the least needed last."""
    sizes = Counter({bool(jar.loaded): 0 for jar in jars})
    for jar in jars:
        sizes[bool(jar.loaded)] += jar.size
    unloaded = [jar for jar in jars if not jar.loaded]
    yield f"Neo4j {read_lock().version}: {len(jars)} files, {sizes.total():,} bytes; {runs} JVMs"
    yield f"no class loaded: {len(unloaded)} files, {sizes[False]:,} bytes, {sizes[False] / sizes.total():.1%} of all"
    yield "      bytes loaded     of others"
    yield from map(str, sorted(jars, key=lambda jar: (-jar.loaded, -jar.size)))


def main() -> None:
    """Run the command if there is one, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    logs = given.logs.resolve()
    if given.command:
        record(given.command, logs)
    written = sorted(logs.glob("*.log"))
    class_path = read_lock().class_path(EmbeddedServer().artifacts)
    print(*report([*read_jars(class_path, read_logs(written))], len(written)), sep="\n")


if __name__ == "__main__":
    main()
