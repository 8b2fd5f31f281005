"""How many times faster `parse` is than plain textX with the same grammar: `python tests/bench/parse.py [N …]`."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from textx import metamodel_from_file

from memorygraph.languages import parse, parse_batches
from memorygraph.languages.contextscript import GRAMMAR


def program(statements: int) -> str:
    """One node to three edges, some 126 characters a statement, a comment every fifty."""
    lines = []
    for index in range(statements):
        if index % 50 == 0:
            lines.append(f"# Statements from number {index} on.\n")
        node = index // 4 * 4
        lines.append(
            f'Node(node_id = "node_{node}", name = "Concept number {node}", '
            f'data = "What there is to say about concept {node}, in a sentence or two.");\n'
            if index == node
            else f'Edge(edge_id = "edge_{index}", from_node = "node_{node}", '
            f'to_node = "node_{node // 8 * 4}", verb = "relates-to", weight = 0.{index % 1000:03});\n'
        )
    return "".join(lines)


def seconds(work: Callable[[], object], rounds: int = 3) -> float:
    """The best of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def peak(work: Callable[[], object]) -> float:
    """The most memory that was held, in MB."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def consume(path: Path) -> int:
    """Read a file in batches, and keep none of them."""
    with path.open(encoding="utf-8", newline="") as stream:
        return sum(len(part.statements) for part in parse_batches(stream, size=1000))


def measure(size: int, path: Path) -> str:
    """One line of figures; textX is only asked up to 10,000 statements, and is linear."""
    text = program(size)
    path.write_text(text, encoding="utf-8")
    fast = seconds(lambda: parse(text))
    batches = seconds(lambda: consume(path))
    line = (
        f"{size:>7,} statements of {len(text) / size:.0f} characters: "
        f"parse {size / fast:,.0f}/s, {peak(lambda: parse(text)):,.1f} MB; "
        f"batches {size / batches:,.0f}/s, {peak(lambda: consume(path)):,.1f} MB"
    )
    if size > 10_000:
        return line
    metamodel = metamodel_from_file(str(GRAMMAR.path))
    plain = seconds(lambda: metamodel.model_from_str(text), 1)
    return f"{line}; textX {size / plain:,.0f}/s, so {plain / fast:.1f} times"


def main(sizes: list[int]) -> None:
    """Measure programs of these sizes."""
    with TemporaryDirectory() as folder:
        for size in sizes:
            print(measure(size, Path(folder) / "program.ctx"))


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [1000, 10_000, 100_000])
