"""The page of the benchmarks, made from what each says of itself, and from the outputs that are kept."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "bench"
COMMAND = re.compile(r"python (?:-m tests\.bench\.|tests/bench/)\w+(?:\.py)?[^`\n]*(?:\n {8,}\[[^\n]*)*")

INTRODUCTION = """\
# Benchmarks

<!-- made by `python -m tests.site` -->

What each benchmark measures, the command that runs it, and at the end the raw outputs that are kept. They print ratios to a named
baseline that is run in turn with what is measured, so that a slow or busy machine changes both; nothing timed is a test.
How well recall finds what is asked for is measured by `memorygraph evaluate DIR`, on conversations that you have:
[how recall ranks](recall.md) has the figures.
"""


def page() -> str:
    """The page: each benchmark, and each output."""
    sections = [_section(path) for path in sorted(FOLDER.glob("*.py")) if path.stem != "__init__"]
    outputs = [
        f"### {path.stem}\n\n```text\n{path.read_text('utf-8').rstrip()}\n```\n"
        for path in sorted((FOLDER / "results").glob("*.txt"))
    ]
    return "\n".join([INTRODUCTION, *sections, "## Raw outputs\n", *outputs])


def _section(path: Path) -> str:
    said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    found = COMMAND.search(said)
    command = found[0].rstrip("`. ") if found else f"python -m tests.bench.{path.stem}"
    about = said.partition("\n\n")[0].partition("`python ")[0].rstrip(" :\n").replace("\n", " ")
    name = path.relative_to(ROOT).as_posix()
    return f"## {path.stem}\n\n{about.rstrip('.')}. ([{name}](../{name}))\n\n```text\n{command}\n```\n"
