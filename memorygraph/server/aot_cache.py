"""The start cache: Neo4j's classes as the JVM has them in memory, parsed and linked, which more than halves a start.

The cache belongs to one Java, one class path and one set of JVM flags, of which it has a fingerprint. Its name holds
that and its own sha256: so a damaged one never reaches the JVM, which it could crash. No start waits for a cache or
fails without one: `aot_training.py` makes it in the background, and each start begins that anew where it was cut short.
MEMORYGRAPH_AOT=off switches it off.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from memorygraph.server import process as server_process
from memorygraph.server.artifacts import sha256_of
from memorygraph.server.available_memory import find_available_memory
from memorygraph.server.settings import JVM_FLAGS

SWITCH = "MEMORYGRAPH_AOT"
# The JVM reads these itself, so they decide about the cache too.
JVM_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
# The classes to put into a cache, which `python -m tests.pin_classes` has written.
CLASS_LIST = Path(__file__).with_name("neo4j.classes.xz")
MAX_KEPT_CACHES = 2
RETRY_REFUSED_AFTER_S = 24 * 3600.0
MAKING_DELAY_S = 2.0  # what the user does right after a start begins first
MIN_MAKING_DISK_BYTES = 2**29
MIN_MAKING_MEMORY_BYTES = 3 * 2**28
POLL_INTERVAL_S = 0.1


@dataclass(frozen=True, slots=True)
class AotCache:
    """The cache for one Java and one class path, whether it exists or not."""

    folder: Path
    java: Path
    artifacts: Path
    fingerprint: str

    @classmethod
    def of(cls, java: Path, artifacts: Path, class_path: Sequence[Path], home: Path | None = None) -> AotCache:
        """Return the cache that fits: beside Neo4j's files, or in the home where nothing can be written there."""
        fingerprint = fingerprint_of(java, class_path)
        folder = aot_folder(artifacts)
        if home is not None and not is_writable(folder):
            beside = cls(folder, java, artifacts, fingerprint)
            found = beside.locate()
            serves = found is not None and os.access(found, os.R_OK)
            return beside if serves else cls(home / folder.name, java, artifacts, fingerprint)
        return cls(folder, java, artifacts, fingerprint)

    @property
    def failure(self) -> Path:
        """The file with the reason why this cache could not be made; each start tries again."""
        return self.folder / f"{self.fingerprint}.failed"

    @property
    def refusal(self) -> Path:
        """The file with the reason why the JVM did not start with this cache."""
        return self.folder / f"{self.fingerprint}.refused"

    @property
    def log(self) -> Path:
        """The messages of those who made caches here."""
        return self.folder / "training.log"

    @property
    def making_lock(self) -> Path:
        """The file that is locked by who makes a cache here."""
        return self.folder / "lock"

    def find_whole(self) -> Path | None:
        """Return the file of the cache if it is whole, and change nothing."""
        with contextlib.suppress(OSError):
            return next(filter(is_undamaged, sorted(self.folder.glob(f"{self.fingerprint}-*.aot"))), None)
        return None

    def find(self) -> Path | None:
        """Return the file of the cache if it is whole; a damaged one is removed."""
        if not is_switched_on():
            return None
        with contextlib.suppress(OSError):
            for path in sorted(self.folder.glob(f"{self.fingerprint}-*.aot")):
                if is_undamaged(path):
                    with contextlib.suppress(OSError):  # in a folder of another user, who may only read it
                        os.utime(path)  # the last used ones are kept
                    return path
                path.unlink()
        return None

    def locate(self) -> Path | None:
        """Return the file of the cache, whole or not: to read 200 MB takes longer than to say where they are."""
        return next(self.folder.glob(f"{self.fingerprint}-*.aot"), None)

    def exists(self) -> bool:
        """Tell whether the cache is there, whole or not."""
        return self.locate() is not None

    def options(self) -> list[str]:
        """Return the JVM options for the cache, if it exists; with them, the JVM uses it or ends at once."""
        found = self.find()
        return cache_options(found) if found else []

    def refuse(self, reason: str) -> None:
        """Discard a cache with which the JVM did not start, and do not make it again soon."""
        note(self.refusal, reason)
        with contextlib.suppress(OSError):
            for path in self.folder.glob(f"{self.fingerprint}-*.aot"):
                path.unlink()

    def was_refused_lately(self) -> bool:
        """Tell whether the JVM would refuse a new cache too."""
        try:
            return time.time() - self.refusal.stat().st_mtime < RETRY_REFUSED_AFTER_S
        except OSError:
            return False

    def is_being_made(self) -> bool:
        """Tell whether a process makes a cache here."""
        from filelock import FileLock, Timeout

        if not self.making_lock.exists():  # and to ask would make it
            return False
        try:
            with FileLock(self.making_lock, timeout=0):
                return False
        except Timeout:
            return True
        except OSError:
            return False

    def why_missing(self) -> str:
        """Say why there is no cache."""
        if not is_switched_on():
            return f"switched off by {SWITCH}"
        if self.was_refused_lately():
            return self.refusal.read_text("utf-8", "replace")
        if self.is_being_made():
            return "it is being made in the background"
        if lack := find_lack(self.folder):
            return lack
        if self.failure.exists():
            return self.failure.read_text("utf-8", "replace")
        return "not made yet: that begins in the background with the next start"

    def can_be_made(self) -> bool:
        """Tell whether the cache can be made here and now."""
        if not is_switched_on() or self.was_refused_lately() or getattr(sys, "frozen", False):
            return False
        return find_lack(self.folder) is None

    def build_later(self, delay_s: float = MAKING_DELAY_S) -> psutil.Process | None:
        """Make the cache in another process, which outlives this one and ends within its time limit."""
        with contextlib.suppress(OSError, psutil.Error):
            if self.can_be_made():
                self.folder.mkdir(mode=0o700, exist_ok=True)
                return spawn_making(self, delay_s)
        return None

    def await_made(self, patience_s: float) -> bool:
        """Have the cache made, and wait for it; False where it cannot be, or is not made in time."""
        until = time.monotonic() + patience_s
        making: psutil.Process | None = None
        while not self.exists():
            if not self.is_being_made() and (making is None or not server_process.is_alive(making)):
                if making or (making := self.build_later(delay_s=0)) is None:
                    return self.exists()
            elif time.monotonic() > until:
                return False
            time.sleep(POLL_INTERVAL_S)
        return True

    def keep(self, made: Path) -> Path:
        """Take a finished file as the cache, in one step, and remove those that were used least recently."""
        with made.open("rb+") as file:
            os.fsync(file.fileno())
        made.chmod(0o600)
        kept = made.replace(self.folder / f"{self.fingerprint}-{sha256_of(made)}.aot")
        for outdated in (self.failure, self.refusal):
            outdated.unlink(missing_ok=True)
        by_use = sorted(self.folder.glob("*-*.aot"), key=lambda path: path.stat().st_mtime)
        for unused in by_use[:-MAX_KEPT_CACHES]:
            with contextlib.suppress(OSError):  # Windows does not remove a file in use
                unused.unlink()
        return kept


