"""The files of the embedded Neo4j: which they are, and that they are the pinned ones.

`neo4j.lock` pins every file by its coordinate, its size and its sha256. Two rules hold
whatever happens to a download:

- a file enters the folder of the class path only after it was found equal to its pin; where its signature is taken
  away (`unsigned.py`), both what was published and what is kept have a pin;
- the class path is made from the lock, never from a listing of the folder, and every
  file on it is hashed again before each start.

`installation.py` sees to it that they are there, `downloads.py` fetches what is missing, and `pin_artifacts.py`
writes the lock.
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


class Progress(Protocol):
    """What wants to know how far a download is, in bytes."""

    def total(self, n: int) -> None:
        """All bytes that will come; called once, before the first of them."""

    def advance(self, n: int) -> None:
        """More bytes have come; fewer than none when a try has failed and begins again."""


def sha256_of(path: Path) -> str:
    """Give the hash of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Pin:
    """Which bytes a file has."""

    sha256: str
    size: int

    def __str__(self) -> str:
        return f"{self.sha256} {self.size}"

    @classmethod
    def of(cls, path: Path) -> Pin:
        """Pin a file as it is."""
        return cls(sha256_of(path), path.stat().st_size)

    def fits(self, path: Path) -> bool:
        """Say whether the file at a path is the pinned one, by size and sha256."""
        try:
            return path.stat().st_size == self.size and Pin.of(path) == self
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Artifact:
    """One pinned file, as it is published, and as it is kept where its signature is taken away.

    >>> Artifact.parse("org.neo4j:neo4j:2026.08.1 00ff 12").file_name
    'neo4j-2026.08.1.jar'
    """

    group: str
    name: str
    version: str
    classifier: str
    published: Pin
    unsigned: Pin | None = None

    @classmethod
    def parse(cls, line: str) -> Artifact:
        """Read one line of the lock: `group:artifact:version[:classifier] sha256 size [sha256 size]`."""
        coordinate, *pins = line.split()
        group, name, version, *classifier = coordinate.split(":")
        published, *unsigned = map(Pin, pins[::2], map(int, pins[1::2]))
        return cls(group, name, version, "".join(classifier), published, *unsigned)

    def __str__(self) -> str:
        return " ".join(map(str, filter(None, (self.coordinate, self.published, self.unsigned))))

    @property
    def coordinate(self) -> str:
        """The name under which the file is published."""
        return ":".join(filter(None, (self.group, self.name, self.version, self.classifier)))

    @property
    def file_name(self) -> str:
        """The file's name in the folder of the class path."""
        unsigned = "unsigned" if self.unsigned else ""
        return "-".join(filter(None, (self.name, self.version, self.classifier, unsigned))) + ".jar"

    @property
    def kept(self) -> Pin:
        """Which bytes the file has in the folder of the class path."""
        return self.unsigned or self.published


@dataclass(frozen=True, slots=True)
class Lock:
    """The pinned files in the order of the class path, and the Neo4j version that they make."""

    version: str
    artifacts: tuple[Artifact, ...]


@cache
def read_lock(path: Path = LOCK_FILE) -> Lock:
    """Read a lock file: a line `neo4j VERSION`, then one line for each artifact."""
    lines = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return Lock(lines[0].removeprefix("neo4j "), tuple(map(Artifact.parse, lines[1:])))


def not_genuine(folder: Path, lock: Lock) -> list[Artifact]:
    """List the artifacts that are absent from a folder or differ from their pin."""

    def is_genuine(artifact: Artifact) -> bool:
        return artifact.kept.fits(folder / artifact.file_name)

    with ThreadPoolExecutor(THREADS) as pool:
        verdicts = pool.map(is_genuine, lock.artifacts)
        return [artifact for artifact, genuine in zip(lock.artifacts, verdicts, strict=True) if not genuine]
