"""The commands on programs: `run repl programs graph`; and the options of those that run something."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli import output
from memorygraph.cli.completion import (
    complete_files,
    complete_files_or_stored,
    complete_namespaces,
    complete_programs,
    complete_runs,
)
from memorygraph.cli.load import import_folder_option
from memorygraph.cli.pages import show_in_browser, write_shown
from memorygraph.cli.settings import Seconds, Settings, pass_graph, report_from_graph
from memorygraph.cli.stopping import AGAIN, explaining_stop
from memorygraph.cli.trace import TraceOutput, print_event
from memorygraph.ending import ending_on_sigterm
from memorygraph.errors import MemoryGraphError, ModelError, ScriptError
from memorygraph.home import PICTURES
from memorygraph.json_text import parse_json
from memorygraph.languages import LANGUAGES, Script, language_of, parse
from memorygraph.limits import Cancelled, LimitExceeded, RunLimits
from memorygraph.scripts import STANDARD_INPUT, read_script
from memorygraph.sentences import count_of

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph
    from memorygraph.languages.agentscript.syntax import Field
    from memorygraph.runtime.agentscript.session import Session
    from memorygraph.runtime.runs import RunResult

model_option = click.option("--model", metavar="NAME", help="Ask this model in place of those that the program names.")
mock_option = click.option(
    "--mock",
    is_flag=True,
    help="Ask no model: every answer is the smallest of its shape. Memories and allowed tools are used as in any run.",
)
allow_tool_option = click.option(
    "--allow-tool", "allow_tools", multiple=True, metavar="SCHEME", help="Allow tools: file env http sh mcp."
)
allow_host_option = click.option(
    "--allow-host", "allow_hosts", multiple=True, metavar="HOST[:PORT]", help="Allow HTTP to this host."
)
allow_namespace_option = click.option(
    "--allow-namespace",
    "allow_namespaces",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_namespaces,
    help="Allow memories in this namespace, too.",
)


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for what a run may use."""
    at_least_one = click.IntRange(min=1)
    work = click.option("--max-work", type=at_least_one, default=200_000_000, metavar="N", help="Steps of computing.")
    seconds = click.option(
        "--max-seconds", type=Seconds(0, min_open=True), default=86_400.0, metavar="S", help="How long it may take."
    )
    megabytes = click.option(
        "--max-megabytes", type=at_least_one, default=4000, metavar="N", help="All values that the program makes."
    )
    return work(seconds(megabytes(command)))


DRAWN = "`graph` draws Convo-Lang files (.convo), in which a line `> node NAME` begins each node"

GO_ON = "To go on from there, {} with `--resume {}`"

REPL_HELP = """\
Type statements, expressions, imports or agents; an open brace goes on in the next line.
  model M         the model of the session, an imported llm; `role "…"` and `description "…"` likewise
  use x < 2k      context for every generate that follows
  :names          what is defined    :context   what is declared with use
  :help           this               :quit      the end, also Ctrl-D"""


