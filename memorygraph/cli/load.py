"""The commands `load` and `check`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from memorygraph.cli import output
from memorygraph.cli.completion import complete_files
from memorygraph.cli.server import embedded_server
from memorygraph.cli.settings import Settings, combine
from memorygraph.cli.stopping import AGAIN, Interrupted, explaining_stop, is_stored, newest_revision
from memorygraph.errors import ConnectionError, MemoryGraphError, NotFoundError, Problem, ScriptError, TooLargeError
from memorygraph.home import namespace_option
from memorygraph.languages import LANGUAGES, Script, language_of, parse
from memorygraph.scripts import STANDARD_INPUT, read_script
from memorygraph.sentences import count_of

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph
    from memorygraph.graph.loads import LoadReport
    from memorygraph.graph.namespace import Namespace
    from memorygraph.query import Query

Result = TypeVar("Result")

UNREAD_CODES = {"syntax", "too-large", "unclosed-string"}  # of a text in which a statement cannot be read

script_options = combine(
    click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=complete_files),
    click.option(
        "--language", type=click.Choice(list(LANGUAGES)), help="The language, where the extension does not tell."
    ),
    click.option("--strict", is_flag=True, help="Accept only the language's original, narrow grammar."),
)

import_folder_option = click.option(
    "--import-folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Let `@import` of Convo-Lang read files anywhere in DIR, and not only in the folder of FILE.",
)


@click.command("load")
@script_options
@click.option("--dry-run", is_flag=True, help="Do everything, report it, and roll back.")
@click.option("--show-cypher", is_flag=True, help="Print the Cypher that would run, and change nothing.")
@click.option(
    "--batch", type=click.IntRange(min=1), metavar="N", help="Commit every N statements; goes on after a break."
)
@click.option("--restart", is_flag=True, help="With --batch: begin anew after a break, not where it stopped.")
@output.json_option
@click.pass_obj
def load_command(
    settings: Settings,
    *,
    files: tuple[str, ...],
    language: str | None,
    strict: bool,
    dry_run: bool,
    show_cypher: bool,
    batch: int | None,
    restart: bool,
) -> None:
    """Store scripts in the graph, each file in one transaction: all of it, or nothing.

    Several files are stored in their order. Where one is refused, those before it stay, and those after it are not
    tried. A dry run tries each of them after those before it, all in one transaction, and stores none.

    AgentScript programs and node graphs can then be run by the name of their file: `run --stored NAME`.
    FILE may be - for standard input. The embedded server is started if none runs, but not for a file that is wrong:
    such a file is held against the graph, too, where a server runs. With --json one report is printed, or, for several
    files, a list of them; where one is refused, those of the files before it are `stored`, beside the `errors`, and
    `stored_statements` says how many statements of its own are, in batches.
    """
    if batch is not None and (dry_run or show_cypher):
        raise click.UsageError("--batch cannot be combined with --dry-run or --show-cypher")
    if restart and batch is None:
        raise click.UsageError("--restart goes with --batch")
    reports: list[LoadReport] = []
    with explaining_stop(lambda _: describe_end(reports, dry_run=dry_run)):
        if batch is not None:
            names = [(file, language_name(file, language)) for file in files]
            with settings.connect() as graph:
                store_file = partial(graph.load_file, strict=strict, batch=batch, restart=restart)
                loads = [PlannedLoad(file, partial(store_file, file, name)) for file, name in names]
                reports = store_all(graph, loads, batched=True)
                print_reports(settings, graph, reports)
            return
        # No server is started for files that are wrong.
        scripts = read_all(files, partial(read_sound_file, settings, files[0], language=language, strict=strict))
        with settings.connect() as graph:
            if show_cypher:
                print_queries(compile_all(graph, scripts))
                return
            loads = [PlannedLoad(str(s.source.file), partial(graph.load, s), len(s.statements)) for s in scripts]
            reports = try_all(graph, scripts) if dry_run else store_all(graph, loads)
            print_reports(settings, graph, reports, dry_run=dry_run)


class PlannedLoad(NamedTuple):
    """A file to be stored, what stores it, and the number of its statements, where that is known before."""

    file: str
    store: Callable[..., LoadReport]
    statements: int | None = None


def store_all(graph: MemoryGraph, loads: Sequence[PlannedLoad], *, batched: bool = False) -> list[LoadReport]:
    """Store files one after the other, each with a bar; stopped by Ctrl-C, say what is stored."""
    reports: list[LoadReport] = []
    done = 0
    before: int | None = None  # the newest revision when the store of a file began

    def explain(_: KeyboardInterrupt) -> str:
        stored = done if batched else int(is_stored(graph, loads[len(reports)].file, before))
        return explain_stopped_load(loads, reports, stored, batched=batched)

    def advance(number: int) -> None:
        nonlocal done
        done += number
        bar.advance(number)

    def explain_unfinished(error: MemoryGraphError) -> output.UnfinishedError:
        kept: int | None = error.stored_statements if isinstance(error, ScriptError) else done if batched else 0
        if isinstance(error, ConnectionError) and error.outcome_unknown:
            kept = None
        stays = describe_all_stored(loads, reports, kept, batched=batched)
        return output.UnfinishedError(error, stays, reports, kept)

    for load in loads:
        before, done = None, 0
        try:
            with explaining_stop(explain), output.progress_bar(f"storing {Path(load.file).name}") as bar:
                before = newest_revision(graph)
                if load.statements is not None:
                    bar.total(load.statements)
                more = {"checked": bar.total} if batched else {}
                report = load.store(progress=advance, **more)
            reports.append(report)
        except MemoryGraphError as error:
            # An error of a script says itself up to where its batches are stored.
            is_told = not reports and (isinstance(error, ScriptError) or not (batched and done))
            if is_told or isinstance(error, Interrupted):
                raise
            raise explain_unfinished(error) from error
    return reports


def try_all(graph: MemoryGraph, scripts: Sequence[Script]) -> list[LoadReport]:
    """Do what `store_all` does, and roll it back."""

    def try_file(namespace: Namespace, script: Script) -> LoadReport:
        with output.progress_bar(f"trying {Path(str(script.source.file)).name}") as bar:
            bar.total(len(script.statements))
            report: LoadReport = LANGUAGES[script.language].load(namespace, script, progress=bar.advance)
            return report.of_dry_run()

    return rehearse_each(graph, scripts, try_file)


def compile_all(graph: MemoryGraph, scripts: Sequence[Script]) -> list[Query]:
    """Compile files, each on what those before it would store."""

    def compile_file(namespace: Namespace, script: Script) -> list[Query]:
        language = LANGUAGES[script.language]
        queries = language.compile(namespace, script)
        language.load(namespace, script)
        return queries

    # One file alone needs no transaction that writes.
    return graph.compile(scripts[0]) if len(scripts) == 1 else [*chain(*rehearse_each(graph, scripts, compile_file))]


def rehearse_each(
    graph: MemoryGraph, scripts: Sequence[Script], work: Callable[[Namespace, Script], Result]
) -> list[Result]:
    """Do some work with each file in one transaction, and roll it back: a file may need what is in those before it."""
    from memorygraph.graph.namespace import rehearse

    begun: list[Script] = []

    def work_on(namespace: Namespace, script: Script) -> Result:
        begun.append(script)
        return work(namespace, script)

    try:
        return rehearse(graph.scope, lambda namespace: [work_on(namespace, script) for script in scripts])
    except TooLargeError as error:
        if begun[-1] is scripts[0] or error.__cause__ is None:  # this file alone is too large
            raise
        raise TooLargeError(
            f"{begun[-1].source.file} is too large for one transaction together with the files before it, "
            "which a dry run and --show-cypher try all in one, and `load` stores each in its own. Nothing was changed: "
            "try fewer files at a time, or load those first that the others need"
        ) from error


def explain_stopped_load(
    loads: Sequence[PlannedLoad], reports: Sequence[LoadReport], stored: int, *, batched: bool
) -> str:
    """What of several files is stored, and how to go on; of the file after the reports it is `stored` statements."""
    said = describe_all_stored(loads, reports, stored, batched=batched)
    how = "to go on from there" if stored and batched else "what is stored already stays as it is"
    return f"{said}; {AGAIN}{' ' if stored and batched else ': '}{how}"


def describe_all_stored(
    loads: Sequence[PlannedLoad], reports: Sequence[LoadReport], stored: int | None, *, batched: bool
) -> str:
    """Say what of several files is stored; None where this is not known of the file after the reports."""
    file = loads[len(reports)].file
    said = [*map(describe_stored, reports)]
    if stored is None:
        said.append(f"of {file} this is not known")
    elif stored and batched:
        said.append(f"of {file} the batches up to statement {stored} are stored")
    else:
        said.append(f"{file} is stored" if stored else f"nothing of {file} is stored")
    if rest := len(loads) - len(reports) - 1:
        said.append(f"{'nothing' if stored else 'nor'} of {count_of(rest, 'file')} after it")
    return ", ".join(said)


@click.command("check")
@script_options
@import_folder_option
@output.json_option
def check_command(*, files: tuple[str, ...], language: str | None, strict: bool, import_folder: Path | None) -> None:
    """Find what is wrong in scripts, without a database.

    An id that a script does not declare may be stored, so it is no error here; `load --dry-run` asks the
    database too.
    """
    from memorygraph.client import MemoryGraph

    warnings: list[Problem] = []

    def check_file(file: str) -> None:
        script = resolve_file_imports(parse_file(file, language, strict=strict), file, import_folder)
        warnings.extend(MemoryGraph.find_warnings(script))
        if problems := MemoryGraph.check(script):
            raise ScriptError(problems)

    try:
        read_all(files, check_file)
    except MemoryGraphError:
        output.warn_beside(warnings)
        raise
    output.print_checked(warnings)


def read_all(files: Iterable[str], read: Callable[[str], Result]) -> list[Result]:
    """Read each of several files; raise what is wrong in any of them, and not only in the first."""
    results: list[Result] = []
    errors: list[MemoryGraphError] = []
    for file in files:
        try:
            results.append(read(file))
        except MemoryGraphError as error:
            errors.append(error)
    if errors:
        raise errors[0] if len(errors) == 1 else output.FilesError(errors)
    return results


def read_sound_file(settings: Settings, first: str, file: str, language: str | None, *, strict: bool) -> Script:
    """Parse a file; raise what is wrong in it. The graph is asked of the first: others may need what is in that."""
    from memorygraph.client import MemoryGraph

    script = parse_file(file, language, strict=strict)
    if script.problems:
        if file == first:
            refuse_by_graph(settings, script)
        raise ScriptError(MemoryGraph.check(script))
    return script


def refuse_by_graph(settings: Settings, script: Script) -> None:
    """Raise what is wrong in a script, also by what is stored, if all of it was read and no server need be started."""
    is_read = UNREAD_CODES.isdisjoint(problem.code for problem in script.problems)
    if not is_read or not LANGUAGES[script.language].graph_ids or settings.is_gone():
        return
    try:
        with settings.connect(start=False) as graph:
            graph.compile(script)
    except ConnectionError as error:
        output.say(f"the graph was not asked what else is wrong: {error}")


def parse_file(file: str, language: str | None, *, strict: bool) -> Script:
    """Parse a file, or standard input for `-`."""
    shown = "<stdin>" if file == STANDARD_INPUT else file
    return parse(read_script(file), language_name(file, language), strict=strict, file=shown)


def resolve_file_imports(script: Script, file: str, import_folder: Path | None) -> Script:
    """Read what a script imports from beside its file; standard input lies in no folder."""
    if file == STANDARD_INPUT:
        return script
    return LANGUAGES[script.language].resolve_imports(script, Path(file).parent, import_folder)


def language_name(file: str, language: str | None) -> str:
    """The name of a file's language: as given, or by its extension; standard input is ContextScript."""
    try:
        return language_of(None if file == STANDARD_INPUT else file, language).name
    except NotFoundError as error:
        raise NotFoundError(f"{file}: {error}; name one of them with --language") from error


