"""The command line as a user meets it: its documents, its tables, its exit codes, and never a traceback."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import click
import psutil
import pytest
from click.shell_completion import ShellComplete, get_completion_class
from click.testing import CliRunner

from memorygraph import AsyncMemoryGraph, MemoryGraph, MemoryGraphError, QueryError
from memorygraph.cli import cli, output
from memorygraph.cli.completion import VARIABLE
from memorygraph.cli.graph import parameter
from memorygraph.cli.output import print_table
from memorygraph.cli.programs import parse_json_argument
from memorygraph.errors import ConnectionError
from memorygraph.graph import loads, sizes
from memorygraph.graph.namespace import NamespaceInfo
from memorygraph.home import default_home
from memorygraph.server.embedded import EmbeddedServer
from tests.conftest import EXAMPLES, RUN_FOLDER
from tests.examples import profile

ANSI = re.compile(r"\x1b\[[0-9;]*m")
PROGRAM = (EXAMPLES / "apollo11.ctx").read_text("utf-8")

pytestmark = pytest.mark.usefixtures("environment")


COMMANDS = set(cli.list_commands(click.Context(cli)))
GROUPS = [command for name in COMMANDS if isinstance(command := cli.get_command(click.Context(cli), name), click.Group)]
WORDS = COMMANDS.union(*(group.commands for group in GROUPS))
"""The words of the command line that name a command."""


def memorygraph(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, and in the whole check as a user does, in a process of its own.

    A command is started so when it is first given with these options in a run of the tests, by whichever worker: how a
    process begins and ends is what it adds.
    """
    kind = frozenset(word for word in arguments if word.startswith("-") or word in WORDS)
    own_process = profile() != "ordinary" and _is_first(kind)
    finished = _in_a_process(arguments, stdin) if own_process else here(*arguments, stdin=stdin)
    assert "Traceback" not in finished.stderr, finished.stderr
    return finished


def _is_first(kind: frozenset[str]) -> bool:
    """Whether no worker of this run has started a command of this kind."""
    name = hashlib.sha256(" ".join(sorted(kind)).encode()).hexdigest()
    try:
        (Path(os.environ[RUN_FOLDER]) / f"started-{name}").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _in_a_process(arguments: Sequence[str], stdin: str) -> subprocess.CompletedProcess[str]:
    program = Path(sysconfig.get_path("scripts"), "memorygraph")  # `python -m` would call itself otherwise in messages
    command = [str(program), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=120)


def here(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, where what a test has patched is patched."""
    result = CliRunner().invoke(cli, arguments, input=stdin, prog_name="memorygraph")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return subprocess.CompletedProcess(arguments, result.exit_code, result.stdout, result.stderr)


def document(*arguments: str, stdin: str = "", code: int = 0) -> Any:
    """The one JSON document that a command prints on stdout."""
    finished = memorygraph(*arguments, "--json", stdin=stdin)
    assert finished.returncode == code, finished.stderr
    return json.loads(finished.stdout)


def _write(folder: Path, text: str, name: str = "world.ctx") -> str:
    (folder / name).write_text(text, "utf-8")
    return str(folder / name)


def test_the_example_loads_and_can_be_read_back() -> None:
    report = document("load", str(EXAMPLES / "apollo11.ctx"))
    assert (report["statements"], report["nodes_created"], report["edges_created"]) == (53, 22, 31)
    assert (report["language"], report["errors"], report["warnings"]) == ("contextscript", [], [])
    assert document("show", "hamilton")["name"] == "Margaret Hamilton"
    assert document("show", "hamilton")["address"] == "memory:1"
    assert document("show", "memory:1")["id"] == "hamilton"
    assert "address" not in document("show", "e21")
    assert document("show", "e21")["verb"] == "programmed"
    assert {n["id"] for n in document("neighbours", "agc")} == {"alarm-1202", "columbia", "eagle", "hamilton"}
    assert "hamilton" in {n["id"] for n in document("neighbours", "eagle", "--depth", "2")}
    assert document("search", "software engineering")[0]["id"] == "hamilton"
    rows = document("query", "MATCH (n:Node {namespace: $namespace, id: $id}) RETURN n.name AS name", "-p", "id=eagle")
    assert rows == [{"name": "Eagle"}]
    [row] = document("query", "MATCH ()-[e:EDGE {namespace: $namespace, id: 'e21'}]->() RETURN e")
    assert (row["e"]["verb"], row["e"]["weight"]) == ("programmed", 1.0)


def test_a_file_whose_name_is_not_utf_8_is_loaded_and_its_name_shown_with_escapes(tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(b"caf\xe9.ctx")
    try:
        file.write_text('Node(node_id="a", name="A", data="");')
    except OSError:
        pytest.skip("this system has no such names")
    shown = str(tmp_path / "caf\\udce9.ctx")
    assert document("load", str(file))["file"] == shown
    assert document("revisions")[0]["file"] == shown


def test_search_says_whose_an_observation_is_as_recall_does() -> None:
    memory = {"type": "entity", "name": "Ada Lovelace", "entityType": "person", "observations": ["likes tea"]}
    memorygraph("import", "--format", "server-memory", "-", stdin=json.dumps(memory))
    shown = memorygraph("search", "tea")
    assert "Ada Lovelace: likes tea" in shown.stdout, shown
    [hit] = document("search", "tea")
    assert (hit["name"], hit["data"], hit["about"]) == ("", "likes tea", ["Ada Lovelace"])


def test_help_says_whole_what_each_command_does() -> None:
    for group in (cli, *GROUPS):
        shown = CliRunner().invoke(group, ["--help"]).stdout
        assert not [line for line in shown.splitlines()[1:] if line.endswith("...")]


def test_no_table_cuts_off_what_is_typed_into_other_commands() -> None:
    name, text = f"record-{'1' * 200}", "many words " * 30
    shown = memorygraph("query", f"RETURN '{name}' AS name, '{text}' AS text").stdout
    assert any(name in line and text.strip() in line for line in shown.splitlines()), "in a pipe a row is a line"

    folded = StringIO()
    with pytest.MonkeyPatch.context() as terminal, redirect_stdout(folded):
        terminal.setenv("COLUMNS", "40")
        terminal.setenv("TTY_COMPATIBLE", "1")
        print_table(("name", "text"), [(name, text)])
    assert re.sub(r"\D", "", ANSI.sub("", folded.getvalue())) == "1" * 200, "in a terminal it is folded"


def test_a_load_ends_with_a_table_of_what_changed() -> None:
    finished = memorygraph("load", "-", stdin=PROGRAM)
    assert finished.returncode == 0
    assert [line.split() for line in finished.stdout.splitlines() if "nodes" in line][-1] == ["nodes", "22", "0", "0"]


def _unheard(*arguments: str, stdin: str = "") -> int:
    """The exit code of a command whose stderr is a pipe that nobody reads any more."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "memorygraph", *arguments]
    try:
        finished = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=write, text=True, check=False)
    finally:
        os.close(write)
    return finished.returncode


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--batch", "10")])
def test_a_command_goes_on_to_its_end_when_nobody_reads_what_it_says_meanwhile(options: tuple[str, ...]) -> None:
    assert _unheard("load", str(EXAMPLES / "apollo11.ctx"), *options) == 0
    assert document("load", "-", "--dry-run", stdin=PROGRAM)["nodes_created"] == 0


