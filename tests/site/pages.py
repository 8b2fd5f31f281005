"""The pages that are made from the code, each with what makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.site import codes, commands, environment, modules, python_api

DOCS = Path(__file__).parents[2] / "docs"
PAGES: Mapping[str, Callable[[], str]] = {
    "architecture.md": modules.page,
    "pictures/modules.svg": modules.picture,
    "reference/commands.md": commands.page,
    "reference/environment.md": environment.page,
    "reference/codes.md": codes.page,
    "reference/python.md": python_api.page,
    "reference/async.md": python_api.async_page,
}
"""Each made page and picture below `docs/`, but for that of the tools, whose exchanges need a database (`tests.site.tools`)."""


def write_all() -> None:
    """Write all of them."""
    for name, make in PAGES.items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make(), "utf-8")
