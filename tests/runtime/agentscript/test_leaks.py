"""Nothing that was not declared reaches a model: canaries in every other place, looked for in every byte sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from tests.runtime.convo.model import scripted

PROGRAM = """
// CANARY-COMMENT
import llm M from "openai://m"
import llm Other from "openai://CANARY-LLM"
import tool Search from "https://canary-tool.invalid/CANARY-TOOL-PATH"
import tool Shell from "sh://CANARY-COMMAND"
import tool Env from "env://CANARY_"
import memory Notes from "file://CANARY-NOTES.jsonl"
import memory Graph from "neo4j://"
import file Secret from "CANARY-FILE.txt"
import agent Helper from "CANARY-AGENT.as"

agent Worker {
  model M
  role "worker"
  description "works"
  main func(task) {
    local = "CANARY-WORKER-LOCAL"
    use task.public
    return generate({ input: "Work" limit: 777 attempts: 3 debug: true }) { return { done boolean } }
  }
  func never() { use "CANARY-OTHER-FUNCTION" return generate({ input: "CANARY-NEVER" }) { return { x string } } }
}

main agent Lead {
  model M
  role "lead"
  description "leads"
  main func(input) {
    unused = "CANARY-VARIABLE"
    object = { shown: "visible" hidden: "CANARY-FIELD" }
    scratch = ["CANARY-LIST"]
    use input.caller
    if true {
      inner = "CANARY-BLOCK"
      use inner
    }
    for x in ["CANARY-ITERATION"] < 1 { use x }
    Graph.add({ id: "canary" name: "CANARY-MEMORY" data: "CANARY-DATA" })
    done = Worker({ public: "public" private: "CANARY-ARGUMENT" })
    helped = Helper("handed over")
    use object.shown
    return finish(object.shown, input)
  }
  func finish(shown, input) {
    local = "CANARY-LOCAL"
    use shown
    return generate({ input: "Finish" }) { return { text string } }
  }
}
"""
HELPER = """
import llm M from "openai://m"
import file Secret from "CANARY-FILE.txt"
main agent Helper {
  model M
  role "helper"
  description "helps"
  main func(text) {
    use text
    return generate({ input: "Help" }) { return { text string } }
  }
}
"""
REPLIES = [
    "not what was asked for",
    json.dumps({"done": True}),
    json.dumps({"text": "helped"}),
    json.dumps({"text": "finished"}),
]


def test_no_byte_of_what_was_not_declared_is_sent(
    graph: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "CANARY-FILE.txt").write_text("CANARY-CONTENT")
    (tmp_path / "CANARY-AGENT.as").write_text(HELPER)
    script = tmp_path / "CANARY-SCRIPT.as"
    script.write_text(PROGRAM)
    monkeypatch.setenv("CANARY_VALUE", "CANARY-ENVIRONMENT")
    with scripted(REPLIES) as model:
        result = graph.run_file(script, {"caller": "CANARY-CALLER"})
        sent = b"\n".join(
            b" ".join(
                [request.path.encode(), *(f"{k}: {v}".encode() for k, v in request.headers.items()), request.body]
            )
            for request in model.requests
        )
    assert result.value == {"text": "finished"}
    assert len(model.requests) == 4
    assert b"public" in sent
    assert b"handed over" in sent
    assert b"visible" in sent
    assert b"canary" not in sent.lower()
    assert str(tmp_path).encode() not in sent


def test_a_canary_that_is_declared_is_found(graph: MemoryGraph) -> None:
    program = PROGRAM.split("agent Worker", maxsplit=1)[0]
    program = "\n".join(line for line in program.splitlines() if "import llm M" in line)
    program += """
    main agent A { model M role "r" description "d"
      main func(input) { use input.x return generate({ input: "Go" }) { return { n number } } } }
    """
    with scripted(['{"n": 1}']) as model:
        graph.run(program, {"x": "CANARY"})
        assert b"CANARY" in model.requests[0].body
