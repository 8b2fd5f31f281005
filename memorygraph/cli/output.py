"""What the commands print: one JSON document, or tables for people; everything else goes to stderr."""

from __future__ import annotations

import io
import itertools
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from memorygraph.cli.stopping import AGAIN, NOTHING_PRINTED, STORED_STAYS, Interrupted, explaining_stop
from memorygraph.errors import MemoryGraphError, ProgramError, ScriptError, display_width
from memorygraph.json_text import format_json
from memorygraph.sentences import count_of

if TYPE_CHECKING:
    from datetime import datetime

    from rich.progress import Progress, TaskID

    from memorygraph.errors import Problem
    from memorygraph.graph.loads import LoadReport

MAX_TABLE_ROWS = 1000
PIECE_CHARACTERS = 1 << 16
PIECE_WRITES = 1_000
FIRST_CHARACTERS = 1 << 14  # at most 64 KiB, which an empty pipe takes without waiting for its reader
AS_JSON = "memorygraph.as_json"  # in the meta of click's context: --json was given
WARNED = "memorygraph.warned"  # in the same place: what was warned of

Command = TypeVar("Command", bound=Callable[..., Any])
FileName = TypeVar("FileName", Path, str | None)


def note_json(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click calls it so
    """Remember that --json was given, for all that the command prints, and for its errors."""
    ctx.meta[AS_JSON] = value


json_option: Callable[[Command], Command] = click.option(
    "--json",
    "as_json",
    is_flag=True,
    callback=note_json,
    expose_value=False,
    help="Print one JSON document and nothing else.",
)


def stdout_of_dash(_: click.Context, __: click.Parameter, file: str | None) -> str | None:
    """Take `-` for stdout, on which a command prints what it writes to no file."""
    return None if file == "-" else file


def refuse_dash(_: click.Context, __: click.Parameter, file: FileName) -> FileName:
    """Refuse `-` for what is not written to stdout: whoever gives it would find a file of that name."""
    if str(file) == "-":
        raise click.BadParameter("this is not written to stdout: name a file")
    return file


def wants_json() -> bool:
    """Whether --json was given to the command that runs."""
    return bool(click.get_current_context().meta.get(AS_JSON))


def to_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON; what JSON does not know, such as a date, as its text, and no number (NaN, infinity) as null."""
    try:
        return format_json(value, indent=indent, ensure_ascii=not is_unicode())
    except RecursionError:  # as the trace of agents that call agents
        from memorygraph.context.rendering import compact

        return compact(value)


def print_json(value: Any) -> None:
    """Print one JSON document; one that is an object has what was warned of as `warnings`."""
    warned = click.get_current_context().meta.get(WARNED)
    if warned is not None and isinstance(value, dict):
        value = {**value, "warnings": [*value.get("warnings", ()), *warned]}
    print_text(to_json(value))


def warn(ctx: click.Context, message: str, code: str = "bad-element") -> None:
    """A warning on stderr, and in the JSON document that the command prints; from any thread, which has no context."""
    say(f"warning: {message}")
    ctx.meta.setdefault(WARNED, []).append(
        {"file": None, "line": None, "column": None, "message": message, "code": code}
    )


def print_done(document: Any, message: str) -> None:
    """Print what a command has done: a document for --json, else a sentence on stderr."""
    if wants_json():
        print_json(document)
    else:
        say(message)


def print_list(
    values: Sequence[Any],
    columns: Sequence[str],
    to_row: Callable[[Any], Sequence[Any]] = lambda value: tuple(value.as_dict().values()),
    *,
    if_empty: str = "",
) -> None:
    """Print values that have `as_dict`: a list for --json, else a table, or a sentence where there are none."""
    if wants_json():
        print_json([value.as_dict() for value in values])
    elif values or not if_empty:
        print_table(columns, map(to_row, values))
    else:
        say(if_empty)


SHOWN = "\n\t\u200c\u200d"
"""Characters that Python calls not printable, and no terminal obeys: Persian, Hindi and emoji need the two joiners."""


def plain(text: str) -> str:
    """A text without what a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in SHOWN else " " for c in text)


def is_unicode() -> bool:
    """Whether stdout takes every character; where it does not, as in a locale of Latin-1, JSON escapes them."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return encoding.lower().startswith("utf")


def replace_closed_streams() -> None:
    """Read nothing from, and write nowhere to, a stream that is closed, as with `>&-`: Python has None for it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - it stays open


