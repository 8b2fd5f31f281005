"""The schema: the files of `cypher/schema`, applied once and in order, their names kept in the database."""

from __future__ import annotations

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.connection import Connection
from memorygraph.library import CYPHER

INDEX_SECONDS = 300


def apply_schema(connection: Connection) -> list[str]:
    """Apply the migrations that this database has not seen, and return their names.

    Several clients may do so at once: each command is idempotent, and so is its record.

    Raises:
        MemoryGraphError: the full-text index exists with another analyzer.
        ConnectionError: the server cannot be reached.
    """
    [row] = connection.read(CYPHER["schema/applied-migrations"]())
    missing = [(name, commands) for name, commands in CYPHER.migrations() if name not in row["names"]]
    for name, commands in missing:
        for command in commands:
            connection.define(command)
        connection.define(CYPHER["schema/await-indexes"](seconds=INDEX_SECONDS))
        record = CYPHER["schema/record-migration"](name=name)
        connection.write(lambda transaction, record=record: transaction.run(record))  # type: ignore[misc]
    if missing:
        _check_analyzer(connection)
    return [name for name, _ in missing]


def _check_analyzer(connection: Connection) -> None:
    [row] = connection.read(CYPHER["schema/index-analyzer"](index="node_text"))
    if row["analyzer"] != "english":
        raise MemoryGraphError(
            f"the full-text index node_text has the analyzer {row['analyzer']!r}, and needs 'english': "
            "run `DROP INDEX node_text` in Neo4j, delete the migration 0003_node_text, and try again"
        )
