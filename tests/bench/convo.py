"""What a node graph costs beside its model: each step with its storage in Neo4j, and reading a large graph.

    python tests/bench/convo.py [--steps N]

The model is the scripted one, over real HTTP; what the client and the endpoint take is the model's time. It prints
milliseconds, and how many times as long as one raw write on an open connection a step takes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import uuid
from typing import Any

from memorygraph import MemoryGraph
from memorygraph.languages import parse
from memorygraph.llm.completion import Completion
from memorygraph.query import Query
from memorygraph.runtime.convo import engine
from memorygraph.scripted.scripted_model import ScriptedModel

LOOP = """
@to b
> node a
    > user
    Say something about {{input}}
@to a
> node b
    > user
    Answer this: {{input}}
> nodeEnd
> user
the moon
> goto a
"""
RAW_WRITE = "CREATE (m:BenchStep {namespace: $namespace, id: $id})"


def large(nodes: int) -> str:
    """A graph of many nodes, each with a route in words, one in code and one without a condition."""
    parts = [
        f"@to n{i + 1} = eq(output 'x{i}')\n@to n{(i * 7) % nodes} If it is about {i}\n@to n{(i + 3) % nodes}\n"
        f"> node n{i}\nThe node {i}\n\n    > user\n    Work on {{{{input}}}} for node {i}\n"
        for i in range(nodes - 1)
    ]
    return "".join([*parts, f"> node n{nodes - 1}\n> nodeEnd\n> user\nHi\n> goto n0\n"])


def steps(graph: MemoryGraph, count: int) -> None:
    """The time of a step without the time of its model."""
    spent: list[float] = []
    marks: list[float] = []
    complete = engine.ModelAsker.complete

    def timed(self: engine.ModelAsker, *args: Any, **options: Any) -> Completion:
        started = time.perf_counter()
        completion = complete(self, *args, **options)
        spent.append(time.perf_counter() - started)
        return completion

    setattr(engine.ModelAsker, "complete", timed)  # noqa: B010 - the benchmark's own clock
    try:
        graph.run(LOOP, language="convo", max_steps=count, listener=lambda *_: marks.append(time.perf_counter()))
    except Exception as error:  # noqa: BLE001 - the loop ends by its limit of steps
        print(f"the run ends with: {error}")
    ended = time.perf_counter()
    raw = []
    for _ in range(50):
        query = Query(RAW_WRITE, {"namespace": graph.namespace, "id": uuid.uuid4().hex})
        started = time.perf_counter()
        graph.connection.write(lambda transaction, query=query: transaction.run(query))  # type: ignore[misc]
        raw.append(time.perf_counter() - started)
    own = [after - before - model for before, after, model in zip(marks, marks[1:], spent[1:], strict=False)]
    each = statistics.median(own)
    print(f"a step: {each * 1e3:.2f} ms beside the model, {each / statistics.median(raw):.2f} raw writes")
    print(
        f"the slowest {max(own) * 1e3:.1f} ms; stored {(ended - marks[-1]) * 1e3:.0f} ms after the last of {len(marks)}"
    )


def reading(nodes: int) -> None:
    """The time to read and check a large graph."""
    text = large(nodes)
    started = time.perf_counter()
    program = parse(text, "convo")
    took = time.perf_counter() - started
    print(
        f"{nodes} nodes, {len(text.splitlines())} lines: read and checked in {took:.2f} s, "
        f"{len(program.problems)} problems"
    )


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    reading(1000)
    with (
        ScriptedModel("It is far away.") as model,
        MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex}") as graph,
    ):
        os.environ.update(OPENAI_BASE_URL=model.base_url, MEMORYGRAPH_MODEL="m", OPENAI_API_KEY="k")
        try:
            steps(graph, options.steps)
        finally:
            graph.query("MATCH (s:BenchStep {namespace: $namespace}) DELETE s", write=True)
            graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    main()
