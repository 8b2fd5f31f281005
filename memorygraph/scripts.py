"""Script files, as text: bytes that are not UTF-8 stay visible, so that the parser can say where they are."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from memorygraph.errors import MemoryGraphError, NotFoundError

STANDARD_INPUT = "-"


@contextmanager
def open_script(path: str | Path) -> Iterator[TextIO]:
    """A script file, or standard input for `-`, that can be read more than once, also where it is a pipe."""
    with _open(path) as file:
        yield io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")


def storable_path(path: str) -> str:
    r"""A path as a database can hold it: what is not UTF-8 in it is escaped.

    >>> print(storable_path("caf\udce9.ctx"))
    caf\udce9.ctx
    """
    return path.encode("utf-8", "backslashreplace").decode()


def _open(path: str | Path) -> BinaryIO:
    if not str(path):  # which is the folder that one is in, for `Path`
        raise NotFoundError("no file is named")
    try:
        if str(path) == STANDARD_INPUT:
            return _copy(sys.stdin.buffer)
        file = Path(path).open("rb")  # noqa: SIM115 - the caller closes it
        if file.seekable():
            return file
        with file:  # a pipe, such as that of `<(zcat FILE)`
            return _copy(file)
    except FileNotFoundError:
        raise NotFoundError(f"no such file: {path}") from None
    except OSError as error:
        raise MemoryGraphError(f"cannot read {path}: {error.strerror}") from None


def _copy(source: BinaryIO) -> BinaryIO:
    """Copy what can be read only once into a file, which the caller closes."""
    try:
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    except OSError as error:
        raise MemoryGraphError(
            f"a pipe is copied before it is read, and there is no place for that: {error.strerror}. "
            "Name a folder with TMPDIR."
        ) from error
    shutil.copyfileobj(source, copy)
    copy.seek(0)
    return cast(BinaryIO, copy)


def read_script(path: str | Path) -> str:
    """The whole text of a script."""
    with open_script(path) as stream:
        return stream.read()
