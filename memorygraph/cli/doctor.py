"""The command `doctor`."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict

import click

from memorygraph.cli.output import json_option, plain, print_json
from memorygraph.cli.settings import Settings

CANNOT_RUN = 3
NO_MODEL = 4


@click.command("doctor")
@json_option
@click.pass_context
def doctor_command(context: click.Context, *, as_json: bool) -> None:
    """Examine the whole set-up, and say the next step for what is wrong.

    Ends with exit code 3 when something keeps Neo4j from running, and with 4 when only the model endpoint fails. What
    it prints holds no secret, and is good to have in a report of a problem.
    """
    from memorygraph.client import login
    from memorygraph.memory.doctor import examine_models
    from memorygraph.server.doctor import Database, examine
    from memorygraph.server.embedded import EmbeddedServer
    from memorygraph.server.findings import known_secrets

    settings: Settings = context.obj
    server = EmbeddedServer()
    embedded_password = None
    with suppress(OSError):
        embedded_password = server.password_file.read_text("utf-8", "replace")
    secrets = known_secrets({**os.environ, "--uri": settings.uri or ""}, settings.password, embedded_password)
    database = None
    if uri := settings.named_uri:
        name = settings.database or os.environ.get("NEO4J_DATABASE")
        database = Database(uri, login(settings.user, settings.password), name)
    found = [finding.without(secrets) for finding in examine(server, database)]
    models = [finding.without(secrets) for finding in examine_models()]
    if as_json:
        all_is_well = all(finding.ok for finding in found + models)
        print_json({"ok": all_is_well, "findings": [asdict(finding) for finding in found + models]})
    else:
        for finding in found + models:
            mark = click.style("ok   ", fg="green") if finding.ok else click.style("wrong", fg="red")
            click.echo(f"{mark} {finding.name:<15} {plain(finding.detail)}")
            if finding.next_step:
                click.echo(f"{'':21} -> {plain(finding.next_step)}")
    if not all(finding.ok for finding in found):
        context.exit(CANNOT_RUN)
    if not all(finding.ok for finding in models):
        context.exit(NO_MODEL)
