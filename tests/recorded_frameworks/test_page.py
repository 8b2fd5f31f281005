"""The examples of docs/recording.md about frameworks run as they stand, and their calls are recorded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from memorygraph.scripted.replies import Request
from memorygraph.scripted.scripted_model import ScriptedModel

PAGE = (Path(__file__).parents[2] / "docs" / "recording.md").read_text("utf-8")
SECTION = PAGE[PAGE.index("## Frameworks") : PAGE.index("## The proxy")]
EXAMPLES: list[str] = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
PACKAGES = ("agents", "langchain_openai", "litellm", "instructor", "pydantic_ai")


def package_of(example: str) -> str:
    """The framework that an example imports."""
    [package] = [each for each in PACKAGES if re.search(rf"^(?:import|from) {each}\b", example, re.MULTILINE)]
    return package


def answer(request: Request) -> str:
    return '{"text": "Hello"}' if "Greet" in str(request.json) else "Hello"


def test_every_framework_of_the_table_has_an_example() -> None:
    assert tuple(map(package_of, EXAMPLES)) == PACKAGES
    assert len(re.findall(r"^\| (?!Framework )", SECTION, re.MULTILINE)) == len(PACKAGES)


@pytest.mark.filterwarnings("ignore")  # those of the framework
@pytest.mark.parametrize("example", EXAMPLES, ids=map(package_of, EXAMPLES))
def test_an_example_runs(
    example: str, environment: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(package_of(example), reason="it is not installed: tests/recorded_frameworks/run")
    names: dict[str, object] = {}
    with ScriptedModel(answer) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
        exec(compile(example, "example", "exec"), names)
        if client := getattr(names.get("model"), "root_client", None):
            client.close()
    assert capsys.readouterr().out.splitlines()[-1] == "Hello"
    with MemoryGraph.connect(namespace=environment) as graph:
        assert "Hello" in str(graph.messages("support-42")[-1]["content"])