@click.command("run")
@click.argument("file", metavar="FILE", shell_complete=complete_files_or_stored)
@click.option("--input", "given", metavar="JSON|@FILE", help="The input of the program.")
@model_option
@mock_option
@click.option("--agent", metavar="NAME", help="Begin with this agent.")
@click.option("--function", metavar="NAME", help="Begin with this function.")
@click.option(
    "--trace",
    metavar="FILE|pretty",
    callback=output.refuse_dash,
    help="Write the trace to a file, or show it as it happens.",
)
@click.option("--max-steps", type=click.IntRange(min=1), default=100, metavar="N", help="Generations, or nodes.")
@limit_options
@allow_tool_option
@allow_host_option
@allow_namespace_option
@click.option(
    "--resume",
    metavar="RUN|last",
    shell_complete=complete_runs,
    help="Go on with this run of a node graph, or the `last` that was broken off.",
)
@click.option("--summary", is_flag=True, help="Let a model sum up the run of a node graph, and print that too.")
@click.option("--stored", is_flag=True, help="FILE is the name of a program that `load` has stored.")
@click.option("--check", is_flag=True, help="Only find what is wrong in the program; run nothing.")
@import_folder_option
@click.option("--quiet", is_flag=True, help="Print the value and nothing else.")
@output.json_option
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
    import_folder: Path | None,
    quiet: bool,
    max_work: int,
    max_seconds: float,
    max_megabytes: int,
    **options: Any,
) -> None:
    """Run a program, and print its value.

    What it may reach is what is allowed here: nothing, without --allow-tool and --allow-host, but the memory of
    this namespace, and files in the folder of the program. The run is kept in the graph, with what each call of a
    model saw and answered. Also when it fails, --trace FILE has its trace, and `run` in the document of --json its id.
    """
    if file == STANDARD_INPUT and not stored:
        raise click.UsageError("`run` takes the name of a file, whose extension says its language, and not `-`")
    with explaining_stop(partial(explain_stopped_run, file)):
        if stored:
            with settings.connect() as graph:
                program: Script = graph.program(file)
        else:
            program = parse(read_script(file), language_of(file, None).name, file=file)
        limits = RunLimits(max_work, max_seconds, max_megabytes * 1_000_000)
        language = LANGUAGES[program.language]
        if not stored:
            program = language.resolve_imports(program, Path(file).parent, import_folder)
        value = parse_json_argument(given, "--input", or_text=language.text_input) if given is not None else None
        problems = language.check(program)
    if problems:
        if check:
            output.warn_beside(language.find_warnings(program))
        raise ScriptError(problems)
    if check:
        output.print_checked(language.find_warnings(program))
        return
    for_people = not output.wants_json()
    ask = ask_for_field if for_people and sys.stdin.isatty() else None
    # A program finds its files beside it, and a stored one finds none.
    program_folder = TemporaryDirectory() if stored else nullcontext(Path(file).parent)
    result: RunResult | None = None
    with explaining_stop(lambda stop: explain_stopped_run(file, stop, result)):
        with (
            settings.connect() as graph,
            # A file that is there is emptied now: before Neo4j is reached it is still the trace of another run.
            TraceOutput(trace, shown=language.shows_steps and for_people and not quiet) as events,
            program_folder as folder,
            ending_on_sigterm(),
        ):
            try:
                result = graph.run(
                    program, input=value, folder=folder, listener=events.listen, ask=ask, limits=limits, **options
                )
            except (ModelError, Cancelled, LimitExceeded) as error:
                if error.run is not None and language.resumable:
                    error.add_note(f"run {error.run} of {file} is stored. {GO_ON.format(AGAIN, error.run)}")
                raise
            unwritten = events.write()
        print_run(result, events.file, unwritten, steps=None if quiet else language.step_noun)


def print_run(result: RunResult, trace: str | None, unwritten: MemoryGraphError | None, steps: str | None) -> None:
    """Print what a run gave, and end with 1 where its trace could not be written; `steps` is what they are called."""
    failure = MemoryGraphError(f"run {result.run} is stored, and {unwritten}") if unwritten else None
    if output.wants_json():
        shown = {"file": trace} if trace and not failure else result.trace
        errors = output.error_records(failure) if failure else []
        output.print_json({**result.as_dict(), "trace": shown, "errors": errors})
    else:
        output.print_text(result.value if isinstance(result.value, str) else output.to_json(result.value, indent=2))
        if result.summary is not None:
            output.print_text(f"\n{result.summary}")
        if steps is not None:
            count = count_of(len(result.steps), steps)
            output.say(f"{count}; {result.place}")
    if failure:
        output.say_error(failure)
        raise click.exceptions.Exit(failure.exit_code)


def explain_stopped_run(file: str, stop: KeyboardInterrupt, result: RunResult | None = None) -> str:
    """What of a run is stored, and how to go on; with its result, if it has ended."""
    from memorygraph.runtime.runs import RunInterrupted

    if result is not None:
        return f"run {result.run} of {file} has ended, and is stored; `runs show {result.run}` shows it"
    if not isinstance(stop, RunInterrupted):
        return f"the run of {file} had not begun, and nothing is stored; {AGAIN}"
    noun = "node" if stop.resumable else "generation"
    kept = f"run {stop.run} of {file} is stored, with {count_of(stop.done, noun)} that it has completed"
    if stop.resumable:
        return f"{kept}. {GO_ON.format(AGAIN, stop.run)}"
    return f"{kept}. A run of this language begins anew: {AGAIN}"


