"""The files of the embedded Neo4j, pinned in `neo4j.lock` by coordinate, sha256 and size.

A file enters the folder of the class path only after it was compared with its pin. The class path is made from the lock
and never from a listing of the folder, and every file on it is hashed again before each start.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

LOCK_FILE = Path(__file__).with_name("neo4j.lock")
THREADS = 8


class DownloadProgress(Protocol):
    """Receives the progress of a download, in bytes."""

    def total(self, n: int) -> None:
        """Announce the size of the whole download; called once, before the first `advance`."""

    def advance(self, n: int) -> None:
        """Count bytes that have arrived; `n` is negative when a failed attempt starts over."""


def sha256_of(path: Path) -> str:
    """Hash a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Artifact:
    """One pinned file, as it was signed and published.

    >>> Artifact.parse("org.neo4j:neo4j:2026.08.1 00ff 12").file_name
    'neo4j-2026.08.1.jar'
    """

    group: str
    name: str
    version: str
    classifier: str
    sha256: str
    size: int

    @classmethod
    def parse(cls, line: str) -> Artifact:
        """Read one line of the lock: `group:artifact:version[:classifier] sha256 size`."""
        coordinate, sha256, size = line.split()
        group, name, version, *classifier = coordinate.split(":")
        return cls(group, name, version, "".join(classifier), sha256, int(size))

    def __str__(self) -> str:
        return f"{self.coordinate} {self.sha256} {self.size}"

    @property
    def coordinate(self) -> str:
        """The name under which the file is published."""
        return ":".join(filter(None, (self.group, self.name, self.version, self.classifier)))

    @property
    def file_name(self) -> str:
        """The file's name in the folder of the class path."""
        return "-".join(filter(None, (self.name, self.version, self.classifier))) + ".jar"

    @property
    def place(self) -> str:
        """Where a Maven repository has the file, below its own address."""
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{self.file_name}"

    def matches(self, path: Path) -> bool:
        """Tell whether the file at a path is the pinned one, by size and sha256."""
        try:
            return path.stat().st_size == self.size and sha256_of(path) == self.sha256
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Lock:
    """The pinned files in the order of the class path, and the Neo4j version that they make."""

    version: str
    artifacts: tuple[Artifact, ...]

    def class_path(self, folder: Path) -> list[Path]:
        """List where the files are in a folder, in the order of the class path."""
        return [folder / artifact.file_name for artifact in self.artifacts]


@cache
def read_lock(path: Path = LOCK_FILE) -> Lock:
    """Read a lock file: a line `neo4j VERSION`, then one line for each artifact."""
    lines = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return Lock(lines[0].removeprefix("neo4j "), tuple(map(Artifact.parse, lines[1:])))


def not_genuine(folder: Path, lock: Lock) -> list[Artifact]:
    """List the artifacts that are absent from a folder or differ from their pin."""
    with ThreadPoolExecutor(THREADS) as pool:
        genuine = pool.map(Artifact.matches, lock.artifacts, lock.class_path(folder))
        return [artifact for artifact, is_genuine in zip(lock.artifacts, genuine, strict=True) if not is_genuine]
