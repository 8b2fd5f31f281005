"""Examples in docstrings as blocks of code: for mkdocstrings, which would take `>>>` for quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?P=indent)\S.*|\n(?P=indent) +\S.*)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts each example into a block of its own."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of whatever was read."""
        if obj.docstring:
            obj.docstring.value = fence(obj.docstring.value)


def fence(docstring: str) -> str:
    r"""A docstring with its examples in fences.

    >>> fence("Add.\n\n>>> 1 + 1\n2\n\nMore.")
    'Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.'
    """
    return EXAMPLE.sub(lambda found: f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```", docstring)
