"""Graphs ⇒ outputs, paths, requests, transcripts or failures, as data: the files in tests/cases/convo/run.

The sections of a case: `program`; `input` (JSON); a `reply` or a `call` (NAME ARGUMENTS) for each inference, in order;
`judge` (a line `CONDITION => REPLY` for each condition that a model may be asked). And what must come out: `value`
(JSON), `path` (the nodes in order), `error` (CODE: message), a `prompt` (the last message) or `request` (JSON: all of
its messages) for each inference, `options` (JSON: what else it sent), `judged` (the conditions that were asked about),
`transcript`, `problems` (LINE:COLUMN: message).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import Lock
from typing import Any

import pytest

from memorygraph.errors import ScriptError
from memorygraph.llm.completion import ToolCall
from memorygraph.runtime.convo.controller import execute_convo_graph
from memorygraph.runtime.convo.steps import ConvoGraphResult
from memorygraph.scripted.replies import Reply, Request
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.cases import Case, read_cases


class Script:
    """Answers inferences in order, and judgements by their conditions."""

    def __init__(self, case: Case) -> None:
        self.replies = [self._reply(name, text) for name, text in case.sections if name in {"reply", "call"}]
        lines = (line.partition(" => ") for line in case.section("judge").splitlines())
        self.judgements = {condition: reply for condition, _, reply in lines}
        self.inferences: list[dict[str, Any]] = []
        self.judged: list[str] = []
        self._lock = Lock()

    def __call__(self, request: Request) -> Reply | str | None:
        with self._lock:
            condition = request.prompt.split("\n")[0]
            if "<OUTPUT_RESULT>" in request.prompt:
                self.judged.append(condition)
                return self.judgements.get(condition)
            self.inferences.append(request.json)
            return self.replies.pop(0) if self.replies else None

    @staticmethod
    def _reply(name: str, text: str) -> Reply | str:
        if name == "reply":
            return text
        function, _, arguments = text.partition(" ")
        return Reply(tool_calls=(ToolCall(function, arguments or "{}", "call_1"),))


@pytest.fixture(autouse=True)
def _model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MEMORYGRAPH_MODEL", "m")
    monkeypatch.setenv("OPENAI_API_KEY", "k")


@pytest.mark.parametrize("case", read_cases("convo/run"))
def test_a_graph_runs_as_its_case_says(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(case)
    given = case.section("input")
    with ScriptedModel(script) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        try:
            result = execute_convo_graph(case.section("program"), input=json.loads(given) if given else None)
        except ScriptError as error:
            found = "\n".join(f"{p.line}:{p.column}: {p.message}" for p in error.problems)
            assert found == case.section("problems")
            return
    compare(case, result, script)
    assert not script.replies, "not every reply was asked for"


def compare(case: Case, result: ConvoGraphResult, script: Script) -> None:
    """Hold a result against all sections of a case that say what must come out."""
    shown: dict[str, Callable[[], Any]] = {
        "value": lambda: json.dumps(result.value, ensure_ascii=False),
        "path": lambda: " ".join(step.node for step in result.steps),
        "judged": lambda: "\n".join(sorted(script.judged)),
        "transcript": result.text.strip,
    }
    assert (f"{result.code}: {result.error}" if result.error else "") == case.section("error")
    for name, text in case.sections:
        if name in shown:
            assert shown[name]() == (json.dumps(json.loads(text), ensure_ascii=False) if name == "value" else text)
    sent = [request["messages"] for request in script.inferences]
    texts = {name: [text for section, text in case.sections if section == name] for name in ("prompt", "request")}
    assert [messages[-1]["content"] for messages in sent][: len(texts["prompt"])] == texts["prompt"]
    assert sent[: len(texts["request"])] == [json.loads(text) for text in texts["request"]]
    for request, (_, text) in zip(script.inferences, [s for s in case.sections if s[0] == "options"], strict=False):
        assert {k: v for k, v in request.items() if k not in {"messages", "model"}} == json.loads(text)
