"""The file of a backup: a zip archive with Neo4j's dump of the graph, and a manifest that describes it.

`neo4j.dump` is what Neo4j's own `database dump` writes and `database load` reads; `manifest.json` comes last, because
it holds the hash of the dump. Nothing in it is a secret but the graph itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, BinaryIO

from pydantic import TypeAdapter

from memorygraph.drafts import clear_drafts, lock_draft
from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.schema import find_unknown
from memorygraph.home import flush_folder
from memorygraph.library import CYPHER
from memorygraph.server.admin_tool import PIECE_BYTES
from memorygraph.server.artifacts import read_lock

FORMAT = "memorygraph-backup"
FORMAT_VERSION = 1
DUMP = "neo4j.dump"
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 1 << 20

_ZIP = b"PK\x03\x04"


class BackupError(MemoryGraphError):
    """A backup cannot be made, or not be restored; nothing was changed."""


@dataclass(frozen=True)
class Manifest:
    """What an archive says about itself."""

    format: str
    format_version: int
    neo4j: str
    memorygraph: str
    schema: tuple[str, ...]
    created_at: str
    dump_bytes: int
    dump_sha256: str

    @classmethod
    def parse(cls, text: bytes) -> Manifest:
        """Read a manifest, or raise a ValueError."""
        return TypeAdapter(cls).validate_json(text, strict=True)

    def refusal(self) -> str | None:
        """Say why this version of memorygraph does not restore the archive; None if it does."""
        here = read_lock().version
        if self.format_version != FORMAT_VERSION:
            return (
                f"it has version {self.format_version} of the format, and this memorygraph reads version "
                f"{FORMAT_VERSION}: restore it with memorygraph {self.memorygraph}"
            )
        if not can_read(here, self.neo4j):
            return (
                f"it was made with Neo4j {self.neo4j}, and this memorygraph has Neo4j {here}: restore it with "
                f"memorygraph {self.memorygraph}, `memorygraph export` what you need there, and `load` that here"
            )
        if unknown := find_unknown(self.schema):
            return (
                f"it was made with memorygraph {self.memorygraph}, whose graph has migrations unknown here "
                f"({', '.join(unknown)}): bring memorygraph up to date first"
            )
        return None


class _HashingWriter:
    """Writes to a file, and counts and hashes what it writes."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self.hash = hashlib.sha256()
        self.size = 0

    def write(self, piece: bytes) -> int:
        self.hash.update(piece)
        self.size += len(piece)
        return self._target.write(piece)


def write_archive(file: BinaryIO, write_dump: Callable[[_HashingWriter], object], created_at: str) -> Manifest:
    """Write an archive with the dump that `write_dump` writes."""
    try:
        ours = version("memorygraph")
    except PackageNotFoundError:
        ours = "of a checkout"
    schema = tuple(name for name, _ in CYPHER.migrations())
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        with archive.open(DUMP, "w", force_zip64=True) as target:
            dump = _HashingWriter(target)
            write_dump(dump)
        found = (created_at, dump.size, dump.hash.hexdigest())
        manifest = Manifest(FORMAT, FORMAT_VERSION, read_lock().version, ours, schema, *found)
        archive.writestr(MANIFEST, json.dumps(asdict(manifest), indent=2))
    return manifest


@contextmanager
def open_archive(path: Path) -> Iterator[tuple[Manifest, Archive]]:
    """Open an archive that this memorygraph can restore."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}") from None
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror or error}") from error
    with file:
        archive = Archive(path, file)
        manifest = archive.manifest()
        if reason := manifest.refusal():
            raise BackupError(f"{path} cannot be restored here: {reason}. Nothing was changed.")
        yield manifest, archive


class DumpReader:
    """Reads the dump in an archive, which may have changed or be out of reach since it was opened."""

    def __init__(self, file: IO[bytes], reading: Callable[[], AbstractContextManager[None]]) -> None:
        self._file = file
        self._reading = reading

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes, or all that are left; none at the end."""
        with self._reading():
            return self._file.read(size)


