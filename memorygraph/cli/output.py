"""What the commands print: one JSON document, or tables for people; everything else goes to stderr."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

MAX_TABLE_ROWS = 1000
PIECE_CHARACTERS = 1 << 16
AS_JSON = "memorygraph.as_json"  # in the meta of click's context: --json was given

Command = TypeVar("Command", bound=Callable[..., Any])


def note_json(ctx: click.Context, _: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click calls it so
    """Remember that --json was given, for the errors of any command."""
    ctx.meta[AS_JSON] = value
    return value


json_option: Callable[[Command], Command] = click.option(
    "--json", "as_json", is_flag=True, callback=note_json, help="Print one JSON document and nothing else."
)


def to_json(value: Any) -> str:
    """A value as JSON; what JSON does not know, such as a date, as its text."""
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


def print_json(value: Any) -> None:
    """Print one JSON document."""
    print_text(to_json(value))


def print_no_errors(*, as_json: bool) -> None:
    """Print that a check has found nothing wrong."""
    if as_json:
        print_json({"errors": []})
    else:
        say("no errors")


def plain(text: str) -> str:
    """A text without what a terminal would obey."""
    return "".join(c if c.isprintable() or c in "\n\t" else " " for c in text)


def print_text(text: str, *, nl: bool = True) -> None:
    """A text on stdout: on a terminal without what that would obey, and otherwise as it is."""
    # Without `color`, click takes escape sequences out of what does not go to a terminal.
    click.echo(plain(text) if sys.stdout.isatty() else text, nl=nl, color=True)


def say(message: str) -> None:
    """A message for people, on stderr."""
    try:
        click.echo(plain(message), err=True)
    except BrokenPipeError:
        stop_saying()


def stop_saying() -> None:
    """Drop what is said from now on: stderr is closed. The command goes on to its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def counted(counts: Mapping[str, Any]) -> str:
    """The counts of a load that are not zero: `2 nodes created, 1 edge deleted`."""
    named = []
    for how in ("created", "updated", "deleted"):
        for kind in ("node", "edge"):
            count = counts[f"{kind}s_{how}"]
            if count:
                named.append(f"{count} {kind}{'' if count == 1 else 's'} {how}")
    return ", ".join(named) or "nothing changed"


def print_json_list(values: Iterable[Any]) -> None:
    """Print one JSON document, a list, when its last value has come: what fails before prints none of it."""
    with whole_output() as file:
        before = "["
        for value in values:
            file.write(before + to_json(value))
            before = ", "
        file.write("]\n" if before != "[" else "[]\n")


@contextmanager
def whole_output() -> Iterator[TextIO]:
    """A file for what is printed when the block ends well, and not at all otherwise; it needs no memory."""
    import tempfile

    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogatepass", newline="") as file:
        yield file
        file.seek(0)
        while piece := file.read(PIECE_CHARACTERS):
            print_text(piece, nl=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table on stdout. Text is shown as it is: nothing in it is markup."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for row in rows:
        cells = ("" if value is None else value if isinstance(value, str) else to_json(value) for value in row)
        table.add_row(*(Text(plain(cell)) for cell in cells))
    Console().print(table)


def print_rows(rows: Iterable[Mapping[str, Any]]) -> None:
    """Rows of a query as tables, each of so many rows that none has to be held for long."""
    source = iter(rows)
    any_rows = False
    while page := list(itertools.islice(source, MAX_TABLE_ROWS)):
        columns = list(page[0])
        print_table(columns, ([row[column] for column in columns] for row in page))
        any_rows = True
    if not any_rows:
        say("no rows")


class Bar:
    """A progress bar that learns its total late."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def total(self, number: int) -> None:
        """How much there is to do."""
        self._progress.update(self._task, total=number)

    def advance(self, number: int) -> None:
        """So much more is done."""
        self._progress.advance(self._task, number)


@contextmanager
def bytes_progress(title: str) -> Iterator[Bar]:
    """A bar on stderr for a download."""
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn

    with progress_bar(title, BarColumn(), DownloadColumn(), TimeRemainingColumn()) as bar:
        yield bar


@contextmanager
def count_progress(title: str) -> Iterator[Bar]:
    """A bar on stderr for so many things done."""
    from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn

    with progress_bar(title, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()) as bar:
        yield bar


@contextmanager
def progress_bar(title: str, *columns: Any) -> Iterator[Bar]:
    """A bar on stderr with these columns."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    class StderrConsole(Console):
        def on_broken_pipe(self) -> None:
            stop_saying()

    console = StderrConsole(stderr=True)
    with Progress(TextColumn("{task.description}"), *columns, console=console, transient=True) as progress:
        yield Bar(progress, progress.add_task(title, total=None))
