"""Commands run without our secrets, within limits, and leave nothing behind."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools import ImportedTool, ToolFailure, open_tool, shell
from tests.examples import mostly_slow
from tests.runtime.tools.processes import has_ended


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("hello\n")
    return tmp_path


def open_shell(uri: str, folder: Path) -> ImportedTool:
    return open_tool("Sh", uri, folder, Permissions.of(["sh"]))


def run(uri: str, folder: Path, *arguments: Any) -> Any:
    return open_shell(uri, folder).call("run", list(arguments)).value


def test_a_line_is_for_the_shell(folder: Path) -> None:
    assert run("sh://", folder, "cat a.txt | tr h j; echo oh >&2; exit 3") == {
        "stdout": "jello\n",
        "stderr": "oh\n",
        "code": 3,
    }


def test_effects_say_how_it_ended(folder: Path) -> None:
    assert open_shell("sh://", folder).call("run", ["exit 3"]).effects == {"exit_code": 3}


@pytest.mark.parametrize(("uri", "first"), [("sh://echo", ()), ("sh://", ("echo",)), ("sh://echo 'a b'", ())])
def test_arguments_are_never_for_a_shell(uri: str, first: tuple[str, ...], folder: Path) -> None:
    hostile = ["$HOME", "`id`", "; rm a.txt", "$(touch x)", "*", "a\nb", "'\"", "> out", 7, 7.0, 1.5]
    expected = " ".join([*(["a b"] if "a b" in uri else []), *map(str, hostile[:-3]), "7", "7", "1.5"])
    assert run(uri, folder, *first, *hostile)["stdout"] == f"{expected}\n"
    assert [path.name for path in folder.iterdir()] == ["a.txt"]


def test_signs_of_a_shell_in_the_uri_mean_nothing(folder: Path) -> None:
    assert run("sh://echo $HOME;id", folder)["stdout"] == "$HOME;id\n"


def test_a_command_of_the_script_folder(folder: Path) -> None:
    script = folder / "tool.sh"
    script.write_text("#!/bin/sh\npwd\n")
    script.chmod(0o755)
    assert run("sh://./tool.sh", folder)["stdout"] == f"{folder}\n"


def test_secrets_of_the_environment_are_not_passed_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = (
        "NEO4J_PASSWORD",
        "NEO4J_URI",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "LD_PRELOAD",
    )
    for name in secrets:
        monkeypatch.setenv(name, f"{folder}/verysecret")
    monkeypatch.setenv("LC_TIME", "C")
    output = run("sh://", folder, "env")["stdout"]
    assert "verysecret" not in output
    assert "LC_TIME=C" in output
    assert "PATH=" in output


def test_standard_input_is_empty(folder: Path) -> None:
    assert run("sh://cat", folder)["stdout"] == ""


def test_bytes_that_are_no_text_are_replaced(folder: Path) -> None:
    assert run("sh://", folder, r"printf 'a\377b'")["stdout"] == "a\ufffdb"


def test_much_output_on_both_streams_is_read(folder: Path) -> None:
    value = run("sh://", folder, "head -c 3000000 /dev/zero | tr '\\0' a; head -c 3000000 /dev/zero | tr '\\0' b >&2")
    assert (len(value["stdout"]), len(value["stderr"])) == (3_000_000, 3_000_000)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_flood_of_output_is_stopped(stream: str, folder: Path) -> None:
    with pytest.raises(ToolFailure, match=r"wrote more than 10,000,000 bytes and was stopped"):
        run("sh://", folder, f"echo $$ > pid; yes >&{stream}")
    assert has_ended(int((folder / "pid").read_text()))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "line",
    mostly_slow(["trap '' TERM HUP; sleep 100; sleep 100", "sleep 100", "exec >&- 2>&-; sleep 100"], ordinary=1),
)
def test_the_time_limit_ends_the_command_with_its_children(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "SECONDS", 1.0)
    started = time.monotonic()
    with pytest.raises(ToolFailure, match="took longer than 1 seconds and was stopped"):
        run("sh://", folder, f"(echo child >&2; sleep 100) & echo $! $$ > pids; {line}")
    assert time.monotonic() - started < 10
    assert [has_ended(int(pid)) for pid in (folder / "pids").read_text().split()] == [True, True]


@pytest.mark.timeout(60)
def test_what_a_command_leaves_in_the_background_ends_with_the_call(folder: Path) -> None:
    started = time.monotonic()
    value = run("sh://", folder, "sleep 100 & echo $! > pid; nohup sleep 100 & echo $! >> pid; echo done")
    assert value["stdout"] == "done\n"
    assert time.monotonic() - started < 10
    assert [has_ended(int(pid)) for pid in (folder / "pid").read_text().split()] == [True, True]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "start",
    [
        "setsid sh -c 'echo $$ > pid; sleep 100; exit' &",
        """(setsid sh -c 'setsid sh -c "echo \\$\\$ > pid; sleep 100; exit" & sleep 100' &);""",
    ],
)
def test_what_leaves_the_session_of_a_command_ends_with_the_call(start: str, folder: Path) -> None:
    run("sh://", folder, f"{start} while [ ! -s pid ]; do sleep 0.01; done")
    assert has_ended(int((folder / "pid").read_text()))


def test_an_exit_by_a_signal_is_told(folder: Path) -> None:
    assert run("sh://", folder, "kill -9 $$")["code"] == -9


def test_a_command_runs_where_python_has_no_waitid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "waitid")
    assert run("sh://", folder, "echo $((1 + 1)); exit 3") == {"stdout": "2\n", "stderr": "", "code": 3}


def test_a_command_is_waited_for_where_its_group_takes_no_signal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_group: int, _signal: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "killpg", refuse)  # as on macOS, where only the ended first process is left of it
    assert run("sh://", folder, "exit 3")["code"] == 3


def test_no_descriptor_is_left_open(folder: Path) -> None:
    run("sh://true", folder)
    before = len([*Path("/proc/self/fd").iterdir()])
    for _ in range(20):
        run("sh://true", folder)
    assert len([*Path("/proc/self/fd").iterdir()]) == before


@pytest.mark.parametrize(
    ("uri", "arguments", "message"),
    [
        ("sh://", [], "`run` takes a command"),
        ("sh://", [""], "`run` takes a command"),
        ("sh://no-such-command-here", [], "there is no command `no-such-command-here`"),
        ("sh://./a.txt", [], "Permission denied"),
        ("sh://echo", [True], "a text or a number, and this is a boolean"),
        ("sh://echo", [{"a": 1}], "a text or a number, and this is an object"),
        ("sh://echo", ["a\0b"], "no null character"),
        ("sh://echo", ["\ud800"], "no half character"),
        ("sh://echo", [10**5000], "more digits than can be written"),
        ("sh://echo", ["x" * 3_000_000], "too long"),
    ],
)
def test_failures(uri: str, arguments: list[Any], message: str, folder: Path) -> None:
    with pytest.raises(ToolFailure, match=f"failed: .*{message}"):
        run(uri, folder, *arguments)


@pytest.mark.parametrize("uri", ["sh://echo a\0b", "sh://echo \ud800", 'sh://echo "a'])
def test_an_address_that_is_no_command_is_refused_at_once(uri: str, folder: Path) -> None:
    with pytest.raises(MemoryGraphError, match="the tool `Sh` cannot be at"):
        run(uri, folder)
