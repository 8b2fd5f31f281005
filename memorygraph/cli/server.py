"""The commands for the embedded Neo4j: `up down status doctor browser backup restore`.

Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorygraph.cli import output
from memorygraph.cli.completion import complete_saved_queries
from memorygraph.cli.stopping import explaining_stop
from memorygraph.ending import interrupting_on_sigterm
from memorygraph.errors import ConnectionError, MemoryGraphError, ModelError

if TYPE_CHECKING:
    from memorygraph.cli.settings import Settings
    from memorygraph.server.backup import BackupReport
    from memorygraph.server.embedded import EmbeddedServer, ServerStatus
    from memorygraph.server.findings import Diagnosis

MAX_WAIT_FOR_CACHE_S = 60.0
STARTING = "starting Neo4j ..."


@click.command("up")
@output.json_option
@click.pass_obj
def up_command(settings: Settings) -> None:
    """Start the embedded Neo4j, and download it first where it is not there yet.

    The server runs until `memorygraph down`, whatever becomes of this terminal.
    """
    if settings.named_uri:
        from memorygraph.runtime.imports import redact_uri

        other = redact_uri(settings.named_uri)
        output.say(
            f"warning: commands use {other}, which NEO4J_URI or --uri names: leave it out to use the embedded Neo4j"
        )
    print_status(start_embedded())


@click.command("down")
@output.json_option
def down_command() -> None:
    """Stop the embedded Neo4j, and wait until it has stopped.

    Where its start cache is not made yet, this waits for that too, for a minute at most: the next start is quick then.
    """
    server = embedded_server()
    stopped = server.down()
    if stopped:
        finish_start_cache(server)
    if output.wants_json():
        output.print_json({"stopped": stopped})
    else:
        output.print_text("Neo4j has stopped" if stopped else "Neo4j was not running")


def finish_start_cache(server: EmbeddedServer) -> None:
    """Wait for a start cache that is not made yet, unless it is switched off; an interrupt ends only the waiting."""
    from memorygraph.server.aot_cache import is_switched_on

    if not is_switched_on() or (cache := server.start_cache()) is None or cache.exists():
        return
    if cache.is_being_made() or cache.can_be_made():
        output.say("Neo4j has stopped. Its start cache is being made, once, so that the next start is twice as quick")
        try:
            if cache.await_made(MAX_WAIT_FOR_CACHE_S):
                return
        except KeyboardInterrupt:
            output.say("the start cache is made in the background")
            return
    output.say(f"the start cache is not there yet: {cache.why_missing()}")


@click.command("status")
@output.json_option
@click.pass_obj
def status_command(settings: Settings) -> None:
    """Say whether the embedded Neo4j runs, and where.

    The password file holds the password and nothing else. Where a server is named, such as by NEO4J_URI, it says who
    answers there: of a cluster, which members; also where the home cannot be used.
    """
    named = find_named_server(settings)
    server = embedded_server()
    try:
        exists, where = server.describe_start_cache()
        print_status(server.status(), where if exists else f"none: {where}", named)
    except ConnectionError as error:
        if named is None:
            raise
        from memorygraph.server.embedded import describe_server
        from memorygraph.server.server_home import ServerHome

        print_status(describe_server(ServerHome(server.home), problem=str(error)), named=named)


def find_named_server(settings: Settings) -> dict[str, str | None] | None:
    """Find who answers at the server that is named, or why nobody does; None where none is named."""
    from memorygraph.client import login
    from memorygraph.graph.connection import Connection
    from memorygraph.runtime.imports import redact_uri

    uri = settings.named_uri
    if uri is None:
        return None
    found: dict[str, str | None] = {"uri": redact_uri(uri), "problem": None}
    try:
        with Connection(uri, login(settings.user, settings.password), settings.named_database) as connection:
            return {**found, **connection.find_answering()._asdict()}
    except MemoryGraphError as error:
        return {**found, "problem": str(error)}


@click.command("doctor")
@click.option("--graph", "graph", is_flag=True, help="Examine what is stored, and not the set-up.")
@click.option("--fix", is_flag=True, help="With --graph: remove leftovers, and have searches find all nodes.")
@output.json_option
@click.pass_context
def doctor_command(context: click.Context, *, graph: bool, fix: bool) -> None:
    """Examine the whole set-up, and say the next step for what is wrong.

    Ends with exit code 3 when something keeps Neo4j from running, and with 4 when only the model endpoint fails. What
    it prints holds no secret, and is good to have in a report of a problem.

    With --graph it examines what is stored, in all namespaces or in that of -n or MEMORYGRAPH_NAMESPACE, for what raw
    Cypher or earlier versions have broken, says how each is mended, and ends with exit code 1 if there is any.
    """
    if fix and not graph:
        raise click.UsageError("--fix goes with --graph")
    if graph:
        if not examine_stored(context.obj, fix=fix):
            context.exit(MemoryGraphError.exit_code)
        return
    from memorygraph.client import login
    from memorygraph.memory.doctor import examine_models
    from memorygraph.server.doctor import Database, examine
    from memorygraph.server.findings import known_secrets

    settings: Settings = context.obj
    server = embedded_server()
    embedded_password = None
    with suppress(ConnectionError):
        embedded_password = server.password()
    secrets = known_secrets({**os.environ, "--uri": settings.uri or ""}, settings.password, embedded_password)
    database = None
    if uri := settings.named_uri:
        database = Database(uri, login(settings.user, settings.password), settings.named_database)
    found = [finding.without(secrets) for finding in examine(server, database, settings.named_database)]
    models = [finding.without(secrets) for finding in examine_models()]
    if output.wants_json():
        all_is_well = all(finding.ok for finding in found + models)
        output.print_json({"ok": all_is_well, "findings": [asdict(finding) for finding in found + models]})
    else:
        for finding in found + models:
            with output.explaining_full_stdout():  # the mark has a colour on a terminal alone
                click.echo(f"{mark_of(finding)} {finding.name:<15} {output.plain(finding.detail)}")
            if finding.next_step:
                output.print_text(f"{'':21} -> {output.plain(finding.next_step)}")
    if not all(finding.ok for finding in found):
        context.exit(ConnectionError.exit_code)
    if not all(finding.ok for finding in models):
        context.exit(ModelError.exit_code)


def mark_of(finding: Diagnosis) -> str:
    """Return the coloured word at the beginning of a finding's line."""
    if finding.warning:
        return click.style("warn ", fg="yellow")
    return click.style("ok   ", fg="green") if finding.ok else click.style("wrong", fg="red")


