"""The command line: each command parses its options and calls one method of the client."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import click
from click.shell_completion import add_completion_class

from memorygraph.cli import output
from memorygraph.cli.completion import SHELLS, complete_namespaces
from memorygraph.cli.settings import Settings
from memorygraph.cli.stopping import NOTHING_DONE, STOPPED_AT_QUESTION, STORED_STAYS, Interrupted, explaining_stop
from memorygraph.errors import MemoryGraphError, find_interrupt

# Where each command lives. It is imported only when it is called, so that `--help` stays quick.
_COMMANDS = {
    "up": ("server", "start the embedded Neo4j"),
    "down": ("server", "stop the embedded Neo4j"),
    "status": ("server", "say where the embedded Neo4j is"),
    "doctor": ("server", "check the whole set-up and say the next step"),
    "backup": ("server", "write the embedded Neo4j's graph into a file"),
    "restore": ("server", "have the graph of a backup in the embedded Neo4j"),
    "browser": ("server", "open Neo4j Browser"),
    "load": ("load", "store scripts in the graph"),
    "check": ("load", "find what is wrong in scripts, without a database"),
    "run": ("programs", "run a program"),
    "runs": ("runs", "list or show stored runs"),
    "programs": ("programs", "list, show or forget stored programs"),
    "graph": ("programs", "draw a node graph"),
    "repl": ("programs", "try AgentScript line by line"),
    "query": ("graph", "run Cypher"),
    "show": ("graph", "show a node or an edge"),
    "neighbours": ("graph", "show what is near a node"),
    "search": ("graph", "find nodes by their text"),
    "recall": ("memory", "show what a text brings to mind"),
    "export": ("graph", "print the namespace as a script"),
    "history": ("graph", "show who changed a node or an edge, and from what"),
    "revisions": ("graph", "list the loads of the namespace"),
    "undo": ("graph", "take back what a load did"),
    "purge": ("graph", "forget what was deleted or changed, or what has expired"),
    "import": ("serve", "bring along a bundle, or the memory of another server or framework"),
    "adopt": ("serve", "bring along what mcp-neo4j-memory or Graphiti keeps here"),
    "serve": ("serve", "serve the memory to MCP clients"),
    "proxy": ("proxy", "record the model calls of any program"),
    "hook": ("hook", "remember for a command-line agent"),
    "lsp": ("lsp", "serve editors as a language server"),
    "messages": ("messages", "read conversations and their versions"),
    "pete": ("pete", "let a model think, and read its thoughts"),
    "remember": ("memory", "let a model write down what a text says"),
    "chat": ("memory", "talk with a model that has a memory"),
    "embed": ("memory", "give vectors to what lacks them"),
    "evaluate": ("memory", "measure recall on conversations"),
    "delete": ("graph", "delete a node or an edge"),
    "duplicates": ("graph", "find entities that are likely one"),
    "merge": ("graph", "join two entities that are one"),
    "forget": ("forgetting", "forget something for good"),
    "expire": ("forgetting", "have a node be forgotten at a time"),
    "namespaces": ("graph", "list or drop namespaces"),
    "completion": ("completion", "print what completes commands and names in a shell"),
}

for shell in SHELLS.values():
    add_completion_class(shell)


def import_lasting(name: str) -> ModuleType:
    """Import a module, and look for garbage neither meanwhile nor among what it leaves: that stays until the end."""
    # Python did so again and again, for a fifth of the time of a short command.
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()


def find_option(command: click.Command, name: str) -> click.Parameter | None:
    """Find the option of a command that is written like this."""
    return next((option for option in command.params if name in option.opts), None)


def misplaced_option(error: click.NoSuchOption, place: str) -> click.NoSuchOption:
    """Say of an option that was given on the wrong side of the command where it belongs."""
    return click.NoSuchOption(
        error.option_name, f"No such option '{error.option_name}' here. It stands {place}", ctx=error.ctx
    )


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        name = f"memorygraph.cli.{_COMMANDS[cmd_name][0]}"
        with explaining_stop(lambda _: NOTHING_DONE):
            module = sys.modules.get(name) or import_lasting(name)
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def make_context(self, info_name: str | None, args: list[str], *given: Any, **extra: Any) -> click.Context:
        """Read the options before the command; click would call Ctrl-C there `Aborted!`."""
        words = args.copy()
        try:
            with explaining_stop(lambda _: NOTHING_DONE):
                return super().make_context(info_name, args, *given, **extra)
        except click.NoSuchOption as error:
            context = click.Context(self, info_name=info_name)
            for word in words:  # the name of the command, and within a group the one that follows
                if isinstance(context.command, click.Group) and (found := context.command.get_command(context, word)):
                    context = click.Context(found, context, word)
            if find_option(context.command, error.option_name):
                raise misplaced_option(
                    error, f"after the command: `{context.command_path} {error.option_name}`"
                ) from None
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a word that is none gets the commands that it resembles."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=_COMMANDS, ctx=ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error ends in a message and its exit code, never in a traceback."""
        # The command itself notes it later: what is refused before, such as a namespace, is a document, too.
        ctx.meta[output.AS_JSON] = "--json" in ctx.args
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            if (option := find_option(self, error.option_name)) is None or error.ctx is None:
                raise
            command = error.ctx.command_path.removeprefix(f"{ctx.command_path} ")
            usage = f"`{ctx.command_path} {error.option_name} {option.make_metavar(ctx)} {command}`"
            raise misplaced_option(error, f"before the command: {usage}") from None
        except (click.exceptions.Exit, click.ClickException):
            raise
        except BrokenPipeError:
            # Whoever read the output, such as `head`, has enough of it; click would make a failure of this.
            output.stop_printing()
            raise click.exceptions.Exit(0) from None
        except click.Abort as error:
            # Ctrl-C or the end of the input at a question: commands ask before they do anything.
            stopped = Interrupted if find_interrupt(error) else MemoryGraphError
            failure: MemoryGraphError = stopped(STOPPED_AT_QUESTION)
        except (Exception, KeyboardInterrupt) as error:
            if not isinstance(error, Interrupted) and find_interrupt(error):
                failure = Interrupted(f"stopped: {STORED_STAYS}")
            elif isinstance(error, MemoryGraphError):
                failure = error
            else:
                raise
        output.say_error(failure)
        if ctx.meta.get(output.AS_JSON):
            output.print_error(failure)
        raise click.exceptions.Exit(failure.exit_code)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--uri", metavar="URI", help="The Neo4j server [NEO4J_URI; without it the embedded server].")
