"""Every block of code on the site is run, or is held to what the code says; what each page's are held to is said here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import openai
import pytest

from memorygraph import MemoryGraph
from memorygraph.cli import cli
from tests.runtime.convo.model import scripted
from tests.site.pages import DOCS, PAGES

ROOT = DOCS.parent
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in [ROOT / "README.md", *DOCS.rglob("*.md")]
}
BLOCK = re.compile(r"^ *```(?P<language>[a-z]+)\n(?P<text>.*?)^ *```", re.MULTILINE | re.DOTALL)

HELD = {
    "README.md": "tests/test_readme.py",
    "docs/agents.md": "tests/integrations/test_pages.py",
    "docs/agentscript.md": "tests/runtime/agentscript/test_reference.py",
    "docs/contextscript.md": "tests/site/test_languages.py",
    "docs/convo.md": "tests/runtime/convo/test_reference.py",
    "docs/editors.md": "tests/test_lexers.py",
    "docs/integrations.md": "tests/integrations/test_pages.py",
    "docs/languages.md": "tests/test_readme.py",
    "docs/messages.md": "tests/site/test_code_blocks.py",
    "docs/pete.md": "tests/site/test_languages.py",
    "docs/reference/graph.md": "tests/site/test_graph.py",
    "docs/reference/tools.md": "tests/site/test_pages.py",
    "docs/tutorial.md": "tests/test_readme.py",
}
"""Pages whose blocks a test runs. Commands in any page are held to those that there are, and made pages to the code."""

COMMANDS_ONLY = {"bash", "console"}
SHOWN = {
    "docs/bundle.md": "the form of a line",
    "docs/memory.md": "the configuration of a client",
    "docs/server.md": "a driver of one's own",
}
"""Pages with a block that is no program, or one for what is not there in a test; Python in them is compiled."""


def blocks(name: str) -> list[tuple[str, str]]:
    return [(found["language"], found["text"]) for found in BLOCK.finditer(TEXTS[name])]


def commands() -> list[tuple[str, str]]:
    """Every line of a page that calls memorygraph, with the page."""
    found = []
    for name in TEXTS:
        for language, text in blocks(name):
            joined = text.replace("\\\n", " ") if language in COMMANDS_ONLY else ""
            for line in re.split(r"\n|&&", joined):
                command = re.match(
                    r""" *(?:\$ )?(?:\.venv/bin/)?memorygraph (?P<rest>(?:"[^"]*"|'[^']*'|[^|>&"'])*)""", line
                )
                if command:
                    found.append((name, command["rest"]))
    return found


def test_every_page_with_code_is_held_to_a_test() -> None:
    made = {f"docs/{name}" for name in PAGES}
    with_code = {name for name in TEXTS if {language for language, _ in blocks(name)} - COMMANDS_ONLY}
    left = {name for name in with_code - made - HELD.keys() - SHOWN.keys() if not _named_by_a_test(name)}
    assert left == set(), "run the blocks of these pages in a test, and say in HELD which one that is"
    assert [test for test in HELD.values() if not (ROOT / test).exists()] == []


def _named_by_a_test(page: str) -> bool:
    """Whether a test reads the page, so that it can run what stands there."""
    name = Path(page).name
    return any(f'"{name}"' in path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))


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


@pytest.mark.parametrize("name", TEXTS)
def test_all_python_on_the_site_compiles(name: str) -> None:
    for language, text in blocks(name):
        if language == "python":
            compile(text, name, "exec")


def test_the_example_of_conversations_runs(graph: MemoryGraph, capsys: pytest.CaptureFixture[str]) -> None:
    [example] = [text for language, text in blocks("docs/messages.md") if language == "python"]
    ask = '\nclient.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])\n'
    begin, _, last = example.rstrip("\n").rpartition("\n")
    with scripted(["Hello."]):
        exec(compile(f"{begin}{ask}{last}", "messages.md", "exec"), {"mg": graph, "openai": openai})
    assert "Hello." in capsys.readouterr().out
