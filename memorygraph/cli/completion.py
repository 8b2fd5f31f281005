"""The command `completion`: what a shell needs to complete commands and options, files, and names of the graph."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, suppress
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from memorygraph.cli import output
from memorygraph.cli.settings import Settings
from memorygraph.errors import MemoryGraphError

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph

BASH_WORD = re.compile(r"(?:[\w@%+=:,./ -]|[^\x00-\x7f])*(?<!,)", re.ASCII)
"""What bash takes as it is, but for blanks; click's script drops a comma at the end."""


class BashWords(BashComplete):
    """Bash, which has what it is offered written into the line as it is: also `$(…)`, which it would execute then."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Leave out what bash would read otherwise: quotes are no help where somebody has typed the first of them."""
        found = super().get_completions(args, incomplete)
        return [item for item in found if item.type != "plain" or BASH_WORD.fullmatch(item.value)]

    def format_completion(self, item: CompletionItem) -> str:
        """Escape the blanks, twice: the `read` of click's script takes the first backslash away."""
        return super().format_completion(item).replace(" ", r"\\ ")


class FishWords(FishComplete):
    """Fish, which escapes what it is offered; click's script cuts that off at a comma."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Leave out what would be cut off."""
        return [item for item in super().get_completions(args, incomplete) if "," not in item.value]


# Zsh escapes what it is offered, too.
SHELLS: dict[str, type[ShellComplete]] = {"bash": BashWords, "zsh": ZshComplete, "fish": FishWords}
VARIABLE = "_MEMORYGRAPH_COMPLETE"  # as click spells it for the program `memorygraph`
MAX_OFFERED = 100  # names: a shell asks before it lists more

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
"""What click asks for an argument: with its context and what is typed of it."""


def complete_from_graph(find: Callable[[MemoryGraph, str], Iterable[str]]) -> Completer:
    """Offer the names in the graph that begin with what is typed; nothing where no server runs, as none is started."""

    def offer(ctx: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
        given = ctx.find_root().params
        settings = Settings(**{name: given.get(name) for name in Settings._fields})
        # What goes wrong, or is warned of, must not be written into the line that somebody types.
        with suppress(MemoryGraphError), redirect_stderr(io.StringIO()):
            if not settings.is_gone():
                with settings.connect(start=False) as graph:
                    names = [name for name in find(graph, typed) if name.startswith(typed)]
                    return [CompletionItem(name) for name in names if is_word(name)]
        return []

    return offer


def find_conversations(graph: MemoryGraph, typed: str) -> list[str]:
    """The conversation of this name, and those that follow: what begins with the text stands first among these."""
    exact = [typed] if typed and graph.messages(typed).stored else []
    return [*exact, *(each.name for each in graph.conversations(MAX_OFFERED, after=typed))]


def find_namespaces(graph: MemoryGraph, _: str) -> list[str]:
    """The names of all namespaces."""
    from memorygraph.graph.namespace import list_namespace_names

    return list_namespace_names(graph.connection)


def is_word(name: str) -> bool:
    """Tell whether a name can be typed as one word: a line break would end it, and a dash would make it an option."""
    return output.plain(name) == name and not re.search(r"^-|[\n\t]", name)


complete_ids = complete_from_graph(lambda graph, typed: graph.ids(typed, MAX_OFFERED))
complete_conversations = complete_from_graph(find_conversations)
complete_programs = complete_from_graph(lambda graph, _: [each.name for each in graph.programs()])
complete_runs = complete_from_graph(lambda graph, _: ["last", *(run.id for run in graph.runs(MAX_OFFERED))])
complete_namespaces = complete_from_graph(find_namespaces)
complete_thoughts = complete_from_graph(lambda graph, _: [each.name for each in graph.thoughts()])


def complete_files(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:  # noqa: ARG001
    """Have the shell offer its files."""
    return [CompletionItem(typed, type="file")]


def complete_files_or_stored(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Have the shell offer its files, or after --stored the programs that the graph has."""
    complete = complete_programs if ctx.params.get("stored") else complete_files
    return complete(ctx, parameter, typed)


def complete_saved_queries(ctx: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:  # noqa: ARG001
    """Offer the names of the queries for Neo4j Browser."""
    from memorygraph.server.browser import saved_queries

    return [CompletionItem(name, help=query.about) for name, query in saved_queries().items() if name.startswith(typed)]


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion_command(ctx: click.Context, *, shell: str) -> None:
    """Print what completes commands, options, files and names in a shell, for its start file.

    Names are ids, conversations, thoughts, programs, runs, namespaces and saved queries; those of the graph are
    offered while its server runs. Bash is not offered names that it would read otherwise, such as those with quotes,
    `$` or `*`.

    \b
    bash   memorygraph completion bash >> ~/.bashrc
    zsh    memorygraph completion zsh >> ~/.zshrc
    fish   memorygraph completion fish > ~/.config/fish/completions/memorygraph.fish
    """  # noqa: D301 - click looks for the character that is written so
    output.print_text(SHELLS[shell](ctx.find_root().command, {}, "memorygraph", VARIABLE).source())
