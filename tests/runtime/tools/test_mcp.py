"""The official SDK as the client of a real MCP server, over pipes and over HTTP."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorygraph.runtime.permissions import Permissions, Refused
from memorygraph.runtime.tools import ImportedTool, ToolFailure, mcp, open_tool
from tests.examples import mostly_slow
from tests.runtime.tools.portals import portal_threads
from tests.runtime.tools.processes import has_ended

SERVER = Path(__file__).with_name("mcp_server.py").resolve()
COMMAND = f"{shlex.quote(sys.executable)} {shlex.quote(str(SERVER))}"

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server over HTTP on loopback."""
    command = [sys.executable, str(SERVER), "http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout
            yield f"127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@pytest.fixture(scope="module", params=mostly_slow(["pipes", "http"], ordinary=1))
def tool(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ImportedTool]:
    remote = request.param == "http"
    place = f"http://{request.getfixturevalue('address')}/mcp" if remote else COMMAND
    tool = open_tool("Server", f"mcp://{place}", tmp_path_factory.mktemp("script"), Permissions.of(["mcp"]))
    yield tool
    tool.close()


def start(folder: Path, *options: str) -> ImportedTool:
    return open_tool("Server", f"mcp://{COMMAND} {shlex.join(options)}", folder, Permissions.of(["mcp"]))


def process_of(tool: ImportedTool) -> int:
    return int(json.loads(tool.call("about", []).value)["pid"])


def test_a_tool_of_the_server_is_a_method(tool: ImportedTool) -> None:
    assert tool.call("add", [{"a": 1, "b": 2}]).value == {"result": 3}
    assert tool.call("person", [{"name": "Ada"}]).value == {"name": "Ada", "tags": ["a", {"b": None}]}


def test_a_name_may_have_hyphens_and_arguments_defaults(tool: ImportedTool) -> None:
    assert tool.call("say-hello", []).value == "Hello, you!"
    assert tool.call("say-hello", [{"name": "Größe"}]).value == "Hello, Größe!"


def test_texts_are_joined_and_not_read_as_json(tool: ImportedTool) -> None:
    result = tool.call("two_parts", [])
    assert (result.value, result.effects) == ('one\n{"two": 2}', {"parts": 2})


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("fail", [], "the reason"),
        ("no-such-tool", [], "no-such-tool"),
        ("add", [{"a": "x"}], "valid integer"),
        ("add", [1, 2], "it takes one object"),
        ("add", [[1, 2]], "it takes one object"),
    ],
)
def test_failures_say_why(method: str, arguments: list[Any], message: str, tool: ImportedTool) -> None:
    with pytest.raises(ToolFailure, match=rf"^Tool Server\.{method} \(mcp://[^)]*\) failed: (.|\n)*{message}"):
        tool.call(method, arguments)
    assert tool.call("add", [{"a": 1, "b": 2}]).value == {"result": 3}


def test_threads_share_a_session(tool: ImportedTool) -> None:
    sums: list[int] = []

    def work(number: int) -> None:
        sums.extend(tool.call("add", [{"a": number, "b": n}]).value["result"] for n in range(5))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sums) == sorted(number + n for number in range(4) for n in range(5))


def test_it_works_where_a_loop_runs_already(tool: ImportedTool) -> None:
    async def cell_of_a_notebook() -> Any:
        return tool.call("add", [{"a": 1, "b": 2}]).value

    assert asyncio.run(cell_of_a_notebook()) == {"result": 3}


