"""Files are read and written below one folder, and nothing leads out of it."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memorygraph.errors import MemoryGraphError
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools import ImportedTool, ToolFailure, open_tool
from memorygraph.runtime.tools.tool import MAX_BYTES

SECRET = "the secret"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of the tool, with a secret beside it."""
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "root-2").mkdir()
    (tmp_path / "root-2/secret.txt").write_text(SECRET)
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def tool(root: Path) -> ImportedTool:
    return open_tool("Files", "file://root", root.parent, Permissions.of(["file"]))


def call(tool: ImportedTool, method: str, *arguments: Any) -> Any:
    return tool.call(method, list(arguments)).value


def test_what_is_written_is_read(tool: ImportedTool, root: Path) -> None:
    assert tool.call("write", ["notes/a.txt", "größer\n"]).effects == {"bytes": 9}
    assert call(tool, "append", "notes/a.txt", "more") is None
    assert call(tool, "append", "log.txt", "first") is None
    assert tool.call("read", ["notes/a.txt"]).effects == {"bytes": 13}
    assert call(tool, "read", "notes/a.txt") == "größer\nmore"
    assert call(tool, "list") == ["log.txt", "notes/"]
    assert call(tool, "list", "notes") == ["a.txt"]
    assert [call(tool, "exists", path) for path in ("notes", "notes/a.txt", "none")] == [True, True, False]
    assert (root / "notes/a.txt").read_bytes() == b"gr\xc3\xb6\xc3\x9fer\nmore"


def test_a_value_is_written_as_json(tool: ImportedTool) -> None:
    call(tool, "write", "a.json", {"n": [1, None, "ü"]})
    assert call(tool, "read", "a.json") == '{\n  "n": [\n    1,\n    null,\n    "ü"\n  ]\n}\n'
    assert call(tool, "read_json", "a.json") == {"n": [1, None, "ü"]}


@pytest.mark.parametrize("text", ["{", "NaN", "[" * 100_000])
def test_what_is_no_json_is_said(text: str, tool: ImportedTool) -> None:
    call(tool, "write", "a.json", text)
    with pytest.raises(ToolFailure, match=r"`a\.json` is no JSON"):
        call(tool, "read_json", "a.json")


def test_a_file_is_replaced_at_once_and_keeps_its_mode(tool: ImportedTool, root: Path) -> None:
    (root / "a.txt").write_text("old")
    (root / "a.txt").chmod(0o640)
    os.link(root / "a.txt", root / "other.txt")
    call(tool, "write", "a.txt", "new")
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o640
    assert (root / "other.txt").read_text() == "old"
    assert sorted(path.name for path in root.iterdir()) == ["a.txt", "other.txt"]


def test_readers_see_a_whole_file_while_it_is_written(tool: ImportedTool) -> None:
    texts = {"a" * 300_000, "b" * 300_000}
    call(tool, "write", "a.txt", "a" * 300_000)
    writers = [threading.Thread(target=call, args=(tool, "write", "a.txt", text)) for text in [*texts] * 20]
    for writer in writers:
        writer.start()
    assert {call(tool, "read", "a.txt") for _ in range(50)} <= texts
    for writer in writers:
        writer.join()


@pytest.mark.parametrize(
    "path", ["../secret.txt", "a/../../secret.txt", "./../secret.txt", "..\\secret.txt", "link/secret.txt", "file-link",
             "hop", "../root-2/secret.txt", "up/secret.txt", "", "a\0b", "%2e%2e/secret.txt", "..%2fsecret.txt"]
)  # fmt: skip
@pytest.mark.parametrize("method", ["read", "read_json", "write", "append", "list", "exists"])
def test_no_path_leads_out(path: str, method: str, tool: ImportedTool, root: Path) -> None:
    (root / "link").symlink_to(root.parent, target_is_directory=True)
    (root / "file-link").symlink_to(root.parent / "secret.txt")
    (root / "hop").symlink_to("file-link")
    (root / "up").symlink_to("..")
    arguments = [path, "text"] if method in {"write", "append"} else [path]
    if "%" in path:  # a name like any other: nothing here takes the percent signs away
        with suppress(ToolFailure):
            assert SECRET not in str(call(tool, method, *arguments))
    else:
        with pytest.raises(ToolFailure) as failure:
            call(tool, method, *arguments)
        assert SECRET not in str(failure.value)
    outside = [*root.parent.iterdir(), *(root.parent / "root-2").iterdir()]
    assert len(outside) == 4
    assert {path.read_text() for path in outside if path.is_file()} == {SECRET}


