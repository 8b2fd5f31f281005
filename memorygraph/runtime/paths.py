"""Paths that a program names: kept inside a folder, and opened only where they are plain files."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.permissions import Refused

# A link that appears after the check is not followed, and a pipe without a writer is not waited for.
SAFE_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def inside(folder: Path, path: str, *, anywhere: bool) -> Path:
    """Find where a path leads from a folder, which it leaves only with `anywhere` (`--allow-tool file`)."""
    target = resolve_path(folder / path, path)
    if not anywhere and not target.is_relative_to(resolve_path(folder, str(folder))):
        raise Refused(
            f"`{path}` leads out of the script's folder {folder}; allow files elsewhere with "
            '`--allow-tool file` (in Python: allow_tools=["file"])'
        )
    return target


def within(root: Path, path: str) -> Path:
    """Find where a relative path leads below a root that nothing may leave."""
    parts = path.replace("\\", "/").split("/")
    if not path or ".." in parts or path.startswith(("/", "\\")) or Path(path).drive:
        raise MemoryGraphError(f"`{path}` is no path below the tool's folder; write one such as `notes/today.txt`")
    root = resolve_path(root, str(root))
    target = resolve_path(root / path, path)
    if not target.is_relative_to(root):
        raise MemoryGraphError(f"`{path}` is a link that leads out of the tool's folder")
    return target


def resolve_path(path: Path, written: str) -> Path:
    """Follow every link on a path, which is shown as it was written if that fails."""
    try:
        resolved = path.resolve()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            resolved.stat()  # Python 3.13 and later resolve a loop of links to itself
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a null character
        raise MemoryGraphError(f"{written!r} cannot be a path: {error}") from None
    else:
        return resolved


def open_plain(path: Path, flags: int) -> int:
    """Open a plain file, not a folder, a device or a pipe, and return its descriptor."""
    require_plain(path)
    descriptor = os.open(path, flags | SAFE_FLAGS, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise MemoryGraphError(f"`{path.name}` is not a plain file")
    return descriptor


def require_plain(path: Path) -> None:
    """Refuse a folder, a device or a pipe, where something else than a file would happen."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise MemoryGraphError(f"`{path.name}` is {'a folder' if stat.S_ISDIR(mode) else 'not a plain file'}")
