"""How many examples a property test draws: all of them in the whole check, and a few in an ordinary run."""

from __future__ import annotations

import os

FEWEST = 12


def examples(count: int) -> int:
    """So many with MEMORYGRAPH_TEST_LARGE, and otherwise a quarter of them."""
    return count if os.environ.get("MEMORYGRAPH_TEST_LARGE") else max(FEWEST, count // 4)