def escape_unknown_characters() -> None:
    """Print a character that the encoding of stdout does not have as its escape sequence, and not an error."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def print_in_utf_8() -> None:
    """Print in UTF-8 from now on, unless on a terminal: for what is read again as a file, such as an export."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not is_unicode() and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")


def print_text(text: str, *, nl: bool = True) -> None:
    """A text on stdout: on a terminal without what that would obey, and otherwise as it is."""
    with explaining_full_stdout():
        # Without `color`, click takes escape sequences out of what does not go to a terminal.
        click.echo(plain(text) if sys.stdout.isatty() else text, nl=nl, color=True)


def print_file(text: str, *, nl: bool = True) -> None:
    """A text that is read again as a file, on stdout: in UTF-8, unless on a terminal."""
    print_in_utf_8()
    print_text(text, nl=nl)


@contextmanager
def explaining_no_room(explain: Callable[[str], str]) -> Iterator[None]:
    """Have a place that takes no more, such as a full disk, be an error of the user's machine, with an explanation."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise MemoryGraphError(explain(error.strerror or str(error))) from error


def explaining_full_stdout() -> AbstractContextManager[None]:
    """Have a stdout that takes no more be explained; what else would be printed is dropped."""

    def explain(reason: str) -> str:
        stop_printing()
        return f"what is printed cannot be written to stdout: {reason}; {STORED_STAYS}"

    return explaining_no_room(explain)


def explain_full_folder(reason: str) -> str:
    """Say that the folder for temporary files takes no more."""
    return (
        f"what is to be printed is kept in the folder for temporary files first, which takes no more: {reason}. "
        f"Make room there, or name another folder with TMPDIR, and {AGAIN}"
    )


def say(message: str) -> None:
    """A message for people, on stderr."""
    try:
        click.echo(plain(message), err=True)
    except OSError:  # nobody reads it, its disk is full, its terminal is gone
        stop_saying()


def prompt_line(prompt: str) -> str | None:
    """Read a line, also from a pipe, after a prompt on stderr; None at the end."""
    try:
        line: str = click.prompt(prompt, prompt_suffix="> ", default="", show_default=False, err=True)
    except click.Abort:
        return None
    except UnicodeDecodeError as error:
        raise MemoryGraphError(f"what is typed is not {error.encoding.upper()}: {error.reason}") from error
    return line


def confirm(question: str) -> None:
    """Ask a person, on stderr, before anything is done; a No ends the command."""
    if not click.confirm(question, err=True):
        raise MemoryGraphError("the answer was no: nothing was done, and nothing has changed")


def is_unread() -> bool:
    """Whether stdout is a pipe whose reader, such as `head` or a pager, has ended."""
    import select

    try:
        stdout = select.poll()
        stdout.register(sys.stdout.fileno(), select.POLLERR)
        return any(happened & select.POLLERR for _, happened in stdout.poll(0))
    except (OSError, ValueError, AttributeError):  # stdout is no file, or this system has no poll
        return False


def stop_saying() -> None:
    """Drop what is said from now on: stderr takes no more. The command goes on to its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def stop_printing() -> None:
    """Drop what is printed from now on: nobody reads stdout any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class FilesError(MemoryGraphError):
    """What is wrong in several files, by file: in the scripts, and with those that cannot be read."""

    def __init__(self, errors: Sequence[MemoryGraphError]) -> None:
        self.errors = errors
        super().__init__("\n".join(map(str, errors)))


class UnfinishedError(MemoryGraphError):
    """What is wrong with a file, while those before it, or statements of its own, are stored: `stays` says so."""

    def __init__(
        self, error: MemoryGraphError, stays: str, reports: Sequence[LoadReport], stored_statements: int | None
    ) -> None:
        self.error = error
        self.stored_statements = stored_statements
        mend = "mend it and " if isinstance(error, ScriptError) else ""
        self.stays = f"{stays}; {mend}{AGAIN}: what is stored already stays as it is"
        self.reports = reports
        self.exit_code = error.exit_code
        super().__init__(f"{error}\n{self.stays}")


def say_error(error: MemoryGraphError) -> None:
    """An error on stderr, and what of a script was done before it."""
    if isinstance(error, UnfinishedError):
        say_problem(error.error, error.stays)
        return
    if isinstance(error, FilesError):
        wrong = [each for each in error.errors if isinstance(each, ScriptError)]
        for unread in (each for each in error.errors if each not in wrong):
            say_error(unread)
        if wrong:
            say_error(ScriptError([problem for each in wrong for problem in each.problems]))
        return
    stays = None
    if isinstance(error, ScriptError):
        stays = "nothing was changed"
        if error.stored_statements:
            stays = (
                f"the batches up to statement {error.stored_statements} are stored, and nothing after them; "
                "mend the rest and run the same command to go on from there"
            )
    say_problem(error, stays)


def say_problem(error: MemoryGraphError, stays: str | None) -> None:
    """An error on stderr, and what `stays` of what was done before it."""
    if not isinstance(error, ScriptError):
        say("\n".join([f"memorygraph: {error}", *getattr(error, "__notes__", ())]))
        if stays:
            say(stays)
        return
    say(str(error))
    if isinstance(error, ProgramError):
        shown = "" if error.run is None else "; `runs show last` shows it"
        say(f"the run stopped there; what it had done by then stays{shown}")
        return
    say(f"{count_of(len(error.problems), 'error')}; {stays}")


def error_document(error: MemoryGraphError) -> dict[str, Any]:
    """An error as the document that `--json` prints, with what was stored before it.

    `run` is the id of the run that failed, `stored` has the reports of files, `stored_statements` how many statements
    of the file of the error are in batches.
    """
    document: dict[str, Any] = {"errors": error_records(error)}
    if error.run is not None:
        document["run"] = error.run
    if isinstance(error, UnfinishedError):
        document["stored"] = [report.as_dict() for report in error.reports]
    if statements := error.stored_statements if isinstance(error, ScriptError | UnfinishedError) else None:
        document["stored_statements"] = statements
    return document


def print_error(error: MemoryGraphError) -> None:
    """Print the document of an error; a stdout that does not take it changes nothing of how the command ends."""
    try:
        print_json(error_document(error))
    except BrokenPipeError:
        stop_printing()
    except MemoryGraphError as unprinted:
        say_error(unprinted)


def error_records(error: MemoryGraphError) -> list[dict[str, Any]]:
    """An error as the list that `--json` prints under `errors`."""
    if isinstance(error, FilesError):
        return [record for each in error.errors for record in error_records(each)]
    if isinstance(error, UnfinishedError):
        return error_records(error.error)
    problems: Sequence[Problem] = getattr(error, "problems", ())  # also of a model that failed at a place
    if problems:
        return [problem.as_dict() for problem in problems]
    code = getattr(error, "code", None) or code_of_kind(type(error).__name__)
    place = {name: getattr(error, name, None) for name in ("line", "column")}  # which an error of a query has
    return [{"file": None, **place, "message": str(error), "code": code}]


def code_of_kind(name: str) -> str:
    """The code of an error that has no place in a script, by the name of its class.

    >>> code_of_kind("NotFoundError"), code_of_kind("MemoryGraphError")
    ('not-found', 'memorygraph')
    """
    words = name.removesuffix("Error").replace("MemoryGraph", "Memorygraph")
    return re.sub(r"(?<=.)(?=[A-Z])", "-", words).lower()


def say_warnings(warnings: Iterable[Problem]) -> None:
    """Warnings with their places, on stderr."""
    for warning in warnings:
        say(f"{warning}\n    (a warning)")


def warn_beside(warnings: Iterable[Problem]) -> None:
    """Warnings with their places, on stderr and in the JSON document, beside the errors that the command ends with."""
    say_warnings(warnings)
    click.get_current_context().meta.setdefault(WARNED, []).extend(warning.as_dict() for warning in warnings)


def print_checked(warnings: Sequence[Problem]) -> None:
    """Print that scripts have no errors, and their warnings."""
    if wants_json():
        print_json({"errors": [], "warnings": [warning.as_dict() for warning in warnings]})
        return
    say_warnings(warnings)
    print_done({}, f"no errors, {count_of(len(warnings), 'warning')}" if warnings else "no errors")


def print_counts(report: LoadReport) -> None:
    """The counts of a load as a table."""
    counts = report.as_dict()
    ways = ("created", "updated", "deleted")
    print_table(("", *ways), [(kind, *(counts[f"{kind}_{way}"] for way in ways)) for kind in ("nodes", "edges")])


def is_piped() -> bool:
    """Whether stdout is a pipe."""
    try:
        return stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):  # stdout is no file
        return False


def print_json_list(values: Iterable[Any]) -> None:
    """Print one JSON document, a list, when its last value has come: what fails before prints none of it."""
    with whole_output() as file:
        before = "["
        for value in values:
            file.write(before + to_json(value))
            before = ", "
        file.write("]\n" if before != "[" else "[]\n")


class CountedFile(io.TextIOWrapper):
    """A file that tells `listener`, every `PIECE_WRITES` times, how often it was written to.

    Where nobody reads stdout any more, it raises a BrokenPipeError instead. With `first_at_once`, the first piece is
    printed as soon as it is written, after a call of that: whoever wants no more, such as `head`, need not wait.
    """

    listener: Callable[[int], None] | None = None
    first_at_once: Callable[[], None] | None = None
    printed = ""
    _first = ""
    _writes = 0

    def write(self, text: str, /) -> int:
        """Write a text: the exports do so line by line."""
        self._writes += 1
        if self._writes % PIECE_WRITES == 0:
            if is_unread():
                raise BrokenPipeError
            if self.listener is not None:
                self.listener(self._writes)
        if self.first_at_once is not None and not self.printed:
            self._first += text
            if len(self._first) >= FIRST_CHARACTERS:
                self.first_at_once()
                self.printed = self._first[:FIRST_CHARACTERS]
                print_text(self.printed, nl=False)
        return super().write(text)

    def truncate(self, size: int | None = None, /) -> int:
        """Begin anew; what was printed has to be written again."""
        self._first = ""
        return super().truncate(size)

    def rest(self) -> Iterator[str]:
        """The pieces that are not printed yet, of what was written."""
        self.seek(0)
        if self.read(len(self.printed)) != self.printed:
            raise MemoryGraphError(
                "the namespace changed during the export, and the part of it that was printed: into a file (> FILE) an "
                "export is printed when all of it was read"
            )
        while piece := self.read(PIECE_CHARACTERS):
            yield piece


@contextmanager
def whole_output() -> Iterator[CountedFile]:
    """A file for what is printed when the block ends well, and not at all otherwise; it needs no memory."""
    import tempfile

    cut_off = f"what was printed is cut off: throw it away, and {AGAIN}"
    with (
        explaining_no_room(explain_full_folder),
        tempfile.TemporaryFile() as raw,
        CountedFile(raw, "utf-8", "surrogatepass", newline="") as file,
    ):
        try:
            with explaining_stop(lambda _: cut_off if file.printed else NOTHING_PRINTED):
                yield file
            with explaining_stop(lambda _: cut_off):
                for piece in file.rest():
                    print_text(piece, nl=False)
        except Interrupted:
            raise
        except MemoryGraphError:
            if file.printed:
                say(cut_off)
            raise


class WholeHelpGroup(click.Group):
    """A group of commands whose help has the first sentence of each command whole; click would cut it off."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands and what they do."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, found.get_short_help_str(MAX_LINE_CHARACTERS)) for name, found in commands if found]
            )


