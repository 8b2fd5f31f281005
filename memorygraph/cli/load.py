"""The commands `load` and `check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli.output import count_progress, json_option, print_json, print_table, print_text, say
from memorygraph.cli.settings import Settings
from memorygraph.errors import ScriptError
from memorygraph.languages import LANGUAGES, Script, language_of, parse
from memorygraph.scripts import STANDARD_INPUT, read_script

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph
    from memorygraph.graph.loads import LoadReport

_files = click.argument("files", nargs=-1, required=True, metavar="FILE...")
_language = click.option(
    "--language", type=click.Choice(list(LANGUAGES)), help="The language, where the extension does not tell."
)
_strict = click.option("--strict", is_flag=True, help="Accept only the language's original, narrow grammar.")


@click.command()
@_files
@_language
@_strict
@click.option("--dry-run", is_flag=True, help="Do everything, report it, and roll back.")
@click.option("--show-cypher", is_flag=True, help="Print the Cypher that would run, and change nothing.")
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    metavar="N",
    help="Commit every N statements; goes on after a break.",
)
@click.option("--restart", is_flag=True, help="With --batch: begin anew after a break, not where it stopped.")
@json_option
@click.pass_obj
def load(
    settings: Settings,
    *,
    files: tuple[str, ...],
    language: str | None,
    strict: bool,
    dry_run: bool,
    show_cypher: bool,
    batch: int | None,
    restart: bool,
    as_json: bool,
) -> None:
    """Store scripts in the graph, each file in one transaction: all of it, or nothing.

    AgentScript programs and node graphs can then be run by the name of their file: `run --stored NAME`.
    FILE may be - for standard input. The embedded server is started if none runs. With --json one report is
    printed, or, for several files, a list of them.
    """
    if batch is not None and (dry_run or show_cypher):
        raise click.UsageError("--batch cannot be combined with --dry-run or --show-cypher")
    if restart and batch is None:
        raise click.UsageError("--restart goes with --batch")
    if batch is not None:
        with settings.connect() as graph:
            reports = [_load_in_batches(graph, file, language, batch, strict=strict, restart=restart) for file in files]
            _print_reports(settings, graph, reports, as_json=as_json)
        return
    # What is wrong without a database is said before one is started.
    programs = [_readable(file, language, strict=strict) for file in files]
    with settings.connect() as graph:
        if show_cypher:
            _print_cypher(graph, programs, as_json=as_json)
            return
        reports = [_load_at_once(graph, program, dry_run=dry_run) for program in programs]
        _print_reports(settings, graph, reports, as_json=as_json, dry_run=dry_run)


@click.command()
@_files
@_language
@_strict
@json_option
def check(*, files: tuple[str, ...], language: str | None, strict: bool, as_json: bool) -> None:
    """Find what is wrong in scripts, without a database.

    An id that a script does not declare may be stored, so it is no error here; `load --dry-run` asks the
    database too.
    """
    from memorygraph.client import MemoryGraph

    problems = [problem for file in files for problem in MemoryGraph.check(_script(file, language, strict=strict))]
    if problems:
        raise ScriptError(problems)
    if as_json:
        print_json({"errors": []})
    else:
        say("no errors")


def _script(file: str, language: str | None, *, strict: bool) -> Script:
    name = "<stdin>" if file == STANDARD_INPUT else file
    return parse(read_script(file), _language_name(file, language), strict=strict, file=name)


def _readable(file: str, language: str | None, *, strict: bool) -> Script:
    from memorygraph.client import MemoryGraph

    script = _script(file, language, strict=strict)
    if script.problems:
        raise ScriptError(MemoryGraph.check(script))
    return script


def _language_name(file: str, language: str | None) -> str:
    if file == STANDARD_INPUT and language is None:
        return "contextscript"
    return language_of(file, language).name


def _load_at_once(graph: MemoryGraph, program: Script, *, dry_run: bool) -> LoadReport:
    with count_progress(f"storing {Path(program.source.file or '').name}") as bar:
        bar.total(len(program.statements))
        return graph.load(program, dry_run=dry_run, progress=bar.advance)


def _load_in_batches(
    graph: MemoryGraph, file: str, language: str | None, batch: int, *, strict: bool, restart: bool
) -> LoadReport:
    name = _language_name(file, language)
    with count_progress(f"storing {Path(file).name}") as bar:
        return graph.load_file(file, name, strict=strict, batch=batch, restart=restart, progress=bar.advance)


def _print_cypher(graph: MemoryGraph, programs: list[Script], *, as_json: bool) -> None:
    queries = [query for program in programs for query in graph.compile(program)]
    if as_json:
        print_json([{"text": query.text, "parameters": dict(query.parameters)} for query in queries])
    else:
        print_text("\n\n".join(map(str, queries)))


def _print_reports(
    settings: Settings, graph: MemoryGraph, reports: list[LoadReport], *, as_json: bool, dry_run: bool = False
) -> None:
    if as_json:
        documents = [{**report.as_dict(), "errors": []} for report in reports]
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    for report in reports:
        for warning in report.warnings:
            say(f"{warning}\n    (a warning)")
        _print_report(report)
    if dry_run:
        say("a dry run: nothing was stored")
    elif settings.embedded:
        from memorygraph.server.embedded import EmbeddedServer

        click.echo(f"see it in Neo4j Browser: {EmbeddedServer().status().browser_url}")
    else:
        say(f"stored in namespace {graph.namespace} of {graph.connection.uri}")


def _print_report(report: LoadReport) -> None:
    rows: list[tuple[Any, ...]] = [
        ("nodes", report.nodes_created, report.nodes_updated, report.nodes_deleted),
        ("edges", report.edges_created, report.edges_updated, report.edges_deleted),
    ]
    click.echo(
        f"{report.file or 'script'}: {report.statements} statements in {report.elapsed_s:.2f} s, "
        f"revision {report.revision} of namespace {report.namespace}"
    )
    print_table(("", "created", "updated", "deleted"), rows)
    if LANGUAGES[report.language].runner and report.file:
        say(f"it is run by its name: memorygraph run --stored {Path(report.file).stem}")
    if report.resumed_after:
        say(f"went on after statement {report.resumed_after}, where an earlier run stopped")
