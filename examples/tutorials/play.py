"""Plays a tutorial with a scripted model: `python examples/tutorials/play.py react`.

Beside each program stands a file with its input, what the scripted model answers, and the value that comes out. Only
the model is scripted: the endpoint is a real HTTP server, and the run is kept in the graph like any other.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from memorygraph import MemoryGraph
from memorygraph.runtime.runs import RunResult
from memorygraph.scripted.replies import Request
from memorygraph.scripted.scripted_model import ScriptedModel

FOLDER = Path(__file__).resolve().parent


def play(mg: MemoryGraph, name: str) -> tuple[RunResult, list[Request]]:
    """Run a tutorial; return its result, and what the model was asked."""
    script = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    former = os.environ.get("OPENAI_BASE_URL")
    with ScriptedModel([json.dumps(reply) for reply in script["replies"]], strict=True) as model:
        os.environ["OPENAI_BASE_URL"] = model.base_url
        try:
            result = mg.run_file(FOLDER / f"{name}.as", script["input"], allow_tools=script.get("allow_tools", []))
        finally:
            os.environ.pop("OPENAI_BASE_URL")
            if former is not None:
                os.environ["OPENAI_BASE_URL"] = former
    return result, model.requests


def main() -> None:
    """Play the tutorial that the command line names, and print what the model saw and what came of it."""
    names = sorted(path.stem for path in FOLDER.glob("*.as"))
    if len(sys.argv) != 2 or sys.argv[1] not in names:
        sys.exit(f"usage: python {sys.argv[0]} {'|'.join(names)}")
    with MemoryGraph.connect(namespace="tutorials") as mg:
        result, requests = play(mg, sys.argv[1])
    for number, request in enumerate(requests, 1):
        print(f"--- call {number}\n{request.prompt}\n")
    print("--- value")
    print(json.dumps(result.value, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
