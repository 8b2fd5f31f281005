"""The command `run`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli.output import json_option, print_json, print_text, say
from memorygraph.cli.settings import Settings
from memorygraph.errors import MemoryGraphError, ScriptError
from memorygraph.languages import LANGUAGES, Script, language_of, parse
from memorygraph.scripts import read_script

if TYPE_CHECKING:
    from memorygraph.languages.agentscript.syntax import Field
    from memorygraph.runtime.runs import Event

PRETTY = "pretty"
_SHOWN = 200


model_option = click.option("--model", metavar="NAME", help="Ask this model in place of those that the program names.")
mock_option = click.option("--mock", is_flag=True, help="Ask no model: every answer is the smallest of its shape.")
allow_tool_option = click.option(
    "--allow-tool", "tools", multiple=True, metavar="SCHEME", help="Allow tools: file env http sh mcp."
)
allow_host_option = click.option(
    "--allow-host", "hosts", multiple=True, metavar="HOST[:PORT]", help="Allow HTTP to this host."
)


@click.command()
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
def run(
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
    language = LANGUAGES[program.language]
    value = _input(given, text=language.text_input)
    if program.problems:
        raise ScriptError(list(program.problems))
    if check:
        _print_nothing_wrong(as_json=as_json)
        return
    events: list[Event] = []
    pretty = trace == PRETTY or (language.shows_steps and not quiet and not as_json)
    try:
        with settings.connect() as graph, _folder(file, stored=stored) as folder:
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
                listener=_listener(events, pretty=pretty),
                resume=resume,
                ask=None if as_json or not sys.stdin.isatty() else _ask,
            )
    finally:
        if trace and trace != PRETTY:
            _write_trace(Path(trace), events)
    if as_json:
        shown = {"file": trace} if trace and trace != PRETTY else result.trace
        print_json({**result.as_dict(), "trace": shown, "errors": []})
        return
    text = isinstance(result.value, str)
    print_text(result.value if text else json.dumps(result.value, indent=2, ensure_ascii=False))
    if not quiet:
        count = len(result.steps)
        say(f"{count} {language.step_noun}{'s' * (count != 1)}; run {result.run}, conversation {result.conversation}")


def _folder(file: str, *, stored: bool) -> AbstractContextManager[str | Path]:
    """Where a program finds its files: beside it, and a stored one nowhere."""
    return TemporaryDirectory() if stored else nullcontext(Path(file).parent)


def _input(given: str | None, *, text: bool) -> Any:
    """The value of --input: JSON, or @ and the name of a file that holds it; with `text`, any other text too."""
    if given is None:
        return None
    written = read_script(given[1:]) if given.startswith("@") else given
    try:
        return json.loads(written)
    except (ValueError, RecursionError) as error:
        if text:
            return written
        raise MemoryGraphError(
            f'--input is not JSON: {error}; write for example --input \'{{"question": "…"}}\', or @ and a file'
        ) from error


def _print_nothing_wrong(*, as_json: bool) -> None:
    if as_json:
        print_json({"errors": []})
    else:
        say("no errors")


def _listener(events: list[Event], *, pretty: bool) -> Callable[[Event, int], None]:
    """Keeps the events of the outermost level, and shows all of them where that is wanted."""

    def hear(event: Event, depth: int) -> None:
        if depth == 0:
            events.append(event)
        if pretty:
            pretty_listener(event, depth)

    return hear


def pretty_listener(event: Event, depth: int) -> None:
    """Show an event to people, as soon as it has happened."""
    say("\n".join(f"{'  ' * depth}{line}" for line in _summary(event).splitlines()))


def _summary(event: Event) -> str:
    """An event on a line or two."""
    shown = _SUMMARIES.get(event["kind"])
    return shown(event["data"]) if shown else f"{event['kind']} {_short(event['data'])}"


def _summary_of_step(data: dict[str, Any]) -> str:
    route = f" → {(data['route'] or {}).get('target') or 'exit'}" if data["completed"] else ""
    return f"{data['node']}{route}: {_outcome({**data, 'result': data['output']})}"


def _summary_of_use(data: dict[str, Any]) -> str:
    budget = data["budget"]
    limit = f" < {budget['amount']}{budget['unit'] or ''}" if budget else ""
    return f"use {data['source']}{limit}"


def _summary_of_call(kind: str, *names: str) -> Callable[[dict[str, Any]], str]:
    def summary(data: dict[str, Any]) -> str:
        return f"{kind} {'.'.join(data[name] for name in names)}{_short(data['args'])} → {_outcome(data)}"

    return summary


def _summary_of_generate(data: dict[str, Any]) -> str:
    lines = [f"generate {_short(data['instruction'])} ({_attempts(data['attempts'])}) → {_outcome(data)}"]
    for item in data["context"]["items"]:
        sizes = f"{item['clippedSize']} of {item['originalSize']}" if item["clipped"] else f"{item['originalSize']}"
        lines.append(f"    [{item['index']}] {item['source']}: {sizes} {_short(item['text'])}")
    lines += [f"    not included: {unused['source']}: {unused['reason']}" for unused in data["context"]["unused"]]
    return "\n".join(lines)


_SUMMARIES = {
    "step": _summary_of_step,
    "use": _summary_of_use,
    "generate": _summary_of_generate,
    "tool": _summary_of_call("tool", "tool", "method"),
    "memory": _summary_of_call("memory", "memory", "operation"),
    "agent": _summary_of_call("agent", "agent", "function"),
}


def _attempts(count: int) -> str:
    return f"{count} attempt{'s' * (count != 1)}"


def _outcome(data: dict[str, Any]) -> str:
    return f"failed: {data['error']}" if data.get("error") else _short(data.get("result"))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _write_trace(path: Path, events: list[Event]) -> None:
    try:
        path.write_text(json.dumps(events, indent=2, ensure_ascii=False) + "\n", "utf-8", "backslashreplace")
    except OSError as error:
        raise MemoryGraphError(f"the trace cannot be written to {path}: {error.strerror}") from error


def _ask(field: Field) -> Any:
    """Ask a person for a field of the input; what is no text is given as JSON."""
    text = click.prompt(f"{field.name} ({field.type})", err=True)
    if field.type == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
