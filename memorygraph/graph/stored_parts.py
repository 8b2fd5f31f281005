"""The parts of words (`memorygraph.word_parts`) of what an earlier release has stored without them."""

from __future__ import annotations

from collections.abc import Callable

from memorygraph.graph.namespace import Namespace
from memorygraph.word_parts import STORED_SCRIPTS, parts_of_properties

ROWS_PER_TRANSACTION = 1000
_PROPERTIES = {"messages": ("said",), "nodes": ("name", "data"), "aliases": ("name",)}


def store_missing_parts(namespace: Namespace, progress: Callable[[int, int], None] | None = None) -> int:
    """Store the parts of messages, nodes and aliases that lack them, and return how many did.

    Once all have theirs, the namespace says so, as a new one does, and is never looked through again (`index_stored` of
    memory/recall.py). `progress` is called with the number of those that are done, and of all.
    """
    total = 0 if progress is None else namespace.read("recall/count-without-parts", scripts=STORED_SCRIPTS)[0]["count"]
    # Each page is a transaction of its own, and what has parts is not read again: stopped, it goes on from there.
    done = 0
    for kind, properties in _PROPERTIES.items():
        query, after = f"recall/{kind}-without-parts", ""
        while rows := namespace.read(query, scripts=STORED_SCRIPTS, after=after, limit=ROWS_PER_TRANSACTION):
            after = rows[-1]["id"]
            for row in rows:
                texts = {name: row[name] for name in properties}
                row["parts"] = parts_of_properties({n: text for n, text in texts.items() if isinstance(text, str)})
            namespace.write_query(f"recall/add-parts-to-{kind}", rows=rows)
            done += len(rows)
            if progress is not None:
                progress(done, max(done, total))
    namespace.write_query("recall/mark-parts-stored")
    return done
