"""The commands on conversations: `messages list show view versions diff verify index cost export forget expire`."""

from __future__ import annotations

import shlex
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli import output
from memorygraph.cli.completion import complete_conversations
from memorygraph.cli.forgetting import confirm_and_forget, set_or_show, time_options
from memorygraph.cli.pages import deliver_page, page_options
from memorygraph.cli.settings import Time, report_from_graph
from memorygraph.json_text import parse_json

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph
    from memorygraph.messages.graph import MessageGraph

MAX_SHOWN = 200  # characters of a message


@click.group("messages", cls=output.WholeHelpGroup)
def messages_command() -> None:
    """Read conversations and their versions, or forget them."""


@messages_command.command("list")
@click.option("--limit", default=100, type=click.IntRange(1, 100_000), metavar="N", help="The most to show.")
@click.option("--after", default="", metavar="NAME", help="Only those after this one in the order of their names.")
@click.option("--containing", default="", metavar="TEXT", help="Only those with this text in their name.")
@report_from_graph
def list_messages_command(graph: MemoryGraph, *, limit: int, after: str, containing: str) -> None:
    """Show conversations by name, and how long the version of each is that was last written."""
    found = graph.conversations(limit, after=after, containing=containing)
    output.print_list(found, ("conversation", "versions", "version", "messages"))
    if len(found) == limit and (more := graph.count_conversations(after=found[-1].name, containing=containing)):
        output.say(f"{more} more; the next ones: --after {shlex.quote(found[-1].name)}")


@messages_command.command("show")
@click.argument("name", shell_complete=complete_conversations)
@click.option("--version", type=int, metavar="N", help="Another version than the one that was last written.")
@report_from_graph
def show_messages_command(graph: MemoryGraph, *, name: str, version: int | None) -> None:
    """Show the messages of a conversation; `off-policy` marks answers that no model gave to what stands before."""
    history = require_conversation(graph, name)
    entries = (history if version is None else history.checkout(version)).entries()
    if output.wants_json():
        output.print_json([{**e.message.as_dict(), "id": e.id, "off_policy": e.off_policy} for e in entries])
        return
    rows = []
    for index, entry in enumerate(entries):
        calls = [f"calls {call.get('function') or call}" for call in entry.message.tool_calls]
        text = shorten_text(entry.message.text or ", ".join(calls))
        rows.append((index, entry.message.role, text, "off-policy" if entry.off_policy else ""))
    output.print_table(("", "role", "content", ""), rows)


@messages_command.command("view")
@click.argument("name", shell_complete=complete_conversations)
@page_options
@report_from_graph
def view_messages_command(graph: MemoryGraph, *, name: str, target: str | None, open_: bool) -> None:
    """Make one HTML page of a conversation, which needs no server and no network.

    Its versions stand side by side with what was edited marked, tool calls are folded, subagents are inside.
    """
    deliver_page(graph.view_conversation(name), graph.namespace, "conversation", name, target=target, open_=open_)


@messages_command.command("versions")
@click.argument("name", shell_complete=complete_conversations)
@report_from_graph
def versions_messages_command(graph: MemoryGraph, *, name: str) -> None:
    """Show the versions of a conversation, and where an edit broke the prefix of an answer."""
    output.print_list(
        require_conversation(graph, name).versions(),
        ("version", "messages", "replaces", "at", "tip"),
        lambda version: (version.number, version.length, version.replaces, version.at, version.tip[:12]),
    )


@messages_command.command("diff")
@click.argument("name", shell_complete=complete_conversations)
@click.argument("first", metavar="V1", type=int)
@click.argument("second", metavar="V2", type=int)
@report_from_graph
def diff_messages_command(graph: MemoryGraph, *, name: str, first: int, second: int) -> None:
    """Show what was removed and added from one version of a conversation to another."""
    found = require_conversation(graph, name).diff(first, second)
    if output.wants_json():
        output.print_json(found.as_dict())
    elif found:
        lines = [("-", i, m.role, shorten_text(m.text)) for i, m in found.removed]
        lines += [("+", i, m.role, shorten_text(m.text)) for i, m in found.added]
        output.print_table(("", "index", "role", "content"), sorted(lines, key=lambda line: line[1]))
    else:
        output.say("the same messages")