def test_an_error_that_nobody_reads_has_its_exit_code() -> None:
    assert _unheard("load", "-", stdin='Node(node_id="a");') == 1


def test_what_undoes_a_merge_names_the_namespace_that_was_given(environment: str, tmp_path: Path) -> None:
    there = f"{environment} of others"
    memorygraph("-n", there, "load", _write(tmp_path, 'Node(node_id="a", name="A", data="");'))
    memorygraph("-n", there, "load", _write(tmp_path, 'Node(node_id="b", name="B", data="");'))
    finished = memorygraph("-n", there, "merge", "a", "b")
    found = re.search("`memorygraph (.* undo 3)`", finished.stderr)
    assert found, finished.stderr
    assert memorygraph(*shlex.split(found[1])).returncode == 0
    assert document("-n", there, "namespaces", "drop", there, "--yes")["nodes"] == 2


@pytest.mark.parametrize(
    ("given", "value"), [("a=NaN", "NaN"), ("a=-Infinity", "-Infinity"), ("a=1.5", 1.5), (" a = 1", 1)]
)
def test_a_parameter_that_is_no_json_is_text(given: str, value: str | float) -> None:
    assert parameter(given) == ("a", value)
    assert parse_json_argument(given.partition("=")[2], "--parameter", or_text=True) == value


def test_export_then_load_gives_the_same_graph(tmp_path: Path) -> None:
    document("load", "-", stdin=PROGRAM)
    exported = memorygraph("export").stdout
    document("load", _write(tmp_path, exported))
    assert memorygraph("export").stdout == exported
    other = memorygraph("-n", "test-other-world", "load", _write(tmp_path, exported))
    assert other.returncode == 0
    assert memorygraph("-n", "test-other-world", "export").stdout == exported
    assert document("-n", "test-other-world", "namespaces", "drop", "test-other-world", "--yes")["nodes"] == 22


def test_the_other_formats_hold_every_element() -> None:
    document("load", "-", stdin=PROGRAM)
    lines = [json.loads(line) for line in memorygraph("export", "--format", "jsonl").stdout.splitlines()]
    assert [line["type"] for line in lines].count("node") == 22
    assert [line["type"] for line in lines].count("edge") == 31
    graphml = memorygraph("export", "--format", "graphml").stdout
    assert (graphml.count("<node "), graphml.count("<edge ")) == (22, 31)


def test_an_error_has_its_place_a_caret_and_exit_code_1(tmp_path: Path) -> None:
    path = _write(tmp_path, 'Node(node_id="a", name="A", data="");\nEdge(edge_id="e", weight=1.5);\n')
    finished = memorygraph("load", path)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.splitlines()[:3] == [
        f"{path}:2:26: weight 1.5 is above 1.0; a weight lies between 0.0 and 1.0",
        '    Edge(edge_id="e", weight=1.5);',
        "                             ^^^",
    ]
    assert "nothing was changed" in finished.stderr
    assert memorygraph("export").stdout == ""


def test_errors_as_json(tmp_path: Path) -> None:
    path = _write(tmp_path, "Node(node_id=a);")
    [error] = document("load", path, code=1)["errors"]
    assert (error["file"], error["line"], error["column"], error["code"]) == (path, 1, 14, "wrong-type")
    assert document("check", path, code=1)["errors"] == [error]


