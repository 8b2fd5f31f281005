"""The commands `backup` and `restore`, for the graph of the embedded Neo4j."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorygraph.cli.output import Bar, count_progress, json_option, print_json, print_text, say
from memorygraph.cli.server import BarWhenNeeded
from memorygraph.cli.settings import Settings
from memorygraph.errors import MemoryGraphError

if TYPE_CHECKING:
    from memorygraph.server.backup import BackupReport
    from memorygraph.server.embedded import EmbeddedServer

FILE = click.argument("file", type=click.Path(path_type=Path))


@click.command("backup")
@FILE
@click.option("--force", is_flag=True, help="Overwrite FILE if it is there already.")
@json_option
@click.pass_obj
def backup_command(settings: Settings, *, file: Path, force: bool, as_json: bool) -> None:
    """Write the whole graph of the embedded Neo4j into one file: every namespace, messages and history too.

    Neo4j is stopped meanwhile, and started again if it ran. Its password is not in the file.
    """
    from memorygraph.server.backup import backup

    with ExitStack() as shown:
        done = backup(require_embedded(settings), file, overwrite=force, steps=_ShownSteps(shown))
    print_backup(done, "the graph is saved in", as_json=as_json)


@click.command("restore")
@FILE
@click.option("--force", "--yes", is_flag=True, help="Replace the graph that is there, without asking.")
@json_option
@click.pass_obj
def restore_command(settings: Settings, *, file: Path, force: bool, as_json: bool) -> None:
    """Have the graph of a backup in the embedded Neo4j, in place of the one that is there.

    The present graph is kept until Neo4j has started with the new one, and stays if anything fails before.
    """
    from memorygraph.server.backup import holds_graph, restore

    server = require_embedded(settings)
    if not force and not as_json and sys.stdin.isatty() and holds_graph(server):
        force = click.confirm(f"{server.home} holds a graph. Replace it with that of {file}?", err=True)
    with ExitStack() as shown:
        done = restore(server, file, overwrite=force, steps=_ShownSteps(shown), download=BarWhenNeeded(shown))
    print_backup(done, "Neo4j runs with the graph of", as_json=as_json)


class _ShownSteps:
    """Says on stderr which step begins, with a bar where its length is known."""

    def __init__(self, shown: ExitStack) -> None:
        self._shown = shown
        self._title = ""
        self._bar: Bar | None = None
        self._reached = 0

    def begin(self, title: str) -> None:
        """Name the step that begins."""
        self._shown.close()
        self._title, self._bar, self._reached = title, None, 0
        say(f"{title} ...")

    def reach(self, share: float) -> None:
        """Move its bar."""
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = self._shown.enter_context(count_progress(self._title))
            self._bar.total(100)
        reached = int(share * 100)
        self._bar.advance(reached - self._reached)
        self._reached = reached


def require_embedded(settings: Settings) -> EmbeddedServer:
    """The embedded server.

    Raises:
        MemoryGraphError: the settings name another server.
    """
    from memorygraph.server.embedded import EmbeddedServer

    if not settings.embedded:
        raise MemoryGraphError(
            "backup and restore are for the embedded Neo4j, and NEO4J_URI or --uri names another server: use what "
            "that server has for it (`neo4j-admin database dump` and `load`), or leave NEO4J_URI and --uri out"
        )
    return EmbeddedServer()


def print_backup(done: BackupReport, what: str, *, as_json: bool) -> None:
    """Print what was saved or restored."""
    if as_json:
        print_json(asdict(done))
        return
    print_text(f"{what} {done.file}")
    print_text(f"made {done.created_at}, Neo4j {done.neo4j}, {done.bytes:,} bytes; it took {done.elapsed_s:.0f} s")
