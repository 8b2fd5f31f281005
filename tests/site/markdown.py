"""What the made pages have in common."""

from __future__ import annotations

from collections.abc import Iterable


def escape_cell(text: str) -> str:
    r"""Escape a text for a cell of a table.

    >>> escape_cell("a|b")
    'a\\|b'
    """
    return text.replace("|", "\\|").replace("\n", " ")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(map(escape_cell, cells)) + " |" for cells in lines) + "\n"