def test_a_check_warns_of_what_a_script_deletes_twice(tmp_path: Path) -> None:
    path = _write(tmp_path, 'Node(node_id="a", name="A", data="");\ndel(id="a");\ndel(id="a");', "twice.ctx")
    warnings = document("check", path)["warnings"]
    assert [(warning["line"], warning["code"]) for warning in warnings] == [(3, "already-deleted")]
    assert document("load", path, "--dry-run")["warnings"] == warnings


@pytest.mark.parametrize("command", ["check", "load"])
def test_what_is_wrong_is_said_of_each_of_several_files(tmp_path: Path, command: str) -> None:
    wrong = [_write(tmp_path, "Node(node_id=a);", name) for name in ("one.ctx", "two.ctx")]
    files = (wrong[0], str(tmp_path / "none.ctx"), wrong[1])
    errors = document(command, *files, code=1)["errors"]
    assert [error["file"] for error in errors] == [wrong[0], None, wrong[1]]
    assert errors[1]["message"] == f"no such file: {files[1]}"
    said = memorygraph(command, *files).stderr
    assert said.startswith(f"memorygraph: no such file: {files[1]}\n{wrong[0]}:1:14: ")
    assert said.endswith("\n2 errors; nothing was changed\n")


WRONG_ALSO_BY_THE_GRAPH = """Edge(edge_id="e", from_node="a", to_node="b", verb="x", weight=1.5);
Edge(edge_id="f", from_node="a", to_node="nobody", verb="x", weight=0.5);
"""


def test_what_only_the_graph_knows_to_be_wrong_is_said_with_what_is_known_without_it(tmp_path: Path) -> None:
    memorygraph("load", _write(tmp_path, 'Node(node_id="a", name="A", data="");'))
    errors = document("load", "-", stdin=WRONG_ALSO_BY_THE_GRAPH, code=1)["errors"]
    assert [(error["line"], error["code"]) for error in errors] == [(1, "weight-range"), (2, "unknown-node")]


def test_what_a_later_file_lacks_may_be_in_one_before_it(tmp_path: Path) -> None:
    first = _write(tmp_path, 'Node(node_id="nobody", name="N", data="");')
    errors = document("load", first, "-", stdin=WRONG_ALSO_BY_THE_GRAPH, code=1)["errors"]
    assert [error["code"] for error in errors] == ["weight-range"]


def test_the_graph_is_not_asked_about_a_text_that_does_not_follow_the_grammar() -> None:
    errors = document("load", "-", stdin=f"{WRONG_ALSO_BY_THE_GRAPH}Node node;", code=1)["errors"]
    assert [error["code"] for error in errors] == ["weight-range", "syntax"]


def test_what_is_wrong_without_the_graph_is_said_where_no_server_answers() -> None:
    finished = memorygraph("--uri", "bolt://127.0.0.1:1", "load", "-", stdin=WRONG_ALSO_BY_THE_GRAPH)
    assert finished.returncode == 1
    assert "the graph was not asked what else is wrong: Neo4j cannot be reached" in finished.stderr
    assert finished.stderr.endswith("\n1 error; nothing was changed\n")


def test_no_server_is_started_for_a_file_that_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEO4J_URI")
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path / "home"))
    assert memorygraph("load", "-", stdin=WRONG_ALSO_BY_THE_GRAPH).stderr.endswith("\n1 error; nothing was changed\n")
    assert not (tmp_path / "home").exists()


def test_where_the_time_for_reading_is_up_it_is_said_what_was_printed_and_what_gives_more() -> None:
    # The rows before take next to nothing, so that they arrive in time on a busy machine, too.
    slow = "WITH CASE WHEN n > 2400 THEN 100000 ELSE 1 END AS k UNWIND range(1, k) AS a UNWIND range(1, k) AS b"
    query = f"UNWIND range(1, 2500) AS n CALL (n) {{ {slow} RETURN max(b) AS m }} RETURN n, m"
    finished = memorygraph("query", query, "--seconds", "3")
    assert (finished.returncode, finished.stdout.count("─\n")) == (1, 2)
    assert finished.stderr.startswith(
        "2000 rows were printed, and none after them\nmemorygraph: it took longer than it may"
    )
    assert "; --seconds gives reading more time (in Python: seconds= of `stream`)\n" in finished.stderr


REFUSED = 'Edge(edge_id="e", from_node="a", to_node="nobody", verb="x", weight=0.5);'


@pytest.mark.parametrize("option", [(), ("--batch", "5")])
def test_where_the_graph_refuses_a_file_it_is_said_what_of_the_others_is_stored(
    tmp_path: Path, option: tuple[str, ...]
) -> None:
    first = _write(tmp_path, 'Node(node_id="a", name="A", data="");', "one.ctx")
    second, third = _write(tmp_path, REFUSED, "two.ctx"), _write(tmp_path, REFUSED, "three.ctx")
    refused = memorygraph("load", first, second, third, *option)
    assert refused.returncode == 1
    assert "nothing was changed" not in refused.stderr
    assert refused.stderr.endswith(
        f"1 error; {first} is stored (revision 1), nothing of {second} is stored, nor of 1 file after it; "
        "mend it and run the same command again: what is stored already stays as it is\n"
    )
    failed = document("load", first, second, *option, code=1)
    assert [each["file"] for each in failed["errors"]] == [second]
    assert [each["file"] for each in failed["stored"]] == [first]
    assert memorygraph("load", second, first, *option).stderr.endswith("1 error; nothing was changed\n")


