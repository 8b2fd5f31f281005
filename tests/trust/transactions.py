"""What the server still does for a client that was killed."""

from __future__ import annotations

import time

from memorygraph.graph.connection import Connection
from memorygraph.query import Query

TRANSACTIONS = Query(
    "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery AS query "
    "WHERE NOT query STARTS WITH 'SHOW TRANSACTIONS' RETURN collect(id) AS open"
)
MAX_COMMIT_SECONDS = 10.0


def await_open_transactions(connection: Connection) -> None:
    """Wait for the end of the transactions that are open now.

    What a client has sent before it was killed, a commit perhaps, the server still does.
    """
    until = time.monotonic() + MAX_COMMIT_SECONDS
    open_at_first = _open_transactions(connection)  # some are of other tests, which begin others meanwhile
    while open_at_first & _open_transactions(connection) and time.monotonic() < until:
        time.sleep(0.005)


def _open_transactions(connection: Connection) -> set[str]:
    return set(connection.read(TRANSACTIONS)[0]["open"])
