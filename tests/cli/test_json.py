"""`--json` on every command that reports: one JSON document on stdout and nothing else, of errors too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from memorygraph import MemoryGraph
from memorygraph.cli import cli
from tests.cli.test_commands import document, memorygraph
from tests.examples import every_nth

pytestmark = pytest.mark.usefixtures("environment")

TALKING = {"repl", "serve", "proxy", "hook", "lsp", "completion"}
"""They end when the user or the client wants, and what they print until then is a conversation."""

ARGUMENTS = {
    "up": "",
    "down": "",
    "status": "",
    "doctor": "",
    "backup": "{folder}/graph.backup",
    "restore": "{folder}/graph.backup",
    "browser": "--queries",
    "load": "{folder}/world.ctx",
    "check": "{folder}/world.ctx",
    "run": "{folder}/one.as",
    "programs list": "",
    "programs show": "one",
    "programs forget": "one",
    "runs list": "",
    "runs show": "{run}",
    "runs view": "{run}",
    "graph": "{folder}/one.convo",
    "query": "RETURN|1|AS|n",
    "show": "a",
    "neighbours": "a",
    "search": "A",
    "recall": "A",
    "history": "a",
    "revisions": "",
    "undo": "1 --dry-run",
    "purge": "--yes",
    "import": "{folder}/none.jsonl",
    "adopt": "",
    "messages list": "--limit 1 --containing TA",
    "messages show": "talk",
    "messages view": "talk",
    "messages versions": "talk",
    "messages diff": "talk 1 1",
    "messages verify": "talk",
    "messages export": "talk",
    "messages forget": "talk --dry-run",
    "messages expire": "talk",
    "messages cost": "",
    "messages index": "",
    "pete list": "",
    "pete show": "main",
    "pete view": "main",
    "pete fold": "main",
    "pete unfold": "main",
    "pete sense": "main thermometer {{}}",
    "pete step": "main",
    "pete run": "main",
    "pete grammar": "",
    "remember": "Ada",
    "chat": "",
    "embed": "",
    "evaluate": "{folder}/none",
    "export": "--format bundle --output {folder}/bundle",
    "delete": "a",
    "duplicates": "",
    "merge": "a b",
    "forget": "a --dry-run",
    "expire": "a --in 30d",
    "namespaces list": "",
    "namespaces drop": "{namespace} --dry-run",
}


def commands(
    command: click.Command, path: tuple[str, ...], context: click.Context
) -> Iterator[tuple[str, click.Command]]:
    """Every command that is no group, by its words."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands(found, (*path, name), context)


ALL = dict(commands(cli, (), click.Context(cli)))


def test_every_command_that_reports_has_json() -> None:
    without = {name for name, command in ALL.items() if all(option.name != "as_json" for option in command.params)}
    assert without == TALKING


def test_the_examples_are_of_every_command() -> None:
    assert ARGUMENTS.keys() == ALL.keys() - TALKING


def test_every_option_says_what_it_is_for() -> None:
    silent = [
        f"{name} {option.name}"
        for name, command in ALL.items()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert not silent


@pytest.fixture
def folder(tmp_path: Path, environment: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of scripts that are stored, beside a conversation; no model is named, and no server can be started."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "MEMORYGRAPH_MODEL", "MEMORYGRAPH_EMBEDDING_MODEL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "world.ctx").write_text('Node(node_id="a", name="A", data=""); Node(node_id="b", name="B", data="");')
    (tmp_path / "one.as").write_text("main agent A { main func(input) { return 1 } }")
    (tmp_path / "one.convo").write_text("> user\nHi\n> node a\n  > f(x: string) -> (add(x '!'))\n> goto a")
    with MemoryGraph.connect(namespace=environment) as graph:
        graph.load((tmp_path / "world.ctx").read_text())
        document("load", str(tmp_path / "one.as"))
        document("run", str(tmp_path / "one.as"))
        graph.messages("talk").append({"role": "user", "content": "Hi"})
        graph.pete("main").sense("clock", {"hour": 12})
    (tmp_path / "home").write_text("no folder")
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.parametrize("name", every_nth(ARGUMENTS, 5))
def test_with_json_a_command_prints_one_document(name: str, folder: Path, environment: str) -> None:
    run = document("runs", "list")[0]["id"] if "{run}" in ARGUMENTS[name] else ""
    filled = ARGUMENTS[name].format(folder=folder, namespace=environment, run=run)
    arguments = [word.replace("|", " ") for word in filled.split()]
    finished = memorygraph(*name.split(), *arguments, "--json")
    printed = json.loads(finished.stdout)
    assert finished.stdout.count("\n") == 1
    if finished.returncode and name != "doctor":
        assert printed["errors"], finished.stderr


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("options", [[], ["--write"]], ids=["read", "write"])
def test_an_error_in_cypher_has_its_line_and_its_column(options: list[str]) -> None:
    finished = memorygraph("query", "MATCH (n)\n  RETURN m", "--json", *options)
    [problem] = json.loads(finished.stdout)["errors"]
    assert (problem["line"], problem["column"], problem["code"]) == (2, 10, "query")
