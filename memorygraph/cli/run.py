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
from memorygraph.cli.output import json_option, print_json, print_no_errors, print_text, say
from memorygraph.cli.settings import Settings
from memorygraph.cli.trace import TraceOutput
from memorygraph.errors import ScriptError
from memorygraph.languages import LANGUAGES, Script, language_of, parse
from memorygraph.scripts import read_script

if TYPE_CHECKING:
    from memorygraph.languages.agentscript.syntax import Field

model_option = click.option("--model", metavar="NAME", help="Ask this model in place of those that the program names.")
mock_option = click.option("--mock", is_flag=True, help="Ask no model: every answer is the smallest of its shape.")
allow_tool_option = click.option(
    "--allow-tool", "allow_tools", multiple=True, metavar="SCHEME", help="Allow tools: file env http sh mcp."
)
allow_host_option = click.option(
    "--allow-host", "allow_hosts", multiple=True, metavar="HOST[:PORT]", help="Allow HTTP to this host."
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
    /,
    *,
    file: str,
    given: str | None,
    trace: str | None,
    stored: bool,
    check: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
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
    language = LANGUAGES[program.language]
    value = parse_json_argument(given, "--input", or_text=language.text_input) if given is not None else None
    if program.problems:
        raise ScriptError(list(program.problems))
    if check:
        print_no_errors(as_json=as_json)
        return
    ask = None if as_json or not sys.stdin.isatty() else ask_for_field
    # A program finds its files beside it, and a stored one finds none.
    program_folder = TemporaryDirectory() if stored else nullcontext(Path(file).parent)
    with (
        TraceOutput(trace, shown=language.shows_steps and not quiet and not as_json) as events,
        settings.connect() as graph,
        program_folder as folder,
    ):
        result = graph.run(program, input=value, folder=folder, listener=events.listen, ask=ask, **options)
    if as_json:
        shown = {"file": events.file} if events.file else result.trace
        print_json({**result.as_dict(), "trace": shown, "errors": []})
        return
    print_text(
        result.value if isinstance(result.value, str) else json.dumps(result.value, indent=2, ensure_ascii=False)
    )
    if not quiet:
        count = len(result.steps)
        say(f"{count} {language.step_noun}{'s' * (count != 1)}; run {result.run}, conversation {result.conversation}")


def ask_for_field(field: Field) -> Any:
    """Ask a person for a field of the input; a value that is not text is given as JSON."""
    text = click.prompt(f"{field.name} ({field.type})", err=True)
    if field.type == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
