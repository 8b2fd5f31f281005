"""The modules of the package, and what they import."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import memorygraph

PACKAGE = Path(memorygraph.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    """The part of the package that a module is in: `graph`, `client`."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All of the syntax tree of a module."""
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def imports(path: Path) -> list[str]:
    """The modules that a module imports, also where it does so within a function."""
    nodes = nodes_of(path)
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return names + [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]


def imports_between_parts() -> dict[str, set[str]]:
    """For each part of the package the other parts that it imports."""
    found: dict[str, set[str]] = {part_of(path): set() for path in FILES}
    for path in FILES:
        names = (name.split(".")[1] for name in imports(path) if name.startswith("memorygraph."))
        found[part_of(path)].update(name for name in names if name != part_of(path))
    return found
