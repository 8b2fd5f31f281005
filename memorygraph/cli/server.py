"""The commands for the embedded Neo4j: up, down, status, doctor, browser.

Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from memorygraph.cli.output import bytes_progress, json_option, print_json, say

if TYPE_CHECKING:
    from memorygraph.graph.doctor import Finding
    from memorygraph.graph.embedded import EmbeddedServer, ServerStatus

CANNOT_RUN = 3


@click.command()
@json_option
def up(*, as_json: bool) -> None:
    """Start the embedded Neo4j, and download it first where it is not there yet.

    The server runs until `memorygraph down`, whatever becomes of this terminal.
    """
    _report(start_embedded(), as_json=as_json)


@click.command()
@json_option
def down(*, as_json: bool) -> None:
    """Stop the embedded Neo4j, and wait until it has stopped."""
    stopped = _server().down()
    if as_json:
        print_json({"stopped": stopped})
    else:
        click.echo("Neo4j has stopped" if stopped else "Neo4j was not running")


@click.command()
@json_option
def status(*, as_json: bool) -> None:
    """Say whether the embedded Neo4j runs, and where.

    The password file holds the password and nothing else.
    """
    _report(_server().status(), as_json=as_json)


@click.command()
@json_option
@click.pass_context
def doctor(context: click.Context, *, as_json: bool) -> None:
    """Examine the whole set-up, and say the next step for what is wrong.

    Ends with exit code 3 when something keeps Neo4j from running. What it prints holds no secret.
    """
    from memorygraph.graph.doctor import examine

    findings = examine(_server())
    all_is_well = all(finding.ok for finding in findings)
    if as_json:
        print_json({"ok": all_is_well, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            _print_finding(finding)
    if not all_is_well:
        context.exit(CANNOT_RUN)


@click.command()
@click.option("--open/--no-open", "open_it", default=True, help="Open the address, or only print it.")
@click.option("--show-password", is_flag=True, help="Print the password too.")
@json_option
def browser(*, open_it: bool, show_password: bool, as_json: bool) -> None:
    """Open Neo4j Browser on the embedded Neo4j, and start that first where it does not run.

    Prints the address, the user name and the file that holds the password.
    """
    import webbrowser

    server = _server()
    where = _running(server)
    login = {"url": where.browser_url, "username": where.username, "password_file": where.password_file}
    if show_password:
        login["password"] = server.password()
    if as_json:
        print_json(login)
    else:
        for name, value in login.items():
            click.echo(f"{name.replace('_', ' '):<14}{value}")
    if open_it and not webbrowser.open(where.browser_url or ""):
        say("no web browser could be opened here: open the address yourself")


def start_embedded() -> ServerStatus:
    """Have the embedded server running, for the commands that need it."""
    return _running(_server())


def _server() -> EmbeddedServer:
    from memorygraph.graph.embedded import EmbeddedServer

    return EmbeddedServer()


def _running(server: EmbeddedServer) -> ServerStatus:
    """Have the server running, saying on stderr what takes its time."""
    found = server.status()
    if found.running:
        return found
    say("starting Neo4j ...")
    with ExitStack() as shown:
        return server.up(_BarWhenNeeded(shown))


class _BarWhenNeeded:
    """A progress bar that appears with the first download, and never when there is none."""

    def __init__(self, shown: ExitStack) -> None:
        self._shown = shown

    def total(self, n: int) -> None:
        self._bar = self._shown.enter_context(bytes_progress("downloading Neo4j"))
        self._bar.total(n)

    def advance(self, n: int) -> None:
        self._bar.advance(n)


def _report(found: ServerStatus, *, as_json: bool) -> None:
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


def _print_finding(finding: Finding) -> None:
    mark = click.style("ok   ", fg="green") if finding.ok else click.style("wrong", fg="red")
    click.echo(f"{mark} {finding.name:<14} {finding.detail}")
    if finding.next_step:
        click.echo(f"{'':20} -> {finding.next_step}")
