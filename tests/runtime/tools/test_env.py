"""Environment variables are read by their names, within a prefix."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.tools import ImportedTool, ToolFailure, open_tool


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_NAME", "memory")
    monkeypatch.setenv("APP_EMPTY", "")
    monkeypatch.setenv("OTHER", "secret")


def open_env(uri: str) -> ImportedTool:
    return open_tool("Env", uri, Path(), Permissions.of(["env"]))


def test_variables_are_read_by_name() -> None:
    tool = open_env("env://")
    assert [tool.call("get", [name]).value for name in ("APP_NAME", "APP_EMPTY", "APP_NONE")] == ["memory", "", None]


def test_a_prefix_is_a_wall() -> None:
    tool = open_env("env://APP_")
    assert tool.call("get", ["APP_NAME"]).value == "memory"
    assert tool.call("list", []).value == ["APP_EMPTY", "APP_NAME"]
    with pytest.raises(ToolFailure, match="`OTHER` does not begin with `APP_`"):
        tool.call("get", ["OTHER"])


def test_without_a_prefix_nothing_is_listed() -> None:
    with pytest.raises(ToolFailure, match="only a tool with a prefix"):
        open_env("env://").call("list", [])


@pytest.mark.parametrize("name", ["", "A=B", "A B", "A\0", "A\n", 1, None, ["A"], "É"])
def test_what_is_no_name_is_said(name: object) -> None:
    with pytest.raises(ToolFailure, match="name of a variable"):
        open_env("env://").call("get", [name])
