"""What is kept for Neo4j Browser: the saved queries, the style, and the commands that bring them to Browser."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner

from memorygraph.cli import cli
from memorygraph.graph.connection import Connection
from memorygraph.library import CYPHER, cypher_folder, read_blocks
from memorygraph.server.browser import SavedQuery, saved_queries, style
from memorygraph.server.settings import Endpoints
from tests.examples import every_nth
from tests.samples import sampled

SAVED = saved_queries()
FILES = sorted((cypher_folder() / "browser").glob("*.cypher"))
GRASS = (cypher_folder() / "browser" / "memorygraph.grass").read_text("utf-8")
# These keep the books, and are no part of what a user looks at.
UNSEEN = {"Checkpoint", "Migration", "FormerEntry", "Memory"}


@pytest.mark.parametrize("saved", every_nth(SAVED.values(), 3), ids=list(SAVED))
def test_a_saved_query_is_documented_and_planned_on_indexes(connection: Connection, saved: SavedQuery) -> None:
    about, _, parameters = saved.block.documentation.partition(" Parameters: ")
    assert saved.about == about
    assert about[-1] in ".?"
    assert all(re.search(rf"\b{name}\b", parameters) for name in saved.block.parameters)
    query = sampled(saved.block)
    _, operators = connection.plan(query)
    assert [name for name, _ in operators if name.endswith("Scan") and "Index" not in name] == []
    assert connection.read(query) is not None


def test_names_of_saved_queries_are_unique() -> None:
    assert sum(len(list(read_blocks(file))) for file in FILES) == len(SAVED)


def test_every_part_has_a_query_that_needs_no_more_than_the_namespace() -> None:
    ready = {saved.block.file.stem for saved in SAVED.values() if not saved.needs}
    assert ready == {file.stem for file in FILES}
    assert ready == {"world", "memory", "messages", "graphs", "runs", "thoughts", "threads", "history"}


def test_no_saved_query_has_a_character_that_ends_it_in_an_address() -> None:
    assert [name for name, saved in SAVED.items() if set("&#;") & set(saved.block.text)] == []


def test_every_label_has_a_look_of_its_own() -> None:
    written = {label for block in CYPHER.values() for label in re.findall(r"\(\w*:(\w+)", block.text)}
    written |= {label for block in CYPHER.values() for label in re.findall(r"\(\w*:Node:(\w+)", block.text)}
    assert written - UNSEEN <= {selector.removeprefix("node.") for selector in style()}


def test_the_style_is_read_whole() -> None:
    rules = re.findall(r"^(\S+) \{\n(.*?)^\}\n", GRASS, re.MULTILINE | re.DOTALL)
    assert len(rules) > 20
    assert {selector: len(body.splitlines()) for selector, body in rules} == {
        selector: len(properties) for selector, properties in style().items()
    }


def test_the_server_tells_browser_its_style_and_a_namespace() -> None:
    [line] = re.findall(r"^browser\.post_connect_cmd=(.*)$", Endpoints(1, 2, "3").configuration(), re.MULTILINE)
    told, _, parameter = line.rpartition("; ")
    assert json.loads(told.removeprefix("style ")) == style()
    assert ";" not in told
    assert parameter == 'param namespace: "default"'


def test_an_address_holds_the_query_with_its_values() -> None:
    written = SAVED["entity"].address({"namespace": "n", "name": 'a"\\ $name & #'})
    [text] = parse_qs(urlsplit(f"http://localhost/?{written}").query)["arg"]
    assert text.splitlines()[:2] == [
        "// entity",
        r'MATCH (entity:Node {namespace: "n", name: "a\"\\ $name \u0026 \u0023"})',
    ]


def test_the_command_lists_the_saved_queries() -> None:
    listed = json.loads(CliRunner().invoke(cli, ["browser", "--queries", "--json"]).stdout)
    assert [query["name"] for query in listed] == list(SAVED)
    assert {"name": "verbs", "about": SAVED["verbs"].about, "parameters": []} in listed
    assert "around-a-node" in CliRunner().invoke(cli, ["browser", "--queries"]).stdout


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["worlds"], "no saved query is named 'worlds'"),
        (["entity"], "entity takes name; wrong or missing: name"),
        (["world", "-p", "id=1"], "world takes no parameters; wrong or missing: id"),
        (["-p", "id=1"], "-p needs a saved query"),
    ],
)
def test_a_wrong_saved_query_or_parameter_is_refused_before_anything_starts(arguments: list[str], why: str) -> None:
    result = CliRunner().invoke(cli, ["browser", *arguments])
    assert result.exit_code == 2
    assert why in result.stderr