def examine_stored(settings: Settings, *, fix: bool) -> bool:
    """Print which rules of every stored graph are broken, and return whether there are none."""
    everywhere = not (settings.namespace or os.environ.get("MEMORYGRAPH_NAMESPACE"))
    with settings.connect() as graph:
        mended = graph.mend(everywhere=everywhere) if fix else None
        broken = graph.broken_invariants(everywhere=everywhere)
    if output.wants_json():
        document = {"ok": not broken, "findings": [each.as_dict() for each in broken]}
        output.print_json(document if mended is None else {**document, "mended": mended.as_dict()})
        return not broken
    if mended is not None:
        for report in mended.removed:
            undo = f"`memorygraph -n {shlex.quote(report.namespace)} undo {report.revision}` brings them back"
            output.say(f"removed {report.nodes_deleted} leftovers of namespace {report.namespace}: {undo}")
        output.say(f"a search finds {mended.indexed} more nodes")
    for each in broken:
        output.print_text(
            f"{each.name}: {each.rule}, and {each.count} {'does' if each.count == 1 else 'do'} not hold to it"
        )
        for example in each.examples:
            output.print_text(f"    {example}")
        if each.count > len(each.examples):
            output.print_text(f"    and {each.count - len(each.examples)} more")
        output.print_text(f"    -> {each.mend}")
    if not broken:
        output.print_text("every rule of the graph holds")
    return not broken


