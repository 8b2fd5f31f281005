"""What is printed into a pipe: its first piece at once, and the rest when all of it is known."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from unittest.mock import ANY

import click
import pytest
from click.testing import CliRunner

from memorygraph import MemoryGraph, MemoryGraphError
from memorygraph.cli import cli
from memorygraph.cli.forgetting import show_time
from memorygraph.cli.output import (
    FIRST_CHARACTERS,
    PIECE_WRITES,
    error_records,
    escape_unknown_characters,
    format_time,
    is_piped,
    json_option,
    plain,
    print_in_utf_8,
    print_json,
    print_json_list,
    print_table,
    progress_bar,
    to_json,
    whole_output,
)
from memorygraph.cli.server import BarWhenNeeded
from memorygraph.cli.trace import shorten_value
from memorygraph.compiler import contextscript
from memorygraph.errors import DatabaseUnavailableError, NotFoundError
from memorygraph.graph.bad_elements import naming_bad_elements
from memorygraph.graph.schema import take_turn
from memorygraph.limits import LimitExceeded
from memorygraph.runtime.depth import CallStack
from memorygraph.scripts import open_script
from tests.cli.test_commands import ANSI
from tests.examples import mostly_slow

LINE = "x" * 99 + "\n"
FIRST = LINE * (FIRST_CHARACTERS // len(LINE) + 1)


@contextmanager
def piped() -> Iterator[int]:
    """What is printed goes into a pipe: gives its other end, from which nothing is awaited."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with os.fdopen(writer, "w", encoding="utf-8") as stdout, redirect_stdout(stdout):
        yield reader
    os.close(reader)


def heard(reader: int) -> str:
    """What has come through the pipe since it was last asked."""
    try:
        return os.read(reader, 1 << 17).decode()
    except BlockingIOError:
        return ""


def write_twice(first: str, second: str) -> None:
    """Write a text, and then another in its place, as an export does when a load was committed meanwhile."""
    with whole_output() as file:
        file.first_at_once = lambda: None
        file.write(first)
        file.seek(0)
        file.truncate()
        file.write(second)


def test_the_first_piece_is_printed_before_the_rest_is_written() -> None:
    cleared: list[bool] = []
    with piped() as reader:
        assert is_piped()
        with whole_output() as file:
            file.first_at_once = lambda: cleared.append(True)
            file.write("short\n")
            assert heard(reader) == ""
            file.writelines([FIRST, LINE])
            first = heard(reader)
        rest = heard(reader)
    assert (first, cleared) == (f"short\n{FIRST}"[:FIRST_CHARACTERS], [True])
    assert first + rest == f"short\n{FIRST}{LINE}"


def test_what_is_short_or_not_asked_for_is_printed_at_the_end() -> None:
    with piped() as reader:
        with whole_output() as file:
            file.first_at_once = lambda: None
            file.write(LINE)
            assert heard(reader) == ""
        assert heard(reader) == LINE
        with whole_output() as file:
            file.write(FIRST * 2)
            assert heard(reader) == ""
        assert heard(reader) == FIRST * 2


def test_what_is_written_again_goes_on_behind_its_first_piece() -> None:
    with piped() as reader:
        write_twice(FIRST, f"{FIRST}other\n")
        assert heard(reader) == f"{FIRST}other\n"


def test_what_is_written_again_with_another_first_piece_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with piped() as reader:
        with pytest.raises(MemoryGraphError, match="changed during the export"):
            write_twice(FIRST, f"y{FIRST}")
        printed = heard(reader)
    assert printed == FIRST[:FIRST_CHARACTERS]
    assert "what was printed is cut off: throw it away" in capsys.readouterr().err


def test_a_long_message_is_whole_in_a_pipe_and_short_on_a_terminal(environment: str) -> None:
    with MemoryGraph.connect(namespace=environment) as graph:
        graph.messages("long").append({"role": "user", "content": f"begins {'and goes on ' * 200}and ends"})
    assert "and ends" in CliRunner().invoke(cli, ["-n", environment, "messages", "show", "long"]).stdout
    parent, terminal = os.openpty()
    command = [sys.executable, "-m", "memorygraph", "-n", environment, "messages", "show", "long"]
    subprocess.run(command, stdout=terminal, check=True, timeout=60)
    os.close(terminal)
    shown = os.read(parent, 100_000).decode()
    os.close(parent)
    assert "begins" in shown
    assert "…" in shown
    assert "and ends" not in shown


