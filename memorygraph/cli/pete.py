"""The commands that think in PETE: `pete list show view fold unfold sense step run grammar`."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memorygraph.budget import Budget
from memorygraph.cli import output
from memorygraph.cli.completion import complete_thoughts
from memorygraph.cli.pages import deliver_page, page_options
from memorygraph.cli.programs import allow_host_option, allow_tool_option, parse_json_argument, split_pair
from memorygraph.cli.settings import combine, report_from_graph
from memorygraph.ending import ending_on_sigterm
from memorygraph.errors import MemoryGraphError, ModelError
from memorygraph.sentences import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorygraph.client import MemoryGraph
    from memorygraph.runtime.pete.turn import PeteStep
    from memorygraph.runtime.pete.views import View

ENDS = {
    "closed": "the log is closed",
    "idle": "the model wrote no more",
    "stuck": "the model's text could not be read",
    "max_steps": "there may be more to come",
}
_ADDRESS = re.compile(r"(?:memory:)?[0-9]+")

_budget = click.option("--budget", metavar="2k|500t", help="What may be shown, in characters or tokens.")
_name = click.argument("name", shell_complete=complete_thoughts)
_addresses = click.argument("addresses", metavar="[memory:N]...", nargs=-1)


@click.group("pete", cls=output.WholeHelpGroup)
def pete_command() -> None:
    """Let a model think in contexts that fold to fit its view, and look at its thoughts.

    NAME is that of an outermost context, or the address of any context, memory:N.
    """


@pete_command.command("list")
@report_from_graph
def list_pete_command(graph: MemoryGraph) -> None:
    """Show every log, and what came of it."""
    found = graph.thoughts()
    if output.wants_json():
        output.print_json([log._asdict() for log in found])
    else:
        rows = [(log.name, f"memory:{log.address}", "open" if log.open else "closed", log.tldr) for log in found]
        output.print_table(("context", "address", "", "tl;dr"), rows)


@pete_command.command("show")
@_name
@_budget
@report_from_graph
def show_pete_command(graph: MemoryGraph, *, name: str, budget: str | None) -> None:
    """Print a context: all of it to the byte, or with a budget what a model would see of it."""
    print_view(graph.pete(name).render(budget))


@pete_command.command("view")
@_name
@page_options
@report_from_graph
def view_pete_command(graph: MemoryGraph, *, name: str, target: str | None, open_: bool) -> None:
    """Make one HTML page of a context, in which the contexts inside fold and unfold."""
    deliver_page(graph.view_thought(name), graph.namespace, "thought", name, target=target, open_=open_)


@pete_command.command("fold")
@_name
@_addresses
@_budget
@report_from_graph
def fold_pete_command(graph: MemoryGraph, *, name: str, addresses: tuple[str, ...], budget: str | None) -> None:
    """Print a context with these contexts in it folded; without any, all that are closed.

    Nothing stored changes: `unfold` prints the same bytes as before.
    """
    thought = graph.pete(name)
    given = parse_addresses(addresses)
    print_view(thought.render(budget, folded=given or [frame.address for frame in thought.frame().frames()]))


@pete_command.command("unfold")
@_name
@_addresses
@_budget
@report_from_graph
def unfold_pete_command(graph: MemoryGraph, *, name: str, addresses: tuple[str, ...], budget: str | None) -> None:
    """Print a context with these contexts in it unfolded first, as far as the budget allows it."""
    print_view(graph.pete(name).render(budget, unfolded=parse_addresses(addresses)))


@pete_command.command("sense")
@_name
@click.argument("sensor")
@click.argument("value", metavar="JSON")
@report_from_graph
def sense_pete_command(graph: MemoryGraph, *, name: str, sensor: str, value: str) -> None:
    """Let a sensor report into the innermost open context; the log begins if there is no log yet."""
    report = parse_json_argument(value, "the report")
    graph.pete(name).sense(sensor, report)
    output.print_done({"context": name, "sensor": sensor, "value": report}, f"reported to {name}")


# What the commands take that let a model think.
thinking_options = combine(
    _name,
    click.option("--model", metavar="NAME", help="The model [MEMORYGRAPH_MODEL]."),
    click.option("--budget", default="12k", metavar="2k|500t", help="What the model sees."),
    click.option("--sense", "reports", multiple=True, metavar="NAME=JSON", help="What a sensor reports before."),
    click.option("--faculty", "faculties", multiple=True, metavar="NAME=URI", help="A tool that the model may call."),
    click.option(
        "--attempts",
        type=click.IntRange(min=1),
        default=3,
        metavar="N",
        help="How often the model may write a step, until it can be read.",
    ),
    click.option(
        "--grammar",
        type=click.Choice(["auto", "llama", "vllm", "none"]),
        default="auto",
        help="How the endpoint takes a grammar.",
    ),
    click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="What the model may write at once."),
    allow_tool_option,
    allow_host_option,
    report_from_graph,
)


@pete_command.command("step")
@thinking_options
def step_pete_command(graph: MemoryGraph, /, **options: Any) -> None:
    """Let a model continue a log once: up to a command, a question, or the end of what it has to say.

    The log begins if there is no log yet. Tools do nothing unless --allow-tool and --allow-host allow them.
    """
    continue_thought(graph, 1, **options)


@pete_command.command("run")
@click.option(
    "--max-steps", type=click.IntRange(min=1), default=10, metavar="N", help="How often the model continues the log."
)
@thinking_options
def run_pete_command(graph: MemoryGraph, /, *, max_steps: int, **options: Any) -> None:
    """Let a model continue a log until it is closed, nothing more comes, or --max-steps are done."""
    continue_thought(graph, max_steps, **options)


@pete_command.command("grammar")
@click.option(
    "--root",
    type=click.Choice(["log", "continuation"]),
    default="log",
    help="What it describes: a whole log, or what a model may write next.",
)
@output.json_option
def grammar_pete_command(root: str) -> None:
    """Print the grammar of PETE as GBNF, for endpoints that hold a model to one."""
    from memorygraph.languages.pete import gbnf

    grammar = gbnf.grammar("continuation" if root == "continuation" else "log")
    if output.wants_json():
        output.print_json({"root": root, "grammar": grammar})
    else:
        output.print_text(grammar, nl=False)


def continue_thought(
    graph: MemoryGraph,
    max_steps: int,
    *,
    name: str,
    reports: Sequence[str],
    faculties: Sequence[str],
    budget: str,
    allow_tools: Sequence[str],
    allow_hosts: Sequence[str],
    **options: Any,
) -> None:
    """Let a model continue a log, and print what it writes; nothing is stored before all that is given was read."""
    from memorygraph.runtime.permissions import Permissions
    from memorygraph.runtime.pete.faculties import ToolFaculty
    from memorygraph.runtime.tools import open_tool

    thought = graph.pete(name)
    shown = Budget.parse(budget)
    sensed = [parse_report(report) for report in reports]
    with ending_on_sigterm(), ExitStack() as tools:
        for given in faculties:
            faculty, uri = split_pair(given, "--faculty", "NAME=URI")
            tool = open_tool(faculty, uri, Path(), Permissions.of(allow_tools, allow_hosts))
            tools.callback(tool.close)
            thought.faculty(faculty, ToolFaculty(tool))
        for sensor, value in sensed:
            thought.sense(sensor, value)
        listener = None if output.wants_json() else print_step
        done = thought.run(max_steps, listener=listener, budget=shown, **options)
    stuck = done.steps[-1].problems if done.ended == "stuck" else ()
    if output.wants_json():
        output.print_json({**done.as_dict(), "errors": [problem.as_dict() for problem in stuck]})
    else:
        output.say(f"{count_of(len(done.steps), 'step')}; {ENDS[done.ended]}")
    if stuck:
        click.get_current_context().exit(ModelError.exit_code)


def parse_report(given: str) -> tuple[str, Any]:
    """The sensor and the value of `NAME=JSON`, which a log can hold."""
    from memorygraph.runtime.pete.thought import make_report

    sensor, text = split_pair(given, "--sense", "NAME=JSON")
    value = parse_json_argument(text, "--sense")
    make_report(sensor, value)
    return sensor, value


def print_step(step: PeteStep) -> None:
    """Print what a step has written, and on stderr what was wrong with it."""
    for problem in step.problems:
        output.say(f"sent back to the model: {problem}")
    for warning in step.warnings:
        output.say(f"warning: {warning}")
    output.print_text(step.written)


def print_view(seen: View) -> None:
    """Print a view of a context, and whether it fits its budget."""
    if output.wants_json():
        output.print_json({"text": seen.text, "size": seen.size, "fits": seen.fits, "trace": seen.as_dict()})
        return
    output.print_file(seen.text)
    if not seen.fits:
        output.say("it does not fit the budget: this is the smallest view of it")


def parse_addresses(addresses: Sequence[str]) -> list[int]:
    """The numbers of addresses such as `memory:42` or `42`."""
    for address in addresses:
        if not _ADDRESS.fullmatch(address):
            raise MemoryGraphError(f"{address!r} is not an address; write for example memory:42")
    return [int(address.removeprefix("memory:")) for address in addresses]
