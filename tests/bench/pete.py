"""How long it takes to view a log of PETE within a budget.

Run it with `python -m tests.bench.pete`. With `load` behind it, it measures instead how long it takes to store a log,
in the Neo4j of NEO4J_URI or an embedded one: on two cores that others kept busy, 10,000 statements took 8 to 18 s,
of which this process worked for 1.2 s; storing them again 1.4 to 2.8 s.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable

from memorygraph import MemoryGraph
from memorygraph.budget import Budget
from memorygraph.runtime.pete import pages
from memorygraph.runtime.pete.log import Frame, LogEntry
from memorygraph.runtime.pete.views import View, view

RUNS = 20
STATEMENTS = 10_000


def statements(frame: Frame, count: int) -> None:
    """Fill a context with statements as a log has them: some handles that are bound, and what is said of them."""
    for number in range(count):
        index = len(frame.parts)
        if number % 10 == 0:
            text, handle = f"\n  &thing{number} = /* the thing with the number {number} */", f"thing{number}"
            frame.parts.append(LogEntry(index, "instantiation", text, frozenset([handle]), frozenset([handle])))
        elif number % 10 == 1:
            frame.parts.append(LogEntry(index, "command", f'\n  @fan, set {{"speed": {number}}}'))
            frame.parts.append(LogEntry(index + 1, "feedback", ' >> {"ok": true}'))
        else:
            handle = f"thing{number // 100 * 10}"
            text = f"\n  &travis likes &{handle}."
            frame.parts.append(LogEntry(index, "fact", text, frozenset([handle, "travis"])))


def closed(parent: Frame, address: int, count: int) -> None:
    """Put a closed context with some statements into another."""
    head = f"\n  context step{address}() {{"
    tldr = f"the step with the number {address} is done"
    child = Frame(address, f"step{address}", head, len(parent.parts), (), "\n  }", tldr, parent)
    statements(child, count)
    parent.parts.append(child)


def long_log() -> Frame:
    """One context of many statements."""
    root = Frame(1, "main", "context main(&travis) {", refs=("travis",))
    statements(root, STATEMENTS)
    return root


def folded_log() -> Frame:
    """One context of many statements, a tenth of them closed contexts of ten statements."""
    root = long_log()
    root.parts = []
    for number in range(STATEMENTS // 10):
        statements(root, 9)
        closed(root, number + 2, 10)
    return root


def deep_log() -> Frame:
    """Many open contexts in each other, with one statement each."""
    root = frame = Frame(1, "main", "context main() {")
    for number in range(STATEMENTS):
        frame.parts.append(LogEntry(0, "comment", f"\n  // Go on with {number}."))
        inner = Frame(number + 2, "step", "\n  context step() {", 1, parent=frame)
        frame.parts.append(inner)
        frame = inner
    return root


LOGS: dict[str, Callable[[], Frame]] = {
    "10,000 statements": long_log,
    "1,000 closed contexts": folded_log,
    "10,000 open contexts": deep_log,
}


def best_ms(task: Callable[[], object], runs: int = RUNS) -> float:
    """The shortest of some runs."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        task()
        times.append(time.perf_counter() - started)
    return min(times) * 1000


def first_ms(root: Frame, budget: Budget | None) -> float:
    """The shortest of some runs that know no counts of tokens from before."""

    def anew() -> View:
        pages._token_counts.clear()
        return view(root, budget)

    return best_ms(anew, RUNS // 4)


def main() -> None:
    """Print the milliseconds of each log and budget: the first time, again, and as a ratio to joining all texts."""
    pages.count_tokens_once("the vocabulary is read once")
    head = f"{'log':24}{'budget':>8}{'first ms':>10}{'again ms':>10}{'join ms':>9}{'ratio':>7}{'size':>8}{'of':>9}"
    sys.stdout.write(head + "\n")
    for name, make in LOGS.items():
        root = make()
        joining = best_ms(lambda root=root: root.text)  # type: ignore[misc]
        for text in ("-", "4k", "40k", "4kt", "40kt"):
            budget = None if text == "-" else Budget.parse(text)
            first = first_ms(root, budget)
            again = best_ms(lambda root=root, budget=budget: view(root, budget))  # type: ignore[misc]
            size = view(root, budget).size
            row = f"{name:24}{text:>8}{first:10.1f}{again:10.1f}{joining:9.2f}{again / joining:7.1f}{size:8}"
            sys.stdout.write(f"{row}{len(root.text):9}\n")


def loading() -> None:
    """Print the seconds that a log takes to be stored, to be found stored, and to be read."""
    text = "context main(&travis) {\n  " + "\n  ".join(
        f"&thing{n} = /* the thing with the number {n} */" if n % 10 == 0 else f"&travis likes &thing{n // 10 * 10}."
        for n in range(STATEMENTS)
    )
    with MemoryGraph.connect() as connected:
        graph = MemoryGraph(connected.connection, f"bench-{uuid.uuid4().hex}")
        for name in ("load", "load again"):
            started, worked = time.perf_counter(), time.process_time()
            graph.load(text, "pete")
            seconds, here = time.perf_counter() - started, time.process_time() - worked
            sys.stdout.write(f"{name:24}{seconds:8.1f} s, of which {here:.1f} s in this process\n")
        reading = best_ms(lambda: graph.pete("main").text, 3)
        sys.stdout.write(f"{'read':24}{reading / 1000:8.1f} s\n")
        graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    loading() if "load" in sys.argv else main()