@click.option("--user", metavar="NAME", help="The user name [NEO4J_USERNAME, then neo4j].")
@click.option("--password", metavar="PASSWORD", help="The password [NEO4J_PASSWORD].")
@click.option("--database", metavar="NAME", help="The database [NEO4J_DATABASE, then the user's home database].")
@click.option(
    "--namespace",
    "-n",
    metavar="NAME",
    shell_complete=complete_namespaces,
    help="The namespace [MEMORYGRAPH_NAMESPACE, then default].",
)
@click.version_option(package_name="memorygraph")
@click.pass_context
def cli(ctx: click.Context, /, **options: str | None) -> None:
    """A knowledge graph as memory for language-model agents, kept in Neo4j.

    Exit codes: 0 done, 1 the script or the request is invalid or refused and nothing was changed (but by a run, or by
    files and batches before it), or a check found something, 2 wrong usage, 3 Neo4j cannot be reached or started, 4
    the model endpoint failed, 130 stopped by Ctrl-C, 143 by SIGTERM.
    """
    with explaining_stop(lambda _: NOTHING_DONE):
        from memorygraph.graph.bad_elements import hear_bad_elements
        from memorygraph.home import check_namespace

    if (namespace := options["namespace"]) is not None:
        check_namespace(namespace)
    ctx.with_resource(hear_bad_elements(partial(output.warn, ctx)))
    ctx.obj = Settings(**options)


def main() -> None:
    """The entry point of the program `memorygraph`."""
    warnings.showwarning = lambda message, *_: output.say(f"warning: {message}")
    output.replace_closed_streams()
    output.escape_unknown_characters()
    try:
        cli()
    except Interrupted as stopped:
        output.say_error(stopped)
        sys.exit(stopped.exit_code)
    except Exception as error:
        if os.environ.get("MEMORYGRAPH_DEBUG"):
            raise
        click.echo(
            f"memorygraph: an error of memorygraph itself: {type(error).__name__}: {error}\n"
            "Please report it, with what MEMORYGRAPH_DEBUG=1 prints and the output of `memorygraph doctor`.",
            err=True,
        )
        sys.exit(1)
