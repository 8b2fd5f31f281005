"""The commands that read conversations: `messages list show versions diff verify export`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from memorygraph.cli.output import json_option, print_json, print_table, print_text, say
from memorygraph.cli.settings import Settings
from memorygraph.errors import NotFoundError

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph
    from memorygraph.messages.graph import MessageGraph

MAX_SHOWN = 200  # characters of a message


@click.group("messages")
def messages_command() -> None:
    """Read conversations and their versions."""


@messages_command.command("list")
@json_option
@click.pass_obj
def list_messages_command(settings: Settings, *, as_json: bool) -> None:
    """Show every conversation, and how long the version is that was last written."""
    with settings.connect() as graph:
        found = graph.conversations()
    if as_json:
        print_json([conversation.as_dict() for conversation in found])
    else:
        rows = [tuple(conversation.as_dict().values()) for conversation in found]
        print_table(("conversation", "versions", "version", "messages"), rows)


@messages_command.command("show")
@click.argument("name")
@click.option("--version", type=int, metavar="N", help="Another version than the one that was last written.")
@json_option
@click.pass_obj
def show_messages_command(settings: Settings, *, name: str, version: int | None, as_json: bool) -> None:
    """Show the messages of a conversation; `off-policy` marks answers that no model gave to what stands before."""
    with settings.connect() as graph:
        history = require_conversation(graph, name)
        entries = (history if version is None else history.checkout(version)).entries()
    if as_json:
        print_json([{**e.message.as_dict(), "id": e.id, "off_policy": e.off_policy} for e in entries])
        return
    rows = [
        (
            i,
            e.message.role,
            shorten_text(e.message.text or describe_calls(e.message.tool_calls)),
            "off-policy" * e.off_policy,
        )
        for i, e in enumerate(entries)
    ]
    print_table(("", "role", "content", ""), rows)


@messages_command.command("versions")
@click.argument("name")
@json_option
@click.pass_obj
def versions_messages_command(settings: Settings, *, name: str, as_json: bool) -> None:
    """Show the versions of a conversation, and where an edit broke the prefix of an answer."""
    with settings.connect() as graph:
        found = require_conversation(graph, name).versions()
    if as_json:
        print_json([version.as_dict() for version in found])
    else:
        rows = [(v.number, v.length, v.replaces, v.at, v.tip[:12]) for v in found]
        print_table(("version", "messages", "replaces", "at", "tip"), rows)


@messages_command.command("diff")
@click.argument("name")
@click.argument("first", metavar="V1", type=int)
@click.argument("second", metavar="V2", type=int)
@json_option
@click.pass_obj
def diff_messages_command(settings: Settings, *, name: str, first: int, second: int, as_json: bool) -> None:
    """Show what was removed and added from one version of a conversation to another."""
    with settings.connect() as graph:
        found = require_conversation(graph, name).diff(first, second)
    if as_json:
        print_json(found.as_dict())
    elif found:
        lines = [("-", i, m.role, shorten_text(m.text)) for i, m in found.removed]
        lines += [("+", i, m.role, shorten_text(m.text)) for i, m in found.added]
        print_table(("", "index", "role", "content"), sorted(lines, key=lambda line: line[1]))
    else:
        say("the same messages")


@messages_command.command("verify")
@click.argument("name")
@json_option
@click.pass_context
def verify_messages_command(ctx: click.Context, *, name: str, as_json: bool) -> None:
    """Recompute every hash of a conversation, and name the first message that is wrong (exit code 1)."""
    settings: Settings = ctx.obj
    with settings.connect() as graph:
        found = require_conversation(graph, name).verify()
    if as_json:
        print_json(found.as_dict())
    say(str(found.fault) if found.fault else f"sound: {found.messages} messages in {found.versions} versions")
    ctx.exit(0 if found.ok else 1)


time_type = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"])


@messages_command.command("export")
@click.argument("name")
@click.option(
    "--format", "form", default="openai", show_default=True, type=click.Choice(["openai", "prompt-completion"])
)
@click.option("--model", metavar="NAME", help="Only answers of this model.")
@click.option("--since", type=time_type, metavar="TIME", help="Only answers stored then or later (UTC).")
@click.option("--until", type=time_type, metavar="TIME", help="Only answers stored before then (UTC).")
@click.pass_obj
def export_messages_command(
    settings: Settings, *, name: str, form: str, model: str | None, since: datetime | None, until: datetime | None
) -> None:
    """Print on-policy training data as JSON lines: each sampled answer once, after what it was sampled from.

    What was left out is counted on stderr.
    """
    first, last = (time and time.replace(tzinfo=UTC) for time in (since, until))
    with settings.connect() as graph:
        data = require_conversation(graph, name).training_data(model=model, since=first, until=last)
    print_text(data.jsonl(form), nl=False)
    left = ", ".join(f"{count} {reason}" for reason, count in data.left_out.items())
    say(f"{data.answers} answers in {len(data)} samples; left out: {left or 'none'}")


def require_conversation(graph: MemoryGraph, name: str) -> MessageGraph:
    """A stored conversation.

    Raises:
        NotFoundError: there is no such conversation.
    """
    history = graph.messages(name)
    if not history.stored:
        raise NotFoundError(
            f"no conversation `{name}` in namespace `{graph.namespace}`; `memorygraph messages list` shows them all"
        )
    return history


def shorten_text(text: str) -> str:
    """The first characters of a message."""
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def describe_calls(calls: list[dict[str, object]]) -> str:
    """The tools that a message calls."""
    return ", ".join(f"calls {call.get('function') or call}" for call in calls)
