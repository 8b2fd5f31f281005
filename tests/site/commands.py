"""The reference of the command line, made from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc

import click

from memorygraph.cli import cli
from tests.site.markdown import escape_cell

INTRODUCTION = """\
# Commands

<!-- made by `python -m tests.site` -->

Every command is one call of the [Python client](python.md). Those that report take `--json`, which prints one JSON document on
stdout and nothing else, with null for NaN and infinity; progress and messages go to stderr. The options of the program stand before the command:
`memorygraph --namespace people load world.ctx`. Their defaults are [variables of the environment](environment.md).

Exit codes: 0 done · 1 the script or the request is invalid or refused, and nothing was changed (but by a run, or by files and
batches before it), or a check found something · 2 wrong usage · 3 Neo4j cannot be reached or started · 4 the model endpoint
failed · 130 stopped by Ctrl-C: what was stored by then stays (at a prompt of `repl` and `chat` it is
the end, as Ctrl-D, and 0) · 143 by SIGTERM.
"""

Found = tuple[tuple[str, ...], click.Command, click.Context]


def page() -> str:
    """The page: a table of all commands, and a section for each with all of its options."""
    sections = [_section(*found) for found in find_commands()]
    program = "## Options of the program\n\n" + _options(cli, click.Context(cli))
    return "\n".join([INTRODUCTION, table(), program, *sections])


def find_commands() -> Iterator[Found]:
    """Every command by its path (`messages`, `list`), in the order in which `--help` has them."""
    yield from _below(click.Context(cli), cli, ())


def _below(context: click.Context, command: click.Command, path: tuple[str, ...]) -> Iterator[Found]:
    if not isinstance(command, click.Group):
        yield path, command, context
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from _below(click.Context(found, parent=context, info_name=name), found, (*path, name))


def table() -> str:
    """Every command once: how it is called, and what it does."""
    rows = [
        f"| [`{escape_cell(_usage(path, command, context))}`](#{'-'.join(path)}) | {escape_cell(_first(command))} |"
        for path, command, context in find_commands()
    ]
    return "\n".join(["| Command | What it does |", "|---|---|", *rows]) + "\n"


def _usage(path: tuple[str, ...], command: click.Command, context: click.Context) -> str:
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    return " ".join([*path, *(argument.make_metavar(context) for argument in arguments)])


def _first(command: click.Command) -> str:
    return (command.help or "").partition("\n\n")[0].replace("\n", " ").strip()


def _section(path: tuple[str, ...], command: click.Command, context: click.Context) -> str:
    text = cleandoc(command.help or "").replace("\b\n", "")
    usage = f"```text\nmemorygraph {_usage(path, command, context)}\n```\n"
    return "\n".join([f"## {' '.join(path)}\n", usage, f"{text}\n", _options(command, context)])


def _options(command: click.Command, context: click.Context) -> str:
    """The options of a command as a list; nothing where it has none but `--help`."""
    options = [each for each in command.params if isinstance(each, click.Option) and each.name != "help"]
    lines = [f"- `{_name(context, option)}`: {_explain(option)}" for option in options]
    return "\n".join(lines) + "\n" if lines else ""


def _name(context: click.Context, option: click.Option) -> str:
    names = " / ".join([", ".join(sorted(option.opts, key=len, reverse=True)), *option.secondary_opts])
    return names if option.is_flag else f"{names} {option.make_metavar(context)}"


def _explain(option: click.Option) -> str:
    said = [f"{option.help}".rstrip(".") + "."]
    if isinstance(option.default, (str, int, float)) and option.default != "" and not option.is_flag:
        said.append(f"Default: `{option.default}`.")
    if option.multiple:
        said.append("It may be given repeatedly.")
    if isinstance(option.envvar, str):
        said.append(f"Or `{option.envvar}`.")
    return " ".join(said)
