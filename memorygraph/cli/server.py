"""The commands for the embedded Neo4j: up, down, status, browser.

Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from memorygraph.cli.output import bytes_progress, json_option, print_json, print_table, say

if TYPE_CHECKING:
    from memorygraph.cli.settings import Settings
    from memorygraph.server.embedded import EmbeddedServer, ServerStatus


@click.command("up")
@json_option
def up_command(*, as_json: bool) -> None:
    """Start the embedded Neo4j, and download it first where it is not there yet.

    The server runs until `memorygraph down`, whatever becomes of this terminal.
    """
    print_status(start_embedded(), as_json=as_json)


@click.command("down")
@json_option
def down_command(*, as_json: bool) -> None:
    """Stop the embedded Neo4j, and wait until it has stopped."""
    from memorygraph.server.embedded import EmbeddedServer

    stopped = EmbeddedServer().down()
    if as_json:
        print_json({"stopped": stopped})
    else:
        click.echo("Neo4j has stopped" if stopped else "Neo4j was not running")


@click.command("status")
@json_option
def status_command(*, as_json: bool) -> None:
    """Say whether the embedded Neo4j runs, and where.

    The password file holds the password and nothing else.
    """
    from memorygraph.server.embedded import EmbeddedServer

    print_status(EmbeddedServer().status(), as_json=as_json)


@click.command("browser")
@click.argument("saved_query", metavar="[QUERY]", required=False)
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="For the saved query.")
@click.option("--queries", is_flag=True, help="List the saved queries, and open nothing.")
@click.option("--open/--no-open", "open_it", default=True, help="Open the address, or only print it.")
@click.option("--show-password", is_flag=True, help="Print the password too.")
@json_option
@click.pass_obj
def browser_command(
    settings: Settings,
    saved_query: str | None,
    parameters: tuple[str, ...],
    *,
    queries: bool,
    open_it: bool,
    show_password: bool,
    as_json: bool,
) -> None:
    """Open Neo4j Browser on the embedded Neo4j, and start that first where it does not run.

    With the name of a saved query Browser opens with that query, ready to run. Prints the address, the user name and
    the file that holds the password.
    """
    import webbrowser

    from memorygraph.server.embedded import EmbeddedServer

    if queries:
        print_saved_queries(as_json=as_json)
        return
    query = saved_query_address(saved_query, parameters, settings)
    server = EmbeddedServer()
    where = start_if_stopped(server)
    url = f"{where.browser_url}{query}"
    login = {"url": url, "username": where.username, "password_file": where.password_file}
    if show_password:
        login["password"] = server.password()
    if as_json:
        print_json(login)
    else:
        for name, value in login.items():
            click.echo(f"{name.replace('_', ' '):<14}{value}")
    if open_it and not webbrowser.open(url):
        say("no web browser could be opened here: open the address yourself")


def print_saved_queries(*, as_json: bool) -> None:
    """Print every saved query with its parameters."""
    from memorygraph.server.browser import saved_queries

    found = [(name, saved.about, sorted(saved.needs)) for name, saved in saved_queries().items()]
    if as_json:
        print_json([{"name": name, "about": about, "parameters": needs} for name, about, needs in found])
    else:
        print_table(
            ["name", "what it shows", "parameters"], ([n, about, ", ".join(needs)] for n, about, needs in found)
        )


def saved_query_address(name: str | None, parameters: tuple[str, ...], settings: Settings) -> str:
    """The part of Browser's address that fills its editor with a saved query.

    Raises:
        click.UsageError: there is no such query, or its parameters are wrong. Nothing was started.
    """
    from memorygraph.cli.read import parameter
    from memorygraph.client import chosen_namespace
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


def start_embedded() -> ServerStatus:
    """Have the embedded server running, for the commands that need it."""
    from memorygraph.server.embedded import EmbeddedServer

    return start_if_stopped(EmbeddedServer())


def start_if_stopped(server: EmbeddedServer) -> ServerStatus:
    """Have the server running, saying on stderr what takes its time."""
    found = server.status()
    if found.running:
        return found
    say("starting Neo4j ...")
    with ExitStack() as shown:
        return server.up(BarWhenNeeded(shown))


class BarWhenNeeded:
    """A progress bar that appears with the first download, and never without a download."""

    def __init__(self, shown: ExitStack) -> None:
        self._shown = shown

    def total(self, n: int) -> None:
        """How many bytes will come."""
        self._bar = self._shown.enter_context(bytes_progress("downloading Neo4j"))
        self._bar.total(n)

    def advance(self, n: int) -> None:
        """So many more are here."""
        self._bar.advance(n)


def print_status(found: ServerStatus, *, as_json: bool) -> None:
    """Print whether the embedded server runs, and where."""
    if as_json:
        print_json(asdict(found))
        return
    if not found.running:
        click.echo(f"Neo4j {found.version} does not run; `memorygraph up` starts it")
    else:
        click.echo(f"Neo4j {found.version} runs at {found.bolt_uri}")
        click.echo(f"browser   {found.browser_url}")
        click.echo(f"user      {found.username}, the password is in {found.password_file}")
    click.echo(f"home      {found.home}")
