"""The command `doctor`."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from memorygraph.cli.output import json_option, plain, print_json
from memorygraph.cli.settings import Settings

if TYPE_CHECKING:
    from memorygraph.server.database_doctor import Database
    from memorygraph.server.embedded import EmbeddedServer
    from memorygraph.server.findings import Diagnosis

CANNOT_RUN = 3
NO_MODEL = 4


@click.command()
@json_option
@click.pass_context
def doctor(context: click.Context, *, as_json: bool) -> None:
    """Examine the whole set-up, and say the next step for what is wrong.

    Ends with exit code 3 when something keeps Neo4j from running, and with 4 when only the model endpoint fails. What
    it prints holds no secret, and is good to have in a report of a problem.
    """
    from memorygraph.memory.doctor import examine_models
    from memorygraph.server.doctor import examine
    from memorygraph.server.embedded import EmbeddedServer
    from memorygraph.server.findings import known_secrets

    settings: Settings = context.obj
    server = EmbeddedServer()
    secrets = known_secrets({**os.environ, "--uri": settings.uri or ""}, settings.password, _password(server))
    found = [finding.without(secrets) for finding in examine(server, _database(settings))]
    models = [finding.without(secrets) for finding in examine_models()]
    if as_json:
        all_is_well = all(finding.ok for finding in found + models)
        print_json({"ok": all_is_well, "findings": [asdict(finding) for finding in found + models]})
    else:
        for finding in found + models:
            _print(finding)
    if not all(finding.ok for finding in found):
        context.exit(CANNOT_RUN)
    if not all(finding.ok for finding in models):
        context.exit(NO_MODEL)


def _database(settings: Settings) -> Database | None:
    from memorygraph.client import login
    from memorygraph.server.database_doctor import Database

    uri = settings.named_uri
    name = settings.database or os.environ.get("NEO4J_DATABASE")
    return Database(uri, login(settings.user, settings.password), name) if uri else None


def _password(server: EmbeddedServer) -> str | None:
    try:
        return server.password_file.read_text("utf-8", "replace")
    except OSError:
        return None


def _print(finding: Diagnosis) -> None:
    mark = click.style("ok   ", fg="green") if finding.ok else click.style("wrong", fg="red")
    click.echo(f"{mark} {finding.name:<15} {plain(finding.detail)}")
    if finding.next_step:
        click.echo(f"{'':21} -> {plain(finding.next_step)}")