def ask_for_field(field: Field) -> Any:
    """Ask a person for a field of the input; a value that is not text is given as JSON."""
    text = click.prompt(f"{field.name} ({field.type})", err=True)
    if field.type == "string":
        return text
    try:
        return parse_json(text)
    except ValueError:
        return text


@click.command("repl")
@model_option
@mock_option
@allow_tool_option
@allow_host_option
@allow_namespace_option
@pass_graph
def repl_command(
    graph: MemoryGraph,
    *,
    model: str | None,
    mock: bool,
    allow_tools: tuple[str, ...],
    allow_hosts: tuple[str, ...],
    allow_namespaces: tuple[str, ...],
) -> None:
    """Try AgentScript line by line; `:help` says how.

    The session is kept in the graph as one run. What it may reach is what is allowed here.
    """
    from memorygraph.runtime.agentscript.session import Session
    from memorygraph.runtime.permissions import Permissions

    allowed = Permissions.of(allow_tools, allow_hosts, allow_namespaces=allow_namespaces)
    session = Session(graph, allowed, model, mock, Path(), print_event)
    output.say("AgentScript; :help says how, :quit ends")
    try:
        while (entry := prompt_entry()) is not None:
            execute_entry(session, entry)
    finally:
        session.close()
    output.say(f"kept as run {session.run}")


def prompt_entry() -> str | None:
    """Read a line, and more until all brackets are closed or one is empty; None at the end.

    Brackets inside of texts count too: an empty line ends what they leave open.
    """
    lines: list[str] = []
    while True:
        line = output.prompt_line("…" if lines else "as")
        if line is None and lines:  # what is left open is an error, which is said
            return "\n".join(lines)
        if line is None or line.strip() == ":quit":
            return None
        lines.append(line)
        text = "\n".join(lines)
        still_open = sum(text.count(sign) for sign in "([{") - sum(text.count(sign) for sign in ")]}")
        if not line or still_open <= 0:
            return text


def execute_entry(session: Session, entry: str) -> None:
    """Execute what was typed, or the command that it names, and print the values."""
    command = entry.strip()
    if command in REPL_COMMANDS:
        output.say(REPL_COMMANDS[command](session))
        return
    if command.startswith(":"):
        output.say(f"there is no command {command}\n{REPL_HELP}")
        return
    try:
        for value in session.execute(entry):
            output.print_text(show_value(value))
    except ScriptError as error:
        output.say(str(error))
    except MemoryGraphError as error:
        output.say_error(error)
    except KeyboardInterrupt:
        output.say("stopped; what the entry had done by then stays")


def list_names(session: Session) -> str:
    """The names that are defined, with their values, or what keeps one from being shown."""
    from memorygraph.runtime.agentscript.session import show_data

    def show(value: Any) -> str:
        try:
            return show_value(show_data(value))
        except MemoryGraphError as error:
            return f"({error})"

    return "\n".join(f"{name} = {show(value)}" for name, value in session.scope.variables.items()) or "no names"


def list_context(session: Session) -> str:
    """The context that is declared with `use`."""
    from memorygraph.languages.agentscript.printing import print_expression

    sources = [
        print_expression(declared.use.value) + (f" < {declared.use.budget.text}" if declared.use.budget else "")
        for declared in session.scope.visible()
    ]
    return "\n".join(sources) or "no context"


REPL_COMMANDS = {":help": lambda _: REPL_HELP, ":names": list_names, ":context": list_context}


def show_value(value: Any) -> str:
    """A value as JSON, or what kind of thing it is."""
    from memorygraph.runtime.agentscript.values import describe_value
    from memorygraph.runtime.imports import Capability

    if isinstance(value, Capability):
        return describe_value(value)
    return value if isinstance(value, str) else output.to_json(value, indent=2)


@click.group("programs", cls=output.WholeHelpGroup)
def programs_command() -> None:
    """List, show or forget stored programs; `run --stored NAME` runs one."""