def aot_folder(artifacts: Path) -> Path:
    """Return the folder of the caches for Neo4j's files."""
    return artifacts.with_name(f"{artifacts.name}.aot")


def is_undamaged(path: Path) -> bool:
    """Tell whether the file of a cache has the hash in its name, for which all of it is read."""
    return path.stem.rpartition("-")[2] == sha256_of(path)


def is_switched_on(switch: str = SWITCH) -> bool:
    """Tell whether the cache may be used and made, or what another switch of the environment is for."""
    return os.environ.get(switch, "").strip().lower() not in {"off", "0", "no", "false"}


def is_writable(folder: Path) -> bool:
    """Tell whether files can be made in a folder, which need not be there yet."""
    return os.access(folder if folder.exists() else folder.parent, os.W_OK | os.X_OK)


def cache_options(file: Path) -> list[str]:
    """Return the JVM options with which it uses a cache, or ends at once."""
    return ["-Xshare:on", f"-XX:SharedArchiveFile={file}"]


def note(file: Path, reason: str) -> None:
    """Leave a reason for those who ask why there is no cache."""
    with contextlib.suppress(OSError):
        file.write_text(reason, "utf-8")


def find_lack(folder: Path) -> str | None:
    """Say what the machine lacks for making a cache, if it lacks anything."""
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    if not is_writable(existing):
        return f"{existing} cannot be written"
    if (free := shutil.disk_usage(existing).free) < MIN_MAKING_DISK_BYTES:
        return f"only {free // 2**20} of {MIN_MAKING_DISK_BYTES // 2**20} MB are free at {existing}"
    memory = find_available_memory()
    if memory.available < MIN_MAKING_MEMORY_BYTES:
        needed = f"{MIN_MAKING_MEMORY_BYTES // 2**20} MB of memory"
        return f"only {memory.available // 2**20} of {needed} are available{memory.place}"
    return None


def spawn_making(cache: AotCache, delay_s: float) -> psutil.Process:
    """Start the process that makes the cache, and let it outlive this one."""
    given = (str(cache.java), str(cache.artifacts), str(delay_s), str(cache.folder))
    with cache.log.open("ab") as output:
        return server_process.spawn_behind("memorygraph.server.aot_training", given, output)


def fingerprint_of(java: Path, class_path: Sequence[Path]) -> str:
    """Sum up what a cache depends on: the JVM compares most of it too, jars by their size and time."""

    def stamp(path: Path) -> list[int]:
        status = path.stat()
        return [status.st_size, status.st_mtime_ns]

    release = java.resolve().parent.parent / "release"
    parts = [
        [platform.system(), platform.machine()],
        [str(java.resolve()), stamp(java), release.read_text("utf-8", "replace") if release.exists() else ""],
        [*JVM_FLAGS, *cache_options(Path())],
        sha256_of(CLASS_LIST) if CLASS_LIST.exists() else "",
        [os.environ.get(name, "") for name in JVM_VARIABLES],
        [[str(jar), *stamp(jar)] for jar in class_path],
    ]
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]
