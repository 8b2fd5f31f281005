"""The commands on nodes, edges and namespaces: `query show neighbours search export delete namespaces`."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from memorygraph.cli.history import as_of, at_option
from memorygraph.cli.output import (
    json_option,
    print_done,
    print_json,
    print_json_list,
    print_rows,
    print_table,
    print_values,
    wants_json,
    whole_output,
)
from memorygraph.cli.settings import Settings, pass_graph

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph


def parameter(text: str) -> tuple[str, Any]:
    """`key=value`; the value is JSON where it can be read as such, and text otherwise."""
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise click.BadParameter(f"{text!r} is not of the form key=value")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


@click.command("query")
@click.argument("cypher")
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="A parameter; may repeat.")
@click.option("--write", is_flag=True, help="Let the query change the graph.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="How long reading may take.  [default: 30]",
)
@json_option
@click.pass_obj
def query_command(
    settings: Settings, *, cypher: str, parameters: tuple[str, ...], write: bool, seconds: float | None
) -> None:
    """Run Cypher and show its rows as they come; it can only read, unless --write is given.

    $namespace is always set. A value of -p is read as JSON where it is JSON, and as text otherwise.
    """
    if write and seconds is not None:
        raise click.UsageError("--seconds is for reading, and does not go with --write")
    values = dict(map(parameter, parameters))
    limit = {} if seconds is None else {"seconds": seconds}
    with settings.connect() as graph:
        rows = iter(graph.query(cypher, values, write=True)) if write else graph.stream(cypher, values, **limit)
        if wants_json():
            print_json_list(rows)
        else:
            print_rows(rows)


@click.command("show")
@click.argument("identifier", metavar="ID")
@at_option
@json_option
@pass_graph
def show_command(graph: MemoryGraph, *, identifier: str, moment: int | datetime | None) -> None:
    """Show the node or the edge with this id, as it is or as it was."""
    element = (graph if moment is None else as_of(graph, moment)).element(identifier)
    kind = type(element).__name__.lower()
    if wants_json():
        print_json({"kind": kind, **element.as_dict()})
    else:
        print_table((kind, ""), list(element.as_dict().items()))


@click.command("neighbours")
@click.argument("identifier", metavar="ID")
@click.option("--depth", default=1, type=click.IntRange(1, 20), metavar="N", help="How many edges away.")
@json_option
@pass_graph
def neighbours_command(graph: MemoryGraph, *, identifier: str, depth: int) -> None:
    """Show the nodes at most so many edges away from a node, in or out, nearest first."""
    found = graph.neighbours(identifier, depth)
    if wants_json():
        print_json([neighbour.as_dict() for neighbour in found])
        return
    rows = [
        (node.distance, node.id, node.name, f"{edge.from_node} {edge.verb} {edge.to_node}", edge.weight)
        for node in found
        for edge in node.edges
    ]
    print_table(("distance", "id", "name", "edge", "weight"), rows)


@click.command("search")
@click.argument("text")
@click.option("--limit", default=10, type=click.IntRange(1, 1000), metavar="N", help="At most so many.")
@json_option
@pass_graph
def search_command(graph: MemoryGraph, *, text: str, limit: int) -> None:
    """Find nodes by the words of their name and data, best first. Any text is a valid search."""
    print_values(
        graph.search(text, limit),
        ("score", "id", "name", "data"),
        lambda hit: (round(hit.score, 2), hit.id, hit.node.name, hit.node.data),
        if_empty="nothing found",
    )


@click.command("export")
@click.option(
    "--format",
    "form",
    default="contextscript",
    type=click.Choice(["contextscript", "jsonl", "graphml", "server-memory"]),
)
@at_option
@pass_graph
def export_command(graph: MemoryGraph, *, form: str, moment: int | datetime | None) -> None:
    """Print the whole namespace, as it is or as it was; as ContextScript it loads back to the same graph."""
    with whole_output() as file:
        (graph if moment is None else as_of(graph, moment)).export_to(file, form)


@click.command("delete")
@click.argument("identifier", metavar="ID")
@json_option
@pass_graph
def delete_command(graph: MemoryGraph, *, identifier: str) -> None:
    """Delete a node with all its edges, or an edge."""
    report = graph.delete(identifier)
    message = f"deleted: {report.nodes_deleted} nodes, {report.edges_deleted} edges"
    print_done({**report.as_dict(), "errors": []}, message)


@click.group("namespaces")
def namespaces_command() -> None:
    """List or drop namespaces."""


@namespaces_command.command("list")
@json_option
@pass_graph
def list_namespaces_command(graph: MemoryGraph) -> None:
    """Show every namespace, its revision, and how much it holds."""
    print_values(graph.namespaces(), ("namespace", "revision", "nodes", "edges"))


@namespaces_command.command("drop")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_obj
def drop_namespaces_command(settings: Settings, *, name: str, yes: bool) -> None:
    """Delete a namespace and all it holds."""
    if not yes:
        click.confirm(f"Delete namespace {name} and everything in it?", abort=True, err=True)
    with settings.connect() as graph:
        dropped = graph.drop_namespace(name)
    print_done(dropped.as_dict(), f"dropped {name}: {dropped.nodes} nodes, {dropped.edges} edges")