@messages_command.command("verify")
@click.argument("name", shell_complete=complete_conversations)
@report_from_graph
def verify_messages_command(graph: MemoryGraph, *, name: str) -> None:
    """Recompute every hash of a conversation, and name the first message that is wrong (exit code 1)."""
    found = require_conversation(graph, name).verify()
    if output.wants_json():
        output.print_json(found.as_dict())
    output.say(str(found.fault) if found.fault else f"sound: {found.messages} messages in {found.versions} versions")
    click.get_current_context().exit(0 if found.ok else 1)


@messages_command.command("index")
@report_from_graph
def index_messages_command(graph: MemoryGraph) -> None:
    """Index what an earlier release stored: long messages by their passages, and words by their parts.

    Recall does the same in the background. It can be stopped, and goes on where it was.
    """
    with output.progress_bar("indexing") as bar:
        indexed = graph.index_messages(bar.reach)
    if output.wants_json():
        output.print_json({"indexed": indexed})
    output.say(f"{indexed} messages and nodes were indexed" if indexed else "everything is indexed")


@messages_command.command("cost")
@click.option(
    "--prices",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Prices of a million tokens, as JSON or TOML, with a line for each model: "
    '"gpt-5-mini" = {input = 0.25, output = 2.0, cached_input = 0.025}',
)
@report_from_graph
def cost_messages_command(graph: MemoryGraph, *, prices: str | None) -> None:
    """Show what the recorded answers of each model cost: calls, tokens, seconds, and money with `--prices`."""
    output.print_list(
        graph.costs(prices),
        ("model", "calls", "tokens in", "cached", "tokens out", "seconds", "without tokens", "cost"),
    )


@messages_command.command("export")
@click.argument("name", shell_complete=complete_conversations)
@click.option(
    "--format",
    "form",
    default="openai",
    type=click.Choice(["openai", "prompt-completion"]),
    help="What a line has: `messages`, as OpenAI's fine-tuning takes them, or `prompt` and `completion`.",
)
@click.option("--model", metavar="NAME", help="Only answers of this model.")
@click.option("--since", type=Time(), metavar="TIME", help="Only answers stored then or later (UTC).")
@click.option("--until", type=Time(), metavar="TIME", help="Only answers stored before then (UTC).")
@report_from_graph
def export_messages_command(
    graph: MemoryGraph, *, name: str, form: str, model: str | None, since: datetime | None, until: datetime | None
) -> None:
    """Print on-policy training data as JSON lines: each sampled answer once, after what it was sampled from.

    Every line is valid for fine-tuning. What was left out, such as what has no form there, is counted on stderr. With
    --json one document has the lines as `samples`, and the counts.
    """
    data = require_conversation(graph, name).training_data(model=model, since=since, until=until)
    lines = data.jsonl(form)
    if output.wants_json():
        samples = [parse_json(line) for line in lines.split("\n") if line]
        counts = {"answers": data.answers, "left_out": dict(data.left_out), "omitted": dict(data.omitted)}
        output.print_json({"samples": samples, **counts})
        return
    output.print_file(lines, nl=False)
    left = ", ".join(f"{count} {reason}" for reason, count in data.left_out.items())
    output.say(f"{data.answers} answers in {len(data)} samples; left out: {left or 'none'}")
    for kind, count in data.omitted.items():
        output.say(f"without {count} parts that fine-tuning has no form for: {kind}")


@messages_command.command("forget")
@click.argument("name", shell_complete=complete_conversations)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would go and what would stay, and forget nothing.")
@report_from_graph
def forget_messages_command(graph: MemoryGraph, *, name: str, yes: bool, dry_run: bool) -> None:
    """Forget a conversation with what was learnt from it alone. It cannot be undone."""
    confirm_and_forget(
        lambda *, dry_run=False: graph.forget_conversation(name, dry_run=dry_run), yes=yes, dry_run=dry_run
    )


@messages_command.command("expire")
@click.argument("name", shell_complete=complete_conversations)
@time_options
@report_from_graph
def expire_messages_command(graph: MemoryGraph, *, name: str, **when: Any) -> None:
    """Have a conversation be forgotten at a time, as `forget` does; without an option, say when."""
    set_or_show(
        lambda: graph.conversation_expiry(name), lambda **times: graph.expire_conversation(name, **times), **when
    )


def require_conversation(graph: MemoryGraph, name: str) -> MessageGraph:
    """A stored conversation."""
    from memorygraph.messages.stored_conversations import find_stored_conversation

    return find_stored_conversation(graph.scope, name)


def shorten_text(text: str) -> str:
    """The first characters of a message on a terminal; elsewhere all of it."""
    return text if len(text) <= MAX_SHOWN or not sys.stdout.isatty() else text[: MAX_SHOWN - 1] + "…"
