"""`sqlite://NAME.db#TOPIC`: records in a table of an SQLite file, each topic apart; without one it is `default`."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from memorygraph.errors import MemoryGraphError
from memorygraph.json_text import parse_stored_json
from memorygraph.limits import require_running
from memorygraph.runtime.memories.memory import Filter, ImportedMemory, MemoryResult, read_record, wrap_record
from memorygraph.runtime.paths import inside, require_plain
from memorygraph.runtime.permissions import Permissions

LOCK_SECONDS = 30.0
STEPS_PER_LOOK = 100_000  # of SQLite, some milliseconds

_TABLE = """
CREATE TABLE IF NOT EXISTS agentscript_records (
  number INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, id TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, record TEXT NOT NULL)
"""
_ADD = "INSERT INTO agentscript_records (topic, id, created_at, updated_at, record) VALUES (?, ?, ?, ?, ?)"
_NEWEST = "SELECT id, created_at, updated_at, record FROM agentscript_records WHERE topic = ? ORDER BY number DESC"


class SqliteMemory(ImportedMemory):
    """Records in an SQLite file."""

    def __init__(self, name: str, uri: str, rest: str, folder: Path, permissions: Permissions) -> None:
        super().__init__(name, uri)
        path, _, topic = rest.partition("#")
        if not path:
            raise MemoryGraphError("write `sqlite://NAME.db#TOPIC`")
        self._file = partial(inside, folder, unquote(path), anywhere=permissions.allows("file"))
        self._topic = unquote(topic) or "default"

    def add(self, record: Any) -> MemoryResult:
        """Keep a record."""
        record, text = read_record(record)
        kept = wrap_record(uuid.uuid4().hex, datetime.now(UTC), record)
        with self.open_database() as database, database:
            database.execute(_ADD, (self._topic, kept["id"], kept["created_at"], kept["updated_at"], text))
        return MemoryResult(kept, id=kept["id"], record=record)

    def query(self, filter: Any = None) -> MemoryResult:  # noqa: A002 - the name users read
        """The envelopes of the records that a filter wants, newest first."""
        wanted = Filter.read(filter)
        with self.open_database() as database:
            rows = database.execute(_NEWEST, (self._topic,))
            keys = ("id", "created_at", "updated_at", "record")
            envelopes = (dict(zip(keys, (*row[:3], parse_stored_json(row[3])), strict=True)) for row in rows)
            found = [*islice((kept for kept in envelopes if wanted.matches(kept["record"])), wanted.limit)]
        return MemoryResult(found, count=len(found))

    @contextmanager
    def open_database(self) -> Iterator[sqlite3.Connection]:
        """Open the file, which is made if it does not exist."""
        path = self._file()
        require_plain(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(path, timeout=LOCK_SECONDS)) as database:
                # Another program may have made the file: what is a table here can be a view there, without an end.
                database.execute("PRAGMA trusted_schema = OFF")
                database.set_progress_handler(must_end, STEPS_PER_LOOK)
                database.execute(_TABLE)
                yield database
        except (sqlite3.Error, ValueError) as error:
            require_running()
            if getattr(error, "sqlite_errorname", None) == "SQLITE_INTERRUPT":
                raise KeyboardInterrupt from error  # SQLite drops the one that Ctrl-C raises in `must_end`
            raise MemoryGraphError(f"the SQLite file cannot be used: {error}") from error


def must_end() -> bool:
    """Whether the run that waits for the database is to end."""
    try:
        require_running()
    except MemoryGraphError:
        return True
    return False
