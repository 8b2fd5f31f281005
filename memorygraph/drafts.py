"""Drafts: files that are written beside their place until they are whole, and what killed processes leave of them.

A draft is locked while it is written, so that one whose process is gone is told from one that is still written. It is
locked itself: `filelock` would leave a second file beside each, and empties the one that it locks.
"""

from __future__ import annotations

import stat
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

MIN_AGE_S = 10.0  # before its lock, and between its last byte and its name, a draft is not locked


def lock_draft(descriptor: int) -> None:
    """Lock a draft that has just been made, until it is closed."""
    if sys.platform != "win32":
        with suppress(OSError):  # where no file is locked, `clear_drafts` removes none
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def clear_drafts(drafts: Iterable[Path]) -> None:
    """Remove those of these drafts that no process writes any more."""
    for draft in drafts:
        with suppress(OSError):
            if is_old_file(draft) and not is_locked(draft):
                draft.unlink()


def is_old_file(draft: Path) -> bool:
    """Tell whether nothing was written to a draft lately."""
    found = draft.lstat()
    return stat.S_ISREG(found.st_mode) and time.time() - found.st_mtime > MIN_AGE_S


def is_locked(draft: Path) -> bool:
    """Tell whether a process writes a draft, or it cannot be told."""
    if sys.platform == "win32":
        return False  # a file that is open cannot be removed there
    with draft.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
