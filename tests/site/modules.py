"""The page about how memorygraph is built: the parts of the package, what they import, and what they say they are."""

from __future__ import annotations

from importlib import import_module

from tests.modules import PACKAGE, imports_between_parts
from tests.site.drawing import PictureArrow, draw, layered
from tests.site.markdown import escape_cell, table

EVERYWHERE = {
    "errors",
    "codes",
    "query",
    "budget",
    "limits",
    "home",
    "scripts",
    "__init__",
    "__main__",
}  # small values that all parts may know

INTRODUCTION = """\
# How it is built

<!-- made by `python -m tests.site` -->

text → `parse` → `compile` → `execute`. A textX grammar ([memorygraph/languages](../memorygraph/languages)) turns
text into typed statements; the [compiler](../memorygraph/compiler) turns statements into batches of parameterized
Cypher, which lives in [cypher](../cypher/queries) and nowhere else; [memorygraph/graph](../memorygraph/graph) runs them in
one transaction. Everything before that is pure. Only `languages/engine/grammar.py` knows textX, only `graph/` and the
adapters for Neo4j's own libraries know the driver, only `llm/model.py` and the scripted endpoint know openai. Imports point one
way, down in this picture, which is drawn from them; an arrow that follows from others is left out.

![The parts of the package: the command line above, the client in the middle, graph and languages below](pictures/modules.svg)

Who wants to change something finds the map of the house, and what each change needs, in [CONTRIBUTING](../CONTRIBUTING.md).
"""


def page() -> str:
    """The page: the way of the data, the picture, and what each part is."""
    rows = [(f"[{part}](../{_file(part)})", _first_sentence(part)) for part in _order(_parts())]
    return INTRODUCTION + "\n" + table(("Part", "What it is"), rows)


def picture() -> str:
    """The parts as boxes, in rows: each stands above all that it imports."""
    parts = _parts()
    depth: dict[str, int] = {}

    def below(part: str) -> int:
        if part not in depth:
            depth[part] = max((below(other) + 1 for other in parts[part]), default=0)
        return depth[part]

    deepest = max(map(below, parts))
    layers = [[part for part in _order(parts) if depth[part] == level] for level in range(deepest, -1, -1)]
    arrows = [PictureArrow(part, other) for part in parts for other in sorted(_direct(parts, part))]
    return draw(layered([layer for layer in layers if layer]), arrows, "The parts of memorygraph, and what they import")


def _parts() -> dict[str, set[str]]:
    found = imports_between_parts()
    return {part: of - EVERYWHERE for part, of in sorted(found.items()) if part not in EVERYWHERE}


def _reached(parts: dict[str, set[str]], part: str) -> set[str]:
    return parts[part].union(*(_reached(parts, other) for other in parts[part]))


def _direct(parts: dict[str, set[str]], part: str) -> set[str]:
    """What a part imports, without what follows from the rest."""
    return {
        other
        for other in parts[part]
        if not any(other in _reached(parts, between) for between in parts[part] - {other})
    }


def _order(parts: dict[str, set[str]]) -> list[str]:
    return sorted(parts, key=lambda part: (-len(_reached(parts, part)), part))


def _file(part: str) -> str:
    return f"memorygraph/{part}" if (PACKAGE / part).is_dir() else f"memorygraph/{part}.py"


def _first_sentence(part: str) -> str:
    said = import_module(f"memorygraph.{part}").__doc__ or ""
    return escape_cell(said.partition("\n\n")[0].replace("\n", " ")).replace("\\|", "|")