def test_every_call_has_a_time_limit(tool: ImportedTool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "wait" in tool.methods()  # the server is there: its start has the same limit
    monkeypatch.setattr(mcp, "SECONDS", 0.3)
    with pytest.raises(ToolFailure, match=r"took longer than 0.3 seconds"):
        tool.call("wait", [{"seconds": 2}])
    monkeypatch.undo()
    assert tool.call("add", [{"a": 1, "b": 2}]).value == {"result": 3}


def test_a_server_that_cannot_list_its_tools_fails_as_the_tool(
    tool: ImportedTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "add" in tool.methods()
    monkeypatch.setattr(mcp, "SECONDS", 0)
    with pytest.raises(ToolFailure, match=r"^Tool Server \(mcp://[^)]*\) failed: TimeoutError$"):
        tool.methods()

    def open_no_session(_: ImportedTool) -> Any:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(mcp.McpTool, "open_session", open_no_session)
    with pytest.raises(ToolFailure, match=r"failed: \[Errno 24\] Too many open files$"):
        tool.methods()


def test_the_server_runs_in_the_script_folder_without_our_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NEO4J_PASSWORD", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MY_TOKEN"):
        monkeypatch.setenv(name, "verysecret")
    tool = start(tmp_path, "--flag", "a b", "$HOME;")
    try:
        about = json.loads(tool.call("about", []).value)
    finally:
        tool.close()
    assert about["cwd"] == str(tmp_path)
    assert about["argv"] == ["--flag", "a b", "$HOME;"]
    assert "verysecret" not in about["environment"].values()


def test_close_ends_the_server_and_can_be_called_again(tmp_path: Path) -> None:
    before = portal_threads()
    tool = start(tmp_path)
    process = process_of(tool)
    tool.close()
    assert has_ended(process)
    tool.close()
    assert portal_threads() == before


def test_nothing_is_started_before_the_first_call(tmp_path: Path) -> None:
    tool = open_tool("Server", f"mcp://touch {tmp_path}/made", tmp_path, Permissions.of(["mcp"]))
    tool.close()
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_dies_fails_the_call(tmp_path: Path) -> None:
    tool = start(tmp_path)
    try:
        for _ in range(2):
            with pytest.raises(ToolFailure, match="Connection closed"):
                tool.call("die", [])
    finally:
        tool.close()


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        (f"mcp://{COMMAND} broken", "the server says: no such option: broken"),
        ("mcp://no-such-command-here", "there is no command `no-such-command-here`"),
        ("mcp://echo hello", "."),
        ("mcp://http://127.0.0.1:9/mcp", "."),
    ],
)
def test_a_server_that_does_not_start_fails_the_call(uri: str, message: str, tmp_path: Path) -> None:
    before = portal_threads()
    tool = open_tool("Server", uri, tmp_path, Permissions.of(["mcp"]))
    with pytest.raises(ToolFailure, match=message):
        tool.call("add", [{"a": 1, "b": 2}])
    tool.close()
    assert portal_threads() == before


@pytest.mark.slow
def test_a_server_that_never_answers_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "SECONDS", 1.0)
    monkeypatch.setattr(mcp, "_CLOSING_SECONDS", 300.0)  # which a server has that was ready once
    note = tmp_path / "pid"
    tool = open_tool("Server", f"mcp://sh -c 'echo $$ > {note}; exec sleep 300'", tmp_path, Permissions.of(["mcp"]))
    started = time.monotonic()
    with pytest.raises(ToolFailure, match="was not ready within 1 seconds"):
        tool.call("add", [])
    assert time.monotonic() - started < 20
    assert has_ended(int(note.read_text()))


OWNER = """
import sys, time, json
from pathlib import Path
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools import open_tool
tool = open_tool("Server", sys.argv[1], Path(), Permissions.of(["mcp"]))
print(json.loads(tool.call("about", []).value)["pid"], flush=True)
if "stay" in sys.argv:
    time.sleep(300)
"""


@pytest.mark.slow
@pytest.mark.parametrize("stubborn", [False, True], ids=["polite", "stubborn"])
def test_the_server_ends_with_the_interpreter_that_forgot_to_close(stubborn: bool, tmp_path: Path) -> None:
    after = "sleep 300" if stubborn else "true"  # a stubborn server does not heed that its input has ended
    shell = shlex.join(["sh", "-c", f"echo $$ > pid; {COMMAND}; {after}"])
    owner = subprocess.run(
        [sys.executable, "-W", "error", "-c", OWNER, f"mcp://{shell}"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert owner.stderr == ""
    assert has_ended(int(owner.stdout))
    assert has_ended(int((tmp_path / "pid").read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_server_ends_with_an_interpreter_that_is_killed(number: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, f"mcp://{COMMAND}", "stay"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as owner:
        assert owner.stdout
        process = int(owner.stdout.readline())
        owner.send_signal(number)
        owner.wait(30)
    assert has_ended(process)


def test_over_http_the_listed_hosts_hold(address: str, tmp_path: Path) -> None:
    uri = f"mcp://http://{address}/mcp"
    for permissions in (Permissions.of(["mcp"], ["api.example.com"]), Permissions.of([], [address])):
        with pytest.raises(Refused):
            open_tool("Server", uri, tmp_path, permissions).call("add", [{"a": 1, "b": 2}])
    tool = open_tool("Server", uri, tmp_path, Permissions.of(["mcp"], [address]))
    assert tool.call("add", [{"a": 1, "b": 2}]).value == {"result": 3}
    tool.close()


def test_proxies_of_the_environment_are_not_used_on_loopback(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    tool = open_tool("Server", f"mcp://http://{address}/mcp", tmp_path, Permissions.of(["mcp"]))
    assert tool.call("add", [{"a": 1, "b": 2}]).value == {"result": 3}
    tool.close()
