"""`forget`, `messages forget`, `expire`, `messages expire`: what goes for good, now or at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli import output
from memorygraph.cli.completion import complete_ids
from memorygraph.cli.settings import Time, report_from_graph
from memorygraph.graph.expiry import Expiry
from memorygraph.graph.forgetting import Forgotten
from memorygraph.sentences import list_counts

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph

_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_DURATION = re.compile(r"(?=.)" + "".join(rf"(?:(?P<{name}>\d{{1,9}}){unit})?" for unit, name in _UNITS.items()))


class DurationType(click.ParamType[timedelta]):
    """A duration as `30d`, `12h` or `1h30m`: weeks, days, hours, minutes and seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Read a duration."""
        if isinstance(value, timedelta):
            return value
        parts = _DURATION.fullmatch(value)
        if parts is None:
            self.fail(f"{value!r} is no duration: write one as 2w, 30d, 12h, 1h30m or 45s", param, ctx)
        try:
            return timedelta(**{name: int(count) for name, count in parts.groupdict().items() if count})
        except OverflowError:
            self.fail(f"{value!r} is longer than any time: leave that out, or give --never", param, ctx)


def time_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say when something expires."""
    for option in (
        click.option("--never", is_flag=True, help="It expires no more."),
        click.option("--in", "after", type=DurationType(), metavar="DURATION", help="That long from now: 30d, 1h30m."),
        click.option("--at", type=Time(), metavar="TIME", help="At this time, by default of this machine's zone."),
    ):
        command = option(command)
    return command


@click.command("forget")
@click.argument("identifier", metavar="ID", shell_complete=complete_ids)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would go and what would stay, and forget nothing.")
@report_from_graph
def forget_command(graph: MemoryGraph, *, identifier: str, yes: bool, dry_run: bool) -> None:
    """Forget a node, an edge, a run or a program, with its history and what is its alone. It cannot be undone.

    ID can be the name or an alias of a node, too, such as "Ada Lovelace", or an address: memory:N, also that of a
    thought. What is deleted already can be forgotten by its id.
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
        output.confirm("Forget it? It cannot be undone, and backups of before still hold it.")
    forgotten = forget()
    output.print_done(forgotten.as_dict(), describe("forgotten", forgotten))


def describe(what: str, forgotten: Forgotten) -> str:
    """Say how much goes, and how much stays and why."""
    stayed = f"\nstays: {list_counts(forgotten.stayed)}" if forgotten.stayed else ""
    return f"{what}: {list_counts(forgotten.went)}{stayed}"


@click.command("expire")
@click.argument("identifier", metavar="ID", shell_complete=complete_ids)
@time_options
@report_from_graph
def expire_command(graph: MemoryGraph, *, identifier: str, **when: Any) -> None:
    """Have a node be forgotten at a time, with its history and what is its alone; without an option, say when.

    From that time on nothing finds it. It is forgotten with the next read or write, or by purge --expired.
    """
    set_or_show(lambda: graph.expiry(identifier), lambda **times: graph.expire(identifier, **times), **when)


def set_or_show(
    show: Callable[[], Expiry],
    expire: Callable[..., Expiry],
    *,
    at: datetime | None,
    after: timedelta | None,
    never: bool,
) -> None:
    """Have something expire, and say when it does."""
    given = [at is not None, after is not None, never]
    if sum(given) > 1:
        raise click.UsageError("--at, --in and --never exclude each other")
    expiry = expire(at=at, after=after) if any(given) else show()
    output.print_done(expiry.as_dict(), f"{expiry.of} expires: {show_time(expiry.expires_at)}")


def show_time(time: datetime | None) -> str:
    """A time in the zone of this machine, with that, or that there is none."""
    return output.to_local_time(time).isoformat(" ", "seconds") if time else "never"


def report_expired(graph: MemoryGraph, *, dry_run: bool) -> None:
    """Forget what has expired, and say what has."""
    forgotten = graph.purge_expired(dry_run=dry_run)
    output.print_done(forgotten.as_dict(), describe("would be purged" if dry_run else "purged", forgotten))
