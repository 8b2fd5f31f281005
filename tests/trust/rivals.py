"""A client that fights others over the same ids: it loads, updates and deletes them, as nodes and as edges.

Run as a program with a seed and a number of rounds, it prints what it did as JSON, once it has waited for a line.
"""

from __future__ import annotations

import json
import random
import sys
import time
from dataclasses import asdict, dataclass, field

from neo4j.exceptions import TransientError

from memorygraph import MemoryGraph, ScriptError
from memorygraph.graph import connection
from memorygraph.query import Query

IDS = tuple(f"x{i}" for i in range(6))
COUNTERS = tuple(f"c{i}" for i in range(6))
WAYS = (
    'Node(node_id="{0}", name="N", data="");',
    'Edge(edge_id="{0}", from_node="hub", to_node="hub", verb="v", weight=0.5);',
    'del(id="{0}");',
)
RAISE = """
MATCH (counter:Node {namespace: $namespace, id: $id})
SET counter.name = counter.name
WITH counter
SET counter.data = toString(toInteger(counter.data) + 1)
"""
"""Locks the counter before it reads it."""
ALLOWED = {"kind-conflict", "unknown-id"}
"""What a program that came after another one can rightly be refused for."""


@dataclass
class Account:
    """What a client did, and what it was told."""

    loads: list[str] = field(default_factory=list)
    refused: int = 0
    counted: int = 0
    deadlocks: int = 0
    longest_s: float = 0.0


class Rival:
    """One client."""

    def __init__(self, graph: MemoryGraph, chance: random.Random) -> None:
        self.graph = graph
        self.chance = chance
        self.account = Account()

    def fight(self, rounds: int) -> None:
        for _ in range(rounds):
            for move in (self._load, self._count):
                start = time.monotonic()
                move()
                self.account.longest_s = max(self.account.longest_s, time.monotonic() - start)

    def _load(self) -> None:
        """Declare or delete shared ids, in an order of its own and each as what chance says."""
        text = 'Node(node_id="hub", name="H", data="");'
        for id_ in self.chance.sample(IDS, 3):
            text += self.chance.choice(WAYS).format(id_)
        try:
            self.account.loads.append(self.graph.load(text).load_id)
        except ScriptError as error:
            codes = {problem.code for problem in error.problems}
            if not codes <= ALLOWED:
                raise
            self.account.refused += 1

    def _count(self) -> None:
        """Raise shared counters by one, each locked by a query of its own and in an order of its own."""
        counters = self.chance.sample(COUNTERS, len(COUNTERS))

        def work(transaction: connection.Transaction) -> None:
            for counter in counters:
                transaction.run(Query(RAISE, {"namespace": self.graph.namespace, "id": counter}))

        self.graph.connection.write(work)
        self.account.counted += 1


def main() -> None:
    seed, rounds = map(int, sys.argv[1:])
    run_once = connection.Connection._run_once
    with MemoryGraph.connect() as graph:
        rival = Rival(graph, random.Random(seed))

        def counted(*given: object) -> object:
            try:
                return run_once(*given)  # type: ignore[arg-type]
            except TransientError as error:
                rival.account.deadlocks += "Deadlock" in (error.code or "")
                raise

        connection.Connection._run_once = counted  # type: ignore[assignment,method-assign]
        print("ready", flush=True)
        sys.stdin.readline()
        rival.fight(rounds)
    print(json.dumps(asdict(rival.account)))


if __name__ == "__main__":
    main()
