"""Chance whose seed is said, and can be given again."""

from __future__ import annotations

import os
import random


def seeded(purpose: str) -> random.Random:
    """A source of chance with a new seed, which is printed, or with that of MEMORYGRAPH_TEST_SEED."""
    seed = int(os.environ.get("MEMORYGRAPH_TEST_SEED") or random.randrange(2**32))
    print(f"{purpose}: MEMORYGRAPH_TEST_SEED={seed}")
    return random.Random(seed)
