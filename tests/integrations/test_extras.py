"""An adapter whose packages are not installed says which extra brings them."""

from __future__ import annotations

import subprocess
import sys

IMPORTS = """
import importlib, sys
for adapter, package, extra in (
    ("langgraph", "langgraph", "langgraph"),
    ("langchain", "langchain_core", "langchain"),
    ("neo4j_graphrag", "neo4j_graphrag", "graphrag"),
    ("neo4j_viz", "neo4j_viz", "notebooks"),
    ("stills", "networkx", "notebooks"),
):
    sys.modules[package] = None  # which is not found, then
    try:
        importlib.import_module(f"memorygraph.integrations.{adapter}")
    except ModuleNotFoundError as error:
        assert str(error) == f"this adapter needs {package}: pip install 'memorygraph[{extra}]'"
    else:
        raise AssertionError(adapter)
importlib.import_module("memorygraph.integrations.openai_agents")  # which needs no package itself
"""


def test_an_adapter_without_its_packages_names_the_extra_that_brings_them() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