def test_where_a_batch_is_too_large_it_is_said_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loads, "MIN_LARGE_STATEMENTS", 1)
    monkeypatch.setattr(loads, "read_memory_limit", lambda _connection: 2 * sizes.NEW_EDGE_BYTES - 1)
    nodes = "".join(f'Node(node_id="n{i}", name="N", data="");\n' for i in range(4))
    edges = "".join(f'Edge(edge_id="e{i}", from_node="n0", to_node="n{i}", verb="v", weight=1);\n' for i in range(4))
    file = _write(tmp_path, nodes + edges)
    refused = here("load", file, "--batch", "2")
    assert refused.returncode == 1
    assert "and nothing was changed by it: `load --batch 1` stores them in parts (in Python: " in refused.stderr
    assert refused.stderr.endswith(
        f"of {file} the batches up to statement 4 are stored; "
        "run the same command again: what is stored already stays as it is\n"
    )
    failed = json.loads(here("load", file, "--batch", "2", "--json").stdout)
    assert (failed["stored_statements"], failed["stored"], len(failed["errors"])) == (4, [], 1)
    assert document("load", file, "--batch", "1")["resumed_after"] == 4


def test_a_dry_run_tries_each_file_after_those_before_it(tmp_path: Path) -> None:
    files = (
        _write(tmp_path, 'Node(node_id="a", name="A", data="");', "one.ctx"),
        _write(tmp_path, 'Edge(edge_id="e", from_node="a", to_node="a", verb="x", weight=0.5);', "two.ctx"),
        _write(tmp_path, 'Node(node_id="b", name="B", data=""); del(id=e);', "three.ctx"),
        _write(tmp_path, "context main() {\n  &heat = /* the heat */\n}\n", "four.pete"),
        _write(tmp_path, "main agent A { main func() { return 1 } }", "five.as"),
    )
    tried = document("load", *files, "--dry-run")
    assert "CREATE (node:Node" in memorygraph("load", *files, "--show-cypher").stdout
    assert memorygraph("revisions").stdout == memorygraph("export").stdout == ""
    refused = memorygraph("load", files[0], _write(tmp_path, REFUSED, "wrong.ctx"), "--dry-run")
    assert refused.stderr.endswith("1 error; nothing was changed\n")
    stored = document("load", *files)
    assert [(each["dry_run"], each["revision"], each["load_id"]) for each in tried] == [(True, 0, "")] * 5
    own = {"elapsed_s": 0, "load_id": "", "revision": 0, "dry_run": True}
    assert [{**each, **own} for each in tried] == [{**each, **own} for each in stored]


def test_check_starts_no_database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NEO4J_URI")
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path / "home"))
    for example in EXAMPLES.iterdir():
        if example.is_file() and example.suffix != ".json":
            assert document("check", str(example)) == {"errors": [], "warnings": []}
    unknown = 'Edge(edge_id="e", from_node="a", to_node="b", verb="knows", weight=1);'
    assert document("check", "-", stdin=unknown) == {"errors": [], "warnings": []}
    assert [problem.code for problem in MemoryGraph.check("Node(node_id=a);")] == ["wrong-type"]
    assert [problem.code for problem in asyncio.run(AsyncMemoryGraph.check("Node(node_id=a);"))] == ["wrong-type"]
    assert not (tmp_path / "home").exists()


def test_no_server_is_exit_code_3_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    finished = memorygraph("load", "-", stdin=PROGRAM)
    assert finished.returncode == 3
    assert "memorygraph doctor" in finished.stderr


@pytest.mark.parametrize(
    ("uri", "instead"),
    [
        ("http://db.example:7474", "use bolt://db.example:7687, or neo4j://"),
        ("https://db.example/browser", "use bolt+s://db.example:7687, or neo4j+s://"),
        ("localhost:7687", "use bolt://localhost:7687"),
        ("http://ada:secret@[::1]:7474", "use bolt://[::1]:7687"),
        ("postgres://", "use bolt://HOST:7687"),
        ("bolt://neo4j:secret@db.example:7687", "write it as bolt://db.example:7687, and give the user name in NEO4J_"),
        ("neo4j+s://ada:p/secret@[::1]?policy=x", "write it as neo4j+s://[::1], "),
        ("bolt://ada:p?a#secret@db.example", "write it as bolt://db.example, "),
        ("bolt://ada:1/secret@db.example", "write it as bolt://db.example, "),
    ],
)
def test_an_address_that_is_not_of_bolt_is_refused_in_words(uri: str, instead: str) -> None:
    finished = memorygraph("--uri", uri, "namespaces", "list")
    assert (finished.returncode, finished.stdout) == (3, "")
    assert finished.stderr.startswith("memorygraph: the Neo4j address ")
    assert instead in finished.stderr
    assert "secret" not in finished.stderr


