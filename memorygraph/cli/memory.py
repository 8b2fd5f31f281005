"""The commands that recall, and let a model write into the memory: `recall embed evaluate remember chat`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli import output
from memorygraph.cli.completion import complete_conversations
from memorygraph.cli.settings import Time, combine, report_from_graph
from memorygraph.cli.stopping import AGAIN, explaining_stop
from memorygraph.ending import interrupting_on_sigterm
from memorygraph.errors import MemoryGraphError, ScriptError
from memorygraph.home import namespace_option
from memorygraph.scripts import STANDARD_INPUT, read_script
from memorygraph.sentences import ask_meant, count_of, counted

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph
    from memorygraph.graph.loads import LoadReport
    from memorygraph.memory.chat import Chat, ChatTurn

HELP = """\
Type a message; what the model remembers of it is shown below its answer.
  :recalled   what the memory held about your last message
  :apply      do what was proposed below the last answer
  :help       this               :quit      the end, also Ctrl-D"""


class Depths(click.ParamType[tuple[int, ...]]):
    """Numbers of hits with commas between them."""

    name = "K,K"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """The numbers, in their order."""
        numbers = [part.strip() for part in value.split(",")]
        if not all(number.isdecimal() and int(number) > 0 for number in numbers):
            self.fail(f"{value!r} is not a list of numbers such as 5,10,20", param, ctx)
        return tuple(sorted({int(number) for number in numbers}))


@click.command("recall")
@click.argument("text")
@click.option("--budget", default="2k", metavar="2k|500t", help="Characters or tokens to show.")
@click.option("--limit", type=click.IntRange(min=1), default=20, metavar="N", help="Hits at most.")
@click.option("--since", metavar="TIME", help="Only messages that were said from then on: a day, or a time, of UTC.")
@click.option(
    "--until", metavar="TIME", help="Only messages that were said until then: a day with all of it, or a time."
)
@click.option("--role", metavar="ROLE", help="Only messages of this role, such as user.")
@click.option("--speaker", metavar="NAME", help="Only messages of this speaker, or else role, in any case.")
@click.option(
    "--conversation",
    metavar="NAME",
    shell_complete=complete_conversations,
    help="Only messages of this conversation.",
)
@click.option("--kind", metavar="KIND", help="Only nodes of this kind, such as person.")
@click.option("--verb", metavar="VERB", help="Only nodes with an edge of this verb.")
@click.option(
    "--at",
    type=Time(),
    metavar="TIME",
    help="When it is asked, for words like yesterday: a day, or a time, of UTC.",
)
@click.option("--no-steps", is_flag=True, help="Only what fits by itself, not what stands beside it.")
@click.option("--no-roles", is_flag=True, help="What an assistant said counts as much as what the user said.")
@click.option("--no-intent", is_flag=True, help="Recall for an order, a summary or a request as for a single fact.")
@report_from_graph
def recall_command(
    graph: MemoryGraph,
    *,
    text: str,
    budget: str,
    at: datetime | None,
    no_steps: bool,
    no_roles: bool,
    no_intent: bool,
    **options: Any,
) -> None:
    """Show what a text brings to mind: nodes and messages, best first, as a prompt gets them.

    Found by words, and with MEMORYGRAPH_EMBEDDING_MODEL by meaning; --json has each hit with its source and score. A
    filter of messages leaves no nodes, and one of nodes no messages.
    """
    asked = at.replace(tzinfo=at.tzinfo or UTC) if at else None
    found = graph.recall(
        text, budget, at=asked, steps=not no_steps, roles=not no_roles, intent=not no_intent, **options
    )
    if output.wants_json():
        output.print_json(found.as_dict())
        return
    if found.context:
        output.print_text(str(found))
    if not found.hits:
        output.say(f"nothing comes to mind{ask_meant(graph.suggest(text))}")
    elif left_out := len(found.hits) - len(found.shown):
        output.say(f"{left_out} of {count_of(len(found.hits), 'hit')} left out: --budget {budget} has no room")


@click.command("embed")
@report_from_graph
def embed_command(graph: MemoryGraph) -> None:
    """Give vectors to messages and nodes that lack them, by the model that MEMORYGRAPH_EMBEDDING_MODEL names.

    `recall` does so by itself; for a large archive this shows how far it is. Interrupted, it goes on the next time.
    """
    with output.progress_bar("embedding") as bar:
        count = graph.embed(bar.reach)
    output.print_done({"embedded": count}, f"{count} new vectors")


@click.command("evaluate")
@click.argument("folder", metavar="DIR")
@click.option(
    "--format", type=click.Choice(["locomo", "beam"]), default="locomo", help="Of which data set.", show_default=True
)
@click.option("--k", type=Depths(), default="5,10,20", help="How many hits count.", show_default=True, metavar="K,K")
@click.option("--facts", is_flag=True, help="Store the speakers' facts as well.")
@report_from_graph
def evaluate_command(graph: MemoryGraph, *, folder: str, k: tuple[int, ...], **options: Any) -> None:
    """Measure recall: how much of the evidence is among the first 5, 10 and 20 hits, and how long a recall takes.

    DIR holds conversations with questions that name their evidence, as LoCoMo (one JSON file each) or BEAM (numbered
    folders) publish them.
    """
    with output.progress_bar("asking") as bar:

        def heard(_done: int, total: int) -> None:
            bar.total(total)
            bar.advance(1)

        # What is stored for it is deleted again, which SIGTERM must not cut off.
        with explaining_stop(lambda _: f"nothing was printed; {AGAIN}"), interrupting_on_sigterm():
            found = graph.evaluate(folder, k=k, progress=heard, **options)
    if output.wants_json():
        output.print_json(found.as_dict())
        return
    figures = {"all": found.total, **{f"category {name}": of for name, of in found.categories.items()}}
    rows = [
        (name, str(of.questions), *(f"{share:.1f}" for share in (*of.recall.values(), *of.complete.values())))
        for name, of in figures.items()
    ]
    heads = [f"{share}@{depth}" for share in ("recall", "all") for depth in k]
    output.print_table(("questions", "count", *heads), rows)
    complete = ", ".join(f"{share:.1f} % at {depth}" for depth, share in found.total.complete.items())
    output.say(f"all of the evidence was found for {complete}")
    times = f"{found.p50_ms:.0f} ms in the median, {found.p95_ms:.0f} ms at the 95th percentile"
    output.say(f"a recall took {times}, with {found.messages} messages stored")


# What the commands take that ask a model.
asking_options = combine(
    click.option("--model", metavar="NAME|URI", help="The model to ask [MEMORYGRAPH_MODEL]."),
    click.option(
        "--attempts",
        type=click.IntRange(min=1),
        default=3,
        metavar="N",
        help="How often the model may write a program, until it is right.",
    ),
    click.option(
        "--budget", default="2k", metavar="2k|500t", help="What is recalled for the model, in characters or tokens."
    ),
)


@click.command("remember")
@click.argument("text", nargs=-1, required=True)
@asking_options
@output.json_option
@click.pass_context
def remember_command(ctx: click.Context, /, *, text: tuple[str, ...], **options: Any) -> None:
    """Let a model write down what TEXT says, and load that in one transaction.

    TEXT may be - for standard input. The program is printed; `memorygraph undo` takes it back. What the model may not
    change, because it was not recalled for TEXT, is only proposed. Prompts and replies are kept in the conversation
    `remember`, which `forget ID` leaves and `messages forget remember` forgets.
    """
    from memorygraph.memory.remember import NotWrittenError

    given = read_script(STANDARD_INPUT) if text == (STANDARD_INPUT,) else " ".join(text)
    with ctx.obj.connect() as graph:
        try:
            remembered = graph.remember(given, **options)
        except NotWrittenError as error:
            output.say(error.program.strip())
            output.say_error(error)
            output.say(f"the model wrote no program that can be loaded, in {count_of(error.attempts, 'attempt')}")
            if output.wants_json():
                document = {"program": error.program, "attempts": error.attempts}
                output.print_json({**document, "errors": output.error_records(error)})
            ctx.exit(error.exit_code)
    if output.wants_json():
        output.print_json(remembered.as_dict())
    elif remembered.stored:
        output.print_text(remembered.program.strip())
        say_report(remembered.report)
    elif not remembered.proposed:
        output.say("nothing to remember")
    if remembered.proposed and not output.wants_json():
        say_proposal(
            remembered.proposed,
            f"save this as proposed.ctx, and run: memorygraph{namespace_option(graph.namespace)} load proposed.ctx",
        )


def say_report(report: LoadReport) -> None:
    """Say on stderr what was changed, and how to take it back."""
    output.say_warnings(report.warnings)
    output.say(
        f"{counted(report.as_dict())}; {report.place}, "
        f"undone by: memorygraph{namespace_option(report.namespace)} undo {report.revision}"
    )


def say_proposal(proposed: str, how: str) -> None:
    """Say on stderr what the model wanted to change and may not, and how the user does it."""
    # It is never part of a command to paste: a text that was obeyed could break out of its quotes.
    output.say(f"\nproposed by the model, and not done, since it was not recalled for this:\n{proposed.strip()}")
    output.say(f"To do it, {how}")


@click.command("chat")
@click.option(
    "--conversation",
    default="chat",
    metavar="NAME",
    shell_complete=complete_conversations,
    help="Where the messages are kept.",
)
@click.option("--history", default="12k", metavar="12k|3kt", help="What the model sees of what was said.")
@asking_options
@report_from_graph
def chat_command(graph: MemoryGraph, *, conversation: str, **options: Any) -> None:
    """Talk with a model that recalls what the memory holds, and remembers what you say; `:help` says how.

    Each line is a message, also from a pipe. The conversation is kept, and goes on where it was left.
    With --json a list of all turns is printed at the end; if the model fails in a pipe, they are `turns` of an object
    that has `errors`, too.
    """
    talk = graph.chat(conversation, **options)
    output.say(f"conversation {conversation}; :help says how, :quit ends")
    turns: list[ChatTurn] = []
    try:
        hold_conversation(graph, talk, turns)
    except KeyboardInterrupt:
        output.say("\nstopped")
    except MemoryGraphError as error:
        if not output.wants_json():
            raise
        output.say_error(error)
        output.print_json({"turns": [turn.as_dict() for turn in turns], "errors": output.error_records(error)})
        raise click.exceptions.Exit(error.exit_code) from error
    if output.wants_json():
        output.print_json([turn.as_dict() for turn in turns])


def hold_conversation(graph: MemoryGraph, talk: Chat, turns: list[ChatTurn]) -> None:
    """Send each line to the model until the end of the input, or `:quit`."""
    proposed = ""
    while (typed := read_line()) is not None:
        if typed == ":recalled":
            hits = turns[-1].recalled if turns else ()
            lines = [f"{hit.label} ({hit.source}, {hit.score:.2f}): {hit.content}" for hit in hits]
            output.say("\n".join(lines) or "nothing was recalled")
        elif typed.startswith(":") and typed != ":apply":
            output.say(HELP if typed == ":help" else f"there is no command {typed}\n{HELP}")
        elif typed:
            try:
                if typed == ":apply":
                    proposed = apply_proposal(graph, proposed)
                else:
                    turns.append(talk.say(typed))
                    print_turn(turns[-1])
                    proposed = turns[-1].proposed
            except MemoryGraphError as error:
                if not sys.stdin.isatty():
                    raise
                output.say_error(error)


def apply_proposal(graph: MemoryGraph, proposed: str) -> str:
    """Load what the model proposed last, and return what is left to do: all of it where it is refused."""
    if not proposed:
        output.say("nothing is proposed")
        return ""
    try:
        report = graph.load(proposed)
    except ScriptError as error:  # others may have changed the graph since
        output.say_error(error)
        return proposed
    say_report(report)
    return ""


def read_line() -> str | None:
    """Read a line; None at the end."""
    line = output.prompt_line("you")
    if line is None:
        output.say("")
        return None
    line = line.strip()
    return None if line == ":quit" else line


def print_turn(turn: ChatTurn) -> None:
    """Print the answer of a turn, and on stderr what was remembered."""
    if turn.answer:
        show = output.say if output.wants_json() else output.print_text
        show(output.plain(turn.answer))
    if turn.report is not None:
        output.say("\n" + turn.program.strip())
        say_report(turn.report)
    elif turn.failure:
        output.say("\nnothing was remembered: " + turn.failure)
        for problem in turn.problems:
            output.say(str(problem))
    if turn.proposed:
        say_proposal(turn.proposed, "type :apply")
