"""How fast the model in a folder makes vectors, as a ratio to another checkout of memorygraph.

    python tests/bench/embed.py FOLDER --against CHECKOUT [--rounds N]

The two take turns, each in a process of its own: first with messages longer than the model reads, then with short ones.
Beside the time there is that of the processors, which says the same on a machine that does other work.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

WORDS = [
    "the",
    "memory",
    "graph",
    "keeps",
    "every",
    "conversation",
    "of",
    "people",
    "about",
    "projects",
    "recipes",
    "travel",
    "budgets",
    "and",
    "small",
    "steps",
]


def work(folder: Path) -> None:
    """Time the embedding of each list of texts that comes in."""
    from memorygraph.memory.local import LocalEmbedder

    embedder = LocalEmbedder(folder)
    embedder.embed(["warm"])
    for line in sys.stdin:
        texts = json.loads(line)
        started, busy = time.perf_counter(), time.process_time()
        embedder.embed(texts)
        print(json.dumps([time.perf_counter() - started, time.process_time() - busy]), flush=True)


def start(folder: Path, checkout: Path) -> subprocess.Popen[str]:
    """Start a process that embeds with the package of a checkout."""
    return subprocess.Popen(
        [sys.executable, __file__, str(folder), "--worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(checkout)},
    )


def seconds(process: subprocess.Popen[str], texts: Sequence[str]) -> tuple[float, float]:
    """How long a process takes for texts, and how much of the processors."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(texts) + "\n")
    process.stdin.flush()
    taken, busy = json.loads(process.stdout.readline())
    return float(taken), float(busy)


def main() -> None:
    """Compare, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    if options.worker:
        work(options.folder)
        return
    checkouts = [options.against or Path(__file__).parents[2], Path(__file__).parents[2]]
    former, here = (start(options.folder, checkout) for checkout in checkouts)
    chance = random.Random(1)
    for name, count, length in (("long", 8, 400), ("short", 64, 15)):
        texts = [" ".join(chance.choices(WORDS, k=length)) for _ in range(count)]
        pairs = [(seconds(former, texts), seconds(here, texts)) for _ in range(options.rounds)]
        ratio, of_processors = (
            statistics.median(before[which] / now[which] for before, now in pairs) for which in (0, 1)
        )
        middle = statistics.median(now for _, (now, _) in pairs)
        print(
            f"{name:6} {count / middle:7.1f} texts a second, {ratio:.1f} times as many as before; "
            f"{of_processors:.1f} times as many in a second of the processors"
        )
    for process in (former, here):
        process.communicate()


if __name__ == "__main__":
    main()
