"""How long lists of many conversations take: a page, a page from the middle, and those with a text in their names.

Each is one command, a process of its own, beside one that asks Neo4j for nothing but a number; and one call of the
client, beside the raw query of the driver for as many names.

    python -m tests.bench.conversations [--count N] [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import uuid
from collections.abc import Callable

from memorygraph import MemoryGraph
from memorygraph.query import Query
from tests.bench.history import timed_in_turns

RAW = """
MATCH (conversation:Conversation {namespace: $namespace})
WHERE conversation.name > $after
RETURN conversation.name AS name ORDER BY conversation.namespace, conversation.name LIMIT 100
"""


def run(namespace: str, *arguments: str) -> None:
    """Run a command in the namespace."""
    command = [sys.executable, "-m", "memorygraph", "-n", namespace, *arguments]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def measure(graph: MemoryGraph, count: int, rounds: int) -> None:
    """Print the medians of all ways, asked in turns."""
    middle = f"talk {count // 2:06}"

    def command(*arguments: str) -> Callable[[], object]:
        return lambda: run(graph.namespace, *arguments)

    ways: dict[str, Callable[[], object]] = {
        "query 'RETURN 1'": command("query", "RETURN 1"),
        "messages list": command("messages", "list"),
        "messages list --after": command("messages", "list", "--after", middle),
        "messages list --containing": command("messages", "list", "--containing", middle),
        "raw query": lambda: graph.connection.read(Query(RAW, {"namespace": graph.namespace, "after": ""})),
        "conversations(100)": lambda: graph.conversations(100),
        "conversations(100, after=…)": lambda: graph.conversations(100, after=middle),
        "conversations(100, containing=…)": lambda: graph.conversations(100, containing=middle),
    }
    medians = {name: statistics.median(taken) for name, taken in timed_in_turns(ways, rounds).items()}
    for name, taken in medians.items():
        base = "raw query" if name.startswith(("raw", "conversations")) else "query 'RETURN 1'"
        print(f"{name:34} {taken * 1e3:7.1f} ms, {taken / medians[base]:5.2f} times {base}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex[:8]}") as graph:
        for number in range(options.count):
            graph.messages(f"talk {number:06}").append({"role": "user", "content": f"This is talk {number}."})
        print(f"{options.count} conversations:")
        measure(graph, options.count, options.rounds)
        graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    main()
