"""PETE's grammar for the servers of models that can hold a model to one, llama.cpp's among them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal


@cache
def grammar(root: Literal["log", "continuation"] = "log") -> str:
    """The GBNF of a whole log, or of what a model may write next: up to one command or question, and no feedback.

    >>> grammar("continuation").splitlines()[0]
    'root ::= continuation'
    """
    rules = Path(__file__).with_name("pete.gbnf").read_text("utf-8")
    return f"root ::= {root}\n\n{rules}"