@pytest.mark.parametrize("text", ["[n IN nodes(p) | n.name]", "x[i]", "split(n.data, '[/b]')", "[red]"])
def test_headings_and_cells_of_a_table_are_shown_as_they_are(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_table((text, "other"), [(text, 1)])
    heading, _, row = capsys.readouterr().out.splitlines()
    assert (heading.split("  ")[0].strip(), row.split("  ")[0].strip()) == (text, text)


@pytest.mark.parametrize("text", ["\u0915\u094d\u200d\u0937", "\u0645\u06cc\u200c\u062e", "👩\u200d🚀"])
def test_joiners_of_letters_and_emoji_are_shown_and_what_turns_the_direction_of_writing_is_not(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plain(f"{text}\u202e\u2066\x1b") == f"{text}   "
    print_table((text,), [(shorten_value(text),)])
    assert [line.strip() for line in capsys.readouterr().out.splitlines()[::2]] == [text, text]


def test_in_a_pipe_each_row_of_a_table_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("a\nb", "c"), [("one\ntwo", ["x\ny"]), ("three", 4)])
    assert [re.split("  +", line.strip()) for line in capsys.readouterr().out.splitlines()] == [
        ["a b", "c"],
        [ANY],
        ["one two", '["x\\ny"]'],
        ["three", "4"],
    ]


def test_the_columns_of_a_table_in_a_pipe_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("id", "name", ""), [("a", "日本", 1), ("long", "ne\u0301\tx", None), ("", "", "e")])
    assert capsys.readouterr().out.splitlines() == [
        "id     name",
        "─" * 19,
        "a      日本       1",
        "long   ne\u0301     x",
        "                  e",
    ]


def test_no_long_text_of_a_column_makes_every_line_in_a_pipe_long(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("text", "n"), [("x" * 100_000, 1), ("y", 2)])
    assert [*map(len, capsys.readouterr().out.splitlines())] == [4_004, 4_004, 100_004, 4_004]


def test_a_table_in_a_pipe_is_drawn_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.table", None)
    print_table(("a",), [("b",)])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MemoryGraphError("x"), "memorygraph"),
        (NotFoundError("x"), "not-found"),
        (DatabaseUnavailableError("x"), "database-unavailable"),
        (LimitExceeded("x", "too-much-time"), "too-much-time"),
    ],
)
def test_an_error_without_a_place_has_the_code_of_its_kind(error: MemoryGraphError, code: str) -> None:
    assert [record["code"] for record in error_records(error)] == [code]


def test_forced_colours_change_nothing_else_of_what_goes_into_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def print_all() -> tuple[str, str]:
        with progress_bar("storing"):
            print_table(["name", "text"], [["a", "many words " * 30]])
        return capsys.readouterr()

    monkeypatch.delenv("FORCE_COLOR", raising=False)
    table, nothing = print_all()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured, bar = print_all()
    assert coloured != table
    assert (ANSI.sub("", coloured), bar) == (table, nothing) == (table, "")


def test_a_bar_shows_its_title_as_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("storing [/b].ctx"):
        pass
    assert "storing [/b].ctx" in capsys.readouterr().err


def test_the_bar_of_a_download_goes_with_its_last_byte_and_what_follows_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    with ExitStack() as shown:
        bar = BarWhenNeeded(shown, afterwards="starting Neo4j ...")
        bar.total(3_000_000)
        bar.advance(1_000_000)
        assert "starting" not in capsys.readouterr().err
        bar.advance(2_000_000)
        said = capsys.readouterr().err
        assert said.endswith("starting Neo4j ...\n"), "while Neo4j starts"
        bar.advance(-2_000_000)  # the last file was not the pinned one
        bar.advance(2_000_000)
        assert capsys.readouterr().err.endswith("starting Neo4j ...\n")
    assert capsys.readouterr().err == ""


