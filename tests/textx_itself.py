"""What textX itself makes of a text, and what the machine makes of it: both must be the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from textx import metamodel_from_file
from textx.exceptions import TextXSyntaxError

import memorygraph.languages
from memorygraph.languages.engine.machine import Machine


@contextmanager
def deep_calls() -> Iterator[None]:
    """Let textX's own parser, which recurses, read what the machine reads with a stack of its own."""
    former = sys.getrecursionlimit()
    sys.setrecursionlimit(max(former, 100_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(former)


@cache
def metamodel(language: str) -> Any:
    """textX's own parser of a language."""
    path = Path(memorygraph.languages.__file__).parent / language / "grammar.tx"
    return metamodel_from_file(str(path), auto_init_attributes=False, autokwd=True)


def textx_stops_at(language: str, text: str) -> int | None:
    """Where textX cannot go on; None where it reads the whole text."""
    with deep_calls():
        try:
            metamodel(language).model_from_str(text)
        except TextXSyntaxError as error:
            return int(error.__cause__.position)
    return None


def machine_stops_at(language: str, text: str) -> int | None:
    """Where the machine cannot go on; None where it reads the whole text."""
    machine: Machine = import_module(f"memorygraph.languages.{language}.reading").MACHINE
    result = machine.read(text, "Program", dict.fromkeys(machine.rules, lambda *_: None), whole=True)
    return getattr(result, "offset", None)