@click.command("browser")
@click.argument("saved_query", metavar="[QUERY]", required=False, shell_complete=complete_saved_queries)
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="For the saved query.")
@click.option("--queries", is_flag=True, help="List the saved queries, and open nothing.")
@click.option(
    "--open/--no-open", "open_it", default=True, show_default=False, help="Open the address, or only print it."
)
@click.option("--show-password", is_flag=True, help="Print the password too.")
@output.json_option
@click.pass_obj
def browser_command(
    settings: Settings,
    saved_query: str | None,
    parameters: tuple[str, ...],
    *,
    queries: bool,
    open_it: bool,
    show_password: bool,
) -> None:
    """Open Neo4j Browser on the embedded Neo4j, and start that first where it does not run.

    With the name of a saved query Browser opens with that query, ready to run. Prints the address, the user name and
    the file that holds the password.
    """
    import webbrowser

    if queries:
        print_saved_queries()
        return
    query = saved_query_address(saved_query, parameters, settings)
    server = require_embedded(
        settings,
        "`browser` opens that of",
        "open Neo4j Browser at that server yourself (one of your own has it at port 7474; a hosted one says where)",
    )
    where = start_embedded(server)
    url = f"{where.browser_url}{query}"
    login = {"url": url, "username": where.username, "password_file": where.password_file}
    if show_password:
        login["password"] = server.password()
    if output.wants_json():
        output.print_json(login)
    else:
        for name, value in login.items():
            output.print_text(f"{name.replace('_', ' '):<14}{value}")
    if open_it and not webbrowser.open(url):
        output.say("no web browser could be opened here: open the address yourself")


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path), callback=output.refuse_dash)
@click.option("--force", is_flag=True, help="Overwrite FILE if it is there already.")
@output.json_option
@click.pass_obj
def backup_command(settings: Settings, *, file: Path, force: bool) -> None:
    """Write the whole graph of the embedded Neo4j into one file: every namespace, messages and history too.

    Neo4j is stopped meanwhile, and started again if it ran. Its password is not in the file.
    """
    from memorygraph.server.backup import backup

    server = require_embedded(settings)
    with saying_what_is_there(server, file, f"{file} is written", f"{file} is not written"), ExitStack() as shown:
        done = backup(server, file, overwrite=force, steps=ShownSteps(shown))
    print_backup(done, "the graph is saved in")


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", "--yes", is_flag=True, help="Replace the graph that is there, without asking.")
@output.json_option
@click.pass_obj
def restore_command(settings: Settings, *, file: Path, force: bool) -> None:
    """Have the graph of a backup in the embedded Neo4j, in place of the one that is there.

    The present graph is kept until Neo4j has started with the new one, and stays if anything fails before.
    """
    from memorygraph.server.backup import holds_graph, restore

    server = require_embedded(settings)
    if not force and not output.wants_json() and sys.stdin.isatty() and holds_graph(server):
        output.confirm(f"{server.home} holds a graph. Replace it with that of {file}?")
        force = True
    new, former = f"Neo4j has the graph of {file}", "the former graph stays"
    with saying_what_is_there(server, server.home / "data", new, former), ExitStack() as shown:
        done = restore(server, file, overwrite=force, steps=ShownSteps(shown), download=BarWhenNeeded(shown))
    print_backup(done, "Neo4j runs with the graph of")


def embedded_server() -> EmbeddedServer:
    """The embedded server of this user's home, running or not."""
    from memorygraph.server.embedded import EmbeddedServer

    return EmbeddedServer()


def require_embedded(
    settings: Settings,
    commands: str = "backup and restore are for",
    instead: str = "use what that server has for it (`neo4j-admin database dump` and `load`)",
) -> EmbeddedServer:
    """The embedded server, where the settings name no other one; the error says what to do `instead`."""
    if not settings.embedded:
        raise MemoryGraphError(
            f"{commands} the embedded Neo4j, and NEO4J_URI or --uri names another server: {instead}, or leave "
            "NEO4J_URI and --uri out"
        )
    return embedded_server()


@contextmanager
def saying_what_is_there(server: EmbeddedServer, path: Path, new: str, former: str) -> Iterator[None]:
    """Have Ctrl-C and SIGTERM stop the block, and say what is there: `new` where `path` has been replaced, or `former`.

    The block puts Neo4j back first, and whether that runs is said too.
    """
    from memorygraph.home import expand_user

    path = expand_user(path)

    def identify() -> tuple[int, int] | None:
        with suppress(OSError):
            found = path.stat()
            return found.st_dev, found.st_ino
        return None

    def explain(_: KeyboardInterrupt) -> str:
        runs = "Neo4j runs" if server.lives() else "Neo4j does not run; `memorygraph up` starts it"
        return f"{former if identify() == before else new}; {runs}"

    before = identify()
    with explaining_stop(explain), interrupting_on_sigterm():
        yield


def print_backup(done: BackupReport, what: str) -> None:
    """Print what was saved or restored."""
    if output.wants_json():
        output.print_json(asdict(done))
        return
    output.print_text(f"{what} {done.file}")
    output.print_text(
        f"made {done.created_at}, Neo4j {done.neo4j}, {done.bytes:,} bytes; it took {done.elapsed_s:.0f} s"
    )


class ShownSteps:
    """Says on stderr which step begins, with a bar where its length is known."""

    def __init__(self, shown: ExitStack) -> None:
        self._shown = shown
        self._title = ""
        self._bar: output.Bar | None = None
        self._reached = 0

    def begin(self, title: str) -> None:
        """Name the step that begins."""
        self._shown.close()
        self._title, self._bar, self._reached = title, None, 0
        output.say(f"{title} ...")

    def reach(self, share: float) -> None:
        """Move its bar."""
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = self._shown.enter_context(output.progress_bar(self._title))
            self._bar.total(100)
        reached = int(share * 100)
        self._bar.advance(reached - self._reached)
        self._reached = reached


