"""The command group `programs`: what `load` has stored to be run by its name."""

from __future__ import annotations

import click

from memorygraph.cli.output import json_option, print_json, print_table, print_text, say
from memorygraph.cli.settings import Settings


@click.group("programs")
def programs_command() -> None:
    """List, show or forget stored programs; `run --stored NAME` runs one."""


@programs_command.command("list")
@json_option
@click.pass_obj
def list_programs_command(settings: Settings, *, as_json: bool) -> None:
    """Show every stored program: its name, its language, and when it was loaded."""
    with settings.connect() as graph:
        found = graph.programs()
    if as_json:
        print_json([program.as_dict() for program in found])
    else:
        print_table(
            ("name", "language", "file", "loaded at"), [(p.name, p.language, p.file, p.loaded_at) for p in found]
        )


@programs_command.command("show")
@click.argument("name")
@json_option
@click.pass_obj
def show_programs_command(settings: Settings, *, name: str, as_json: bool) -> None:
    """Print the source of a stored program."""
    with settings.connect() as graph:
        source = graph.program(name).source.text
    if as_json:
        print_json({"name": name, "source": source})
    else:
        print_text(source, nl=not source.endswith("\n"))


@programs_command.command("forget")
@click.argument("name")
@json_option
@click.pass_obj
def forget_programs_command(settings: Settings, *, name: str, as_json: bool) -> None:
    """Let a program be run by its name no longer; the records of its runs stay."""
    with settings.connect() as graph:
        graph.forget_program(name)
    if as_json:
        print_json({"forgotten": name})
    else:
        say(f"forgot the program {name}")