def test_the_bar_of_a_load_has_a_rate_and_the_time_that_is_left(
    environment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(contextscript, "ROWS_PER_BATCH", 3)
    nodes = tmp_path / "nodes.ctx"
    nodes.write_text("".join(f'Node(node_id="n{i}", name="N", data="");\n' for i in range(30)))
    shown = CliRunner().invoke(cli, ["-n", environment, "load", str(nodes)]).stderr
    last = [line for line in ANSI.sub("", shown).splitlines() if "storing nodes.ctx" in line][-1]
    assert re.search(r"30/30 [\d,]+/s \d:\d\d:\d\d \d:\d\d:\d\d", last), shown


def test_a_table_that_nobody_reads_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "memorygraph", "browser", "--queries"]
    finished = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(write)
    assert (finished.returncode, finished.stderr) == (0, b"")


def test_an_export_tells_its_bar_how_much_was_written() -> None:
    told: list[int] = []
    with whole_output() as file:
        file.listener = told.append
        file.writelines("\n" for _ in range(2 * PIECE_WRITES + 1))
    assert told == [PIECE_WRITES, 2 * PIECE_WRITES]


@pytest.mark.slow
def test_an_export_whose_reader_has_read_enough_ends_well(environment: str) -> None:
    with MemoryGraph.connect(namespace=environment) as graph:
        graph.load("".join(f'Node(node_id="n{i}", name="N{i}", data="number {i}");' for i in range(5_000)))
    finished = run_in_shell(f"set -o pipefail; memorygraph -n {environment} export | head -1")
    assert (finished.returncode, finished.stdout.count("\n"), finished.stderr) == (0, 1, "")


def run_in_shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command line of `memorygraph`, with what a shell does to its streams."""
    return subprocess.run(
        ["bash", "-c", command.replace("memorygraph", f"{sys.executable} -m memorygraph")],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "command",
    [
        "memorygraph browser --queries",
        "memorygraph check - --json < /dev/null",
        pytest.param("memorygraph completion bash", marks=pytest.mark.slow),
        pytest.param("memorygraph serve --client-config", marks=pytest.mark.slow),
    ],
)
def test_a_stdout_that_takes_no_more_is_said_as_such(command: str) -> None:
    finished = run_in_shell(f"{command} > /dev/full")
    assert (finished.returncode, "what is printed cannot be written to stdout" in finished.stderr) == (1, True)
    assert "report" not in finished.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("stdout", ["> /dev/full", "| true"])
def test_an_error_that_stdout_does_not_take_ends_the_command_as_it_would(stdout: str) -> None:
    finished = run_in_shell(f"memorygraph --uri bolt://127.0.0.1:1 show a --json {stdout}; exit ${{PIPESTATUS[0]}}")
    assert (finished.returncode, "127.0.0.1:1" in finished.stderr) == (3, True)
    assert finished.stderr.count("what is printed cannot be written to stdout") == ("full" in stdout)
    assert "report" not in finished.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_command_goes_on_to_its_end_where_stderr_takes_no_more() -> None:
    finished = run_in_shell("memorygraph check - 2> /dev/full < /dev/null")
    assert finished.returncode == 0


@pytest.mark.parametrize("closed", mostly_slow([">&-", "<&-", "2>&-"], ordinary=1))
def test_a_closed_stream_is_one_that_nobody_is_at(closed: str) -> None:
    finished = run_in_shell(f"memorygraph check - --json {closed}")
    assert (finished.returncode, "NoneType" in finished.stderr) == (0, False)


def test_without_a_folder_for_temporary_files_that_is_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", find_none)
    with pytest.raises(MemoryGraphError, match="TMPDIR"), whole_output():
        pass
    with pytest.raises(MemoryGraphError, match="TMPDIR"), open_script("-"):
        pass
    with take_turn():
        pass


def test_a_table_on_a_terminal_keeps_each_of_many_columns() -> None:
    parent, terminal = os.openpty()
    with os.fdopen(terminal, "w", encoding="utf-8") as stdout, redirect_stdout(stdout):
        print_table([f"c{number}" for number in range(40)], [list(range(40))])
    shown = os.read(parent, 100_000).decode()
    os.close(parent)
    assert all(f"c{number}" in shown for number in range(40))


@contextmanager
def printed_in(encoding: str) -> Iterator[io.BytesIO]:
    """What is printed while stdout has this encoding, as the command line sets it up."""
    printed = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(printed, encoding, write_through=True)) as stdout:
        escape_unknown_characters()
        yield printed
    stdout.detach()


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_table_has_an_escape_for_what_its_encoding_has_not(encoding: str) -> None:
    with printed_in(encoding) as printed:
        print_table(["é … 🐈"], [["é … 🐈"]])
    heading, _, row = printed.getvalue().splitlines()
    assert heading.strip() == row.strip() == "é … 🐈".encode(encoding, "backslashreplace")


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_json_is_json_in_every_encoding(encoding: str) -> None:
    values = ["é … 🐈 \\", {"€": 1}]
    with printed_in(encoding) as printed:
        print_json_list(values)
    assert json.loads(printed.getvalue()) == values


def test_an_export_is_utf_8_whatever_the_encoding_of_the_terminal() -> None:
    with printed_in("latin-1") as printed:
        print_in_utf_8()
        with whole_output() as file:
            file.write("é … 🐈")
    assert printed.getvalue().decode() == "é … 🐈"


@contextmanager
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The zone of this process is that of Tokyo."""
    try:
        with monkeypatch.context() as patch:
            patch.setenv("TZ", "Asia/Tokyo")
            time.tzset()
            yield
    finally:
        time.tzset()