@pytest.mark.parametrize(
    ("typed", "meant"), [(["laod", "x.ctx"], "load"), (["neighbors", "a"], "neighbours"), (["messages", "lst"], "list")]
)
def test_a_mistyped_command_gets_did_you_mean(typed: list[str], meant: str) -> None:
    finished = memorygraph(*typed)
    assert finished.returncode == 2
    assert f"Did you mean '{meant}'?" in finished.stderr


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        (["--json", "load", "x.ctx"], "after the command: `memorygraph load --json`"),
        (["--dry-run", "messages", "forget", "x"], "after the command: `memorygraph messages forget --dry-run`"),
        (["load", "x.ctx", "-n", "work"], "before the command: `memorygraph -n NAME load`"),
        (["messages", "list", "--uri=bolt://a"], "before the command: `memorygraph --uri URI messages list`"),
    ],
)
def test_an_option_on_the_wrong_side_of_the_command_gets_its_place(typed: list[str], place: str) -> None:
    finished = memorygraph(*typed)
    assert finished.returncode == 2
    assert (
        f"No such option '{next(word for word in typed if word[0] == '-').partition('=')[0]}' here" in finished.stderr
    )
    assert place in finished.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("load",),
        ("frobnicate",),
        ("load", "--batch", "0", "x.ctx"),
        ("load", "--batch", "2", "--dry-run", "x.ctx"),
        ("neighbours",),
        ("expire", "a", "--in", "999999999w"),
        ("backup", "-"),
        ("run", "x.as", "--trace", "-"),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    assert memorygraph(*arguments).returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("load", "no-such-file.ctx"),
        ("load", "/"),
        ("load", "world.txt"),
        ("show", "ghost"),
        ("delete", "ghost"),
        ("neighbours", "ghost"),
        ("namespaces", "drop", "ghost", "--yes"),
        ("query", "MATCH ("),
        ("query", "RETURN $missing"),
        ("query", "CREATE (n:Ghost)"),
        ("query", "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line"),
        ("query", "LOAD CSV FROM 'http://127.0.0.1:1/' AS line RETURN line"),
        ("query", "CALL db.clearQueryCaches()"),
        ("query", "CALL dbms.killConnections(['x'])"),
        ("query", "CREATE USER x SET PASSWORD 'abcdefgh'"),
        ("query", "RETURN " + "[" * 500 + "]" * 500),
        ("query", "SHOW TRANSACTIONS YIELD transactionId AS t TERMINATE TRANSACTIONS t YIELD message RETURN message"),
    ],
)
def test_what_is_refused_or_not_there_is_exit_code_1(arguments: tuple[str, ...]) -> None:
    finished = memorygraph(*arguments)
    assert (finished.returncode, finished.stdout) == (1, ""), finished.stderr
    assert finished.stderr.startswith("memorygraph: ")


def test_an_error_in_cypher_has_the_place_in_the_query() -> None:
    finished = memorygraph("query", "MATCH (n)\nRETURN m")
    assert "(line 2, column 8 (offset: 17))" in finished.stderr
    assert "EXPLAIN" not in finished.stderr


def test_a_query_that_fails_midway_prints_no_half_a_document() -> None:
    [error] = document("query", "UNWIND range(1, 5000) AS n RETURN 1 / (4000 - n) AS x", code=1)["errors"]
    assert "/ by zero" in error["message"]


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "0", "1e300"])
def test_a_query_takes_a_number_of_seconds_that_a_clock_knows(graph: MemoryGraph, seconds: str) -> None:
    assert memorygraph("query", "RETURN 1 AS one", f"--seconds={seconds}").returncode == 2
    with pytest.raises(QueryError, match="`seconds` is a number above 0 and up to 1,000,000, and not"):
        next(graph.stream("RETURN 1 AS one", seconds=float(seconds)))


@pytest.mark.parametrize("command", [("run", "p.as", "--max-seconds"), ("proxy", "--timeout")], ids=" ".join)
def test_no_limit_of_time_is_nan(command: tuple[str, ...]) -> None:
    finished = memorygraph(*command, "nan")
    assert (finished.returncode, "'nan' is not a number of seconds" in finished.stderr) == (2, True)


def test_a_query_may_take_very_long() -> None:
    assert document("query", "RETURN 1 AS one", "--seconds", "1e6") == [{"one": 1}]


def test_what_a_query_has_written_is_printed_without_a_folder_for_temporary_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", None)
    create = "CREATE (n:Ghost {namespace: $namespace}) RETURN 1 AS one"
    finished = here("query", "--write", create, "--json")
    assert json.loads(finished.stdout) == [{"one": 1}], finished.stderr


@pytest.mark.parametrize("write", [(), ("--write",)])
def test_durations_and_points_of_a_query_are_shown_in_words_and_not_as_bare_numbers(write: tuple[str, ...]) -> None:
    cypher = "RETURN {took: [duration('P1DT2H')]} AS took, date('1815-12-10') AS born, point({x: 1, y: 2}) AS at"
    shown = {
        "took": {"took": ["P1DT2H"]},
        "born": "1815-12-10",
        "at": {"srid": 7203, "coordinates": [1.0, 2.0]},
    }
    assert document("query", cypher, *write) == [shown]
    for part in ("P1DT2H", "1815-12-10", '{"srid": 7203, "coordinates": [1.0, 2.0]}'):
        assert part in memorygraph("query", cypher, *write).stdout


def test_a_query_that_writes_says_what_it_has_changed() -> None:
    for cypher, said in (
        ("CREATE (:Tmp {mark: $namespace})-[:T]->(:Tmp)", "2 labels added, 2 nodes created, 1 relationship created"),
        ("MATCH (n:Tmp {mark: $namespace, a: 2}) DELETE n", "nothing changed"),
        ("MATCH (n:Tmp {mark: $namespace})--(m) DETACH DELETE n, m RETURN 1 AS n", "2 nodes deleted"),
    ):
        shown = memorygraph("query", cypher, "--write").stderr
        assert set(said.split(", ")) <= set(shown.strip().split(", ")), shown


