"""The texts of Convo-Lang below a folder: files, fenced blocks of Markdown, and template strings of TypeScript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

FENCE = re.compile(r"^([ \t]*)(`{3,})[ \t]*convo\b[^\n]*\n(.*?)^[ \t]*\2[ \t]*$", re.MULTILINE | re.DOTALL)
TEMPLATE = re.compile(r"(?:\bconvo\w*|/\*[ \t]*convo[ \t]*\*/[ \t]*)`((?:[^`\\]|\\.)*)`", re.DOTALL)
PLACEHOLDER = re.compile(r"\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
ESCAPE = re.compile(r"\\([`$\\n])")
SCRIPTS = {".ts", ".tsx", ".js", ".jsx", ".mjs"}


@dataclass(frozen=True)
class ConvoText:
    """A text, and where it was found."""

    place: str
    text: str
    snippet: bool = False


def find_texts(folder: Path) -> list[ConvoText]:
    """Every text below a folder, each once."""
    found: dict[str, ConvoText] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not {"node_modules", "dist", ".git"} & set(path.parts):
            for each in texts_in(path, str(path.relative_to(folder))):
                found.setdefault(each.text, each)
    return list(found.values())


def texts_in(path: Path, name: str) -> Iterator[ConvoText]:
    """The texts in a file."""
    if path.suffix == ".convo":
        yield ConvoText(name, path.read_text("utf-8", "replace"))
    elif path.suffix in {".md", ".mdx"} or path.suffix in SCRIPTS:
        source = path.read_text("utf-8", "replace")
        for found in FENCE.finditer(source):
            yield ConvoText(line_of(name, source, found.start()), dedent(found[3]), snippet=True)
        if path.suffix in SCRIPTS:
            for found in TEMPLATE.finditer(source):
                text = ESCAPE.sub(lambda match: "\n" if match[1] == "n" else match[1], PLACEHOLDER.sub("x", found[1]))
                yield ConvoText(line_of(name, source, found.start()), text, snippet=True)


def line_of(name: str, source: str, at: int) -> str:
    """A place as `file:line`."""
    return f"{name}:{source.count(chr(10), 0, at) + 1}"
