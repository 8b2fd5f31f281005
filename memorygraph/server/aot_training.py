"""Makes the start cache: `python -m memorygraph.server.aot_training JAVA ARTIFACTS [DELAY_S [FOLDER]]`.

`aot_cache.py` starts this after a start that had no cache. No server is needed for it: the JVM loads the classes of a
list, `neo4j.classes.xz`, links them and writes down what it has. So nothing that a user does, `memorygraph down`
included, stands in its way. It may be killed at any moment: one process makes a cache at a time, the next one clears
up after it, and the cache takes its name when it is finished and a JVM has taken it.
"""

from __future__ import annotations

import contextlib
import lzma
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from memorygraph.server import process as server_process
from memorygraph.server.aot_cache import CLASS_LIST, AotCache, aot_folder, cache_options, find_lack, note
from memorygraph.server.artifacts import not_genuine, read_lock
from memorygraph.server.settings import jvm_arguments

TIME_LIMIT_S = 1800
TURN_S = 1.0  # for the lock, which others take for a moment to see whether it is taken
# The first compiler alone: what is compiled serves once, and is not kept.
MAKING_FLAGS = ("-XX:TieredStopAtLevel=1", "-Xlog:disable", "-Xlog:all=error:stderr")


class RefusedError(RuntimeError):
    """Java has ended with an error, in its own words."""


def make_cache(cache: AotCache, class_path: Sequence[Path], time_limit_s: int = TIME_LIMIT_S) -> Path:
    """Make a cache, and return where it is kept; only one process may do so at a time."""
    workspace = cache.folder / "making"
    shutil.rmtree(workspace, ignore_errors=True)
    workspace.mkdir(mode=0o700)
    until = time.monotonic() + time_limit_s
    made, classes = workspace / "cache", workspace / "classes"
    try:
        classes.write_bytes(lzma.decompress(CLASS_LIST.read_bytes()))
        dump = (*MAKING_FLAGS, "-Xshare:dump", "-XX:+AOTClassLinking", f"-XX:SharedClassListFile={classes}")
        run_jvm(cache.java, class_path, workspace, until, *dump, f"-XX:SharedArchiveFile={made}")
        # What the JVM refuses is found out now, and not by the next start; it would refuse a new one as well.
        try:
            run_jvm(cache.java, class_path, workspace, until, *cache_options(made), "-version")
        except RefusedError as error:
            cache.refuse(f"the JVM does not take it: {error}")
            raise
        if AotCache.of(cache.java, cache.artifacts, class_path).fingerprint != cache.fingerprint:
            raise RuntimeError("Java or the class path changed while it was made")
        return cache.keep(made)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def run_jvm(java: Path, class_path: Sequence[Path], folder: Path, until: float, *options: str) -> None:
    """Run a JVM in the background until it ends; one that fails is a RuntimeError.

    Raises:
        RefusedError: Java has ended with an error, and not by a signal.
    """
    arguments = folder / "jvm.args"
    *first, last = options
    arguments.write_text(jvm_arguments(class_path, folder, first), "utf-8")
    left_s = max(1, int(until - time.monotonic()))
    ended = subprocess.run(  # noqa: S603 - the runtime that the server is started with
        [str(java), f"@{arguments}", last],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=left_s,
        check=False,
        preexec_fn=server_process.background(left_s),
    )
    if ended.returncode == -getattr(signal, "SIGALRM", 0):
        raise TimeoutError(f"it was not made within {TIME_LIMIT_S} s")
    if ended.returncode:
        said = " ".join(ended.stderr.split()[-60:]) or "it left no message"
        if ended.returncode < 0:  # by a signal: the system needed its memory, or somebody killed it
            raise RuntimeError(f"Java was ended by signal {-ended.returncode}: {said}")
        raise RefusedError(f"Java ended with code {ended.returncode}: {said}")


def make_where_missing(java: Path, artifacts: Path, delay_s: float, folder: Path) -> None:
    """Make the cache that fits, unless it exists, is being made, was refused, or the machine lacks the means."""
    from filelock import FileLock, Timeout

    server_process.give_way()
    folder.mkdir(mode=0o700, exist_ok=True)
    with contextlib.suppress(Timeout), FileLock(folder / "lock", timeout=TURN_S):
        time.sleep(delay_s)
        lock = read_lock()
        if not_genuine(artifacts, lock):
            return
        class_path = lock.class_path(artifacts)
        cache = replace(AotCache.of(java, artifacts, class_path), folder=folder)
        if cache.find() or cache.was_refused_lately() or find_lack(folder):
            return
        try:
            print(make_cache(cache, class_path))
        except Exception as error:
            note(cache.failure, f"{type(error).__name__}: {error}")
            raise


if __name__ == "__main__":
    java, artifacts, *more = sys.argv[1:]
    delay_s = float(more[0]) if more else 0.0
    make_where_missing(Path(java), Path(artifacts), delay_s, Path(more[1]) if more[1:] else aot_folder(Path(artifacts)))
