"""The commands about what was: `history revisions undo purge`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli.output import (
    counted,
    json_option,
    print_counts,
    print_done,
    print_json,
    print_values,
    say,
    wants_json,
)
from memorygraph.cli.settings import pass_graph

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph
    from memorygraph.graph.history import Change, Revision, Snapshot


class Moment(click.ParamType[int | datetime]):
    """A revision, by its number, or a time in ISO 8601; one without a zone is local."""

    name = "REVISION|TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | datetime:
        """The number or the time that was given."""
        if value.isdecimal():
            return int(value)
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is neither a revision nor a time such as 2026-01-31T18:00", param, ctx)


at_option = click.option("--at", "moment", type=Moment(), help="As it was at a revision or at a time.")


def as_of(graph: MemoryGraph, moment: int | datetime) -> Snapshot:
    """The graph as it was."""
    return graph.at(time=moment) if isinstance(moment, datetime) else graph.at(moment)


@click.command("history")
@click.argument("identifier", metavar="ID")
@json_option
@pass_graph
def history_command(graph: MemoryGraph, *, identifier: str) -> None:
    """Show who changed a node or an edge, when and from what; also of one that is deleted."""
    print_values(
        graph.history(identifier),
        ("revision", "at", "", "what", "by", "file"),
        lambda c: (c.revision, format_time(c.at), c.action, difference_of(c), asked_by(c), c.file),
    )


@click.command("revisions")
@click.option("--limit", default=20, type=click.IntRange(1, 100_000), metavar="N", help="At most so many.")
@json_option
@pass_graph
def revisions_command(graph: MemoryGraph, *, limit: int) -> None:
    """List the loads of the namespace, the newest first."""

    def row(of: Revision) -> tuple[Any, ...]:
        what = f"undo of {of.undoes}" if of.undoes else of.language
        return of.revision, format_time(of.at), what, counted(of.counts), asked_by(of), of.file

    columns = ("revision", "at", "what", "changed", "by", "file")
    print_values(graph.revisions(limit), columns, row, if_empty="nothing was ever loaded here")


@click.command("undo")
@click.argument("revision", type=click.IntRange(min=1))
@click.option("--dry-run", is_flag=True, help="Do everything, report it, and roll back.")
@json_option
@pass_graph
def undo_command(graph: MemoryGraph, *, revision: int, dry_run: bool) -> None:
    """Take back what a revision did, by a new one; refused if a later one has changed that, or needs it.

    What it created is deleted, what it changed or deleted becomes what it was. An undo can be undone, too.
    """
    report = graph.undo(revision, dry_run=dry_run)
    if wants_json():
        print_json({**report.as_dict(), "errors": []})
        return
    click.echo(f"revision {revision} undone by revision {report.revision} of namespace {report.namespace}")
    print_counts(report)
    if dry_run:
        say("a dry run: nothing was changed")


@click.command("purge")
@click.option("--before", type=click.IntRange(min=0), metavar="REVISION", help="Keep what was so from this one on.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_graph
def purge_command(graph: MemoryGraph, *, before: int | None, yes: bool) -> None:
    """Forget what was deleted and what was changed from; the present stays. This cannot be undone."""
    if not yes:
        what = "everything that is no longer so" if before is None else f"what was so before revision {before}"
        click.confirm(f"Forget {what} in namespace {graph.namespace}?", abort=True, err=True)
    forgotten = graph.purge(before)
    print_done({"forgotten": forgotten}, f"forgotten: {forgotten} former states of nodes and edges")


def format_time(at: datetime | None) -> str:
    """A time in the zone of this machine."""
    return at.astimezone().strftime("%Y-%m-%d %H:%M:%S") if at else ""


def asked_by(of: Change | Revision) -> str:
    """Who asked for a load, with which model, and where: `chat (gpt-5-mini) in chat`."""
    model = f"({of.model})" if of.model and of.by else of.model
    return " ".join(part for part in (of.by, model, of.conversation and f"in {of.conversation}") if part)


def difference_of(change: Change) -> str:
    """The values of an element that differ: `name: Ada → Ada Lovelace`."""
    before, after = change.before or {}, change.after or {}
    if not (before and after):
        return ", ".join(f"{name}: {value}" for name, value in (before or after).items())
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return ", ".join(f"{name}: {before.get(name)} → {after.get(name)}" for name in names)
