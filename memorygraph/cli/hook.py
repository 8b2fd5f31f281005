"""The command `hook`: what a command-line agent calls at its events."""

from __future__ import annotations

import json
import os
import sys
from threading import Thread
from typing import TYPE_CHECKING, Any

import click

from memorygraph.budget import Budget
from memorygraph.cli import output
from memorygraph.cli.settings import Seconds, Settings
from memorygraph.errors import MemoryGraphError

if TYPE_CHECKING:
    from memorygraph.hooks import HookInput

MAX_INPUT_BYTES = 64 << 20


class HarmlessCommand(click.Command):
    """A command that never fails: an agent takes the exit code 2 for an order to stop."""

    def make_context(self, info_name: str | None, args: list[str], *given: Any, **extra: Any) -> click.Context:
        """Read the options; those that are wrong are said, and nothing is done."""
        try:
            return super().make_context(info_name, args, *given, **extra)
        except click.UsageError as error:
            say_note(error.format_message())
            raise click.exceptions.Exit(0) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; its error is said."""
        try:
            return super().invoke(ctx)
        except click.exceptions.Exit:
            raise
        except Exception as error:  # noqa: BLE001 - an agent goes on, whatever happens here
            say_note(str(error) or type(error).__name__)
            return None


def say_note(message: str) -> None:
    """Say on stderr what a hook did not do."""
    output.say(f"memorygraph hook: {message}")


@click.command("hook", cls=HarmlessCommand)
@click.argument("event")
@click.option("--budget", default="2k", metavar="2k|500t", help="Characters or tokens of what is recalled.")
@click.option("--limit", type=click.IntRange(min=1), default=10, metavar="N", help="Hits at most.")
@click.option("--timeout", type=Seconds(min=0.1), default=5, metavar="SECONDS", help="When to give up.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent or stored, and do neither.")
@click.pass_obj
def hook_command(settings: Settings, *, event: str, budget: str, limit: int, timeout: float, dry_run: bool) -> None:
    """Answer an event of a command-line agent, such as Claude Code, whose JSON is on standard input.

    At UserPromptSubmit it prints what the prompt brings to mind, for the agent to read. At Stop, SubagentStop,
    PreCompact and SessionEnd it keeps the transcript as a conversation; at SessionStart it keeps those that wait, as no
    Neo4j was running. Secrets are masked, by the patterns that docs/recording.md lists, before anything is stored or
    looked up. plugins/claude-code installs it.

    It starts no Neo4j, and never breaks the agent: whatever fails is said on stderr, and the exit code is 0.
    """
    from memorygraph.hooks import HookInput

    if sys.stdin.isatty():
        raise MemoryGraphError("standard input is a terminal, and no JSON of an agent")
    given = HookInput.parse(event, sys.stdin.buffer.read(MAX_INPUT_BYTES))
    of = Budget.parse(budget)
    run_within(timeout, lambda: answer_event(settings, given, of, limit, dry_run=dry_run))


def run_within(seconds: float, work: Any) -> None:
    """Do some work, and end the process where that takes longer: what hangs must not keep the agent waiting.

    Raises:
        Exception: what the work raised.
    """
    failures: list[BaseException] = []

    def do() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            failures.append(error)

    thread = Thread(target=do, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        say_note(f"gave up after {seconds:g} seconds; a transcript that was not kept is tried again at the next event")
        sys.stdout.flush()
        os._exit(0)
    if failures:
        raise failures[0]


def answer_event(settings: Settings, given: HookInput, budget: Budget, limit: int, *, dry_run: bool) -> None:
    """Do what an event asks for, and print the answer.

    Raises:
        MemoryGraphError: it can't be done now; a transcript then waits.
    """
    from memorygraph.home import chosen_namespace
    from memorygraph.hooks import KEEPING, PendingTranscripts, keep_transcripts, read_transcript, recall_for_prompt

    if given.event in KEEPING and not given.ref:
        say_note("the input names no transcript, or not whose: nothing is kept of it")
    if dry_run and not given.is_prompt:
        output.print_text(f"{given.conversation}:")
        for said in read_transcript(given.ref) if given.ref else ():
            output.print_text(str(said))
        return
    pending = PendingTranscripts(chosen_namespace(settings.namespace))
    if given.ref:
        pending.add(given.ref)
    if settings.is_gone():
        raise MemoryGraphError("Neo4j does not run, so nothing is recalled or kept now: `memorygraph up` starts it")
    if not given.is_prompt and not pending.waiting():
        return
    with settings.connect(start=False) as graph:
        if not given.is_prompt:
            keep_transcripts(graph, pending, given.ref)
            return
        context = recall_for_prompt(graph, given, budget, limit)
    if context and dry_run:
        output.print_text(context)
    elif context:
        answer = {"hookEventName": given.event, "additionalContext": context}
        output.print_text(json.dumps({"hookSpecificOutput": answer}))
