"""Orders and numbers what may be too much for memory: what is above a limit is held in a temporary file.

The file is one of SQLite, which sorts on disk and comes with Python; what is below the limit needs none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import chain

from memorygraph.errors import MemoryGraphError

MAX_HELD_CHARACTERS = 4_000_000


def sort_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines in the order of their characters, holding at most `MAX_HELD_CHARACTERS` and one line of them.

    >>> list(sort_lines(["b", "a"]))
    ['a', 'b']
    """
    rest = iter(lines)
    held: list[str] = []
    size = 0
    for line in rest:
        held.append(line)
        size += len(line)
        if size > MAX_HELD_CHARACTERS:
            yield from _sort_on_disk(chain(_release(held), rest))
            return
    held.sort()
    yield from held


def _release(lines: list[str]) -> Iterator[str]:
    """Yield lines and hold them no longer."""
    lines.reverse()
    while lines:
        yield lines.pop()


def _sort_on_disk(lines: Iterable[str]) -> Iterator[str]:
    with closing(_open_temporary()) as database, _explaining_full_folder():
        database.execute("CREATE TABLE lines (line BLOB)")
        database.executemany("INSERT INTO lines VALUES (?)", ((_encode(line),) for line in lines))
        for (line,) in database.execute("SELECT line FROM lines ORDER BY line"):
            yield _decode(line)


class TextSet:
    """A set of texts, of which few are in memory.

    >>> texts = TextSet()
    >>> texts.add("a")
    >>> "a" in texts, "b" in texts
    (True, False)
    >>> texts.close()
    """

    def __init__(self) -> None:
        self._database: sqlite3.Connection | None = None  # most sets stay empty

    def add(self, text: str) -> None:
        """Add a text."""
        if self._database is None:
            self._database = _open_temporary()
            self._database.execute("CREATE TABLE texts (text BLOB PRIMARY KEY) WITHOUT ROWID")
        with _explaining_full_folder():
            self._database.execute("INSERT OR IGNORE INTO texts VALUES (?)", (_encode(text),))

    def __contains__(self, text: str) -> bool:
        if self._database is None:
            return False
        with _explaining_full_folder():
            return bool(self._database.execute("SELECT 1 FROM texts WHERE text = ?", (_encode(text),)).fetchall())

    def close(self) -> None:
        """Delete the temporary file: Python 3.13 and later warn of one that is left to the garbage."""
        if self._database is not None:
            self._database.close()


class NumberedNodes:
    """Nodes without a key, numbered from 1 by their content, and equal ones by how many relationships each has.

    `element` is what the database calls a node: it decides last, and is another one after an import. A node that has a
    number keeps it.

    >>> nodes = NumberedNodes([("x", "b", 0, None), ("y", "a", 0, None)])
    >>> list(nodes), nodes.number("x")
    ([(1, 'a'), (2, 'b')], 2)
    >>> nodes.close()
    """

    def __init__(self, nodes: Iterable[tuple[str, str, int, int | None]]) -> None:
        self._database = _open_temporary()
        found = ((element, _encode(line), degree, number) for element, line, degree, number in nodes)
        try:
            with _explaining_full_folder():
                self._database.execute("CREATE TABLE found (element TEXT, line BLOB, degree INTEGER, number INTEGER)")
                self._database.execute(
                    "CREATE TABLE nodes (element TEXT PRIMARY KEY, line BLOB, number INTEGER) WITHOUT ROWID"
                )
                self._database.executemany("INSERT INTO found VALUES (?, ?, ?, ?)", found)
                self._database.execute(
                    "INSERT INTO nodes SELECT element, line, "
                    "coalesce(number, (SELECT coalesce(max(number), 0) FROM found) + row_number() "
                    "OVER (PARTITION BY number IS NULL ORDER BY line, degree, element)) FROM found"
                )
                self._database.execute("DROP TABLE found")
                self._database.execute("CREATE INDEX by_number ON nodes (number)")
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Yield the numbers in their order, each with its content."""
        for number, line in self._database.execute("SELECT number, line FROM nodes ORDER BY number"):
            yield number, _decode(line)

    def number(self, element: str) -> int | None:
        """Return the number of a node, or None where there is no such node."""
        found = self._database.execute("SELECT number FROM nodes WHERE element = ?", (element,)).fetchone()
        return None if found is None else int(found[0])

    def close(self) -> None:
        """Delete the temporary file."""
        self._database.close()


@contextmanager
def _explaining_full_folder() -> Iterator[None]:
    """Have a folder for temporary files that takes no more be explained."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise MemoryGraphError(
            f"what is too much for memory is sorted in the folder for temporary files, which takes no more: {error}. "
            "Make room there, or name another folder with TMPDIR, and run the same command again"
        ) from error


def _open_temporary() -> sqlite3.Connection:
    """Open a database without a name: SQLite keeps it in memory while it is small, then in a file that has no name."""
    database = sqlite3.connect("", isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    return database


def _encode(line: str) -> bytes:
    """Return UTF-8, whose order is that of the characters."""
    return line.encode("utf-8", "surrogateescape")


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")
