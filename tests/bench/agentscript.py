"""The runtime's own cost of a `generate`: all but the time of the model, for 20 context items and 100 KB of values.

    python tests/bench/agentscript.py [--calls N]

It prints milliseconds for each call, and how many times as long as one `json.dumps` of the same values that is.
The model is the scripted one, over real HTTP; what the client and the endpoint take is the model's time. Neo4j
stores the run meanwhile; what is left of that at the end is said apart.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
import uuid
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from memorygraph import MemoryGraph
from memorygraph.llm.completion import Completion, WireMessage
from memorygraph.llm.structured import ShapeField
from memorygraph.runtime.agentscript import run
from memorygraph.runtime.agentscript.generation import Models
from memorygraph.runtime.agentscript.values import ModelValue
from memorygraph.scripted.scripted_model import ScriptedModel

ITEMS = 20
BYTES = 100_000

PROGRAM = """
import llm M from "openai://m"
main agent A {{
  model M role "R" description "D"
  main func(input) {{
    {uses}
    repeat * {calls} {{
      x = generate({{ input: "Go" }}) {{ return {{ ok boolean }} }}
    }}
    return none
  }}
}}
"""


def values() -> dict[str, Any]:
    """Texts, lists and objects that are 100 KB together."""
    part = BYTES // ITEMS
    made: dict[str, Any] = {}
    for i in range(ITEMS):
        text = (f"line {i} of a text that somebody has written; " * part)[:part]
        rows = [{"id": n, "fact": text[:80]} for n in range(part // 100)]
        made[f"v{i}"] = (text, rows, {f"k{n}": text[:90] for n in range(part // 100)})[i % 3]
    return made


class Timed(Models):
    """The models of a run, with the time that they take."""

    calls: list[float] = []  # noqa: RUF012 - the benchmark reads it

    def complete(
        self, model: ModelValue, messages: Sequence[WireMessage], fields: Sequence[ShapeField], max_tokens: int | None
    ) -> Completion:
        """The same, timed."""
        started = time.perf_counter()
        completion = super().complete(model, messages, fields, max_tokens)
        Timed.calls.append(time.perf_counter() - started)
        return completion


def main() -> None:
    """Run the program, and say what a call of `generate` costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=40)
    calls = parser.parse_args().calls
    given = values()
    uses = "\n".join(f"use input.v{i} < 4k" for i in range(ITEMS))
    program = PROGRAM.format(uses=uses, calls=calls)
    setattr(run, "Models", Timed)  # noqa: B010 - a name of that module, which nobody else should replace
    marks: list[float] = []

    def mark(event: dict[str, Any], _depth: int) -> None:
        if event["kind"] == "generate":
            marks.append(time.perf_counter())

    with (
        ScriptedModel('{"ok": true}') as model,
        MemoryGraph.connect(namespace=f"bench-{uuid.uuid4().hex}") as graph,
    ):
        os.environ["OPENAI_BASE_URL"] = model.base_url
        graph.run(program, given, listener=mark, max_steps=calls)
        ended = time.perf_counter()
        graph.drop_namespace(graph.namespace)
    rounds = [after - before for before, after in pairwise(marks)]
    own = [whole - inside for whole, inside in zip(rounds, Timed.calls[1:], strict=False)]
    started = time.perf_counter()
    json.dumps(given, indent=2)
    base = time.perf_counter() - started
    each = statistics.median(own)
    print(f"{ITEMS} items, {len(json.dumps(given)) // 1000} KB: {each * 1e3:.2f} ms each, {each / base:.1f} json.dumps")
    print(f"the slowest {max(own) * 1e3:.2f} ms; stored {(ended - marks[-1]) * 1e3:.0f} ms after the last of {calls}")


if __name__ == "__main__":
    main()
