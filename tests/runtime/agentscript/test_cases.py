"""Programs ⇒ prompts, values, traces or errors, as data: the files in tests/cases/agentscript/run.

The sections of a case: `file-NAME` (files beside the program), `program`, `input` (JSON), a `reply` for each call of
the model, and what must come out: a `prompt` for each call (the user's message), `system` (of the first call), `value`
(JSON), `error` (LINE:COLUMN CODE: message, the folder as FOLDER), `kinds` (the trace's events in order), `items`
(source, sizes, strategy and text of the last prompt's context, a line each), `unused` (source: reason).

A program that has no agent is the body of the main function of one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memorygraph import MemoryGraph, ModelError, ScriptError
from memorygraph.runtime.runs import Event
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.cases import Case, read_cases

AGENT = """import llm M from "openai://m"
main agent A {
model M
role "R"
description "D"
main func(input) {
"""


def program_of(case: Case) -> str:
    """The program of a case, an agent put around it where it has none."""
    text = case.section("program")
    return text if "agent " in text else AGENT + text + "\n}\n}"


def sections(case: Case, name: str) -> list[str]:
    """The texts of all sections of one name."""
    return [text for section, text in case.sections if section == name]


def shown_items(event: Event) -> str:
    """The context of a prompt, a line for each item."""
    return "\n".join(
        f"{item['source']} {item['originalSize']}/{item['clippedSize']} {item['strategy']} {json.dumps(item['text'])}"
        for item in event["data"]["context"]["items"]
    )


@pytest.mark.parametrize("case", read_cases("agentscript/run"))
def test_a_program_runs_as_its_case_says(
    case: Case, graph: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in case.sections:
        if name.startswith("file-"):
            (tmp_path / name.removeprefix("file-")).write_text(text)
    events: list[Event] = []
    error = value = None
    with ScriptedModel(sections(case, "reply")) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        try:
            given = json.loads(case.section("input", "{}"))
            result = graph.run(
                program_of(case),
                given,
                folder=tmp_path,
                listener=lambda event, depth: events.append(event) if depth == 0 else None,
            )
            value = result.value
        except ScriptError as problem:
            error = "\n".join(f"{p.line}:{p.column} {p.code}: {p.message}" for p in problem.problems)
        except ModelError as problem:
            error = str(problem).splitlines()[0]
    error = error and error.replace(str(tmp_path), "FOLDER")
    requests = [request.json["messages"] for request in model.requests]
    generates = [event for event in events if event["kind"] == "generate"]
    found: dict[str, Callable[[], str]] = {
        "error": lambda: error or "",
        "value": lambda: json.dumps(value, ensure_ascii=False),
        "system": lambda: requests[0][0]["content"],
        "kinds": lambda: " ".join(event["kind"] for event in events),
        "items": lambda: shown_items(generates[-1]),
        "unused": lambda: "\n".join(
            f"{unused['source']}: {unused['reason']}" for unused in generates[-1]["data"]["context"]["unused"]
        ),
    }
    assert (error or "") == case.section("error")
    for name, text in case.sections:
        if name in found:
            assert found[name]() == (json.dumps(json.loads(text), ensure_ascii=False) if name == "value" else text)
    prompts = sections(case, "prompt")
    assert [messages[-1]["content"] for messages in requests[: len(prompts)]] == prompts
    assert len(requests) == len(sections(case, "reply"))
