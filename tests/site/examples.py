"""The examples of the references of ContextScript and PETE, with what comes of each.

    python -m tests.site.examples    # runs them, and writes what came of them below each

The examples of a page are run in its order, in one namespace. A test runs them again.
"""

from __future__ import annotations

import re
from pathlib import Path

from memorygraph import MemoryGraph, Problem, ScriptError
from memorygraph.graph.writes import COUNTS
from tests.runtime.pete import stored
from tests.shared_neo4j import new_namespace

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("contextscript", "pete")
EXAMPLE = re.compile(
    r"^```(contextscript|pete)\n(?P<source>.*?)^```\n```text\n(?P<shown>.*?)^```", re.MULTILINE | re.DOTALL
)


def run_page(text: str, graph: MemoryGraph) -> str:
    """The page with what its examples give now."""

    def replaced(found: re.Match[str]) -> str:
        return f"```{found[1]}\n{found['source']}```\n```text\n{run_example(found['source'], found[1], graph)}\n```"

    return EXAMPLE.sub(replaced, text)


def run_example(source: str, language: str, graph: MemoryGraph) -> str:
    """Load an example, and say what changed, or what is wrong."""
    before = _known(graph)
    try:
        report = graph.load(source, language)
    except ScriptError as error:
        return "\n".join(map(_line, error.problems))
    counts = [f"{name.replace('_', ' ')}: {getattr(report, name)}" for name in COUNTS if getattr(report, name)]
    of_the_log = [line for line in _known(graph) if line not in before and language == "pete"]
    return "\n".join([", ".join(counts) or "nothing changed", *map(_line, report.warnings), *of_the_log])


def _known(graph: MemoryGraph) -> list[str]:
    """The facts of the namespace, and what the variables of questions are bound to."""
    lines = [("fact", line) for line in stored.lines(graph, "facts").splitlines()]
    lines += [("handle", line) for line in stored.lines(graph, "bindings").splitlines()]
    return [f"{kind}: {line}" for kind, line in lines]


def _line(problem: Problem) -> str:
    return f"{problem.line}:{problem.column} {problem.code}: {problem.message}"


def write_all() -> None:
    """Write the pages anew."""
    for name in PAGES:
        path = DOCS / f"{name}.md"
        with MemoryGraph.connect(namespace=new_namespace()) as graph:
            path.write_text(run_page(path.read_text("utf-8"), graph), "utf-8")
            graph.drop_namespace(graph.namespace)


if __name__ == "__main__":
    write_all()