@pytest.mark.usefixtures("environment")
@pytest.mark.skipif(sys.platform == "win32", reason="the zone of a process cannot be changed there")
def test_runs_and_loads_are_listed_with_their_times_in_the_zone_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "one.as"
    program.write_text("main agent A { main func(input) { return 1 } }")
    for command in ("load", "run"):
        CliRunner().invoke(cli, [command, str(program)])
    [run] = json.loads(CliRunner().invoke(cli, ["runs", "list", "--json"]).stdout)
    [load] = json.loads(CliRunner().invoke(cli, ["revisions", "--json"]).stdout)
    with in_tokyo(monkeypatch):
        for listing, at in ((["runs", "list"], run["at"]), (["revisions"], load["at"])):
            there = datetime.fromisoformat(at).astimezone(timezone(timedelta(hours=9)))
            assert there.strftime("%Y-%m-%d %H:%M:%S  ") in CliRunner().invoke(cli, listing).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="the zone of a process cannot be changed there")
def test_a_time_that_this_zone_has_not_is_shown_in_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    with in_tokyo(monkeypatch):
        shown = [show_time(at) for at in (None, datetime(2026, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC))]
        assert format_time(datetime.max.replace(tzinfo=UTC)) == "9999-12-31 23:59:59"
    assert shown == ["never", "2026-01-01 09:00:00+09:00", "9999-12-31 23:59:59+00:00"]


def test_what_is_no_number_is_null_in_json_and_shown_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    values = {"a": math.nan, "b": [-math.inf, 1.5], "at": datetime(2026, 1, 1, tzinfo=UTC)}
    assert json.loads(to_json(values)) == {"a": None, "b": [None, 1.5], "at": "2026-01-01 00:00:00+00:00"}
    print_table(["a"], [[math.nan]])
    assert capsys.readouterr().out.splitlines()[-1].strip() == "NaN"


def test_a_bad_element_that_another_thread_reads_is_a_warning_of_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_bad_element() -> None:
        with naming_bad_elements() as is_right:
            is_right("edge", "e", weight=7.5)

    @click.command
    @json_option
    def deep_command() -> None:
        CallStack().call_in_thread(read_bad_element, ())
        print_json({})

    monkeypatch.setattr(cli, "get_command", lambda *_: deep_command)
    done = CliRunner().invoke(cli, ["deep", "--json"])
    [warning] = json.loads(done.stdout)["warnings"]
    assert warning["message"].startswith('edge "e" is not as it should be: weight = 7.5')
    assert done.stderr == f"warning: {warning['message']}\n"