def print_queries(queries: list[Query]) -> None:
    """Print Cypher with its parameters, ready to be pasted into Neo4j Browser."""
    if output.wants_json():
        output.print_json([{"text": query.text, "parameters": dict(query.parameters)} for query in queries])
    else:
        output.print_text("\n\n".join(map(str, queries)))


def print_reports(settings: Settings, graph: MemoryGraph, reports: list[LoadReport], *, dry_run: bool = False) -> None:
    """Print what loads have stored, with their warnings, and where it can be seen."""
    if output.wants_json():
        documents = [{**report.as_dict(), "errors": []} for report in reports]
        output.print_json(documents[0] if len(documents) == 1 else documents)
        return
    for report in reports:
        output.say_warnings(report.warnings)
        print_report(report)
        if not dry_run:
            say_how_to_run(report)
    say_place(settings, graph, dry_run=dry_run)


def describe_end(reports: Sequence[LoadReport], *, dry_run: bool) -> str:
    """Say what is stored where the command is stopped before it has stored any file, or after the last."""
    if dry_run and reports:
        return "nothing is stored: it was a dry run"
    return "; ".join(map(describe_stored, reports)) if reports else f"nothing is stored; {AGAIN}"


def describe_stored(report: LoadReport) -> str:
    """Say that a file is stored."""
    return f"{report.file or 'the script'} is stored (revision {report.revision})"


def say_place(settings: Settings, graph: MemoryGraph, *, dry_run: bool) -> None:
    """Say where what was stored can be seen."""
    if dry_run:
        output.say("a dry run: nothing was stored")
    elif settings.embedded and (url := embedded_server().status().browser_url):  # it may have been stopped meanwhile
        output.print_text(f"see it in Neo4j Browser: {url}")
    else:
        output.say(f"stored in namespace {graph.namespace} of {graph.connection.uri}")


def print_report(report: LoadReport) -> None:
    """Print what one load has stored."""
    output.print_text(
        f"{report.file or 'script'}: {report.statements} statements in {report.elapsed_s:.2f} s, {report.place}"
    )
    output.print_counts(report)
    if report.resumed_after:
        output.say(
            f"went on after statement {report.resumed_after}, where an earlier run stopped (--restart begins anew)"
        )


def say_how_to_run(report: LoadReport) -> None:
    """Say how a program that is stored now is run."""
    if LANGUAGES[report.language].runner and report.file:
        name = shlex.quote(Path(report.file).stem)
        output.say(f"it is run by its name: memorygraph{namespace_option(report.namespace)} run --stored {name}")
