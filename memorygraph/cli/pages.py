"""What the commands `view` of conversations, runs and thoughts share: where the page goes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from memorygraph.cli import output
from memorygraph.cli.settings import combine
from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.home import PAGES, PICTURES, name_file, own_folder, write_private

UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
MAX_FILE_NAME = 100
SUFFIXES = {PAGES: ".html", PICTURES: ".svg"}

page_options = combine(
    click.option(
        "--output",
        "--out",
        "-o",
        "target",
        metavar="FILE",
        callback=output.stdout_of_dash,
        help="Write it there instead of printing it.",
    ),
    click.option("--open", "open_", is_flag=True, help="Show it in the browser; its file stays in the home."),
)


def deliver_page(page: str, *of: str, target: str | None, open_: bool) -> None:
    """Write a page to a file, show it in the browser, or print it: a page `of` a namespace, a kind and a name."""
    file = target
    if target is not None:
        write_shown("page", page, target)
    if open_:
        opened = show_in_browser(PAGES, page, *of)
        file = target or str(opened)
    if output.wants_json():
        output.print_json({"name": of[-1], "file": file, "page": None if file else page, "errors": []})
    elif file is None:
        output.print_file(page)


def write_shown(kind: str, text: str, target: str) -> None:
    """Write a page or a picture to a file."""
    if not target:
        raise NotFoundError("no file is named")
    try:
        Path(target).write_text(text, "utf-8")
    except OSError as error:
        raise MemoryGraphError(f"the {kind} cannot be written to {target}: {error.strerror}") from error
    output.say(f"written to {target}")


def show_in_browser(folder: str, text: str, *of: str) -> Path:
    """Open a text in the browser. Its file stays in a folder of the home, where the next `of` the same replaces it.

    The file is named by the last part, for people, and by a hash of all.
    """
    import webbrowser

    readable = UNSAFE.sub("_", of[-1])[:MAX_FILE_NAME]
    path = own_folder(folder) / f"{readable}-{name_file(json.dumps(of))}{SUFFIXES[folder]}"
    write_private(path, text.encode("utf-8", "surrogatepass"))  # a page says itself that it is UTF-8
    opened = webbrowser.open(path.as_uri())
    output.say(f"opened {path}" if opened else f"no web browser could be opened here: open {path} yourself")
    return path
