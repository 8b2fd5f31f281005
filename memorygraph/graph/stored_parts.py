"""The parts of words (`memorygraph.word_parts`) of what an earlier release has stored without them."""

from __future__ import annotations

from typing import Any

from memorygraph.graph.namespace import Namespace
from memorygraph.word_parts import STORED_SCRIPTS, parts_of_properties

ROWS_PER_TRANSACTION = 1000


def store_missing_parts(namespace: Namespace) -> int:
    """Store the parts of messages and nodes that lack them, and return how many did."""
    # Each page is a transaction of its own, and what has parts is not read again: stopped, it goes on from there.
    done = 0
    for kind, properties in (("messages", ("said",)), ("nodes", ("name", "data"))):
        after = ""
        while rows := read_page(namespace, kind, after):
            after = rows[-1]["id"]
            for row in rows:
                texts = {name: row[name] for name in properties}
                row["parts"] = parts_of_properties({n: text for n, text in texts.items() if isinstance(text, str)})
            query = namespace.query(f"recall/add-parts-to-{kind}", rows=rows)
            namespace.write(lambda transaction, query=query: transaction.run(query))  # type: ignore[misc]
            done += len(rows)
    return done


def read_page(namespace: Namespace, kind: str, after: str) -> list[dict[str, Any]]:
    """Messages or nodes that lack their parts, in the order of their ids."""
    query = f"recall/{kind}-without-parts"
    return namespace.read(query, scripts=STORED_SCRIPTS, after=after, limit=ROWS_PER_TRANSACTION)
