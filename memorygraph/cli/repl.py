"""The command `repl`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli.output import print_text, say, say_error
from memorygraph.cli.run import allow_host_option, allow_tool_option, mock_option, model_option
from memorygraph.cli.settings import Settings
from memorygraph.cli.trace import print_event
from memorygraph.errors import MemoryGraphError, ScriptError

if TYPE_CHECKING:
    from memorygraph.runtime.agentscript.session import Session

HELP = """\
Type statements, expressions, imports or agents; an open brace goes on in the next line.
  model M         the model of the session, an imported llm; `role "…"` and `description "…"` likewise
  use x < 2k      context for every generate that follows
  :names          what is defined    :context   what is declared with use
  :help           this               :quit      the end, also Ctrl-D"""


@click.command("repl")
@model_option
@mock_option
@allow_tool_option
@allow_host_option
@click.pass_obj
def repl_command(
    settings: Settings, *, model: str | None, mock: bool, allow_tools: tuple[str, ...], allow_hosts: tuple[str, ...]
) -> None:
    """Try AgentScript line by line; `:help` says how.

    The session is kept in the graph as one run. What it may reach is what is allowed here.
    """
    from memorygraph.runtime.agentscript.session import Session
    from memorygraph.runtime.permissions import Permissions

    with settings.connect() as graph:
        session = Session(graph, Permissions.of(allow_tools, allow_hosts), model, mock, Path(), print_event)
        say("AgentScript; :help says how, :quit ends")
        try:
            while (entry := prompt_entry()) is not None:
                execute_entry(session, entry)
        finally:
            session.close()
        say(f"kept as run {session.run}")


def prompt_entry() -> str | None:
    """Read a line, and more until all brackets are closed or one is empty; None at the end.

    Brackets inside of texts count too: an empty line ends what they leave open.
    """
    lines: list[str] = []
    while True:
        try:
            line = click.prompt("…" if lines else "as", prompt_suffix="> ", default="", show_default=False, err=True)
        except click.Abort:
            return None
        if line.strip() == ":quit":
            return None
        lines.append(line)
        text = "\n".join(lines)
        still_open = sum(text.count(sign) for sign in "([{") - sum(text.count(sign) for sign in ")]}")
        if not line or still_open <= 0:
            return text


def execute_entry(session: Session, entry: str) -> None:
    """Execute what was typed, or the command that it names, and print the values."""
    command = entry.strip()
    if command in _COMMANDS:
        say(_COMMANDS[command](session))
        return
    if command.startswith(":"):
        say(f"there is no command {command}\n{HELP}")
        return
    try:
        for value in session.execute(entry):
            print_text(show_value(value))
    except ScriptError as error:
        say(str(error))
    except MemoryGraphError as error:
        say_error(error)


def list_names(session: Session) -> str:
    """The names that are defined, with their values."""
    return "\n".join(f"{name} = {show_value(value)}" for name, value in session.scope.variables.items()) or "no names"


def list_context(session: Session) -> str:
    """The context that is declared with `use`."""
    from memorygraph.languages.agentscript.printing import print_expression

    sources = [
        print_expression(declared.use.value) + (f" < {declared.use.budget.text}" if declared.use.budget else "")
        for declared in session.scope.visible()
    ]
    return "\n".join(sources) or "no context"


_COMMANDS = {":help": lambda _: HELP, ":names": list_names, ":context": list_context}


def show_value(value: Any) -> str:
    """A value as JSON, or what kind of thing it is."""
    from memorygraph.runtime.agentscript.values import describe_value

    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError):
        return describe_value(value)
