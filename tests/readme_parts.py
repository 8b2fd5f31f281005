"""What the README shows of the code, made from the code: the table of commands, and the picture of the modules.

    python -m tests.readme_parts    # writes both anew

A test fails when they are not what they would be.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from memorygraph.cli import cli
from tests.site.modules import diagram

README = Path(__file__).parent.parent / "README.md"
BEGIN = "<!-- {}: made by `python -m tests.readme_parts` -->\n"
END = "<!-- the end of the {} -->\n"


def table() -> str:
    """Every command once: how it is called, what it does, and its options but for `--json` and `--help`."""
    rows = [f"| `{_escaped(usage)}` | {_escaped(text)} |" for usage, text in _commands(click.Context(cli), cli, ())]
    return "\n".join(["| Command | What it does |", "|---|---|", *rows]) + "\n"


def _commands(parent: click.Context, command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(parent):
            found = command.get_command(parent, name)
            assert found is not None
            yield from _commands(click.Context(found, parent=parent, info_name=name), found, (*path, name))
        return
    arguments = [parameter for parameter in command.params if isinstance(parameter, click.Argument)]
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    usage = " ".join([*path, *(argument.make_metavar(parent) for argument in arguments)])
    said = (command.help or "").partition("\n\n")[0].replace("\n", " ").strip()
    shown = ", ".join(f"`{_option(parent, option)}`" for option in options if option.name not in {"as_json", "help"})
    yield usage, said + (f" {shown}" if shown else "")


def _option(context: click.Context, option: click.Option) -> str:
    name = max(option.opts, key=len)
    return name if option.is_flag else f"{name} {option.make_metavar(context)}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def renewed(readme: str) -> str:
    """The README with its made parts as they should be."""
    for name, make in {"commands": table, "modules": diagram}.items():
        before, begin, rest = readme.partition(BEGIN.format(name))
        _, end, after = rest.partition(END.format(name))
        assert begin, name
        assert end, name
        readme = before + begin + "\n" + make() + "\n" + end + after
    return readme


if __name__ == "__main__":
    README.write_text(renewed(README.read_text("utf-8")), "utf-8")
