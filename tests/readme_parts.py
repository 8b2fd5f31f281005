"""What the README shows of the code, made from the code: the table of commands, and the picture of the modules.

    python -m tests.readme_parts    # writes both anew

A test fails when they are not what they would be.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click

from memorygraph.cli import cli
from tests.modules import PACKAGE, imports_between_parts

README = Path(__file__).parent.parent / "README.md"
BEGIN = "<!-- {}: made by `python -m tests.readme_parts` -->\n"
END = "<!-- the end of the {} -->\n"
EVERYWHERE = {
    "errors",
    "codes",
    "bearer_tokens",
    "query",
    "budget",
    "limits",
    "home",
    "scripts",
    "__init__",
    "__main__",
}  # small values that all parts may know


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


def modules() -> str:
    """The parts of the package: what they import, without what follows from the rest, and what they say they are."""
    parts = {part: of - EVERYWHERE for part, of in imports_between_parts().items() if part not in EVERYWHERE}

    def reached(part: str) -> set[str]:
        return parts[part].union(*(reached(other) for other in parts[part]))

    order = sorted(parts, key=lambda part: (-len(reached(part)), part))
    arrows = [
        f"    {part} --> {other}"
        for part in order
        for other in sorted(parts[part])
        if not any(other in reached(between) for between in parts[part] - {other})
    ]
    drawing = ["```mermaid", "flowchart LR", *arrows, "```", ""]
    rows = [f"| [{part}]({_file(part)}) | {_first_sentence(part)} |" for part in order]
    return "\n".join([*drawing, "| Part | What it is |", "|---|---|", *rows]) + "\n"


def _file(part: str) -> str:
    return f"memorygraph/{part}" if (PACKAGE / part).is_dir() else f"memorygraph/{part}.py"


def _first_sentence(part: str) -> str:
    said = import_module(f"memorygraph.{part}").__doc__ or ""
    return _escaped(said.partition("\n\n")[0].replace("\n", " "))


def renewed(readme: str) -> str:
    """The README with its made parts as they should be."""
    for name, make in {"commands": table, "modules": modules}.items():
        before, begin, rest = readme.partition(BEGIN.format(name))
        _, end, after = rest.partition(END.format(name))
        assert begin, name
        assert end, name
        readme = before + begin + "\n" + make() + "\n" + end + after
    return readme


if __name__ == "__main__":
    README.write_text(renewed(README.read_text("utf-8")), "utf-8")
