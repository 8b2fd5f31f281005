"""What the commands `view` of conversations, runs and thoughts share: where the page goes."""

from __future__ import annotations

import re
from pathlib import Path

import click

from memorygraph.cli import output
from memorygraph.cli.settings import combine
from memorygraph.errors import MemoryGraphError
from memorygraph.home import PAGES, own_folder, write_private

UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
MAX_FILE_NAME = 100

page_options = combine(
    click.option("--output", "--out", "-o", "target", metavar="FILE", help="Write it there instead of printing it."),
    click.option("--open", "open_", is_flag=True, help="Show it in the browser; its file stays in the home."),
)


def deliver_page(page: str, name: str, target: str | None, *, open_: bool) -> None:
    """Write a page to a file, show it in the browser, or print it."""
    if target is not None:
        try:
            Path(target).write_text(page, "utf-8")
        except OSError as error:
            raise MemoryGraphError(f"the page cannot be written to {target}: {error.strerror}") from error
        output.say(f"written to {target}")
    if open_:
        show_in_browser(PAGES, f"{UNSAFE.sub('_', name)[:MAX_FILE_NAME]}.html", page)
    if output.wants_json():
        output.print_json({"name": name, "file": target, "page": None if target else page, "errors": []})
    elif target is None and not open_:
        output.print_file(page)


def show_in_browser(folder: str, name: str, text: str) -> None:
    """Open a text in the browser. Its file stays in a folder of the home, where the next of its name replaces it."""
    import webbrowser

    path = own_folder(folder) / name
    write_private(path, text.encode("utf-8", "surrogatepass"))  # a page says itself that it is UTF-8
    opened = webbrowser.open(path.as_uri())
    output.say(f"opened {path}" if opened else f"no web browser could be opened here: open {path} yourself")