def test_a_dash_for_cypher_is_standard_input() -> None:
    assert document("query", "-", "-p", "n=2", stdin="// twice\nRETURN 2 * $n AS twice") == [{"twice": 4}]


def test_a_dash_for_a_file_to_write_is_stdout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = _write(tmp_path, "> node a\n> goto a\n", "x.convo")
    thought = _write(tmp_path, "context main(&x) {", "main.pete")
    memorygraph("load", thought)
    for command in (("graph", script), ("pete", "view", "main"), ("export", "--format", "bundle")):
        printed = memorygraph(*command, "--output", "-")
        assert (printed.returncode, printed.stdout) == (0, memorygraph(*command).stdout)
        assert printed.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"x.convo", "main.pete"}


def test_a_query_of_many_rows_is_shown_whole() -> None:
    shown = memorygraph("query", "UNWIND range(1, 2500) AS n RETURN 'row' + n AS name").stdout
    assert re.findall(r"row\d+", shown) == [f"row{n}" for n in range(1, 2501)]
    assert memorygraph("query", "UNWIND [] AS n RETURN n").stderr.endswith("no rows\n")


def test_a_dry_run_and_show_cypher_change_nothing(tmp_path: Path) -> None:
    path = _write(tmp_path, 'Node(node_id="a", name="A", data="it\'s");')
    assert document("load", path, "--dry-run")["nodes_created"] == 1
    shown = memorygraph("load", path, "--show-cypher").stdout
    assert "CREATE (node:Node" in shown
    assert shown.startswith(":params {")
    assert document("load", path, "--show-cypher")[0]["parameters"]["rows"] == [
        {"id": "a", "name": "A", "data": "it's"}
    ]
    assert memorygraph("export").stdout == ""


def test_strict_refuses_what_the_original_grammar_has_not(tmp_path: Path) -> None:
    path = _write(tmp_path, 'Node(node_id="a", name="A: B", data="");')
    [error] = document("load", path, "--strict", code=1)["errors"]
    assert error["code"] == "strict"
    assert document("load", path)["nodes_created"] == 1


@pytest.mark.parametrize(
    "arguments", [("check", ""), ("load", ""), ("run", "x.as", "--input", "@"), ("graph", "x.convo", "-o", "")]
)
def test_an_empty_name_is_that_of_no_file(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    programs = {"x.as": "main agent A { main func(input) { return 1 } }", "x.convo": "> node a\n> goto a\n"}
    files = {name: _write(tmp_path, text, name) for name, text in programs.items()}
    [error] = document(*(files.get(word, word) for word in arguments), code=1)["errors"]
    assert (error["message"], error["code"]) == ("no file is named", "not-found")


def test_a_file_without_a_known_extension_is_said_to_need_the_option(tmp_path: Path) -> None:
    path = _write(tmp_path, "", "world.txt")
    for command in ("load", "check"):
        [error] = document(command, path, code=1)["errors"]
        assert re.match(
            rf"{re.escape(path)}: no language has the extension `\.txt`; known: .*; name one of them with --language$",
            error["message"],
        )
    assert document("check", path, "--language", "convo", code=0)["errors"] == []


def test_a_program_is_not_read_from_standard_input() -> None:
    finished = memorygraph("run", "-", stdin="main agent A { main func(input) { return 1 } }")
    assert (finished.returncode, "takes the name of a file" in finished.stderr) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="a link needs rights there")
@pytest.mark.parametrize("command", [("status",), ("show", "a")])
def test_a_home_that_is_a_link_to_itself_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    home = tmp_path / "home"
    home.symlink_to(home)
    monkeypatch.delenv("NEO4J_URI")
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(home))
    finished = memorygraph(*command)
    assert (finished.returncode, "MEMORYGRAPH_HOME" in finished.stderr) == (3, True), finished.stderr
    assert str(home) in finished.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the folder that one is in cannot be deleted there")
def test_a_home_below_a_deleted_folder_is_not_called_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setenv("MEMORYGRAPH_HOME", "home")
    with pytest.raises(ConnectionError, match=r"MEMORYGRAPH_HOME names home, .*No such file or directory"):
        default_home()


KSHA = "\u0915\u094d\u200d\u0937"  # letters of Hindi, which a joiner joins


