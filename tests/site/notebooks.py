"""Runs the notebooks and keeps in them what they show, so that GitHub shows it: `python -m tests.site.notebooks [NAME…]`.

The picture of a notebook stands at its beginning, too: that of the cell with the tag `picture`; and in docs/pictures, for the
pages. NEO4J_URI is used where it is set.
"""

from __future__ import annotations

import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PICTURES = ROOT / "docs" / "pictures"
PICTURE = "picture.png"


def keep_outputs(notebook: Any) -> None:
    """Have a notebook that was run be what every reader of notebooks shows, and the same for the same outputs."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("text/html", None)  # a program of some megabytes, which only Jupyter runs
        if "picture" in cell.metadata.get("tags", []):
            shown = next(data for output in cell.outputs if (data := output.get("data", {})) and "image/png" in data)
            notebook.cells[0].attachments = {PICTURE: {"image/png": shown["image/png"]}}
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}


def run(path: Path) -> Any:
    """Run a notebook from top to bottom, in a kernel of its own, and return it with what it shows; the file stays."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    keep_outputs(notebook)
    return notebook


def main(names: list[str]) -> None:
    """Run the notebooks of these names, or all, and write them with what they show."""
    for path in NOTEBOOKS:
        if not names or path.stem in names:
            notebook = run(path)
            png = notebook.cells[0].attachments[PICTURE]["image/png"]
            (PICTURES / f"{path.stem}.png").write_bytes(b64decode(png))
            nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
            print(path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
