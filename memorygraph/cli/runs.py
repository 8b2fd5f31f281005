"""The commands on stored runs: `runs list show view`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli import output
from memorygraph.cli.completion import complete_runs
from memorygraph.cli.pages import deliver_page, page_options
from memorygraph.cli.settings import report_from_graph
from memorygraph.cli.trace import shorten_value, write_on_a_line

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph


@click.group("runs", cls=output.WholeHelpGroup)
def runs_command() -> None:
    """List or show stored runs of programs."""


@runs_command.command("list")
@click.option("--limit", type=click.IntRange(min=1), default=100, metavar="N", help="At most this many.")
@report_from_graph
def list_runs_command(graph: MemoryGraph, *, limit: int) -> None:
    """Show the latest runs, the newest first."""
    columns = ("began at", "run", "language", "program", "status")
    output.print_list(
        graph.runs(limit),
        columns,
        lambda run: (output.format_time(run.at), run.id, run.language, run.program, run.status),
        if_empty="no runs are stored here",
    )


@runs_command.command("show")
@click.argument("run", metavar="RUN|last", shell_complete=complete_runs)
@click.option("--transcript", is_flag=True, help="Print what was said in it, and nothing else.")
@report_from_graph
def show_runs_command(graph: MemoryGraph, *, run: str, transcript: bool) -> None:
    """Show a run: what it was given and gave, and its steps."""
    stored = graph.stored_run(run)
    if transcript:
        if output.wants_json():
            output.print_json({"id": stored.id, "transcript": stored.transcript})
        else:
            output.print_file(stored.transcript, nl=not stored.transcript.endswith("\n"))
        return
    if output.wants_json():
        output.print_json(stored.as_dict())
        return
    facts = [(name, value) for name, value in stored.as_dict().items() if name not in {"steps", "trace", "transcript"}]
    output.print_table(("", ""), [(name, cell_of(value)) for name, value in facts if value is not None])
    if stored.steps:
        columns = tuple(dict.fromkeys(name for step in stored.steps for name in step))  # an unfinished step has fewer
        output.print_table(columns, [tuple(cell_of(step.get(name)) for name in columns) for step in stored.steps])


@runs_command.command("view")
@click.argument("run", metavar="RUN|last", shell_complete=complete_runs)
@page_options
@report_from_graph
def view_runs_command(graph: MemoryGraph, *, run: str, target: str | None, open_: bool) -> None:
    """Make one HTML page of a run: its steps, and the prompts with their sources and budgets."""
    deliver_page(graph.view_run(run), graph.namespace, "run", run, target=target, open_=open_)


def cell_of(value: Any) -> str:
    """A value on one line, which a terminal has the first characters of; empty where there is none."""
    write = shorten_value if sys.stdout.isatty() else write_on_a_line
    return "" if value is None else write(value)
