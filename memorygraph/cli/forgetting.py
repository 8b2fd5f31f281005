"""`forget` and `messages forget`: what goes for good, after it was said what that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import click

from memorygraph.cli import output
from memorygraph.cli.settings import report_from_graph
from memorygraph.graph.forgetting import Forgotten

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph


@click.command("forget")
@click.argument("identifier", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would go and what would stay, and forget nothing.")
@report_from_graph
def forget_command(graph: MemoryGraph, *, identifier: str, yes: bool, dry_run: bool) -> None:
    """Forget a node, an edge, a run or a program, with its history and what is its alone. It cannot be undone.

    ID can be an address, too: memory:N, also that of a thought. What is deleted already can be forgotten, too.
    """
    confirm_and_forget(lambda *, dry_run=False: graph.forget(identifier, dry_run=dry_run), yes=yes, dry_run=dry_run)


def confirm_and_forget(forget: Callable[..., Forgotten], *, yes: bool, dry_run: bool) -> None:
    """Say what goes and what stays, ask, and forget."""
    if dry_run or not yes:
        planned = forget(dry_run=True)
        if dry_run:
            output.print_done(planned.as_dict(), describe("would be forgotten", planned))
            return
        output.say(describe("to be forgotten", planned))
        click.confirm("Forget it? It cannot be undone, and backups of before still hold it.", abort=True, err=True)
    forgotten = forget()
    output.print_done(forgotten.as_dict(), describe("forgotten", forgotten))


def describe(what: str, forgotten: Forgotten) -> str:
    """Say how much goes, and how much stays and why."""
    stayed = f"\nstays: {list_counts(forgotten.stayed)}" if forgotten.stayed else ""
    return f"{what}: {list_counts(forgotten.went)}{stayed}"


def list_counts(counts: Mapping[str, int]) -> str:
    """The counts as text: `2 messages, 1 versions`."""
    return ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "nothing"