def complete_in_bash(folder: Path, *words: str) -> list[str]:
    """The arguments that bash makes of the words which it is offered after these, as if all were in its line."""
    command = (
        'eval "$(memorygraph completion bash)"; COMP_WORDS=(memorygraph "$@"); COMP_CWORD=$#; '
        r"""_memorygraph_completion memorygraph "" ""; eval "printf '%s\0' ${COMPREPLY[@]}" """
    )
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", command, "bash", *words],
        env={**os.environ, "PATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split("\0")[:-1]


def test_completion_of_bash_offers_the_commands(tmp_path: Path) -> None:
    assert complete_in_bash(tmp_path, "mess") == ["messages"]


def test_completion_of_bash_writes_a_name_as_one_argument_of_which_nothing_is_executed(
    graph: MemoryGraph, tmp_path: Path
) -> None:
    hostile = ["x$(touch PWNED)", "x`touch PWNED`", "x;touch PWNED", "x\nplain,$(touch PWNED)", "it's", "*", "~", "a,"]
    for name in ("two  words", "caf\xe9", KSHA, "--yes", *hostile):
        graph.messages(name).append({"role": "user", "content": "hello"})
    found = complete_in_bash(tmp_path, "--namespace", graph.namespace, "messages", "show", "")
    assert (sorted(found), list(tmp_path.iterdir())) == (["caf\xe9", "two  words", KSHA], [])
    assert complete_in_bash(tmp_path, "--namespace", graph.namespace, "messages", "show", r"two\ ") == ["two  words"]


def offered(*words: str, shell: type[ShellComplete] = ShellComplete) -> list[str]:
    """What a shell is offered for the last of the words after `memorygraph`."""
    found = shell(cli, {}, "memorygraph", VARIABLE).get_completions(list(words[:-1]), words[-1])
    return [item.value if item.type == "plain" else item.type for item in found]


def test_completion_offers_names_of_the_graph(graph: MemoryGraph, environment: str) -> None:
    graph.load('Node(node_id="tea", name="T", data=""); Node(node_id="team", name="T", data="");')
    graph.load('Node(node_id="milk", name="M", data="");')
    graph.messages("Monday").append({"role": "user", "content": "hello"})
    here = ("--namespace", graph.namespace)
    for command in (("show",), ("neighbours",), ("delete",), ("history",), ("forget",), ("expire",), ("merge", "milk")):
        assert offered(*here, *command, "te") == ["tea", "team"], command
    assert offered(*here, "messages", "show", "Mon") == ["Monday"]
    assert offered(*here, "runs", "show", "") == ["last"]
    assert graph.namespace in offered("namespaces", "drop", graph.namespace[:-3])
    assert offered("--namespace", environment, "show", "te") == []
    for option in ("--namespace", "-n"):
        assert graph.namespace in offered(option, graph.namespace[:-3])
    graph.load("> node draw\n> goto draw\n", "convo", file="drawn.convo")
    assert offered(*here, "run", "--stored", "dr") == ["drawn"]
    assert offered(*here, "run", "dr") == ["file"]
    for options in (("run", "a.convo", "--resume"), ("graph", "a.convo", "--run")):
        assert offered(*here, *options, "l") == ["last"], options
    for command in (("recall", "tea"), ("chat",), ("proxy",)):
        assert offered(*here, *command, "--conversation", "Mon") == ["Monday"], command
    graph.load("context lab() {\n", "pete")
    for name in ("show", "view", "fold", "unfold", "sense", "step", "run"):
        assert offered(*here, "pete", name, "l") == ["lab"], name


def test_neither_completion_nor_the_bar_of_an_export_counts_what_other_namespaces_hold(
    graph: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    monkeypatch.delattr(MemoryGraph, "namespaces")
    assert graph.namespace in offered("namespaces", "drop", graph.namespace[:-3])
    parent, terminal = os.openpty()
    for name in (graph.namespace, f"{graph.namespace}-empty"):
        command = ["-n", name, "export", "--format", "bundle", "--output", str(tmp_path / name)]
        with os.fdopen(os.dup(terminal), "w", encoding="utf-8") as stderr, redirect_stderr(stderr):
            cli(command, standalone_mode=False)
    os.close(terminal)
    os.close(parent)


@pytest.mark.parametrize("form", ["contextscript", "jsonl", "graphml", "server-memory", "bundle", "bundle in a file"])
def test_an_export_of_a_namespace_that_was_never_written_warns(graph: MemoryGraph, tmp_path: Path, form: str) -> None:
    export = ["export", "--format", form.split(maxsplit=1)[0]]
    export += ["--output", str(tmp_path / "file"), "--json"] if form == "bundle in a file" else []
    said = f"warning: nothing was ever stored in namespace `{graph.namespace}`; `memorygraph namespaces list` shows all"
    here = ["--namespace", graph.namespace]
    done = CliRunner().invoke(cli, [*here, *export])
    assert (done.exit_code, said in done.stderr) == (0, True), done.stderr
    assert CliRunner().invoke(cli, [*here, *export, "--strict"]).exit_code == 1
    if form == "bundle in a file":
        assert [each["code"] for each in json.loads(done.stdout)["warnings"]] == ["not-found"]
    graph.messages("talk").append({"role": "user", "content": "Hi"})
    assert "warning" not in CliRunner().invoke(cli, [*here, *export]).stderr


@pytest.mark.parametrize(
    "command", [("load", "-"), ("doctor", "--graph"), ("proxy", "--upstream", "nowhere"), ("browser", "world")]
)
def test_an_empty_namespace_is_refused_and_no_default(command: tuple[str, ...]) -> None:
    refused = CliRunner().invoke(cli, ["-n", "", *command], input="")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == "memorygraph: a namespace has 1 to 200 printable characters, and this is ''\n"


def test_a_refused_namespace_is_a_document_where_one_is_asked_for() -> None:
    [refused] = document("-n", "", "search", "x", code=1)["errors"]
    assert refused["message"].startswith("a namespace has 1 to 200 printable characters")


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201])
def test_an_invalid_namespace_is_refused_before_a_server_is_started_or_asked(name: str) -> None:
    with pytest.raises(MemoryGraphError, match="1 to 200 printable"):
        MemoryGraph.connect("bolt://127.0.0.1:1", namespace=name)