def print_saved_queries() -> None:
    """Print every saved query with its parameters."""
    from memorygraph.server.browser import saved_queries

    found = [(name, saved.about, sorted(saved.needs)) for name, saved in saved_queries().items()]
    if output.wants_json():
        output.print_json([{"name": name, "about": about, "parameters": needs} for name, about, needs in found])
    else:
        output.print_table(
            ["name", "what it shows", "parameters"], ([n, about, ", ".join(needs)] for n, about, needs in found)
        )


def saved_query_address(name: str | None, parameters: tuple[str, ...], settings: Settings) -> str:
    """The part of Browser's address that fills its editor with a saved query."""
    from memorygraph.cli.graph import parameter
    from memorygraph.home import chosen_namespace
    from memorygraph.server.browser import saved_queries

    values = dict(map(parameter, parameters))
    if name is None:
        if values:
            raise click.UsageError("-p needs a saved query; `memorygraph browser --queries` lists them")
        return ""
    query = saved_queries().get(name)
    if query is None:
        raise click.UsageError(f"no saved query is named {name!r}; `memorygraph browser --queries` lists them")
    if wrong := sorted(query.needs.symmetric_difference(values)):
        takes = ", ".join(sorted(query.needs)) or "no parameters"
        raise click.UsageError(f"{name} takes {takes}; wrong or missing: {', '.join(wrong)}")
    return query.address({"namespace": chosen_namespace(settings.namespace), **values})


def start_embedded(server: EmbeddedServer | None = None) -> ServerStatus:
    """Have the embedded server running, saying on stderr what takes its time."""
    server = server or embedded_server()
    found = server.status()
    if found.running:
        return found
    from memorygraph.server.installation import is_complete
    from memorygraph.server.launch import SILENT

    if found.problem == SILENT:
        output.say("waiting for Neo4j, which does not answer yet ...")
    else:
        output.say(STARTING if is_complete(server.artifacts) else "downloading Neo4j ...")
    with ExitStack() as shown:
        return server.up(BarWhenNeeded(shown, afterwards=STARTING))


class BarWhenNeeded:
    """A progress bar that appears with the first download, and never without a download.

    It goes with the last byte, and what happens `afterwards` is said: nothing stands at 100 % meanwhile.
    """

    def __init__(self, shown: ExitStack, *, afterwards: str = "") -> None:
        self._shown = shown
        self._afterwards = afterwards
        self._total = self._reached = 0

    def total(self, n: int) -> None:
        """How many bytes will come."""
        self._total, self._reached = n, 0
        self._open()

    def advance(self, n: int) -> None:
        """So many more are here."""
        was_complete = self._reached >= self._total
        self._reached += n
        if was_complete and n < 0:  # the last file was not the pinned one, and comes again
            self._open()
        else:
            self._bar.advance(n)
        if self._reached >= self._total:
            self._opened.close()
            if self._afterwards:
                output.say(self._afterwards)

    def _open(self) -> None:
        self._opened = self._shown.enter_context(ExitStack())
        self._bar = self._opened.enter_context(output.progress_bar("downloading Neo4j", in_bytes=True))
        self._bar.total(self._total)
        self._bar.advance(self._reached)


def print_status(
    found: ServerStatus, start_cache: str | None = None, named: dict[str, str | None] | None = None
) -> None:
    """Print whether the embedded server runs, and where, and who answers where a server is named."""
    if output.wants_json():
        others = {"start_cache": start_cache, "server": named}
        output.print_json(asdict(found) | {name: value for name, value in others.items() if value})
        return
    if named and named["problem"]:
        output.print_text(f"{named['uri']}: {named['problem']}")
    elif named:
        output.print_text(f"{named['uri']}: {named['agent']}")
        output.print_text(f"reads are answered by {named['reads']}, writes are answered by {named['writes']}")
    if not found.running:
        output.print_text(found.problem or f"Neo4j {found.version} does not run; `memorygraph up` starts it")
    else:
        output.print_text(f"Neo4j {found.version} runs at {found.bolt_uri}")
        output.print_text(f"browser   {found.browser_url}")
        output.print_text(f"user      {found.username}, the password is in {found.password_file}")
    output.print_text(f"home      {found.home}")
    if start_cache:
        output.print_text(f"cache     {start_cache}")
