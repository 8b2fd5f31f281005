"""The command `completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

VARIABLE = "_MEMORYGRAPH_COMPLETE"  # as click spells it for the program `memorygraph`


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, *, shell: str) -> None:
    r"""Print what completes commands, options and files in a shell, for its start file.

    \b
    bash   memorygraph completion bash >> ~/.bashrc
    zsh    memorygraph completion zsh >> ~/.zshrc
    fish   memorygraph completion fish > ~/.config/fish/completions/memorygraph.fish
    """
    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    click.echo(completion(ctx.find_root().command, {}, "memorygraph", VARIABLE).source())
