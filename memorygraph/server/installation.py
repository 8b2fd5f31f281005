"""Puts the files of the embedded Neo4j in place: verified, and fetched by one process at a time."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from memorygraph.errors import DownloadError
from memorygraph.server.artifacts import DownloadProgress, Lock, not_genuine, read_lock

READ_TIMEOUT_S = 30
WAIT_FOR_OTHER_INSTALLER_S = 3600.0


def install(
    folder: Path,
    progress: DownloadProgress | None = None,
    *,
    lock: Lock | None = None,
    read_timeout_s: int = READ_TIMEOUT_S,
) -> list[Path]:
    """Fetch the files that a folder lacks, and return the class path: verified files, in a stable order.

    Several processes may call this at once for one folder: one fetches, the others wait for it.
    A call that was killed leaves nothing that the next call does not repair.

    Raises:
        DownloadError: a file cannot be fetched or is not the pinned one, or the folder cannot be written.
    """
    lock = lock or read_lock()
    if not_genuine(folder, lock):
        try:
            fetch_missing(folder, progress, lock, read_timeout_s)
        except OSError as error:
            raise DownloadError(
                f"cannot write the files of Neo4j to {folder}: {error.strerror or error}. "
                "Make room, or give another folder with MEMORYGRAPH_HOME; then run `memorygraph up` again."
            ) from error
    remove_rewritten(folder, lock)
    return lock.class_path(folder)


def fetch_missing(folder: Path, progress: DownloadProgress | None, lock: Lock, read_timeout_s: int) -> None:
    """Fetch what a folder lacks, unless another process has done so by the time it is this one's turn."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder.with_name(f"{folder.name}.lock"), timeout=WAIT_FOR_OTHER_INSTALLER_S):
            if wanted := not_genuine(folder, lock):
                from memorygraph.server.downloads import download

                download(wanted, folder, progress, read_timeout_s)
    except ImportError as error:
        raise DownloadError(
            "the download of Neo4j needs more packages: run `pip install 'memorygraph[embedded]'`"
        ) from error
    except Timeout as error:
        raise DownloadError(
            f"another process has been downloading to {folder} for an hour. End it, then run `memorygraph up` again."
        ) from error


def remove_rewritten(folder: Path, lock: Lock) -> None:
    """Remove the jars that earlier versions had rewritten without their publisher's signature.

    The genuine files have taken their place on the class path. A server that an earlier version started may still
    have the rewritten ones open: on POSIX it keeps them until it ends, on Windows they go with a later start.
    """
    rewritten = {f"{path.stem}-unsigned.jar" for path in lock.class_path(folder)}
    for path in folder.glob("*-unsigned.jar"):
        if path.name in rewritten:
            with suppress(OSError):
                path.unlink()
