"""The commands that read the graph: `query show neighbours search export`."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import click

from memorygraph.cli.history import as_of, at_option
from memorygraph.cli.output import json_option, print_json, print_json_list, print_rows, print_table, say, whole_output
from memorygraph.cli.settings import Settings


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
    settings: Settings,
    *,
    cypher: str,
    parameters: tuple[str, ...],
    write: bool,
    seconds: float | None,
    as_json: bool,
) -> None:
    """Run Cypher and show its rows as they come; it can only read, unless --write is given.

    $namespace is always set. A value of -p is read as JSON where it is JSON, and as text otherwise.
    """
    if write and seconds is not None:
        raise click.UsageError("--seconds is for reading, and does not go with --write")
    values = dict(map(parameter, parameters))
    with settings.connect() as graph:
        if write:
            rows = iter(graph.query(cypher, values, write=True))
        elif seconds is None:
            rows = graph.stream(cypher, values)
        else:
            rows = graph.stream(cypher, values, seconds=seconds)
        if as_json:
            print_json_list(rows)
        else:
            print_rows(rows)


@click.command("show")
@click.argument("identifier", metavar="ID")
@at_option
@json_option
@click.pass_obj
def show_command(settings: Settings, *, identifier: str, moment: int | datetime | None, as_json: bool) -> None:
    """Show the node or the edge with this id, as it is or as it was."""
    with settings.connect() as graph:
        element = graph.element(identifier) if moment is None else as_of(graph, moment).element(identifier)
    if as_json:
        print_json({"kind": type(element).__name__.lower(), **element.as_dict()})
    else:
        print_table((type(element).__name__.lower(), ""), list(element.as_dict().items()))


@click.command("neighbours")
@click.argument("identifier", metavar="ID")
@click.option(
    "--depth", default=1, show_default=True, type=click.IntRange(1, 20), metavar="N", help="How many edges away."
)
@json_option
@click.pass_obj
def neighbours_command(settings: Settings, *, identifier: str, depth: int, as_json: bool) -> None:
    """Show the nodes at most so many edges away from a node, in or out, nearest first."""
    with settings.connect() as graph:
        found = graph.neighbours(identifier, depth)
    if as_json:
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
@click.option(
    "--limit", default=10, show_default=True, type=click.IntRange(1, 1000), metavar="N", help="At most so many."
)
@json_option
@click.pass_obj
def search_command(settings: Settings, *, text: str, limit: int, as_json: bool) -> None:
    """Find nodes by the words of their name and data, best first. Any text is a valid search."""
    with settings.connect() as graph:
        hits = graph.search(text, limit)
    if as_json:
        print_json([hit.as_dict() for hit in hits])
    elif hits:
        print_table(
            ("score", "id", "name", "data"),
            [(round(h.score, 2), h.id, h.node.name, h.node.data) for h in hits],
        )
    else:
        say("nothing found")


@click.command("export")
@click.option(
    "--format",
    "form",
    default="contextscript",
    show_default=True,
    type=click.Choice(["contextscript", "jsonl", "graphml", "server-memory"]),
)
@at_option
@click.pass_obj
def export_command(settings: Settings, *, form: str, moment: int | datetime | None) -> None:
    """Print the whole namespace, as it is or as it was; as ContextScript it loads back to the same graph."""
    with settings.connect() as graph, whole_output() as file:
        if moment is None:
            graph.export_to(file, form)
        else:
            as_of(graph, moment).export_to(file, form)
