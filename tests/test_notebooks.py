"""The notebooks run from top to bottom, each in a kernel of its own, against a real Neo4j."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from tests.site.notebooks import run

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def kinds_of_outputs(cells: list[Any]) -> list[tuple[str, set[str]]]:
    """Of each cell with code: the code, and what there is below it, as `stream` or `image/png`."""
    return [
        (
            "".join(cell["source"]),
            {kind for output in cell["outputs"] for kind in output.get("data", [output["output_type"]])},
        )
        for cell in cells
        if cell["cell_type"] == "code"
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_carries(notebook: Path) -> None:
    assert kinds_of_outputs(run(notebook).cells) == kinds_of_outputs(json.loads(notebook.read_text("utf-8"))["cells"])


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def cells(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """The cells of a notebook, which `python -m tests.site.notebooks` has run; it keeps what they show."""
    found: list[dict[str, Any]] = json.loads(request.param.read_text("utf-8"))["cells"]
    return found


def test_a_notebook_begins_with_what_one_will_have_understood_and_with_its_picture(cells: list[dict[str, Any]]) -> None:
    first, text = cells[0], "".join(cells[0]["source"])
    assert text.startswith("# ")
    assert "At its end you will have understood:\n\n- " in text
    [name] = re.findall(r"!\[[^\]]{20,}\]\(attachment:(.+)\)", text)
    [drawn] = [cell for cell in cells if "picture" in cell["metadata"].get("tags", [])]
    shown = [output["data"]["image/png"] for output in drawn["outputs"] if "image/png" in output["data"]]
    assert [first["attachments"][name]["image/png"].strip()] == [picture.strip() for picture in shown]


def test_the_pages_show_the_pictures_of_the_notebooks(
    cells: list[dict[str, Any]], request: pytest.FixtureRequest
) -> None:
    [attached] = cells[0]["attachments"].values()
    name = f"{request.node.callspec.id}.png"
    assert (ROOT / "docs" / "pictures" / name).read_bytes() == b64decode(attached["image/png"])
    assert any(f"pictures/{name}" in page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md"))


def test_a_notebook_carries_what_it_shows(cells: list[dict[str, Any]]) -> None:
    run = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in run] == list(range(1, len(run) + 1))
    outputs = [output for cell in run for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"stream", "execute_result", "display_data"}
    assert not any("text/html" in output.get("data", {}) for output in outputs)  # GitHub runs no programs


def test_what_a_notebook_shows_is_of_no_machine(cells: list[dict[str, Any]]) -> None:
    said = json.dumps([cell.get("outputs") for cell in cells])
    assert not re.search(r"/(?:home|root|tmp|Users|work)/|127\.0\.0\.1|localhost", said)
