"""Java's AOT cache: Neo4j's classes as the JVM had them in a former run, which more than halves a start.

The cache belongs to one Java, one class path and one set of JVM flags, of which it has a fingerprint. Its name holds
that and its own sha256: so a damaged one never reaches the JVM, which it could crash. No start waits for a cache or
fails without one: `aot_training.py` makes it in the background. MEMORYGRAPH_AOT=off switches it off.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memorygraph.server import process as server_process
from memorygraph.server.artifacts import sha256_of
from memorygraph.server.settings import JVM_FLAGS

SWITCH = "MEMORYGRAPH_AOT"
# The JVM reads these itself, so they decide about the cache too.
JVM_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
# Parsed and linked classes without machine code, which is bound to one processor and made no start shorter.
CACHE_FLAGS = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-AOTAdapterCaching", "-XX:-AOTStubCaching")
MAX_KEPT_CACHES = 2
RETRY_AFTER_S = 24 * 3600.0
MIN_TRAINING_DISK_BYTES = 2**30
MIN_TRAINING_MEMORY_BYTES = 2**30


@dataclass(frozen=True, slots=True)
class AotCache:
    """The cache for one Java and one class path, whether it exists or not."""

    folder: Path
    java: Path
    artifacts: Path
    fingerprint: str

    @classmethod
    def of(cls, java: Path, artifacts: Path, class_path: Sequence[Path]) -> AotCache:
        """Return the cache that fits."""
        return cls(aot_folder(artifacts), java, artifacts, fingerprint_of(java, class_path))

    @property
    def failure(self) -> Path:
        """The file with the reason why this cache could not be made, or was refused by the JVM."""
        return self.folder / f"{self.fingerprint}.failed"

    @property
    def log(self) -> Path:
        """The messages of the trainings."""
        return self.folder / "training.log"

    def find(self) -> Path | None:
        """Return the file of the cache if it is whole; a damaged one is removed."""
        if not is_switched_on():
            return None
        with contextlib.suppress(OSError):
            for path in sorted(self.folder.glob(f"{self.fingerprint}-*.aot")):
                if path.stem.rpartition("-")[2] == sha256_of(path):
                    os.utime(path)  # the last used ones are kept
                    return path
                path.unlink()
        return None

    def options(self) -> list[str]:
        """Return the JVM options for the cache, if it exists; with them, the JVM uses it or ends at once."""
        found = self.find()
        return [*CACHE_FLAGS, "-XX:AOTMode=on", f"-XX:AOTCache={found}"] if found else []

    def refuse(self, reason: str) -> None:
        """Discard a cache with which the JVM did not start, and do not make it again soon."""
        self.fail(reason)
        with contextlib.suppress(OSError):
            for path in self.folder.glob(f"{self.fingerprint}-*.aot"):
                path.unlink()

    def fail(self, reason: str) -> None:
        """Note that this cache cannot be made, so that not every start tries again."""
        with contextlib.suppress(OSError):
            self.failure.write_text(reason, "utf-8")

    def has_failed_lately(self) -> bool:
        """Tell whether it is too early to try again."""
        try:
            return time.time() - self.failure.stat().st_mtime < RETRY_AFTER_S
        except OSError:
            return False

    def build_later(self) -> None:
        """Make the cache in another process, which outlives this one and ends within its time limit."""
        if not is_switched_on() or self.has_failed_lately() or getattr(sys, "frozen", False):
            return
        with contextlib.suppress(OSError, server_process.import_psutil().Error):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            if has_means(self.folder):
                spawn_training(self)

    def keep(self, made: Path) -> Path:
        """Take a finished file as the cache, in one step, and remove those that were used least recently."""
        with made.open("rb+") as file:
            os.fsync(file.fileno())
        made.chmod(0o600)
        kept = made.replace(self.folder / f"{self.fingerprint}-{sha256_of(made)}.aot")
        self.failure.unlink(missing_ok=True)
        by_use = sorted(self.folder.glob("*-*.aot"), key=lambda path: path.stat().st_mtime)
        for unused in by_use[:-MAX_KEPT_CACHES]:
            with contextlib.suppress(OSError):  # Windows does not remove a file in use
                unused.unlink()
        return kept


def aot_folder(artifacts: Path) -> Path:
    """Return the folder of the caches for Neo4j's files."""
    return artifacts.with_name(f"{artifacts.name}.aot")


def is_switched_on() -> bool:
    """Tell whether the cache may be used and made."""
    return os.environ.get(SWITCH, "").strip().lower() not in {"off", "0", "no", "false"}


def has_means(folder: Path) -> bool:
    """Tell whether the machine has the disk and the memory for a training."""
    available = server_process.import_psutil().virtual_memory().available
    return bool(available >= MIN_TRAINING_MEMORY_BYTES and shutil.disk_usage(folder).free >= MIN_TRAINING_DISK_BYTES)


def spawn_training(cache: AotCache) -> None:
    """Start the process that makes the cache, and let it outlive this one."""
    command = [sys.executable, "-m", "memorygraph.server.aot_training", str(cache.java), str(cache.artifacts)]
    with cache.log.open("ab") as output:
        process = server_process.spawn(
            command, Path(__file__).resolve().parents[2], output, server_process.environment()
        )

    def reap() -> None:
        with contextlib.suppress(server_process.import_psutil().Error):
            process.wait()

    # If this process lives longer than the child, it must not keep it as a zombie.
    threading.Thread(target=reap, daemon=True).start()


def fingerprint_of(java: Path, class_path: Sequence[Path]) -> str:
    """Sum up what a cache depends on: the JVM compares most of it too, jars by their size and time."""

    def stamp(path: Path) -> list[int]:
        status = path.stat()
        return [status.st_size, status.st_mtime_ns]

    release = java.resolve().parent.parent / "release"
    parts = [
        [platform.system(), platform.machine()],
        [str(java.resolve()), stamp(java), release.read_text("utf-8", "replace") if release.exists() else ""],
        [*JVM_FLAGS, *CACHE_FLAGS],
        [os.environ.get(name, "") for name in JVM_VARIABLES],
        [[str(jar), *stamp(jar)] for jar in class_path],
    ]
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]
