"""The examples of docs/recording.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from memorygraph.messages import recorder
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.proxy.conftest import Proxies, eventually

PAGE = (Path(__file__).parents[2] / "docs" / "recording.md").read_text("utf-8")
PROXY_URL = "http://127.0.0.1:8100/v1"


def example(containing: str) -> str:
    found: list[str] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    [one] = [each for each in found if containing in each]
    return one


@pytest.mark.usefixtures("environment")
def test_the_example_of_a_recorded_client_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for patience in ("PATIENCE_SECONDS", "MAX_WAIT_SECONDS"):  # the first query of a busy machine is slow
        monkeypatch.setattr(recorder, patience, 60.0)
    with ScriptedModel("Hello") as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        exec(compile(example("for message in mg.messages"), "example", "exec"), {})
    assert capsys.readouterr().out == "['Hi', 'Hello']\n"


def test_the_example_of_a_program_behind_the_proxy_runs(
    proxies: Proxies, graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with ScriptedModel("Hello") as model:
        shown = example(PROXY_URL).replace(PROXY_URL, proxies(model.base_url).base_url)
        exec(compile(shown, "example", "exec"), {})
        assert eventually(lambda: [message["content"] for message in graph.messages("support-42")]) == ["Hi", "Hello"]
    assert capsys.readouterr().out == "Hello\n"
