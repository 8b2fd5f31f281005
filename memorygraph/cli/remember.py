"""The commands that let a model write into the memory: `remember` and `chat`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli.failure import error_records, print_error
from memorygraph.cli.output import counted, json_option, plain, print_json, print_text, say
from memorygraph.cli.settings import Settings
from memorygraph.errors import MemoryGraphError, ScriptError
from memorygraph.scripts import STANDARD_INPUT, read_script

if TYPE_CHECKING:
    from collections.abc import Callable

    from memorygraph.graph.loads import LoadReport
    from memorygraph.memory.chat import Chat, ChatTurn

HELP = """\
Type a message; what the model remembers of it is shown below its answer.
  :recalled   what the memory held about your last message
  :help       this               :quit      the end, also Ctrl-D"""


def _asking(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of the commands that ask a model."""
    for option in (
        click.option(
            "--budget",
            default="2k",
            show_default=True,
            metavar="2k|500t",
            help="What is recalled for the model, in characters or tokens.",
        ),
        click.option(
            "--attempts",
            type=click.IntRange(min=1),
            default=3,
            show_default=True,
            metavar="N",
            help="How often the model may write a program, until it is right.",
        ),
        click.option("--model", metavar="NAME|URI", help="The model to ask [MEMORYGRAPH_MODEL]."),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("text", nargs=-1, required=True)
@_asking
@json_option
@click.pass_context
def remember(
    ctx: click.Context, *, text: tuple[str, ...], model: str | None, attempts: int, budget: str, as_json: bool
) -> None:
    """Let a model write down what TEXT says, and load that in one transaction.

    TEXT may be - for standard input. The program is printed; `memorygraph undo` takes it back.
    """
    from memorygraph.memory.remember import NotWrittenError

    settings: Settings = ctx.obj
    given = read_script(STANDARD_INPUT) if text == (STANDARD_INPUT,) else " ".join(text)
    with settings.connect() as graph:
        try:
            remembered = graph.remember(given, model, attempts=attempts, budget=budget)
        except NotWrittenError as error:
            _print_failure(error.program, error, error.attempts, as_json=as_json)
            ctx.exit(error.exit_code)
    if as_json:
        print_json(remembered.as_dict())
    elif remembered.stored:
        print_text(remembered.program.strip())
        _say_report(settings, remembered.report)
    else:
        say("nothing to remember")


def _print_failure(program: str, error: ScriptError, attempts: int, *, as_json: bool) -> None:
    say(program.strip())
    print_error(error, as_json=False)
    say(f"the model wrote no program that can be loaded, in {attempts} attempt{'s' if attempts != 1 else ''}")
    if as_json:
        print_json({"program": program, "attempts": attempts, "errors": error_records(error)})


def _say_report(settings: Settings, report: LoadReport) -> None:
    """What was changed, and how to take it back."""
    for warning in report.warnings:
        say(f"{warning}\n    (a warning)")
    namespace = f" -n {settings.namespace}" if settings.namespace else ""
    say(
        f"{counted(report.as_dict())}; revision {report.revision} of namespace {report.namespace}, "
        f"undone by: memorygraph{namespace} undo {report.revision}"
    )


@click.command()
@click.option("--conversation", default="chat", show_default=True, metavar="NAME", help="Where the messages are kept.")
@click.option(
    "--history", default="12k", show_default=True, metavar="12k|3kt", help="What the model sees of what was said."
)
@_asking
@json_option
@click.pass_obj
def chat(
    settings: Settings,
    *,
    conversation: str,
    history: str,
    model: str | None,
    attempts: int,
    budget: str,
    as_json: bool,
) -> None:
    """Talk with a model that recalls what the memory holds, and remembers what you say; `:help` says how.

    Each line is a message, also from a pipe. The conversation is kept, and goes on where it was left.
    With --json a list of all turns is printed at the end.
    """
    with settings.connect() as graph:
        talk = graph.chat(conversation, model, attempts=attempts, budget=budget, history=history)
        say(f"conversation {conversation}; :help says how, :quit ends")
        turns: list[ChatTurn] = []
        try:
            _talk(settings, talk, turns, as_json=as_json)
        except KeyboardInterrupt:
            say("\nstopped")
        if as_json:
            print_json([turn.as_dict() for turn in turns])


def _talk(settings: Settings, talk: Chat, turns: list[ChatTurn], *, as_json: bool) -> None:
    while (typed := _typed()) is not None:
        if typed == ":recalled":
            say(_recalled(turns))
        elif typed.startswith(":"):
            say(HELP if typed == ":help" else f"there is no command {typed}\n{HELP}")
        elif typed:
            try:
                turns.append(talk.say(typed))
            except MemoryGraphError as error:
                if not sys.stdin.isatty():
                    raise
                print_error(error, as_json=False)
            else:
                _show(settings, turns[-1], as_json=as_json)


def _typed() -> str | None:
    """What was typed; None at the end."""
    try:
        line: str = click.prompt("you", prompt_suffix="> ", default="", show_default=False, err=True)
    except click.Abort:
        say("")
        return None
    line = line.strip()
    return None if line == ":quit" else line


def _show(settings: Settings, turn: ChatTurn, *, as_json: bool) -> None:
    if turn.answer:
        click.echo(plain(turn.answer), err=as_json)
    if turn.report is not None:
        say("\n" + turn.program.strip())
        _say_report(settings, turn.report)
    elif turn.failure:
        say("\nnothing was remembered: " + turn.failure)
        for problem in turn.problems:
            say(str(problem))


def _recalled(turns: list[ChatTurn]) -> str:
    if not turns or not turns[-1].recalled:
        return "nothing was recalled"
    return "\n".join(f"{hit.label} ({hit.source}, {hit.score:.2f}): {hit.content}" for hit in turns[-1].recalled)
