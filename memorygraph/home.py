"""The home: the folder of this user's own files, and how files in it are written so that they survive a crash.

It holds the embedded server, the journals of runs, the records that wait to be written, and the pages that were opened
in a browser.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
import tempfile
from collections.abc import Collection
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from memorygraph.drafts import clear_drafts, lock_draft
from memorygraph.errors import ConnectionError, MemoryGraphError

MAX_NAMESPACE = 200
ADMINISTRATOR = 0
"""The number of the user who may do everything anyway."""

PAGES, PICTURES = "pages", "pictures"
"""The folders of what was opened in a browser."""


def default_home() -> Path:
    """Return the folder that MEMORYGRAPH_HOME names, else the platform's folder for user data.

    Raises:
        ConnectionError: it cannot be resolved: a link leads back to itself (from Python 3.13 on the first use of the
            home says that), or it is relative to a folder that was deleted.
    """
    if named := os.environ.get("MEMORYGRAPH_HOME"):
        try:
            return expand_user(named).resolve()
        except (OSError, RuntimeError) as error:  # the latter up to Python 3.12
            raise ConnectionError(
                f"MEMORYGRAPH_HOME names {named}, which cannot be resolved: {error}; name a folder of your own with it"
            ) from error
    import platformdirs

    return platformdirs.user_data_path("memorygraph").resolve()


def expand_user(path: str | Path) -> Path:
    """Return a path with the home of the user for `~`; what looks so and names no user is an ordinary name.

    >>> expand_user("~nobody of this name/file").as_posix()
    '~nobody of this name/file'
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111 - that of `Path` fails at such a name


def check_namespace(name: str) -> str:
    """Return the name of a namespace.

    Raises:
        MemoryGraphError: no namespace can have it.
    """
    if not name or len(name) > MAX_NAMESPACE or not name.isprintable():
        raise MemoryGraphError(f"a namespace has 1 to {MAX_NAMESPACE} printable characters, and this is {name!r}")
    return name


def chosen_namespace(namespace: str | None = None) -> str:
    """Return the namespace that is named, else that of MEMORYGRAPH_NAMESPACE, else `default`.

    Raises:
        MemoryGraphError: no namespace can have this name.
    """
    return check_namespace(namespace if namespace is not None else os.environ.get("MEMORYGRAPH_NAMESPACE") or "default")


def namespace_option(namespace: str) -> str:
    """Return the option, after a space, with which a command works on a namespace; empty where it does so without.

    >>> f"memorygraph{namespace_option('two words')} revisions"
    "memorygraph -n 'two words' revisions"
    """
    return "" if namespace == chosen_namespace() else f" -n {shlex.quote(namespace)}"


def name_file(text: str) -> str:
    """Return the name of a file or folder for any text: a file name may not be long, or hold every character.

    >>> name_file("people")
    'c9022680f888674e'
    """
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def own_folder(name: str) -> Path:
    """Return a folder of the home, whether it exists or not.

    Raises:
        ConnectionError: the home belongs to another user, or everybody can write it.
    """
    home = default_home()
    refuse_foreign(home)
    return home / name


def is_own_home() -> bool:
    """Tell whether the home can hold files of this user: that of another user, as HOME may name it, holds none."""
    home = default_home()
    try:
        return sys.platform == "win32" or not home.exists() or home.stat().st_uid == os.geteuid()
    except PermissionError:
        return False


def remove_pages() -> int:
    """Remove the pages and pictures that were opened in a browser, which show what is stored, and return how many."""
    removed = 0
    for folder in (PAGES, PICTURES):
        for path in own_folder(folder).glob("*"):
            with suppress(OSError):  # another process may have removed it
                path.unlink()
                removed += 1
    return removed


def refuse_foreign(path: Path, trusted: Collection[int] = ()) -> None:
    """Refuse a file or a folder that another user has, or can write: what is in it may be that user's.

    `trusted` are the numbers of users beside this one whose files are taken: programs may belong to the administrator.

    Raises:
        ConnectionError: it belongs to another user, or everybody can write it. What does not exist passes.
    """
    if sys.platform == "win32":
        return
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise ConnectionError(
            f"{path} cannot be looked at: {error.strerror}. Name a folder of your own with MEMORYGRAPH_HOME."
        ) from error
    if status.st_uid not in {os.geteuid(), *trusted}:
        raise ConnectionError(
            f"{path} belongs to another user (number {status.st_uid}). Name a folder of your own with MEMORYGRAPH_HOME."
        )
    if status.st_mode & stat.S_IWOTH:
        raise ConnectionError(
            f"every user can write {path}, so what is in it may not be yours. Name another folder with "
            f"MEMORYGRAPH_HOME; or, if nobody else has used this one, run `chmod o-w {shlex.quote(str(path))}`."
        )


def refuse_exposed(path: Path) -> None:
    """Refuse a file of this user with secrets that others can read.

    Who reads a file of another user, as in a container that is given one, cannot set its rights: it passes.

    Raises:
        MemoryGraphError: others can read the file.
    """
    status = path.stat()
    mode = stat.S_IMODE(status.st_mode)
    if sys.platform != "win32" and status.st_uid == os.geteuid() and mode & 0o077:
        step = f"run `chmod 600 {shlex.quote(str(path))}`"
        raise MemoryGraphError(f"others can read {path} (mode {mode:04o}), which holds secrets: {step}")


def write_private(path: Path, text: str | bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    clear_drafts(path.parent.glob(".private-*.part"))
    descriptor, unfinished = tempfile.mkstemp(".part", ".private-", path.parent)  # its mode is 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            lock_draft(descriptor)
            file.write(os.fsencode(text))
            file.flush()
            os.fsync(file.fileno())
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Make new names in a folder durable, where the system can open a folder for that."""
    with suppress(OSError):  # Windows cannot
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
