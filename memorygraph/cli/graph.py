"""The command `graph`."""

from __future__ import annotations

from pathlib import Path

import click

from memorygraph.cli.output import json_option, print_json, print_text, say
from memorygraph.cli.settings import Settings
from memorygraph.errors import MemoryGraphError, ScriptError
from memorygraph.languages import parse
from memorygraph.scripts import read_script


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--format", "format_", type=click.Choice(["mermaid", "svg"]), default="mermaid", show_default=True)
@click.option("--run", "run_", metavar="RUN", help="Draw the path of this run on it.")
@click.option("--output", "-o", metavar="FILE", help="Write it there instead of printing it.")
@json_option
@click.pass_obj
def graph(settings: Settings, *, file: str, format_: str, run_: str | None, output: str | None, as_json: bool) -> None:
    """Draw the node graph of a Convo-Lang file, with the path of a run on it when one is given."""
    from memorygraph.runtime.convo.picture import draw

    program = parse(read_script(file), "convo", file=file)
    if program.problems:
        raise ScriptError(list(program.problems))
    path: list[str] = []
    exited = False
    if run_ is not None:
        from memorygraph.runtime.convo.store import find_run

        with settings.connect() as client:
            kept = find_run(client.scope, run_)
        path = [step.node for step in kept.steps if not step.branch]
        exited = kept.status == "done"
    picture = draw(program, format_, path, exited=exited)
    if output is not None:
        try:
            Path(output).write_text(picture + "\n", "utf-8")
        except OSError as error:
            raise MemoryGraphError(f"the picture cannot be written to {output}: {error.strerror}") from error
        say(f"written to {output}")
    if as_json:
        print_json({"format": format_, "picture": picture, "path": path, "errors": []})
    elif output is None:
        print_text(picture)
