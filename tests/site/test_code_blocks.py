"""Every block of code on the site is run; `tests/site/blocks.py` says by which test, or why by none."""

from __future__ import annotations

import json
import os
import re
import shlex
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import click
import mcp
import openai
import pytest
from mcp import StdioServerParameters, stdio_client

from memorygraph import MemoryGraph
from memorygraph.cli import cli
from memorygraph.languages import LANGUAGES
from memorygraph.memory.values import Entity
from tests.code_examples import run_line
from tests.examples import mostly_slow
from tests.mcp_server.clients import Server, environment_of
from tests.runtime.convo.model import scripted
from tests.site.blocks import (
    CHOSEN,
    LEFT_OUT,
    PREPARED,
    RUN,
    SHELL,
    TEXTS,
    Block,
    how,
    path_of,
    read_blocks,
)

BLOCKS = read_blocks()
AGENT = 'import llm M from "openai://m"\nmain agent A { model M role "R" description "D" PROGRAM }'


def commands() -> list[tuple[str, str]]:
    """Every line of a page that calls memorygraph, with the page."""
    found = []
    for block in BLOCKS:
        joined = block.text.replace("\\\n", " ") if block.language in SHELL else ""
        for line in re.split(r"\n|&&", joined):
            command = re.match(
                r""" *(?:\$ )?(?:\.venv/bin/)?memorygraph (?P<rest>(?:"[^"]*"|'[^']*'|[^|>&"'])*)""", line
            )
            if command:
                found.append((block.page, command["rest"]))
    return found


def test_every_block_is_run_or_said_not_to_be() -> None:
    missing = [str(block) for block in BLOCKS if len(how(block)) != 1]
    assert missing == [], (
        "run it in a test that RUN or CHOSEN of tests/site/blocks.py names, or say why not in LEFT_OUT"
    )


def test_what_is_said_of_a_block_is_of_one_that_there_is() -> None:
    assert {*RUN} <= {(block.page, block.language) for block in BLOCKS}
    for page, piece in {*CHOSEN, *LEFT_OUT}:
        assert len([block for block in BLOCKS if block.page == page and piece in block.text]) == 1, (page, piece)
    assert PREPARED.keys() == {page for page, _ in typed()}


@pytest.mark.parametrize("test", sorted({*RUN.values(), *CHOSEN.values()}))
def test_a_test_that_is_said_to_run_a_block_is_there(test: str) -> None:
    path, function = path_of(test)
    assert f"def {function}(" in path.read_text("utf-8") if function else path.exists()


def test_a_new_block_is_noticed() -> None:
    for page, language, text in (
        ("docs/guarantees.md", "python", "1"),
        ("docs/guarantees.md", "bash", "memorygraph doctor"),
        ("docs/languages.md", "text", "> node new"),
        ("docs/recording.md", "python", "import new"),
    ):
        assert how(Block(page, language, text)) == []


def typed() -> list[tuple[str, list[str]]]:
    """The commands of each page that are typed after what is prepared for them, in their order."""
    ours = "tests/site/test_code_blocks.py::test_the_commands_of_a_page_run"
    pages: dict[str, list[str]] = {}
    for block in BLOCKS:
        if how(block) == [ours]:
            pages.setdefault(block.page, []).append(block.text)
    return sorted(pages.items())


@pytest.mark.usefixtures("environment")
@pytest.mark.slow
@pytest.mark.parametrize(("page", "lines"), typed(), ids=lambda value: value if isinstance(value, str) else "")
def test_the_commands_of_a_page_run(page: str, lines: list[str]) -> None:
    example = PREPARED[page]
    with example.prepared(example.commands):
        for line in lines:
            assert run_line(line).strip(), line


@pytest.mark.parametrize(("page", "line"), commands())
def test_every_command_on_the_site_is_one(page: str, line: str) -> None:
    assert page in TEXTS
    parse_command(line)


def test_a_command_or_an_option_that_there_is_not_is_found() -> None:
    for line in ("fly", "load world.ctx --fast", "messages fly NAME", "--fast load world.ctx"):
        with pytest.raises((click.UsageError, AssertionError)):
            parse_command(line)


def parse_command(line: str) -> None:
    """Read a line as the command that it names does."""
    words = shlex.split(line, comments=True)
    context: click.Context = click.Context(cli)
    command: click.Command = cli
    while isinstance(command, click.Group):
        rest = command.make_parser(context).parse_args(list(words))[1]
        assert rest, line
        found = command.get_command(context, rest[0])
        assert found is not None, line
        context = click.Context(found, parent=context, info_name=rest[0])
        command, words = found, list(rest[1:])
    command.make_parser(context).parse_args(words)  # an option that there is not raises NoSuchOption


