"""What the commands print: one JSON document, or tables for people; everything else goes to stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memorygraph.errors import MemoryGraphError, ProgramError, ScriptError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

AS_JSON = "memorygraph.as_json"  # in the meta of click's context: --json was given

Command = TypeVar("Command", bound=Callable[..., Any])


def _note(ctx: click.Context, _: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click calls it so
    ctx.meta[AS_JSON] = value
    return value


json_option: Callable[[Command], Command] = click.option(
    "--json", "as_json", is_flag=True, callback=_note, help="Print one JSON document and nothing else."
)


def print_json(value: Any) -> None:
    """Print one JSON document; what JSON does not know, such as a date, as its text."""
    click.echo(json.dumps(value, ensure_ascii=False, default=str))


def say(message: str) -> None:
    """A message for people, on stderr."""
    click.echo(message, err=True)


def print_error(error: MemoryGraphError, *, as_json: bool) -> None:
    """An error on stderr, and for --json as one document on stdout too."""
    say(str(error) if isinstance(error, ScriptError) else f"memorygraph: {error}")
    if isinstance(error, ScriptError):
        say(_outcome(error))
    if as_json:
        print_json({"errors": error_records(error)})


def _outcome(error: ScriptError) -> str:
    """What an error in a script has left behind."""
    if isinstance(error, ProgramError):
        return "the run stopped there; what it had done by then stays"
    count = len(error.problems)
    kept = error.stored_statements
    return f"{count} error{'s' if count != 1 else ''}; " + (_kept(kept) if kept else "nothing was changed")


def _kept(statements: int) -> str:
    return (
        f"the batches up to statement {statements} are stored, and nothing after them; "
        "mend the rest and run the same command to go on from there"
    )


def error_records(error: MemoryGraphError) -> list[dict[str, Any]]:
    """An error as the list that `--json` prints under `errors`."""
    if isinstance(error, ScriptError):
        return [problem.as_dict() for problem in error.problems]
    code = type(error).__name__.removesuffix("Error").lower()
    return [{"file": None, "line": None, "column": None, "message": str(error), "code": code}]


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table on stdout. Text is shown as it is: nothing in it is markup."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    Console().print(table)


def print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows of a query as a table."""
    if not rows:
        say("no rows")
        return
    columns = list(rows[0])
    print_table(columns, ([row[column] for column in columns] for row in rows))


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


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

    with _bar(title, BarColumn(), DownloadColumn(), TimeRemainingColumn()) as bar:
        yield bar


@contextmanager
def count_progress(title: str) -> Iterator[Bar]:
    """A bar on stderr for so many things done."""
    from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn

    with _bar(title, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()) as bar:
        yield bar


@contextmanager
def _bar(title: str, *columns: Any) -> Iterator[Bar]:
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    console = Console(stderr=True)
    with Progress(TextColumn("{task.description}"), *columns, console=console, transient=True) as progress:
        yield Bar(progress, progress.add_task(title, total=None))
