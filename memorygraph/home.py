"""The home: the folder of this user's own files, and how files in it are written so that they survive a crash.

It holds the embedded server, the journals of runs, and the records that wait to be written.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def default_home() -> Path:
    """Return the folder that MEMORYGRAPH_HOME names, else the platform's folder for user data."""
    if named := os.environ.get("MEMORYGRAPH_HOME"):
        return Path(named).expanduser().resolve()
    import platformdirs

    return platformdirs.user_data_path("memorygraph").resolve()


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent)  # its mode is 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(os.fsencode(text))
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def flush_folder(folder: Path) -> None:
    """Make new names in a folder durable, where the system can open a folder for that."""
    with suppress(OSError):  # Windows cannot
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
