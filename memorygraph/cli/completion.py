"""The command `completion`: what a shell needs to complete commands and options, files, and names of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete

from memorygraph.cli import output
from memorygraph.cli.settings import Settings
from memorygraph.errors import MemoryGraphError

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
VARIABLE = "_MEMORYGRAPH_COMPLETE"  # as click spells it for the program `memorygraph`
MAX_OFFERED = 100  # names: a shell asks before it lists more

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""What click asks for an argument: with its context and what is typed of it."""


def complete_from_graph(find: Callable[[MemoryGraph, str], Iterable[str]]) -> Completer:
    """Offer the names in the graph that begin with what is typed; nothing where no server runs, as none is started."""

    def offer(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
        given = ctx.find_root().params
        settings = Settings(**{name: given.get(name) for name in Settings._fields})
        # What goes wrong must not be written into the line that somebody types.
        with suppress(MemoryGraphError):
            if not settings.is_gone():
                with settings.connect() as graph:
                    return [CompletionItem(name) for name in find(graph, typed) if name.startswith(typed)]
        return []

    return offer


def find_conversations(graph: MemoryGraph, typed: str) -> list[str]:
    """The conversation of this name, and those that follow: what begins with the text stands first among these."""
    exact = [typed] if typed and graph.messages(typed).stored else []
    return [*exact, *(each.name for each in graph.conversations(MAX_OFFERED, after=typed))]


complete_ids = complete_from_graph(lambda graph, typed: graph.ids(typed, MAX_OFFERED))
complete_conversations = complete_from_graph(find_conversations)
complete_programs = complete_from_graph(lambda graph, _: [each.name for each in graph.programs()])
complete_runs = complete_from_graph(lambda graph, _: ["last", *(run.id for run in graph.runs(MAX_OFFERED))])
complete_namespaces = complete_from_graph(lambda graph, _: [each.name for each in graph.namespaces()])


def complete_files(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:  # noqa: ARG001
    """Have the shell offer its files."""
    return [CompletionItem(typed, type="file")]


def complete_saved_queries(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:  # noqa: ARG001
    """Offer the names of the queries for Neo4j Browser."""
    from memorygraph.server.browser import saved_queries

    return [CompletionItem(name, help=query.about) for name, query in saved_queries().items() if name.startswith(typed)]


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion_command(ctx: click.Context, *, shell: str) -> None:
    """Print what completes commands, options, files and names in a shell, for its start file.

    Names are ids, conversations, programs, runs, namespaces and saved queries; those of the graph are offered while
    its server runs.

    \b
    bash   memorygraph completion bash >> ~/.bashrc
    zsh    memorygraph completion zsh >> ~/.zshrc
    fish   memorygraph completion fish > ~/.config/fish/completions/memorygraph.fish
    """  # noqa: D301 - click looks for the character that is written so
    output.print_text(SHELLS[shell](ctx.find_root().command, {}, "memorygraph", VARIABLE).source())
