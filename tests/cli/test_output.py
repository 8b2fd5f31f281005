"""What is printed into a pipe: its first piece at once, and the rest when all of it is known."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import pytest
from click.testing import CliRunner

from memorygraph import MemoryGraph, MemoryGraphError
from memorygraph.cli import cli
from memorygraph.cli.output import FIRST_CHARACTERS, is_piped, print_table, progress_bar, whole_output

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


def test_a_bar_shows_its_title_as_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("storing [/b].ctx"):
        pass
    assert "storing [/b].ctx" in capsys.readouterr().err
