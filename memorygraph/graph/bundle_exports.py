"""Exporting a bundle into a file: an export that was interrupted goes on after what is written already.

What is written lies beside the file until it is whole. It may be gone on with, whatever happened meanwhile: the last
reading of each export compares all of it with the namespace.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from memorygraph.errors import ConflictError
from memorygraph.graph.bundles import (
    CHANGED_SINCE,
    EDGES,
    KEYLESS,
    OWN_NAMESPACE,
    PARTS,
    BegunBundle,
    BundlePart,
    BundlePlace,
    BundleReport,
    HashChain,
    decode_key,
    end_line,
    export_bundle,
    hash_suffix,
    header_line,
    node_lines,
)
from memorygraph.graph.namespace import Namespace
from memorygraph.graph.schema import list_applied
from memorygraph.home import flush_folder
from memorygraph.json_text import parse_stored_json

LINES_PER_PROGRESS = 1000


def export_bundle_file(namespace: Namespace, path: Path, progress: Callable[[int], None] | None = None) -> BundleReport:
    """Write a namespace into a file that is there when it is whole, or go on with an interrupted export into it.

    `progress` is told the number of lines written, thousand by thousand, and first of those that an earlier one wrote.

    Raises:
        ConflictError: another process exports into the same file, or something stands there that is no file.
        MemoryGraphError: see `export_bundle`.
        OSError: the file cannot be written.
    """
    # A file would take the place of /dev/null for all programs, and of the link /dev/stdout.
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise ConflictError(f"cannot write {path}: a link, a device or a folder stands there; name a file of its own")
    partial = path.with_name(f"{path.name}.partial")
    with _alone(path):
        with _opened(partial) as raw:
            begun, why = _take_up(namespace, raw)
            if progress is not None and begun is not None:
                progress(begun.nodes + begun.relationships)
            with _ToldFile(raw, progress) as file:
                report = export_bundle(namespace, file, begun)
                file.flush()
                os.fsync(file.fileno())
        partial.replace(path)
        flush_folder(path.parent)
    report.began_again = report.began_again or why
    return report


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Have no other process export into the same file."""
    if not path.parent.is_dir():  # a lock makes its folder
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise ConflictError(f"another process exports into {path}; wait for its end, or name another file") from None
    try:
        yield
    finally:
        if os.name == "posix":  # elsewhere a file that is open cannot be deleted
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _opened(partial: Path) -> BinaryIO:
    """Open a file for reading and writing, made for its user alone; a link that stands there is not followed."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(partial, flags, 0o600), "r+b")


class _ToldFile(TextIOWrapper):
    """A text file that is written line by line, and tells of it."""

    def __init__(self, raw: BinaryIO, progress: Callable[[int], None] | None) -> None:
        super().__init__(raw, "utf-8", newline="")
        self._progress = progress
        self._lines = 0

    def write(self, text: str, /) -> int:
        """Write a line."""
        self._lines += 1
        if self._progress is not None and self._lines % LINES_PER_PROGRESS == 0:
            self._progress(LINES_PER_PROGRESS)
        return super().write(text)


def _take_up(namespace: Namespace, file: BinaryIO) -> tuple[BegunBundle | None, str]:
    """Cut a file off after what can be gone on with, and say why that is nothing where something is written."""
    found = _Begun(namespace, list_applied(namespace.connection))
    try:
        found.read(file)
    except ValueError as error:
        why = str(error)
    else:
        why = ""
    begun = None if why or not found.length else found.begun
    file.seek(found.length if begun is not None else 0)
    file.truncate()
    return begun, why


class _Begun:
    """Finds what a file holds of a bundle: after `read` it is `begun`, in the first `length` bytes.

    That is all up to the last place at which a reading of the database can begin.
    """

    def __init__(self, namespace: Namespace, schema: list[str]) -> None:
        self.begun = BegunBundle(HashChain())
        self.length = 0
        self._namespace = namespace
        self._schema = schema
        self._read = BegunBundle(HashChain())  # everything read up to now
        self._read_length = 0

    def read(self, file: BinaryIO) -> None:
        """Read the lines that were written whole.

        Raises:
            ValueError: they are not, or no longer, the beginning of a bundle of this namespace; the message says so.
        """
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            if number == 1:
                if line != header_line(self._namespace, self._schema, self._read.chain).encode():
                    raise ValueError("what was written is of another namespace, or of another memorygraph")
                self._read_length = len(line)
                self._note(None)
            elif not self._take(line):
                raise ValueError(f"line {number} of what was written was changed since")

    def _take(self, line: bytes) -> bool:
        """Take one line; False if it is not as it was written."""
        try:
            text = line.decode()
            document = parse_stored_json(text)
            if self._read.sha256:
                return False
            if "end" in document:
                return self._take_end(text)
            group = self._group(document)
            if group is not None and group != self._read.place:
                self._note(group)
            content = text[: -len(hash_suffix(document))] + "}"
            if text != self._read.chain.line(content):
                return False
            if "node" in document:
                self._read.nodes += 1
            else:
                self._read.relationships += 1
            self._read_length += len(line)
            place = self._after(document, content)
        except (ValueError, LookupError, TypeError) as error:
            if str(error) == CHANGED_SINCE:
                raise
            return False
        if place is not None:
            self._note(place)
        return True

    def _take_end(self, text: str) -> bool:
        last, self._read.sha256 = end_line(self._read.nodes, self._read.relationships, self._read.chain)
        self._read_length += len(text.encode())
        self._note(self._read.place)
        return text == last

    def _group(self, document: Mapping[str, Any]) -> BundlePlace | None:
        """Return the place before the relationships of one node, if the line is one of these."""
        if "node" in document or _is_edge(document):
            return None
        source = decode_key(document["from"])
        return BundlePlace(BundlePart("relationship", source.kind), () if source.kind == KEYLESS else source.values)

    def _after(self, document: Mapping[str, Any], content: str) -> BundlePlace | None:
        """Return the place after a node or an edge, if a reading can begin there."""
        if "node" not in document:
            identifier = document["properties"].get("id")
            return BundlePlace(EDGES, (identifier,)) if _is_edge(document) and isinstance(identifier, str) else None
        key = decode_key(document["node"])
        if key.kind != "Namespace":
            return BundlePlace(BundlePart("node", key.kind), key.values)
        if content not in node_lines(self._namespace, key.kind):
            raise ValueError(CHANGED_SINCE)
        return BundlePlace(PARTS[1], ())

    def _note(self, place: BundlePlace | None) -> None:
        """Note that everything read up to now can be gone on with, from a place on."""
        self._read.place = place
        self.begun = BegunBundle(
            self._read.chain.copy(), self._read.nodes, self._read.relationships, place, self._read.sha256
        )
        self.length = self._read_length


def _is_edge(document: Mapping[str, Any]) -> bool:
    """Whether a line is one of the edges, which come before all other relationships."""
    properties = document["properties"]
    return (
        document.get("relationship") == "EDGE" and properties.get("namespace") == OWN_NAMESPACE and "id" in properties
    )