def test_all_python_on_the_site_compiles() -> None:
    for block in BLOCKS:
        if block.language == "python":
            compile(block.text, block.page, "exec")


def block_of(page: str, language: str) -> str:
    [text] = [block.text for block in BLOCKS if (block.page, block.language) == (page, language)]
    return text


def test_the_example_of_conversations_runs(graph: MemoryGraph, capsys: pytest.CaptureFixture[str]) -> None:
    example = block_of("docs/messages.md", "python")
    ask = '\nclient.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])\n'
    begin, _, last = example.rstrip("\n").rpartition("\n")
    with scripted(["Hello."]):
        exec(compile(f"{begin}{ask}{last}", "messages.md", "exec"), {"mg": graph, "openai": openai})
    assert "Hello." in capsys.readouterr().out


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("page", ["docs/reference/python.md", "docs/reference/async.md"])
def test_the_example_of_a_made_page_runs(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block_of(page, "python"), page, "exec"), {})
    assert capsys.readouterr().out == "Wrote the first program.\n"


CONFIGURED = sorted(
    block
    for block in BLOCKS
    if RUN.get((block.page, block.language), "").endswith("_configuration_of_a_client_starts_a_server")
)


@pytest.mark.parametrize("block", mostly_slow(CONFIGURED, ordinary=1), ids=lambda block: block.page)
def test_the_configuration_of_a_client_starts_a_server(block: Block, server: Server) -> None:
    [(_, entry)] = json.loads(block.text)["mcpServers"].items()
    ours = environment_of(server)
    assert {*entry.get("env", {})} <= ours.keys() | {"NEO4J_PASSWORD"}, "its values are those of another Neo4j"
    scripts = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])

    async def names() -> list[str]:
        started = StdioServerParameters(command=entry["command"], args=entry["args"], env={**ours, "PATH": scripts})
        async with mcp.Client(stdio_client(started)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert "search_nodes" in anyio.run(names)


def test_the_trace_says_what_a_summary_is(graph: MemoryGraph) -> None:
    [program] = [
        block.text for block in BLOCKS if block.page == "docs/agentscript.md" and "Answer from scratch" in block.text
    ]
    with scripted(['{"text": "B"}']):
        trace = graph.run(AGENT.replace("PROGRAM", program), "").trace
    shown, item = json.loads(block_of("docs/agentscript.md", "json")), next(_items_of(trace))
    assert {**item, **shown} == item


def _items_of(value: Any) -> Iterator[dict[str, Any]]:
    """The items of contexts in a trace that used a summary."""
    if isinstance(value, dict):
        if "view" in value:
            yield value
        value = list(value.values())
    for each in value if isinstance(value, list) else []:
        yield from _items_of(each)


def test_the_lines_of_a_bundle_have_the_form_that_is_shown(graph: MemoryGraph, tmp_path: Path) -> None:
    shown = [json.loads(re.sub(",?…", "", line)) for line in block_of("docs/bundle.md", "text").splitlines()]
    graph.entities.create([Entity.model_validate({"name": "Ada", "type": "person"})])
    graph.load('Node(node_id="a", name="A", data="");Node(node_id="b", name="B", data="");')
    graph.load('Edge(edge_id="e", from_node="a", to_node="b", verb="likes", weight=1.0);')
    graph.export_bundle(tmp_path / "people.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "people.jsonl").read_text("utf-8").splitlines()]
    header, node, relationship, end = shown
    assert list(lines[0]) == list(header)
    assert {**lines[-1], "sha256": ""}.keys() == end.keys()
    assert lines[-1]["end"].keys() == end["end"].keys()
    for wanted in (node, relationship):
        key = {name: value for name, value in wanted.items() if name not in {"hash", "properties"}}
        [found] = [
            line
            for line in lines
            if {**line, **key} == line and {**line["properties"], **wanted["properties"]} == line["properties"]
        ]
        assert list(found) == list(wanted)


def test_the_configuration_of_helix_can_be_read() -> None:
    configuration = tomllib.loads(block_of("docs/editors.md", "toml"))
    [language] = configuration["language"]
    assert [f".{ending}" for ending in language["file-types"]] == [LANGUAGES[language["name"]].extension]
    assert [configuration["language-server"][name]["args"] for name in language["language-servers"]] == [["lsp"]]
