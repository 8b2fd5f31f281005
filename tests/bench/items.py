"""What a search in LangGraph's store costs where other users have items that fit as well, or better.

Each of so many users has fifty items in a namespace of their own, and all of them have the words of the query. The
median and the longest of twelve searches of ten items below one user's namespace are printed, without a filter of the
values and with one that every other item fits, and one search of all namespaces.

    python -m tests.bench.items [--users N …]
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import Any

from langgraph.store.base import PutOp

from memorygraph import MemoryGraph
from memorygraph.integrations.langgraph import MemoryGraphStore
from tests.bench.load import fresh

EACH = 50
SEARCHES = 12


def put_items(store: MemoryGraphStore, users: int) -> None:
    """Store the items of each user."""
    for user in range(users):
        values = [{"text": f"likes tea number {number} of {user}", "even": number % 2 == 0} for number in range(EACH)]
        store.batch([PutOp(("users", str(user)), str(number), value) for number, value in enumerate(values)])


def milliseconds(store: MemoryGraphStore, prefix: tuple[str, ...], **options: Any) -> float:
    """How long a search takes; it finds ten items."""
    began = time.perf_counter()
    found = store.search(prefix, query="who likes tea", limit=10, **options)
    took = 1000 * (time.perf_counter() - began)
    assert len(found) == 10
    assert all(item.namespace[: len(prefix)] == prefix for item in found)
    return took


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, nargs="+", default=[100, 1000])
    for users in parser.parse_args().users:
        with MemoryGraph.connect() as server, fresh(server) as graph:
            store = MemoryGraphStore(graph)
            put_items(store, users)
            milliseconds(store, ("users",))  # the first one plans the query
            of_users = [("users", str(number * users // SEARCHES)) for number in range(SEARCHES)]
            for name, options in {"no filter": {}, "a filter": {"filter": {"even": True}}}.items():
                times = [milliseconds(store, prefix, **options) for prefix in of_users]
                print(f"{users * EACH} items, {name}: {median(times):.0f} ms, at most {max(times):.0f}", flush=True)
            print(f"{users * EACH} items, of everybody: {milliseconds(store, ()):.0f} ms", flush=True)


if __name__ == "__main__":
    main()
