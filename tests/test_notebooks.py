"""The notebooks run from top to bottom, each in a kernel of its own, against a real Neo4j."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.slow
@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path) -> None:
    command = [sys.executable, "-m", "jupyter", "execute", "--timeout=120", str(notebook)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert finished.returncode == 0, finished.stderr[-3000:]


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS
