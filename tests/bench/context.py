"""How long it takes to fill a prompt: 20 sources with 100 KB of values, by their shape and budget.

Run it with `python -m tests.bench.context`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from memorygraph.budget import Budget
from memorygraph.context.prompt import ContextSource, build_items

ITEMS = 20
SIZE = 100_000
WORDS = "The graph remembers what it was told, by whom and when. "
RUNS = 20


def best_ms(task: Callable[[], object]) -> float:
    """The shortest of some runs."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        task()
        times.append(time.perf_counter() - started)
    return min(times) * 1000


def _text(size: int) -> str:
    return "\n".join([WORDS] * (size // len(WORDS)))


def _records(size: int) -> list[dict[str, Any]]:
    record = {"id": "n1024", "name": "Ada Lovelace", "weight": 0.75, "kind": "person", "note": WORDS}
    return [record] * (size // len(json.dumps(record, indent=2)))


VALUES: dict[str, Callable[[int], Any]] = {
    "texts": _text,
    "texts that are not ASCII": lambda size: _text(size).replace("graph", "Gräph").replace("The", "Ȟhe"),
    "lists of texts": lambda size: [WORDS] * (size // len(WORDS)),
    "lists of objects": _records,
    "objects of texts": lambda size: {f"key{n}": WORDS for n in range(size // len(WORDS))},
}


def main() -> None:
    """Print the milliseconds of each kind of values, and how they compare with those of json.dumps."""
    print(f"{'20 sources, 100 KB':28}{'budget':>8}{'ms':>9}{'json.dumps':>12}{'indent=2':>10}{'ratio':>7}")
    for name, make in VALUES.items():
        values = [make(SIZE // ITEMS) for _ in range(ITEMS)]
        compactly = best_ms(lambda values=values: json.dumps(values, ensure_ascii=False))  # type: ignore[misc]
        indented = best_ms(lambda values=values: json.dumps(values, ensure_ascii=False, indent=2))  # type: ignore[misc]
        for budget in (None, "2k", "500t"):
            limit = None if budget is None else Budget.parse(budget)
            sources = [ContextSource(name, value, limit) for value in values]
            spent = best_ms(lambda sources=sources: build_items(sources))  # type: ignore[misc]
            row = f"{name:28}{budget or '-':>8}{spent:9.2f}{compactly:12.2f}{indented:10.2f}{spent / indented:7.1f}"
            sys.stdout.write(row + "\n")


if __name__ == "__main__":
    main()
