"""Chance whose seed is said, and can be given again."""

from __future__ import annotations

import os
import random

SAME = 20260508  # in the whole check, which is about the change alone


def seed() -> int:
    """The seed in MEMORYGRAPH_TEST_SEED; without one, the same each time with CI=true, and otherwise a new one."""
    given = os.environ.get("MEMORYGRAPH_TEST_SEED")
    if given:
        return int(given)
    return SAME if os.environ.get("CI") == "true" else random.SystemRandom().randrange(2**32)


def seeded(purpose: str) -> random.Random:
    """A source of chance, whose seed is printed."""
    chosen = seed()
    print(f"{purpose}: MEMORYGRAPH_TEST_SEED={chosen}")
    return random.Random(chosen)
