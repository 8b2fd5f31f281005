"""Having the files of the embedded Neo4j in place: verified, by one process at a time, whatever happened before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memorygraph.errors import DownloadError
from memorygraph.server.artifacts import Artifact, Lock, Progress, not_genuine, read_lock

READ_TIMEOUT_S = 30
WAIT_FOR_OTHER_INSTALLER_S = 3600.0


def install(
    folder: Path,
    progress: Progress | None = None,
    *,
    lock: Lock | None = None,
    read_timeout_s: int = READ_TIMEOUT_S,
) -> list[Path]:
    """Fetch what a folder lacks, and return the class path: verified files, in a stable order.

    Several processes may call this at once for one folder: one fetches, the others wait for it.
    A call that was killed leaves nothing that the next one does not mend.

    Raises:
        DownloadError: a file cannot be had or is not the pinned one, or the folder cannot be written.
    """
    lock = lock or read_lock()
    if not_genuine(folder, lock):
        try:
            with _only_installer(folder):
                if wanted := not_genuine(folder, lock):
                    _download(wanted, folder, progress, read_timeout_s)
        except OSError as error:
            raise DownloadError(
                f"cannot write the files of Neo4j to {folder}: {error.strerror or error}. "
                "Make room, or give another folder with MEMORYGRAPH_HOME; then run `memorygraph up` again."
            ) from error
    return [folder / artifact.file_name for artifact in lock.artifacts]


def _download(wanted: list[Artifact], folder: Path, progress: Progress | None, read_timeout_s: int) -> None:
    try:
        from memorygraph.server.downloads import download
    except ImportError as error:
        raise DownloadError(
            "the download of Neo4j needs more packages: run `pip install 'memorygraph[embedded]'`"
        ) from error
    download(wanted, folder, progress, read_timeout_s)


@contextmanager
def _only_installer(folder: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder.with_name(f"{folder.name}.lock"), timeout=WAIT_FOR_OTHER_INSTALLER_S):
            yield
    except Timeout as error:
        raise DownloadError(
            f"another process has been downloading to {folder} for an hour. End it, then run `memorygraph up` again."
        ) from error
