"""What mkdocs does beside its own: files of the repository become pages, and links to them lead there.

A page of `docs/` links to a file as it is seen in the repository (`../examples/apollo11.ctx`), where such a link works too.
The site shows the file as a page of its own, and a folder as a list. A link to what is not there stays as it is, so that
the strict build fails.
"""

from __future__ import annotations

import logging
import os
import posixpath
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tests.site import grammars

ROOT = Path(__file__).parents[2]
OF_THE_ROOT = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
SHOWN_WHOLE = ("cypher", "docker", "examples")
"""Folders with pages for all of their files; of others, the files are named."""
FOR_MODELS = ("index.md", "tutorial.md", "contextscript.md", "agentscript.md", "pete.md", "reference/commands.md")
FULL = "[llms-full.md](llms-full.md) has in one text what is needed to write for memorygraph: how to begin, three languages, commands."
TEXTS: dict[str, str] = {}
"""The Markdown of the pages for models, as they are built."""
PICTURES = {".png", ".svg"}
LANGUAGES = {".py": "python", ".pyi": "python", ".json": "json", ".toml": "toml", ".yaml": "yaml", ".cypher": "cypher"}
FENCE = re.compile(r"(^(?P<fence>`{3,}).*?^(?P=fence)$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<=\]\()(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?(?=\))")
HREF = re.compile(r'(?<=href=")(?P<path>[^"#:]+)(?P<anchor>#[^"]*)?(?=")')
HIDDEN = "---\nsearch:\n  exclude: true\n---\n\n"

logger = logging.getLogger("mkdocs.hooks.memorygraph")


@event_priority(100)  # before mkdocs-jupyter, which then finds the notebooks
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the notebooks, the pages of the repository's root, and a page for each file and folder that pages link to."""
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        files.append(File(f"notebooks/{notebook.name}", str(ROOT), config.site_dir, config.use_directory_urls))
    for name, page in OF_THE_ROOT.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    for language in grammars.GRAMMARS:
        files.append(File.generated(config, f"reference/grammar-{language}.md", content=grammars.page(language)))
    wanted = [path for file in list(files) for path in _linked(file)]
    while wanted:
        path = wanted.pop()
        uri = _uri_of(path)
        if not uri.startswith("files/") or files.get_file_from_path(uri):
            continue
        files.append(_page_of(path, uri, config))
        if (ROOT / path).is_dir() and path.startswith(SHOWN_WHOLE):
            wanted += _tracked(path)
    return files


def _linked(file: File) -> list[str]:
    """The files and folders of the repository, outside of `docs/`, that a page links to."""
    if not file.src_uri.endswith((".md", ".ipynb")):
        return []
    text = file.content_string if file.src_uri.endswith(".md") else Path(str(file.abs_src_path)).read_text("utf-8")
    links = (found["path"] for part in FENCE.split(text)[::3] for found in LINK.finditer(part))
    paths = [_in_repository(file.src_uri, link) for link in links]
    return [path for path in paths if path and not path.startswith("docs/")]


def _in_repository(page: str, link: str) -> str | None:
    """The path in the repository that a link of a page leads to, if there is something there."""
    if re.match(r"[a-z]+:", link):
        return None
    pages = {uri: name for name, uri in OF_THE_ROOT.items()}
    home = pages.get(page) or (page if page.startswith("notebooks/") else f"docs/{page}")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(home), link))
    return path if not path.startswith("..") and (ROOT / path).exists() else None


def _uri_of(path: str) -> str:
    """Where the site has a file of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path in OF_THE_ROOT or PurePosixPath(path).suffix == ".ipynb":
        return OF_THE_ROOT.get(path, path)
    if PurePosixPath(path).suffix in PICTURES:
        return f"files/{path}"
    return f"files/{path}.md" if not (ROOT / path).is_dir() else f"files/{path}/index.md"


def _page_of(path: str, uri: str, config: MkDocsConfig) -> File:
    if (ROOT / path).is_dir():
        lines = [f"- {_named(each, uri)}" for each in _tracked(path)]
        return File.generated(config, uri, content=f"{HIDDEN}# {path}\n\n" + "\n".join(lines) + "\n")
    if PurePosixPath(path).suffix in PICTURES:
        return File.generated(config, uri, abs_src_path=str(ROOT / path))
    language = LANGUAGES.get(PurePosixPath(path).suffix, "text")
    text = (ROOT / path).read_text("utf-8")
    return File.generated(config, uri, content=f"{HIDDEN}# {path}\n\n``````{language}\n{text}\n``````\n")


def _named(path: str, page: str) -> str:
    """A file in the list of its folder: a link, where the site shows it."""
    if not path.startswith(SHOWN_WHOLE) or PurePosixPath(path).name.startswith("."):
        return f"`{path}`"
    return f"[{path}]({posixpath.relpath(_uri_of(path), posixpath.dirname(page))})"


def _tracked(folder: str) -> list[str]:
    """The files of the repository below a folder: those that git knows, or else all that are there."""
    command = ["git", "-C", str(ROOT), "ls-files", "--", folder]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split("\n")
    there = listed if any(listed) else [os.path.relpath(each, ROOT) for each in (ROOT / folder).rglob("*")]
    return sorted(each for each in there if (ROOT / each).is_file() and "__pycache__" not in each)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Have links to files of the repository lead to their pages, and keep the text for models."""
    if page.file.src_uri in FOR_MODELS:
        TEXTS[page.file.src_uri] = markdown
    parts = FENCE.split(markdown)
    return "".join(
        LINK.sub(lambda found: _moved(page.file.src_uri, found), part) if place % 3 == 0 else part
        for place, part in enumerate(parts)
        if place % 3 != 2  # the fence alone, which is in the part before
    )


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    """Write `llms.txt`, which names every page, and `llms-full.md`, which is what a model needs to write for memorygraph."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", "", FULL]
    for title, uri, above in _navigation(config.nav or [], ""):
        lines += ["", f"## {above or 'Begin'}", ""] if f"## {above or 'Begin'}" not in lines else []
        lines.append(f"- [{title}]({_address_of(uri)})")
    folder = Path(config.site_dir)
    (folder / "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "llms-full.md").write_text("\n\n".join(TEXTS[uri].strip() for uri in FOR_MODELS) + "\n", "utf-8")


def _navigation(entries: list[Any], above: str) -> Iterator[tuple[str, str, str]]:
    """Every page of the navigation: its title, its file, and the title of the part that it is in."""
    for entry in entries:
        [(title, below)] = entry.items()
        if isinstance(below, str):
            yield title, below, above
        else:
            yield from _navigation(below, above or title)


def _address_of(uri: str) -> str:
    return "index.html" if uri == "index.md" else f"{PurePosixPath(uri).with_suffix('')}/"


def on_page_content(html: str, page: Page, files: Files, **_: Any) -> str:
    """Have links of notebooks lead to pages, which mkdocs itself does for Markdown only."""
    if not page.file.src_uri.endswith(".ipynb"):
        return html

    def moved(found: re.Match[str]) -> str:
        path = _in_repository(page.file.src_uri, found["path"])
        target = files.get_file_from_path(_uri_of(path)) if path else None
        return (target.url_relative_to(page.file) if target else found["path"]) + (found["anchor"] or "")

    return HREF.sub(moved, html)


def _moved(page: str, found: re.Match[str]) -> str:
    path = _in_repository(page, found["path"])
    if path is None:
        return found[0]
    return posixpath.relpath(_uri_of(path), posixpath.dirname(page)) + (found["anchor"] or "")
