"""The command `run`."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli.arguments import parse_json_argument
from memorygraph.cli.output import json_option, print_json, print_text, say
from memorygraph.cli.settings import Settings
from memorygraph.cli.trace import print_event, write_trace
from memorygraph.errors import ScriptError
from memorygraph.languages import Script, convo, language_of, parse
from memorygraph.scripts import read_script

if TYPE_CHECKING:
    from memorygraph.languages.agentscript import Field
    from memorygraph.runtime.trace import Event

PRETTY = "pretty"
model_option = click.option("--model", metavar="NAME", help="Ask this model in place of those that the program names.")
mock_option = click.option("--mock", is_flag=True, help="Ask no model: every answer is the smallest of its shape.")
allow_tool_option = click.option(
    "--allow-tool", "tools", multiple=True, metavar="SCHEME", help="Allow tools: file env http sh mcp."
)
allow_host_option = click.option(
    "--allow-host", "hosts", multiple=True, metavar="HOST[:PORT]", help="Allow HTTP to this host."
)


@click.command("run")
@click.argument("file", metavar="FILE")
@click.option("--input", "given", metavar="JSON|@FILE", help="The input of the program.")
@model_option
@mock_option
@click.option("--agent", metavar="NAME", help="Begin with this agent.")
@click.option("--function", metavar="NAME", help="Begin with this function.")
@click.option("--trace", metavar="FILE|pretty", help="Write the trace to a file, or show it as it happens.")
@click.option("--max-steps", type=click.IntRange(min=1), default=100, show_default=True, metavar="N")
@allow_tool_option
@allow_host_option
@click.option(
    "--resume", metavar="RUN|last", help="Go on with this run of a node graph, or the `last` that was broken off."
)
@click.option("--stored", is_flag=True, help="FILE is the name of a program that `load` has stored.")
@click.option("--check", is_flag=True, help="Only find what is wrong in the program; run nothing.")
@click.option("--quiet", is_flag=True, help="Print the value and nothing else.")
@json_option
@click.pass_obj
def run_command(
    settings: Settings,
    *,
    file: str,
    given: str | None,
    model: str | None,
    mock: bool,
    agent: str | None,
    function: str | None,
    trace: str | None,
    max_steps: int,
    tools: tuple[str, ...],
    hosts: tuple[str, ...],
    resume: str | None,
    stored: bool,
    check: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run a program, and print its value.

    What it may reach is what is allowed here: nothing, without --allow-tool and --allow-host. The run is kept in
    the graph, with what each call of a model saw and answered. With --trace FILE the trace is written there, also
    when the run fails.
    """
    if stored:
        with settings.connect() as graph:
            program: Script = graph.program(file)
    else:
        program = parse(read_script(file), language_of(file, None).name, file=file)
    is_convo = isinstance(program, convo.Program)
    value = parse_json_argument(given, "--input", or_text=is_convo) if given is not None else None
    if program.problems:
        raise ScriptError(list(program.problems))
    if check:
        if as_json:
            print_json({"errors": []})
        else:
            say("no errors")
        return
    events: list[Event] = []
    pretty = trace == PRETTY or (is_convo and not quiet and not as_json)

    def listen(event: Event, depth: int) -> None:
        if depth == 0:
            events.append(event)
        if pretty:
            print_event(event, depth)

    # A program finds its files beside it, and a stored one finds none.
    program_folder = TemporaryDirectory() if stored else nullcontext(Path(file).parent)
    try:
        with settings.connect() as graph, program_folder as folder:
            result = graph.run(
                program,
                input=value,
                model=model,
                folder=folder,
                mock=mock,
                agent=agent,
                function=function,
                max_steps=max_steps,
                allow_tools=tools,
                allow_hosts=hosts,
                listener=listen,
                resume=resume,
                ask=None if as_json or not sys.stdin.isatty() else ask_for_field,
            )
    finally:
        if trace and trace != PRETTY:
            write_trace(events, trace)
    count = len(result.steps)
    steps = f"{count} {'step' if is_convo else 'generation'}{'s' * (count != 1)}"
    if as_json:
        shown = {"file": trace} if trace and trace != PRETTY else result.trace
        print_json({**result.as_dict(), "trace": shown, "errors": []})
    else:
        value = result.value
        print_text(value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))
        if not quiet:
            say(f"{steps}; run {result.run}, conversation {result.conversation}")


def ask_for_field(field: Field) -> Any:
    """Ask a person for a field of the input; a value that is not text is given as JSON."""
    text = click.prompt(f"{field.name} ({field.type})", err=True)
    if field.type == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
