"""Fetches pinned files through jgo: in threads, with retries, and verified before they are kept.

The lock holds no address. The library `jgo` knows where the files are published, and the
section `[repositories]` of its settings file names a mirror where somebody needs one.

jgo writes straight to the file's final place and takes a file that is there for complete.
So each try gets an empty staging folder of its own, and only what has the pinned size and
sha256 moves on, in one step, into the folder of the class path.
"""

from __future__ import annotations

import configparser
import errno
import os
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jgo.config import GlobalSettings
from jgo.maven import MavenContext, PythonResolver

from memorygraph.errors import DownloadError
from memorygraph.server.artifacts import THREADS
from memorygraph.server.unsigned import write_unsigned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memorygraph.server.artifacts import Artifact, Progress

PAUSES_BEFORE_TRIES_S = (0.0, 0.5, 2.0, 6.0)
LOCAL_TROUBLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EMFILE})
NEXT_STEP = (
    "What has arrived is kept: check the network and run `memorygraph up` again. "
    "Behind a mirror, name it under [repositories] in the settings file of jgo (~/.config/jgo.conf)."
)


def download(wanted: list[Artifact], folder: Path, progress: Progress | None, read_timeout_s: int) -> None:
    """Bring artifacts into a folder; only one process may do so at a time.

    Raises:
        DownloadError: a file cannot be had, or is not the pinned one.
        OSError: the folder cannot be written.
    """
    staging = folder.with_name(f"{folder.name}.staging")
    # Only one process at a time comes here, so whatever lies there was left by one that was killed.
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(mode=0o700)
    meter = _Meter(progress)
    try:
        _need_room(folder, sum(artifact.kept.size for artifact in wanted))
        meter.total(sum(artifact.published.size for artifact in wanted))
        source = _Source(folder, staging, repositories(), meter, read_timeout_s)
        _in_threads(source.fetch, wanted, meter)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    _flush_names(folder)


def repositories() -> dict[str, str]:
    """Where to look, by name: what the user's settings of jgo name, then jgo's own default."""
    try:
        named = GlobalSettings.load().repositories
    except configparser.Error as error:
        raise DownloadError(f"the settings file of jgo is malformed: {error}. Mend it and try again.") from error
    return named | {name: url for name, url in MavenContext().remote_repos.items() if name not in named}


def resolve(artifact: Artifact, context: MavenContext) -> Path:
    """Let jgo find or fetch one file."""
    component = context.project(artifact.group, artifact.name).at_version(artifact.version)
    return component.artifact(classifier=artifact.classifier).resolve()


def _need_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size:
        raise OSError(errno.ENOSPC, f"{size // 2**20} MB are needed and {free // 2**20} MB are free")


def _in_threads(fetch: Callable[[Artifact], None], wanted: list[Artifact], meter: _Meter) -> None:
    """Fetch all; at the first failure, and at Ctrl-C, stop the rest at once."""
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for future in as_completed([pool.submit(fetch, artifact) for artifact in wanted]):
                future.result()
        except BaseException:
            meter.stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class _FailedTryError(Exception):
    """One try to download one file has failed; another one may succeed."""


class _Meter:
    """Adds up what the threads receive, and is where they notice that they should stop."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.stopped = threading.Event()
        self._one_at_a_time = threading.Lock()

    def total(self, n: int) -> None:
        if self.progress:
            self.progress.total(n)

    def advance(self, n: int) -> None:
        if self.progress and n:
            with self._one_at_a_time:
                self.progress.advance(n)


class _Received:
    """The bytes of one try, in the shape in which jgo reports them."""

    def __init__(self, expected: int, meter: _Meter) -> None:
        self.expected = expected
        self.meter = meter
        self.bytes = 0

    @contextmanager
    def watch(self, _file_name: str, _size: int) -> Iterator[Callable[[int], None]]:
        yield self.advance

    def advance(self, n: int) -> None:
        if self.meter.stopped.is_set():
            raise _FailedTryError("it was stopped")
        self.bytes += n
        self.meter.advance(n)
        if self.bytes > self.expected:
            raise _FailedTryError("what arrives is longer than the pinned file")


@dataclass(frozen=True, slots=True)
class _Source:
    folder: Path
    staging: Path
    repositories: dict[str, str]
    meter: _Meter
    read_timeout_s: int

    def fetch(self, artifact: Artifact) -> None:
        """Bring one file into the folder, trying a few times."""
        failure: Exception | None = None
        for pause in PAUSES_BEFORE_TRIES_S:
            if self.meter.stopped.wait(pause):
                break
            try:
                return self._fetch_once(artifact)
            except _FailedTryError as error:
                failure = error
        raise DownloadError(f"cannot download {artifact.coordinate}: {failure}. {NEXT_STEP}") from failure

    def _fetch_once(self, artifact: Artifact) -> None:
        received = _Received(artifact.published.size, self.meter)
        with tempfile.TemporaryDirectory(dir=self.staging) as empty_folder:
            try:
                path = self._receive(artifact, Path(empty_folder), received)
            except BaseException:
                self.meter.advance(-received.bytes)
                raise
            _flush(path)
            path.replace(self.folder / artifact.file_name)
            self.meter.advance(artifact.published.size - received.bytes)

    def _receive(self, artifact: Artifact, folder: Path, received: _Received) -> Path:
        context = MavenContext(
            repo_cache=folder,
            remote_repos=self.repositories,
            resolver=PythonResolver(progress_callback=received.watch),
            timeout=self.read_timeout_s,
        )
        try:
            path = resolve(artifact, context)
        except OSError as error:
            if error.errno in LOCAL_TROUBLE:
                raise
            # The text of a network error is a chain of object names; its kind says enough.
            raise _FailedTryError(f"the connection failed ({type(error).__name__})") from error
        except (RuntimeError, ValueError) as error:
            raise _FailedTryError("no repository has it, or none answers properly") from error
        if not artifact.published.fits(path):
            raise _FailedTryError("what arrived is not the pinned file")
        return _without_signature(artifact, path) if artifact.unsigned else path


def _without_signature(artifact: Artifact, path: Path) -> Path:
    unsigned = path.with_name(artifact.file_name)
    write_unsigned(path, unsigned)
    if not artifact.kept.fits(unsigned):
        raise DownloadError(f"{artifact.coordinate} without its signature is not the pinned file: please report this.")
    return unsigned


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _flush_names(folder: Path) -> None:
    """Make the new names durable, where the platform can open a folder for that."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
