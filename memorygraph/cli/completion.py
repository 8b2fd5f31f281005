"""The command `completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
VARIABLE = "_MEMORYGRAPH_COMPLETE"  # as click spells it for the program `memorygraph`


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion_command(ctx: click.Context, *, shell: str) -> None:
    r"""Print what completes commands, options and files in a shell, for its start file.

    \b
    bash   memorygraph completion bash >> ~/.bashrc
    zsh    memorygraph completion zsh >> ~/.zshrc
    fish   memorygraph completion fish > ~/.config/fish/completions/memorygraph.fish
    """
    click.echo(SHELLS[shell](ctx.find_root().command, {}, "memorygraph", VARIABLE).source())
