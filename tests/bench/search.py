"""What a search of the memory server costs in a large graph, beside its own search by words.

    python -m tests.bench.search NAMESPACE TEXT... [--rounds N]

Each text is searched in turn as `search_nodes` does, with a walk over all terms of the index always, and by its words
alone, and behind each time stands how many entities were found; the ratios are those of the medians to the last.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

from memorygraph import MemoryGraph
from memorygraph.graph.search import lucene_query
from memorygraph.memory import pages
from memorygraph.memory.pages import ChosenEntities, EntityGraph, PageRequest
from tests.bench.history import timed_in_turns

TOKENS = 5_000


def count_entities(graph: EntityGraph) -> int:
    """How many entities a search has found, on its first page and beyond it."""
    return len(graph.entities) + int(graph.left_out.get("entities", 0))


def measure(graph: MemoryGraph, text: str, rounds: int) -> None:
    """Print what one text costs."""

    def page() -> PageRequest:
        return PageRequest(graph.scope, TOKENS, None, names_only=False)

    def walk() -> EntityGraph:
        most, pages.MAX_WALKED_NODES = pages.MAX_WALKED_NODES, 1 << 40
        found = page().search(text)
        pages.MAX_WALKED_NODES = most
        return found

    words = {"search": "ids-with-words", "terms": lucene_query(text, graph.namespace)}
    ways: dict[str, Callable[[], EntityGraph]] = {
        "search": lambda: page().search(text),
        "with a walk": walk,
        "by words": lambda: page().fill(ChosenEntities.find(page(), words)),
    }
    middle = {name: statistics.median(taken) for name, taken in timed_in_turns(ways, rounds).items()}
    found = {name: count_entities(way()) for name, way in ways.items()}
    shown = ", ".join(f"{name} {taken * 1e3:.0f} ms ({found[name]})" for name, taken in middle.items())
    ratios = [middle[name] / middle["by words"] for name in ("search", "with a walk")]
    print(f"{text!r}: {shown}; {ratios[0]:.2f} and {ratios[1]:.2f} times its words", flush=True)


def main() -> None:
    """Measure each text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("namespace")
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with MemoryGraph.connect(namespace=options.namespace) as graph:
        for text in options.texts:
            measure(graph, text, options.rounds)


if __name__ == "__main__":
    main()