@programs_command.command("list")
@report_from_graph
def list_programs_command(graph: MemoryGraph) -> None:
    """Show every stored program: its name, its language, and when it was loaded."""
    columns = ("name", "language", "file", "loaded at")
    output.print_list(
        graph.programs(), columns, lambda stored: (stored.name, stored.language, stored.file, stored.loaded_at)
    )


@programs_command.command("show")
@click.argument("name", shell_complete=complete_programs)
@report_from_graph
def show_programs_command(graph: MemoryGraph, *, name: str) -> None:
    """Print the source of a stored program."""
    source = graph.program(name).source.text
    if output.wants_json():
        output.print_json({"name": name, "source": source})
    else:
        output.print_file(source, nl=not source.endswith("\n"))


@programs_command.command("forget")
@click.argument("name", shell_complete=complete_programs)
@report_from_graph
def forget_programs_command(graph: MemoryGraph, *, name: str) -> None:
    """Let a program be run by its name no longer; the records of its runs stay."""
    graph.forget_program(name)
    output.print_done({"forgotten": name}, f"forgot the program {name}")


@click.command("graph")
@click.argument("file", metavar="FILE", shell_complete=complete_files)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["mermaid", "svg"]),
    default="mermaid",
    help="Mermaid's language, or a picture.",
)
@click.option(
    "--run",
    "run_",
    metavar="RUN|last",
    shell_complete=complete_runs,
    help="Draw the path of this run on it, or of the `last` one.",
)
@click.option(
    "--output",
    "-o",
    "target",
    metavar="FILE",
    callback=output.stdout_of_dash,
    help="Write it there instead of printing it.",
)
@click.option("--open", "open_", is_flag=True, help="Show it in the browser, as SVG, which needs no network.")
@import_folder_option
@output.json_option
@click.pass_obj
def graph_command(
    settings: Settings,
    *,
    file: str,
    format_: str,
    run_: str | None,
    target: str | None,
    open_: bool,
    import_folder: Path | None,
) -> None:
    """Draw the node graph of a Convo-Lang file, with the path of a run on it when one is given."""
    from memorygraph.compiler.convo import graph_of
    from memorygraph.runtime.convo.imports import resolve_imports
    from memorygraph.runtime.convo.picture import draw

    language = next((each for each in LANGUAGES.values() if each.extension == Path(file).suffix.lower()), None)
    if language is not None and language.name != "convo":
        raise MemoryGraphError(f"{file} is no node graph: by its extension it is {language.name}; {DRAWN}")
    program = resolve_imports(parse(read_script(file), "convo", file=file), Path(file).parent, import_folder)
    if program.problems:
        raise ScriptError(list(program.problems))
    if not graph_of(program.conversation).nodes:
        raise MemoryGraphError(f"{file} is no node graph: it has no nodes; {DRAWN}")
    steps: list[dict[str, Any]] = []
    if run_ is not None:
        from memorygraph.runtime.convo.run import read_run_of

        with settings.connect() as client:
            steps = read_run_of(client.scope, program.source, run_)
    picture = draw(program, format_, steps)
    if target is not None:
        write_shown("picture", picture + "\n", target)
    if open_:
        show_in_browser(PICTURES, draw(program, "svg", steps), str(Path(file).resolve()), run_ or "", Path(file).stem)
    if output.wants_json():
        path = [step["node"] for step in steps]
        output.print_json({"format": format_, "picture": picture, "path": path, "errors": []})
    elif target is None and not open_:
        output.print_file(picture)


def parse_json_argument(given: str, option: str, *, or_text: bool = False) -> Any:
    """The JSON value of an argument, or of the file that it names after `@`; with `or_text` any other text as it is."""
    text = read_script(given[1:]).removeprefix("\ufeff") if given.startswith("@") else given
    try:
        return parse_json(text, strict=or_text)
    except ValueError as error:
        if or_text:
            return text
        example = '\'{"question": "…"}\''
        raise MemoryGraphError(
            f"{option} is not JSON: {error}; write for example {example}, or @ and the name of a file"
        ) from error


def split_pair(given: str, option: str, form: str) -> tuple[str, str]:
    """The two sides of `NAME=VALUE`."""
    name, sign, value = given.partition("=")
    if not sign:
        raise MemoryGraphError(f"{option} takes {form}, and this is {given!r}")
    return name, value