def test_an_empty_variable_names_the_default_namespace() -> None:
    done = CliRunner().invoke(cli, ["query", "RETURN $namespace AS it", "--json"], env={"MEMORYGRAPH_NAMESPACE": ""})
    assert json.loads(done.stdout) == [{"it": "default"}]


def test_a_dry_run_of_a_drop_counts_once(graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph.load('Node(node_id="a", name="A", data="");')
    drop, asked = MemoryGraph.drop_namespace, []

    def count(of: MemoryGraph, name: str, *, dry_run: bool = False) -> NamespaceInfo:
        asked.append(dry_run)
        return drop(of, name, dry_run=dry_run)

    monkeypatch.setattr(MemoryGraph, "drop_namespace", count)
    finished = CliRunner().invoke(cli, ["namespaces", "drop", graph.namespace, "--dry-run", "--json"])
    assert (json.loads(finished.stdout)["nodes"], asked) == (1, [True])


def test_completion_offers_conversations_however_many_others_have_what_is_typed_in_their_names(
    graph: MemoryGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorygraph.cli.completion.MAX_OFFERED", 2)
    for name in ("code-1", "code-2", "code-3", "diary", "diary-2", "e"):
        graph.messages(name).append({"role": "user", "content": "hello"})
    asked = ("--namespace", graph.namespace, "messages", "show")
    assert offered(*asked, "d") == offered(*asked, "diary") == ["diary", "diary-2"]
    assert offered(*asked, "") == ["code-1", "code-2"]


def test_completion_offers_files_and_saved_queries() -> None:
    for command in ("load", "check", "run", "graph", "import"):
        assert offered(command, "exa") == ["file"]
    assert "thread-with-forks" in offered("browser", "thread")


def test_completion_neither_starts_a_server_nor_says_that_there_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path / "home"))
    assert offered("show", "te") == []
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    assert offered("show", "te") == []
    monkeypatch.setenv("NEO4J_URI", "bolt+ssc://127.0.0.1:1")
    assert offered("show", "te") == []
    assert capfd.readouterr() == ("", "")
    assert not (tmp_path / "home").exists()


def test_who_asks_a_server_only_where_it_runs_starts_none_that_is_being_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NEO4J_URI", raising=False)
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(EmbeddedServer, "find_process", lambda _: psutil.Process())
    monkeypatch.setattr(EmbeddedServer, "up", lambda *_: pytest.fail("a server is started"))
    assert offered("show", "te") == []
    wrong = tmp_path / "wrong.ctx"
    wrong.write_text('Edge(edge_id="e", from_node="a", to_node="b", verb="v", weight=2);', "utf-8")
    assert "the graph was not asked what else is wrong: Neo4j does not run" in here("load", str(wrong)).stderr
    event = json.dumps({"session_id": "s", "prompt": "Who?"})
    assert here("hook", "UserPromptSubmit", stdin=event).stderr.startswith("memorygraph hook: Neo4j does not run")


def test_completion_writes_no_warning_into_the_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def warn_and_find(*_: object) -> list[str]:
        output.say("warning: something is wrong")
        return ["tea"]

    monkeypatch.setattr(MemoryGraph, "ids", warn_and_find)
    assert offered("show", "te") == ["tea"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("shell", "expected"), [("zsh", ["a,b", "two words"]), ("fish", ["two words"])])
def test_completion_leaves_out_what_a_shell_would_not_write_as_it_is(
    graph: MemoryGraph, shell: str, expected: list[str]
) -> None:
    for name in ("a,b", "two words", "-x", "line\nbreak"):
        graph.messages(name).append({"role": "user", "content": "hello"})
    of_shell = get_completion_class(shell)
    assert of_shell is not None
    assert offered("--namespace", graph.namespace, "messages", "show", "", shell=of_shell) == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_asks_this_program(shell: str) -> None:
    assert "_MEMORYGRAPH_COMPLETE" in CliRunner().invoke(cli, ["completion", shell]).stdout


def test_help_is_quick_because_it_imports_neither_driver_nor_parser() -> None:
    code = (
        "import sys; from memorygraph.cli import cli\n"
        "try: cli(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('neo4j', 'textx', 'pydantic', 'rich', 'psutil') if m in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "command",
    [
        ("export",),
        ("export", "--format", "bundle"),
        ("export", "--format", "jsonl"),
        ("export", "--format", "graphml"),
        ("export", "--format", "server-memory"),
        ("query", "MATCH (n) WHERE n.namespace = $namespace RETURN n.data", "--json"),
    ][:: 1 if profile() != "ordinary" else 3],
)
def test_a_reader_that_has_enough_of_much_output_is_no_error(environment: str, command: tuple[str, ...]) -> None:
    with MemoryGraph.connect(namespace=environment) as graph:
        graph.load(f'Node(node_id="a", name="A", data="{"much " * 40_000}");')  # more than a pipe holds
    with subprocess.Popen(
        [sys.executable, "-m", "memorygraph", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1)
        process.stdout.close()
        said = process.stderr.read().decode()
    assert (process.returncode, "Traceback" in said, "ignored" in said) == (0, False, False), said


def test_the_status_of_a_named_server_is_that_of_the_named_database(
    environment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_DATABASE", "nowhere")
    found = json.loads(CliRunner().invoke(cli, ["-n", environment, "status", "--json"]).stdout)["server"]
    assert "nowhere" in found["problem"]
