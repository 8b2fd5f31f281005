"""The commands on the graph, as it is and as it was, and on its namespaces."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from datetime import datetime
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli import output
from memorygraph.cli.completion import complete_ids, complete_namespaces
from memorygraph.cli.forgetting import report_expired
from memorygraph.cli.settings import Seconds, Settings, report_from_graph
from memorygraph.cli.stopping import AGAIN, NOTHING_DONE, NOTHING_PRINTED, STORED_STAYS, explaining_stop
from memorygraph.context.labels import one_line
from memorygraph.errors import NotFoundError
from memorygraph.home import namespace_option
from memorygraph.json_text import parse_json
from memorygraph.limits import MAX_READ_SECONDS
from memorygraph.scripts import STANDARD_INPUT, read_script
from memorygraph.sentences import ask_meant, count_of, counted

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph
    from memorygraph.graph.bundles import BundleReport
    from memorygraph.graph.elements import Hit
    from memorygraph.graph.history import Change, Revision, Snapshot
    from memorygraph.graph.losses import Losses
    from memorygraph.graph.namespace import NamespaceInfo


COUNTED = ("nodes", "edges", "conversations", "messages", "programs", "runs")
NOT_AS_OF = {"bundle": "a bundle has the whole history", "server-memory": "server-memory has the entities of now"}


class Moment(click.ParamType[int | datetime]):
    """A revision, by its number, or a time in ISO 8601; one without a zone is local."""

    name = "REVISION|TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | datetime:
        """The number or the time that was given."""
        if value.isdecimal():
            return int(value)
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is neither a revision nor a time such as 2026-01-31T18:00", param, ctx)


at_option = click.option("--at", "moment", type=Moment(), help="As it was at a revision or at a time.")


def as_of(graph: MemoryGraph, moment: int | datetime) -> Snapshot:
    """The graph as it was."""
    return graph.at(time=moment) if isinstance(moment, datetime) else graph.at(moment)


def parameter(text: str) -> tuple[str, Any]:
    """`key=value`; the value is JSON where it can be read as such, and text otherwise."""
    name, separator, value = text.partition("=")
    name = name.strip()
    if not separator or not name:
        raise click.BadParameter(f"{text!r} is not of the form key=value")
    try:
        return name, parse_json(value, strict=True)
    except ValueError:
        return name, value


@click.command("query")
@click.argument("cypher")
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="A parameter; may repeat.")
@click.option("--write", is_flag=True, help="Let the query change the graph.")
@click.option(
    "--seconds",
    type=Seconds(min=0, min_open=True, max=MAX_READ_SECONDS),
    metavar="N",
    help="How long reading may take.  [default: 30]",
)
@output.json_option
@click.pass_obj
def query_command(
    settings: Settings, *, cypher: str, parameters: tuple[str, ...], write: bool, seconds: float | None
) -> None:
    """Run Cypher and show its rows as they come; it can only read, unless --write is given.

    For `-` the Cypher is read from standard input. $namespace is always set. A value of -p is read as JSON where it is
    JSON, and as text otherwise. Dates, times and durations are shown as their ISO 8601 text, a point as an object with
    its srid and its coordinates.
    """
    if write and seconds is not None:
        raise click.UsageError("--seconds is for reading, and does not go with --write")
    if cypher == STANDARD_INPUT:
        cypher = read_script(cypher)
    values = dict(map(parameter, parameters))
    if write:
        run_writing_query(settings, cypher, values)
        return
    from memorygraph.graph.typed_json import show_row

    limit = {} if seconds is None else {"seconds": seconds}
    with settings.connect() as graph:
        rows = map(show_row, graph.stream(cypher, values, **limit))
        if output.wants_json():
            output.print_json_list(rows)
        else:
            output.print_rows(rows)


def run_writing_query(settings: Settings, cypher: str, values: dict[str, Any]) -> None:
    """Run Cypher that may change the graph, and show its rows; stopped by Ctrl-C, say whether it has run."""
    from memorygraph.graph.typed_json import show_row

    rows: list[dict[str, Any]] | None = None
    changed: dict[str, int] = {}

    def explain(_: KeyboardInterrupt) -> str:
        return STORED_STAYS if rows is None else "the query has run, and what it wrote is stored"

    with explaining_stop(explain), settings.connect() as graph:
        rows = [show_row(row) for row in graph.query(cypher, values, write=True, changed=changed.update)]
        if output.wants_json():
            output.print_json(rows)
        elif rows:
            output.print_rows(rows)
        output.say(", ".join(starmap(count_changed, changed.items())) or "nothing changed")


def count_changed(name: str, count: int) -> str:
    """What one of Neo4j's counters says.

    >>> count_changed("nodes_created", 2), count_changed("properties_set", 1)
    ('2 nodes created', '1 property set')
    """
    things, _, how = name.partition("_")
    one = {"properties": "property", "indexes": "index"}.get(things, things.removesuffix("s"))
    return f"{count} {one if count == 1 else things} {how}"


@click.command("show")
@click.argument("identifier", metavar="ID", shell_complete=complete_ids)
@at_option
@report_from_graph
def show_command(graph: MemoryGraph, *, identifier: str, moment: int | datetime | None) -> None:
    """Show the node or the edge with this id, as it is or as it was, and by which address PETE names a node.

    Without --at, ID can be an address, too: memory:N. A node that has no address yet gets one.
    """
    element = (graph if moment is None else as_of(graph, moment)).element(identifier)
    kind = type(element).__name__.lower()
    values = element.as_dict()
    if moment is None and kind == "node":
        values["address"] = graph.address(element.id)
    if output.wants_json():
        output.print_json({"kind": kind, **values})
    else:
        output.print_table((kind, ""), list(values.items()))


@click.command("neighbours")
@click.argument("identifier", metavar="ID", shell_complete=complete_ids)
@click.option("--depth", default=1, type=click.IntRange(1, 20), metavar="N", help="How many edges away.")
@report_from_graph
def neighbours_command(graph: MemoryGraph, *, identifier: str, depth: int) -> None:
    """Show the nodes at most --depth edges away from a node, in or out, nearest first."""
    found = graph.neighbours(identifier, depth)
    if output.wants_json():
        output.print_json([neighbour.as_dict() for neighbour in found])
        return
    rows = [
        (node.distance, node.id, node.name, f"{edge.from_node} {edge.verb} {edge.to_node}", edge.weight)
        for node in found
        for edge in node.edges
    ]
    output.print_table(("distance", "id", "name", "edge", "weight"), rows)


@click.command("search")
@click.argument("text")
@click.option("--limit", default=10, type=click.IntRange(1, 1000), metavar="N", help="The most to show.")
@click.option("--fuzzy", is_flag=True, help="Words may be a letter off, and long ones two.")
@report_from_graph
def search_command(graph: MemoryGraph, *, text: str, limit: int, fuzzy: bool) -> None:
    """Find nodes by the words of their name and data, best first. Any text is a valid search."""

    def say(hit: Hit) -> str:
        about = one_line(" and ".join(hit.about))
        return f"{about}: {hit.node.data}" if about else hit.node.data

    hits = graph.search(text, limit, fuzzy=fuzzy)
    meant = "" if hits or output.wants_json() else ask_meant(graph.suggest(text))
    output.print_list(
        hits,
        ("score", "id", "name", "data"),
        lambda hit: (round(hit.score, 2), hit.id, hit.node.name, say(hit)),
        if_empty=f"nothing found{meant}",
    )


@click.command("export")
@click.option(
    "--format",
    "form",
    default="contextscript",
    type=click.Choice(["contextscript", "bundle", "jsonl", "graphml", "server-memory"]),
    help="What is printed; a bundle is all of the namespace.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 where anything is left out or warned of.")
@click.option(
    "--output",
    "path",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    callback=output.stdout_of_dash,
    help="Write a bundle; a stopped one goes on.",
)
@at_option
@output.json_option
@click.pass_context
def export_command(
    ctx: click.Context, *, form: str, strict: bool, path: str | None, moment: int | datetime | None
) -> None:
    """Print the namespace, as it is or as it was; a bundle is all of it, and is imported to the same namespace.

    ContextScript has the nodes and edges; `load` reads it again, and `import` a bundle and server-memory. jsonl and
    graphml are for other programs. What an export could not say is listed on stderr. It is printed when all of it was
    read; into a pipe the first lines of contextscript, jsonl and graphml come before, for `head` and pagers.
    With --output an interrupted export of a bundle goes on when it is run again; where the namespace has changed since,
    it begins again and says so.
    """
    if moment is not None and form in NOT_AS_OF:
        raise click.UsageError(f"{NOT_AS_OF[form]}: --at goes with contextscript, jsonl and graphml")
    if path is not None and form != "bundle":
        raise click.UsageError("--output goes with --format bundle; the other formats are printed")
    if output.wants_json() and path is None:
        raise click.UsageError("--json prints the report of --output; an export is printed as it is")
    left_out = _print_export(ctx, form, moment) if path is None else _write_bundle(ctx, path)
    if left_out:
        more = "" if form == "bundle" else "; --format bundle has all of a namespace"
        output.say(f"not in this export{more}:")
        for line in left_out.lines():
            output.say(f"  {line}")
    ctx.exit(1 if strict and (left_out or ctx.meta.get(output.WARNED)) else 0)


def _print_export(ctx: click.Context, form: str, moment: int | datetime | None) -> Losses:
    printed = False
    with (
        explaining_stop(lambda _: "all of it is printed" if printed else NOTHING_PRINTED),
        ctx.obj.connect() as graph,
    ):
        _warn_of_unwritten(ctx, graph)
        output.print_in_utf_8()
        # The bar is the last to come and the first to go, before the file is printed.
        reading = output.progress_bar("reading the graph")
        with output.whole_output() as file, reading as bar:
            if moment is None:
                _expect_elements(graph, bar)
            file.listener = bar.at
            if output.is_piped() and form != "bundle":  # which is a backup: all of it or nothing
                file.first_at_once = bar.stop
            left_out = (graph if moment is None else as_of(graph, moment)).export_to(file, form)
        printed = True
    return left_out


def _write_bundle(ctx: click.Context, path: str) -> Losses:
    report: BundleReport | None = None

    def explain(_: KeyboardInterrupt) -> str:
        if report is not None:
            return f"{path} is written"
        if not Path(partial := f"{path}.partial").exists():
            return NOTHING_DONE
        return f"what was read by then is in {partial}; {AGAIN} to go on"

    with explaining_stop(explain), ctx.obj.connect() as graph:
        _warn_of_unwritten(ctx, graph)
        with output.progress_bar("reading the graph") as bar:
            _expect_elements(graph, bar)
            report = graph.export_bundle(path, progress=bar.advance)
        resumed = f"; {report.resumed_after} lines were written before" if report.resumed_after else ""
        again = f"; begun again: {report.began_again}" if report.began_again else ""
        message = f"exported {report.nodes} nodes, {report.relationships} relationships to {path}{resumed}{again}"
        output.print_done({**report.as_dict(), "errors": []}, message)
    return report.left_out


def _warn_of_unwritten(ctx: click.Context, graph: MemoryGraph) -> None:
    """Warn of a namespace that is empty because nothing was ever stored in it: its name may be mistyped."""
    if not graph.scope.read("read/revision") and not graph.ids(limit=1):  # raw Cypher leaves no revision
        said = f"nothing was ever stored in namespace `{graph.namespace}`; `memorygraph namespaces list` shows all"
        output.warn(ctx, said, output.code_of_kind(NotFoundError.__name__))


def _expect_elements(graph: MemoryGraph, bar: output.Bar) -> None:
    """Tell a bar on a terminal how much there is to read."""
    from memorygraph.graph.namespace import find_namespace

    if sys.stderr.isatty():
        with suppress(NotFoundError):  # nothing was stored in it
            found = find_namespace(graph.scope)
            bar.total(found.nodes + found.edges)


@click.command("delete")
@click.argument("identifier", metavar="ID", shell_complete=complete_ids)
@click.option(
    "--batch", type=click.IntRange(min=1), metavar="N", help="Delete N edges or facts at a time, then the node."
)
@report_from_graph
def delete_command(graph: MemoryGraph, *, identifier: str, batch: int | None) -> None:
    """Delete a node with its edges and what is its alone, as its observations, or an edge.

    A node with tens of thousands of observations, edges or facts is too large for one transaction: --batch 10000
    deletes it in parts.
    """
    report = graph.delete(identifier, batch=batch)
    message = f"deleted: {report.nodes_deleted} nodes, {report.edges_deleted} edges"
    output.print_done({**report.as_dict(), "errors": []}, message)


@click.command("duplicates")
@click.option("--limit", default=100, type=click.IntRange(1, 100_000), metavar="N", help="The most to show.")
@report_from_graph
def duplicates_command(graph: MemoryGraph, *, limit: int) -> None:
    """Find entities that are likely one: by their names, by one edit in a long name, and by equal neighbours.

    Nothing is changed. The first of each has the most edges; `memorygraph merge ID INTO_ID` joins another with it.
    """
    found = graph.duplicates(limit)
    if output.wants_json():
        output.print_json([each.as_dict() for each in found])
        return
    rows = [
        (each.reason if first else "", entity.id, entity.name, entity.kind, entity.edges)
        for each in found
        for first, entity in ((entity is each.entities[0], entity) for entity in each.entities)
    ]
    output.print_table(("why", "id", "name", "type", "edges"), rows)
    if not found:
        output.say("no entities look like one")


@click.command("merge")
@click.argument("merged", metavar="ID", shell_complete=complete_ids)
@click.argument("into", metavar="INTO_ID", shell_complete=complete_ids)
@click.option("--dry-run", is_flag=True, help="Do everything, report it, and roll back.")
@report_from_graph
def merge_command(graph: MemoryGraph, *, merged: str, into: str, dry_run: bool) -> None:
    """Join the entity ID with INTO_ID, which gets its edges, observations and messages, and its name as an alias.

    An ID can be an address (memory:N), a name that only one entity has, or an alias. `memorygraph undo` takes it back.
    """
    done = graph.merge(merged, into, dry_run=dry_run)
    if output.wants_json():
        output.print_json({**done.as_dict(), "errors": []})
        return
    shown = [(name.replace("_", " "), count) for name, count in done.counts.items()]
    output.print_table(("", ""), [*shown, ("aliases", ", ".join(done.aliases))])
    if dry_run:
        output.say("a dry run: nothing was changed")
        return
    revision, namespace = done.report.revision, done.report.namespace
    output.say(
        f"{done.merged.id} is {done.into.id} ({done.into.label}) now; revision {revision} of namespace {namespace}, "
        f"which `memorygraph{namespace_option(namespace)} undo {revision}` takes back"
    )


@click.group("namespaces", cls=output.WholeHelpGroup)
def namespaces_command() -> None:
    """List or drop namespaces."""


@namespaces_command.command("list")
@report_from_graph
def list_namespaces_command(graph: MemoryGraph) -> None:
    """Show every namespace, its revision, and how much it holds."""
    found = graph.namespaces()
    columns = ("namespace", "revision", *COUNTED)
    output.print_list(found, columns, lambda n: (n.name, n.revision, *(getattr(n, count) for count in COUNTED)))
    for namespace in found:
        if namespace.dropping:
            finish = f"`memorygraph namespaces drop {shlex.quote(namespace.name)} --yes`"
            output.say(f"the drop of {namespace.name} was interrupted; {finish} finishes it")


@namespaces_command.command("drop")
@click.argument("name", shell_complete=complete_namespaces)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would be deleted, and delete nothing.")
@report_from_graph
def drop_namespaces_command(graph: MemoryGraph, *, name: str, yes: bool, dry_run: bool) -> None:
    """Delete a namespace and all it holds: graph, history, conversations, programs and runs.

    What it holds is said before. A large one takes several transactions; a drop that was interrupted is finished by
    the same command. Nodes that raw Cypher made stay, whatever their property `namespace`. What this machine keeps of
    it goes as well: journals of runs, and records that wait to be written.
    """
    held = graph.drop_namespace(name, dry_run=True)
    output.say(f"namespace {name} holds {describe_namespace(held)}")
    if not yes and not dry_run:
        output.confirm(f"Delete namespace {name} and everything in it?")
    dropped = held if dry_run else graph.drop_namespace(name)
    done = "a dry run: nothing was deleted" if dry_run else f"dropped {name}: {describe_namespace(dropped)}"
    output.print_done(dropped.as_dict(), done)


def describe_namespace(held: NamespaceInfo) -> str:
    """How much a namespace holds: `2 nodes, 1 edge, 0 conversations, …`."""
    counts = [count_of(getattr(held, name), name.removesuffix("s")) for name in COUNTED]
    return ", ".join([*counts, count_of(held.former, "former state")])


@click.command("history")
@click.argument("identifier", metavar="ID", shell_complete=complete_ids)
@report_from_graph
def history_command(graph: MemoryGraph, *, identifier: str) -> None:
    """Show who changed a node or an edge, when and from what; also of one that is deleted."""
    output.print_list(
        graph.history(identifier),
        ("revision", "at", "", "what", "by", "file"),
        lambda c: (c.revision, output.format_time(c.at), c.action, difference_of(c), asked_by(c), c.file),
    )


@click.command("revisions")
@click.option("--limit", default=20, type=click.IntRange(1, 100_000), metavar="N", help="The most to show.")
@report_from_graph
def revisions_command(graph: MemoryGraph, *, limit: int) -> None:
    """List the loads of the namespace, the newest first."""

    def row(of: Revision) -> tuple[Any, ...]:
        what = f"undo of {of.undoes}" if of.undoes else of.language
        return of.revision, output.format_time(of.at), what, counted(of.counts), asked_by(of), of.file

    columns = ("revision", "at", "what", "changed", "by", "file")
    output.print_list(graph.revisions(limit), columns, row, if_empty="nothing was ever loaded here")


@click.command("undo")
@click.argument("revision", type=click.IntRange(min=1))
@click.option("--dry-run", is_flag=True, help="Do everything, report it, and roll back.")
@report_from_graph
def undo_command(graph: MemoryGraph, *, revision: int, dry_run: bool) -> None:
    """Take back what a revision did, by a new one; refused if a later one has changed that, or needs it.

    What it created is deleted, what it changed or deleted becomes what it was. An undo can be undone, too. A load of a
    program or of a thought can't be: `programs forget` and `delete` take these away.
    """
    report = graph.undo(revision, dry_run=dry_run)
    if output.wants_json():
        output.print_json({**report.as_dict(), "errors": []})
        return
    output.print_text(f"revision {revision} {'would be undone: ' if dry_run else 'undone by '}{report.place}")
    output.print_counts(report)
    if dry_run:
        output.say("a dry run: nothing was changed")


@click.command("purge")
@click.option("--before", type=click.IntRange(min=0), metavar="REVISION", help="Keep what was so from this one on.")
@click.option("--expired", is_flag=True, help="Forget what has expired, and say what has since the last time.")
@click.option("--dry-run", is_flag=True, help="With --expired: only say it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@report_from_graph
def purge_command(graph: MemoryGraph, *, before: int | None, expired: bool, dry_run: bool, yes: bool) -> None:
    """Forget what was deleted and what was changed from; the present stays. This cannot be undone.

    With --expired it forgets instead what `expire` had an end for, and does not ask.
    """
    if expired:
        if before is not None:
            raise click.UsageError("--expired has no --before")
        report_expired(graph, dry_run=dry_run)
        return
    if dry_run:
        raise click.UsageError("--dry-run is for --expired")
    if not yes:
        what = "everything that is no longer so" if before is None else f"what was so before revision {before}"
        output.confirm(f"Forget {what} in namespace {graph.namespace}?")
    forgotten = graph.purge(before)
    output.print_done({"forgotten": forgotten}, f"forgotten: {forgotten} former states of nodes and edges")


def asked_by(of: Change | Revision) -> str:
    """Who asked for a load, with which model, and where: `chat (gpt-5-mini) in chat`."""
    model = f"({of.model})" if of.model and of.by else of.model
    return " ".join(part for part in (of.by, model, of.conversation and f"in {of.conversation}") if part)


def difference_of(change: Change) -> str:
    """The values of an element that differ: `name: Ada → Ada Lovelace`."""
    before, after = change.before or {}, change.after or {}
    if not (before and after):
        return ", ".join(f"{name}: {value}" for name, value in (before or after).items())
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return ", ".join(f"{name}: {before.get(name)} → {after.get(name)}" for name in names)
