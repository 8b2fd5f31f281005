"""The command `repl`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli.failure import print_error
from memorygraph.cli.output import print_text, say
from memorygraph.cli.run import allow_host_option, allow_tool_option, mock_option, model_option, pretty_listener
from memorygraph.cli.settings import Settings
from memorygraph.errors import MemoryGraphError, ScriptError

if TYPE_CHECKING:
    from memorygraph.runtime.agentscript.session import Session

HELP = """\
Type statements, expressions, imports or agents; an open brace goes on in the next line.
  model M         the model of the session, an imported llm; `role "…"` and `description "…"` likewise
  use x < 2k      context for every generate that follows
  :names          what is defined    :context   what is declared with use
  :help           this               :quit      the end, also Ctrl-D"""
_OPENING, _CLOSING = "([{", ")]}"


@click.command()
@model_option
@mock_option
@allow_tool_option
@allow_host_option
@click.pass_obj
def repl(settings: Settings, *, model: str | None, mock: bool, tools: tuple[str, ...], hosts: tuple[str, ...]) -> None:
    """Try AgentScript line by line; `:help` says how.

    The session is kept in the graph as one run. What it may reach is what is allowed here.
    """
    from memorygraph.runtime.agentscript.session import Session
    from memorygraph.runtime.permissions import Permissions

    with settings.connect() as graph:
        session = Session(graph, Permissions.of(tools, hosts), model, mock, Path(), pretty_listener)
        say("AgentScript; :help says how, :quit ends")
        try:
            while (entry := _entry()) is not None:
                _answer(session, entry)
        finally:
            session.close()
        say(f"kept as run {session.run}")


def _entry() -> str | None:
    """What was typed: a line, and more of them until all brackets are closed; None at the end."""
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
        if not line or _open(text) <= 0:
            return text


def _open(text: str) -> int:
    """How many brackets are open; those in texts count too, which an empty line ends."""
    return sum(text.count(sign) for sign in _OPENING) - sum(text.count(sign) for sign in _CLOSING)


def _answer(session: Session, entry: str) -> None:
    command = entry.strip()
    if command in _COMMANDS:
        say(_COMMANDS[command](session))
        return
    if command.startswith(":"):
        say(f"there is no command {command}\n{HELP}")
        return
    try:
        for value in session.execute(entry):
            print_text(_shown(value))
    except ScriptError as error:
        say(str(error))
    except MemoryGraphError as error:
        print_error(error, as_json=False)


def _names(session: Session) -> str:
    return "\n".join(f"{name} = {_shown(value)}" for name, value in session.scope.variables.items()) or "no names"


def _context(session: Session) -> str:
    from memorygraph.languages.agentscript.printing import print_expression

    sources = [
        print_expression(declared.use.value) + (f" < {declared.use.budget.text}" if declared.use.budget else "")
        for declared in session.scope.visible()
    ]
    return "\n".join(sources) or "no context"


_COMMANDS = {":help": lambda _: HELP, ":names": _names, ":context": _context}


def _shown(value: Any) -> str:
    from memorygraph.runtime.agentscript.values import describe_value

    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    except (TypeError, ValueError):
        return describe_value(value)
