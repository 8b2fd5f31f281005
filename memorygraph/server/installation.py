"""Brings the files of the embedded Neo4j into the folder of the class path; of several processes one does."""

from __future__ import annotations

import errno
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

    Of several processes one fetches, and the others wait for it. A call may be killed: the next one repairs the folder.
    """
    lock = lock or read_lock()
    if not_genuine(folder, lock):
        try:
            fetch_missing(folder, progress, lock, read_timeout_s)
        except OSError as error:
            step = "Make room" if error.errno in {errno.ENOSPC, errno.EDQUOT} else "Set its rights"
            raise DownloadError(
                f"cannot write the files of Neo4j to {folder}: {error.strerror or error}. "
                f"{step}, or give another folder with MEMORYGRAPH_HOME; then run `memorygraph up` again."
            ) from error
    for path in lock.class_path(folder):
        # Earlier versions rewrote the jars without their signatures. Windows removes none that a server has open.
        with suppress(OSError):
            path.with_name(f"{path.stem}-unsigned.jar").unlink()
    return lock.class_path(folder)


def is_complete(folder: Path) -> bool:
    """Tell whether each file is in a folder, whatever it holds: only `install` verifies."""
    return all(path.exists() for path in read_lock().class_path(folder))


def fetch_missing(folder: Path, progress: DownloadProgress | None, lock: Lock, read_timeout_s: int) -> None:
    """Fetch what a folder lacks, after waiting for any other process that does so."""
    from filelock import FileLock, Timeout

    from memorygraph.server.downloads import download

    folder.mkdir(mode=0o755, parents=True, exist_ok=True)  # also where new folders are everybody's to write
    try:
        with FileLock(folder.with_name(f"{folder.name}.lock"), timeout=WAIT_FOR_OTHER_INSTALLER_S):
            if wanted := not_genuine(folder, lock):
                download(wanted, folder, progress, read_timeout_s)
    except Timeout as error:
        raise DownloadError(
            f"another process has been downloading to {folder} for an hour. End it, then run `memorygraph up` again."
        ) from error
