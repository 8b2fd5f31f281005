"""The commands that change the graph besides `load`: `delete` and `namespaces`."""

from __future__ import annotations

import click

from memorygraph.cli.output import json_option, print_json, print_table, say
from memorygraph.cli.settings import Settings


@click.command("delete")
@click.argument("identifier", metavar="ID")
@json_option
@click.pass_obj
def delete_command(settings: Settings, *, identifier: str, as_json: bool) -> None:
    """Delete a node with all its edges, or an edge."""
    with settings.connect() as graph:
        report = graph.delete(identifier)
    if as_json:
        print_json({**report.as_dict(), "errors": []})
    else:
        say(f"deleted: {report.nodes_deleted} nodes, {report.edges_deleted} edges")


@click.group("namespaces")
def namespaces_command() -> None:
    """List or drop namespaces."""


@namespaces_command.command("list")
@json_option
@click.pass_obj
def list_namespaces_command(settings: Settings, *, as_json: bool) -> None:
    """Show every namespace, its revision, and how much it holds."""
    with settings.connect() as graph:
        found = graph.namespaces()
    if as_json:
        print_json([namespace.as_dict() for namespace in found])
    else:
        print_table(("namespace", "revision", "nodes", "edges"), [tuple(n.as_dict().values()) for n in found])


@namespaces_command.command("drop")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_obj
def drop_namespaces_command(settings: Settings, *, name: str, yes: bool, as_json: bool) -> None:
    """Delete a namespace and all it holds."""
    if not yes:
        click.confirm(f"Delete namespace {name} and everything in it?", abort=True, err=True)
    with settings.connect() as graph:
        dropped = graph.drop_namespace(name)
    if as_json:
        print_json(dropped.as_dict())
    else:
        say(f"dropped {name}: {dropped.nodes} nodes, {dropped.edges} edges")
