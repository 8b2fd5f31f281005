"""The made pages are what the code says now, and every page has its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from memorygraph.mcp_server import choose_tools
from memorygraph.server.artifacts import read_lock
from memorygraph.server.process import DEFAULT_BOLT_PORT, DEFAULT_HTTP_PORT
from memorygraph.server.settings import JVM_FLAGS
from tests.site import environment, tools
from tests.site import graph as graph_page
from tests.site.grammars import GRAMMARS
from tests.site.hooks import OF_THE_ROOT
from tests.site.pages import DOCS, PAGES

ROOT = DOCS.parent
NAV = (ROOT / "mkdocs.yml").read_text("utf-8")
WRITTEN = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


@pytest.mark.parametrize("name", PAGES)
def test_a_made_page_says_what_the_code_says(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == PAGES[name](), "write it anew: python -m tests.site"


def test_every_variable_of_the_environment_is_described_and_there_are_no_others() -> None:
    described = {name for names in environment.VARIABLES.values() for name in names}
    assert environment.find_names() == described, "describe it in tests/site/environment.py, then: python -m tests.site"


def test_every_tool_has_an_exchange() -> None:
    assert tools.EXCHANGES.keys() == choose_tools().keys(), "add one to EXCHANGES in tests/site/tools.py"


def test_the_exchanges_with_the_tools_are_real(graph: MemoryGraph) -> None:
    made = tools.page(tools.ask_all(graph))
    assert tools.PAGE.read_text("utf-8") == made, "write it anew: python -m tests.site.tools"


@pytest.mark.parametrize("name", WRITTEN)
def test_every_page_has_its_place_in_the_navigation(name: str) -> None:
    assert f": {name}\n" in NAV, (
        f"docs/{name} is not in the navigation: add `- Its title: {name}` to `nav` in mkdocs.yml, below the part of the site "
        "where a reader looks for it (languages, how to, reference, how it works)"
    )


def test_the_navigation_names_only_pages_that_are_there() -> None:
    of_the_root = {*OF_THE_ROOT.values(), *(f"reference/grammar-{language}.md" for language in GRAMMARS)}
    named = set(re.findall(r": (\S+\.(?:md|ipynb))$", NAV, re.MULTILINE)) - of_the_root
    assert [name for name in sorted(named) if not any((home / name).exists() for home in (DOCS, ROOT))] == []


def test_every_page_says_its_title_first() -> None:
    assert [name for name in WRITTEN if not re.search(r"\A# \S.*\n\n", (DOCS / name).read_text("utf-8"))] == []


def test_the_page_of_the_server_says_what_it_takes() -> None:
    page = (DOCS / "server.md").read_text("utf-8")
    assert f"{DEFAULT_BOLT_PORT} for Bolt and {DEFAULT_HTTP_PORT} for Browser" in page
    assert "-Xmx1g" in JVM_FLAGS
    assert "1 GB at most for Java's heap" in page
    assert "~/.local/share/memorygraph" in page
    files = read_lock().artifacts
    assert f"They are {len(files)}, of {round(sum(each.size for each in files) / 1_000_000)} MB" in page


def test_each_page_is_made_or_written_and_never_both() -> None:
    made = {
        *(name for name in PAGES if name.endswith(".md")),
        *(page.relative_to(DOCS).as_posix() for page in (tools.PAGE, graph_page.PAGE)),
    }
    marked = {
        name for name in WRITTEN if "\n<!-- made by `python -m tests.site" in Path(DOCS / name).read_text("utf-8")
    }
    assert marked == made
