"""The schema: the files of `cypher/schema`, applied once and in order, their names kept in the database."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from operator import methodcaller
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import Connection
from memorygraph.graph.migrations import DATA_MIGRATIONS
from memorygraph.graph.namespace import Namespace, list_namespace_names
from memorygraph.library import CYPHER
from memorygraph.query import Query

INDEX_SECONDS = 300
TURN_SECONDS = 120.0
Migration = tuple[str, list[Query]]

_SEARCH_INDEX = re.compile(
    r"CREATE\s+(?P<kind>FULLTEXT|VECTOR) INDEX (?P<name>\w+) IF NOT EXISTS\s+FOR \(\w+:(?P<labels>[\w|]+)\) ON "
    r"(?P<properties>.*?)OPTIONS \{indexConfig: \{(?P<options>.*?)\}\}",
    re.DOTALL,
)
_PROPERTY = re.compile(r"\.(\w+)")
_OPTION = re.compile(r"`([\w.]+)`: (?:'([^']*)'|(true|false))")


@dataclass(frozen=True)
class SearchIndex:
    """A full-text or vector index as a file of the schema defines it."""

    migration: str
    kind: str
    name: str
    labels: frozenset[str]
    properties: tuple[str, ...]
    options: Mapping[str, str]

    @classmethod
    def of(cls, migration: str, command: str) -> Self | None:
        """Read the index that a command of the schema creates, if it is a full-text or vector index.

        >>> index = SearchIndex.of(
        ...     "0001_a",
        ...     "CREATE FULLTEXT INDEX t IF NOT EXISTS FOR (n:A|B) ON EACH [n.x, n.y] "
        ...     "OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}}",
        ... )
        >>> index.name, sorted(index.labels), index.properties, index.options
        ('t', ['A', 'B'], ('x', 'y'), {'fulltext.analyzer': 'english'})
        """
        found = _SEARCH_INDEX.search(command)
        if found is None:
            return None
        return cls(
            migration,
            found["kind"],
            found["name"],
            frozenset(found["labels"].split("|")),
            tuple(_PROPERTY.findall(found["properties"])),
            {name: text or truth for name, text, truth in _OPTION.findall(found["options"])},
        )

    def problem(self, existing: Sequence[Mapping[str, Any]]) -> str | None:
        """Say what is wrong with this index among the existing ones of a database, and what to do about it."""
        here = next((row for row in existing if row["name"] == self.name), None)
        if here is None:
            other = next((row for row in existing if self._stands_on(row)), None)
            if other is None:
                return f"the index {self.name} is missing: {self._advice()}"
            return f"the index {other['name']} stands where {self.name} belongs: {self._advice(other['name'])}"
        if not self._stands_on(here):
            return f"the index {self.name} is one of other labels or properties: {self._advice(self.name)}"
        for name, wanted in self.options.items():
            given = here["options"]["indexConfig"].get(name)
            if str(given).casefold() != wanted.casefold():
                return f"the index {self.name} has {given!r} as {name}, and needs {wanted!r}: {self._advice(self.name)}"
        return None

    def _stands_on(self, row: Mapping[str, Any]) -> bool:
        stands_on = (row["type"], frozenset(row["labels"]), tuple(row["properties"]))
        return stands_on == (self.kind, self.labels, self.properties)

    def _advice(self, standing: str | None = None) -> str:
        drop = [] if standing is None else [f"DROP INDEX {standing};"]
        # It is shown and not run, so its parameter is written out.
        again = CYPHER["schema/forget-migration"](name="").text.replace("$name", f"'{self.migration}'") + ";"
        return f"run `{' '.join([*drop, again])}` in Neo4j, and try again"


class NewerSchemaWarning(UserWarning):
    """A later memorygraph has used the database: what this one writes lacks what that one adds to it."""


def apply_schema(connection: Connection) -> list[str]:
    """Apply the migrations that this database has not seen, and return their names.

    Of those that this memorygraph does not know it warns (`NewerSchemaWarning`): data is migrated once, and what an
    earlier version writes after that is not.
    """
    applied = list_applied(connection)
    if unknown := find_unknown(applied):
        warnings.warn(
            f"a later memorygraph has used this database, with the schema {unknown[-1]}, and may not find all that "
            "this one writes: update this one",
            NewerSchemaWarning,
            stacklevel=4,
        )
    if not find_missing(applied):
        return []
    with take_turn():
        missing = find_missing(list_applied(connection))
        namespaces = [Namespace(connection, name) for name in list_namespace_names(connection)]
        # Each step is idempotent, and so is its record: a client on another machine may do the same.
        for step in steps_of(missing, ends=DATA_MIGRATIONS if namespaces else ()):
            names = [name for name, _ in step]
            connection.define(*(command for _, commands in step for command in commands))
            connection.define(CYPHER["schema/await-indexes"](seconds=INDEX_SECONDS))
            for migrate in (DATA_MIGRATIONS[name] for name in names if name in DATA_MIGRATIONS):
                for namespace in namespaces:
                    migrate(namespace)
            connection.write(methodcaller("run", CYPHER["schema/record-migrations"](names=names)))
    if missing and (problems := index_problems(connection)):
        raise MemoryGraphError("; ".join(problems))
    return [name for name, _ in missing]


def list_applied(connection: Connection) -> list[str]:
    """List the names of the migrations that the database has seen, in their order."""
    [row] = connection.read(CYPHER["schema/applied-migrations"]())
    return sorted(row["names"])


def find_missing(applied: Container[str]) -> list[Migration]:
    """Find the migrations that are not among those applied."""
    return [(name, commands) for name, commands in CYPHER.migrations() if name not in applied]


def find_unknown(applied: Iterable[str]) -> list[str]:
    """Find the migrations of a later memorygraph among those applied."""
    known = {name for name, _ in CYPHER.migrations()}
    return [name for name in applied if name not in known]


def steps_of(migrations: Sequence[Migration], *, ends: Container[str]) -> list[list[Migration]]:
    """Join migrations whose commands run in one transaction, up to each of `ends`: later ones may rely on its data.

    A schema command in a transaction of its own costs a tenth of a second, and there are a hundred.
    """
    stops = [at for at, (name, _) in enumerate(migrations, start=1) if name in ends]
    steps = [list(migrations[start:stop]) for start, stop in pairwise([0, *stops, len(migrations)])]
    return [step for step in steps if step]


@contextmanager
def take_turn() -> Iterator[None]:
    """Wait, but not indefinitely, until no other process of this user on this machine sets up a database."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    with ExitStack() as stack:
        # Without a turn it is right too, only slow: two clients that create one constraint make each other wait.
        with suppress(Timeout, OSError):  # as where there is no folder for temporary files
            folder = Path(tempfile.gettempdir())
            stack.enter_context(FileLock(folder / f"memorygraph-schema-{user}.lock", timeout=TURN_SECONDS))
        yield


def index_problems(connection: Connection, migrations: Sequence[Migration] | None = None) -> list[str]:
    """Find what keeps searches from finding what is stored, and what to do about it, by one query.

    `IF NOT EXISTS` keeps an index of the same name, or on the same properties, whatever its analyzer is. `migrations`
    are those of the library unless others are given.
    """
    existing = connection.read(CYPHER["schema/search-indexes"]())
    wanted: dict[str, SearchIndex] = {}
    for migration, commands in CYPHER.migrations() if migrations is None else migrations:
        # The last file that creates an index decides about it.
        found = (SearchIndex.of(migration, command.text) for command in commands)
        wanted |= {index.name: index for index in found if index is not None}
    return [problem for index in wanted.values() if (problem := index.problem(existing)) is not None]
