"""How much the tests try: little in an ordinary run, more in the whole check, very much with MEMORYGRAPH_TEST_LONG.

Property tests draw the same examples each time with CI=true, so that a check is about the change alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

PROFILES = {"ordinary": 12, "whole": 100, "long": 1000}
"""For each kind of run, of a hundred examples those that it draws."""

FEWEST = 10
FEWEST_GRAPHS = 3
"""Of examples that each fill graphs, which takes a second or more."""


def profile() -> str:
    """The kind of this run, which is also the profile of hypothesis."""
    if "MEMORYGRAPH_TEST_LONG" in os.environ:
        return "long"
    return "whole" if "MEMORYGRAPH_TEST_LARGE" in os.environ or os.environ.get("CI") == "true" else "ordinary"


def load_profile() -> None:
    """Register the profiles with hypothesis, and use that of this run; how to repeat a failure is printed."""
    for name, percent in PROFILES.items():
        settings.register_profile(
            name, max_examples=percent, deadline=None, print_blob=True, derandomize=os.environ.get("CI") == "true"
        )
    settings.load_profile(profile())


def examples(count: int, fewest: int = FEWEST) -> int:
    """How many examples a test draws in this run that draws so many in the whole check."""
    return max(fewest, count * PROFILES[profile()] // 100)


def mostly_slow(values: Iterable[Any], *, ordinary: int) -> list[Any]:
    """Values of a parameter of which an ordinary run takes the first few: the others are marked as slow."""
    return [
        value if place < ordinary else pytest.param(value, marks=pytest.mark.slow) for place, value in enumerate(values)
    ]


def every_nth(values: Iterable[Any], n: int) -> list[Any]:
    """Values of a parameter of which an ordinary run takes every nth, some of each kind: the others are slow.

    A tuple is a value for each of several parameters.
    """
    return [
        pytest.param(*(value if isinstance(value, tuple) else [value]), marks=[pytest.mark.slow] if place % n else [])
        for place, value in enumerate(values)
    ]


def amount(*, ordinary: int, whole: int, long: int) -> int:
    """How many of something that takes its time."""
    return {"ordinary": ordinary, "whole": whole, "long": long}[profile()]