COLUMN_CHARACTERS = 8
"""Of a table on a terminal, with its margin: no column is narrower."""

MAX_LINE_CHARACTERS = 4_000
"""Of a line of help; and to so many the cells of a column are padded in a pipe, where each row is a line."""


def format_time(at: datetime | str | None) -> str:
    """A time, also as a text of it, in the zone of this machine; another text as it is."""
    from datetime import datetime

    try:
        time = datetime.fromisoformat(at) if isinstance(at, str) else at
    except ValueError:  # raw Cypher can store any text
        return str(at)
    return to_local_time(time).strftime("%Y-%m-%d %H:%M:%S") if time else ""


def to_local_time(time: datetime) -> datetime:
    """A time in the zone of this machine; one that would be of the year 0 or 10000 there stays in its own."""
    try:
        return time.astimezone()
    except (OverflowError, ValueError):
        return time


def to_cell(value: Any) -> str:
    """A value as a table shows it."""
    import json

    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value) if isinstance(value, float) else to_json(value)  # people may see NaN


def is_terminal(file: TextIO) -> bool:
    """Whether a stream is a terminal, or TTY_COMPATIBLE calls it one; FORCE_COLOR colours a pipe, and no more."""
    compatible = os.environ.get("TTY_COMPATIBLE")
    return compatible == "1" or (compatible != "0" and file.isatty())


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table on stdout, of which nothing is cut off: a terminal folds what is too wide, a pipe has long lines.

    Text is shown as it is: nothing in it is markup. In a pipe a line break is a blank.
    """
    cells = [[to_cell(value) for value in row] for row in rows]
    if not is_terminal(sys.stdout):
        with explaining_full_stdout():
            sys.stdout.write(draw_table([columns, *cells]))
            sys.stdout.flush()
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    class StdoutConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich itself would end the program, with 1

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(Text(plain(column)), overflow="fold")
    for row in cells:
        table.add_row(*(Text(plain(cell)) for cell in row))
    console = StdoutConsole()
    # Rich leaves out columns for which there is no room; so wide a table has lines that the terminal breaks.
    console.width = max(console.width, COLUMN_CHARACTERS * len(columns))
    with explaining_full_stdout():
        console.print(table)


def draw_table(rows: Iterable[Sequence[str]]) -> str:
    """Draw a table, whose first row is its heading, as rich does, in a thirtieth of the time; each row is a line."""
    shown = [[plain(cell.replace("\n", " ")).expandtabs() for cell in row] for row in rows]
    widths = [[display_width(cell) for cell in row] for row in shown]
    columns = [min(max(column), MAX_LINE_CHARACTERS) for column in zip(*widths, strict=True)]
    heading, *lines = (
        "   ".join(cell + " " * (width - own) for cell, own, width in zip(row, owns, columns, strict=True)).rstrip()
        for row, owns in zip(shown, widths, strict=True)
    )
    if os.environ.get("FORCE_COLOR"):
        heading = click.style(heading, bold=True)
    rule = ("─" if is_unicode() else "-") * (sum(columns) + 3 * len(columns) - 3)
    return "\n".join([heading, rule, *lines, ""])


def print_rows(rows: Iterable[Mapping[str, Any]]) -> None:
    """Rows of a query as tables, each of at most MAX_TABLE_ROWS; where the rest fails, say how many were printed."""
    source = iter(rows)
    printed = 0
    try:
        while page := list(itertools.islice(source, MAX_TABLE_ROWS)):
            print_table(list(page[0]), (list(row.values()) for row in page))
            printed += len(page)
    except MemoryGraphError:
        if printed:
            say(f"{printed} rows were printed, and none after them")
        raise
    if not printed:
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

    def at(self, done: int) -> None:
        """So much is done."""
        self._progress.update(self._task, completed=done)

    def reach(self, done: int, total: int) -> None:
        """So much is done, of so much."""
        self._progress.update(self._task, completed=done, total=total)

    def stop(self) -> None:
        """Take it from the terminal, which is needed for something else."""
        self._progress.stop()


@contextmanager
def progress_bar(title: str, *, in_bytes: bool = False) -> Iterator[Bar]:
    """A bar on stderr: for the bytes of a download, or for things that are counted."""
    from rich import progress as bars
    from rich.console import Console
    from rich.text import Text

    class StderrConsole(Console):
        def on_broken_pipe(self) -> None:
            stop_saying()

    class RateColumn(bars.ProgressColumn):
        def render(self, task: bars.Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="progress.data.speed")

    figures: tuple[bars.ProgressColumn, ...] = (
        (bars.DownloadColumn(), bars.TimeRemainingColumn())
        if in_bytes
        else (bars.MofNCompleteColumn(), RateColumn(), bars.TimeElapsedColumn(), bars.TimeRemainingColumn())
    )
    columns = (bars.TextColumn("{task.description}", markup=False), bars.BarColumn(), *figures)
    console = StderrConsole(stderr=True)
    # Where there is no terminal, not even the line break that rich leaves behind.
    is_shown = console.is_interactive and is_terminal(sys.stderr)
    with bars.Progress(*columns, console=console, transient=True, disable=not is_shown) as progress:
        yield Bar(progress, progress.add_task(title, total=None))
