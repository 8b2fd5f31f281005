"""What a release consists of names one version, and is what registries take."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pathspec import GitIgnoreSpec

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SERVER = json.loads((ROOT / "server.json").read_text("utf-8"))
BUNDLE = ROOT / "plugins" / "mcpb"
MANIFEST = json.loads((BUNDLE / "manifest.json").read_text("utf-8"))
PLUGIN = json.loads((ROOT / "plugins" / "claude-code" / ".claude-plugin" / "plugin.json").read_text("utf-8"))
OF_ANOTHER_NEO4J = {"NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE"}


@pytest.mark.parametrize("named", [SERVER, SERVER["packages"][0], MANIFEST, PLUGIN])
def test_every_file_of_a_release_has_the_version_of_the_package(named: dict[str, Any]) -> None:
    assert named["version"] == PROJECT["version"]


def test_the_bundle_runs_exactly_this_version() -> None:
    bundle = tomllib.loads((BUNDLE / "pyproject.toml").read_text("utf-8"))["project"]
    assert bundle["dependencies"] == [f"memorygraph=={PROJECT['version']}"]
    assert bundle["requires-python"] == PROJECT["requires-python"]


def test_the_changelog_begins_with_the_version_of_the_package() -> None:
    [newest, *_] = re.findall(r"^## (\S+),", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest == PROJECT["version"]


def test_the_readme_says_the_name_under_which_the_registry_lists_the_server() -> None:
    """The registry looks for it there, to see that both are the same people's."""
    assert f"mcp-name: {SERVER['name']}" in (ROOT / "README.md").read_text("utf-8")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", SERVER["name"])
    assert SERVER["packages"][0]["identifier"] == PROJECT["name"]


def test_the_registry_takes_the_description() -> None:
    assert 1 <= len(SERVER["description"]) <= 100


@pytest.mark.parametrize("secret", ["docker/.env", "docker/tokens"])
def test_a_secret_of_the_images_is_in_no_sdist(secret: str) -> None:
    """Of the files that say what git ignores, what builds it reads the one of the repository alone."""
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert GitIgnoreSpec.from_lines(ignored).match_file(secret)


def test_a_neo4j_of_ones_own_can_be_named_completely_to_registry_and_bundle() -> None:
    assert {variable["name"] for variable in SERVER["packages"][0]["environmentVariables"]} >= OF_ANOTHER_NEO4J
    environment = MANIFEST["server"]["mcp_config"]["env"]
    assert {*environment} >= OF_ANOTHER_NEO4J
    assert {*environment.values()} == {f"${{user_config.{name}}}" for name in MANIFEST["user_config"]}


@pytest.mark.parametrize("image", ["memorygraph", "neo4j"])
def test_nothing_reaches_the_build_of_an_image_but_what_it_copies(image: str) -> None:
    dockerfile = ROOT / "docker" / image / "Dockerfile"
    copied = re.findall(r"^COPY (.+) \S+$", dockerfile.read_text("utf-8"), re.MULTILINE)
    let_through = re.findall(r"^!(.+)$", Path(f"{dockerfile}.dockerignore").read_text("utf-8"), re.MULTILINE)
    assert sorted(let_through) == sorted(" ".join(copied).split())


@pytest.mark.parametrize("image", ["memorygraph", "neo4j"])
def test_images_say_what_they_are(image: str) -> None:
    text = (ROOT / "docker" / image / "Dockerfile").read_text("utf-8")
    labels = re.findall(r"org\.opencontainers\.image\.(\w+)", text)
    assert {"title", "description", "licenses"} <= set(labels)


def test_the_image_of_the_server_names_its_entry_in_the_registry() -> None:
    text = (ROOT / "docker" / "memorygraph" / "Dockerfile").read_text("utf-8")
    assert f'io.modelcontextprotocol.server.name="{SERVER["name"]}"' in text
