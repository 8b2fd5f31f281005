"""`file://NAME.jsonl`: records in a file, one envelope of JSON on each line, the newest last.

A record is one line, written at once and synced, while a lock beside the file keeps other writers away. After a crash
the last line may be torn: readers skip it, and the next writer takes it away.
"""

from __future__ import annotations

import mmap
import os
import re
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from filelock import FileLock, Timeout

from memorygraph.context.rendering import compact
from memorygraph.errors import MemoryGraphError
from memorygraph.json_text import MAX_STORED_JSON_DEPTH, UnreadableRecord, check_json_depth, parse_stored_json
from memorygraph.limits import require_running
from memorygraph.runtime.memories.memory import Filter, ImportedMemory, MemoryResult, read_record, wrap_record
from memorygraph.runtime.paths import inside, open_plain
from memorygraph.runtime.permissions import Permissions

LOCK_SECONDS = 30.0
LINES_PER_LOOK = 1000  # whether the run is to end

# How a line of ours begins, and no line that somebody else writes.
_HEAD = re.compile(rb'\{"id":"[0-9a-f]{32}","created_at":"')


class JsonlMemory(ImportedMemory):
    """Records in a file of JSON lines."""

    def __init__(self, name: str, uri: str, path: str, folder: Path, permissions: Permissions) -> None:
        super().__init__(name, uri)
        if not path.endswith(".jsonl"):
            raise MemoryGraphError("a memory in a file has a name that ends in `.jsonl`")
        self._file = partial(inside, folder, unquote(path), anywhere=permissions.allows("file"))

    def add(self, record: Any) -> MemoryResult:
        """Keep a record; once this returns, it survives a crash of the machine."""
        record, _ = read_record(record)
        path = self._file()
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(path.with_name(f".{path.name}.lock"), timeout=LOCK_SECONDS):
                kept = wrap_record(uuid.uuid4().hex, datetime.now(UTC), record)
                append_line(path, compact(kept).encode("utf-8") + b"\n")
        except Timeout:
            raise MemoryGraphError(f"another writer has held the file for {LOCK_SECONDS:g} seconds") from None
        return MemoryResult(kept, id=kept["id"], record=record)

    def query(self, filter: Any = None) -> MemoryResult:  # noqa: A002 - the name users read
        """The envelopes of the records that a filter wants, newest first."""
        wanted = Filter.read(filter)
        try:
            descriptor = open_plain(self._file(), os.O_RDONLY)
        except FileNotFoundError:
            return MemoryResult([], count=0)
        found: deque[dict[str, Any]] = deque(maxlen=wanted.limit)
        with os.fdopen(descriptor, "rb") as stream:
            found.extend(kept for kept in read_envelopes(stream) if wanted.matches(kept["record"]))
        return MemoryResult([*reversed(found)], count=len(found))


def read_envelopes(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Read the envelopes of a file, but not a torn last line."""
    for number, line in enumerate(lines, 1):
        if number % LINES_PER_LOOK == 0:
            require_running()
        kept = parse_envelope(line)
        if kept is not None:
            yield kept
        if not line.endswith(b"\n"):
            return  # a file goes on giving lines after its end: the rest of this one, if it is being written
        if kept is None and line.strip():
            raise MemoryGraphError(f"line {number} of the file is no record in its envelope; repair or remove it")


def parse_envelope(line: bytes) -> dict[str, Any] | None:
    """Parse the envelope in a line; None if there is no whole one."""
    try:
        kept = parse_stored_json(line)
    except ValueError:
        return None
    whole = isinstance(kept, dict) and kept.keys() >= {"id", "created_at", "updated_at", "record"}
    return kept if whole else None


def is_torn(line: bytes) -> bool:
    """Whether a line without its end is one of ours that a crash cut off; a line of somebody else is none of ours."""
    if _HEAD.match(line) is None:
        return False
    try:
        check_json_depth(line.decode("utf-8", "replace"), MAX_STORED_JSON_DEPTH)
    except ValueError:
        return False  # deeper than can be told
    try:
        parse_stored_json(line)
    except UnreadableRecord:
        return True
    return False


def append_line(path: Path, line: bytes) -> None:
    """Append a line and sync it; a torn line of ours before it is taken away, and any other is ended."""
    with os.fdopen(open_plain(path, os.O_RDWR | os.O_CREAT), "r+b", buffering=0) as stream:
        end = stream.seek(0, os.SEEK_END)
        start = end
        if end:
            with mmap.mmap(stream.fileno(), end, access=mmap.ACCESS_READ) as content:
                start = content.rfind(b"\n") + 1  # where a line begins that no line break ends
        if start < end:
            stream.seek(start)
            if is_torn(stream.read(end - start) or b""):
                stream.truncate(start)
            else:
                line = b"\n" + line
        end = stream.seek(0, os.SEEK_END)
        rest = memoryview(line)
        try:
            while rest:  # a disk that is nearly full takes a part of it, and refuses the rest
                rest = rest[stream.write(rest) :]
        except OSError:
            stream.truncate(end)
            raise
        os.fsync(stream.fileno())
