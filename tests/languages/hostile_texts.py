"""What the tests of all languages hold texts to that nobody would write: problems with a place, and reading in time."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from typing import Any

from memorygraph.errors import Problem
from memorygraph.languages import Script, parse


def mutated(text: str, draw: random.Random, pieces: Sequence[str]) -> str:
    """A text with some characters lost, swapped or replaced by one of the pieces."""
    characters = list(text)
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(characters) + 1)
        characters[at : at + draw.randint(0, 2)] = [draw.choice(pieces)]
    return "".join(characters)


def are_located(problems: Iterable[Problem], text: str) -> None:
    """Every problem is at a place of the text, in the order of these, and says something."""
    lines = text.removeprefix("\ufeff").split("\n")
    places = [(problem.line, problem.column) for problem in problems]
    assert places == sorted(places)
    for problem in problems:
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        assert problem.message
        assert str(problem)


def read_in_time(text: str, *, language: str, seconds: float = 30.0) -> Any:
    """Parse within a time of the processor that only what is not linear would take, however busy the machine is."""
    start = time.process_time()
    program = parse(text, language)
    assert time.process_time() - start < seconds
    return program


def codes(program: Script) -> list[str]:
    """The codes of what is wrong with a program."""
    return [problem.code for problem in program.problems]
