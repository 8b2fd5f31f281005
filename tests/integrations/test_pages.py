"""The examples of the pages about frameworks run as they stand."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from memorygraph.scripted.scripted_model import ScriptedModel

DOCS = Path(__file__).parent.parent.parent / "docs"
EXAMPLES = [
    pytest.param(example, id=f"{page.stem}-{number}")
    for page in (DOCS / "agents.md", DOCS / "integrations.md")
    for number, example in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL), 1)
]


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(example: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedModel("San Francisco, California.") as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("MEMORYGRAPH_EMBEDDING_MODEL", "scripted")
        monkeypatch.setenv("NEO4J_PASSWORD", os.environ.get("NEO4J_PASSWORD", "not asked for"))
        exec(compile(example, "example", "exec"), {})
    assert "San Francisco" in capsys.readouterr().out
