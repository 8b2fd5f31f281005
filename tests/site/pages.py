"""The pages that are made from the code, each with what makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.site import benchmarks, codes, commands, environment, graph, limits, modules, python_api

DOCS = Path(__file__).parents[2] / "docs"
PAGES: Mapping[str, Callable[[], str]] = {
    "architecture.md": modules.page,
    "benchmarks.md": benchmarks.page,
    "pictures/modules.svg": modules.picture,
    "pictures/graph.svg": graph.picture,
    "reference/commands.md": commands.page,
    "reference/environment.md": environment.page,
    "reference/codes.md": codes.page,
    "reference/limits.md": limits.page,
    "reference/python.md": python_api.page,
    "reference/async.md": python_api.async_page,
}
"""Each made page and picture below `docs/`, but for those that need a database (`tests.site.tools`, `tests.site.graph`)."""


def write_all() -> None:
    """Write all of them."""
    for name, make in PAGES.items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make(), "utf-8")
