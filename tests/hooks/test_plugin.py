"""The plugin folder for Claude Code holds to the published format, and calls commands that are there."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import click

from memorygraph.cli import cli
from memorygraph.hooks import EVENTS

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "claude-code"


def read(name: str) -> Any:
    return json.loads((PLUGIN / name).read_text("utf-8"))


def parse(command: str) -> click.Context:
    """Parse a command line as the program would, without running it."""
    program, *words = shlex.split(command)
    assert program == "memorygraph"
    with cli.make_context(program, list(words)) as context:
        name, found, rest = cli.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None
        return found.make_context(name, rest, parent=context)


def test_the_manifest_has_the_fields_of_the_format_and_the_version_of_the_package() -> None:
    manifest = read(".claude-plugin/plugin.json")
    known = {"name", "version", "description", "author", "homepage", "repository", "license", "keywords"}
    assert manifest.keys() <= known
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", manifest["name"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (manifest["version"], manifest["license"]) == (project["version"], project["license"])


def test_every_event_has_a_hook_whose_command_takes_its_options_and_ends_before_it_is_ended() -> None:
    document = read("hooks/hooks.json")
    assert document.keys() == {"description", "hooks"}
    assert set(document["hooks"]) == set(EVENTS)
    for event, matchers in document["hooks"].items():
        [matcher] = matchers
        [hook] = matcher["hooks"]
        assert matcher.keys() <= {"matcher", "hooks"}
        assert hook.keys() == {"type", "command", "timeout"}
        assert hook["type"] == "command"
        context = parse(hook["command"])
        assert (context.info_name, context.params["event"]) == ("hook", event)
        assert context.params["timeout"] < hook["timeout"]
        assert not context.params["dry_run"]


def test_the_memory_server_of_the_plugin_is_a_command_of_the_package() -> None:
    document = read(".mcp.json")
    assert document.keys() == {"mcpServers"}
    for server in document["mcpServers"].values():
        assert server.keys() <= {"command", "args", "env"}
        assert parse(shlex.join([server["command"], *server["args"]])).info_name == "serve"


def test_nothing_but_the_manifest_is_in_its_folder_and_what_the_readme_names_is_there() -> None:
    assert [path.name for path in (PLUGIN / ".claude-plugin").iterdir()] == ["plugin.json"]
    linked = re.findall(r"\]\(([^)#]+)\)", (PLUGIN / "README.md").read_text("utf-8"))
    assert linked
    assert [name for name in linked if not (PLUGIN / name).exists()] == []