@pytest.mark.parametrize("method", ["read", "write", "append", "list", "exists"])
def test_an_absolute_path_is_refused(method: str, tool: ImportedTool, root: Path) -> None:
    path = str(root / "a.txt")
    with pytest.raises(ToolFailure, match="is no path below the tool's folder"):
        call(tool, method, path, *(["x"] if method in {"write", "append"} else []))


def test_a_link_that_stays_inside_is_followed(tool: ImportedTool, root: Path) -> None:
    (root / "real").mkdir()
    (root / "alias").symlink_to("real")
    call(tool, "write", "alias/a.txt", "x")
    assert (root / "real/a.txt").read_text() == "x"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("method", ["read", "write", "append"])
def test_a_pipe_is_refused_and_not_waited_for(method: str, tool: ImportedTool, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolFailure, match="`pipe` is not a plain file"):
        call(tool, method, "pipe", *(["x"] if method != "read" else []))


@pytest.mark.parametrize("method", ["read", "write", "append"])
def test_a_device_is_refused(method: str) -> None:
    tool = open_tool("Devices", "file:///dev", Path(), Permissions.of(["file"]))
    with pytest.raises(ToolFailure, match="`zero` is not a plain file"):
        call(tool, method, "zero", *(["x"] if method != "read" else []))


@pytest.mark.parametrize("path", ["folder", "."])
def test_a_folder_is_no_file(path: str, tool: ImportedTool, root: Path) -> None:
    (root / "folder").mkdir()
    for method, arguments in (("read", [path]), ("write", [path, "x"]), ("append", [path, "x"])):
        with pytest.raises(ToolFailure, match="folder"):
            call(tool, method, *arguments)


def test_large_files_are_refused_unread_and_unwritten(tool: ImportedTool, root: Path) -> None:
    with (root / "large").open("wb") as stream:
        stream.truncate(200_000_000)
    (root / "nearly").write_bytes(b"x" * MAX_BYTES)
    for method, arguments in (
        ("read", ["large"]),
        ("write", ["new", "x" * (MAX_BYTES + 1)]),
        ("append", ["nearly", "x"]),
    ):
        with pytest.raises(ToolFailure, match="10,000,000 are the most"):
            call(tool, method, *arguments)
    assert sorted(path.name for path in root.iterdir()) == ["large", "nearly"]
    assert (root / "nearly").stat().st_size == MAX_BYTES


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("read", ["none.txt"], "there is no file `none.txt`"),
        ("list", ["none"], "No such file"),
        ("read", ["bytes"], "byte 1 is not"),
        ("read", [1], "a path is a text, and this is a number"),
        ("append", ["a", {}], "what is appended is a text, and this is an object"),
        ("write", ["a", "\ud800"], "half a character"),
        ("write", ["a"], r"it takes \(path, value\), and was given 1 argument$"),
        ("list", ["a", "b"], r"it takes \(path\?\), and was given 2 arguments"),
        ("delete", ["a"], "it has no such method; it has read, read_json, write, append, list, exists"),
        ("perform", ["read", ["a"]], "it has no such method"),
    ],
)
def test_failures_say_which_tool_and_why(
    method: str, arguments: list[Any], message: str, tool: ImportedTool, root: Path
) -> None:
    (root / "bytes").write_bytes(b"a\xff")
    with pytest.raises(ToolFailure, match=rf"^Tool Files\.{method} \(file://root\) failed: .*{message}"):
        call(tool, method, *arguments)


def test_a_failed_write_leaves_nothing(tool: ImportedTool, root: Path) -> None:
    (root / "file").write_text("x")
    with pytest.raises(ToolFailure):
        call(tool, "write", "file/below", "x")
    assert [path.name for path in root.iterdir()] == ["file"]


def test_an_absolute_root_and_the_script_folder_itself(root: Path) -> None:
    for uri in (f"file://{root}", "file://", "file://."):
        tool = open_tool("Files", uri, root, Permissions.of(["file"]))
        call(tool, "write", "a.txt", uri)
        assert (root / "a.txt").read_text() == uri


def test_a_root_that_is_not_there_yet_is_made_by_a_write(tmp_path: Path) -> None:
    tool = open_tool("Files", "file://new%20folder", tmp_path, Permissions.of(["file"]))
    assert call(tool, "exists", "a") is False
    call(tool, "write", "a", "x")
    assert (tmp_path / "new folder/a").read_text() == "x"


def test_only_memorygraph_errors_leave_a_tool(tool: ImportedTool) -> None:
    for value in (None, True, 1.5, "x" * 5000, ["a"], {"a": 1}, "\ud800", "\n", "a/" * 3000):
        for method in ("read", "read_json", "list", "exists"):
            try:
                call(tool, method, value)
            except MemoryGraphError as error:
                assert str(error)  # noqa: PT017 - only that it is ours matters
