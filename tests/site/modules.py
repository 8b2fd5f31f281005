"""The parts of the package for the page about how it is built: what they import, and what they say they are."""

from __future__ import annotations

from importlib import import_module

from tests.modules import PACKAGE, imports_between_parts
from tests.site.markdown import escape_cell

EVERYWHERE = {
    "errors",
    "codes",
    "bearer_tokens",
    "query",
    "budget",
    "limits",
    "home",
    "scripts",
    "__init__",
    "__main__",
}  # small values that all parts may know


def diagram(folder: str = "") -> str:
    """The parts of the package: what they import, without what follows from the rest, and what they say they are."""
    parts = {part: of - EVERYWHERE for part, of in imports_between_parts().items() if part not in EVERYWHERE}

    def reached(part: str) -> set[str]:
        return parts[part].union(*(reached(other) for other in parts[part]))

    order = sorted(parts, key=lambda part: (-len(reached(part)), part))
    arrows = [
        f"    {part} --> {other}"
        for part in order
        for other in sorted(parts[part])
        if not any(other in reached(between) for between in parts[part] - {other})
    ]
    drawing = ["```mermaid", "flowchart LR", *arrows, "```", ""]
    rows = [f"| [{part}]({folder}{_file(part)}) | {_first_sentence(part)} |" for part in order]
    return "\n".join([*drawing, "| Part | What it is |", "|---|---|", *rows]) + "\n"


def _file(part: str) -> str:
    return f"memorygraph/{part}" if (PACKAGE / part).is_dir() else f"memorygraph/{part}.py"


def _first_sentence(part: str) -> str:
    said = import_module(f"memorygraph.{part}").__doc__ or ""
    return escape_cell(said.partition("\n\n")[0].replace("\n", " "))