class Archive:
    """An archive that is open for reading."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        try:
            begins = file.read(len(_ZIP)) == _ZIP
            file.seek(0)
            self._zip = zipfile.ZipFile(file)
            self._dump = self._zip.getinfo(DUMP)
            self._manifest = self._zip.getinfo(MANIFEST)
        except zipfile.BadZipFile as error:
            raise self._damaged("its end is missing") if begins else self._foreign() from error
        except (KeyError, OSError, ValueError, NotImplementedError) as error:
            raise self._foreign() from error

    def manifest(self) -> Manifest:
        """Read what the archive says about itself."""
        stored = {self._dump.compress_type, self._manifest.compress_type} == {zipfile.ZIP_STORED}
        if not stored or self._manifest.file_size > MAX_MANIFEST_BYTES:
            raise self._foreign()
        with self._reading():
            text = self._zip.read(self._manifest)
        try:
            manifest = Manifest.parse(text)
        except ValueError as error:
            raise self._foreign() from error
        if manifest.format != FORMAT:
            raise self._foreign()
        return manifest

    def verify(self, manifest: Manifest, reach: Callable[[float], None]) -> None:
        """Compare the dump with its hash in the manifest."""
        found, size = hashlib.sha256(), 0
        with self.dump() as dump:
            while piece := dump.read(PIECE_BYTES):
                found.update(piece)
                size += len(piece)
                reach(size / max(1, manifest.dump_bytes))
        if size != manifest.dump_bytes or found.hexdigest() != manifest.dump_sha256:
            raise self._damaged("the dump is not the one that was written")

    @contextmanager
    def dump(self) -> Iterator[DumpReader]:
        """Open the dump; what fails in the block beside its reading is not explained."""
        with self._reading():
            file = self._zip.open(self._dump)
        with file:
            yield DumpReader(file, self._reading)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
            raise self._damaged(str(error)) from error
        except OSError as error:
            raise BackupError(f"{self._path} cannot be read: {error.strerror or error}") from error

    def _damaged(self, what: str) -> BackupError:
        return BackupError(
            f"{self._path} is damaged or not complete ({what}): use another copy of this backup. Nothing was changed."
        )

    def _foreign(self) -> BackupError:
        return BackupError(f"{self._path} is no backup that `memorygraph backup` has made. Nothing was changed.")


@contextmanager
def new_file(path: Path, mark: str, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a file that takes its name when the block succeeds, and is removed otherwise.

    Until then it stands beside its place, under a name that holds `mark`: what a killed writer left is taken over, or
    removed, by the next one of that mark in its folder.
    """
    refuse_existing(path, overwrite=overwrite)
    unfinished = path.with_name(f".{path.name}.{mark}.part")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with explaining_failed_write(path):
        try:
            unfinished.unlink(missing_ok=True)
            clear_drafts(path.parent.glob(f".*.{mark}.part"))
            with os.fdopen(os.open(unfinished, flags, 0o600), "w+b") as file:
                lock_draft(file.fileno())
                yield file
                file.flush()
                os.fsync(file.fileno())
            move_file(unfinished, path, overwrite=overwrite)
        finally:
            unfinished.unlink(missing_ok=True)


def refuse_unwritable(path: Path) -> None:
    """Raise a BackupError where no file can be made beside this one, or nothing be written to it."""
    with explaining_failed_write(path), tempfile.TemporaryFile(dir=path.parent) as file:
        file.write(b" ")


@contextmanager
def explaining_failed_write(path: Path) -> Iterator[None]:
    """Make what the system refuses in the block a BackupError that says what to do."""
    try:
        yield
    except OSError as error:
        raise BackupError(
            f"{path} cannot be written: {error.strerror or error}. Make room or set the rights, or name another place."
        ) from error


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Raise a BackupError where the file is none, has no folder, or exists and must not be overwritten."""
    try:
        is_folder, has_folder = path.is_dir(), path.parent.is_dir()
        is_device = path.exists() and not path.is_file()
    except OSError as error:
        raise BackupError(f"{path} cannot be written: {error.strerror or error}. Name another place.") from error
    if is_folder:
        raise BackupError(f"{path} is a folder: name a file in it")
    if is_device:  # a new file would take the place of /dev/null, for all programs
        raise BackupError(f"{path} is a device or a pipe: name a file")
    if not has_folder:
        raise BackupError(f"there is no folder {path.parent}: make it first")
    if os.path.lexists(path) and not overwrite:  # a link to nothing has the name, too
        raise BackupError(f"{path} is there already: name another file, or overwrite it with --force")


def move_file(unfinished: Path, path: Path, *, overwrite: bool) -> None:
    """Give a finished file its name, which without `overwrite` no other file may have taken meanwhile."""
    if overwrite:
        unfinished.replace(path)
    else:
        try:
            os.link(unfinished, path)  # which never replaces a file
        except OSError as error:
            refuse_existing(path, overwrite=False)
            if isinstance(error, FileExistsError):  # removed meanwhile
                raise
            unfinished.replace(path)  # on a file system without links
    flush_folder(path.parent)


def can_read(here: str, there: str) -> bool:
    """Tell whether a Neo4j reads a dump of another: of its own year, and not of a later release.

    >>> can_read("2026.08.1", "2026.08.1"), can_read("2026.08.1", "2026.05.0")
    (True, True)
    >>> can_read("2026.08.1", "2026.09.0"), can_read("2026.08.1", "2025.12.1"), can_read("2026.08.1", "5.26.0")
    (False, False, False)
    """
    ours, theirs = ([int(number) for number in re.findall(r"\d+", text)] for text in (here, there))
    return bool(theirs) and theirs[0] == ours[0] and theirs <= ours
